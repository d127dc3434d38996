
fn activation(u: f32) -> f32 {
    if 0.0 > u { 0.0 } else { u }
}
