//! The network on native coordinates with one scale for each token.
//!
//! Layer normalisation changes nothing but the common scale of a token (Lemma E.2), and both
//! attention and the feedforward part can be written in native values. So a run needs the native
//! states, of which few coordinates change in an iteration, and a recurrence for the scales.

use super::{Real, Witness};
use crate::Error;
use crate::block::{Machine, State};
use crate::rational::Rational;

/// The network in an arithmetic.
#[derive(Clone, Debug)]
pub struct NativeRunner<'a, A: Real> {
    witness: &'a Witness,
    machine: Machine<A>,
    lambda: A::Number,
    stabiliser: A::Number,
}

/// A token `alpha I_q(z)`.
#[derive(Clone, Debug)]
struct Token<N> {
    /// `z`.
    state: State<N>,
    /// `d_alpha = alpha^-2`.
    inverse_square: N,
}

/// One input on its way through the network.
#[derive(Clone, Debug)]
pub struct NativeRun<'a, A: Real> {
    runner: &'a NativeRunner<'a, A>,
    tokens: Vec<Token<A::Number>>,
    iteration: usize,
}

impl<'a, A: Real> NativeRunner<'a, A> {
    pub(super) fn new(witness: &'a Witness, arithmetic: A) -> Self {
        Self {
            witness,
            lambda: arithmetic.number(&witness.encoding().lambda()),
            stabiliser: arithmetic.number(&witness.setting().stabiliser),
            machine: Machine::new(witness.block(), arithmetic),
        }
    }

    /// An input before the first iteration: every token has scale one.
    pub fn start(&'a self, x: &[Rational]) -> Result<NativeRun<'a, A>, Error> {
        let arithmetic = self.machine.arithmetic();
        let token = |native: Vec<Rational>| {
            let numbers = native.iter().map(|z| arithmetic.number(z)).collect();
            Token {
                state: self.machine.state(numbers),
                inverse_square: arithmetic.number(&Rational::ONE),
            }
        };
        let tokens = self.witness.start(x)?.into_iter().map(token);
        Ok(NativeRun {
            runner: self,
            tokens: tokens.collect(),
            iteration: 0,
        })
    }
}

impl<A: Real> NativeRun<'_, A> {
    /// One iteration: attention, normalisation, feedforward part, normalisation.
    pub fn step(&mut self) {
        self.attend();
        for token in &mut self.tokens {
            token.inverse_square = self.runner.normalised(token);
            self.runner.machine.step(&mut token.state);
            token.inverse_square = self.runner.normalised(token);
        }
        self.iteration += 1;
    }

    /// So many iterations.
    pub fn advance(&mut self, iterations: usize) {
        for _ in 0..iterations {
            self.step();
        }
    }

    /// The iterations so far.
    pub fn iteration(&self) -> usize {
        self.iteration
    }

    /// The native coordinates of a token: data tokens first, then the controller, then the
    /// references.
    pub fn state(&self, token: usize) -> &[A::Number] {
        self.tokens[token].state.values()
    }

    /// The inverse square `d_alpha` of a token's scale.
    pub fn inverse_square_scale(&self, token: usize) -> &A::Number {
        &self.tokens[token].inverse_square
    }

    /// The output, clipped to `[-H, H]`.
    ///
    /// # Formula
    /// ```math
    /// g_T(x) = \Pi_H\{w_q \alpha v\}, \qquad w_q = H\sqrt{2\lambda_q}
    /// ```
    ///
    /// # Reference
    /// (S67).
    pub fn output(&self) -> Result<Rational, Error> {
        let runner = self.runner;
        let (witness, a) = (runner.witness, runner.machine.arithmetic());
        let token = &self.tokens[witness.controller()];
        let v = &token.state.values()[witness.native().v().0];
        let h = &witness.resolution().h;
        let doubled = a.add(&runner.lambda, &runner.lambda);
        let scale = a.square_root(&a.divide(&doubled, &token.inverse_square));
        let value = a.multiply(&a.multiply(&a.number(h), &scale), v);
        Ok(a.exact(&value).ok_or(Error::Overflow)?.clip(h))
    }

