//! Any of the likelihoods.

use crate::{
    Bernoulli, Distance, Divergence, Energy, Error, Gaussian, Laplace, Multiclass, Poisson,
    ScalarLikelihood,
};
use loopfit_numerics::sum::mean;
use serde::{Deserialize, Serialize};

/// Any of the likelihoods; in files an object with the key `kind`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Likelihood {
    /// Regression with Gaussian noise.
    Gaussian(Gaussian),
    /// Regression with Laplace noise.
    Laplace(Laplace),
    /// Counts.
    Poisson(Poisson),
    /// Two classes.
    Bernoulli(Bernoulli),
    /// Two or more classes.
    Multiclass(Multiclass),
    /// A density on the unit cube.
    Energy(Energy),
}

impl Likelihood {
    /// Number of outputs that the model must have: the length of the index at one point.
    pub fn outputs(self) -> usize {
        match self {
            Self::Multiclass(l) => l.classes(),
            _ => 1,
        }
    }

    /// Number of classes; none where targets are not classes.
    pub fn classes(self) -> Option<usize> {
        match self {
            Self::Bernoulli(_) => Some(2),
            Self::Multiclass(l) => Some(l.classes()),
            Self::Gaussian(_) | Self::Laplace(_) | Self::Poisson(_) | Self::Energy(_) => None,
        }
    }

    /// Does something with the family, if it is one of one output and a target.
    #[inline(always)]
    pub fn with_scalar<W: WithScalar>(self, work: W) -> Option<W::Output> {
        match self {
            Self::Gaussian(l) => Some(work.run(l)),
            Self::Laplace(l) => Some(work.run(l)),
            Self::Poisson(l) => Some(work.run(l)),
            Self::Bernoulli(l) => Some(work.run(l)),
            Self::Multiclass(_) | Self::Energy(_) => None,
        }
    }

