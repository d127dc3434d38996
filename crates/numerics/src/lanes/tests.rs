use super::*;
use crate::stream::Stream;
use proptest::prelude::*;

/// Every operation on a set of inputs, as bits.
struct Everything<'a>(&'a [Lane; LANES]);

impl Kernel for Everything<'_> {
    type Output = Vec<u32>;
    #[inline(always)]
    fn run<S: Simd>(self, s: S) -> Vec<u32> {
        let v: [S::V; LANES] = std::array::from_fn(|i| s.load(&self.0[i]));
        let mut out = Vec::new();
        let mut push = |v: S::V| {
            let mut lane = Lane::ZERO;
            s.store(&mut lane, v);
            // All NaNs are one result: hardware and software may disagree on their payload.
            out.extend(lane.0.map(|x| {
                if x.is_nan() {
                    f32::NAN.to_bits()
                } else {
                    x.to_bits()
                }
            }));
        };
        for w in v.windows(4) {
            let [a, b, c, d] = [w[0], w[1], w[2], w[3]];
            push(s.add(a, b));
            push(s.sub(a, b));
            push(s.mul(a, b));
            push(s.div(a, b));
            push(s.fma(a, b, c));
            push(s.max(a, b));
            push(s.min(a, b));
            push(s.sqrt(a));
            push(s.select_greater(a, b, c, d));
            push(s.exp(a));
            push(s.splat(s.sum(a)));
        }
        push(s.sums(v));
        push(s.load(&Lane(v.map(|x| s.sum(x)))));
        out
    }
}

fn random_lines(seed: u64) -> [Lane; LANES] {
    let odd = [
        0.0,
        -0.0,
        f32::NAN,
        f32::INFINITY,
        f32::NEG_INFINITY,
        f32::MIN_POSITIVE,
        1e-42,
        3.4e38,
    ];
    std::array::from_fn(|i| {
        let s = Stream::new(seed).nth(i as u64);
        Lane(std::array::from_fn(|j| {
            let j = j as u64;
            match s.below(2 * j, 8) {
                0 => odd[s.below(2 * j + 1, odd.len() as u64) as usize],
                1 => (s.normal(2 * j + 1) * 1e20) as f32,
                _ => (s.normal(2 * j + 1) * 10.0) as f32,
            }
        }))
    })
}

proptest! {
    #[test]
    fn every_level_gives_the_same_bits(seed: u64) {
        let lines = random_lines(seed);
        let levels = Level::available();
        let first = levels[0].run(Everything(&lines));
        for level in &levels[1..] {
            prop_assert_eq!(&level.run(Everything(&lines)), &first, "level {}", level.name());
        }
        // The butterfly and the one-by-one sums are the last two groups of sixteen.
        let (butterfly, single) = first[first.len() - 32..].split_at(16);
        prop_assert_eq!(butterfly, single);
    }
}

struct Exp(f32);

impl Kernel for Exp {
    type Output = f32;
    #[inline(always)]
    fn run<S: Simd>(self, s: S) -> f32 {
        s.sum(s.mul(s.exp(s.splat(self.0)), s.splat(1.0 / LANES as f32)))
    }
}

#[test]
fn exp_is_accurate_and_never_overflows() {
    for i in 0..20_000 {
        let x = -82.0 + f32::from(i as u16) * (170.0 / 20_000.0);
        let exact = libm::exp(f64::from(x));
        let got = f64::from(Level::fastest().run(Exp(x)));
        assert!((got / exact - 1.0).abs() < 2.5e-7, "x {x}: {got} {exact}");
    }
    assert!(Level::fastest().run(Exp(1e30)).is_finite());
    assert!(Level::fastest().run(Exp(-1e30)) > 0.0);
    assert_eq!(Level::fastest().run(Exp(0.0)), 1.0);
    assert!(Level::fastest().run(Exp(f32::NAN)).is_nan());
}
