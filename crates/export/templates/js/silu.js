
function activation(u) {
  const sigmoid = fround(1 / fround(1 + exp(fround(0 - u))));
  return fround((-88 > u ? -88 : u) * sigmoid);
}