    /// The name in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Gaussian(_) => "gaussian",
            Self::Laplace(_) => "laplace",
            Self::Poisson(_) => "poisson",
            Self::Bernoulli(_) => "bernoulli",
            Self::Multiclass(_) => "multiclass",
            Self::Energy(_) => "energy",
        }
    }

    /// Whether every target can be observed; the error names the row.
    pub fn check_targets(self, y: &[f64]) -> Result<(), Error> {
        for (i, &y) in y.iter().enumerate() {
            self.check_target(y).map_err(|reason| match reason {
                Error::NoTarget => reason,
                _ => Error::Row {
                    row: i + 1,
                    reason: Box::new(reason),
                },
            })?;
        }
        Ok(())
    }

    fn check_target(self, y: f64) -> Result<(), Error> {
        match self {
            Self::Gaussian(l) => l.check_target(y),
            Self::Laplace(l) => l.check_target(y),
            Self::Poisson(l) => l.check_target(y),
            Self::Bernoulli(l) => l.check_target(y),
            Self::Multiclass(l) => l.check_target(y).map(|_| ()),
            Self::Energy(_) => Err(Error::NoTarget),
        }
    }

    /// Negative log density of the target `y` given the index `f` at its point.
    pub fn nll(self, y: f64, f: &[f64]) -> Result<f64, Error> {
        check_length(self.outputs(), f)?;
        self.check_target(y)?;
        match self {
            Self::Gaussian(l) => Ok(l.nll(y, f[0])),
            Self::Laplace(l) => Ok(l.nll(y, f[0])),
            Self::Poisson(l) => Ok(l.nll(y, f[0])),
            Self::Bernoulli(l) => Ok(l.nll(y, f[0])),
            Self::Multiclass(l) => Ok(l.nll(l.check_target(y)?, f)),
            Self::Energy(_) => Err(Error::NoTarget),
        }
    }

    /// Writes `d nll / d f` into `out`, which is as long as `f`.
    pub fn derivative(self, y: f64, f: &[f64], out: &mut [f64]) -> Result<(), Error> {
        check_length(self.outputs(), f)?;
        check_length(self.outputs(), out)?;
        self.check_target(y)?;
        match self {
            Self::Gaussian(l) => out[0] = l.derivative(y, f[0]),
            Self::Laplace(l) => out[0] = l.derivative(y, f[0]),
            Self::Poisson(l) => out[0] = l.derivative(y, f[0]),
            Self::Bernoulli(l) => out[0] = l.derivative(y, f[0]),
            Self::Multiclass(l) => l.derivative(l.check_target(y)?, f, out),
            Self::Energy(_) => return Err(Error::NoTarget),
        }
        Ok(())
    }

    /// Average negative log-likelihood of the targets `y`, with the index row-major, one row of
    /// [`Likelihood::outputs`] values for each target; NaN for no targets. Energy models have
    /// [`Energy::average_nll`].
    pub fn average_nll(self, outputs: &[f64], y: &[f64]) -> Result<f64, Error> {
        check_length(y.len() * self.outputs(), outputs)?;
        self.check_targets(y)?;
        let terms = match self.with_scalar(Terms { outputs, y }) {
            Some(terms) => terms,
            None => y
                .iter()
                .zip(outputs.chunks(self.outputs()))
                .map(|(&y, f)| self.nll(y, f))
                .collect::<Result<_, Error>>()?,
        };
        Ok(mean(&terms))
    }

    /// Writes `R e` into `out`, where `R R^T` is the Fisher information of the index at `f`. The
    /// sum of `(R e)(R e)^T` over the unit vectors `e` is the information; so is its mean over
    /// random signs `e`.
    ///
    /// # Formula
    /// One output: `R = sqrt(I(f))`. Multiclass: column `k` of `R` is `sqrt(p_k) (e_k - p)`,
    /// since `sum_k p_k (e_k - p)(e_k - p)^T = diag(p) - p p^T`.
    pub fn information_factor(self, f: &[f64], e: &[f64], out: &mut [f64]) -> Result<(), Error> {
        check_length(self.outputs(), f)?;
        check_length(self.outputs(), e)?;
        check_length(self.outputs(), out)?;
        match self {
            Self::Gaussian(l) => out[0] = l.fisher(f[0]).sqrt() * e[0],
            Self::Laplace(l) => out[0] = l.fisher(f[0]).sqrt() * e[0],
            Self::Poisson(l) => out[0] = l.fisher(f[0]).sqrt() * e[0],
            Self::Bernoulli(l) => out[0] = l.fisher(f[0]).sqrt() * e[0],
            Self::Multiclass(l) => l.information_factor(f, e, out),
            Self::Energy(_) => return Err(Error::NoTarget),
        }
        Ok(())
    }

    /// Size of the Fisher information of one output where the index is zero; one for energy
    /// models. A yardstick for damping, which then does not depend on the units of the noise.
    pub fn information_scale(self) -> f64 {
        match self {
            Self::Gaussian(l) => l.fisher(0.0),
            Self::Laplace(l) => l.fisher(0.0),
            Self::Poisson(l) => l.fisher(0.0),
            Self::Bernoulli(l) => l.fisher(0.0),
            Self::Multiclass(l) => {
                let p = 1.0 / l.classes() as f64;
                p * (1.0 - p)
            }
            Self::Energy(_) => 1.0,
        }
    }

    /// How much larger the residuals are than the likelihood's own scale says (variance of the
    /// Gaussian, scale of the Laplace), judging by an average negative log-likelihood; one where
    /// the likelihood has no scale. A log prior counts by this factor against the average.
    ///
    /// # Formula
    /// Gaussian: `mean (y - f)^2 / sigma^2`; Laplace: `mean |y - f| / tau`.
    pub fn noise_factor(self, average_nll: f64) -> f64 {
        match self {
            Self::Gaussian(l) => 2.0 * (average_nll - l.nll(0.0, 0.0)).max(0.0),
            Self::Laplace(l) => (average_nll - l.nll(0.0, 0.0)).max(0.0),
            _ => 1.0,
        }
    }

    /// Distance between the laws of two index functions from their values `f` and `g` at the
    /// same points: points of the law of `X`, row-major, for the conditional families; the
    /// nodes for energy models.
    ///
    /// # Formula
    /// Conditional families: the mean over the points of the distance of the conditional laws,
    /// because both joint laws have the same law of `X` (paper, Sections C.1 to C.3). Energy
    /// models: the distance itself (Section C.4).
    pub fn distance(self, distance: Distance, f: &[f64], g: &[f64]) -> Result<f64, Error> {
        check_length(f.len(), g)?;
        let width = self.outputs();
        check_length(f.len() / width * width, f)?;
        let average = |one: &dyn Fn(&[f64], &[f64]) -> f64| {
            let terms: Vec<f64> = f
                .chunks(width)
                .zip(g.chunks(width))
                .map(|(f, g)| one(f, g))
                .collect();
            mean(&terms)
        };
        let scalar = |one: &dyn Fn(f64, f64) -> f64| average(&|f, g| one(f[0], g[0]));
        Ok(match self {
            Self::Gaussian(l) => scalar(&|f, g| scalar_distance(l, distance, f, g)),
            Self::Laplace(l) => scalar(&|f, g| scalar_distance(l, distance, f, g)),
            Self::Poisson(l) => scalar(&|f, g| scalar_distance(l, distance, f, g)),
            Self::Bernoulli(l) => scalar(&|f, g| scalar_distance(l, distance, f, g)),
            Self::Multiclass(l) => average(&|f, g| match distance {
                Distance::HellingerSquared => l.hellinger_squared(f, g),
                Distance::Kl => l.kl(f, g),
                Distance::Rho(gamma) => l.rho(gamma, f, g),
            }),
            Self::Energy(l) => {
                l.check_nodes(f)?;
                match distance {
                    Distance::HellingerSquared => l.hellinger_squared(f, g),
                    Distance::Kl => l.kl(f, g),
                    Distance::Rho(gamma) => l.rho(gamma, f, g),
                }
            }
        })
    }
}

