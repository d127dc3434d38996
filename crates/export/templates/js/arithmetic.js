const fround = Math.fround;
const wide = new Float64Array(1);
const words = new Uint32Array(wide.buffer);
const low = new Uint8Array(new Uint32Array([1]).buffer)[0] === 1 ? 0 : 1;

// a b + c, rounded once: in 64 bits the product is exact, and a sum that is rounded to odd may be rounded again.
function fma(a, b, c) {
  const product = a * b;
  const sum = product + c;
  const ofC = sum - product;
  const error = (product - (sum - ofC)) + (c - ofC);
  if (error > 0 || error < 0) {
    wide[0] = sum;
    if ((words[low] & 1) === 0) {
      if ((error > 0) === (sum > 0)) {
        words[low] += 1;
      } else {
        if (words[low] === 0) words[1 - low] -= 1;
        words[low] -= 1;
      }
      return fround(wide[0]);
    }
  }
  return fround(sum);
}

// A row of n weights from a place on, and its bias: the bias first, then terms in order.
function affine(weights, at, x, from, n) {
  let sum = weights[at + n];
  for (let i = 0; i < n; i++) sum = fma(weights[at + i], x[from + i], sum);
  return sum;
}

function clip(u) {
  return u > CLIP ? CLIP : u < -CLIP ? -CLIP : u;
}
