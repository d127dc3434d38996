//! Which methods take part, on the command line.

use clap::{Args, ValueEnum};
use loopfit::{Fit, Method};

/// The methods of a fit or a comparison.
#[derive(Args, Clone, Debug)]
pub(crate) struct MethodsArgument {
    /// Methods to try, separated by commas; all by default.
    #[arg(long, value_name = "METHOD", value_delimiter = ',')]
    method: Vec<MethodName>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum MethodName {
    Single,
    Loop,
    Untied,
}

impl MethodName {
    fn method(self) -> Method {
        match self {
            Self::Single => Method::Single,
            Self::Loop => Method::Loop,
            Self::Untied => Method::Untied,
        }
    }
}

impl MethodsArgument {
    /// A fit with these methods, in their usual order.
    pub(crate) fn apply<'a>(&self, fit: Fit<'a>) -> Fit<'a> {
        let wanted = |method: &Method| {
            self.method.is_empty() || self.method.iter().any(|n| n.method() == *method)
        };
        fit.methods(Method::ALL.into_iter().filter(wanted))
    }
}
