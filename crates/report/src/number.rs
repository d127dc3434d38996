//! How numbers are printed, everywhere: enough digits to see the differences,
//! no more than the standard error supports.

pub use loopfit_numerics::text::{count, integer};

/// What stands in for a number that does not exist.
pub const ABSENT: &str = "–";

/// The minus sign of the tables; a hyphen is too short beside digits.
const MINUS: &str = "−";

/// Digits after the point at which even a tiny standard error stops adding more.
const MOST_DECIMALS: i32 = 6;

/// Powers of ten from the exponent of a column up to the largest number under it: `999 × 10⁻³`.
const MOST_APART: i32 = 2;
/// Magnitudes that people read without a power of ten.
const READABLE: std::ops::Range<f64> = 1e-2..1e6;

/// The power of ten under which a column of numbers is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exponent {
    /// All cells share it, so that they compare at a glance.
    Shared(i32),
    /// Each cell has its own, and none where it is near one.
    Own,
    /// None: the values of a column are far apart, but people read all of them without a power.
    Plain,
    /// Each cell has its own and shows it: the values of a column are too far apart to share one, and a column has one format.
    Powers,
}

impl Exponent {
    /// The exponent for a column that holds `values`: the smallest of theirs, or
    /// none when one of them would need more than three digits before the point.
    pub fn of(values: impl IntoIterator<Item = f64>) -> Self {
        let exponents: Vec<i32> = values
            .into_iter()
            .filter(|v| v.is_finite() && *v != 0.0)
            .map(|v| decimal_exponent(v, 3))
            .collect();
        match (exponents.iter().min(), exponents.iter().max()) {
            (Some(&low), Some(&high)) if high - low <= MOST_APART => {
                Self::Shared(plain_if_near_one(low))
            }
            (Some(_), Some(_)) => Self::Own,
            _ => Self::Shared(0),
        }
    }

    /// The exponent for a column of a table, whose cells have one format whatever they hold: [`Exponent::of`], or else plain numbers
    /// where all are such as people read, or powers.
    pub fn column(values: impl IntoIterator<Item = f64>) -> Self {
        let values: Vec<f64> = values.into_iter().collect();
        let readable = |v: &f64| !v.is_finite() || *v == 0.0 || READABLE.contains(&v.abs());
        match Self::of(values.iter().copied()) {
            Self::Own if values.iter().all(readable) => Self::Plain,
            Self::Own => Self::Powers,
            other => other,
        }
    }

    fn or(self, own: i32) -> i32 {
        match self {
            Self::Powers => own,
            Self::Plain => 0,
            // A value far above its column would be a mantissa that nobody can read.
            Self::Shared(exponent) if own - exponent <= MOST_APART => exponent,
            _ => plain_if_near_one(own),
        }
    }
}

/// A mean with its standard error as in the paper's tables, `2.64 (0.11) × 10⁻³`:
/// two significant digits of the error, and as many decimals of the mean.
/// Without an error (one seed) the mean stands alone.
pub fn mean_se(mean: f64, se: Option<f64>, exponent: Exponent) -> String {
    let Some(se) = se.filter(|se| se.is_finite() && mean.is_finite()) else {
        return value(mean, 3, exponent);
    };
    let error_exponent = if se == 0.0 {
        i32::MIN
    } else {
        decimal_exponent(se, 2)
    };
    let own = match (mean == 0.0, se == 0.0) {
        (true, true) => 0,
        (true, false) => error_exponent,
        // A mean far below its error is printed on the error's scale.
        (false, _) => decimal_exponent(mean, 3).max(error_exponent.saturating_sub(1)),
    };
    let exponent = exponent.or(own);
    let error_decimals = if se == 0.0 {
        0
    } else {
        (1 - (error_exponent - exponent)).clamp(0, MOST_DECIMALS)
    };
    let decimals = (2 - (own - exponent)).clamp(error_decimals, error_decimals + 2);
    format!(
        "{} ({}){}",
        scaled(mean, exponent, decimals),
        scaled(se, exponent, error_decimals),
        times_power(exponent)
    )
}

/// One number with so many significant digits under the column's exponent.
pub fn value(value: f64, digits: usize, exponent: Exponent) -> String {
    if !value.is_finite() {
        return not_finite(value);
    }
    if value == 0.0 {
        return "0".into();
    }
    let own = decimal_exponent(value, digits);
    let exponent = exponent.or(own);
    let decimals = (digits as i32 - 1 - (own - exponent)).clamp(0, MOST_DECIMALS);
    let mantissa = scaled(value, exponent, decimals);
    format!("{mantissa}{}", times_power(exponent))
}

