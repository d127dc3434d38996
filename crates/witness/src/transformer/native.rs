//! The network on native coordinates with one scale for each token.
//!
//! Layer normalisation changes nothing but the common scale of a token (Lemma E.2), and both
//! attention and the feedforward part can be written in native values. So a run needs the native
//! states, of which few coordinates change in an iteration, and a recurrence for the scales.

use super::{Real, Witness};
use crate::Error;
use crate::block::{Machine, State};
use crate::ffn::run::{ActivePhase, Change};
use crate::rational::Rational;

/// The network in an arithmetic.
#[derive(Clone, Debug)]
pub struct NativeRunner<'a, A: Real> {
    witness: &'a Witness,
    machine: Machine<A>,
    lambda: A::Number,
    stabiliser: A::Number,
    /// `1 / (1 + eps_LN)`.
    share: A::Number,
}

/// A token `alpha I_q(z)`.
#[derive(Clone, Debug)]
struct Token<N> {
    /// `z`.
    state: State<N>,
    /// `|z|^2 + 1`.
    norm: N,
    /// `d_alpha = alpha^-2`.
    inverse_square: N,
    /// `alpha` for this `d_alpha`, once it was asked for.
    scale: Option<N>,
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
        let stabiliser = &witness.setting().stabiliser;
        Self {
            witness,
            lambda: arithmetic.number(&witness.encoding().lambda()),
            share: arithmetic.divide(
                &arithmetic.number(&Rational::ONE),
                &arithmetic.number(&(stabiliser + Rational::ONE)),
            ),
            stabiliser: arithmetic.number(stabiliser),
            machine: Machine::new(witness.block(), arithmetic),
        }
    }

    /// An input before the first iteration: every token has scale one.
    pub fn start(&'a self, x: &[Rational]) -> Result<NativeRun<'a, A>, Error> {
        let arithmetic = self.machine.arithmetic();
        let token = |native: Vec<Rational>| {
            let numbers = native.iter().map(|z| arithmetic.number(z)).collect();
            let state = self.machine.state(numbers);
            Token {
                norm: self.norm(&state),
                state,
                inverse_square: arithmetic.number(&Rational::ONE),
                scale: None,
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
    /// One iteration: attention, normalisation, feedforward part, normalisation. What it changed in
    /// the controller.
    pub fn step(&mut self) -> Vec<Change<A::Number>> {
        let controller = self.runner.witness.controller();
        let before = self.state(controller).to_vec();
        self.advance(1);
        let pairs = before.into_iter().zip(self.state(controller)).enumerate();
        pairs
            .filter(|(_, (from, to))| from != *to)
            .map(|(coordinate, (from, to))| Change {
                coordinate,
                from,
                to: to.clone(),
            })
            .collect()
    }

    fn iterate(&mut self) {
        self.attend();
        for token in &mut self.tokens {
            self.runner.normalise(token);
            if !self.runner.machine.step(&mut token.state).is_empty() {
                token.norm = self.runner.norm(&token.state);
            }
            self.runner.normalise(token);
        }
        self.iteration += 1;
    }

    /// Runs this many iterations.
    pub fn advance(&mut self, iterations: usize) {
        for _ in 0..iterations {
            self.iterate();
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

    /// The phases of the controller that are not zero.
    pub fn active_phases(&self) -> Vec<ActivePhase<'_, A::Number>> {
        let witness = self.runner.witness;
        let zero = self.runner.machine.arithmetic().zero();
        let state = self.state(witness.controller());
        let phases = witness.native().phases().map(|phase| ActivePhase {
            name: &witness.block().coordinates()[phase.0],
            value: &state[phase.0],
        });
        phases.filter(|phase| *phase.value != zero).collect()
    }

    /// The inverse square `d_alpha` of a token's scale.
    pub fn inverse_square_scale(&self, token: usize) -> &A::Number {
        &self.tokens[token].inverse_square
    }

    /// The output, clipped to `[-H, H]`.
    ///
    /// # Formula
    #[doc = loopfit_tex::tex!(r"g_T(x) = \Pi_H\{w_q \alpha v\}, \qquad w_q = H\sqrt{2\lambda_q}")]
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
    #[doc = loopfit_tex::tex!(r"\frac1{\alpha_j} \sum_l p_{jl} \alpha_l (k_l, N x^{\rm loc}_l)")]
    /// in `(a_att, x_agg)`.
    ///
    /// # Reference
    /// (S49) and (S51).
    ///
    /// # Sparsity
    /// A token whose query is zero attends uniformly; few tokens have something to offer, and after
    /// boot the two references' offers cancel there.
    fn attend(&mut self) {
        let witness = self.runner.witness;
        let a = self.runner.machine.arithmetic();
        let routing = &witness.native().routing;
        let zero = a.zero();
        let offers = self.tokens.iter_mut().map(|t| self.runner.offer(t));
        let offers: Vec<_> = offers.collect();
        let count = Rational::from(self.tokens.len() as i64);
        let places = [routing.signal]
            .into_iter()
            .chain(routing.aggregate.clone());
        let places: Vec<_> = places.collect();
        let totals: Vec<_> = (0..places.len())
            .map(|channel| a.sum(offers.iter().flatten().map(|offer| offer[channel].clone())))
            .collect();
        for token in &mut self.tokens {
            let z = token.state.values();
            let query = a.sum(routing.remainders().map(|place| z[place.0].clone()));
            let received: Vec<_> = if query == zero {
                let share = |total: &A::Number| match *total == zero {
                    true => zero.clone(),
                    false => a.divide(total, &a.number(&count)),
                };
                totals.iter().map(share).collect()
            } else {
                let query = a.multiply(&self.runner.scale(token), &query);
                self.runner.average(&query, &offers, places.len())
            };
            if received.iter().all(|sum| *sum == zero) {
                continue;
            }
            let scale = self.runner.scale(token);
            let mut values = token.state.values().to_vec();
            for (place, sum) in places.iter().zip(&received) {
                values[place.0] = a.add(&values[place.0], &a.divide(sum, &scale));
            }
            token.state = self.runner.machine.state(values);
            token.norm = self.runner.norm(&token.state);
        }
    }
}

impl<A: Real> NativeRunner<'_, A> {
    /// `alpha`.
    fn scale(&self, token: &mut Token<A::Number>) -> A::Number {
        let a = self.machine.arithmetic();
        let scale = token.scale.get_or_insert_with(|| {
            let root = a.square_root(&token.inverse_square);
            a.divide(&a.number(&Rational::ONE), &root)
        });
        scale.clone()
    }

    /// `|z|^2 + 1`.
    fn norm(&self, state: &State<A::Number>) -> A::Number {
        let a = self.machine.arithmetic();
        let zero = a.zero();
        let values = state.values().iter().filter(|z| **z != zero);
        let squares = a.sum(values.map(|z| a.multiply(z, z)));
        a.add(&squares, &a.number(&Rational::ONE))
    }

    /// What a token offers the others, `alpha (k, N x_loc)`; nothing where all of it is zero.
    fn offer(&self, token: &mut Token<A::Number>) -> Option<Vec<A::Number>> {
        let a = self.machine.arithmetic();
        let routing = &self.witness.native().routing;
        let zero = a.zero();
        let places = [&routing.key].into_iter().chain(&routing.local);
        let mut values = places.clone().map(|place| &token.state.values()[place.0]);
        if values.all(|z| *z == zero) {
            return None;
        }
        let scale = self.scale(token);
        let z = token.state.values();
        let count = a.number(&Rational::from(self.witness.resources().tokens as i64));
        let offer = places.enumerate().map(|(channel, place)| {
            let scaled = a.multiply(&scale, &z[place.0]);
            match channel {
                0 => scaled,
                _ => a.multiply(&count, &scaled),
            }
        });
        Some(offer.collect())
    }

    /// The average of the offers under the softmax of a scaled query.
    fn average(
        &self,
        query: &A::Number,
        offers: &[Option<Vec<A::Number>>],
        channels: usize,
    ) -> Vec<A::Number> {
        let a = self.machine.arithmetic();
        let logits = offers.iter().map(|offer| match offer {
            Some(offer) => a.multiply(query, &offer[0]),
            None => a.zero(),
        });
        let weights = softmax(a, &logits.collect::<Vec<_>>());
        let terms = || offers.iter().zip(&weights);
        let channel = |channel: usize| {
            let products = terms().filter_map(|(offer, weight)| {
                let offer = offer.as_ref()?;
                Some(a.multiply(weight, &offer[channel]))
            });
            a.sum(products)
        };
        (0..channels).map(channel).collect()
    }

    /// One layer normalisation.
    ///
    /// # Formula
    #[doc = loopfit_tex::tex!(r"
        d_\alpha' = \frac{\lambda_q(\|z\|_2^2 + 1) + \varepsilon_{\rm LN} d_\alpha}{1 + \varepsilon_{\rm LN}}
    ")]
    ///
    /// # Reference
    /// (S45).
    fn normalise(&self, token: &mut Token<A::Number>) {
        let a = self.machine.arithmetic();
        let kept = a.multiply(&self.stabiliser, &token.inverse_square);
        let sum = a.add(&a.multiply(&self.lambda, &token.norm), &kept);
        let normalised = a.multiply(&sum, &self.share);
        if normalised != token.inverse_square {
            token.inverse_square = normalised;
            token.scale = None;
        }
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
