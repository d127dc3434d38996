//! Which methods take part, on the command line.

use crate::named::named;
use clap::Args;
use loopfit::{Fit, Method};

/// The methods of a fit or a comparison.
#[derive(Args, Clone, Debug)]
pub(crate) struct MethodsArgument {
    /// Methods to try, separated by commas; all by default.
    #[arg(long, value_name = "METHOD", value_delimiter = ',', value_parser = named::<Method>())]
    method: Vec<Method>,
}

impl MethodsArgument {
    /// A fit with these methods, in their usual order.
    pub(crate) fn apply<'a>(&self, fit: Fit<'a>) -> Fit<'a> {
        let wanted = |method: &Method| self.method.is_empty() || self.method.contains(method);
        fit.methods(Method::ALL.into_iter().filter(wanted))
    }
}
