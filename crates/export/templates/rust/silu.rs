
fn activation(u: f32) -> f32 {
    let sigmoid = 1.0 / (1.0 + exp(0.0 - u));
    (if -88.0 > u { -88.0 } else { u }) * sigmoid
}
