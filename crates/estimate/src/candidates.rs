//! Which networks compete under a cap.

use loopfit_model::{Activation, Form, Method, Network, Reduced, Tying};
use loopfit_numerics::stream::Stream;

/// Iteration counts of loops, unless others are asked for.
pub const LOOP_ITERATIONS: [usize; 3] = [2, 4, 8];
/// Numbers of separate blocks.
const UNTIED_ITERATIONS: [usize; 2] = [2, 3];
/// State dimensions that begin as combinations of the inputs, beside as many as there are inputs.
const STATES: [usize; 4] = [1, 2, 3, 5];
/// Parts of the inputs that a network may read, the most important ones.
const PARTS: [f64; 5] = [0.7, 0.5, 0.3, 0.2, 0.1];
/// How many times as many numbers a network has before some of them become zeros.
const DONOR: usize = 2;
/// How many times as many numbers units of one input each have before some of them become zeros.
const STEPWISE: f64 = 1.5;
/// Most coefficients, zeros among them, of a network of such units.
const STEPWISE_COEFFICIENTS: usize = 20_000;
/// Affine functions that are cross-validated at most.
const LINEAR: usize = 5;

/// A network that reads the most important inputs.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Candidate {
    /// The network, as if there were no other inputs.
    pub(crate) network: Network,
    /// What distinguishes it: inputs, form, iterations, activation.
    traits: [usize; 4],
}

impl Candidate {
    /// How many inputs it reads.
    pub(crate) fn inputs(&self) -> usize {
        self.network.d()
    }

    /// Whether it differs from another in one respect.
    pub(crate) fn is_neighbour(&self, other: &Self) -> bool {
        let differ = self
            .traits
            .iter()
            .zip(&other.traits)
            .filter(|(a, b)| a != b);
        differ.count() == 1
    }
}

/// What is enumerated.
#[derive(Clone, Debug)]
pub(crate) struct Space {
    /// Most numbers of a candidate.
    pub(crate) cap: usize,
    /// Numbers that networks have more than: those with fewer are tried under a smaller cap.
    pub(crate) above: usize,
    pub(crate) d: usize,
    pub(crate) outputs: usize,
    pub(crate) activations: Vec<Activation>,
    /// Iteration counts of loops.
    pub(crate) iterations: Vec<usize>,
    /// Whether the count is that of the paper's form, which reads all inputs.
    pub(crate) paper: bool,
    /// Most numbers of a network, none of them for a change of basis, that the rows have something to say of.
    pub(crate) said: usize,
}

impl Space {
    /// What a network counts under the cap.
    pub(crate) fn count(&self, network: &Network) -> usize {
        if self.paper {
            network.to_paper().count()
        } else {
            network.count()
        }
    }

    /// How many inputs candidates read: all, and parts of them.
    pub(crate) fn inputs(&self) -> Vec<usize> {
        let d = self.d;
        let mut inputs = vec![d];
        if !self.paper {
            // As many as an affine function can use under the cap.
            let affine = (self.cap / Reduced::outputs_told(self.outputs)).saturating_sub(1);
            let parts = PARTS.map(|part| (part * d as f64).round() as usize);
            inputs.extend(
                parts
                    .into_iter()
                    .chain([affine])
                    .filter(|k| (1..d).contains(k)),
            );
        }
        inputs.sort_unstable();
        inputs.dedup();
        inputs
    }

    /// Affine functions: of all or the most important inputs, or of few combinations of them where several outputs share
    /// them; those with the most numbers if there are many.
    pub(crate) fn linear(&self) -> Vec<Candidate> {
        let mut candidates = Vec::new();
        for k in self.inputs() {
            let ranks = (1..Reduced::outputs_told(self.outputs).min(k)).chain([k]);
            for rank in ranks {
                let Ok(network) = Network::affine(k, self.outputs, rank) else {
                    continue;
                };
                if self.count(&network) <= self.cap {
                    let traits = [k, rank, 0, 0];
                    candidates.push(Candidate { network, traits });
                }
            }
        }
        candidates.sort_by_key(|c| std::cmp::Reverse((c.network.count(), c.inputs())));
        candidates.truncate(LINEAR);
        candidates
    }

    /// The linear model of all inputs with some zeros, and how many numbers are left: as many as the cap allows, a half, a quarter, or
    /// of classes three quarters.
    pub(crate) fn sparse_linear(&self, classes: bool) -> Vec<(Network, Option<usize>)> {
        let Ok(network) = Network::affine(self.d, self.outputs, self.d) else {
            return Vec::new();
        };
        let (count, told) = (network.count(), Reduced::outputs_told(self.outputs));
        let mut left = vec![self.cap, count / 2, count / 4];
        left.extend(classes.then(|| few_zeros(count)));
        left.retain(|left| !self.paper && *left <= self.cap.min(count - 1) && *left > told);
        left.sort_unstable();
        left.dedup();
        left.into_iter()
            .map(|left| (network.clone(), Some(left)))
            .collect()
    }

