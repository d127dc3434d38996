//! Distances between the laws of two index functions, and the inequalities of the metric
//! calibration on them.

mod pair;

use crate::integral::{BATCHES, Rule, jackknife};
use crate::{Calibration, Check, Error, Integration, LikelihoodModel};
use loopfit_likelihood::Gamma;
use loopfit_numerics::log_number::LogNumber;
use pair::{Pair, Sums, Values};

/// What rounding may do to the square root of either side of an inequality, relative to it and in units of the index.
const ROUNDING: (f64, f64) = (1e-9, 1e-13);

/// A number with its numerical error: see [`crate::Cubature`] for what that is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measured {
    /// The number.
    pub value: f64,
    /// How far it may be off.
    pub error: f64,
}

/// A [`Measured`] number that no float may hold.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LogMeasured {
    /// The number.
    pub value: LogNumber,
    /// How far it may be off.
    pub error: LogNumber,
}

/// All distances between two functions with values in an index, and between their laws.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Distances {
    /// How functions stand for laws.
    pub model: LikelihoodModel,
    /// How the integrals were computed.
    pub integration: Integration,
    /// Squared Hellinger distance `h^2`, in `[0, 2]`.
    pub h2: Measured,
    /// Kullback-Leibler divergence of the first law from the second.
    pub kl: Measured,
    /// The order of `rho`.
    pub gamma: Gamma,
    /// `rho_gamma` of the first law and the second.
    pub rho: LogMeasured,
    /// `L2(mu)` distance of the functions, summed over classes.
    pub l2: Measured,
    /// The same modulo constants; for classes modulo functions that are added to every logit.
    pub l2_centred: Measured,
    /// The largest absolute value of either function at the points.
    pub largest: f64,
}

impl Distances {
    /// The distances of `f` and `g`, which take points of the cube, row-major, to values, one for each point (one
    /// row of logits for classes).
    ///
    /// # Formula
    #[doc = loopfit_tex::tex!(r"
        h^2=\int(\sqrt{p_f}-\sqrt{p_g})^2, \qquad
        \mathrm{KL}=\int p_f\log\frac{p_f}{p_g}, \qquad
        \rho_\gamma=\frac1\gamma\int p_f\Bigl\{\Bigl(\frac{p_f}{p_g}\Bigr)^\gamma-1\Bigr\}, \qquad
        d_{\mathrm c}^2=\inf_c\int(f-g-c)^2\,d\mu
    ")]
    /// Conditional models: the integral over the cube of the closed form at each `x`. Energy model: the points
    /// with their weights stand for `mu`, in the normalisers too.
    ///
    /// # Reference
    /// Sections 2.2, 3.1 and C.1 to C.4.
    ///
    /// # Panics
    /// If a function gives another number of values.
    pub fn between<E: From<Error>>(
        model: LikelihoodModel,
        gamma: Gamma,
        integration: Integration,
        f: impl Fn(&[f64]) -> Result<Vec<f64>, E>,
        g: impl Fn(&[f64]) -> Result<Vec<f64>, E>,
    ) -> Result<Self, E> {
        let evaluate = |rule: Rule| -> Result<Pair, E> {
            let (f, g) = (f(&rule.points)?, g(&rule.points)?);
            Ok(Pair::new(model, gamma, rule, integration.d(), f, g)?)
        };
        let (rule, coarser) = integration.rules();
        let pair = evaluate(rule)?;
        let n = pair.weights.len();
        let (answer, others) = match coarser {
            Some(rule) => {
                let coarser = evaluate(rule)?;
                let whole = coarser.sums(0..coarser.weights.len()).values(gamma);
                (pair.sums(0..n).values(gamma), vec![whole])
            }
            None => {
                let size = n / BATCHES;
                let batches: Vec<Sums> = (0..BATCHES)
                    .map(|b| pair.sums(b * size..(b + 1) * size))
                    .collect();
                (
                    Sums::all(batches.iter().copied()).values(gamma),
                    without_one(&batches, n, gamma)?,
                )
            }
        };
        let error = |of: &dyn Fn(&Values) -> f64| {
            let others: Vec<f64> = others.iter().map(of).collect();
            match others[..] {
                [coarser] => (of(&answer) - coarser).abs(),
                _ => jackknife(&others),
            }
        };
        let estimate = |of: &dyn Fn(&Values) -> f64| Measured {
            value: of(&answer),
            error: error(of),
        };
        let unit = others.iter().fold(answer.rho, |a, v| a.max(v.rho));
        Ok(Self {
            model,
            integration,
            h2: estimate(&|v| v.h2),
            kl: estimate(&|v| v.kl),
            gamma,
            rho: LogMeasured {
                value: answer.rho,
                error: unit * LogNumber::new(error(&|v| (v.rho / unit).value())),
            },
            l2: estimate(&|v| v.l2),
            l2_centred: estimate(&|v| v.l2_centred),
            largest: pair.largest,
        })
    }

