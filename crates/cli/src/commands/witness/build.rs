//! `loopfit witness build`.

use super::{Built, CONSTRUCTED, Construction, ConstructionArguments, as_usage, say, transformer};
use crate::exit::Exit;
use crate::{Global, output};
use anyhow::{Context, Result};
use loopfit_data::Preprocessing;
use loopfit_engine::{FittedModel, Provenance};
use loopfit_likelihood::{Gaussian, Likelihood};
use loopfit_model::{Bounds, Parameters};
use loopfit_report::number;
use loopfit_witness::ffn::dense::{Model, Rounded};
use loopfit_witness::ffn::resources::{Relation, Resource};
use loopfit_witness::{Rational, ffn};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  loopfit witness build --target \"x1*(1-x2)/2\" --smoothness 2 -m 3\n  loopfit witness build --target x1 --smoothness 1 -m 3 -u 3 --reader dyadic -o stairs.safetensors\n  loopfit predict stairs.safetensors data.csv\n\n32 bits hold a network of several records in few cases: -u m and --reader dyadic are those that work, up to m = 3 with d = s = 1."
)]
pub(crate) struct Arguments {
    #[command(flatten)]
    construction: ConstructionArguments,
    /// Write the network as an ordinary model file with inputs x1, ..., xd, and what 32 bits do not hold exactly beside it.
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// State dimension q of the file, padded with zeros; the construction's by default.
    #[arg(long = "q", value_name = "Q", requires = "output", value_parser = crate::data::natural)]
    state: Option<usize>,
    /// Hidden width r of the file, padded with zeros; the construction's by default.
    #[arg(long = "r", value_name = "R", requires = "output", value_parser = crate::data::natural)]
    width: Option<usize>,
    /// Iterations of the file; the finishing time by default.
    #[arg(long, value_name = "T", requires = "output", value_parser = crate::data::natural)]
    iterations: Option<usize>,
}

pub(crate) fn run(a: &Arguments, global: &Global) -> Result<Exit> {
    let exact = a
        .output
        .as_ref()
        .map(|path| path.with_extension("exact.csv"));
    for path in a.output.iter().chain(&exact) {
        output::check_writable(path, &[])?;
    }
    let mut construction = a.construction.get()?;
    construction.padding = (a.state, a.width);
    let witness = match construction.build()? {
        Built::Ffn(witness) => witness,
        Built::Transformer(witness) => {
            let files = a.output.as_deref().zip(exact.as_deref());
            return transformer::build(&construction, &witness, files, a.iterations, global);
        }
    };
    let written = match (&a.output, &exact) {
        (Some(path), Some(exact)) => Some(write(a, &construction, &witness, path, exact, global)?),
        _ => None,
    };
    let resources = witness.resources();
    if global.json {
        let resolution = witness.resolution();
        let codes: Vec<String> = witness.codes().iter().map(Rational::to_string).collect();
        let table: Vec<Value> = resources.table().iter().map(line_json).collect();
        let mut object = construction.to_json();
        for (key, value) in [
            ("b", json!(resolution.b())),
            ("J", json!(resolution.j())),
            ("G", json!(resolution.g())),
            ("L_m", json!(resolution.scale_exponent())),
            ("resources", json!(table)),
            ("tau_m", json!(resources.tau)),
            ("S", json!(resources.finishing_time)),
            ("B_L", json!(resources.count)),
            ("code_digits", json!(resources.code_length)),
            ("codes", json!(codes)),
            ("rounded", json!(written)),
        ] {
            object.insert(key.into(), value);
        }
        output::print_json(&object)?;
        return Ok(Exit::Done);
    }
    output::print(&format!(
        "FFN witness: {}\nb = J = {}, G = {}, L_m = {}; built, what the paper states, its formula\n\n{resources}",
        construction.words(),
        witness.resolution().b(),
        witness.resolution().g(),
        witness.resolution().scale_exponent()
    ))?;
    Ok(Exit::Done)
}

pub(super) fn line_json(line: &Resource) -> Value {
    let relation = match line.relation {
        Relation::Equal => "=",
        Relation::AtMost => "<=",
    };
    json!({
        "name": line.name, "formula": line.formula, "stated": line.stated.to_string(),
        "relation": relation, "built": line.built.to_string(),
    })
}

/// Writes the model and, where 32 bits round it, the exact coefficients; how many were rounded.
fn write(
    a: &Arguments,
    construction: &Construction,
    witness: &ffn::Witness,
    path: &Path,
    exact: &Path,
    global: &Global,
) -> Result<usize> {
    let resources = witness.resources();
    let (q, r) = (
        a.state.unwrap_or(resources.q),
        a.width.unwrap_or(resources.r),
    );
    let t = a.iterations.unwrap_or(resources.finishing_time);
    let Model {
        parameters,
        rounded,
    } = witness.model(q, r, t).map_err(as_usage)?;
    save(construction, parameters, path)?;
    output::wrote(path, global);
    if rounded.is_empty() {
        // An older file beside the model would be about another network.
        if exact.exists() {
            std::fs::remove_file(exact)
                .with_context(|| format!("cannot remove {}", exact.display()))?;
            say(
                global,
                &format!("removed {}, which was of another network", exact.display()),
            );
        }
        return Ok(0);
    }
    let mut csv = "tensor,row,column,exact\n".to_string();
    for Rounded {
        tensor,
        row,
        column,
        exact,
    } in &rounded
    {
        csv += &format!("{tensor},{row},{column},{exact}\n");
    }
    output::write_file(exact, &csv)?;
    output::wrote(exact, global);
    say(
        global,
        &format!(
            "{} coefficients are not numbers of 32 bits, so that the model file computes another function: {} has them exactly, and `witness run` runs them",
            number::integer(rounded.len() as u64),
            exact.display()
        ),
    );
    Ok(rounded.len())
}

/// Writes a network as a model file with inputs `x1`, ..., `xd` that stay as they are.
pub(super) fn save(construction: &Construction, parameters: Parameters, path: &Path) -> Result<()> {
    let sizes = parameters.values().iter().map(|value| value.abs());
    let largest = sizes.fold(1.0, f32::max);
    let model = FittedModel {
        bounds: Bounds::new(largest, construction.resolution.h.to_f32())?,
        likelihood: Likelihood::Gaussian(Gaussian::squared_error()),
        preprocessing: Preprocessing::unchanged(construction.resolution.d),
        provenance: Provenance {
            version: env!("CARGO_PKG_VERSION").to_string(),
            source: format!("{CONSTRUCTED}: {}", construction.words()),
            training_samples: String::new(),
            budget: parameters.network().count(),
            seed: 0,
            validation: 0.0,
            updates: 0,
        },
        assessment: None,
        parameters,
    };
    Ok(model.save(path)?)
}
