
/// Halves of more than 32 terms are summed apart.
fn total(terms: &[f64]) -> f64 {
    if terms.len() <= 32 {
        return terms.iter().fold(0.0, |sum, term| sum + term);
    }
    let (left, right) = terms.split_at(terms.len() / 2);
    total(left) + total(right)
}

/// The softmax of the outputs; the class of the largest.
fn probabilities(f: &[f32; OUTPUTS]) -> ([f64; CLASSES.len()], usize) {
    let f = f.map(f64::from);
    let best = (0..OUTPUTS).fold(0, |best, k| if f[k] > f[best] { k } else { best });
    let largest = f[best];
    let sum = largest + log64(total(&f.map(|f| exp64(f - largest))));
    (f.map(|f| exp64(f - sum)), best)
}
