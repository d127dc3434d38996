
/// The number of a category, if it is one.
fn find(names: &[&str], text: Option<&str>) -> Option<usize> {
    let text = text?;
    names.iter().position(|name| *name == text)
}
