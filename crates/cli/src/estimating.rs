//! What an estimate takes into account, on the command line.

use crate::data::given;
use crate::named::{OneOrAll, named, named_or_all};
use clap::Args;
use loopfit::{Activation, Fit};
use loopfit_model::FormKind;

/// Activations, form and rows of an estimate.
#[derive(Args, Clone, Debug)]
pub(crate) struct EstimateArguments {
    /// Hidden units: relu, tanh, silu, sine, several separated by commas, or any, which lets all compete.
    #[arg(long, value_name = "UNITS", value_delimiter = ',', value_parser = named_or_all::<Activation>("any"))]
    activation: Vec<OneOrAll<Activation>>,
    /// Iteration counts T that loops may have, separated by commas; 2,4,8 by default. With auto, a loop of the paper's form whose T is
    /// chosen by penalised likelihood, without validation rows; T = 1, 2, 4, ..., 64 share the updates, a seventh for each.
    #[arg(long, value_name = "T", value_delimiter = ',', value_parser = iterations)]
    iterations: Vec<Count>,
    /// Which numbers are counted: canonical leaves out those that a change of basis makes redundant, paper counts all of the
    /// paper's.
    #[arg(long, value_name = "FORM", value_parser = named::<FormKind>())]
    form: Option<FormKind>,
    /// Share of the groups that are held out for the test score; 0 gives everything to training.
    #[arg(long, value_name = "SHARE", value_parser = share)]
    test_fraction: Option<f64>,
    /// Deliver the fit to the rows of the selection, not a last fit to all rows.
    #[arg(long)]
    no_refit: bool,
}

/// An iteration count, or that one is to be chosen.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Count {
    Of(usize),
    Auto,
}

/// Parses an iteration count.
fn iterations(text: &str) -> Result<Count, String> {
    match text {
        "auto" => Ok(Count::Auto),
        _ => match crate::data::between(text, 1, 64) {
            Ok(t) => Ok(Count::Of(t)),
            Err(why) => Err(format!("{why}, or auto")),
        },
    }
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
    /// A fit with these options.
    pub(crate) fn apply<'a>(&self, mut fit: Fit<'a>) -> Fit<'a> {
        let lists = self.activation.iter();
        let all = lists
            .clone()
            .find(|list| list.0.len() == Activation::ALL.len());
        let units = match all {
            Some(all) => all.0.clone(),
            None => lists.flat_map(|list| list.0.clone()).collect(),
        };
        fit = given(fit, some(units), Fit::activations);
        let counts = self.iterations.iter().filter_map(|count| match count {
            Count::Of(t) => Some(*t),
            Count::Auto => None,
        });
        fit = given(fit, some(counts.collect()), Fit::iterations);
        if self.iterations.contains(&Count::Auto) {
            fit = fit.automatic_iterations();
        }
        let paper = self.form.map(|form| form == FormKind::Paper);
        fit = given(fit, paper, Fit::paper_form);
        fit = given(fit, self.test_fraction, Fit::test_fraction);
        given(fit, self.no_refit.then_some(false), Fit::refit)
    }
}

/// A list, if there is something in it.
fn some<T>(list: Vec<T>) -> Option<Vec<T>> {
    (!list.is_empty()).then_some(list)
}
