//! What competes under a cap: an architecture with a method.

use loopfit_model::{ArchitectureChoice, Method};
use std::fmt;

/// Single, Loop or Untied of an architecture.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Family {
    /// Residual FFN or Transformer.
    pub architecture: ArchitectureChoice,
    /// How its updates share their coefficients.
    pub method: Method,
}

impl Family {
    /// Every method of every architecture, one architecture after the other.
    pub fn each(architectures: &[ArchitectureChoice], methods: &[Method]) -> Vec<Self> {
        let of = |architecture: &ArchitectureChoice| {
            let architecture = architecture.clone();
            methods.iter().map(move |method| Self {
                architecture: architecture.clone(),
                method: *method,
            })
        };
        architectures.iter().flat_map(of).collect()
    }

    /// A method of the residual FFN.
    pub fn ffn(method: Method) -> Self {
        Self {
            architecture: ArchitectureChoice::Ffn,
            method,
        }
    }

    /// The name that JSON output and random streams use: `loop`, `loop-transformer`.
    pub fn key(&self) -> String {
        match self.architecture {
            ArchitectureChoice::Ffn => self.method.key().to_string(),
            ArchitectureChoice::Transformer(_) => {
                format!("{}-{}", self.method.key(), self.architecture.key())
            }
        }
    }
}

/// `Loop`, `Loop Transformer`.
impl fmt::Display for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.architecture {
            ArchitectureChoice::Ffn => self.method.fmt(f),
            ArchitectureChoice::Transformer(_) => write!(f, "{} Transformer", self.method),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use loopfit_model::Tokens;

    #[test]
    fn names_of_both_architectures() {
        let both = [
            ArchitectureChoice::Ffn,
            ArchitectureChoice::Transformer(Tokens::All),
        ];
        let families = Family::each(&both, &[Method::Single, Method::Loop]);
        let names: Vec<(String, String)> =
            families.iter().map(|f| (f.key(), f.to_string())).collect();
        let name = |key: &str, name: &str| (key.to_string(), name.to_string());
        assert_eq!(
            names,
            [
                name("single", "Single"),
                name("loop", "Loop"),
                name("single-transformer", "Single Transformer"),
                name("loop-transformer", "Loop Transformer"),
            ]
        );
    }
}
