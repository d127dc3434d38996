mod build;
mod programs;
mod runs;

use super::*;
use crate::target::Polynomial;

fn r(text: &str) -> Rational {
    text.parse().unwrap()
}

/// `sum_i (x_i - x_i^2) / (2d) - 1/10`, in `H_d^s(1)` for every `s`.
fn bumps(d: usize) -> Polynomial {
    let mut terms = vec![(vec![0; d], r("-1/10"))];
    for i in 0..d {
        let power = |exponent: usize| (0..d).map(|j| if i == j { exponent } else { 0 }).collect();
        terms.push((power(1), Rational::new(1, 2 * d as u64)));
        terms.push((power(2), Rational::new(-1, 2 * d as u64)));
    }
    Polynomial::new(d, terms).unwrap()
}

/// A case by its parameters `d`, `s`, `m`, `h`.
fn witness_with(d: usize, s: &str, m: usize, h: usize, setting: Setting) -> Witness {
    let resolution = Resolution::new(d, r(s), r("1"), m).unwrap();
    Witness::new(resolution, h, setting, &bumps(d)).unwrap()
}

fn witness(d: usize, s: &str, m: usize, h: usize) -> Witness {
    witness_with(d, s, m, h, Setting::new(d))
}

/// A point off every strip: no coordinate is near a multiple of 1/16.
fn point(d: usize) -> Vec<Rational> {
    let values = ["16/81", "889/1024", "3279/10007"];
    values[..d].iter().map(|x| r(x)).collect()
}
