//! Numbers in memory, a progress callback and a limit on the time.
#![allow(clippy::print_stdout, clippy::print_stderr)]

use loopfit::{Fit, Table};
use std::ops::ControlFlow;
use std::time::Duration;

fn main() -> Result<(), loopfit::Error> {
    let inputs: Vec<f32> = (0..600).map(|i| (i as f32 * 0.618).fract()).collect();
    let targets: Vec<f32> = inputs
        .chunks(2)
        .map(|x| (6.0 * x[0]).sin() * x[1])
        .collect();
    let table = Table::from_rows(&inputs, &["u", "v"])?.with_column("y", &targets)?;
    let fits = Fit::new(&table)
        .target("y")
        .budget(48)
        .time_limit(Duration::from_secs(3))
        .progress(|progress| {
            eprint!("\r{:3.0}%", 100.0 * progress.done);
            ControlFlow::Continue(())
        })
        .run()?;
    eprintln!();
    println!("{}", fits.best());
    let model = fits.best().model();
    // What the network says after each of its iterations.
    for (t, predictions) in model.predict_iterations(&table)?.iter().enumerate() {
        println!(
            "after iteration {}: {:?}",
            t + 1,
            predictions.responses().map(|y| y[0])
        );
    }
    println!(
        "90% interval of the first row: {:?}",
        model.intervals(&table, 0.9)?[0]
    );
    Ok(())
}
