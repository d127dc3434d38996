//! How many terms a Taylor polynomial has when its factors are ordered.

/// The ordered coordinate lists of length at most `k`, which index the Taylor terms of the
/// constructions.
///
/// # Formula
#[doc = loopfit_tex::tex!(r"M_{\rm Tay} = \sum_{\ell=0}^k d^\ell, \qquad V = \sum_{\ell=0}^k \ell d^\ell")]
///
/// # Reference
/// Section D.1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TaylorWords {
    /// The number of lists `M_Tay`.
    pub terms: u128,
    /// The number of their entries together, `V`.
    pub letters: u128,
}

/// Above this many letters nothing is counted any more: nobody will write them down.
const LARGEST_LETTER_COUNT: u128 = 1 << 60;

impl TaylorWords {
    /// The lists over `d` coordinates, for derivatives through order `k`; nothing where they are
    /// too many to count.
    pub fn new(d: usize, k: usize) -> Option<Self> {
        let (d, k) = (d as u128, k as u128);
        if d == 1 {
            let letters = k.checked_mul(k + 1)? / 2;
            let terms = k + 1;
            return (letters <= LARGEST_LETTER_COUNT).then_some(Self { terms, letters });
        }
        let (mut terms, mut letters, mut power) = (1u128, 0u128, 1u128);
        for length in 1..=k {
            power *= d;
            terms += power;
            letters += length * power;
            if letters > LARGEST_LETTER_COUNT {
                return None;
            }
        }
        Some(Self { terms, letters })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Against writing the lists down.
    #[test]
    fn counts_are_those_of_a_list() {
        for d in 1..5 {
            let mut words: Vec<Vec<usize>> = vec![vec![]];
            let mut last = words.clone();
            for k in 0..5 {
                let counted = TaylorWords::new(d, k).unwrap();
                let letters: usize = words.iter().map(Vec::len).sum();
                assert_eq!(counted.terms, words.len() as u128);
                assert_eq!(counted.letters, letters as u128);
                last = last
                    .iter()
                    .flat_map(|word| (0..d).map(move |i| [&word[..], &[i]].concat()))
                    .collect();
                words.extend(last.iter().cloned());
            }
        }
        assert_eq!(TaylorWords::new(100, 49), None);
        assert_eq!(TaylorWords::new(1, usize::MAX), None);
        assert!(TaylorWords::new(1, 1000).is_some());
    }
}
