//! Sums of tents over all resolutions: one smoothness at every scale, and two kinds of signs.

use super::Function;
use loopfit_numerics::libm::pow;
use loopfit_numerics::stream::Stream;
use std::fmt;
use std::str::FromStr;

/// Resolutions of a series: the finest tents have a width of `2^-13`.
const LEVELS: u32 = 14;
/// Standard deviation of the response noise where none is given.
const NOISE_SD: f64 = 0.3;
const KEYS: [&str; 3] = ["smoothness", "signs", "noise"];

/// A function of one input that has the smoothness `s` and no more, at every scale and place.
///
/// With equal signs it repeats itself, and a tent map applied again and again gives it term by term (the Takagi-Landsberg
/// function): a loop can follow it. With drawn signs it has as many independent signs as tents, and nothing repeats.
///
/// Its text is `smoothness=0.5,signs=equal` or `smoothness=0.5,signs=7`, where a number draws the signs, and `noise=0.1` for
/// another noise than 0.3.
///
/// # Formula
/// `f(x) = sum_{j=0}^{13} 2^{-js} sum_{k < 2^j} eps_{jk} phi(2^j x - k)`, `phi(t) = 1 - |2t - 1|` on `[0, 1]` and zero elsewhere.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Series {
    smoothness: f64,
    /// The number that draws the signs; none for equal ones.
    signs: Option<u64>,
    noise_sd: f64,
}

/// Why a text names no series.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SeriesError {
    /// A part without `=`, an unknown key, or one given twice.
    #[error(
        "`{0}` in sim:series is not one of its keys smoothness=, signs= and noise=, each given once: write e.g. {EXAMPLE}"
    )]
    Key(String),
    /// A key that is required.
    #[error("sim:series needs `{0}=`: write e.g. {EXAMPLE}")]
    Missing(&'static str),
    /// A value that is not what the key needs.
    #[error("sim:series cannot use {key}={value}: it must be {needed}")]
    Value {
        /// The key.
        key: &'static str,
        /// The value as given.
        value: String,
        /// What it must be.
        needed: &'static str,
    },
}

const EXAMPLE: &str = "sim:series:smoothness=0.5,signs=equal";

impl Series {
    pub(super) fn noise_sd(self) -> f64 {
        self.noise_sd
    }

    /// `eps_{jk}`.
    fn sign(self, j: u32, k: u64) -> f64 {
        match self.signs {
            None => 1.0,
            Some(number) => Stream::new(number).child("series").sign((1 << j) + k),
        }
    }

    /// The sum over resolutions of `2^{-js} eps_{jk}` times what is asked of the tent at `t` and of `2^j`.
    fn sum(self, x: f64, of: impl Fn(f64, f64) -> f64) -> f64 {
        let term = |j: u32| {
            let cells = f64::from(1u32 << j);
            let k = ((cells * x) as u64).min((1 << j) - 1);
            let weight = pow(2.0, -f64::from(j) * self.smoothness);
            weight * self.sign(j, k) * of(cells * x - k as f64, cells)
        };
        (0..LEVELS).map(term).sum()
    }
}

impl Function for Series {
    fn value(&self, x: &[f64]) -> f64 {
        self.sum(x[0], |t, _| 1.0 - (2.0 * t - 1.0).abs())
    }

    fn derivative(&self, nu: &[usize], x: &[f64]) -> f64 {
        match nu.iter().sum::<usize>() {
            0 => self.value(x),
            1 => self.sum(
                x[0],
                |t, cells| if t < 0.5 { 2.0 * cells } else { -2.0 * cells },
            ),
            _ => 0.0,
        }
    }
}

impl FromStr for Series {
    type Err = SeriesError;

