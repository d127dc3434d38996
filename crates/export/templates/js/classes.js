
function answer({ refused }, f) {
  if (refused || f.some(Number.isNaN)) return { label: null, probabilities: classes.map(() => NaN) };
  const best = OUTPUTS === 1 ? Number(f[0] > 0) : f.indexOf(Math.max(...f));
  return { label: classes[best], probabilities: probabilities(f).map((p) => ROOM * p + LEAST) };
}
