//! Linear and logarithmic axes with clean ticks.

use loopfit_numerics::libm;

use crate::number;

/// How values are spread along an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// Equal differences are equal lengths.
    Linear,
    /// Equal ratios are equal lengths.
    Log,
}

/// An axis that covers some values with a little air at both ends.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    scale: Scale,
    /// Ends of the axis: values for `Linear`, decimal logarithms for `Log`.
    low: f64,
    high: f64,
}

/// A mark on an axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Tick {
    /// Where, from 0 (low end) to 1 (high end).
    pub position: f64,
    /// What is written there; nothing at a minor tick.
    pub label: Option<String>,
}

/// Air at each end, as a fraction of the covered length.
const AIR: f64 = 0.06;

/// At most about so many labelled ticks.
const TICKS: f64 = 7.0;

/// Beyond this a difference of two values may overflow.
const LARGEST: f64 = 1e300;

/// Below this a difference of two values has too few digits left to place ticks;
/// such values count as zero.
const SMALLEST: f64 = 1e-290;

impl Axis {
    /// A logarithmic axis where all finite values are positive, else a linear one.
    pub fn covering(values: &[f64]) -> Self {
        let mut finite = values.iter().copied().filter(|v| v.is_finite()).peekable();
        let positive = finite.peek().is_some() && finite.all(|v| v >= SMALLEST);
        Self::new(if positive { Scale::Log } else { Scale::Linear }, values)
    }

    /// An axis over the finite values; on a logarithmic one over the positive ones.
    /// From 0 to 1 (1 to 10) when there are none.
    pub fn new(scale: Scale, values: &[f64]) -> Self {
        let places: Vec<f64> = values
            .iter()
            .map(|&v| place(scale, v))
            .filter(|p| p.is_finite())
            .collect();
        let (low, high) = if places.is_empty() {
            (0.0, 1.0)
        } else {
            let low = places.iter().copied().fold(f64::INFINITY, f64::min);
            let high = places.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let air = match (high > low, scale) {
                (true, _) => AIR * (high - low),
                (false, Scale::Log) => 0.1,
                (false, Scale::Linear) if low == 0.0 => 1.0,
                (false, Scale::Linear) => 0.1 * low.abs(),
            };
            (low - air, high + air)
        };
        Self { scale, low, high }
    }

    /// How values are spread.
    pub fn scale(&self) -> Scale {
        self.scale
    }

    /// Where `value`, which must be a number, lies: from 0 (low end) to 1 (high end);
    /// beyond the ends it is moved to the nearer one.
    pub fn position(&self, value: f64) -> f64 {
        self.at(place(self.scale, value))
    }

    /// The ticks from low to high: some labelled, on a logarithmic axis also minor
    /// ones between.
    pub fn ticks(&self) -> Vec<Tick> {
        let decades = self.high - self.low;
        match self.scale {
            Scale::Linear => self.even_ticks(self.low, self.high),
            Scale::Log if decades >= 2.0 => self.power_ticks(&[1]),
            Scale::Log if decades >= 0.7 => self.power_ticks(&[1, 2, 5]),
            // Too short for powers: even steps, placed where the logarithm puts them.
            Scale::Log => self.even_ticks(libm::exp10(self.low), libm::exp10(self.high)),
        }
    }

    /// Whether `value` has a place: a number, and positive on a logarithmic axis.
    pub fn shows(&self, value: f64) -> bool {
        place(self.scale, value).is_finite()
    }

    /// Ticks at given values, labelled by them; the axis must show all of them.
    pub fn ticks_at(&self, values: &[f64]) -> Vec<Tick> {
        values
            .iter()
            .map(|&value| Tick {
                position: self.position(value),
                label: Some(number::shortest(value)),
            })
            .collect()
    }

    fn at(&self, place: f64) -> f64 {
        ((place - self.low) / (self.high - self.low)).clamp(0.0, 1.0)
    }

