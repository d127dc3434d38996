//! What an estimate takes into account, on the command line.

use crate::data::given;
use clap::{Args, ValueEnum};
use loopfit::{Activation, Fit};

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
    /// A fit with these options.
    pub(crate) fn apply<'a>(&self, mut fit: Fit<'a>) -> Fit<'a> {
        let any = self.activation.contains(&UnitsName::Any);
        let units = self.activation.iter().filter_map(|name| name.activation());
        let units: Vec<Activation> = match any {
            true => Activation::ALL.to_vec(),
            false => units.collect(),
        };
        fit = given(fit, some(units), Fit::activations);
        fit = given(fit, some(self.iterations.clone()), Fit::iterations);
        let paper = self.form.map(|form| form == FormName::Paper);
        fit = given(fit, paper, Fit::paper_form);
        fit = given(fit, self.test_fraction, Fit::test_fraction);
        given(fit, self.no_refit.then_some(false), Fit::refit)
    }
}

impl UnitsName {
    fn activation(self) -> Option<Activation> {
        match self {
            Self::Relu => Some(Activation::Relu),
            Self::Tanh => Some(Activation::Tanh),
            Self::Silu => Some(Activation::Silu),
            Self::Sine => Some(Activation::Sine),
            Self::Any => None,
        }
    }
}

/// A list, if there is something in it.
fn some<T>(list: Vec<T>) -> Option<Vec<T>> {
    (!list.is_empty()).then_some(list)
}
