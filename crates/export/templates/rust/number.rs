
/// A number in model units; a missing one counts as the median. Not a number if it is too extreme.
fn number(value: f64, [shift, scale, median]: [f64; 3]) -> f32 {
    let value = if value.is_nan() { median } else { value };
    let scaled = ((value - shift) / scale) as f32;
    if scaled.is_finite() { scaled } else { f32::NAN }
}