/// A number by its natural logarithm, however large or small it is: `1.23 × 10⁴⁵⁶`, or a power of ten
/// alone where the logarithm itself leaves no digits for a mantissa.
pub fn of_log(ln: f64, digits: usize) -> String {
    let log10 = ln / std::f64::consts::LN_10;
    if ln == f64::NEG_INFINITY {
        return "0".into();
    }
    if !log10.is_finite() {
        return not_finite(log10);
    }
    if log10.abs() < 300.0 {
        return value(ln.exp(), digits, Exponent::Own);
    }
    let mut exponent = log10.floor();
    let mut mantissa = format!(
        "{:.*}",
        digits.saturating_sub(1),
        10f64.powf(log10 - exponent)
    );
    if mantissa.starts_with("10") {
        exponent += 1.0;
        mantissa = format!("{:.*}", digits.saturating_sub(1), 1.0);
    }
    if exponent.abs() < 1e9 {
        format!("{mantissa} × {}", power_of_ten(exponent as i32))
    } else {
        format!("10^({})", value(log10, digits, Exponent::Own))
    }
}

/// A number as it is given, without more digits than it needs: `64`, `131072`, `0.05`,
/// `1.5 × 10⁹`.
pub fn shortest(value: f64) -> String {
    if !value.is_finite() {
        return not_finite(value);
    }
    let magnitude = value.abs();
    if value == 0.0 || (1e-3..1e6).contains(&magnitude) {
        let text = magnitude.to_string();
        return if value < 0.0 {
            format!("{MINUS}{text}")
        } else {
            text
        };
    }
    let text = format!("{magnitude:e}");
    let (mantissa, exponent) = text.rsplit_once('e').unwrap_or((&text, "0"));
    let power = power_of_ten(exponent.parse().unwrap_or(0));
    let sign = if value < 0.0 { MINUS } else { "" };
    match mantissa {
        "1" => format!("{sign}{power}"),
        _ => format!("{sign}{mantissa} × {power}"),
    }
}

/// `× 10⁻³` without the factor: `10⁻³`.
pub fn power_of_ten(exponent: i32) -> String {
    let superscript = |c| match c {
        '-' => '⁻',
        '0' => '⁰',
        '1' => '¹',
        '2' => '²',
        '3' => '³',
        '4' => '⁴',
        '5' => '⁵',
        '6' => '⁶',
        '7' => '⁷',
        '8' => '⁸',
        _ => '⁹',
    };
    format!(
        "10{}",
        exponent
            .to_string()
            .chars()
            .map(superscript)
            .collect::<String>()
    )
}

/// Fixed notation with a proper minus sign; a zero has no sign.
pub fn fixed(value: f64, decimals: usize) -> String {
    if !value.is_finite() {
        return not_finite(value);
    }
    let magnitude = format!("{:.decimals$}", value.abs());
    let is_zero = magnitude.bytes().all(|b| matches!(b, b'0' | b'.'));
    if value < 0.0 && !is_zero {
        format!("{MINUS}{magnitude}")
    } else {
        magnitude
    }
}

/// The exponent of `value`, finite and not zero, once rounded to `digits`
/// significant digits: 9.996 has exponent 1 with three of them.
pub fn decimal_exponent(value: f64, digits: usize) -> i32 {
    let text = format!("{:.*e}", digits.saturating_sub(1), value);
    text.rsplit_once('e')
        .and_then(|(_, exponent)| exponent.parse().ok())
        .unwrap_or(0)
}

/// From 0.01 to 999 a plain number is easier to read than a power of ten.
fn plain_if_near_one(exponent: i32) -> i32 {
    if (-2..=2).contains(&exponent) {
        0
    } else {
        exponent
    }
}

fn times_power(exponent: i32) -> String {
    if exponent == 0 {
        String::new()
    } else {
        format!(" × {}", power_of_ten(exponent))
    }
}

/// `value / 10^exponent`: through the decimal text, because 10^exponent overflows
/// for subnormal numbers and a division would round twice.
fn scaled(value: f64, exponent: i32, decimals: i32) -> String {
    let text = format!("{value:e}");
    let shifted = text
        .rsplit_once('e')
        .and_then(|(mantissa, own)| {
            let own: i32 = own.parse().ok()?;
            format!("{mantissa}e{}", own - exponent).parse().ok()
        })
        .unwrap_or(value);
    fixed(shifted, decimals.max(0) as usize)
}

