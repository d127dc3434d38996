
/// Model inputs to outputs after some iterations: `z` becomes `z + W2 s(W1 z + b1) + b2`.
fn network(x: &[f32; D], iterations: usize) -> [f32; OUTPUTS] {
    let mut z = [0.0; Q];
    for (k, z) in z.iter_mut().enumerate() {
        *z = affine(&INPUT_WEIGHTS[k * (D + 1)..], x);
    }
    for t in 0..iterations {
        let (units, b2) = BLOCK_WEIGHTS[t * STEP..].split_at(R * (2 * Q + 1));
        let mut next = z;
        for (next, b) in next.iter_mut().zip(b2) {
            *next += b;
        }
        for unit in units.chunks_exact(2 * Q + 1) {
            let h = activation(affine(unit, &z));
            for (next, w) in next.iter_mut().zip(&unit[Q + 1..]) {
                *next = fma(*w, h, *next);
            }
        }
        z = next;
    }
    let mut f = [0.0; OUTPUTS];
    for (k, f) in f.iter_mut().enumerate() {
        *f = clip(affine(&OUTPUT_WEIGHTS[k * (Q + 1)..], &z));
    }
    f
}
