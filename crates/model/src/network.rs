//! Which function class: an architecture with its dimensions, and its count.

use crate::activation::Activation;
use crate::architecture::Architecture;
use crate::form::Form;
use crate::layout::{self, Layout};
use crate::tying::Tying;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The largest dimension, iteration count or parameter count that a network may
/// have: far above any cap of interest, and low enough that no count overflows.
pub const LARGEST: usize = 1 << 24;

/// A network whose dimensions have been checked: an architecture, the input
/// dimension `d`, the number of outputs C, the state dimension `q`, the hidden
/// width `r` and the tying.
///
/// # Reference
/// Sections 2.1, 3.2 and F.4.2.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "Unchecked", into = "Unchecked")]
pub struct Network {
    architecture: Architecture,
    d: usize,
    outputs: usize,
    q: usize,
    r: usize,
    tying: Tying,
    activation: Activation,
    form: Form,
    inputs: Option<Vec<usize>>,
    zeros: Option<Vec<usize>>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Unchecked {
    architecture: Architecture,
    d: usize,
    outputs: usize,
    q: usize,
    r: usize,
    tying: Tying,
    #[serde(default, skip_serializing_if = "Activation::is_relu")]
    activation: Activation,
    #[serde(default, skip_serializing_if = "Form::is_paper")]
    form: Form,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    inputs: Option<Vec<usize>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    zeros: Option<Vec<usize>>,
}

/// What is wrong with the dimensions of a network.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ShapeError {
    /// A dimension or the iteration count is zero.
    #[error("{name} is 0: every dimension and the iteration count must be at least 1")]
    Zero {
        /// Which one.
        name: &'static str,
    },
    /// A dimension or the iteration count is beyond [`LARGEST`].
    #[error("{name} is {value}: at most {LARGEST} is supported")]
    TooLarge {
        /// Which one.
        name: &'static str,
        /// Its value.
        value: usize,
    },
    /// The parameter count is beyond [`LARGEST`].
    #[error("the network would have {count} numbers: at most {LARGEST} are supported")]
    TooManyParameters {
        /// The count.
        count: u128,
    },
    /// A shape that a form does not have.
    #[error(
        "a network of {form} form cannot have q = {q} with d = {d}: {}",
        match form {
            Form::Carried { .. } => "it needs 1 to q - 1 extra channels and at most d others",
            _ => "an affine function needs q <= d, no hidden units and one update",
        }
    )]
    Form {
        /// The form.
        form: Form,
        /// The state dimension.
        q: usize,
        /// The input dimension.
        d: usize,
    },
    /// Inputs that are not some of those there are.
    #[error(
        "the inputs that a network reads must be different ones below d = {d}, as many as its form takes, and the form not the paper's"
    )]
    Inputs {
        /// The number of inputs.
        d: usize,
    },
    /// Zeros that are not some of a network's numbers.
    #[error(
        "the zeros of a network must be in ascending order and fewer than its {count} numbers, and its form not the paper's"
    )]
    Zeros {
        /// Numbers of the network.
        count: usize,
    },
    /// An activation or a form that only residual FFNs have.
    #[error("{name} is for the residual FFN: a Transformer has ReLU units and the paper's form")]
    FfnOnly {
        /// The activation or the form.
        name: String,
    },
    /// More data tokens than inputs.
    #[error(
        "{tokens} data tokens are too many for d = {d}: each must read an input, use at most {d}"
    )]
    TooManyTokens {
        /// The number of data tokens.
        tokens: usize,
        /// The number of inputs.
        d: usize,
    },
    /// A data token reads no input.
    #[error("set {token} of the token partition is empty: each data token must read an input")]
    EmptyToken {
        /// The token, counted from zero.
        token: usize,
    },
    /// A data token reads an input that does not exist.
    #[error(
        "set {token} of the token partition names input {input}, but there are {d}: use 0 to {}",
        d - 1
    )]
    InputOutOfRange {
        /// The token, counted from zero.
        token: usize,
        /// The input it names.
        input: usize,
        /// The number of inputs.
        d: usize,
    },
    /// Two places of the partition name the same input.
    #[error("the token partition names input {input} twice: each input belongs to one token")]
    InputTwice {
        /// The input, counted from zero.
        input: usize,
    },
    /// No data token reads this input.
    #[error("the token partition leaves out input {input}: each input belongs to one token")]
    InputUnused {
        /// The input, counted from zero.
        input: usize,
    },
}

pub(crate) fn check_dimension(name: &'static str, value: usize) -> Result<(), ShapeError> {
    match value {
        0 => Err(ShapeError::Zero { name }),
        1..=LARGEST => Ok(()),
        _ => Err(ShapeError::TooLarge { name, value }),
    }
}