fn not_finite(value: f64) -> String {
    match value {
        v if v == f64::INFINITY => "∞".into(),
        v if v == f64::NEG_INFINITY => format!("{MINUS}∞"),
        _ => ABSENT.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shortest_texts() {
        let cases = [
            (0.0, "0"),
            (64.0, "64"),
            (131_072.0, "131072"),
            (-0.05, "−0.05"),
            (1e6, "10⁶"),
            (-2.5e-4, "−2.5 × 10⁻⁴"),
            (f64::NAN, ABSENT),
        ];
        for (value, text) in cases {
            assert_eq!(shortest(value), text);
        }
    }

    /// Plain numbers and powers do not stand in one column.
    #[test]
    fn a_column_has_one_format() {
        let far = [0.0133, 2.64e-6];
        let column = |values: [f64; 2]| {
            let exponent = Exponent::column(values);
            values.map(|v| value(v, 3, exponent))
        };
        assert_eq!(column(far), ["1.33 × 10⁻²", "2.64 × 10⁻⁶"]);
        assert_eq!(column([0.0133, 3.61e-3]), ["13.3 × 10⁻³", "3.61 × 10⁻³"]);
        assert_eq!(column([0.133, 0.05]), ["0.133", "0.0500"]);
        assert_eq!(column([0.857, 9360.0]), ["0.857", "9360"]);
    }

    #[test]
    fn numbers_by_their_logarithm() {
        let ln10 = std::f64::consts::LN_10;
        let cases = [
            (f64::NEG_INFINITY, "0"),
            (0.0, "1.00"),
            (1234f64.ln(), "1.23 × 10³"),
            (1000.0 * ln10, "1.00 × 10¹⁰⁰⁰"),
            (-400.5 * ln10, "3.16 × 10⁻⁴⁰¹"),
            (1e12 * ln10, "10^(1.00 × 10¹²)"),
            (f64::INFINITY, "∞"),
        ];
        for (ln, text) in cases {
            assert_eq!(of_log(ln, 3), text);
        }
    }

    /// Means and standard errors of the paper's simulation tables (F.4), which
    /// print more digits of the mean than its error supports.
    #[test]
    fn the_papers_tables() {
        let cell = |mean, se| mean_se(mean, Some(se), Exponent::Own);
        assert_eq!(cell(2.6412e-3, 0.11e-3), "2.64 (0.11) × 10⁻³");
        assert_eq!(cell(2.9193e-3, 0.063e-3), "2.919 (0.063) × 10⁻³");
        assert_eq!(cell(4.7724e-4, 2.6e-4), "4.77 (2.6) × 10⁻⁴");
        assert_eq!(cell(-1.43e-3, 18e-3), "−1.43 (18) × 10⁻³");
        assert_eq!(cell(9.2061e3, 0.83e3), "9.21 (0.83) × 10³");
        assert_eq!(cell(0.346, 0.012), "0.346 (0.012)");
    }

    #[test]
    fn a_column_shares_its_exponent() {
        let column = Exponent::of([2.95e-5, 1.45e-4, f64::NAN, 0.0]);
        assert_eq!(column, Exponent::Shared(-5));
        assert_eq!(mean_se(1.45e-4, Some(1.2e-5), column), "14.5 (1.2) × 10⁻⁵");
        assert_eq!(value(1.45e-4, 4, column), "14.50 × 10⁻⁵");
        assert_eq!(Exponent::of([1e-9, 1.0]), Exponent::Own);
        assert_eq!(Exponent::of([-3.055, 4.2e-3]), Exponent::Own);
        assert_eq!(value(-3.055, 4, Exponent::Shared(-3)), "−3.055");
        assert_eq!(
            mean_se(-3.055, Some(0.021), Exponent::Shared(-3)),
            "−3.055 (0.021)"
        );
        assert_eq!(value(0.999, 3, Exponent::Shared(-3)), "999 × 10⁻³");
        assert_eq!(Exponent::of([f64::NAN]), Exponent::Shared(0));
    }

    #[test]
    fn edges() {
        let own = Exponent::Own;
        assert_eq!(mean_se(0.0, Some(0.0), own), "0.00 (0)");
        assert_eq!(mean_se(2.5, Some(0.0), own), "2.50 (0)");
        assert_eq!(mean_se(1.2e-9, Some(1e-4), own), "0.00 (10) × 10⁻⁵");
        assert_eq!(mean_se(0.0, Some(1e-4), own), "0.00 (1.0) × 10⁻⁴");
        assert_eq!(mean_se(2.5, None, own), "2.50");
        assert_eq!(mean_se(f64::NAN, Some(1.0), own), "–");
        assert_eq!(mean_se(f64::INFINITY, Some(f64::NAN), own), "∞");
        assert_eq!(value(0.0, 4, own), "0");
        assert_eq!(value(-0.0, 4, own), "0");
        assert_eq!(value(9.99996, 4, own), "10.00");
        assert_eq!(value(5e-324, 4, own), "5.000 × 10⁻³²⁴");
        assert_eq!(value(f64::MAX, 4, own), "1.798 × 10³⁰⁸");
        assert_eq!(fixed(-0.001, 2), "0.00");
        assert_eq!(fixed(-1.5, 1), "−1.5");
    }

    #[test]
    fn thousands() {
        let all = [0, 999, 1000, 96_000, 1_234_567].map(integer);
        assert_eq!(all, ["0", "999", "1,000", "96,000", "1,234,567"]);
    }
}
