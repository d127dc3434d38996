//! The density of points, its logarithm at new ones, and draws from it.
#![allow(clippy::print_stdout, clippy::print_stderr)]

use loopfit::{Effort, Fit, Method, Table};

fn main() -> Result<(), loopfit::Error> {
    // Two clouds on the diagonal.
    let points: Vec<f64> = (0..500)
        .flat_map(|i| {
            let (a, b) = (
                (f64::from(i) * 0.618).fract(),
                (f64::from(i) * 0.414).fract(),
            );
            let centre = if i % 2 == 0 { 0.0 } else { 3.0 };
            [centre + a + b, centre + a - b]
        })
        .collect();
    let table = Table::from_rows(&points, &["u", "v"])?;
    let fits = Fit::new(&table)
        .density()
        .budget(48)
        .methods([Method::Loop])
        .effort(Effort::Updates(600))
        .run()?;
    let model = fits.best().model();
    println!("{}", fits.best());
    let at = Table::from_rows(&[1.0, 0.0, 2.5, 1.0], &["u", "v"])?;
    println!("log densities: {:?}", model.predict(&at)?.log_densities());
    let draws = model.sample(5, 1)?;
    println!("{:?}", draws.column("u"));
    Ok(())
}
