//! A table from a file: fit, look, save, load, predict.
//!
//! `cargo run --release -p loopfit --example table -- data.csv target 64`; without arguments on rows of its own.
#![allow(clippy::print_stdout, clippy::print_stderr)]

use loopfit::{Effort, Fit, Model, Table};
use std::path::PathBuf;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (file, target, cap) = match &arguments[..] {
        [file, target, cap] => (PathBuf::from(file), target.as_str(), cap.parse()?),
        _ => {
            let file = folder.path().join("waves.csv");
            let rows = (0..300).map(|i| {
                let (u, v) = (f64::from(i % 17) / 17.0, f64::from(i % 23) / 23.0);
                format!("{u},{v},{}\n", (4.0 * u).sin() + v * v)
            });
            std::fs::write(&file, format!("u,v,height\n{}", rows.collect::<String>()))?;
            (file, "height", 32)
        }
    };
    let table = Table::read(&file)?;
    let fits = Fit::new(&table)
        .target(target)
        .budget(cap)
        .effort(Effort::Quick)
        .run()?;
    for competitor in fits.iter() {
        println!("{competitor}");
    }
    let path = folder.path().join("model.safetensors");
    fits.best().model().save(&path)?;
    let model = Model::load(&path)?;
    println!("kept: {model}, {:?}", model.score(&table)?);
    println!(
        "first rows: {:?}",
        model.predict(&table)?.responses().map(|y| &y[..3])
    );
    Ok(())
}
