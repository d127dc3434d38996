//! Which architectures compete, on the command line.

use crate::exit::usage;
use crate::named::{OneOrAll, named, named_or_all};
use anyhow::{Result, anyhow};
use clap::Args;
use loopfit::{Fit, FittedModel, Tokens};
use loopfit_model::tokens::ChoiceError;
use loopfit_model::{Architecture, ArchitectureChoice, ArchitectureKind};
use loopfit_numerics::named::Named;
use std::path::Path;

/// The architectures of a search.
#[derive(Args, Clone, Debug)]
pub(crate) struct ArchitectureArguments {
    /// The architecture: residual FFN, post-LN Transformer, or any, which tries both.
    #[arg(long, value_name = "ARCH", default_value = "ffn", value_parser = named_or_all::<ArchitectureKind>("any"))]
    arch: OneOrAll<ArchitectureKind>,
    #[command(flatten)]
    tokens: TokensArgument,
}

/// One architecture, whose tokens are the default ones.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct ArchArgument {
    /// The architecture.
    #[arg(long, value_name = "ARCH", default_value = "ffn", value_parser = named::<ArchitectureKind>())]
    pub(crate) arch: ArchitectureKind,
}

/// One architecture.
#[derive(Args, Clone, Debug)]
pub(crate) struct ArchitectureArgument {
    #[command(flatten)]
    own: ArchArgument,
    #[command(flatten)]
    tokens: TokensArgument,
}

impl ArchitectureArgument {
    /// Which it is.
    pub(crate) fn kind(&self) -> ArchitectureKind {
        self.own.arch
    }

    /// The architecture before the number of inputs is known.
    pub(crate) fn choice(&self) -> Result<ArchitectureChoice> {
        self.tokens.of(self.kind())
    }

    /// The architecture over `d` inputs.
    pub(crate) fn at(&self, d: usize) -> Result<Architecture> {
        let architecture = self.choice()?.at(d);
        architecture.map_err(|error| usage(error.to_string()))
    }
}

/// What the tokens of a Transformer read.
#[derive(Args, Clone, Debug)]
pub(crate) struct TokensArgument {
    /// Data tokens of the Transformer: each (one for every input), all (one for all inputs), a number
    /// of groups of neighbouring inputs, or the inputs of every token, counted from 0, such as
    /// 0,1/2,3; by default each, above eight inputs 8. A column of categories is one input for each
    /// category.
    #[arg(long, value_name = "TOKENS")]
    tokens: Option<Tokens>,
}

impl TokensArgument {
    /// An architecture with these tokens.
    fn of(&self, kind: ArchitectureKind) -> Result<ArchitectureChoice> {
        ArchitectureChoice::of(kind, self.tokens.clone()).map_err(|error| {
            usage(match error {
                ChoiceError::Tokens => {
                    "--tokens is for the Transformer: add --arch transformer or leave it out"
                        .to_string()
                }
                other => other.to_string(),
            })
        })
    }
}

impl ArchitectureArguments {
    /// A fit with what is asked for.
    pub(crate) fn apply<'a>(&self, fit: Fit<'a>) -> Result<Fit<'a>> {
        let tokens = self.tokens.tokens.clone();
        Ok(match self.arch.0[..] {
            [ArchitectureKind::Ffn] => {
                self.tokens.of(ArchitectureKind::Ffn)?;
                fit
            }
            [ArchitectureKind::Transformer] => fit.transformer(tokens),
            _ => fit.any_architecture(tokens),
        })
    }
}

/// The architecture that a model file is expected to have.
#[derive(Args, Clone, Debug)]
pub(crate) struct ExpectedArchitecture {
    /// Refuse a model of the other architecture: ffn or transformer; by default any will do.
    #[arg(long, value_name = "ARCH", value_parser = named::<ArchitectureKind>())]
    arch: Option<ArchitectureKind>,
}

impl ExpectedArchitecture {
    /// An error if the model of a file has another one.
    pub(crate) fn check(&self, model: &FittedModel, file: &Path) -> Result<()> {
        let found = model.parameters.network().architecture().kind();
        match self.arch {
            Some(expected) if expected != found => Err(anyhow!(
                "{} holds a model with --arch {}, not {}: leave --arch out or name another file",
                file.display(),
                found.name(),
                expected.name()
            )),
            _ => Ok(()),
        }
    }
}
