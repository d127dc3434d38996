//! Taylor words, cell records and the scalar codes of Section D.1.1.

use crate::Error;
use crate::rational::Rational;
use crate::resolution::Resolution;
use crate::target::Target;
use dashu_int::{IBig, UBig};

/// The ordered coordinate lists `W_k`, coordinates counted from zero: by length, then
/// lexicographically.
///
/// # Reference
/// Section D.1; the order is ours, the paper asks for any fixed one.
pub fn taylor_words(d: usize, k: usize) -> Vec<Vec<usize>> {
    let mut words = vec![vec![]];
    let mut last = 0;
    for _ in 0..k {
        let longer: Vec<_> = words[last..]
            .iter()
            .flat_map(|word| (0..d).map(move |i| [&word[..], &[i]].concat()))
            .collect();
        last = words.len();
        words.extend(longer);
    }
    words
}

/// A quantised coefficient.
///
/// # Formula
#[doc = loopfit_tex::tex!(r"n_b(c) = \min\{2^b - 1, \lfloor 2^{b-1}(c+1) \rfloor\}, \qquad c \in [-1, 1]")]
///
/// # Reference
/// Section D.1.1.
pub fn quantised(c: &Rational, b: usize) -> UBig {
    let floor = (c + Rational::ONE).scaled(b as i64 - 1).floor();
    let largest = (IBig::ONE << b) - IBig::ONE;
    UBig::try_from(floor.clamp(IBig::ZERO, largest)).unwrap_or(UBig::ZERO)
}

/// A scalar code of bits.
///
/// # Formula
#[doc = loopfit_tex::tex!(r"c = \sum_{i=1}^{L} 2\beta_i 4^{-i}")]
///
/// # Reference
/// (S24).
pub fn code(bits: &[bool]) -> Rational {
    let length = bits.len();
    // 2 * 4^(L - i) is bit 2 (L - i) + 1 of the numerator over 4^L.
    let mut bytes = vec![0u8; length.div_ceil(4)];
    for (i, _) in bits.iter().enumerate().filter(|(_, bit)| **bit) {
        let place = 2 * (length - 1 - i) + 1;
        bytes[place / 8] |= 1 << (place % 8);
    }
    let numerator = IBig::from(UBig::from_le_bytes(&bytes));
    Rational::dyadic(numerator, -2 * length as i64)
}

/// The partition of the cells into `A^d` coarse cubes, `A = 2^u`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Groups {
    /// The number of inputs `d`.
    d: usize,
    /// The exponent of `K = 2^m`.
    m: usize,
    /// The exponent `u_grp` of `A = 2^u_grp`.
    u: usize,
}

impl Groups {
    /// The partition with `2^u` cubes along each axis, `u <= m`.
    pub fn new(resolution: &Resolution, u: usize) -> Result<Self, Error> {
        let Resolution { d, m, .. } = *resolution;
        if u > m {
            return Err(Error::Groups { u, m });
        }
        Ok(Self { d, m, u })
    }

    /// The exponent `u_grp`.
    pub fn u(self) -> usize {
        self.u
    }

    /// The cubes along each axis, `A`.
    pub fn per_axis(self) -> usize {
        1 << self.u
    }

    /// The number of groups `N_grp = A^d`.
    pub fn count(self) -> usize {
        1 << (self.d * self.u)
    }

    /// The records of each group, `2^{d(m - u)}`.
    pub fn records(self) -> usize {
        1 << (self.d * (self.m - self.u))
    }

    /// The cells of the groups in the order of `j(a) = sum_i A^{i-1} a_i`, each as the integers
    /// `K a_j`. Inside a group the first coordinate is fastest as well.
    pub fn cells(self) -> Vec<Vec<Vec<usize>>> {
        let fine = 1 << (self.m - self.u);
        let digits = |mut index: usize, base: usize| {
            (0..self.d)
                .map(|_| {
                    let digit = index % base;
                    index /= base;
                    digit
                })
                .collect::<Vec<_>>()
        };
        let cell = |group: usize, record: usize| {
            let (coarse, offset) = (digits(group, self.per_axis()), digits(record, fine));
            let both = coarse.iter().zip(&offset);
            both.map(|(a, o)| a * fine + o).collect()
        };
        (0..self.count())
            .map(|group| (0..self.records()).map(|r| cell(group, r)).collect())
            .collect()
    }
}

/// The normalised Taylor coefficients of a cell, in the order of [`taylor_words`].
///
/// # Formula
#[doc = loopfit_tex::tex!(r"
    c_{j,w} = \frac{\partial_w f_0(x_j)}{H |w|!} \in [-1, 1], \qquad x_j = a_j + (h/2) \mathbf 1
")]
///
/// # Reference
/// (S22).
pub fn coefficients(
    resolution: &Resolution,
    words: &[Vec<usize>],
    target: &dyn Target,
    cell: &[usize],
) -> Result<Vec<Rational>, Error> {
    let centre = centre(resolution, cell);
    let coefficient = |word: &Vec<usize>| {
        let nu = orders(resolution.d, word);
        let derivative = target.derivative(&nu, &centre)?;
        let lengths = 1..=word.len() as i64;
        let scale = lengths.fold(resolution.h.clone(), |product, l| {
            product * Rational::from(l)
        });
        let scale = scale.reciprocal();
        Ok(derivative * scale.expect("H is positive"))
    };
    words.iter().map(coefficient).collect()
}