impl Network {
    /// A network with these dimensions, if they describe one.
    pub fn new(
        architecture: Architecture,
        d: usize,
        outputs: usize,
        q: usize,
        r: usize,
        tying: Tying,
    ) -> Result<Self, ShapeError> {
        architecture.check(d, outputs)?;
        for (name, value) in [("q", q), ("r", r), ("T", tying.iterations())] {
            check_dimension(name, value)?;
        }
        let network = Self {
            architecture,
            d,
            outputs,
            q,
            r,
            tying,
            activation: Activation::Relu,
            form: Form::Paper,
            inputs: None,
            zeros: None,
        };
        let count = network.wide_count();
        if count > LARGEST as u128 {
            return Err(ShapeError::TooManyParameters { count });
        }
        Ok(network)
    }

    /// A residual FFN with these dimensions.
    pub fn ffn(
        d: usize,
        outputs: usize,
        q: usize,
        r: usize,
        tying: Tying,
    ) -> Result<Self, ShapeError> {
        Self::new(Architecture::Ffn, d, outputs, q, r, tying)
    }

    /// An affine function of `rank` combinations of the inputs; with `rank = d`, of the inputs.
    pub fn affine(d: usize, outputs: usize, rank: usize) -> Result<Self, ShapeError> {
        let network = Self::ffn(d, outputs, rank, 1, Tying::Single)?;
        Self { r: 0, ..network }.with_form(Form::Affine)
    }

    /// The same shape with other hidden units.
    pub fn with_activation(self, activation: Activation) -> Result<Self, ShapeError> {
        if activation != Activation::Relu && self.architecture != Architecture::Ffn {
            let name = activation.to_string();
            return Err(ShapeError::FfnOnly { name });
        }
        Ok(Self { activation, ..self })
    }

    /// The same dimensions in another form.
    pub fn with_form(self, form: Form) -> Result<Self, ShapeError> {
        if form != Form::Paper && self.architecture != Architecture::Ffn {
            let name = format!("the {form} form");
            return Err(ShapeError::FfnOnly { name });
        }
        form.check(&self)?;
        let (q, d) = (self.q, self.d);
        if (form == Form::Affine) != (self.r == 0) {
            return Err(ShapeError::Form { form, q, d });
        }
        Ok(Self { form, ..self })
    }

    /// The same network with a table of `d` inputs, of which it reads these alone, in this order, as many as it has now.
    pub fn reading(self, d: usize, inputs: Vec<usize>) -> Result<Self, ShapeError> {
        check_dimension("d", d)?;
        let mut seen = vec![false; d];
        let new = |input: &usize| {
            seen.get_mut(*input)
                .is_some_and(|seen| !std::mem::replace(seen, true))
        };
        if !inputs.iter().all(new) || inputs.len() != self.inputs_read() || self.form == Form::Paper
        {
            return Err(ShapeError::Inputs { d });
        }
        let as_they_are = inputs.len() == d && inputs.is_sorted();
        let inputs = (!as_they_are).then_some(inputs);
        Ok(Self { d, inputs, ..self })
    }

    /// The inputs that are read and in which order, if not all as they are.
    pub fn inputs(&self) -> Option<&[usize]> {
        self.inputs.as_deref()
    }

    /// How many inputs are read.
    pub fn inputs_read(&self) -> usize {
        self.inputs.as_ref().map_or(self.d, Vec::len)
    }

    /// The same network with zeros at these places of its layout, ascending: such numbers are neither stored nor counted. Which ones
    /// is a choice, like the inputs.
    pub fn with_zeros(self, zeros: Vec<usize>) -> Result<Self, ShapeError> {
        let count = self.dense().count();
        let ascending = zeros.windows(2).all(|pair| pair[0] < pair[1]);
        let inside = zeros.last().is_none_or(|last| *last < count) && zeros.len() < count;
        if !ascending || !inside || self.form == Form::Paper {
            return Err(ShapeError::Zeros { count });
        }
        let zeros = (!zeros.is_empty()).then_some(zeros);
        Ok(Self { zeros, ..self })
    }

    /// The places of the layout of [`Network::dense`] that are zero and not stored.
    pub fn zeros(&self) -> &[usize] {
        self.zeros.as_deref().unwrap_or_default()
    }

    /// The same network with all numbers of its form.
    pub fn dense(&self) -> Self {
        Self {
            zeros: None,
            ..self.clone()
        }
    }

    /// The same architecture, dimensions, activation, form and inputs with another width and tying, and no zeros.
    pub fn resized(&self, r: usize, tying: Tying) -> Result<Self, ShapeError> {
        let architecture = self.architecture.clone();
        // Only an affine function has no hidden units; its form checks the rest.
        let units = r.max(usize::from(self.form == Form::Affine));
        let d = self.inputs_read();
        let network = Self::new(architecture, d, self.outputs, self.q, units, tying)?;
        let network = Self { r, ..network }
            .with_activation(self.activation)?
            .with_form(self.form)?;
        match &self.inputs {
            Some(inputs) => network.reading(self.d, inputs.clone()),
            None => Ok(network),
        }
    }