    /// Multiples of 1, 2 or 5 times a power of ten between two values.
    fn even_ticks(&self, low: f64, high: f64) -> Vec<Tick> {
        let rough = (high - low) / TICKS;
        let exponent = libm::floor(libm::log10(rough)) as i32;
        let steps = [
            (1, exponent),
            (2, exponent),
            (5, exponent),
            (1, exponent + 1),
        ];
        let (factor, exponent) = steps
            .into_iter()
            .find(|&(factor, exponent)| decimal(factor, exponent) >= rough)
            .unwrap_or((1, exponent + 1));
        let step = decimal(factor, exponent);
        let multiples = libm::ceil(low / step) as i64..=libm::floor(high / step) as i64;
        // Between values that differ in their last bits only, rounding can make
        // the multiples run away.
        let multiples: Vec<i64> = multiples.take(2 * TICKS as usize).collect();
        let largest = multiples
            .iter()
            .map(|n| decimal(n * factor, exponent).abs());
        let largest = largest.fold(0.0, f64::max);
        let power = if largest == 0.0 {
            0
        } else {
            number::decimal_exponent(largest, 4)
        };
        let power = if (-2..=4).contains(&power) { 0 } else { power };
        let decimals = (power - exponent).max(0) as usize;
        let label = |n: i64| match (n, power) {
            (0, _) => "0".into(),
            (_, 0) => number::fixed(decimal(n * factor, exponent), decimals),
            _ => {
                let mantissa = number::fixed(decimal(n * factor, exponent - power), decimals);
                format!("{mantissa} × {}", number::power_of_ten(power))
            }
        };
        multiples
            .into_iter()
            .map(|n| Tick {
                position: self.at(coordinate(self.scale, decimal(n * factor, exponent))),
                label: Some(label(n)),
            })
            .collect()
    }

    /// Powers of ten times `labelled` digits; the other digits are minor ticks
    /// unless the axis is so long that powers are left out.
    fn power_ticks(&self, labelled: &[i64]) -> Vec<Tick> {
        let first = libm::floor(self.low) as i32;
        let last = libm::ceil(self.high) as i32;
        let stride = libm::ceil((self.high - self.low) / TICKS) as i32;
        let plain = first >= -3 && last <= 5;
        let digits = if stride > 1 { 1..=1 } else { 1..=9 };
        let mut ticks = Vec::new();
        for power in (first..=last).filter(|power| power.rem_euclid(stride) == 0) {
            for digit in digits.clone() {
                let place = f64::from(power) + libm::log10(digit as f64);
                if place < self.low || place > self.high {
                    continue;
                }
                let label = labelled.contains(&digit).then(|| match (plain, digit) {
                    (true, _) => number::fixed(decimal(digit, power), (-power).max(0) as usize),
                    (false, 1) => number::power_of_ten(power),
                    (false, _) => format!("{digit} × {}", number::power_of_ten(power)),
                });
                ticks.push(Tick {
                    position: self.at(place),
                    label,
                });
            }
        }
        ticks
    }
}

/// The coordinate of a value along an axis; not finite where there is none.
fn coordinate(scale: Scale, value: f64) -> f64 {
    match scale {
        Scale::Linear => value,
        Scale::Log => libm::log10(value.max(0.0)),
    }
}

/// The coordinate of a value of any size that comes from outside.
fn place(scale: Scale, value: f64) -> f64 {
    coordinate(
        scale,
        match value.abs() {
            magnitude if magnitude < SMALLEST => 0.0,
            magnitude if magnitude.is_finite() => value.clamp(-LARGEST, LARGEST),
            _ => value,
        },
    )
}

