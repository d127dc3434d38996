
/// Model inputs to outputs.
fn network(x: &[f32; D], _: usize) -> [f32; OUTPUTS] {
    let mut z = [0.0; Q];
    for (k, z) in z.iter_mut().enumerate() {
        *z = affine(&INPUT_WEIGHTS[k * (D + 1)..], x);
    }
    let mut f = [0.0; OUTPUTS];
    for (k, f) in f.iter_mut().enumerate() {
        *f = clip(affine(&OUTPUT_WEIGHTS[k * (Q + 1)..], &z));
    }
    f
}
