//! The double well: the flow of a particle in a potential with two minima.
//!
//! Its field is piecewise linear with two kinks, so that one block with `q = 2` and four
//! hidden units is an Euler step: a loop comes closer with every iteration at no cost in
//! parameters, separate blocks must pay for each step.

use loopfit_numerics::jet::Scalar;
use loopfit_numerics::libm::sqrt;

use super::Formula;

/// How long the particle moves.
pub(super) const TIME: f64 = 3.0;
/// Starting positions and momenta fill `[-START, START]^2`.
pub(super) const START: f64 = 1.2;
/// `E x(3)^2` over uniform starts, by Gauss-Legendre quadrature with eight nodes in each
/// of 1024^2 and of 1536^2 cells, which agree in all digits given. The mean is zero,
/// since the flow is odd.
pub(super) const VARIANCE: f64 = 0.484_477_829_76;
/// Where the field has its kinks, on either side.
const KINK: f64 = 0.5;
/// The minimum of the potential on the right; the left one mirrors it.
const MINIMUM: f64 = 2.0 / 3.0;

/// Where a particle in a double well is after some time, standardised.
///
/// # Formula
/// `(x, p) = 1.2 (2 X - 1)` at time zero, `x' = p`,
/// `p' = x - 4 (|x| - 1/2)_+ sign(x)`; `f0(X) = x(3) / sd(x(3))`.
pub(super) struct DoubleWell;

impl Formula for DoubleWell {
    fn at<S: Scalar>(&self, x: &[S]) -> S {
        let start = [0, 1].map(|k: usize| (x[k].clone() * 2.0 - 1.0) * START);
        let [end, _] = flow(start, TIME);
        end * (1.0 / sqrt(VARIANCE))
    }
}

/// `(x, p)` after some time, exactly but for rounding: from kink to kink in closed form.
pub(super) fn flow<S: Scalar>([mut x, mut p]: [S; 2], time: f64) -> [S; 2] {
    let mut time = x.constant(time);
    loop {
        let (at, momentum) = (x.value(), p.value());
        // On a kink the momentum decides; at rest there, the field points outwards.
        let inside = at.abs() < KINK || (at.abs() == KINK && at * momentum < 0.0);
        let leg = if inside {
            between(x.clone(), p.clone())
        } else {
            let side = at.signum();
            beyond(x.clone() * side, p.clone() * side).mirrored(side)
        };
        let Some(duration) = leg.duration.filter(|d| d.value() < time.value()) else {
            return if inside {
                let (c, s) = (time.cosh(), time.sinh());
                let end = x.clone() * c.clone() + p.clone() * s.clone();
                [end, x * s + p * c]
            } else {
                rotate(x, p, time)
            };
        };
        time = time - duration;
        [x, p] = leg.end;
    }
}

/// The way to the next kink.
struct Leg<S> {
    /// How long it takes; nothing where there is no end.
    duration: Option<S>,
    end: [S; 2],
}

impl<S: Scalar> Leg<S> {
    fn mirrored(self, sign: f64) -> Self {
        Self {
            end: self.end.map(|coordinate| coordinate * sign),
            ..self
        }
    }
}

/// The way out of `|x| <= 1/2`.
///
/// # Formula
/// `x'' = x`: `x + p` grows like `e^t`, and `p^2 - x^2` stays. So the way ends on the side
/// of `x + p`, at `b = +-1/2` with `|p_b| = sqrt(p^2 + 1/4 - x^2)`, after
/// `log((b + p_b) / (x + p))`.
fn between<S: Scalar>(x: S, p: S) -> Leg<S> {
    let growing = x.clone() + p.clone();
    let sign = growing.value().signum();
    let out = (p.clone() * p + (-x.clone() + KINK) * (x.clone() + KINK)).sqrt();
    // Where nothing grows there is no end.
    let duration = (growing.value() != 0.0).then(|| ((out.clone() + KINK) / (growing * sign)).ln());
    Leg {
        duration,
        end: [x.constant(sign * KINK), out * sign],
    }
}

/// The way back from `x >= 1/2`.
///
/// # Formula
/// `x'' = -3 (x - 2/3)`: with `y = x - 2/3`, `(y, p / sqrt 3) = R (cos a, -sin a)` and
/// `a` grows like `sqrt(3) t`. The way ends where `R cos a = -1/6` and `sin a > 0`; never
/// if `R <= 1/6`.
fn beyond<S: Scalar>(x: S, p: S) -> Leg<S> {
    let (y, w) = (x.clone() - MINIMUM, sqrt(3.0));
    let square = y.clone() * y.clone() + p.clone() * p.clone() / 3.0;
    let edge = KINK - MINIMUM;
    // Rounding must make neither negative for a start beside the kink.
    let nonnegative = |z: S| if z.value() > 0.0 { z } else { z.constant(0.0) };
    if sqrt(square.value()) <= -edge {
        return Leg {
            duration: None,
            end: [x, p],
        };
    }
    let angle = (x.constant(edge) / square.sqrt()).acos() - (-p.clone() / w).atan2(&y);
    let out = p.clone() * p + (x.clone() - KINK) * 3.0 * (x.clone() + KINK - 2.0 * MINIMUM);
    let out = nonnegative(out);
    let momentum = if out.value() > 0.0 { -out.sqrt() } else { -out };
    Leg {
        duration: Some(nonnegative(angle) / w),
        end: [x.constant(KINK), momentum],
    }
}

/// The motion about the minimum on the side of `x`.
fn rotate<S: Scalar>(x: S, p: S, time: S) -> [S; 2] {
    let (centre, w) = (x.value().signum() * MINIMUM, sqrt(3.0));
    let (c, s) = ((time.clone() * w).cos(), (time * w).sin());
    let y = x - centre;
    let end = y.clone() * c.clone() + centre + p.clone() / w * s.clone();
    [end, p * c - y * w * s]
}
