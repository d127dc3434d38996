
const EXP = new Float32Array([0.5, 1.6666665e-1, 4.1665796e-2, 8.333452e-3, 1.3982e-3, 1.9875692e-4]);
const [LOG2_E, LN2_HIGH, LN2_LOW] = new Float32Array([1.442695, -0.6933594, 2.1219444e-4]);

// e^x within two units in the last place of 32 bits, x held to [-87, 88].
function exp(argument) {
  const x = between(-87, argument, 88);
  const t = fma(x, LOG2_E, MAGIC);
  const n = fround(t - MAGIC);
  const r = fma(n, LN2_LOW, fma(n, LN2_HIGH, x));
  const y = fround(fma(polynomial(EXP, r), fround(r * r), r) + 1);
  narrow[0] = t;
  const shifted = bits[0] << 23;
  narrow[0] = y;
  bits[0] += shifted;
  return narrow[0];
}