    fn from_str(text: &str) -> Result<Self, SeriesError> {
        let mut values: [Option<&str>; KEYS.len()] = [None; KEYS.len()];
        for part in text.split(',').filter(|part| !part.trim().is_empty()) {
            let wrong = || SeriesError::Key(part.trim().to_string());
            let (key, value) = part.split_once('=').ok_or_else(wrong)?;
            let at = KEYS.iter().position(|known| *known == key.trim());
            let place = at.map(|at| &mut values[at]).ok_or_else(wrong)?;
            if place.replace(value.trim()).is_some() {
                return Err(wrong());
            }
        }
        let wrong = |at: usize, value: &str, needed| SeriesError::Value {
            key: KEYS[at],
            value: value.to_string(),
            needed,
        };
        let given = |at: usize| values[at].ok_or(SeriesError::Missing(KEYS[at]));
        let (needed, s) = ("a number above 0 and at most 1", given(0)?);
        let smoothness = s.parse().map_err(|_| wrong(0, s, needed))?;
        if !(smoothness > 0.0 && smoothness <= 1.0) {
            return Err(wrong(0, s, needed));
        }
        let signs = match given(1)? {
            "equal" => None,
            number => {
                let needed = "equal, or a whole number from 0 to 2^64 - 1 that draws them";
                Some(number.parse().map_err(|_| wrong(1, number, needed))?)
            }
        };
        let noise_sd = match values[2] {
            None => NOISE_SD,
            Some(value) => {
                let needed = "a finite number that is not negative";
                let sd: f64 = value.parse().map_err(|_| wrong(2, value, needed))?;
                if !(sd >= 0.0 && sd.is_finite()) {
                    return Err(wrong(2, value, needed));
                }
                sd
            }
        };
        Ok(Self {
            smoothness,
            signs,
            noise_sd,
        })
    }
}

impl fmt::Display for Series {
    /// The text that is read back.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "smoothness={},signs=", self.smoothness)?;
        match self.signs {
            None => write!(f, "equal")?,
            Some(number) => write!(f, "{number}")?,
        }
        if self.noise_sd != NOISE_SD {
            write!(f, ",noise={}", self.noise_sd)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(text: &str) -> Series {
        text.parse().unwrap()
    }

    /// Takagi's function at s = 1: T(1/2) = 1, T(1/4) = 1/2 + 1/2 = 1 and T(1/3) = 4/3 in units of the tent of height one (twice
    /// those of the distance to the nearest integer: 1/2, 1/2, 2/3).
    #[test]
    fn equal_signs_at_smoothness_one_are_takagis_function() {
        let f = series("smoothness=1,signs=equal");
        assert!((f.value(&[0.5]) - 1.0).abs() < 1e-12);
        assert!((f.value(&[0.25]) - 1.0).abs() < 1e-12);
        // The fourteen first terms of 4/3: 4/3 (1 - 2^-14).
        let third = 4.0 / 3.0 * (1.0 - 2f64.powi(-14));
        assert!((f.value(&[1.0 / 3.0]) - third).abs() < 1e-9);
        assert_eq!(f.value(&[0.0]), 0.0);
    }

    /// A sign of a cell of the coarsest three resolutions changes the function there by twice its tent.
    #[test]
    fn drawn_signs_are_independent_of_each_other() {
        let (f, g) = (
            series("smoothness=0.5,signs=1"),
            series("smoothness=0.5,signs=2"),
        );
        let signs = |f: Series| -> Vec<f64> { (0..256).map(|k| f.sign(8, k)).collect() };
        let sum: f64 = signs(f).iter().sum();
        assert!(sum.abs() < 64.0, "{sum}");
        assert_ne!(signs(f), signs(g));
        let at = |f: Series, x: f64| f.value(&[x]);
        // At 1/2 all finer tents are zero.
        assert_eq!(at(f, 0.5).abs(), 1.0);
        let slope = (at(f, 0.300_000_01) - at(f, 0.3)) / 1e-8;
        assert!((slope - f.derivative(&[1], &[0.3])).abs() < 1e-3 * slope.abs());
    }

    #[test]
    fn texts_are_read_back_and_wrong_ones_explained() {
        for text in [
            "smoothness=0.5,signs=equal",
            "smoothness=1,signs=7,noise=0.1",
        ] {
            assert_eq!(series(text).to_string(), text);
        }
        for (text, part) in [
            ("", "needs `smoothness=`"),
            ("smoothness=0.5", "needs `signs=`"),
            ("smoothness=2,signs=equal", "at most 1"),
            ("smoothness=0.5,signs=odd", "draws them"),
            ("smoothness=0.5,signs=1,signs=2", "each given once"),
            ("smoothness=0.5,signs=1,noise=-1", "not negative"),
            ("rough", "not one of its keys"),
        ] {
            let error = text.parse::<Series>().unwrap_err().to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
