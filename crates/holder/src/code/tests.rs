use super::*;
use proptest::prelude::*;

/// Weights of all words, by their number.
fn weights(cyclic: Cyclic) -> Vec<usize> {
    let mut counts = vec![0; cyclic.length() + 1];
    for message in 0..1u64 << cyclic.bits {
        counts[cyclic.encode(message).count_ones() as usize] += 1;
    }
    counts
}

/// MacWilliams and Sloane, "The theory of error-correcting codes": the extended Golay code has
/// 759 words of weight 8, 2576 of weight 12, 759 of weight 16; the extended Hamming code of
/// length 8 has 14 of weight 4.
#[test]
fn inner_codes_have_the_known_weights() {
    let golay = weights(Cyclic::extended_golay());
    assert_eq!(golay.len(), 25);
    let nonzero: Vec<(usize, usize)> = (0..25).map(|w| (w, golay[w])).filter(|p| p.1 > 0).collect();
    assert_eq!(nonzero, [(0, 1), (8, 759), (12, 2576), (16, 759), (24, 1)]);
    let hamming = weights(Cyclic::extended_hamming(0b1011, 8));
    assert_eq!(hamming, [1, 0, 0, 0, 14, 0, 0, 0, 1]);
}

/// The lemma's need of every length that there is: `2^{n/8}` words, an eighth apart.
#[test]
fn every_length_has_a_plan() {
    for n in 1..=MAX_LENGTH {
        let plan = Plan::new(n, n.div_ceil(8)).unwrap();
        assert!(8 * plan.bits() >= n, "{n}");
        assert!(8 * plan.distance() >= n, "{n}");
        assert!(plan.symbols * plan.inner.length() <= n, "{n}");
        assert!(plan.symbols <= 1 << plan.inner.bits, "{n}");
    }
}

#[test]
fn other_lengths_are_refused() {
    for n in [0, MAX_LENGTH + 1, usize::MAX] {
        assert!(matches!(Code::new(n), Err(Error::CodeLength(length)) if length == n));
    }
}

/// Every word of every code that is small enough, and the argument for the others.
#[test]
fn distances_are_verified() {
    let large = [512, 1000, 4096, 98_304];
    for n in (1..=300).chain(large) {
        let code = Code::new(n).unwrap();
        let distance = code.verify(n as u64);
        assert!(distance.holds, "{n}");
        assert_eq!(distance.exhaustive, code.bits() <= 26, "{n}");
        assert!(distance.proved >= n.div_ceil(8), "{n}");
        assert!(weight(&distance.lightest) >= distance.proved, "{n}");
        assert_eq!(distance.lightest.len(), n);
    }
}

/// What the polynomial with the most zeros says about Reed-Solomon codes: its word is as light as the
/// outer code allows, with inner words of any weight.
#[test]
fn the_outer_distance_is_attained() {
    for n in [64, 129, 300, 1000] {
        let code = Code::new(n).unwrap();
        let word = code.many_zeros();
        let inner = code.plan.inner.length();
        let symbols = word.chunks(inner).filter(|c| weight(c) > 0).count();
        assert_eq!(symbols, code.plan.symbols + 1 - code.plan.dimension, "{n}");
    }
}

#[test]
fn messages_have_a_range() {
    let code = Code::new(9).unwrap();
    assert_eq!(code.bits(), 8);
    assert!(code.word(255).is_ok());
    assert_eq!(
        code.word(256),
        Err(Error::Member {
            index: 256,
            bits: 8
        })
    );
    assert!(Code::new(1000).unwrap().word(u64::MAX).is_ok());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Any two different words are as far apart as the code says, and the sum of two messages has
    /// the sum of their words.
    #[test]
    fn words_are_far_apart_and_add(n in 1usize..3000, a: u64, b: u64) {
        let code = Code::new(n).unwrap();
        let mask = if code.bits() < 64 { (1 << code.bits()) - 1 } else { u64::MAX };
        let (a, b) = (a & mask, b & mask);
        let [x, y, sum] = [a, b, a ^ b].map(|index| code.word(index).unwrap());
        let differing: Vec<bool> = x.iter().zip(&y).map(|(x, y)| x != y).collect();
        prop_assert_eq!(&differing, &sum);
        prop_assert!(a == b || weight(&sum) >= code.distance());
    }

    #[test]
    fn draws_are_words(n in 1usize..40, seed: u64) {
        let code = Code::new(n).unwrap();
        let word = code.draw(Stream::new(seed));
        let found = (0..1u64 << code.bits().min(12)).any(|i| code.word(i).unwrap() == word);
        prop_assert!(found || code.bits() > 12);
    }
}

/// The message bits of draws are fair.
#[test]
fn draws_are_uniform() {
    let code = Code::new(2).unwrap();
    let mut counts = [0.0; 4];
    let draws = 4000;
    for i in 0..draws {
        counts[number(&code.draw(Stream::new(5).nth(i))) as usize] += 1.0;
    }
    let expected = draws as f64 / 4.0;
    let chi2: f64 = counts
        .iter()
        .map(|c: &f64| (c - expected).powi(2) / expected)
        .sum();
    // The 0.9999 quantile of chi-square with 3 degrees of freedom is 21.11 (tables).
    assert!(chi2 < 21.11, "{chi2}");
}
