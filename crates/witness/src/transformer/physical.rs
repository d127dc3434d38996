//! The network on its tokens, as any post-LN Transformer runs: projections, softmax, layer norms.
//!
//! Nothing here knows what the coordinates mean. It is what the native run is compared with, and
//! what finds out how many bits the network needs, since layer norms round every coordinate.

use super::native::softmax;
use super::weights::Tensor;
use super::{Real, Witness};
use crate::Error;
use crate::block::Machine;
use crate::rational::Rational;

/// The network's tensors in an arithmetic.
#[derive(Clone, Debug)]
pub struct PhysicalRunner<'a, A: Real> {
    witness: &'a Witness,
    machine: Machine<A>,
    tensors: Vec<Tensor<A::Number>>,
    stabiliser: A::Number,
    root: A::Number,
}

/// One input on its way through the network.
#[derive(Clone, Debug)]
pub struct PhysicalRun<'a, A: Real> {
    runner: &'a PhysicalRunner<'a, A>,
    tokens: Vec<Vec<A::Number>>,
    iteration: usize,
}

impl<'a, A: Real> PhysicalRunner<'a, A> {
    pub(super) fn new(witness: &'a Witness, arithmetic: A) -> Self {
        let q = arithmetic.number(&Rational::from(witness.encoding().q() as i64));
        Self {
            witness,
            tensors: witness.tensors(&arithmetic),
            stabiliser: arithmetic.number(&witness.setting().stabiliser),
            root: arithmetic.square_root(&q),
            machine: Machine::new(&witness.encoding().lift(witness.block()), arithmetic),
        }
    }

    /// An input before the first iteration.
    pub fn start(&'a self, x: &[Rational]) -> Result<PhysicalRun<'a, A>, Error> {
        self.witness.check_input(x)?;
        let a = self.machine.arithmetic();
        let mut tokens = Vec::new();
        for (j, inputs) in self.witness.setting().partition.iter().enumerate() {
            let local: Vec<_> = inputs.iter().map(|&i| a.number(&x[i])).collect();
            let weighted = self.apply(&format!("input.{j}.weight"), &local);
            let bias = self.vector(&format!("input.{j}.bias"));
            tokens.push(self.add(&weighted, &bias));
        }
        for name in ["controller", "reference.0", "reference.1"] {
            tokens.push(self.vector(name));
        }
        Ok(PhysicalRun {
            runner: self,
            tokens,
            iteration: 0,
        })
    }

    fn tensor(&self, name: &str) -> &Tensor<A::Number> {
        let found = self.tensors.iter().find(|tensor| tensor.name == name);
        found.expect("a tensor that was written")
    }

    /// A matrix of `q` rows times a vector.
    fn apply(&self, name: &str, x: &[A::Number]) -> Vec<A::Number> {
        let a = self.machine.arithmetic();
        let mut product = vec![a.zero(); self.witness.encoding().q()];
        for (row, column, weight) in &self.tensor(name).entries {
            product[*row] = a.add(&product[*row], &a.multiply(weight, &x[*column]));
        }
        product
    }

    fn vector(&self, name: &str) -> Vec<A::Number> {
        let one = self.machine.arithmetic().number(&Rational::ONE);
        self.apply(name, &[one])
    }

    fn add(&self, x: &[A::Number], y: &[A::Number]) -> Vec<A::Number> {
        let a = self.machine.arithmetic();
        x.iter().zip(y).map(|(x, y)| a.add(x, y)).collect()
    }

    /// `out(softmax(Q K^T / sqrt(q)) V)`, the softmax row by row.
    fn attention(&self, tokens: &[Vec<A::Number>]) -> Vec<Vec<A::Number>> {
        let a = self.machine.arithmetic();
        let project = |part: &str| {
            let name = format!("block.0.{part}.weight");
            tokens
                .iter()
                .map(|token| self.apply(&name, token))
                .collect::<Vec<_>>()
        };
        let (queries, keys, values) = (project("query"), project("key"), project("value"));
        let attend = |query: &Vec<A::Number>| {
            let logits = keys.iter().map(|key| {
                let products = query.iter().zip(key).map(|(q, k)| a.multiply(q, k));
                a.divide(&a.sum(products), &self.root)
            });
            let weights = softmax(a, &logits.collect::<Vec<_>>());
            let average = (0..query.len()).map(|channel| {
                let terms = weights.iter().zip(&values);
                a.sum(terms.map(|(weight, value)| a.multiply(weight, &value[channel])))
            });
            self.apply("block.0.out.weight", &average.collect::<Vec<_>>())
        };
        queries.iter().map(attend).collect()
    }

    /// `gain (z - mean) / {mean square + eps_LN}^{1/2}`; the bias is zero.
    fn layer_norm(&self, name: &str, token: &[A::Number]) -> Vec<A::Number> {
        let a = self.machine.arithmetic();
        let q = a.number(&Rational::from(token.len() as i64));
        let mean = a.divide(&a.sum(token.iter().cloned()), &q);
        let centre = a.negate(&mean);
        let centred: Vec<_> = token.iter().map(|z| a.add(z, &centre)).collect();
        let squares = a.sum(centred.iter().map(|z| a.multiply(z, z)));
        let variance = a.add(&a.divide(&squares, &q), &self.stabiliser);
        let one = a.number(&Rational::ONE);
        let inverse = a.divide(&one, &a.square_root(&variance));
        let gains = &self.tensor(name).entries;
        let scaled = centred.iter().zip(gains);
        scaled
            .map(|(z, (_, _, gain))| a.multiply(gain, &a.multiply(z, &inverse)))
            .collect()
    }
}

impl<A: Real> PhysicalRun<'_, A> {
    /// One iteration: `Y = LN1{S + Attn(S)}`, `S = LN2{Y + FFN(Y)}`.
    ///
    /// # Reference
    /// (S41).
    pub fn step(&mut self) {
        let runner = self.runner;
        let attended = runner.attention(&self.tokens);
        for (token, attended) in self.tokens.iter_mut().zip(&attended) {
            let sum = runner.add(token, attended);
            let mut state = runner
                .machine
                .state(runner.layer_norm("block.0.ln1.gain", &sum));
            runner.machine.step(&mut state);
            *token = runner.layer_norm("block.0.ln2.gain", state.values());
        }
        self.iteration += 1;
    }

    /// Runs this many iterations.
    pub fn advance(&mut self, iterations: usize) {
        for _ in 0..iterations {
            self.step();
        }
    }

    /// The iterations so far.
    pub fn iteration(&self) -> usize {
        self.iteration
    }

    /// A token.
    pub fn token(&self, token: usize) -> &[A::Number] {
        &self.tokens[token]
    }

    /// The output, clipped to `[-H, H]`.
    pub fn output(&self) -> Result<Rational, Error> {
        let a = self.runner.machine.arithmetic();
        let q = self.runner.witness.encoding().q();
        let entries = self.runner.tensor("output.weight").entries.iter();
        let terms = entries
            .map(|(_, place, weight)| a.multiply(weight, &self.tokens[place / q][place % q]));
        let value = a.exact(&a.sum(terms)).ok_or(Error::Overflow)?;
        Ok(value.clip(&self.runner.witness.resolution().h))
    }
}
