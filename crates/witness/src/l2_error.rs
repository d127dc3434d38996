//! The error of a constructed network over the cube, against the resolution.
//!
//! Theorem D.1 promises an `L2` error of order `K^-s`. Here it is measured: the network runs exactly
//! at random points, off the strips and on them, and the exponent is a fitted slope;
//! [`study`] does so at many resolutions.

pub mod study;

use crate::Error;
use crate::points::{axis_measure, off_strips, on_strips};
use crate::rational::Rational;
use crate::resolution::Resolution;
use crate::target::Target;
use loopfit_numerics::libm;
use loopfit_numerics::stream::Stream;
use loopfit_numerics::sum::{mean, standard_error};

/// The error of a network at one resolution.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct L2Error {
    /// The exponent of `K = 2^m`.
    pub m: usize,
    /// The `L2` error over the cube.
    ///
    /// # Formula
    /// `sqrt((1 - mu) off^2 + mu on^2)` with the two errors below and `mu` the strips' measure.
    pub l2: f64,
    /// Off the strips.
    pub off: Part,
    /// On the strips.
    pub on: Part,
    /// The measure of the strips.
    ///
    /// # Formula
    /// `mu(S_G) = 1 - (1 - 2K 2^-G)^d`.
    pub strip_measure: f64,
    /// What (S29) allows at every point off the strips.
    pub interior_bound: f64,
}

/// The error over a part of the cube.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Part {
    /// The points that were tried.
    pub points: usize,
    /// The root of the mean squared error.
    pub root_mean_square: f64,
    /// Its standard error. Points off the strips are stratified, which makes it an upper bound.
    pub standard_error: f64,
    /// The largest error seen.
    pub largest: f64,
}

impl Part {
    fn of(errors: &[f64]) -> Self {
        let squares: Vec<f64> = errors.iter().map(|error| error * error).collect();
        let root_mean_square = mean(&squares).sqrt();
        // The derivative of a root.
        let standard_error = match root_mean_square > 0.0 {
            true => standard_error(&squares) / (2.0 * root_mean_square),
            false => 0.0,
        };
        Self {
            points: errors.len(),
            root_mean_square,
            standard_error,
            largest: errors.iter().fold(0.0, |largest, e| largest.max(e.abs())),
        }
    }
}

/// On the strips there are so many times fewer points than off them: their measure is tiny.
const FEWER_ON_STRIPS: usize = 8;

/// The error of a network that is given by its values, e.g. those of
/// [`Runner::evaluate`](crate::ffn::run::Runner::evaluate) in [`Exact`](crate::Exact).
///
/// Off the strips there is one point in each of `n^d` equal cubes, with `n` the smallest number
/// that gives at least `points`.
pub fn measure(
    resolution: &Resolution,
    target: &dyn Target,
    points: usize,
    seed: u64,
    value: impl Fn(&[Rational]) -> Result<Rational, Error>,
) -> Result<L2Error, Error> {
    let d = resolution.d;
    let stream = Stream::new(seed).child("L2 error");
    let error =
        |x: &[Rational]| -> Result<f64, Error> { Ok((value(x)? - target.value(x)?).to_f64()) };
    let side = (1..).find(|side: &usize| side.pow(d as u32) >= points);
    let side = side.unwrap_or(1);
    let off = stream.child("off the strips");
    let off = (0..side.pow(d as u32)).map(|index| {
        let mut rest = index;
        let corner = (0..d).map(|_| {
            let digit = rest % side;
            rest /= side;
            digit
        });
        let jitter = uniform(off.nth(index as u64), d);
        let point = corner.zip(jitter).map(|(corner, jitter)| {
            (Rational::from(corner as i64) + jitter) * Rational::new(1, side as u64)
        });
        error(&off_strips(resolution, &point.collect::<Vec<_>>()))
    });
    let off = Part::of(&off.collect::<Result<Vec<_>, _>>()?);
    let on = stream.child("on the strips");
    let per_axis = axis_measure(resolution);
    let on = (0..points.div_ceil(FEWER_ON_STRIPS).max(2)).map(|index| {
        let stream = on.nth(index as u64);
        let first = first_on_strip(per_axis, d, stream.child("axis").uniform(0));
        let point: Vec<_> = uniform(stream, d).collect();
        error(&on_strips(resolution, &point, first))
    });
    let on = Part::of(&on.collect::<Result<Vec<_>, _>>()?);
    let strip_measure = 1.0 - libm::pow(1.0 - per_axis, d as f64);
    let squares = (1.0 - strip_measure) * off.root_mean_square * off.root_mean_square
        + strip_measure * on.root_mean_square * on.root_mean_square;
    Ok(L2Error {
        m: resolution.m,
        l2: squares.sqrt(),
        off,
        on,
        strip_measure,
        interior_bound: resolution.interior_error_bound(),
    })
}

/// A uniform point as exact numbers.
fn uniform(stream: Stream, d: usize) -> impl Iterator<Item = Rational> {
    let number = move |i| Rational::from_f64(stream.uniform(i)).unwrap_or(Rational::ZERO);
    (0..d as u64).map(number)
}

/// The first axis that is on a strip, given that one is: axis `i` with a probability in
/// proportion to `(1 - v)^i v`, by inversion.
fn first_on_strip(v: f64, d: usize, uniform: f64) -> usize {
    let none_up_to = |axis: usize| libm::pow(1.0 - v, axis as f64);
    let below = |axis: &usize| uniform * (1.0 - none_up_to(d)) < 1.0 - none_up_to(axis + 1);
    (0..d).find(below).unwrap_or(d - 1)
}

/// The exponent of `K` in the error: the slope of `log2 l2` against `m` by least squares; nothing
/// for fewer than two resolutions or an error of zero.
///
/// # Formula
#[doc = loopfit_tex::tex!(r"\frac{\sum_m (m - \bar m) \log_2 \epsilon_m}{\sum_m (m - \bar m)^2}")]
///
/// # Reference
/// Theorem D.1 promises `-s` for the worst target of the class.
pub fn slope(errors: &[L2Error]) -> Option<f64> {
    let m: Vec<f64> = errors.iter().map(|error| error.m as f64).collect();
    let logarithms: Vec<f64> = errors.iter().map(|error| libm::log2(error.l2)).collect();
    let centre = mean(&m);
    let (mut product, mut square) = (0.0, 0.0);
    for (m, logarithm) in m.iter().zip(&logarithms) {
        product += (m - centre) * logarithm;
        square += (m - centre) * (m - centre);
    }
    let slope = product / square;
    slope.is_finite().then_some(slope)
}

#[cfg(test)]
mod tests;
