//! Which methods take part, on the command line.

use crate::effort::SearchArguments;
use crate::exit::usage;
use anyhow::Result;
use clap::{Args, ValueEnum};
use loopfit_model::Method;

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
    /// The methods in their usual order. A shape that is fixed must be one of theirs.
    pub(crate) fn chosen(&self, search: &SearchArguments) -> Result<Vec<Method>> {
        let wanted = |method: Method| {
            self.method.is_empty() || self.method.iter().any(|n| n.method() == method)
        };
        if let Some(shape) = search.shape.iter().find(|s| !wanted(s.tying.method())) {
            let method = shape.tying.method().key();
            return Err(usage(format!(
                "--shape {method}=... is for a method that --method leaves out"
            )));
        }
        Ok(Method::ALL.into_iter().filter(|m| wanted(*m)).collect())
    }
}
