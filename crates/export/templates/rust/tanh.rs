
fn activation(u: f32) -> f32 {
    const P: [f32; 5] = [1.0, 0.13379699, 0.0034940126, 2.058313e-5, 1.3318608e-8];
    const Q: [f32; 5] = [1.0, 0.46713015, 0.02587099, 0.00032830573, 7.761824e-7];
    let x = between(-9.02, u, 9.02);
    let square = x * x;
    between(-1.0, x * polynomial(&P, square) / polynomial(&Q, square), 1.0)
}
