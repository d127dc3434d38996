//! What an estimate takes into account, on the command line.

use crate::effort::SearchArguments;
use crate::exit::usage;
use anyhow::Result;
use clap::{Args, ValueEnum};
use loopfit_model::{Activation, Method};
use loopfit_search::estimate::{Ask, LOOP_ITERATIONS, TEST_FRACTION};
use loopfit_search::replication::Source;

/// Activations, form and rows of an estimate.
#[derive(Args, Clone, Debug)]
pub(crate) struct EstimateArguments {
    /// Hidden units: relu, tanh, silu, sine, several separated by commas, or any, which lets all compete.
    #[arg(long, value_name = "UNITS", value_delimiter = ',')]
    activation: Vec<UnitsName>,
    /// Iteration counts T that loops may have, separated by commas; 2,4,8 by default.
    #[arg(long, value_name = "T", value_delimiter = ',', value_parser = iterations)]
    iterations: Vec<usize>,
    /// Which numbers are counted: canonical leaves out those that a change of basis makes redundant, paper counts all of the
    /// paper's.
    #[arg(long, value_name = "FORM")]
    form: Option<FormName>,
    /// Share of the groups that are held out for the test score; 0 gives everything to training.
    #[arg(long, value_name = "SHARE", value_parser = share)]
    test_fraction: Option<f64>,
    /// Deliver the fit to the rows of the selection, not a last fit to all rows.
    #[arg(long)]
    no_refit: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum UnitsName {
    Relu,
    Tanh,
    Silu,
    Sine,
    Any,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum FormName {
    Canonical,
    Paper,
}

/// Parses an iteration count.
fn iterations(text: &str) -> Result<usize, String> {
    crate::data::between(text, 1, 64)
}

/// Parses a share of the groups.
fn share(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(share) if (0.0..=0.9).contains(&share) => Ok(share),
        Ok(_) => Err("it must be at least 0 and at most 0.9".to_string()),
        Err(e) => Err(e.to_string()),
    }
}

impl EstimateArguments {
    /// Whether rows are estimated from rather than searched on: all but densities, Transformers, and what names updates,
    /// shapes or a protocol. The paper's searches stay as they are, so options of an estimate are refused there.
    pub(crate) fn applies(
        &self,
        source: &Source,
        ffn: bool,
        search: &SearchArguments,
    ) -> Result<bool> {
        let reason = match (ffn, source.is_density(), search.searches()) {
            (false, _, _) => "the Transformer",
            (_, true, _) => "a density",
            (_, _, Some(option)) => option,
            (true, false, None) => {
                let simulated = matches!(source, Source::Simulation { .. });
                return match self.test_fraction {
                    Some(_) if simulated => Err(usage(
                        "--test-fraction is for tables: a simulation draws its own test rows; leave it out"
                            .to_string(),
                    )),
                    _ => Ok(true),
                };
            }
        };
        let given = [
            (!self.activation.is_empty(), "--activation"),
            (!self.iterations.is_empty(), "--iterations"),
            (self.form.is_some(), "--form"),
            (self.test_fraction.is_some(), "--test-fraction"),
            (self.no_refit, "--no-refit"),
        ];
        match given.iter().find(|(given, _)| *given) {
            Some((_, option)) => Err(usage(format!(
                "{option} does not go with {reason}, which is searched for with ReLU units in the paper's form: leave one of them out"
            ))),
            None => Ok(false),
        }
    }

    /// The share of test rows.
    pub(crate) fn test_fraction(&self) -> f64 {
        self.test_fraction.unwrap_or(TEST_FRACTION)
    }

    /// What is asked.
    pub(crate) fn ask(&self, budget: usize, methods: Vec<Method>, work: f64, seed: u64) -> Ask {
        let all = self.activation.is_empty() || self.activation.contains(&UnitsName::Any);
        let wanted = |activation: &Activation| {
            let name = match activation {
                Activation::Relu => UnitsName::Relu,
                Activation::Tanh => UnitsName::Tanh,
                Activation::Silu => UnitsName::Silu,
                Activation::Sine => UnitsName::Sine,
            };
            all || self.activation.contains(&name)
        };
        Ask {
            budget,
            methods,
            activations: Activation::ALL.into_iter().filter(wanted).collect(),
            iterations: match self.iterations.is_empty() {
                true => LOOP_ITERATIONS.to_vec(),
                false => self.iterations.clone(),
            },
            paper: self.form == Some(FormName::Paper),
            work,
            test_fraction: self.test_fraction(),
            test_seed: None,
            refit: !self.no_refit,
            seed,
        }
    }

    /// What is asked of a selection that delivers no model: all rows are for it.
    pub(crate) fn selection(&self, methods: Vec<Method>, work: f64, seed: u64) -> Result<Ask> {
        let given = [
            (self.test_fraction.is_some(), "--test-fraction"),
            (self.no_refit, "--no-refit"),
        ];
        match given.iter().find(|(given, _)| *given) {
            Some((_, option)) => Err(usage(format!(
                "{option} is for a model that is delivered, and here all rows are for the selection: leave it out"
            ))),
            None => Ok(Ask {
                test_fraction: 0.0,
                refit: false,
                ..self.ask(0, methods, work, seed)
            }),
        }
    }
}