/// `mantissa * 10^exponent`, correctly rounded.
fn decimal(mantissa: i64, exponent: i32) -> f64 {
    format!("{mantissa}e{exponent}").parse().unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn labels(axis: &Axis) -> Vec<String> {
        axis.ticks()
            .into_iter()
            .filter_map(|tick| tick.label)
            .collect()
    }

    #[test]
    fn linear_labels() {
        let axis = |values: &[f64]| labels(&Axis::new(Scale::Linear, values));
        assert_eq!(axis(&[-2.0, 3.0]), ["−2", "−1", "0", "1", "2", "3"]);
        assert_eq!(
            axis(&[0.0, 1.5e-5]),
            ["0", "0.5 × 10⁻⁵", "1.0 × 10⁻⁵", "1.5 × 10⁻⁵"]
        );
        assert_eq!(
            axis(&[1e6, 3e6]),
            [
                "1.0 × 10⁶",
                "1.5 × 10⁶",
                "2.0 × 10⁶",
                "2.5 × 10⁶",
                "3.0 × 10⁶"
            ]
        );
        assert_eq!(axis(&[0.0, 0.0]), ["−1.0", "−0.5", "0", "0.5", "1.0"]);
        assert_eq!(axis(&[]), ["0", "0.2", "0.4", "0.6", "0.8", "1.0"]);
    }

    #[test]
    fn log_labels() {
        let axis = |values: &[f64]| labels(&Axis::new(Scale::Log, values));
        assert_eq!(axis(&[1e-6, 1e-3]), ["10⁻⁶", "10⁻⁵", "10⁻⁴", "10⁻³"]);
        assert_eq!(axis(&[0.1, 10.0]), ["0.1", "1", "10"]);
        assert_eq!(
            axis(&[1e-4, 1e-3]),
            ["10⁻⁴", "2 × 10⁻⁴", "5 × 10⁻⁴", "10⁻³"]
        );
        assert_eq!(
            axis(&[2.2e-4, 2.9e-4]),
            ["2.2 × 10⁻⁴", "2.4 × 10⁻⁴", "2.6 × 10⁻⁴", "2.8 × 10⁻⁴"]
        );
        assert_eq!(axis(&[0.51, 0.92]), ["0.5", "0.6", "0.7", "0.8", "0.9"]);
    }

    #[test]
    fn the_scale_follows_the_values() {
        assert_eq!(Axis::covering(&[1e-3, f64::NAN, 2.0]).scale(), Scale::Log);
        assert_eq!(Axis::covering(&[0.0, 2.0]).scale(), Scale::Linear);
        assert_eq!(Axis::covering(&[f64::NAN]).scale(), Scale::Linear);
        assert_eq!(Axis::covering(&[]).scale(), Scale::Linear);
    }

    #[test]
    fn given_ticks() {
        let sizes: Vec<f64> = (6..=10).map(|power| f64::from(1 << power)).collect();
        let axis = Axis::new(Scale::Log, &sizes);
        let ticks = axis.ticks_at(&sizes);
        let labels: Vec<&str> = ticks.iter().filter_map(|t| t.label.as_deref()).collect();
        assert_eq!(labels, ["64", "128", "256", "512", "1024"]);
        let steps: Vec<f64> = ticks
            .windows(2)
            .map(|w| w[1].position - w[0].position)
            .collect();
        assert!(steps.iter().all(|step| (step - steps[0]).abs() < 1e-12));
    }

    #[test]
    fn what_an_axis_shows() {
        let axis = |scale| Axis::new(scale, &[1.0, 2.0]);
        for (value, linear, log) in [
            (1.0, true, true),
            (0.0, true, false),
            (-1.0, true, false),
            (f64::NAN, false, false),
            (f64::INFINITY, false, false),
        ] {
            assert_eq!(axis(Scale::Linear).shows(value), linear, "{value}");
            assert_eq!(axis(Scale::Log).shows(value), log, "{value}");
        }
    }

    #[test]
    fn positions() {
        let axis = Axis::new(Scale::Log, &[1e-4, 1e-2]);
        assert!((axis.position(1e-3) - 0.5).abs() < 1e-12);
        assert_eq!(
            (axis.position(0.0), axis.position(-1.0), axis.position(1.0)),
            (0.0, 0.0, 1.0)
        );
    }

    proptest! {
        /// Whatever the values: a few ticks, in order, inside, no label twice.
        #[test]
        fn ticks_are_few_ordered_and_distinct(a in any::<f64>(), b in any::<f64>(), near in -12i32..0) {
            for values in [[a, b], [a, a * (1.0 + decimal(1, near))]] {
                let axis = Axis::covering(&values);
                let ticks = axis.ticks();
                prop_assert!(ticks.iter().all(|t| (0.0..=1.0).contains(&t.position)));
                prop_assert!(ticks.is_sorted_by(|s, t| s.position < t.position), "{ticks:?}");
                let mut labels = labels(&axis);
                prop_assert!((1..=10).contains(&labels.len()), "{labels:?}");
                labels.sort();
                prop_assert!(labels.windows(2).all(|w| w[0] != w[1]), "{labels:?}");
            }
        }
    }
}
