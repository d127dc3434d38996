
function probabilities([f]) {
  const sigmoid = (x) => 1 / (1 + Math.exp(-x));
  return [sigmoid(-f), sigmoid(f)];
}
