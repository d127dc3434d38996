
// Model inputs to the state before the first iteration.
function lift(x) {
  const z = new Float32Array(Q);
  for (let k = 0; k < Q; k++) z[k] = affine(inputWeights, k * (D + 1), x, 0, D);
  return z;
}

const next = new Float32Array(Q);

// Iteration t, counted from 0: z becomes z + W2 s(W1 z + b1) + b2.
function update(z, t) {
  let unit = t * STEP;
  const b2 = unit + R * (2 * Q + 1);
  for (let k = 0; k < Q; k++) next[k] = z[k] + blockWeights[b2 + k];
  for (let j = 0; j < R; j++, unit += 2 * Q + 1) {
    const h = activation(affine(blockWeights, unit, z, 0, Q));
    for (let k = 0; k < Q; k++) next[k] = fma(blockWeights[unit + Q + 1 + k], h, next[k]);
  }
  z.set(next);
}
