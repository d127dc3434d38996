//! The tensors of the ordinary Transformer that a construction is.

use super::{Real, Witness};
use crate::Error;
use crate::arithmetic::F32;
use crate::rational::Rational;
use loopfit_model::reference::LAYER_NORM_STABILISER;
use loopfit_model::{Architecture, Network, Parameters, Tying};

/// A tensor by its entries that are not zero.
#[derive(Clone, Debug, PartialEq)]
pub struct Tensor<N> {
    /// The name, as in model files.
    pub name: String,
    /// Row, column (zero in a vector) and value.
    pub entries: Vec<(usize, usize, N)>,
}

impl Witness {
    /// The Transformer with `t` iterations that this construction is.
    pub fn network(&self, t: usize) -> Result<Network, Error> {
        let architecture = Architecture::Transformer {
            partition: self.setting().partition.clone(),
        };
        let (d, resources) = (self.resolution().d, self.resources());
        Network::new(
            architecture,
            d,
            1,
            resources.q,
            resources.r,
            Tying::Loop { t },
        )
        .map_err(|error| Error::Shape(error.to_string()))
    }

    /// The tensors in an arithmetic: three kinds of entries, `1/sqrt(q)`, the gains
    /// `sqrt(1 + eps_LN)` and the output weight, are not rational. Tensors without entries
    /// (every bias of the block) are left out.
    ///
    /// # Formula
    #[doc = loopfit_tex::tex!(r"
        Q_j = \alpha_j \Big(\sum_i u_{j,i}\Big) \mathbf 1_q, \quad
        K_j = \frac{\alpha_j k_j}{\sqrt q} \mathbf 1_q, \quad
        V_j = \alpha_j (k_j, N x^{\rm loc}_{j,0}, \dots, N x^{\rm loc}_{j,d-1}, 0, \dots, 0),
        \qquad w_q = H \sqrt{2\lambda_q}
    ")]
    ///
    /// # Reference
    /// (S49) and (S67); the proof of Lemma E.2.
    pub fn tensors<A: Real>(&self, a: &A) -> Vec<Tensor<A::Number>> {
        let mut tensors = self.input_tensors(a);
        tensors.extend(self.attention_tensors(a));
        tensors.extend(self.feedforward_tensors(a));
        let (encoding, native) = (self.encoding(), self.native());
        let gain = a.number(&(Rational::ONE + &self.setting().stabiliser));
        let gain = a.square_root(&gain);
        for name in ["block.0.ln1.gain", "block.0.ln2.gain"] {
            let entries = (0..encoding.q()).map(|row| (row, 0, gain.clone()));
            tensors.push(tensor(name, entries.collect()));
        }
        let weight = a.square_root(&a.number(&encoding.lambda().scaled(1)));
        let weight = a.multiply(&a.number(&self.resolution().h), &weight);
        let place = self.controller() * encoding.q() + encoding.place(native.v().0);
        tensors.push(tensor("output.weight", vec![(0, place, weight)]));
        tensors
    }

    /// The flat vector of coefficients of [`Witness::network`].
    pub fn dense<A: Real>(&self, network: &Network, a: &A) -> Vec<A::Number> {
        let layout = network.layout();
        let mut values = vec![a.zero(); network.count()];
        for Tensor { name, entries } in self.tensors(a) {
            let view = layout.get(&name).expect("a tensor of a Transformer");
            for (row, column, value) in entries {
                values[view.offset + row * view.cols + column] = value;
            }
        }
        values
    }

    /// The model with `t` iterations in floats of 32 bits, the type of model files.
    ///
    /// It runs, but does not compute the construction's function: codes and layer norms need
    /// hundreds of bits. [`Witness::codes`] and [`Witness::correction`] have the codes in full.
    pub fn parameters(&self, t: usize) -> Result<Parameters, Error> {
        if self.setting().stabiliser.to_f64() != LAYER_NORM_STABILISER {
            let stabiliser = &self.setting().stabiliser;
            let problem = format!(
                "its stabiliser is {stabiliser}, that of model files is {LAYER_NORM_STABILISER}"
            );
            return Err(Error::Shape(problem));
        }
        let network = self.network(t)?;
        let values = self.dense(&network, &F32);
        Parameters::new(network, values).map_err(|error| Error::Shape(error.to_string()))
    }

