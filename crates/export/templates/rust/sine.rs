
fn activation(u: f32) -> f32 {
    const P: [f32; 5] = [-0.16666667, 0.008333351, -0.00019843104, 2.7628325e-6, -2.5539649e-8];
    let t = fma(u, core::f32::consts::FRAC_1_PI, MAGIC);
    let n = MAGIC - t;
    let r = fma(n, -8.742278e-8, fma(n, core::f32::consts::PI, u));
    let r = between(-1.6, fma(n, -3.430249e-15, r), 1.6);
    let square = r * r;
    let y = fma(polynomial(&P, square), r * square, r);
    if t.to_bits() & 1 == 1 { -y } else { y }
}
