//! Single, Loop, Untied and the linear model side by side, paired over seeds.
#![allow(clippy::print_stdout, clippy::print_stderr)]

use loopfit::{Effort, Fit, Method, Table};

fn main() -> Result<(), loopfit::Error> {
    let inputs: Vec<f64> = (0..400)
        .map(|i| (f64::from(i) * 0.754_877).fract())
        .collect();
    let targets: Vec<f64> = inputs
        .chunks(2)
        .map(|x| (3.0 * x[0] - x[1]).tanh() + 0.5 * (8.0 * x[0]).cos())
        .collect();
    let table = Table::from_rows(&inputs, &["u", "v"])?.with_column("y", &targets)?;
    let comparison = Fit::new(&table)
        .target("y")
        .budget(24)
        .methods([Method::Single, Method::Loop])
        .effort(Effort::Quick)
        .compare(1..=3)?;
    print!("{comparison}");
    Ok(())
}
