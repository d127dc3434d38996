//! The homogeneous representation of a native state in a token (Section E.1).

use crate::Error;
use crate::affine::Affine;
use crate::block::{Block, Coordinate, Unit};
use crate::rational::Rational;

/// How a native state `z` of dimension `p` lies in a token of dimension `q`.
///
/// # Formula
/// `I_q(z)` repeats `(z, 1, -z, -1)` exactly `L_q = floor(q / (2(p + 1)))` times and ends in
/// zeros; the token is `alpha I_q(z)`.
///
/// # Reference
/// Section E.1 and Lemma E.2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Encoding {
    p: usize,
    q: usize,
}

impl Encoding {
    /// The encoding of `p` native coordinates in `q >= 2(p + 1)`.
    pub fn new(p: usize, q: usize) -> Result<Self, Error> {
        let encoding = Self { p, q };
        let least = encoding.length();
        match q >= least {
            true => Ok(encoding),
            false => Err(Error::StateDimension { q, least }),
        }
    }

    /// The native dimension `p`.
    pub fn p(self) -> usize {
        self.p
    }

    /// The state dimension `q`.
    pub fn q(self) -> usize {
        self.q
    }

    /// The coordinates of one copy.
    ///
    /// # Formula
    /// `q_rep = 2(p + 1)`.
    pub fn length(self) -> usize {
        2 * (self.p + 1)
    }

    /// The number of copies `L_q`.
    pub fn copies(self) -> usize {
        self.q / self.length()
    }

    /// The factor between mean square and native norm.
    ///
    /// # Formula
    #[doc = loopfit_tex::tex!(r"\lambda_q = 2L_q/q, \qquad 1/q_{\rm rep} \le \lambda_q \le 2/q_{\rm rep}")]
    ///
    /// # Reference
    /// Lemma E.2.
    pub fn lambda(self) -> Rational {
        Rational::new(2 * self.copies() as i64, self.q as u64)
    }

    /// Where a native coordinate is read: in the first positive copy.
    pub fn place(self, native: usize) -> usize {
        native
    }

    /// Where the homogeneous reference is read: behind the first positive copy.
    pub fn reference(self) -> usize {
        self.p
    }

    /// Every place of a native coordinate, with its sign.
    pub fn places(self, native: usize) -> impl Iterator<Item = (usize, i64)> {
        let signs = [(0, 1), (self.p + 1, -1)];
        (0..self.copies()).flat_map(move |copy| {
            signs.map(|(offset, sign)| (copy * self.length() + offset + native, sign))
        })
    }

    /// `I_q(z)`.
    pub fn encode(self, native: &[Rational]) -> Vec<Rational> {
        let mut state = vec![Rational::ZERO; self.q];
        let one = Rational::ONE;
        for (index, value) in native.iter().chain([&one]).enumerate() {
            for (place, sign) in self.places(index) {
                state[place] = value * Rational::from(sign);
            }
        }
        state
    }

    /// The block on tokens that does on `alpha I_q(z)` what a native block does on `z`: constants
    /// become multiples of the reference, and every copy gets the increment with its sign.
    ///
    /// # Reference
    /// Proof of Lemma E.2.
    pub fn lift(self, native: &Block) -> Block {
        let mut block = Block::new();
        for place in 0..self.q {
            block.coordinate(place.to_string());
        }
        let reference = Coordinate(self.reference()).value();
        block.extend(native.units().iter().map(|unit| {
            let linear = unit.preactivation.clone() - unit.preactivation.bias().clone();
            let linear: Affine<Coordinate> = linear.map(|c| Coordinate(self.place(c.0)));
            let outputs = unit.outputs.iter().flat_map(|(coordinate, weight)| {
                let places = self.places(coordinate.0);
                places.map(move |(place, sign)| (Coordinate(place), weight * Rational::from(sign)))
            });
            Unit {
                name: unit.name.clone(),
                preactivation: linear + reference.clone() * unit.preactivation.bias(),
                outputs: outputs.collect(),
            }
        }));
        block
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// (z, 1, -z, -1) twice and two zeros, written out.
    #[test]
    fn copies_are_paired() {
        let encoding = Encoding::new(2, 14).unwrap();
        let state = encoding.encode(&[5.into(), 7.into()]);
        let expected = [5, 7, 1, -5, -7, -1, 5, 7, 1, -5, -7, -1, 0, 0];
        assert_eq!(state, expected.map(Rational::from));
        assert_eq!(encoding.lambda(), Rational::new(2, 7u8));
        assert_eq!(
            Encoding::new(2, 5),
            Err(Error::StateDimension { q: 5, least: 6 })
        );
    }
}
