
// Model inputs to the state, from which outputs are read at once.
function lift(x) {
  const z = new Float32Array(Q);
  for (let k = 0; k < Q; k++) z[k] = affine(inputWeights, k * (D + 1), x, 0, D);
  return z;
}

function update() {}
