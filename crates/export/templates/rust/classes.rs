
fn after(input: &INPUT, iterations: usize) -> Option<(usize, [f64; CLASSES.len()])> {
    let (x, _) = read(input);
    if x.iter().any(|x| x.is_nan()) {
        return None;
    }
    let f = network(&x, iterations);
    if f.iter().any(|f| f.is_nan()) {
        return None;
    }
    let (p, best) = probabilities(&f);
    Some((best, p.map(|p| ROOM * p + LEAST)))
}
