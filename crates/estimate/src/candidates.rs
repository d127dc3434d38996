//! Which networks compete under a cap.

use loopfit_model::{Activation, Form, Method, Network, Tying};
use loopfit_numerics::stream::Stream;

/// Iteration counts of loops.
const LOOP_ITERATIONS: [usize; 3] = [2, 4, 8];
/// Numbers of separate blocks.
const UNTIED_ITERATIONS: [usize; 2] = [2, 3];
/// State dimensions, beside that of the inputs.
const STATES: [usize; 4] = [1, 2, 3, 5];

/// What is enumerated.
#[derive(Clone, Debug)]
pub(crate) struct Space {
    pub(crate) budget: usize,
    pub(crate) d: usize,
    pub(crate) outputs: usize,
    pub(crate) activations: Vec<Activation>,
    /// Whether the count is that of the paper's form.
    pub(crate) paper: bool,
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

    fn fits(&self, network: &Network) -> bool {
        self.count(network) <= self.budget
    }

    /// Affine functions: of all inputs, or of few combinations of them where several outputs share them.
    pub(crate) fn linear(&self) -> Vec<Network> {
        let ranks = (1..self.outputs.min(self.d)).chain([self.d]);
        let networks = ranks.filter_map(|rank| Network::affine(self.d, self.outputs, rank).ok());
        let fitting = networks.filter(|network| self.fits(network));
        fitting.collect()
    }

    /// The networks of a method: for each state dimension, form and iteration count that fit, the widest and
    /// narrower ones.
    pub(crate) fn networks(&self, method: Method) -> Vec<Network> {
        let (d, c) = (self.d, self.outputs);
        let mut states: Vec<usize> = STATES.into_iter().filter(|q| *q < d).collect();
        states.push(d);
        let tyings: Vec<Tying> = match method {
            Method::Single => vec![Tying::Single],
            Method::Loop => LOOP_ITERATIONS.map(|t| Tying::Loop { t }).to_vec(),
            Method::Untied => UNTIED_ITERATIONS.map(|t| Tying::Untied { t }).to_vec(),
        };
        let mut networks = Vec::new();
        for tying in tyings {
            let mut forms: Vec<(usize, Form)> = Vec::new();
            let carried = |p: usize, extra: usize| (p + extra, Form::Carried { extra });
            match method {
                Method::Single => forms.extend(states.iter().map(|p| carried(*p, c))),
                _ => {
                    let own = states.iter().copied().chain([d + 1, d + 2]);
                    forms.extend(own.map(|q| (q, Form::Canonical)));
                    for p in &states {
                        forms.extend([c, c + 1].map(|extra| carried(*p, extra)));
                    }
                }
            }
            for (q, form) in forms {
                for r in self.widths(q, form, tying) {
                    for activation in &self.activations {
                        networks.extend(self.network(q, r, form, tying, *activation));
                    }
                }
            }
        }
        networks
    }

    fn network(
        &self,
        q: usize,
        r: usize,
        form: Form,
        tying: Tying,
        activation: Activation,
    ) -> Option<Network> {
        Network::ffn(self.d, self.outputs, q, r, tying)
            .and_then(|network| network.with_activation(activation))
            .and_then(|network| network.with_form(form))
            .ok()
            .filter(|network| self.fits(network))
    }

    /// The largest width under the cap, half and a quarter of it.
    fn widths(&self, q: usize, form: Form, tying: Tying) -> Vec<usize> {
        let fits = |r: usize| self.network(q, r, form, tying, Activation::Relu).is_some();
        let mut largest = 0;
        while fits(largest + 1) {
            largest += 1;
        }
        let mut widths = vec![largest, largest / 2, largest / 4];
        if matches!(tying, Tying::Loop { .. } | Tying::Untied { .. }) {
            widths.pop();
        }
        widths.retain(|r| *r > 0);
        widths.dedup();
        widths
    }
}

/// At most `count` of the networks, at random, in their order.
pub(crate) fn thinned(networks: Vec<Network>, count: usize, stream: Stream) -> Vec<Network> {
    if networks.len() <= count {
        return networks;
    }
    let mut order = vec![0u32; networks.len()];
    stream.permute(&mut order);
    let mut kept = order[..count].to_vec();
    kept.sort_unstable();
    kept.into_iter().map(|i| networks[i as usize].clone()).collect()
}
