
fn between(low: f32, x: f32, high: f32) -> f32 {
    let x = if low > x { low } else { x };
    if high < x { high } else { x }
}

/// `coefficients[0] + coefficients[1] x + ...`, Horner's way.
fn polynomial(coefficients: &[f32], x: f32) -> f32 {
    let mut terms = coefficients.iter().rev();
    let last = terms.next().copied().unwrap_or(0.0);
    terms.fold(last, |y, c| fma(y, x, *c))
}
