//! Counter-based random streams: draw `i` of a stream is a pure function of the
//! stream's key and `i`, so draws can be made in any order, on any thread, and a
//! longer sample always starts with the shorter one.

/// Increment of the SplitMix64 counter: the odd integer nearest `2^64 / golden ratio`.
const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

/// A named source of random numbers.
///
/// Streams form a tree: [`Stream::child`] and [`Stream::nth`] give independent
/// sub-streams, one for each role (training inputs, noise, batch order, ...).
///
/// # Formula
/// `bits(i) = mix(key + (i + 1) * GOLDEN)` with the SplitMix64 finaliser `mix`.
///
/// # Reference
/// Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Stream {
    key: u64,
}

impl Stream {
    /// The root stream of a seed.
    pub fn new(seed: u64) -> Self {
        Self { key: seed }
    }

    /// The sub-stream with a name.
    pub fn child(self, label: &str) -> Self {
        // FNV-1a, then two rounds of mixing so that labels and indices cannot collide.
        let hash = label.bytes().fold(0xCBF2_9CE4_8422_2325_u64, |h, b| {
            (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01B3)
        });
        Self {
            key: mix(mix(self.key ^ 0x6C62_272E_07BB_0142).wrapping_add(hash)),
        }
    }

    /// The sub-stream with a number.
    pub fn nth(self, index: u64) -> Self {
        Self {
            key: mix(mix(self.key ^ 0xD1B5_4A32_D192_ED03).wrapping_add(index)),
        }
    }

    /// The stream's key: what a specification records.
    pub fn key(self) -> u64 {
        self.key
    }

    /// Sixty-four random bits.
    #[inline]
    pub fn bits(self, index: u64) -> u64 {
        mix(self
            .key
            .wrapping_add(index.wrapping_add(1).wrapping_mul(GOLDEN)))
    }

    /// A uniform number in the open interval (0, 1), on the grid `(k + 1/2) / 2^52`.
    #[inline]
    pub fn uniform(self, index: u64) -> f64 {
        ((self.bits(index) >> 12) as f64 + 0.5) * (1.0 / (1u64 << 52) as f64)
    }

    /// A standard normal number, by inversion of [`Stream::uniform`].
    pub fn normal(self, index: u64) -> f64 {
        crate::special::normal_quantile(self.uniform(index))
    }

    /// A fair sign, +1 or -1.
    pub fn sign(self, index: u64) -> f64 {
        if self.bits(index) >> 63 == 0 {
            1.0
        } else {
            -1.0
        }
    }

    /// An integer in `0..n`. The bias of the multiply-shift is below `n / 2^64`.
    pub fn below(self, index: u64, n: u64) -> u64 {
        ((u128::from(self.bits(index)) * u128::from(n)) >> 64) as u64
    }

    /// Fills `order` with a random permutation of `0..order.len()` (Fisher-Yates). Each
    /// position takes half of a draw; the bias is below `len / 2^32`.
    pub fn permute(self, order: &mut [u32]) {
        assert!(
            u32::try_from(order.len()).is_ok(),
            "a permutation of more than 2^32 items"
        );
        for (i, o) in order.iter_mut().enumerate() {
            *o = i as u32;
        }
        let below = |half: u64, i: usize| ((half * (i as u64 + 1)) >> 32) as usize;
        let mut end = order.len();
        // Position `i` takes the lower half of draw `i` if it is odd, else the upper half of draw `i + 1`.
        if end % 2 == 1 {
            end -= 1;
            order.swap(end, below(self.bits(end as u64 + 1) >> 32, end));
        }
        while end > 0 {
            let (odd, even) = (end - 1, end - 2);
            let bits = self.bits(odd as u64);
            order.swap(odd, below(bits & 0xFFFF_FFFF, odd));
            order.swap(even, below(bits >> 32, even));
            end = even;
        }
    }
}

#[inline]
fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Vigna's splitmix64.c, seed 1234567 (the values Rosetta Code lists).
    #[test]
    fn matches_splitmix64() {
        let s = Stream::new(1_234_567);
        let expected = [
            6_457_827_717_110_365_317,
            3_203_168_211_198_807_973,
            9_817_491_932_198_370_423,
            4_593_380_528_125_082_431,
            16_408_922_859_458_223_821,
        ];
        for (i, e) in expected.into_iter().enumerate() {
            assert_eq!(s.bits(i as u64), e);
        }
    }

    #[test]
    fn children_differ_from_each_other_and_from_the_parent() {
        let s = Stream::new(7);
        let mut keys: Vec<u64> = ["train x", "valid x", "noise"]
            .iter()
            .map(|l| s.child(l).key())
            .collect();
        keys.extend((0..1000).map(|i| s.nth(i).key()));
        keys.push(s.key());
        let n = keys.len();
        keys.sort_unstable();
        keys.dedup();
        assert_eq!(keys.len(), n);
    }

    #[test]
    fn moments_of_uniform_and_normal() {
        let s = Stream::new(3).child("moments");
        let n = 200_000;
        let (mut u1, mut z1, mut z2, mut z4) = (0.0, 0.0, 0.0, 0.0);
        for i in 0..n {
            let (u, z) = (s.uniform(i), s.normal(i));
            u1 += u;
            z1 += z;
            z2 += z * z;
            z4 += z * z * z * z;
        }
        let n = n as f64;
        // Five standard errors of each moment.
        assert!((u1 / n - 0.5).abs() < 5.0 * (1.0 / 12.0 / n).sqrt());
        assert!((z1 / n).abs() < 5.0 / n.sqrt());
        assert!((z2 / n - 1.0).abs() < 5.0 * (2.0 / n).sqrt());
        assert!((z4 / n - 3.0).abs() < 5.0 * (96.0 / n).sqrt());
    }

    proptest! {
        #[test]
        fn permutations_are_permutations(seed: u64, n in 0usize..300) {
            let mut order = vec![0; n];
            Stream::new(seed).permute(&mut order);
            let mut sorted = order.clone();
            sorted.sort_unstable();
            prop_assert_eq!(sorted, (0..n as u32).collect::<Vec<_>>());
        }

        #[test]
        fn below_is_below(seed: u64, i: u64, n in 1u64..) {
            prop_assert!(Stream::new(seed).below(i, n) < n);
        }
    }
}
