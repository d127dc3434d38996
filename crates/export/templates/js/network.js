
// A state to outputs.
function outputs(z) {
  const f = new Float32Array(OUTPUTS);
  for (let k = 0; k < OUTPUTS; k++) f[k] = clip(affine(outputWeights, k * (z.length + 1), z, 0, z.length));
  return f;
}

// Model inputs to outputs after some iterations.
function network(x, iterations) {
  const z = lift(x);
  for (let t = 0; t < iterations; t++) update(z, t);
  return outputs(z);
}
