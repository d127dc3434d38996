//! Eight 64-bit lanes, one row of a table in each.
//!
//! Every operation is elementwise and multiply-adds are fused, so that the compiler's vectors of any
//! width give the same bits. Code that uses them runs inside a `Kernel`, and is `#[inline(always)]`.
// Plain indices: several arrays are walked together, and the loops must stay simple enough for vectors.
#![allow(clippy::needless_range_loop)]

use loopfit_model::Activation;
use std::ops::{Add, AddAssign, Mul, Sub};

/// Lanes of an [`Octet`].
pub(crate) const OCTET: usize = 8;

/// `1.5 * 2^52`: adding it rounds to an integer, which is then in the low bits.
const MAGIC: f64 = 6_755_399_441_055_744.0;

/// Taylor coefficients of `sin(r) / r` in `r^2`, the highest first.
const SIN: [f64; 11] = alternating(21);
/// Taylor coefficients of `cos r` in `r^2`, the highest first.
const COS: [f64; 12] = alternating(22);

/// `(-1)^k / j!` for `j = degree, degree - 2, ...`.
const fn alternating<const N: usize>(degree: usize) -> [f64; N] {
    let mut coefficients = [0.0; N];
    let mut i = 0;
    while i < N {
        let mut factorial = 1.0;
        let mut j = 2;
        while j <= degree - 2 * i {
            factorial *= j as f64;
            j += 1;
        }
        let sign = if (N - 1 - i).is_multiple_of(2) {
            1.0
        } else {
            -1.0
        };
        coefficients[i] = sign / factorial;
        i += 1;
    }
    coefficients
}

/// Eight numbers, aligned to a cache line.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C, align(64))]
pub(crate) struct Octet(pub(crate) [f64; OCTET]);

impl Octet {
    pub(crate) const ZERO: Self = Self([0.0; OCTET]);

    #[inline(always)]
    pub(crate) fn splat(x: f64) -> Self {
        Self([x; OCTET])
    }

    #[inline(always)]
    fn map2(self, other: Self, f: impl Fn(f64, f64) -> f64) -> Self {
        let mut to = self;
        for i in 0..OCTET {
            to.0[i] = f(self.0[i], other.0[i]);
        }
        to
    }

    /// `self * b + c`, rounded once.
    #[inline(always)]
    pub(crate) fn fma(self, b: Self, c: Self) -> Self {
        let mut to = c;
        for i in 0..OCTET {
            to.0[i] = self.0[i].mul_add(b.0[i], c.0[i]);
        }
        to
    }

    /// Sum over lanes: `i` with `i + 4`, then `+ 2`, `+ 1`.
    #[inline(always)]
    pub(crate) fn sum(self) -> f64 {
        let v = self.0;
        let w = [v[0] + v[4], v[1] + v[5], v[2] + v[6], v[3] + v[7]];
        (w[0] + w[2]) + (w[1] + w[3])
    }

    /// `e^x`, with arguments held to `[-700, 700]`.
    ///
    /// # Formula
    /// `2^n P(r)`, `n = round(x / ln 2)`, `r = x - n ln 2` in two parts, `P` the Taylor polynomial of degree 13,
    /// whose error on `|r| <= ln 2 / 2` is below `4e-18`.
    #[inline(always)]
    pub(crate) fn exp(self) -> Self {
        const LN2_HIGH: f64 = 6.931_471_803_691_238e-1;
        const LN2_LOW: f64 = 1.908_214_929_270_587_7e-10;
        const P: [f64; 12] = [
            1.0 / 6_227_020_800.0,
            1.0 / 479_001_600.0,
            1.0 / 39_916_800.0,
            1.0 / 3_628_800.0,
            1.0 / 362_880.0,
            1.0 / 40_320.0,
            1.0 / 5_040.0,
            1.0 / 720.0,
            1.0 / 120.0,
            1.0 / 24.0,
            1.0 / 6.0,
            0.5,
        ];
        let mut to = self;
        for v in &mut to.0 {
            let x = if *v > 700.0 { 700.0 } else { *v };
            let x = if x < -700.0 { -700.0 } else { x };
            let t = x.mul_add(std::f64::consts::LOG2_E, MAGIC);
            let n = t - MAGIC;
            let r = n.mul_add(-LN2_LOW, n.mul_add(-LN2_HIGH, x));
            let mut y = P[0];
            for c in &P[1..] {
                y = y.mul_add(r, *c);
            }
            let y = y.mul_add(r * r, r) + 1.0;
            *v = f64::from_bits(y.to_bits().wrapping_add(t.to_bits() << 52));
        }
        to
    }