    /// The distance `d_m` of the metric equivalence.
    ///
    /// # Reference
    /// Section 3.1, before Proposition 3.2.
    pub fn d_m(&self) -> Measured {
        if self.modulo() {
            self.l2_centred
        } else {
            self.l2
        }
    }

    /// Whether the law leaves a part of the function undetermined.
    fn modulo(&self) -> bool {
        matches!(
            self.model,
            LikelihoodModel::Energy | LikelihoodModel::Multiclass(_)
        )
    }

    /// The constants for these functions: for the bound `H` if one is given, which must hold at all points, else for
    /// the largest value that was seen.
    pub fn calibration(&self, bound: Option<f64>) -> Result<Calibration, Error> {
        let calibration = Calibration::new(self.model, bound.unwrap_or(self.largest))?;
        if calibration.bound() < self.largest {
            return Err(Error::AboveBound {
                largest: self.largest,
                bound: calibration.bound(),
            });
        }
        Ok(calibration)
    }

    /// Every inequality of the calibration on this pair, up to rounding: the points are a law of the inputs, for which the
    /// inequalities hold as for any other, so that no error of integration enters.
    ///
    /// # Formula
    #[doc = loopfit_tex::tex!(r"
        c_m d_m^2\le h^2\le C_m d_m^2, \qquad \rho_{1/2}\le C h^2, \qquad
        h^2\le\mathrm{KL}\le C_m d_m^2 \text{ for the energy model and classes}
    ")]
    ///
    /// # Reference
    /// Proposition 3.2 (i) and (ii); Lemma C.2, equations (S9) and (S10).
    pub fn checks(&self, calibration: &Calibration) -> Vec<Check> {
        let h = calibration.bound();
        let d2 = LogNumber::new(self.d_m().value).pow(2.0);
        let (h2, kl) = (LogNumber::new(self.h2.value), LogNumber::new(self.kl.value));
        let (c, upper, bridge) = (calibration.c(), calibration.upper(), calibration.bridge());
        let mut checks = vec![
            Check::new(
                "bound",
                self.largest <= h,
                format!(
                    "|f| and |g| are at most {} at all points, H = {}",
                    LogNumber::new(self.largest),
                    LogNumber::new(h)
                ),
            ),
            inequality("lower", ("c_m d_m^2", c * d2), ("h^2", h2)),
            inequality("upper", ("h^2", h2), ("C_m d_m^2", upper * d2)),
        ];
        // The bridge is about this order alone.
        if self.gamma == Gamma::HALF {
            let large = ("C_bridge h^2", bridge * h2);
            checks.push(inequality("bridge", ("rho_1/2", self.rho.value), large));
        }
        if self.modulo() {
            checks.push(inequality("h2_kl", ("h^2", h2), ("KL", kl)));
            checks.push(inequality(
                "kl_upper",
                ("KL", kl),
                ("C_m d_m^2", upper * d2),
            ));
        }
        checks
    }
}

fn inequality(
    name: &'static str,
    (small_name, small): (&str, LogNumber),
    (large_name, large): (&str, LogNumber),
) -> Check {
    let allowed = large.pow(0.5) * LogNumber::new(1.0 + ROUNDING.0) + LogNumber::new(ROUNDING.1);
    // A logarithm is rounded relative to itself.
    let slack = if large == LogNumber::ZERO {
        0.0
    } else {
        1e-12 * large.ln().abs()
    };
    let holds = 0.5 * small.ln() <= allowed.ln() + slack;
    let relation = if holds { "at most" } else { "above" };
    Check::new(
        name,
        holds,
        format!("{small_name} = {small} is {relation} {large_name} = {large}"),
    )
}

/// The distances without each of the batches.
fn without_one(batches: &[Sums], points: usize, gamma: Gamma) -> Result<Vec<Values>, Error> {
    (0..batches.len())
        .map(|left_out| {
            let others = (0..batches.len()).filter(|b| *b != left_out);
            let sums = Sums::all(others.map(|b| batches[b]));
            if sums.p.min(sums.q) > f64::EPSILON {
                Ok(sums.values(gamma))
            } else {
                Err(Error::Concentrated(points))
            }
        })
        .collect()
}

#[cfg(test)]
mod tests;
