//! The double well: the flow of a particle in a potential with two minima.
//!
//! Its field is piecewise linear with two kinks, so that one block with `q = 2` and four
//! hidden units is an Euler step: a loop comes closer with every iteration at no cost in
//! parameters, separate blocks must pay for each step.

use loopfit_numerics::libm::{acos, atan2, cos, cosh, log, sin, sinh, sqrt};
use loopfit_numerics::stream::Stream;

use super::Function;

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
pub(super) fn target(_coefficients: Stream) -> Box<Function> {
    let scale = 1.0 / sqrt(VARIANCE);
    Box::new(move |x| {
        let start = [0, 1].map(|k| START * (2.0 * x[k] - 1.0));
        scale * flow(start, TIME)[0]
    })
}

/// `(x, p)` after some time, exactly but for rounding: from kink to kink in closed form.
pub(super) fn flow([mut x, mut p]: [f64; 2], mut time: f64) -> [f64; 2] {
    loop {
        // On a kink the momentum decides; at rest there, the field points outwards.
        let inside = x.abs() < KINK || (x.abs() == KINK && x * p < 0.0);
        let leg = if inside {
            between(x, p)
        } else {
            beyond(x.abs(), p * x.signum()).mirrored(x.signum())
        };
        if leg.duration >= time {
            return if inside {
                let (c, s) = (cosh(time), sinh(time));
                [x * c + p * s, x * s + p * c]
            } else {
                rotate(x, p, time)
            };
        }
        time -= leg.duration;
        [x, p] = leg.end;
    }
}

/// The way to the next kink.
struct Leg {
    duration: f64,
    end: [f64; 2],
}

impl Leg {
    fn mirrored(self, sign: f64) -> Self {
        let [x, p] = self.end;
        Self {
            end: [sign * x, sign * p],
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
fn between(x: f64, p: f64) -> Leg {
    let growing = x + p;
    let sign = growing.signum();
    let out = sqrt(p * p + (KINK - x) * (KINK + x));
    Leg {
        // No end, as an infinite time says, where nothing grows.
        duration: log((KINK + out) / growing.abs()),
        end: [sign * KINK, sign * out],
    }
}

/// The way back from `x >= 1/2`.
///
/// # Formula
/// `x'' = -3 (x - 2/3)`: with `y = x - 2/3`, `(y, p / sqrt 3) = R (cos a, -sin a)` and
/// `a` grows like `sqrt(3) t`. The way ends where `R cos a = -1/6` and `sin a > 0`; never
/// if `R <= 1/6`.
fn beyond(x: f64, p: f64) -> Leg {
    let (y, w) = (x - MINIMUM, sqrt(3.0));
    let radius = sqrt(y * y + p * p / 3.0);
    let edge = KINK - MINIMUM;
    if radius <= -edge {
        return Leg {
            duration: f64::INFINITY,
            end: [x, p],
        };
    }
    // Rounding must make neither negative for a start beside the kink.
    let angle = (acos(edge / radius) - atan2(-p / w, y)).max(0.0);
    let out = (p * p + 3.0 * (x - KINK) * (x + KINK - 2.0 * MINIMUM)).max(0.0);
    Leg {
        duration: angle / w,
        end: [KINK, -sqrt(out)],
    }
}

/// The motion about the minimum on the side of `x`.
fn rotate(x: f64, p: f64, time: f64) -> [f64; 2] {
    let (centre, w) = (x.signum() * MINIMUM, sqrt(3.0));
    let (c, s) = (cos(w * time), sin(w * time));
    let y = x - centre;
    [centre + y * c + p / w * s, p * c - y * w * s]
}
