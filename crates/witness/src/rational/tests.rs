use super::*;
use crate::Error;
use proptest::prelude::*;

fn small() -> impl Strategy<Value = (i64, i64)> {
    (-5000i64..5000, 1i64..2000)
}

fn rational((p, q): (i64, i64)) -> Rational {
    Rational::new(p, q as u64)
}

/// Whether `r` is `p/q`, by cross multiplication.
fn is(r: &Rational, p: i128, q: i128) -> bool {
    r.numerator() * IBig::from(q) == IBig::from(r.denominator()) * IBig::from(p)
}

proptest! {
    /// Against fractions of 128-bit integers.
    #[test]
    fn field_operations(a in small(), b in small()) {
        let ((p, q), (r, s)) = (a, b);
        let (x, y) = (rational(a), rational(b));
        let (p, q, r, s) = (i128::from(p), i128::from(q), i128::from(r), i128::from(s));
        prop_assert!(is(&(&x + &y), p * s + r * q, q * s));
        prop_assert!(is(&(&x - &y), p * s - r * q, q * s));
        prop_assert!(is(&(&x * &y), p * r, q * s));
        prop_assert_eq!(x.cmp(&y), (p * s).cmp(&(r * q)));
        prop_assert_eq!(x.floor(), IBig::from(p.div_euclid(q)));
        prop_assert_eq!(x.ceil(), IBig::from(-(-p).div_euclid(q)));
        match x.reciprocal() {
            Some(inverse) => prop_assert!(is(&inverse, q, p)),
            None => prop_assert_eq!(p, 0),
        }
    }

    /// Equal values are equal representations, whatever they were computed from.
    #[test]
    fn representations_are_canonical(a in small(), b in small(), k in -70i64..70) {
        let (x, y) = (rational(a), rational(b));
        prop_assert_eq!(&(&x + &y) - &y, x.clone());
        prop_assert_eq!(x.scaled(k).scaled(-k), x.clone());
        prop_assert_eq!(x.to_string().parse::<Rational>().unwrap(), x);
    }

    /// The hardware rounds a quotient of two exact integers correctly.
    #[test]
    fn floats_are_nearest(p in -(1i64 << 53)..(1 << 53), q in 1i64..(1 << 53)) {
        let x = Rational::new(p, q as u64);
        prop_assert_eq!(x.to_f64(), p as f64 / q as f64);
        let (p, q) = (p >> 30, q >> 30 | 1);
        prop_assert_eq!(Rational::new(p, q as u64).to_f32(), p as f32 / q as f32);
    }

    #[test]
    fn floats_are_themselves(bits: u64) {
        let value = f64::from_bits(bits);
        match Rational::from_f64(value) {
            Some(x) => prop_assert_eq!(x.to_f64(), value),
            None => prop_assert!(!value.is_finite()),
        }
    }

    #[test]
    fn approximations_are_close(a in small(), words in prop::collection::vec(any::<u64>(), 0..12), k in -300i64..300) {
        let long = IBig::from(UBig::from_le_bytes(
            &words.iter().flat_map(|w| w.to_le_bytes()).collect::<Vec<_>>(),
        ));
        let bits = UBig::try_from(long.clone()).unwrap().bit_len() as i64;
        let x = &rational(a) * &Rational::dyadic(long, k - bits);
        let approximate = x.approximate();
        if !approximate.is_nan() {
            let error = (&Rational::from_f64(approximate).unwrap() - &x).abs();
            prop_assert!(error <= x.abs().scaled(-50));
            prop_assert_eq!(approximate == 0.0, x.is_zero());
        } else {
            prop_assert!(k.abs() > 100);
        }
    }
}

/// Decimal expansions and the smallest subnormal, by hand.
#[test]
fn texts() {
    let read = |text: &str| text.parse::<Rational>();
    assert_eq!(read("-0.125").unwrap(), Rational::new(-1, 8u8));
    assert_eq!(read("-.125").unwrap(), Rational::new(-1, 8u8));
    assert_eq!(read("2.").unwrap(), Rational::new(2, 1u8));
    assert_eq!(read(" 6/4 ").unwrap().to_string(), "3/2");
    assert_eq!(read("-4/2").unwrap().to_string(), "-2");
    assert_eq!(read("1e-5").unwrap(), Rational::new(1, 100_000u32));
    assert_eq!(read("-2.5E3").unwrap().to_string(), "-2500");
    assert_eq!(read("0.75e+1").unwrap().to_string(), "15/2");
    for wrong in [
        "", "1/0", "1/-2", "a", ".", ".e1", "1e", "e3", "1e0.5", "1e9999", "1/1e3", "--1", "1/2/3",
        "0x1",
    ] {
        assert_eq!(read(wrong), Err(Error::Number(wrong.to_owned())), "{wrong}");
    }
    assert_eq!(Rational::power_of_two(-1074).to_f64(), f64::from_bits(1));
    assert_eq!(Rational::power_of_two(-1075).to_f64(), 0.0);
    assert_eq!(Rational::power_of_two(1024).to_f64(), f64::INFINITY);
    assert_eq!(Rational::power_of_two(-149).to_f32(), f32::from_bits(1));
    assert_eq!(Rational::power_of_two(128).to_f32(), f32::INFINITY);
    assert_eq!((-Rational::ONE).floor(), IBig::from(-1));
}
