//! How many bits of mantissa a constructed network needs.
//!
//! The proofs compute with real numbers. Here a network runs in floats of `p` bits on inputs whose
//! exact output is known, and the [`thresholds`] are the smallest numbers of bits that work.
//! What runs is a closure from `p` to a [`Verdict`], so every architecture asks the same question;
//! [`crate::ffn::precision`] is the FFN's answer, and [`study`] asks many networks.

pub mod study;

use crate::rational::Rational;
use crate::records::Groups;
use crate::resolution::Resolution;
use loopfit_numerics::stream::Stream;
use std::collections::BTreeMap;

/// How a run in floats compares with the exact one, from worse to better.
///
/// A run is judged one iteration before the network finishes, when it has finished, and `tau_m`
/// iterations later. The phase that should be on is compared with one (the check of the last
/// continuation marker, then the halt), every other phase of the evaluator with zero, and the
/// output `u` with the exact `u`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// One of them is off by the [`tolerance`] or more, or the state has left the box of Lemma D.2
    /// on the way.
    Fails,
    /// All are nearer than the tolerance: the same quantised output.
    Works,
    /// All are the same, bit for bit.
    Exact,
}

impl Verdict {
    /// The verdict on one number.
    pub fn of(found: &Rational, exact: &Rational, tolerance: &Rational) -> Self {
        if found == exact {
            Self::Exact
        } else if (found - exact).abs() < *tolerance {
            Self::Works
        } else {
            Self::Fails
        }
    }

    /// `fails`, `works` or `exact`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Fails => "fails",
            Self::Works => "works",
            Self::Exact => "exact",
        }
    }
}

/// How near is near enough: half of the step to which coefficients are quantised.
///
/// # Formula
/// `2^-b`, since `n_b(c)` stands for `2^(1-b) n_b(c) - 1` (Section D.1.1).
pub fn tolerance(resolution: &Resolution) -> Rational {
    Rational::power_of_two(-(resolution.b() as i64))
}

/// Which inputs a network is tried on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// In so many cells, one input in each; in every cell where there are not more.
    pub cells: usize,
    /// The bits of an input beyond those of its cell. Few, so that the input is a number of the
    /// arithmetic and rounding it is not a part of what is measured.
    pub fraction_bits: usize,
    /// The seed.
    pub seed: u64,
}

impl Sample {
    /// All cells with an input off the strips in each, in the order in which they are tried: the
    /// last record of the last group first, since its bits lie deepest in a code, then at random.
    pub fn candidates(
        &self,
        resolution: &Resolution,
        groups: Groups,
    ) -> impl Iterator<Item = Vec<Rational>> {
        let stream = Stream::new(self.seed).child("precision");
        let cells = groups.cells().concat();
        let mut order = vec![0; cells.len()];
        stream.child("cells").permute(&mut order);
        let last = cells.len() - 1;
        let order = order.into_iter().map(|index| index as usize);
        let order = std::iter::once(last).chain(order.filter(move |&index| index != last));
        let (resolution, bits) = (resolution.clone(), self.fraction_bits);
        order.map(move |index| {
            let stream = stream.child("inputs").nth(index as u64);
            crate::points::in_cell(&resolution, &cells[index], bits, stream)
        })
    }
}

/// The fewest bits with which a network works.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Thresholds {
    /// The smallest `p` at which, and at every larger one tried, the verdict is at least
    /// [`Verdict::Works`]; nothing where none was found.
    pub works: Option<usize>,
    /// The same for [`Verdict::Exact`], up to [`BEYOND`] bits more than `works`.
    pub exact: Option<usize>,
    /// Every `p` that was tried.
    pub tried: BTreeMap<usize, Verdict>,
}

/// A float has at least so many bits.
const LEAST: usize = 2;

/// So many `p` directly above a threshold are tried as well.
pub const CONFIRMED: usize = 4;

/// So many bits more than those at which a network works are given to it to become exact.
pub const BEYOND: usize = 64;

/// The fewest bits with which a network works, by its verdict for each number of bits; beginning near
/// `guess`, up to `most`.
///
/// Nothing says that more bits are always better: rounding may be lucky. So bisection only finds a
/// candidate, then the [`CONFIRMED`] numbers above it are tried, and a failure there or at any
/// larger number tried moves the candidate behind it. Below the threshold lucky numbers may remain.
pub fn thresholds<E>(
    guess: usize,
    most: usize,
    mut verdict: impl FnMut(usize) -> Result<Verdict, E>,
) -> Result<Thresholds, E> {
    let mut search = Search {
        verdict: &mut verdict,
        tried: BTreeMap::new(),
    };
    let works = search.threshold(Verdict::Works, guess.max(LEAST), most)?;
    let exact = match works {
        Some(p) => search.threshold(Verdict::Exact, p, most.min(p + BEYOND))?,
        None => None,
    };
    Ok(Thresholds {
        works,
        exact,
        tried: search.tried,
    })
}

struct Search<'a, F> {
    verdict: &'a mut F,
    tried: BTreeMap<usize, Verdict>,
}

impl<E, F: FnMut(usize) -> Result<Verdict, E>> Search<'_, F> {
    fn verdict(&mut self, p: usize) -> Result<Verdict, E> {
        if let Some(verdict) = self.tried.get(&p) {
            return Ok(*verdict);
        }
        let verdict = (self.verdict)(p)?;
        self.tried.insert(p, verdict);
        Ok(verdict)
    }

    fn threshold(
        &mut self,
        wanted: Verdict,
        guess: usize,
        most: usize,
    ) -> Result<Option<usize>, E> {
        let (mut fails, mut holds) = (LEAST - 1, guess.min(most));
        while self.verdict(holds)? < wanted {
            if holds == most {
                return Ok(None);
            }
            (fails, holds) = (holds, (2 * holds).min(most));
        }
        while holds - fails > 1 {
            let middle = fails.midpoint(holds);
            match self.verdict(middle)? < wanted {
                true => fails = middle,
                false => holds = middle,
            }
        }
        loop {
            let mut failures = self.tried.iter().rev().filter(|(_, v)| **v < wanted);
            let first = failures.next().map_or(LEAST, |(p, _)| p + 1);
            let open = (first..=first + CONFIRMED).find(|p| !self.tried.contains_key(p));
            match open {
                None => return Ok(Some(first)),
                Some(p) if p > most => return Ok(None),
                Some(p) => self.verdict(p)?,
            };
        }
    }
}

#[cfg(test)]
mod tests;