    /// `log x` of numbers from 1 to the largest; of what is not a number, that.
    ///
    /// # Formula
    /// `x = 2^k m` with `m` between the roots of 1/2 and 2; `log m = 2 s (1 + s^2 / 3 + s^4 / 5 + ...)` with
    /// `s = (m - 1) / (m + 1)`, up to degree 21, whose error on `|s| <= 0.172` is below `1e-18`.
    #[inline(always)]
    pub(crate) fn log(self) -> Self {
        const LN2_HIGH: f64 = 6.931_471_803_691_238e-1;
        const LN2_LOW: f64 = 1.908_214_929_270_587_7e-10;
        /// The bits of the root of 1/2, of the exponent, and of `2^52`, whose last bits are an integer.
        const ROOT_HALF: u64 = 0x3fe6_a09e_667f_3bcd;
        const EXPONENT: u64 = 0xfff0_0000_0000_0000;
        const TWO_52: u64 = 0x4330_0000_0000_0000;
        let mut to = self;
        for v in &mut to.0 {
            let x = *v;
            let above = x.to_bits().wrapping_sub(ROOT_HALF);
            let k = f64::from_bits((above >> 52) | TWO_52) - f64::from_bits(TWO_52);
            let f = f64::from_bits(x.to_bits().wrapping_sub(above & EXPONENT)) - 1.0;
            let s = f / (2.0 + f);
            let z = s * s;
            let mut y: f64 = 2.0 / 21.0;
            for degree in [19.0, 17.0, 15.0, 13.0, 11.0, 9.0, 7.0, 5.0, 3.0] {
                y = y.mul_add(z, 2.0 / degree);
            }
            // `2 s = f - s f`, of which the first part is exact.
            let rest = s.mul_add(z * y, k.mul_add(LN2_LOW, -s * f));
            let log = k.mul_add(LN2_HIGH, f + rest);
            *v = if x.is_nan() { x } else { log };
        }
        to
    }

    /// `log(1 + x)` of numbers from 0 to 1.
    ///
    /// # Formula
    /// With `u` the sum as it is rounded: `log u + {x - (u - 1)} / u`.
    #[inline(always)]
    pub(crate) fn log_1p(self) -> Self {
        let u = self + Self::splat(1.0);
        let lost = self - (u - Self::splat(1.0));
        u.log() + lost.map2(u, |a, b| a / b)
    }

    /// Sine and cosine.
    ///
    /// # Formula
    /// `n = round(x / pi)`, `r = x - n pi` in two parts, then `(-1)^n` times the Taylor polynomials of
    /// `sin r` (degree 21) and `cos r` (degree 22) on `|r| <= pi/2`, whose errors are below `1e-17`.
    #[inline(always)]
    pub(crate) fn sin_cos(self) -> (Self, Self) {
        const PI: [f64; 2] = [std::f64::consts::PI, 1.224_646_799_147_353_2e-16];
        let x = self;
        let t = x.fma(Self::splat(std::f64::consts::FRAC_1_PI), Self::splat(MAGIC));
        let n = t - Self::splat(MAGIC);
        let mut r = x;
        for part in PI {
            r = n.fma(Self::splat(-part), r);
        }
        let r2 = r * r;
        let (mut s, mut c) = (Self::splat(SIN[0]), Self::splat(COS[0]));
        for i in 1..SIN.len() {
            s = s.fma(r2, Self::splat(SIN[i]));
        }
        for i in 1..COS.len() {
            c = c.fma(r2, Self::splat(COS[i]));
        }
        s = s * r;
        for i in 0..OCTET {
            let sign = (t.0[i].to_bits() & 1) << 63;
            s.0[i] = f64::from_bits(s.0[i].to_bits() ^ sign);
            c.0[i] = f64::from_bits(c.0[i].to_bits() ^ sign);
        }
        (s, c)
    }

