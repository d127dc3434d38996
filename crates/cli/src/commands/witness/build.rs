//! `loopfit witness build`.

use super::{ConstructionArguments, as_usage, say, title, to_json};
use crate::exit::Exit;
use crate::json::object;
use crate::{Global, output};
use anyhow::{Context, Result};
use loopfit_fitted::FittedModel;
use loopfit_report::number;
use loopfit_witness::ffn::resources::{Relation, Resource};
use loopfit_witness::{Construction, Network, Rational};
use serde_json::{Map, Value, json};
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
    let network = construction.build().map_err(as_usage)?;
    let rounded = match (&a.output, &exact) {
        (Some(path), Some(exact)) => Some(write(a, &construction, &network, path, exact, global)?),
        _ => None,
    };
    if global.json {
        let mut object = to_json(&construction);
        object.extend(network_json(&network, rounded));
        output::print_json(&object)?;
    } else {
        let title = title(&construction, &network);
        output::print(&format!("{title}\n{}", text(&network)))?;
    }
    Ok(Exit::Done)
}

fn text(network: &Network) -> String {
    match network {
        Network::Ffn(witness) => {
            let resolution = witness.resolution();
            format!(
                "b = J = {}, G = {}, L_m = {}; built, what the paper states, its formula\n\n{}",
                resolution.b(),
                resolution.g(),
                resolution.scale_exponent(),
                witness.resources()
            )
        }
        Network::Transformer(witness) => format!(
            "built, what the paper states, its formula\n\n{}{:<24}{:>10}               estimated from above, for runs\n",
            witness.resources(),
            "mantissa bits",
            witness.default_bits()
        ),
    }
}

fn network_json(network: &Network, rounded: Option<usize>) -> Map<String, Value> {
    let texts = |codes: &[Rational]| codes.iter().map(Rational::to_string).collect::<Vec<_>>();
    let table = |lines: &[Resource]| lines.iter().map(line_json).collect::<Vec<_>>();
    match network {
        Network::Ffn(witness) => {
            let (resolution, resources) = (witness.resolution(), witness.resources());
            object!({
                "b": resolution.b(), "J": resolution.j(), "G": resolution.g(), "L_m": resolution.scale_exponent(),
                "resources": table(resources.table()), "tau_m": resources.tau, "S": resources.finishing_time,
                "B_L": resources.count, "code_digits": resources.code_length, "codes": texts(witness.codes()),
                "rounded": rounded,
            })
        }
        Network::Transformer(witness) => {
            let (resources, times) = (witness.resources(), witness.resources().times);
            object!({
                "p_nat": resources.p_nat, "q_hom": resources.q_hom, "q": resources.q, "N": resources.tokens,
                "Lambda": resources.gate, "units_used": resources.units_used(), "resources": table(resources.table()),
                "L_route": resources.comparisons, "T_route": times.route, "T_load": times.load, "T_halt": times.halt,
                "T_clear": times.clear, "B_L": resources.count, "bits": witness.default_bits(),
                "codes": texts(witness.codes()), "readout_code": witness.correction().code.to_string(),
            })
        }
    }
}

fn line_json(line: &Resource) -> Value {
    let relation = match line.relation {
        Relation::Equal => "=",
        Relation::AtMost => "<=",
    };
    json!({
        "name": line.name, "formula": line.formula, "stated": line.stated.to_string(),
        "relation": relation, "built": line.built.to_string(),
    })
}

/// Writes the model and, where 32 bits do not hold it, the exact numbers; how many these are.
fn write(
    a: &Arguments,
    construction: &Construction,
    network: &Network,
    path: &Path,
    exact: &Path,
    global: &Global,
) -> Result<usize> {
    let dense = network.dense((a.state, a.width), a.iterations);
    let dense = dense.map_err(as_usage)?;
    let csv = dense.exact_csv();
    let (h, words) = (construction.resolution.h.to_f32(), construction.words());
    FittedModel::constructed(dense.parameters, h, &words)?.save(path)?;
    output::wrote(path, global);
    if dense.exact.is_empty() {
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
    output::write_file(exact, &csv)?;
    output::wrote(exact, global);
    let file = exact.display();
    say(
        global,
        &match network {
            Network::Ffn(_) => format!(
                "{} coefficients are not numbers of 32 bits, so that the model file computes another function: {file} has them exactly, and `witness run` runs them",
                number::integer(dense.exact.len() as u64)
            ),
            Network::Transformer(_) => format!(
                "in 32 bits the network computes another function: {file} has its codes exactly, and `witness run` runs it with enough bits"
            ),
        },
    );
    Ok(dense.exact.len())
}
