
function probabilities(f) {
  const largest = Math.max(...f);
  const terms = Array.from(f, (f) => Math.exp(f - largest));
  const sum = terms.reduce((sum, term) => sum + term, 0);
  return terms.map((term) => term / sum);
}