    /// The networks of a method: for each number of inputs, state dimension, form and iteration count that fit, the widest.
    pub(crate) fn networks(&self, method: Method) -> Vec<Candidate> {
        let c = Reduced::outputs_told(self.outputs);
        let tyings: Vec<Tying> = match method {
            Method::Single => vec![Tying::Single],
            Method::Loop => self
                .iterations
                .iter()
                .map(|t| Tying::Loop { t: *t })
                .collect(),
            Method::Untied => UNTIED_ITERATIONS.map(|t| Tying::Untied { t }).to_vec(),
        };
        let mut candidates = Vec::new();
        for k in self.inputs() {
            let states: Vec<usize> = STATES.into_iter().filter(|q| *q < k).chain([k]).collect();
            // The form's place in the list, which is the same for every number of inputs.
            let mut forms: Vec<(usize, usize, Form)> = Vec::new();
            let place = |p: usize| {
                STATES
                    .iter()
                    .position(|q| *q == p && p < k)
                    .unwrap_or(STATES.len())
            };
            for p in &states {
                let extra = |extra: usize| {
                    (
                        10 * (1 + extra - c) + place(*p),
                        p + extra,
                        Form::Carried { extra },
                    )
                };
                forms.push(extra(c));
                if method != Method::Single {
                    forms.push(extra(c + 1));
                }
                // In the paper's form it has fewer channels than one that carries its inputs, and may fit where that does not.
                if method != Method::Single || self.paper {
                    forms.push((place(*p), *p, Form::Canonical));
                }
            }
            if method != Method::Single {
                forms.extend([1, 2].map(|more| (5 + more, k + more, Form::Canonical)));
            }
            for tying in &tyings {
                for (place, q, form) in &forms {
                    let Some(widest) = self.widest(k, *q, *form, *tying) else {
                        continue;
                    };
                    for (unit, activation) in self.activations.iter().enumerate() {
                        let network = widest.clone().with_activation(*activation);
                        let traits = [k, *place, tying.iterations(), unit];
                        let candidate = |network| Candidate { network, traits };
                        candidates.extend(network.ok().map(candidate));
                    }
                }
            }
        }
        candidates
    }

    /// The widest network under the cap, if it has more numbers than those of smaller caps.
    fn widest(&self, k: usize, q: usize, form: Form, tying: Tying) -> Option<Network> {
        let network = Network::ffn(k, self.outputs, q, 1, tying).ok()?;
        let network = self.widened(&network.with_form(form).ok()?)?;
        (self.count(&network) > self.above).then_some(network)
    }

    /// A network with twice as many numbers, of which half will be zeros: like another one, but with all inputs if that leaves it as
    /// many hidden units; none in the paper's form, which has no zeros.
    pub(crate) fn donor(&self, network: &Network) -> Option<Network> {
        if self.paper {
            return None;
        }
        let larger = Self {
            cap: DONOR * self.cap,
            said: usize::MAX,
            above: 0,
            ..self.clone()
        };
        let (k, q) = (network.d(), network.q());
        // As many more channels as there are more inputs, if all inputs have one.
        let q_all = match network.form() {
            Form::Carried { extra } if q - extra == k => self.d + extra,
            Form::Canonical if q >= k => q + self.d - k,
            _ => q,
        };
        let all = Network::ffn(self.d, self.outputs, q_all, 1, network.tying())
            .and_then(|all| all.with_activation(network.activation()))
            .and_then(|all| all.with_form(network.form()))
            .ok()
            .and_then(|all| larger.widened(&all))
            .filter(|all| all.r() >= network.r());
        all.or_else(|| larger.widened(network))
    }

    /// A network of the fewest iterations that begins with units of one input each, and how many numbers these have before some of them
    /// become zeros; none in the paper's form, which has no zeros.
    pub(crate) fn stepwise(
        &self,
        method: Method,
        activation: Activation,
    ) -> Option<(Network, usize)> {
        let tying = match method {
            _ if self.paper => return None,
            Method::Single => Tying::Single,
            Method::Loop => Tying::Loop {
                t: *self.iterations.iter().min()?,
            },
            Method::Untied => Tying::Untied {
                t: UNTIED_ITERATIONS[0],
            },
        };
        let c = Reduced::outputs_told(self.outputs);
        let count = (STEPWISE * self.cap as f64) as usize;
        let r = (count / (2 + c) / tying.blocks()).max(1);
        let most = STEPWISE_COEFFICIENTS / (r * tying.blocks() + c);
        let k = self.d.min(most.max(1));
        let network = Network::ffn(k, self.outputs, k + c, r, tying).ok()?;
        let network = network.with_activation(activation).ok()?;
        let network = network.with_form(Form::Carried { extra: c }).ok()?;
        Some((network, count))
    }

    /// The same network with as many hidden units as the cap allows.
    pub(crate) fn widened(&self, network: &Network) -> Option<Network> {
        let fits = |r: usize| {
            let network = network.resized(r, network.tying()).ok()?;
            let fits = self.count(&network) <= self.cap && network.count() <= self.said;
            fits.then_some(network)
        };
        let mut widest = None;
        let mut r = 1;
        while let Some(network) = fits(r) {
            widest = Some(network);
            r += 1;
        }
        widest
    }
}

/// How many of so many numbers are left where few become zeros.
pub(crate) fn few_zeros(count: usize) -> usize {
    count * 3 / 4
}

/// At most `count` of the candidates, at random, in their order.
pub(crate) fn thinned(candidates: &[Candidate], count: usize, stream: Stream) -> Vec<Candidate> {
    if candidates.len() <= count {
        return candidates.to_vec();
    }
    let mut order = vec![0u32; candidates.len()];
    stream.permute(&mut order);
    let mut kept = order[..count].to_vec();
    kept.sort_unstable();
    kept.into_iter()
        .map(|i| candidates[i as usize].clone())
        .collect()
}