    /// The value of an activation and its derivative.
    #[inline(always)]
    pub(crate) fn activate(self, activation: Activation) -> (Self, Self) {
        let one = Self::splat(1.0);
        match activation {
            Activation::Relu => {
                let (mut value, mut derivative) = (self, self);
                for i in 0..OCTET {
                    let positive = self.0[i] > 0.0;
                    value.0[i] = if positive { self.0[i] } else { 0.0 };
                    derivative.0[i] = if positive { 1.0 } else { 0.0 };
                }
                (value, derivative)
            }
            Activation::Tanh => {
                let e = (self + self).exp() + one;
                let value = one - Self::splat(2.0).map2(e, |a, b| a / b);
                (value, one - value * value)
            }
            Activation::Silu => {
                let s = one.map2((Self::ZERO - self).exp() + one, |a, b| a / b);
                (self * s, s * self.fma(one - s, one))
            }
            Activation::Sine => self.sin_cos(),
        }
    }
}

impl Add for Octet {
    type Output = Self;
    #[inline(always)]
    fn add(self, other: Self) -> Self {
        self.map2(other, |a, b| a + b)
    }
}

impl AddAssign for Octet {
    #[inline(always)]
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sub for Octet {
    type Output = Self;
    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        self.map2(other, |a, b| a - b)
    }
}

impl Mul for Octet {
    type Output = Self;
    #[inline(always)]
    fn mul(self, other: Self) -> Self {
        self.map2(other, |a, b| a * b)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use loopfit_numerics::libm;

    fn each(x: f64) -> [f64; 4] {
        let o = Octet::splat(x);
        let (s, c) = o.sin_cos();
        [
            o.exp().0[3],
            s.0[0],
            c.0[7],
            o.activate(Activation::Tanh).0.0[2],
        ]
    }

    #[test]
    fn functions_agree_with_libm() {
        for i in -4000..4000 {
            let x = f64::from(i) * 0.017;
            let [e, s, c, t] = each(x);
            assert!((e / libm::exp(x) - 1.0).abs() < 4e-16, "exp {x}");
            assert!((s - libm::sin(x)).abs() < 5e-16, "sin {x}: {s}");
            assert!((c - libm::cos(x)).abs() < 5e-16, "cos {x}");
            assert!((t - libm::tanh(x)).abs() < 4e-16, "tanh {x}");
        }
        for i in 0..4000 {
            let x = libm::exp(f64::from(i) * 0.17 - 1e-3).max(1.0);
            let log = Octet::splat(x).log().0[5];
            assert!((log - libm::log(x)).abs() <= 4e-16 * log, "log {x}: {log}");
            let small = 1.0 / x;
            let (log, exact) = (Octet::splat(small).log_1p().0[6], libm::log1p(small));
            assert!((log - exact).abs() <= 4e-16 * exact, "log1p {small}: {log}");
        }
        assert_eq!(Octet::splat(1.0).log().0[0], 0.0);
        assert_eq!(Octet::ZERO.log_1p().0[0], 0.0);
        assert!(Octet::splat(f64::NAN).log().0[0].is_nan());
        assert_eq!(
            Octet::splat(-1e9).exp().0[0],
            Octet::splat(-700.0).exp().0[0]
        );
        assert!(Octet::splat(f64::NAN).exp().0[0].is_nan());
    }

    #[test]
    fn activations_agree_with_the_model() {
        for a in Activation::ALL {
            for x in [-30.0, -2.0, -0.3, 0.0, 0.4, 1.7, 25.0] {
                let (value, derivative) = Octet::splat(x).activate(a);
                assert!((value.0[1] - a.value(x)).abs() < 1e-14, "{a} {x}");
                assert!((derivative.0[1] - a.derivative(x)).abs() < 1e-14, "{a} {x}");
            }
        }
    }
}
