//! The ordinary network that a construction is: dense, padded to any larger shape.

use crate::Error;
use crate::ffn::Witness;
use crate::rational::Rational;
use loopfit_model::{Network, Parameters, Tying};

/// A parameter that a float of 32 bits does not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rounded {
    /// The tensor's name, as in model files.
    pub tensor: String,
    /// The row in the tensor.
    pub row: usize,
    /// The column in the tensor; zero in a vector.
    pub column: usize,
    /// The exact value.
    pub exact: Rational,
}

/// The model that a construction is, and what writing it in floats of 32 bits changed.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    /// The parameters, rounded to the nearest.
    pub parameters: Parameters,
    /// The parameters that are not what they should be, for a file beside the model: long codes,
    /// thresholds such as `1/6`, shares `1/M_Tay`.
    pub rounded: Vec<Rounded>,
}

impl Witness {
    /// The network of the state dimension `q`, the hidden width `r` and `t` iterations that holds
    /// this one, padded with zeros.
    ///
    /// # Reference
    /// Section D.2.2: extra coordinates and hidden units change neither output nor bound.
    pub fn network(&self, q: usize, r: usize, t: usize) -> Result<Network, Error> {
        let least = self.resources();
        if q < least.q {
            return Err(Error::StateDimension { q, least: least.q });
        }
        if r < least.r {
            return Err(Error::HiddenWidth { r, least: least.r });
        }
        let network = Network::ffn(self.resolution().d, 1, q, r, Tying::Loop { t });
        network.map_err(|error| Error::Shape(error.to_string()))
    }

    /// The parameters that are not zero: tensor, row, column and value.
    pub fn exact_parameters(&self) -> Vec<(&'static str, usize, usize, Rational)> {
        let mut entries = Vec::new();
        for (coordinate, i) in self.inputs() {
            entries.push(("input.weight", coordinate, i, Rational::ONE));
        }
        for (coordinate, value) in self.selector().constants(self.resolution()) {
            entries.push(("input.bias", coordinate.0, 0, value));
        }
        for (i, unit) in self.block().units().iter().enumerate() {
            for (coordinate, weight) in unit.preactivation.terms() {
                entries.push(("block.0.w1", i, coordinate.0, weight.clone()));
            }
            entries.push(("block.0.b1", i, 0, unit.preactivation.bias().clone()));
            for (coordinate, weight) in &unit.outputs {
                entries.push(("block.0.w2", coordinate.0, i, weight.clone()));
            }
        }
        let h = self.resolution().h.clone();
        entries.push(("output.weight", 0, self.output(), h));
        entries.retain(|(.., value)| !value.is_zero());
        entries
    }

    /// The flat vector of parameters of such a network, in another number type.
    pub fn dense<T: Clone + Default>(
        &self,
        network: &Network,
        number: impl Fn(&Rational) -> T,
    ) -> Vec<T> {
        let layout = network.layout();
        let mut values = vec![T::default(); network.count()];
        for (tensor, row, column, exact) in self.exact_parameters() {
            let view = layout.get(tensor).expect("a tensor of a residual FFN");
            values[view.offset + row * view.cols + column] = number(&exact);
        }
        values
    }

    /// The model of this shape in floats of 32 bits, the type of model files.
    ///
    /// Codes beyond 24 bits do not fit; [`Model::rounded`] has what was lost. Unless it is empty
    /// the model computes another function: run the exact one with [`Witness::runner`].
    pub fn model(&self, q: usize, r: usize, t: usize) -> Result<Model, Error> {
        let network = self.network(q, r, t)?;
        let values = self.dense(&network, Rational::to_f32);
        let is_rounded =
            |exact: &Rational| Rational::from_f64(exact.to_f32().into()).as_ref() != Some(exact);
        let rounded = self
            .exact_parameters()
            .into_iter()
            .filter(|(.., exact)| is_rounded(exact))
            .map(|(tensor, row, column, exact)| Rounded {
                tensor: tensor.to_owned(),
                row,
                column,
                exact,
            })
            .collect();
        let parameters =
            Parameters::new(network, values).map_err(|error| Error::Shape(error.to_string()))?;
        Ok(Model {
            parameters,
            rounded,
        })
    }
}
