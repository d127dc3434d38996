
const TANH_P = new Float32Array([1, 0.13379699, 0.0034940126, 2.058313e-5, 1.3318608e-8]);
const TANH_Q = new Float32Array([1, 0.46713015, 0.02587099, 0.00032830573, 7.761824e-7]);
const TANH_END = fround(9.02);

function activation(u) {
  const x = between(-TANH_END, u, TANH_END);
  const square = fround(x * x);
  const above = fround(x * polynomial(TANH_P, square));
  return between(-1, fround(above / polynomial(TANH_Q, square)), 1);
}
