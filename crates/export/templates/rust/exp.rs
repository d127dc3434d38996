
/// `e^x` within two units in the last place, `x` held to `[-87, 88]`.
fn exp(x: f32) -> f32 {
    const P: [f32; 6] = [0.5, 1.6666665e-1, 4.1665796e-2, 8.333452e-3, 1.3982e-3, 1.9875692e-4];
    let x = between(-87.0, x, 88.0);
    let t = fma(x, core::f32::consts::LOG2_E, MAGIC);
    let n = t - MAGIC;
    let r = fma(n, 2.1219444e-4, fma(n, -0.6933594, x));
    let y = fma(polynomial(&P, r), r * r, r) + 1.0;
    f32::from_bits(y.to_bits().wrapping_add(t.to_bits() << 23))
}
