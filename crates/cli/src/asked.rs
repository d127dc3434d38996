//! What the library refuses, in the words of the command line.

use crate::exit::usage;
use loopfit::{Error, Given, Reason};
use loopfit_search::SearchError;

/// The error of a fit, a comparison or a curve. `updates` is the option that asks for a number of updates.
pub(crate) fn wrong(error: Error, updates: &str) -> anyhow::Error {
    match error {
        Error::OnlyEstimated {
            given: Given::Iterations,
            reason: Reason::Automatic,
        } => usage(
            "--iterations auto stands alone: leave the other iteration counts out, or leave out auto"
                .to_string(),
        ),
        Error::OnlyEstimated { given, reason } => {
            let reason = match reason {
                Reason::Transformer => "the Transformer",
                Reason::Density => "a density",
                Reason::Protocol => "--protocol",
                Reason::Shape => "--shape",
                Reason::Updates => updates,
                Reason::Automatic => "--iterations auto",
                _ => "--equal",
            };
            usage(format!(
                "{} does not go with {reason}, which is searched for with ReLU units in the paper's form: leave one of them out",
                option(given)
            ))
        }
        Error::Only {
            given: Given::Bound,
            ..
        } => usage(
            "--bound is for the index of a density: leave it out, or add --task density"
                .to_string(),
        ),
        Error::Only {
            given: Given::TestFraction,
            of: "tables",
        } => usage(
            "--test-fraction is for tables: a simulation draws its own test rows; leave it out"
                .to_string(),
        ),
        Error::Only {
            given,
            of: "a model that is delivered",
        } => usage(format!(
            "{} is for a model that is delivered, and here all rows are for the selection: leave it out",
            option(given)
        )),
        Error::Only {
            given: Given::Exposure,
            ..
        } => {
            usage("--exposure is for counts: add --likelihood poisson, or leave it out".to_string())
        }
        Error::Only { given, of } => usage(format!("{} is for {of}: leave it out", option(given))),
        Error::ShapeOf(method) => usage(format!(
            "--shape {}=... is for a method that --method leaves out",
            method.key()
        )),
        Error::ShapeOfAny => usage(
            "a shape means one architecture: fix a shape with --arch ffn or --arch transformer"
                .to_string(),
        ),
        Error::Nothing("test row") => {
            usage("a comparison is made on test rows: --test-fraction must be above 0".to_string())
        }
        Error::NoCurve => usage(
            "a density has no targets to validate on: `loopfit curve` needs a target to predict"
                .to_string(),
        ),
        Error::Cancelled => SearchError::Interrupted.into(),
        Error::Search(error) => error.into(),
        Error::Table(error) => error.into(),
        other => other.into(),
    }
}

/// The option that gives something.
fn option(given: Given) -> &'static str {
    match given {
        Given::Target => "--target",
        Given::Counts => "--likelihood poisson",
        Given::Exposure => "--exposure",
        Given::Weights => "--weight",
        Given::Activations => "--activation",
        Given::Iterations => "--iterations",
        Given::Automatic => "--iterations auto",
        Given::Form => "--form",
        Given::TestFraction => "--test-fraction",
        Given::NoRefit => "--no-refit",
        Given::Bound => "--bound",
        Given::Time => "--time",
        Given::Equal => "--equal",
        _ => "this option",
    }
}
