
function activation(u) {
  return 0 > u ? 0 : u;
}
