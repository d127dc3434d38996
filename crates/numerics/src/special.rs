//! Special functions that stay finite where the textbook form overflows.

/// `log(sum_i exp(v_i))`; minus infinity for no values.
///
/// # Formula
/// `m + log(sum_i exp(v_i - m))` with `m = max_i v_i`.
pub fn log_sum_exp(values: &[f64]) -> f64 {
    let m = values
        .iter()
        .fold(f64::NEG_INFINITY, |a, &v| if v > a { v } else { a });
    if m.is_infinite() {
        return if values.iter().any(|v| v.is_nan()) {
            f64::NAN
        } else {
            m
        };
    }
    let terms: Vec<f64> = values.iter().map(|v| libm::exp(v - m)).collect();
    m + libm::log(crate::sum::sum(&terms))
}

/// `log(1 + e^x)`, the paper's `b(t)` (Lemma C.1).
pub fn softplus(x: f64) -> f64 {
    if x > 0.0 {
        x + libm::log1p(libm::exp(-x))
    } else {
        libm::log1p(libm::exp(x))
    }
}

/// `1 / (1 + e^-x)`.
pub fn sigmoid(x: f64) -> f64 {
    if x >= 0.0 {
        1.0 / (1.0 + libm::exp(-x))
    } else {
        let e = libm::exp(x);
        e / (1.0 + e)
    }
}

/// Standard normal quantile: the `x` with `P(Z <= x) = p`, for `0 < p < 1`.
///
/// # Reference
/// Wichura, "Algorithm AS 241: the percentage points of the normal distribution"
/// (PPND16), 1988; relative error about 1e-16.
pub fn normal_quantile(p: f64) -> f64 {
    let q = p - 0.5;
    if q.abs() <= 0.425 {
        let r = 0.180625 - q * q;
        return q * horner(&CENTRAL.0, r) / horner(&CENTRAL.1, r);
    }
    let r = libm::sqrt(-libm::log(if q < 0.0 { p } else { 1.0 - p }));
    let x = if r <= 5.0 {
        horner(&MIDDLE.0, r - 1.6) / horner(&MIDDLE.1, r - 1.6)
    } else {
        horner(&TAIL.0, r - 5.0) / horner(&TAIL.1, r - 5.0)
    };
    if q < 0.0 { -x } else { x }
}

/// `sum_i c_i x^i`.
fn horner(c: &[f64], x: f64) -> f64 {
    c.iter().rev().fold(0.0, |a, ci| a * x + ci)
}

type Rational = ([f64; 8], [f64; 8]);

const CENTRAL: Rational = (
    [
        3.387_132_872_796_366_5,
        1.331_416_678_917_843_8e2,
        1.971_590_950_306_551_3e3,
        1.373_169_376_550_946e4,
        4.592_195_393_154_987e4,
        6.726_577_092_700_87e4,
        3.343_057_558_358_813e4,
        2.509_080_928_730_122_7e3,
    ],
    [
        1.0,
        4.231_333_070_160_091e1,
        6.871_870_074_920_579e2,
        5.394_196_021_424_751e3,
        2.121_379_430_158_659_7e4,
        3.930_789_580_009_271e4,
        2.872_908_573_572_194_3e4,
        5.226_495_278_852_854e3,
    ],
);

const MIDDLE: Rational = (
    [
        1.423_437_110_749_683_5,
        4.630_337_846_156_546,
        5.769_497_221_460_691,
        3.647_848_324_763_204_5,
        1.270_458_252_452_368_4,
        2.417_807_251_774_506e-1,
        2.272_384_498_926_918_4e-2,
        7.745_450_142_783_414e-4,
    ],
    [
        1.0,
        2.053_191_626_637_759,
        1.676_384_830_183_803_8,
        6.897_673_349_851e-1,
        1.481_039_764_274_800_8e-1,
        1.519_866_656_361_645_7e-2,
        5.475_938_084_995_345e-4,
        1.050_750_071_644_416_9e-9,
    ],
);

const TAIL: Rational = (
    [
        6.657_904_643_501_103,
        5.463_784_911_164_114,
        1.784_826_539_917_291_3,
        2.965_605_718_285_048_7e-1,
        2.653_218_952_657_612_4e-2,
        1.242_660_947_388_078_4e-3,
        2.711_555_568_743_487_6e-5,
        2.010_334_399_292_288_1e-7,
    ],
    [
        1.0,
        5.998_322_065_558_88e-1,
        1.369_298_809_227_358e-1,
        1.487_536_129_085_061_5e-2,
        7.868_691_311_456_133e-4,
        1.846_318_317_510_054_8e-5,
        1.421_511_758_316_446e-7,
        2.044_263_103_389_939_8e-15,
    ],
);

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn finite_for_huge_arguments() {
        assert_eq!(softplus(1e300), 1e300);
        assert_eq!(softplus(-1e300), 0.0);
        assert_eq!(sigmoid(1e300), 1.0);
        assert_eq!(sigmoid(-1e300), 0.0);
        assert_eq!(log_sum_exp(&[1e300, -1e300]), 1e300);
        assert_eq!(log_sum_exp(&[]), f64::NEG_INFINITY);
        assert!(log_sum_exp(&[f64::NAN, f64::NEG_INFINITY]).is_nan());
    }

    proptest! {
        /// Against the error function: P(Z <= x) = erfc(-x / sqrt 2) / 2.
        #[test]
        fn quantile_inverts_the_distribution_function(x in -8.0f64..8.0) {
            let p = 0.5 * libm::erfc(-x / std::f64::consts::SQRT_2);
            prop_assume!(p < 1.0);
            // Near p = 1 the rounding of p itself limits what can be recovered.
            let density = (-0.5 * x * x).exp() / (2.0 * std::f64::consts::PI).sqrt();
            let tolerance = 1e-13 * (1.0 + x.abs()) + 4.0 * f64::EPSILON * p / density;
            prop_assert!((normal_quantile(p) - x).abs() < tolerance);
        }

        #[test]
        fn softplus_derivative_is_sigmoid(x in -30.0f64..30.0) {
            let h = 1e-5;
            let slope = (softplus(x + h) - softplus(x - h)) / (2.0 * h);
            prop_assert!((slope - sigmoid(x)).abs() < 1e-9);
        }

        #[test]
        fn log_sum_exp_shifts(v in proptest::collection::vec(-5.0f64..5.0, 1..20), c in -600.0f64..600.0) {
            let shifted: Vec<f64> = v.iter().map(|x| x + c).collect();
            prop_assert!((log_sum_exp(&shifted) - log_sum_exp(&v) - c).abs() < 1e-11);
        }
    }
}
