use super::*;
use proptest::prelude::*;
use std::convert::Infallible;

fn search(
    guess: usize,
    most: usize,
    mut verdict: impl FnMut(usize) -> Verdict,
) -> (Option<usize>, Option<usize>) {
    let found = thresholds(guess, most, |p| Ok::<_, Infallible>(verdict(p))).unwrap();
    (found.works, found.exact)
}

proptest! {
    /// Where more bits are better, the thresholds are found from any guess, and nothing is tried
    /// twice.
    #[test]
    fn monotone_thresholds_are_found(works in 2usize..500, more in 0usize..=80, guess in 0usize..1000) {
        let mut tried = Vec::new();
        let found = search(guess, 4000, |p| {
            tried.push(p);
            match p {
                _ if p >= works + more => Verdict::Exact,
                _ if p >= works => Verdict::Works,
                _ => Verdict::Fails,
            }
        });
        let exact = Some(works + more).filter(|_| more + CONFIRMED <= BEYOND);
        prop_assert_eq!(found.0, Some(works));
        // Beyond that it is found only where the first search had confirmed it.
        prop_assert!(found.1 == exact || found.1 == Some(works + more));
        tried.sort_unstable();
        let count = tried.len();
        tried.dedup();
        prop_assert_eq!(tried.len(), count);
    }
}

/// A lucky number below the threshold is not a threshold if a failure is seen above it.
#[test]
fn luck_is_not_taken_for_a_threshold() {
    // 20 works by luck, and bisection between 16 and 32 would end at it: 24, 20, 18, 19.
    let lucky = |p| match p {
        20 | 24.. => Verdict::Works,
        _ => Verdict::Fails,
    };
    assert_eq!(search(16, 1000, lucky), (Some(24), None));
    // Failures at every third number up to 40: three in a row work, but not CONFIRMED.
    let thirds = |p| match p {
        41.. => Verdict::Exact,
        _ if p % 3 == 0 => Verdict::Fails,
        _ => Verdict::Works,
    };
    assert_eq!(search(30, 1000, thirds), (Some(40), Some(41)));
}

#[test]
fn a_network_that_never_works_has_no_threshold() {
    assert_eq!(search(10, 100, |_| Verdict::Fails), (None, None));
    // It would have to be confirmed beyond the end.
    let late = |p| match p {
        99.. => Verdict::Works,
        _ => Verdict::Fails,
    };
    assert_eq!(search(10, 100, late), (None, None));
    assert_eq!(search(5, 100, |_| Verdict::Exact), (Some(2), Some(2)));
}

/// The tolerance is strict: half a step would fit two outputs.
#[test]
fn verdicts_on_numbers() {
    let r = |text: &str| text.parse::<Rational>().unwrap();
    let resolution = Resolution::new(1, r("2"), Rational::ONE, 2).unwrap();
    assert_eq!(tolerance(&resolution), r("1/16"));
    let of = |found| Verdict::of(&r(found), &r("-1/4"), &r("1/16"));
    assert_eq!(of("-1/4"), Verdict::Exact);
    assert_eq!(of("-4/17"), Verdict::Works);
    assert_eq!(of("-5/16"), Verdict::Fails);
    assert_eq!(of("-3/16"), Verdict::Fails);
    assert_eq!(of("0"), Verdict::Fails);
}

#[test]
fn candidates_are_every_cell_once_and_the_last_first() {
    let resolution = Resolution::new(2, Rational::ONE, Rational::ONE, 2).unwrap();
    let groups = Groups::new(&resolution, 1).unwrap();
    let sample = |seed| Sample {
        cells: 4,
        fraction_bits: 4,
        seed,
    };
    let inputs: Vec<_> = sample(1).candidates(&resolution, groups).collect();
    let cell = |x: &Vec<Rational>| x.iter().map(|x| x.scaled(2).floor()).collect::<Vec<_>>();
    let mut cells: Vec<_> = inputs.iter().map(cell).collect();
    assert_eq!(cells[0], [3.into(), 3.into()]);
    cells.sort();
    cells.dedup();
    assert_eq!(cells.len(), 16);
    let again: Vec<_> = sample(1).candidates(&resolution, groups).collect();
    assert_eq!(again, inputs);
    let others: Vec<_> = sample(2).candidates(&resolution, groups).collect();
    assert_ne!(others, inputs);
}
