
/// The square root of a positive number, by Newton's way in 64 bits, whose error is far below half a unit of 32 bits.
fn sqrt(x: f32) -> f32 {
    if !(x > 0.0 && x < f32::INFINITY) {
        return x;
    }
    let wide = f64::from(x);
    let mut root = f64::from_bits((wide.to_bits() >> 1) + (511 << 52) + (1 << 51));
    for _ in 0..6 {
        root = 0.5 * (root + wide / root);
    }
    root as f32
}

/// Layer normalisation: gains, then biases.
fn norm(norm: &[f32], u: &[f32; Q]) -> [f32; Q] {
    let mean = SHARE * u.iter().fold(0.0, |sum, u| sum + u);
    let mut y = u.map(|u| u - mean);
    let squares = y.iter().fold(0.0, |sum, y| fma(*y, *y, sum));
    let scale = 1.0 / sqrt(fma(SHARE, squares, STABILISER));
    for (k, y) in y.iter_mut().enumerate() {
        *y = fma(norm[k], *y * scale, norm[Q + k]);
    }
    y
}

fn softmax(p: &mut [f32; N]) {
    let largest = p.iter().fold(p[0], |largest, p| if *p > largest { *p } else { largest });
    let mut sum = 0.0;
    for p in p.iter_mut() {
        *p = exp(ATTENTION_SCALE * (*p - largest));
        sum += *p;
    }
    let share = 1.0 / sum;
    for p in p {
        *p *= share;
    }
}

/// Model inputs to outputs after some iterations: the tokens `S` become `LN2{Y + W2 ReLU(W1 Y + b1) + b2}` of
/// `Y = LN1{S + Attn(S)}`.
fn network(x: &[f32; D], iterations: usize) -> [f32; OUTPUTS] {
    let mut s = [0.0; N * Q];
    let (mut rows, mut inputs) = (&INPUT_WEIGHTS[..], &TOKEN_INPUTS[..]);
    let (data, constant) = s.split_at_mut(TOKENS * Q);
    for (token, size) in data.chunks_exact_mut(Q).zip(TOKEN_SIZES) {
        let (own, others) = inputs.split_at(size);
        for s in token {
            let (row, rest) = rows.split_at(size + 1);
            let terms = row.iter().zip(own);
            *s = terms.fold(row[size], |sum, (w, i)| fma(*w, x[*i], sum));
            rows = rest;
        }
        inputs = others;
    }
    constant.copy_from_slice(rows);
    let mut qkv = [0.0; N * 3 * Q];
    for t in 0..iterations {
        let (weights, rest) = BLOCK_WEIGHTS[t * STEP..].split_at(3 * Q * (Q + 1));
        let (out, rest) = rest.split_at(Q * (Q + 1));
        let (norm1, rest) = rest.split_at(2 * Q);
        let (units, rest) = rest.split_at(R * (2 * Q + 1));
        let (b2, norm2) = rest.split_at(Q);
        for (own, token) in qkv.chunks_exact_mut(3 * Q).zip(s.chunks_exact(Q)) {
            for (to, row) in own.iter_mut().zip(weights.chunks_exact(Q + 1)) {
                *to = affine(row, token);
            }
        }
        for (i, token) in s.chunks_exact_mut(Q).enumerate() {
            let query = &qkv[i * 3 * Q..][..Q];
            let mut p = [0.0; N];
            for (j, p) in p.iter_mut().enumerate() {
                let terms = query.iter().zip(&qkv[j * 3 * Q + Q..]);
                *p = terms.fold(0.0, |sum, (query, key)| fma(*query, *key, sum));
            }
            softmax(&mut p);
            let mut o = [0.0; Q];
            for (k, o) in o.iter_mut().enumerate() {
                let terms = p.iter().enumerate();
                *o = terms.fold(0.0, |sum, (j, p)| fma(*p, qkv[j * 3 * Q + 2 * Q + k], sum));
            }
            let mut u = [0.0; Q];
            for (k, u) in u.iter_mut().enumerate() {
                let row = &out[k * (Q + 1)..][..Q + 1];
                let terms = row.iter().zip(&o);
                *u = terms.fold(token[k] + row[Q], |sum, (w, o)| fma(*w, *o, sum));
            }
            let y = norm(norm1, &u);
            for (k, u) in u.iter_mut().enumerate() {
                *u = y[k] + b2[k];
            }
            for unit in units.chunks_exact(2 * Q + 1) {
                let h = activation(affine(unit, &y));
                for (u, w) in u.iter_mut().zip(&unit[Q + 1..]) {
                    *u = fma(*w, h, *u);
                }
            }
            token.copy_from_slice(&norm(norm2, &u));
        }
    }
    let mut f = [0.0; OUTPUTS];
    for (k, f) in f.iter_mut().enumerate() {
        *f = clip(affine(&OUTPUT_WEIGHTS[k * (N * Q + 1)..], &s));
    }
    f
}