    /// What hidden units do.
    pub fn activation(&self) -> Activation {
        self.activation
    }

    /// Which coefficients are fixed.
    pub fn form(&self) -> Form {
        self.form
    }

    /// The input dimension.
    pub fn d(&self) -> usize {
        self.d
    }

    /// The number of outputs: one, or the number C of classes.
    pub fn outputs(&self) -> usize {
        self.outputs
    }

    /// The state dimension.
    pub fn q(&self) -> usize {
        self.q
    }

    /// The hidden width.
    pub fn r(&self) -> usize {
        self.r
    }

    /// How the updates share their coefficients.
    pub fn tying(&self) -> Tying {
        self.tying
    }

    /// Residual FFN or Transformer.
    pub fn architecture(&self) -> &Architecture {
        &self.architecture
    }

    /// The number of distinct trainable scalars, which a budget bounds.
    ///
    /// # Formula
    /// FFN: `q(d + 1) + C(q + 1) + k {(2q + 1) r + q}`;
    /// Transformer: `q(d + N) + C(Nq + 1) + k {4q^2 + (2q + 1) r + 9q}`, `N = M + 3`;
    /// with `k = 1` separate blocks for Single and Loop, `k = T` for Untied. In other forms than
    /// the paper's, only what is free counts.
    ///
    /// # Reference
    /// Table 1 (Section 3.2) and Section F.4.2.
    pub fn count(&self) -> usize {
        match self.form {
            Form::Paper => self.wide_count() as usize,
            _ => layout::views(self).map(|view| view.size()).sum(),
        }
    }

    fn wide_count(&self) -> u128 {
        let blocks = self.tying.blocks();
        self.architecture
            .count(self.d, self.outputs, self.q, self.r, blocks)
    }

    /// Where each tensor lies in the flat vector of coefficients.
    pub fn layout(&self) -> Layout {
        Layout::new(self)
    }
}

/// `Loop (q = 4, r = 11, T = 16), 120 numbers`.
impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (method, t) = (self.tying.method(), self.tying.iterations());
        let kind = match self.architecture {
            Architecture::Ffn => "",
            Architecture::Transformer { .. } => " Transformer",
        };
        let (q, r, count) = (self.q, self.r, self.count());
        let inputs = match &self.inputs {
            Some(inputs) if inputs.len() < self.d => {
                format!(", {} of {} inputs", inputs.len(), self.d)
            }
            _ => String::new(),
        };
        let sparse = if self.zeros.is_some() { ", sparse" } else { "" };
        if self.form == Form::Affine {
            let rank = match q {
                _ if q == self.inputs_read() => String::new(),
                _ => format!(" of rank {q}"),
            };
            return write!(f, "linear{rank}{inputs}{sparse}, {count} numbers");
        }
        let units = match self.activation {
            Activation::Relu => String::new(),
            smooth => format!(", {smooth}"),
        };
        write!(
            f,
            "{method}{kind} (q = {q}, r = {r}, T = {t}{units}{inputs}{sparse}), {count} numbers"
        )
    }
}

impl TryFrom<Unchecked> for Network {
    type Error = ShapeError;

    fn try_from(u: Unchecked) -> Result<Self, ShapeError> {
        let read = u.inputs.as_ref().map_or(u.d, Vec::len);
        let network = if u.form == Form::Affine {
            if (u.r, u.tying, &u.architecture) != (0, Tying::Single, &Architecture::Ffn) {
                let (form, q, d) = (u.form, u.q, u.d);
                return Err(ShapeError::Form { form, q, d });
            }
            Self::affine(read, u.outputs, u.q)?.with_activation(u.activation)?
        } else {
            Self::new(u.architecture, read, u.outputs, u.q, u.r, u.tying)?
                .with_activation(u.activation)?
                .with_form(u.form)?
        };
        let network = match u.inputs {
            Some(inputs) => network.reading(u.d, inputs)?,
            None => network,
        };
        match u.zeros {
            Some(zeros) => network.with_zeros(zeros),
            None => Ok(network),
        }
    }
}

impl From<Network> for Unchecked {
    fn from(n: Network) -> Self {
        Self {
            architecture: n.architecture,
            d: n.d,
            outputs: n.outputs,
            q: n.q,
            r: n.r,
            tying: n.tying,
            activation: n.activation,
            form: n.form,
            inputs: n.inputs,
            zeros: n.zeros,
        }
    }
}

#[cfg(test)]
mod tests;
