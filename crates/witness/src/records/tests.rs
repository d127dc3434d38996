use super::*;
use crate::target::Polynomial;

fn r(text: &str) -> Rational {
    text.parse().unwrap()
}

/// The one-cell example at the end of Section D.1.1: location 1, coefficient 1/2, the end.
#[test]
fn the_papers_example() {
    let mut bits = Vec::new();
    push_word(&mut bits, &UBig::from(1u8), 2);
    push_word(&mut bits, &quantised(&r("1/2"), 2), 2);
    bits.push(false);
    assert_eq!(bits, [true, false, true, true, false]);
    assert_eq!(code(&bits), r("69/128"));
}

#[test]
fn quantisation_stays_in_range() {
    let n = |c: &str, b| quantised(&r(c), b);
    assert_eq!(n("-1", 3), UBig::ZERO);
    assert_eq!(n("1", 3), UBig::from(7u8));
    assert_eq!(n("0", 3), UBig::from(4u8));
    // floor(4 * 0.99) = 3 and floor(4 * 1.26) = 5
    assert_eq!(n("-0.01", 3), UBig::from(3u8));
    assert_eq!(n("0.26", 3), UBig::from(5u8));
    assert_eq!(n("0", 1), UBig::ONE);
}

#[test]
fn words_are_by_length_then_lexicographic() {
    let expected: [&[usize]; 7] = [&[], &[0], &[1], &[0, 0], &[0, 1], &[1, 0], &[1, 1]];
    assert_eq!(taylor_words(2, 2), expected);
    assert_eq!(taylor_words(3, 0), [[0usize; 0]]);
}

#[test]
fn every_cell_is_in_one_group() {
    for (d, m) in [(1, 3), (2, 2), (3, 1)] {
        let resolution = Resolution::new(d, r("1"), r("1"), m).unwrap();
        for u in 0..=m {
            let groups = Groups::new(&resolution, u).unwrap();
            let mut all: Vec<_> = groups.cells().concat();
            assert_eq!(all.len(), resolution.cells());
            all.sort();
            all.dedup();
            assert_eq!(all.len(), resolution.cells());
            for (j, cells) in groups.cells().iter().enumerate() {
                assert_eq!(cells.len(), groups.records());
                for cell in cells {
                    // j(a), with a the coarse cube in which the cell lies
                    let coarse = cell.iter().map(|i| i >> (m - u));
                    let places = coarse.zip(0..).map(|(a, i)| a << (u * i));
                    assert_eq!(places.sum::<usize>(), j);
                }
            }
        }
        assert!(Groups::new(&resolution, m + 1).is_err());
    }
}

#[test]
fn targets_outside_the_class_are_refused() {
    let resolution = Resolution::new(1, r("2"), r("1"), 1).unwrap();
    let groups = Groups::new(&resolution, 0).unwrap();
    // Bounded by one itself, with a derivative of 3/2.
    let steep = Polynomial::new(1, vec![(vec![1], r("3/2")), (vec![0], r("-1/2"))]).unwrap();
    let error = group_codes(&resolution, groups, &steep).unwrap_err();
    assert!(matches!(error, Error::OutsideClass { .. }), "{error}");
    let flat = Polynomial::new(2, vec![]).unwrap();
    let error = group_codes(&resolution, groups, &flat).unwrap_err();
    assert_eq!(error, Error::TargetDimension { found: 2, d: 1 });
}
