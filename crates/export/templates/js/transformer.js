
// Layer normalisation of q numbers: gains from a place on, then biases.
function norm(at, u, y, from) {
  let sum = 0;
  let squares = 0;
  for (let k = 0; k < Q; k++) sum = fround(sum + u[k]);
  const mean = fround(SHARE * sum);
  for (let k = 0; k < Q; k++) {
    y[from + k] = u[k] - mean;
    squares = fma(y[from + k], y[from + k], squares);
  }
  const scale = fround(1 / fround(Math.sqrt(fma(SHARE, squares, STABILISER))));
  for (let k = 0; k < Q; k++) {
    y[from + k] = fma(blockWeights[at + k], fround(y[from + k] * scale), blockWeights[at + Q + k]);
  }
}

function softmax(p) {
  let largest = p[0];
  let sum = 0;
  for (let j = 1; j < N; j++) largest = p[j] > largest ? p[j] : largest;
  for (let j = 0; j < N; j++) {
    p[j] = exp(fround(ATTENTION_SCALE * fround(p[j] - largest)));
    sum = fround(sum + p[j]);
  }
  const share = fround(1 / sum);
  for (let j = 0; j < N; j++) p[j] = share * p[j];
}

// Model inputs to the tokens before the first iteration.
function lift(x) {
  const s = new Float32Array(N * Q);
  let row = 0;
  tokens.forEach((inputs, i) => {
    for (let k = 0; k < Q; k++) {
      let sum = inputWeights[row + inputs.length];
      for (const input of inputs) sum = fma(inputWeights[row++], x[input], sum);
      s[i * Q + k] = sum;
      row++;
    }
  });
  for (let i = tokens.length * Q; i < N * Q; i++) s[i] = inputWeights[row++];
  return s;
}

const qkv = new Float32Array(N * 3 * Q);
const [p, o, u, y] = [N, Q, Q, Q].map((n) => new Float32Array(n));

// Iteration t, counted from 0: the tokens S become LN2{Y + W2 ReLU(W1 Y + b1) + b2} of Y = LN1{S + Attn(S)}.
function update(s, t) {
  const weights = t * STEP;
  const out = weights + 3 * Q * (Q + 1);
  const norm1 = out + Q * (Q + 1);
  const units = norm1 + 2 * Q;
  const b2 = units + R * (2 * Q + 1);
  const norm2 = b2 + Q;
  for (let i = 0; i < N; i++) {
    for (let k = 0; k < 3 * Q; k++) {
      qkv[i * 3 * Q + k] = affine(blockWeights, weights + k * (Q + 1), s, i * Q, Q);
    }
  }
  for (let i = 0; i < N; i++) {
    for (let j = 0; j < N; j++) {
      let sum = 0;
      for (let k = 0; k < Q; k++) sum = fma(qkv[i * 3 * Q + k], qkv[j * 3 * Q + Q + k], sum);
      p[j] = sum;
    }
    softmax(p);
    for (let k = 0; k < Q; k++) {
      let sum = 0;
      for (let j = 0; j < N; j++) sum = fma(p[j], qkv[j * 3 * Q + 2 * Q + k], sum);
      o[k] = sum;
    }
    for (let k = 0; k < Q; k++) {
      const at = out + k * (Q + 1);
      let sum = fround(s[i * Q + k] + blockWeights[at + Q]);
      for (let j = 0; j < Q; j++) sum = fma(blockWeights[at + j], o[j], sum);
      u[k] = sum;
    }
    norm(norm1, u, y, 0);
    for (let k = 0; k < Q; k++) u[k] = y[k] + blockWeights[b2 + k];
    for (let j = 0, unit = units; j < R; j++, unit += 2 * Q + 1) {
      const h = activation(affine(blockWeights, unit, y, 0, Q));
      for (let k = 0; k < Q; k++) u[k] = fma(blockWeights[unit + Q + 1 + k], h, u[k]);
    }
    norm(norm2, u, s, i * Q);
  }
}
