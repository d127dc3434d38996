//! Rows from a source of one's own, here lines of a log: anything that can be turned into columns is a table.
#![allow(clippy::print_stdout, clippy::print_stderr)]

use loopfit::{Column, Effort, Fit, Table};

/// What a machine wrote.
fn log() -> impl Iterator<Item = String> {
    (0..200).map(|i| {
        let (load, ambient) = (i % 40, 15 + i % 13);
        let temperature = 20.0 + 0.4 * f64::from(load) + 0.9 * f64::from(ambient);
        format!("t={i} load={load} ambient={ambient} temperature={temperature:.1}")
    })
}

/// A field of every line; NaN where it is missing.
fn field(name: &str) -> Column {
    let value = |line: String| {
        let found = line
            .split(' ')
            .find_map(|part| part.strip_prefix(name)?.strip_prefix('='));
        found.and_then(|text| text.parse().ok()).unwrap_or(f64::NAN)
    };
    Column::Numeric(log().map(value).collect())
}

fn main() -> Result<(), loopfit::Error> {
    let columns = ["load", "ambient", "temperature"].map(|name| (name.to_string(), field(name)));
    let table = Table::from_columns("the log", columns.to_vec());
    let fits = Fit::new(&table)
        .target("temperature")
        .budget(16)
        .effort(Effort::Quick)
        .run()?;
    // Temperature is linear in load and ambient: three numbers do.
    println!("{}", fits.best());
    let tomorrow = Table::from_rows(&[35.0, 22.0], &["load", "ambient"])?;
    println!("{:?}", fits.best().model().predict(&tomorrow)?.responses());
    Ok(())
}
