
function between(low, x, high) {
  const held = low > x ? low : x;
  return high < held ? high : held;
}

function polynomial(coefficients, x) {
  let y = coefficients[coefficients.length - 1];
  for (let i = coefficients.length - 2; i >= 0; i--) y = fma(y, x, coefficients[i]);
  return y;
}
