//! From outputs to their gradient: clipping, likelihood, sample weights.

use loopfit_likelihood::{Energy, Likelihood, ScalarLikelihood, WithScalar};
use loopfit_numerics::lanes::{Across, Kernel, Lane, Simd};

/// Derivative of the weighted negative log-likelihood in the outputs of separate
/// observations, zero where the output function clips.
pub(crate) struct Derivative<'a> {
    pub(crate) likelihood: &'a Likelihood,
    /// The output bound H.
    pub(crate) bound: f32,
    pub(crate) y: &'a [Lane],
    pub(crate) weight: &'a [Lane],
    /// Outputs before clipping, `[strip][C]`.
    pub(crate) out: &'a [Lane],
    pub(crate) g_out: &'a mut [Lane],
}

impl Kernel for Derivative<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        match *self.likelihood {
            Likelihood::Multiclass(l) => {
                let classes = l.classes();
                let mut clipped = vec![Lane::ZERO; classes];
                let outputs = self
                    .out
                    .chunks_exact(classes)
                    .zip(self.g_out.chunks_exact_mut(classes));
                for ((out, g_out), (y, weight)) in outputs.zip(self.y.iter().zip(self.weight)) {
                    for (to, from) in clipped.iter_mut().zip(out) {
                        s.store(to, clip(s, s.load(from), self.bound));
                    }
                    l.derivative_lanes(s, s.load(y), &clipped, g_out);
                    for (g, f) in g_out.iter_mut().zip(out) {
                        let g_clipped = through_clip(s, s.load(f), self.bound, s.load(g));
                        s.store(g, s.mul(s.load(weight), g_clipped));
                    }
                }
            }
            Likelihood::Energy(_) => unreachable!("the energy likelihood couples its nodes"),
            of_one_output => {
                of_one_output.with_scalar(OneOutput(s, self));
            }
        }
    }
}

/// The derivative of a likelihood of one output.
struct OneOutput<'a, S>(S, Derivative<'a>);

impl<S: Simd> WithScalar for OneOutput<'_, S> {
    type Output = ();

    #[inline(always)]
    fn run<L: ScalarLikelihood>(self, likelihood: L) {
        self.1.scalar(self.0, likelihood);
    }
}

impl Derivative<'_> {
    #[inline(always)]
    fn scalar<S: Simd, L: ScalarLikelihood>(self, s: S, likelihood: L) {
        let lines = self
            .out
            .iter()
            .zip(self.g_out)
            .zip(self.y.iter().zip(self.weight));
        for ((out, g_out), (y, weight)) in lines {
            let f = s.load(out);
            let g = likelihood.derivative_lanes(s, s.load(y), clip(s, f, self.bound));
            s.store(
                g_out,
                s.mul(s.load(weight), through_clip(s, f, self.bound, g)),
            );
        }
    }
}

/// Derivative of the energy model's average negative log-likelihood: `-weight` at the
/// data strips, the model's masses at the node strips that follow them.
pub(crate) struct EnergyDerivative<'a> {
    pub(crate) energy: Energy,
    pub(crate) bound: f32,
    /// Weights of the data strips.
    pub(crate) weight: &'a [Lane],
    /// Outputs before clipping: data strips, then node strips.
    pub(crate) out: &'a [Lane],
    pub(crate) g_out: &'a mut [Lane],
}

impl Kernel for EnergyDerivative<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Across>(self, s: S) {
        let (data, nodes) = self.out.split_at(self.weight.len());
        let (g_data, g_nodes) = self.g_out.split_at_mut(self.weight.len());
        let minus = s.splat(-1.0);
        for ((f, g), weight) in data.iter().zip(g_data).zip(self.weight) {
            let g_data = s.mul(minus, s.load(weight));
            s.store(g, through_clip(s, s.load(f), self.bound, g_data));
        }
        let mut clipped = vec![Lane::ZERO; nodes.len()];
        for (to, from) in clipped.iter_mut().zip(nodes) {
            s.store(to, clip(s, s.load(from), self.bound));
        }
        self.energy.node_derivative_lanes(s, &clipped, g_nodes);
        for (f, g) in nodes.iter().zip(g_nodes) {
            s.store(g, through_clip(s, s.load(f), self.bound, s.load(g)));
        }
    }
}

/// `Pi_H(f)`; NaN stays NaN.
#[inline(always)]
fn clip<S: Simd>(s: S, f: S::V, bound: f32) -> S::V {
    s.min(s.splat(bound), s.max(s.splat(-bound), f))
}

/// The gradient `g` seen through the clipping: zero where `|f| > H`.
#[inline(always)]
fn through_clip<S: Simd>(s: S, f: S::V, bound: f32, g: S::V) -> S::V {
    let zero = s.splat(0.0);
    let g = s.select_greater(f, s.splat(bound), zero, g);
    s.select_greater(s.splat(-bound), f, zero, g)
}