/// The middle of a cell.
fn centre(resolution: &Resolution, cell: &[usize]) -> Vec<Rational> {
    let half = Rational::new(1, 2u8);
    let middle = |&i: &usize| (Rational::from(i as i64) + &half) * resolution.side();
    cell.iter().map(middle).collect()
}

/// How often each input stands in a word.
fn orders(d: usize, word: &[usize]) -> Vec<usize> {
    let mut nu = vec![0; d];
    for &i in word {
        nu[i] += 1;
    }
    nu
}

/// Checks that the target is bounded by `H` at the corners of all cells, and with its derivatives at their centres, where the
/// construction reads it. What it is elsewhere is not known here.
fn check_target(
    resolution: &Resolution,
    cells: &[Vec<usize>],
    words: &[Vec<usize>],
    target: &dyn Target,
) -> Result<(), Error> {
    let mut worst: Option<(Rational, Vec<usize>, Vec<Rational>)> = None;
    let mut note = |value: Rational, nu: Vec<usize>, x: Vec<Rational>| {
        let size = value.abs();
        let larger = worst.as_ref().is_none_or(|(worst, ..)| size > *worst);
        if size > resolution.h && larger {
            worst = Some((size, nu, x));
        }
    };
    let ends = resolution.cells_per_axis() + 1;
    let corners = ends.pow(resolution.d as u32);
    for index in 0..corners {
        let corner = (0..resolution.d).map(|k| index / ends.pow(k as u32) % ends);
        let corner = corner.map(|i| Rational::from(i as i64) * resolution.side());
        let x: Vec<Rational> = corner.collect();
        note(target.value(&x)?, vec![0; resolution.d], x);
    }
    for cell in cells {
        let x = centre(resolution, cell);
        for word in words {
            let nu = orders(resolution.d, word);
            note(target.derivative(&nu, &x)?, nu, x.clone());
        }
    }
    match worst {
        None => Ok(()),
        Some((size, nu, x)) => {
            // Six decimals, upwards, where the number itself is too long to be read.
            let million = Rational::from(1_000_000);
            let short = size.to_string().len() <= 24;
            let least = match short {
                true => size,
                false => Rational::from((&size * &million).ceil()) * Rational::new(1, 1_000_000u32),
            };
            Err(Error::OutsideClass {
                what: match nu.iter().all(|&order| order == 0) {
                    true => "its value".to_string(),
                    false => format!("its derivative {nu:?}"),
                },
                point: format!("{x:?}"),
                least: least.to_string(),
                h: resolution.h.to_string(),
            })
        }
    }
}

/// The most of each that is built: about a minute and a gigabyte.
const LARGEST_CORNER_COUNT: u128 = 1 << 22;
const LARGEST_DIGIT_COUNT: u128 = 1 << 24;
const LARGEST_GROUP_COUNT: u128 = 1 << 16;

/// Checks from sizes alone that codes can be written down.
fn check_size(resolution: &Resolution, groups: Groups) -> Result<(), Error> {
    let corners = (resolution.cells_per_axis() as u128 + 1).saturating_pow(resolution.d as u32);
    let digits = resolution.cells() as u128 * resolution.record_length() as u128;
    let group_count = groups.count() as u128;
    for (what, count, most, groups) in [
        ("corners of cells", corners, LARGEST_CORNER_COUNT, false),
        ("digits in its codes", digits, LARGEST_DIGIT_COUNT, false),
        ("groups of cells", group_count, LARGEST_GROUP_COUNT, true),
    ] {
        if count > most {
            return Err(Error::Size {
                what,
                count,
                most,
                groups,
            });
        }
    }
    Ok(())
}

/// The code of each group: the records of its cells, joined.
///
/// # Reference
/// Section D.1.1: location, coefficients, continuation; words from the least significant bit on.
pub fn group_codes(
    resolution: &Resolution,
    groups: Groups,
    target: &dyn Target,
) -> Result<Vec<Rational>, Error> {
    if target.d() != resolution.d {
        return Err(Error::TargetDimension {
            found: target.d(),
            d: resolution.d,
        });
    }
    check_size(resolution, groups)?;
    let words = taylor_words(resolution.d, resolution.k);
    let cells = groups.cells();
    check_target(resolution, &cells.concat(), &words, target)?;
    let group_code = |cells: &Vec<Vec<usize>>| {
        let mut bits = Vec::with_capacity(cells.len() * resolution.record_length());
        for (index, cell) in cells.iter().enumerate() {
            for &location in cell {
                push_word(&mut bits, &UBig::from(location), resolution.m);
            }
            for c in coefficients(resolution, &words, target, cell)? {
                push_word(&mut bits, &quantised(&c, resolution.b()), resolution.b());
            }
            bits.push(index + 1 < cells.len());
        }
        Ok(code(&bits))
    };
    cells.iter().map(group_code).collect()
}

fn push_word(bits: &mut Vec<bool>, value: &UBig, length: usize) {
    use dashu_int::ops::BitTest;
    bits.extend((0..length).map(|t| value.bit(t)));
}

#[cfg(test)]
mod tests;
