//! Points of the cube for the studies: in a given cell, off the strips, on the strips.

use crate::rational::Rational;
use crate::resolution::Resolution;
use loopfit_numerics::stream::Stream;

/// More random bits than this are not drawn for a coordinate.
pub const MOST_FRACTION_BITS: usize = 52;

/// The half-width of a strip as a fraction of a cell's side.
///
/// # Formula
/// `2^-G / h = 2^(m - G)` (Section D.1.5).
fn strip_fraction(resolution: &Resolution) -> Rational {
    Rational::power_of_two(resolution.m as i64 - resolution.g() as i64)
}

/// A random point of a cell that is off the strips: in each axis `a_j + h t / 2^bits` with a whole
/// `t`, so that the coordinate has `m + bits` bits at most.
///
/// `bits` is taken as at least one and at most [`MOST_FRACTION_BITS`].
pub fn in_cell(
    resolution: &Resolution,
    cell: &[usize],
    bits: usize,
    stream: Stream,
) -> Vec<Rational> {
    let bits = bits.clamp(1, MOST_FRACTION_BITS);
    let strip = resolution.g() - resolution.m;
    let least = 1u64 << bits.saturating_sub(strip);
    let choices = (1u64 << bits) - 2 * least + 1;
    let coordinate = |(i, &corner): (usize, &usize)| {
        let t = least + stream.below(i as u64, choices);
        let inside = Rational::from(t as i64).scaled(-(bits as i64));
        (Rational::from(corner as i64) + inside) * resolution.side()
    };
    cell.iter().enumerate().map(coordinate).collect()
}

/// The image of a point of the cube under the map that squeezes each cell, axis by axis, to its
/// part off the strips: a uniform point becomes uniform off the strips.
pub fn off_strips(resolution: &Resolution, point: &[Rational]) -> Vec<Rational> {
    point.iter().map(|x| squeezed(resolution, x)).collect()
}

/// The image of a point of the cube on the strips: off them in the axes before `first`, on one in
/// the axis `first`, anywhere behind.
///
/// With `first` drawn with the weights `(1 - v)^first v`, where `v` is the [`axis_measure`], a
/// uniform point becomes uniform on the strips.
pub fn on_strips(resolution: &Resolution, point: &[Rational], first: usize) -> Vec<Rational> {
    let coordinate = |(axis, x): (usize, &Rational)| match axis.cmp(&first) {
        std::cmp::Ordering::Less => squeezed(resolution, x),
        std::cmp::Ordering::Equal => pressed(resolution, x),
        std::cmp::Ordering::Greater => x.clone(),
    };
    point.iter().enumerate().map(coordinate).collect()
}

/// The measure of the strips along one axis.
///
/// # Formula
/// `v = 2K 2^-G`: a whole strip around each inner hyperplane and half of one at either end.
///
/// # Reference
/// Section D.1.5, where `2(K + 1) 2^-G` bounds it.
pub fn axis_measure(resolution: &Resolution) -> f64 {
    strip_fraction(resolution).scaled(1).to_f64()
}

/// The cell of a coordinate, and where in it, as a fraction of its side.
fn place(resolution: &Resolution, x: &Rational) -> (Rational, Rational) {
    let place = x.scaled(resolution.m as i64);
    let cell = Rational::from(place.floor());
    let inside = place - &cell;
    (cell, inside)
}

fn squeezed(resolution: &Resolution, x: &Rational) -> Rational {
    let (cell, inside) = place(resolution, x);
    let strip = strip_fraction(resolution);
    let width = Rational::ONE - strip.scaled(1);
    (cell + strip + inside * width) * resolution.side()
}

fn pressed(resolution: &Resolution, x: &Rational) -> Rational {
    let (cell, inside) = place(resolution, x);
    let whole = strip_fraction(resolution).scaled(1);
    let inside = match inside < Rational::new(1, 2u8) {
        true => inside * &whole,
        false => Rational::ONE - (Rational::ONE - inside) * &whole,
    };
    (cell + inside) * resolution.side()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn resolution(d: usize, s: i64, m: usize) -> Resolution {
        Resolution::new(d, Rational::from(s), Rational::ONE, m).unwrap()
    }

    /// An odd numerator: no coordinate is on a face or in the middle of a cell.
    fn coordinate(odd: u32) -> Rational {
        Rational::from(i64::from(odd) * 2 + 1).scaled(-33)
    }

    proptest! {
        /// Where the maps say they go is what `is_on_strip` says, axis by axis, and the cell of the
        /// point stays the same.
        #[test]
        fn maps_respect_strips(
            d in 1usize..=3, s in 1i64..=3, m in 1usize..=4, first in 0usize..3,
            numerators in prop::array::uniform3(any::<u32>()),
        ) {
            let resolution = resolution(d, s, m);
            let first = first.min(d - 1);
            let point: Vec<_> = numerators[..d].iter().map(|&n| coordinate(n)).collect();
            let off = off_strips(&resolution, &point);
            prop_assert!(!resolution.is_on_strip(&off));
            let on = on_strips(&resolution, &point, first);
            prop_assert_eq!(&on[..first], &off[..first]);
            prop_assert!(resolution.is_on_strip(&on[first..=first]));
            prop_assert_eq!(&on[first + 1..], &point[first + 1..]);
            for (x, image) in point.iter().zip(off.iter().zip(&on)) {
                let cell = |x: &Rational| x.scaled(m as i64).floor();
                prop_assert_eq!(cell(x), cell(image.0));
                prop_assert_eq!(cell(x), cell(image.1));
            }
        }

        #[test]
        fn points_of_cells_are_off_strips(
            s in 1i64..=3, m in 1usize..=4, bits in 1usize..=60, seed: u64,
            cell in prop::array::uniform2(0usize..16),
        ) {
            let resolution = resolution(2, s, m);
            let cell = cell.map(|i| i >> (4 - m));
            let point = in_cell(&resolution, &cell, bits, Stream::new(seed));
            prop_assert!(!resolution.is_on_strip(&point));
            for (x, corner) in point.iter().zip(cell) {
                prop_assert_eq!(x.scaled(m as i64).floor(), corner.into());
                let bits = m + bits.min(MOST_FRACTION_BITS);
                prop_assert_eq!(x, &x.nearest(bits));
            }
        }
    }

    /// d = s = m = 1: K = 2, G = 5, so each of the two cells has 1/32 of a strip at either end.
    #[test]
    fn measure_by_hand() {
        assert_eq!(axis_measure(&resolution(1, 1, 1)), 4.0 / 32.0);
    }
}
