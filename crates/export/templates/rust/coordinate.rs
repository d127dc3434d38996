
/// A coordinate of the density in model units, and whether it lies outside.
fn coordinate(value: f64, [shift, scale, median]: [f64; 3]) -> (f32, bool) {
    let value = if value.is_nan() { median } else { value };
    let scaled = (value - shift) / scale;
    (scaled.clamp(0.0, 1.0) as f32, !(0.0..=1.0).contains(&scaled))
}