/// What is done alike for every family of one output ([`Likelihood::with_scalar`]).
pub trait WithScalar {
    /// What it gives.
    type Output;

    /// Does it.
    fn run<L: ScalarLikelihood>(self, likelihood: L) -> Self::Output;
}

/// The negative log-likelihood of each target.
struct Terms<'a> {
    outputs: &'a [f64],
    y: &'a [f64],
}

impl WithScalar for Terms<'_> {
    type Output = Vec<f64>;

    fn run<L: ScalarLikelihood>(self, likelihood: L) -> Vec<f64> {
        let pairs = self.y.iter().zip(self.outputs);
        pairs.map(|(y, f)| likelihood.nll(*y, *f)).collect()
    }
}

fn scalar_distance(l: impl Divergence, distance: Distance, f: f64, g: f64) -> f64 {
    match distance {
        Distance::HellingerSquared => l.hellinger_squared(f, g),
        Distance::Kl => l.kl(f, g),
        Distance::Rho(gamma) => l.rho(gamma, f, g),
    }
}

fn check_length(expected: usize, values: &[f64]) -> Result<(), Error> {
    if values.len() == expected {
        Ok(())
    } else {
        Err(Error::Length {
            expected,
            got: values.len(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Gamma, Nodes};
    use proptest::collection::vec;
    use proptest::prelude::*;

    /// Twelve values are twelve points, or four points with three classes, or twelve nodes.
    const VALUES: usize = 12;

    fn all() -> [Likelihood; 6] {
        [
            Likelihood::Gaussian(Gaussian::new(0.8).unwrap()),
            Likelihood::Laplace(Laplace::new(0.6).unwrap()),
            Likelihood::Poisson(Poisson),
            Likelihood::Bernoulli(Bernoulli),
            Likelihood::Multiclass(Multiclass::new(3).unwrap()),
            Likelihood::Energy(Energy::new(5, Nodes::LowDiscrepancy { n: VALUES }).unwrap()),
        ]
    }

    #[test]
    fn noise_is_measured_in_units_of_the_scale() {
        let (f, y) = ([0.1, 0.4, -0.3], [0.6, 0.2, -1.3]);
        let factor = |l: Likelihood| l.noise_factor(l.average_nll(&f, &y).unwrap());
        let gaussian = factor(Likelihood::Gaussian(Gaussian::new(0.8).unwrap()));
        assert!((gaussian - (0.25 + 0.04 + 1.0) / 3.0 / 0.64).abs() < 1e-12);
        let laplace = factor(Likelihood::Laplace(Laplace::new(0.6).unwrap()));
        assert!((laplace - (0.5 + 0.2 + 1.0) / 3.0 / 0.6).abs() < 1e-12);
        assert_eq!(Likelihood::Bernoulli(Bernoulli).noise_factor(0.3), 1.0);
    }

    #[test]
    fn information_factors_add_up_to_the_information() {
        let l = Multiclass::new(3).unwrap();
        let f = [0.3, -1.2, 0.9];
        let mut information = [0.0; 9];
        l.fisher(&f, &mut information);
        let outer = |e: [f64; 3], sum: &mut [f64; 9]| {
            let mut column = [0.0; 3];
            let any = Likelihood::Multiclass(l);
            any.information_factor(&f, &e, &mut column).unwrap();
            for i in 0..9 {
                sum[i] += column[i / 3] * column[i % 3];
            }
        };
        let (mut units, mut signs) = ([0.0; 9], [0.0; 9]);
        for k in 0..3 {
            outer(
                std::array::from_fn(|i| f64::from(u8::from(i == k))),
                &mut units,
            );
        }
        for bits in 0..8 {
            outer(
                std::array::from_fn(|i| f64::from((bits >> i) % 2) * 2.0 - 1.0),
                &mut signs,
            );
        }
        for i in 0..9 {
            assert!((units[i] - information[i]).abs() < 1e-14);
            assert!((signs[i] / 8.0 - information[i]).abs() < 1e-14);
        }
    }

    #[test]
    fn files_name_the_kind() {
        let expected = [
            r#"{"kind":"gaussian","sigma":0.8}"#,
            r#"{"kind":"laplace","tau":0.6}"#,
            r#"{"kind":"poisson"}"#,
            r#"{"kind":"bernoulli"}"#,
            r#"{"kind":"multiclass","classes":3}"#,
            r#"{"kind":"energy","d":5,"nodes":{"low_discrepancy":{"n":12}}}"#,
        ];
        for (l, text) in all().into_iter().zip(expected) {
            assert_eq!(serde_json::to_string(&l).unwrap(), text);
            assert_eq!(serde_json::from_str::<Likelihood>(text).unwrap(), l);
            assert!(text.contains(&format!(r#""kind":"{}""#, l.name())));
        }
        let wrong = serde_json::from_str::<Likelihood>(r#"{"kind":"gaussian","sigma":0.0}"#);
        let message = wrong.unwrap_err().to_string();
        assert!(
            message.contains("sigma = 0 is not a noise scale"),
            "{message}"
        );
        assert!(serde_json::from_str::<Likelihood>(r#"{"kind":"cauchy"}"#).is_err());
    }

    #[test]
    fn wrong_targets_name_their_row() {
        let [gaussian, laplace, poisson, bernoulli, multiclass, energy] = all();
        let message = |l: Likelihood, y: &[f64]| l.check_targets(y).unwrap_err().to_string();
        for l in [gaussian, laplace] {
            assert_eq!(
                message(l, &[1.0, f64::NAN]),
                "row 2: the target NaN is not a finite number: remove or impute it"
            );
        }
        assert_eq!(
            message(poisson, &[1.0, 2.5]),
            "row 2: the target 2.5 is not a count: give a whole number, not below 0"
        );
        assert_eq!(
            message(bernoulli, &[1.0, 0.0, 2.0]),
            "row 3: the target 2 is neither 0 nor 1: encode the two classes as 0 and 1"
        );
        assert_eq!(
            message(multiclass, &[3.0]),
            "row 1: the target 3 is not a class: encode the 3 classes as 0, 1, ..., 2"
        );
        assert_eq!(energy.check_targets(&[0.0]), Err(Error::NoTarget));
        assert_eq!(energy.nll(0.0, &[0.0]), Err(Error::NoTarget));
        assert!(multiclass.average_nll(&[0.0; 3], &[7.0]).is_err());
    }

    #[test]
    fn wrong_lengths_are_errors() {
        let is_length = |e: Error| matches!(e, Error::Length { .. });
        for l in all() {
            let (f, g) = ([0.0; VALUES], [0.0; VALUES + 1]);
            assert!(is_length(l.distance(Distance::Kl, &f, &g).unwrap_err()));
            if l.outputs() > 1 || l.name() == "energy" {
                assert!(is_length(l.distance(Distance::Kl, &g, &g).unwrap_err()));
            }
            assert!(is_length(l.nll(0.0, &[0.0; 4]).unwrap_err()));
            assert!(is_length(l.average_nll(&f, &[0.0]).unwrap_err()));
            let mut out = [0.0; 5];
            assert!(is_length(
                l.derivative(0.0, &f[..l.outputs()], &mut out).unwrap_err()
            ));
        }
    }

    #[test]
    fn averages_are_means_of_rows() {
        let l = Likelihood::Multiclass(Multiclass::new(3).unwrap());
        let (rows, y) = ([0.1, 0.2, 0.3, 1.0, -1.0, 0.5], [2.0, 0.0]);
        let by_hand = 0.5 * (l.nll(2.0, &rows[..3]).unwrap() + l.nll(0.0, &rows[3..]).unwrap());
        assert!((l.average_nll(&rows, &y).unwrap() - by_hand).abs() < 1e-15);
        assert!(l.average_nll(&[], &[]).unwrap().is_nan());
    }

    proptest! {
        #[test]
        fn derivative_is_the_slope(f in vec(-3.0f64..3.0, 3), y in 0u8..2) {
            let y = f64::from(y);
            for l in &all()[..5] {
                let f = &f[..l.outputs()];
                prop_assume!((f[0] - y).abs() > 1e-4);
                let mut d = vec![0.0; f.len()];
                l.derivative(y, f, &mut d).unwrap();
                for k in 0..f.len() {
                    let at = |h: f64| {
                        let mut moved = f.to_vec();
                        moved[k] += h;
                        l.nll(y, &moved).unwrap()
                    };
                    let slope = (at(1e-5) - at(-1e-5)) / 2e-5;
                    prop_assert!((slope - d[k]).abs() < 1e-8);
                }
            }
        }

        /// `0 <= h^2 <= min(2, KL)` and `KL <= rho_a <= rho_b` for `a <= b <= 1`: Jensen's
        /// inequality for the logarithm and for powers (paper, Section C.4, the first by name).
        #[test]
        fn distances_are_ordered(
            f in vec(-3.0f64..3.0, VALUES), g in vec(-3.0f64..3.0, VALUES),
            scale in 1e-6f64..1.0, a in 0.01f64..1.0, b in 0.01f64..1.0,
        ) {
            let g: Vec<f64> = f.iter().zip(&g).map(|(f, g)| f + scale * g).collect();
            let (a, b) = (Gamma::new(a.min(b)).unwrap(), Gamma::new(a.max(b)).unwrap());
            for l in all() {
                let at = |distance| l.distance(distance, &f, &g).unwrap();
                let ladder = [
                    0.0,
                    at(Distance::HellingerSquared),
                    at(Distance::Kl),
                    at(Distance::Rho(a)),
                    at(Distance::Rho(b)),
                ];
                for pair in ladder.windows(2) {
                    prop_assert!(pair[0] <= pair[1] * (1.0 + 1e-7), "{} {ladder:?}", l.name());
                }
                prop_assert!(ladder[1] <= 2.0 + 1e-15);
            }
        }

        /// Hellinger is a metric; every distance vanishes at equality.
        #[test]
        fn hellinger_is_a_metric(
            f in vec(-6.0f64..6.0, VALUES), g in vec(-6.0f64..6.0, VALUES), k in vec(-6.0f64..6.0, VALUES),
        ) {
            for l in all() {
                let h2 = |f: &[f64], g: &[f64]| l.distance(Distance::HellingerSquared, f, g).unwrap();
                prop_assert_eq!(h2(&f, &g), h2(&g, &f));
                prop_assert!(h2(&f, &k).sqrt() <= h2(&f, &g).sqrt() + h2(&g, &k).sqrt() + 1e-12);
                for distance in [Distance::HellingerSquared, Distance::Kl, Distance::Rho(Gamma::HALF)] {
                    prop_assert_eq!(l.distance(distance, &f, &f).unwrap(), 0.0);
                }
            }
        }

        /// Close indices: `h^2 = I D^2 / 4`, `KL = I D^2 / 2`, `rho_gamma = (1 + gamma) I D^2 / 2` to
        /// leading order, `I` the Fisher information.
        #[test]
        fn fisher_is_the_local_metric(f in -2.0f64..2.0, gamma in 0.1f64..1.0) {
            let (d, order) = (1e-5, Gamma::new(gamma).unwrap());
            let check = |information: f64, l: Likelihood| {
                let unit = information * d * d;
                let at = |distance| l.distance(distance, &[f], &[f + d]).unwrap() / unit;
                for (got, expected) in [
                    (at(Distance::HellingerSquared), 0.25),
                    (at(Distance::Kl), 0.5),
                    (at(Distance::Rho(order)), 0.5 * (1.0 + gamma)),
                ] {
                    assert!((got - expected).abs() < 1e-4, "{}: {got} {expected}", l.name());
                }
            };
            let (gaussian, laplace) = (Gaussian::new(0.8).unwrap(), Laplace::new(0.6).unwrap());
            check(gaussian.fisher(f), Likelihood::Gaussian(gaussian));
            check(laplace.fisher(f), Likelihood::Laplace(laplace));
            check(Bernoulli.fisher(f), Likelihood::Bernoulli(Bernoulli));
        }
    }
}
