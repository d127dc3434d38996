//! Finite fields of characteristic two.

/// The field of `2^w` elements, by logarithms to the base `x`.
#[derive(Clone, Debug)]
pub(super) struct Field {
    /// `x^i`, twice around.
    powers: Vec<u32>,
    /// The exponent of each element; that of zero is not used.
    logarithms: Vec<u32>,
}

impl Field {
    /// The residues modulo a polynomial of degree `w <= 15`, written in bits. All nonzero residues are
    /// powers of `x` exactly if the polynomial is primitive, and then the residues are a field.
    pub(super) fn new(polynomial: u32) -> Option<Self> {
        let size = 1usize << polynomial.ilog2();
        let mut powers = Vec::with_capacity(2 * size);
        let mut logarithms = vec![None; size];
        let mut element = 1u32;
        for i in 0..size - 1 {
            if logarithms[element as usize].replace(i as u32).is_some() {
                return None;
            }
            powers.push(element);
            element <<= 1;
            if element as usize >= size {
                element ^= polynomial;
            }
        }
        powers.extend_from_within(..);
        let logarithms = logarithms.into_iter().map(Option::unwrap_or_default);
        Some(Self {
            powers,
            logarithms: logarithms.collect(),
        })
    }

    /// The product of two elements; their sum is `^`.
    pub(super) fn multiply(&self, a: u32, b: u32) -> u32 {
        if a == 0 || b == 0 {
            return 0;
        }
        let [a, b] = [a, b].map(|e| self.logarithms[e as usize] as usize);
        self.powers[a + b]
    }

    /// The value of a polynomial, its constant coefficient first.
    pub(super) fn evaluate(&self, coefficients: &[u32], x: u32) -> u32 {
        let step = |value, c: &u32| self.multiply(value, x) ^ c;
        coefficients.iter().rev().fold(0, step)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Products by shifting and reducing, without logarithms.
    fn product(a: u32, b: u32, polynomial: u32) -> u32 {
        let degree = polynomial.ilog2();
        let mut sum = (0..degree).fold(0u32, |sum, i| {
            sum ^ if b >> i & 1 == 1 { a << i } else { 0 }
        });
        for i in (degree..2 * degree).rev() {
            if sum >> i & 1 == 1 {
                sum ^= polynomial << (i - degree);
            }
        }
        sum
    }

    #[test]
    fn products_are_those_of_residues() {
        let small = Field::new(0x13).unwrap();
        let large = Field::new(0x1053).unwrap();
        for a in 0..16 {
            for b in 0..16 {
                assert_eq!(small.multiply(a, b), product(a, b, 0x13));
            }
        }
        for a in (0..4096).step_by(7) {
            for b in (0..4096).step_by(11) {
                assert_eq!(large.multiply(a, b), product(a, b, 0x1053));
            }
        }
    }

    /// `x^4 + x^3 + x^2 + x + 1` divides `x^5 - 1`, and `x^4 + 1` is a power of `x + 1`.
    #[test]
    fn polynomials_that_are_not_primitive_are_refused() {
        assert!(Field::new(0b11111).is_none());
        assert!(Field::new(0b10001).is_none());
    }

    #[test]
    fn polynomials_are_evaluated() {
        // 3 + 2 x + x^2 at x = 4 over GF(16): 3 + 8 + 16 mod (x^4 + x + 1) = 3 ^ 8 ^ 3.
        let field = Field::new(0x13).unwrap();
        assert_eq!(field.evaluate(&[3, 2, 1], 4), 8);
    }
}
