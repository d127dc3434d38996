//! `loopfit convert`.

use crate::exit::Exit;
use crate::json::object;
use crate::named::named;
use crate::{Global, interrupt, output};
use anyhow::Result;
use loopfit_fitted::FittedModel;
use loopfit_model::FormKind;
use serde_json::{Value, json};
use std::path::PathBuf;

#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  loopfit convert model.safetensors --form paper -o paper.safetensors\n  loopfit convert paper.safetensors --form canonical -o model.safetensors"
)]
pub(crate) struct Arguments {
    /// The model file.
    model: PathBuf,
    /// The form to write: paper has every number of the paper's networks, canonical leaves out those that a change of basis
    /// makes redundant. Predictions stay the same; in the canonical form up to rounding,
    /// and it exists where the state begins with independent combinations of the inputs.
    #[arg(long, value_name = "FORM", value_parser = named::<FormKind>())]
    form: FormKind,
    /// Where the model goes.
    #[arg(long, short, value_name = "FILE")]
    output: PathBuf,
}

pub(crate) fn run(a: &Arguments, global: &Global) -> Result<Exit> {
    output::check_writable(&a.output, &[&a.model])?;
    let model = FittedModel::load(&a.model)?;
    let converted = match a.form {
        FormKind::Paper => model.to_paper(),
        FormKind::Canonical => model.to_canonical()?,
    };
    interrupt::writing(|| converted.save(&a.output))?;
    if global.json {
        output::print_json(&object!({
            "from": describe(&model), "to": describe(&converted),
            "model": a.output.display().to_string(),
        }))?;
        return Ok(Exit::Done);
    }
    let words = |model: &FittedModel| {
        let network = model.parameters.network();
        format!("{} numbers ({} form)", network.count(), network.form())
    };
    output::print(&format!("from {} to {}", words(&model), words(&converted)))?;
    if !global.quiet {
        if converted.provenance.budget > model.provenance.budget {
            output::say(&format!(
                "the cap is {} now, it was {}",
                converted.provenance.budget, model.provenance.budget
            ));
        }
        output::say(&format!("wrote {}", a.output.display()));
    }
    Ok(Exit::Done)
}

fn describe(model: &FittedModel) -> Value {
    let network = model.parameters.network();
    json!({
        "form": network.form().to_string(), "count": network.count(),
        "budget": model.provenance.budget, "coefficient_bound": model.bounds.parameter,
    })
}