    fn input_tensors<A: Real>(&self, a: &A) -> Vec<Tensor<A::Number>> {
        let encoding = self.encoding();
        let zero = vec![Rational::ZERO; self.resolution().d];
        let start = self.start(&zero).expect("zero is a point of the cube");
        let constant = |native: &[Rational]| {
            let state = encoding.encode(native).into_iter().enumerate();
            let nonzero = state.filter(|(_, value)| !value.is_zero());
            nonzero
                .map(|(row, value)| (row, 0, a.number(&value)))
                .collect()
        };
        let mut tensors = Vec::new();
        for (j, inputs) in self.setting().partition.iter().enumerate() {
            let local = inputs.iter().enumerate().flat_map(|(column, &i)| {
                let places = encoding.places(self.native().routing.local[i].0);
                places.map(move |(row, sign)| (row, column, Rational::from(sign)))
            });
            let local = local.map(|(row, column, sign)| (row, column, a.number(&sign)));
            tensors.push(tensor(&format!("input.{j}.weight"), local.collect()));
            tensors.push(tensor(&format!("input.{j}.bias"), constant(&start[j])));
        }
        let names = ["controller", "reference.0", "reference.1"];
        for (name, native) in names.iter().zip(&start[self.controller()..]) {
            tensors.push(tensor(name, constant(native)));
        }
        tensors
    }

    fn attention_tensors<A: Real>(&self, a: &A) -> Vec<Tensor<A::Number>> {
        let encoding = self.encoding();
        let (q, routing) = (encoding.q(), &self.native().routing);
        let one = a.number(&Rational::ONE);
        let root = a.square_root(&a.number(&Rational::from(q as i64)));
        let key_entry = a.divide(&one, &root);
        let key_place = encoding.place(routing.key.0);
        let remainders: Vec<_> = routing.remainders().map(|c| encoding.place(c.0)).collect();
        let query = (0..q).flat_map(|row| remainders.iter().map(move |&column| (row, column)));
        let query = query
            .map(|(row, column)| (row, column, one.clone()))
            .collect();
        let key = (0..q).map(|row| (row, key_place, key_entry.clone()));
        let count = a.number(&Rational::from(self.resources().tokens as i64));
        let local = routing.local.iter().zip(1..);
        let local = local.map(|(place, row)| (row, encoding.place(place.0), count.clone()));
        let value = [(0, key_place, one.clone())].into_iter().chain(local);
        let written = [routing.signal]
            .into_iter()
            .chain(routing.aggregate.clone());
        let out = written.enumerate().flat_map(|(column, coordinate)| {
            let places = encoding.places(coordinate.0);
            places.map(move |(row, sign)| (row, column, a.number(&Rational::from(sign))))
        });
        vec![
            tensor("block.0.query.weight", query),
            tensor("block.0.key.weight", key.collect()),
            tensor("block.0.value.weight", value.collect()),
            tensor("block.0.out.weight", out.collect()),
        ]
    }

    fn feedforward_tensors<A: Real>(&self, a: &A) -> [Tensor<A::Number>; 2] {
        let lifted = self.encoding().lift(self.block());
        let units = || lifted.units().iter().enumerate();
        let w1 = units().flat_map(|(row, unit)| {
            let terms = unit.preactivation.terms();
            terms.map(move |(column, weight)| (row, column.0, a.number(weight)))
        });
        let w2 = units().flat_map(|(column, unit)| {
            let outputs = unit.outputs.iter().filter(|(_, weight)| !weight.is_zero());
            outputs.map(move |(row, weight)| (row.0, column, a.number(weight)))
        });
        [
            tensor("block.0.w1", w1.collect()),
            tensor("block.0.w2", w2.collect()),
        ]
    }
}

fn tensor<N>(name: &str, entries: Vec<(usize, usize, N)>) -> Tensor<N> {
    Tensor {
        name: name.to_owned(),
        entries,
    }
}
