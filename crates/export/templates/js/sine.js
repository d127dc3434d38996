
const SINE = new Float32Array([-0.16666667, 0.008333351, -0.00019843104, 2.7628325e-6, -2.5539649e-8]);
const [ONE_BY_PI, PI_1, PI_2, PI_3, SINE_END] = new Float32Array([
  0.31830987, 3.1415927, -8.742278e-8, -3.430249e-15, 1.6,
]);

function activation(u) {
  const t = fma(u, ONE_BY_PI, MAGIC);
  const n = fround(MAGIC - t);
  const r = between(-SINE_END, fma(n, PI_3, fma(n, PI_2, fma(n, PI_1, u))), SINE_END);
  const square = fround(r * r);
  const y = fma(polynomial(SINE, square), fround(r * square), r);
  narrow[0] = t;
  return bits[0] & 1 ? -y : y;
}
