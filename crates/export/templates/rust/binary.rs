
fn sigmoid64(x: f64) -> f64 {
    if x >= 0.0 {
        return 1.0 / (1.0 + exp64(-x));
    }
    let e = exp64(x);
    e / (1.0 + e)
}

fn probabilities(f: &[f32; OUTPUTS]) -> ([f64; CLASSES.len()], usize) {
    let f = f64::from(f[0]);
    ([sigmoid64(-f), sigmoid64(f)], usize::from(f > 0.0))
}