    /// Adds what attention writes, in native values.
    ///
    /// # Formula
    /// Token `j` attends to token `l` with the logit `alpha_j alpha_l (sum_i u_{j,i}) k_l` and
    /// receives, in native values,
    /// ```math
    /// \frac1{\alpha_j} \sum_l p_{jl} \alpha_l (k_l, N x^{\rm loc}_l)
    /// ```
    /// in `(a_att, x_agg)`.
    ///
    /// # Reference
    /// (S49) and (S51).
    fn attend(&mut self) {
        let witness = self.runner.witness;
        let a = self.runner.machine.arithmetic();
        let routing = &witness.native().routing;
        let zero = a.zero();
        let one = a.number(&Rational::ONE);
        let scales = self.tokens.iter().map(|token| {
            let root = a.square_root(&token.inverse_square);
            a.divide(&one, &root)
        });
        let scales: Vec<_> = scales.collect();
        let count = a.number(&Rational::from(self.tokens.len() as i64));
        // What each token offers: its key, then N times its local inputs, all times its scale.
        let offers = self.tokens.iter().zip(&scales).map(|(token, scale)| {
            let z = token.state.values();
            let key = a.multiply(scale, &z[routing.key.0]);
            let local = routing.local.iter().map(|place| match &z[place.0] {
                z if *z == zero => zero.clone(),
                z => a.multiply(scale, &a.multiply(&count, z)),
            });
            std::iter::once(key).chain(local).collect::<Vec<_>>()
        });
        let offers: Vec<_> = offers.collect();
        let places: Vec<_> = [routing.signal]
            .iter()
            .chain(&routing.aggregate)
            .copied()
            .collect();
        for (token, scale) in self.tokens.iter_mut().zip(&scales) {
            let z = token.state.values();
            let query = a.sum(routing.remainders().map(|place| z[place.0].clone()));
            let query = a.multiply(scale, &query);
            let logits = offers.iter().map(|offer| a.multiply(&query, &offer[0]));
            let weights = softmax(a, &logits.collect::<Vec<_>>());
            let gathered = places.iter().enumerate().map(|(channel, place)| {
                let terms = offers.iter().zip(&weights);
                let terms = terms.filter(|(offer, _)| offer[channel] != zero);
                let sum = a.sum(terms.map(|(offer, weight)| a.multiply(weight, &offer[channel])));
                (place, sum)
            });
            let gathered: Vec<_> = gathered.filter(|(_, sum)| *sum != zero).collect();
            if gathered.is_empty() {
                continue;
            }
            let mut values = z.to_vec();
            for (place, sum) in gathered {
                values[place.0] = a.add(&values[place.0], &a.divide(&sum, scale));
            }
            token.state = self.runner.machine.state(values);
        }
    }
}

impl<A: Real> NativeRunner<'_, A> {
    /// The inverse square scale after one normalisation.
    ///
    /// # Formula
    /// ```math
    /// d_\alpha' = \frac{\lambda_q(\|z\|_2^2 + 1) + \varepsilon_{\rm LN} d_\alpha}{1 + \varepsilon_{\rm LN}}
    /// ```
    ///
    /// # Reference
    /// (S45).
    fn normalised(&self, token: &Token<A::Number>) -> A::Number {
        let a = self.machine.arithmetic();
        let one = a.number(&Rational::ONE);
        let zero = a.zero();
        let values = token.state.values().iter().filter(|z| **z != zero);
        let norm = a.add(&a.sum(values.map(|z| a.multiply(z, z))), &one);
        let kept = a.multiply(&self.stabiliser, &token.inverse_square);
        let sum = a.add(&a.multiply(&self.lambda, &norm), &kept);
        a.divide(&sum, &a.add(&one, &self.stabiliser))
    }
}

/// `exp(l_j) / sum_i exp(l_i)`, with the largest logit taken off first.
pub(super) fn softmax<A: Real>(a: &A, logits: &[A::Number]) -> Vec<A::Number> {
    let largest = logits.iter().fold(a.zero(), |largest, logit| {
        let above = a.add(logit, &a.negate(&largest));
        if a.is_positive(&above) {
            logit.clone()
        } else {
            largest
        }
    });
    let powers = logits
        .iter()
        .map(|logit| a.exponential(&a.add(logit, &a.negate(&largest))));
    let powers: Vec<_> = powers.collect();
    let total = a.sum(powers.iter().cloned());
    powers.iter().map(|power| a.divide(power, &total)).collect()
}
