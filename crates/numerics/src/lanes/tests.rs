use super::*;
use crate::stream::Stream;
use proptest::prelude::*;

/// Every operation on a set of inputs, as bits.
struct Everything<'a>(&'a [Lane; LANES]);

impl Kernel for Everything<'_> {
    type Output = Vec<u32>;
    #[inline(always)]
    fn run<S: Across>(self, s: S) -> Vec<u32> {
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
            push(s.tanh(a));
            push(s.sigmoid(a));
            push(s.sin(a));
            let (sin, cos) = s.sin_cos(a);
            push(sin);
            push(cos);
            push(s.splat(s.sum(a)));
        }
        push(s.sums(v));
        push(s.load(&Lane(v.map(|x| s.sum(x)))));
        out
    }
}

/// The operations that do not look across lanes, a line for each result, in two pieces; the second
/// calls a kernel apart.
struct LaneByLane<'a>(&'a [Lane; LANES], &'a mut [Vec<Lane>; 2]);

impl Lanewise for LaneByLane<'_> {
    #[inline(always)]
    fn pieces<S: Simd>(&self) -> usize {
        2
    }

    #[inline(always)]
    fn run<S: Simd>(&mut self, s: S, piece: usize) {
        if piece == 1 {
            return s.apart(Exps(self.0, &mut self.1[1]));
        }
        for (w, to) in self.0.windows(4).zip(self.1[0].chunks_exact_mut(14)) {
            let [a, b, c, d] = [0, 1, 2, 3].map(|i| s.load(&w[i]));
            let (sin, cos) = s.sin_cos(a);
            let results = [
                s.add(a, b),
                s.sub(a, b),
                s.mul(a, b),
                s.div(a, b),
                s.fma(a, b, c),
                s.max(a, b),
                s.min(a, b),
                s.sqrt(a),
                s.select_greater(a, b, c, d),
                s.tanh(a),
                s.sigmoid(a),
                s.sin(a),
                sin,
                cos,
            ];
            for (to, result) in to.iter_mut().zip(results) {
                s.store(to, result);
            }
        }
    }
}

struct Exps<'a>(&'a [Lane; LANES], &'a mut [Lane]);

impl Lanewise for Exps<'_> {
    #[inline(always)]
    fn run<S: Simd>(&mut self, s: S, _: usize) {
        for (from, to) in self.0.iter().zip(&mut *self.1) {
            let e = s.exp(s.load(from));
            s.store(to, e);
        }
    }
}

/// What [`LaneByLane`] computes, as bits.
fn lane_by_lane(level: Level, lines: &[Lane; LANES]) -> Vec<u32> {
    let mut results = [vec![Lane::ZERO; 13 * 14], vec![Lane::ZERO; LANES]];
    level.lanewise(LaneByLane(lines, &mut results));
    let bits = |x: &f32| if x.is_nan() { f32::NAN } else { *x }.to_bits();
    let lines = results.iter().flat_map(|lines| Lane::flatten(lines));
    lines.map(bits).collect()
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
        let first_lanes = lane_by_lane(levels[0], &lines);
        for level in &levels[1..] {
            prop_assert_eq!(&lane_by_lane(*level, &lines), &first_lanes, "level {}", level.name());
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
    fn run<S: Across>(self, s: S) -> f32 {
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

/// A function of sixteen arguments at once.
#[derive(Clone, Copy)]
enum Function {
    Tanh,
    Sigmoid,
    Sin,
    SinOfPair,
    CosOfPair,
}

struct At(Function, [f32; LANES]);

impl Kernel for At {
    type Output = [f32; LANES];
    #[inline(always)]
    fn run<S: Across>(self, s: S) -> [f32; LANES] {
        let x = s.load(&Lane(self.1));
        let y = match self.0 {
            Function::Tanh => s.tanh(x),
            Function::Sigmoid => s.sigmoid(x),
            Function::Sin => s.sin(x),
            Function::SinOfPair => s.sin_cos(x).0,
            Function::CosOfPair => s.sin_cos(x).1,
        };
        let mut to = Lane::ZERO;
        s.store(&mut to, y);
        to.0
    }
}

/// The largest error over arguments, in units of what `unit` says of the exact value.
fn worst(
    function: Function,
    arguments: impl Iterator<Item = f32>,
    exact: fn(f64) -> f64,
    unit: fn(f64) -> f64,
) -> (f64, f32) {
    let arguments: Vec<f32> = arguments.collect();
    let mut worst = (0.0, 0.0);
    for chunk in arguments.chunks(LANES) {
        let mut x = [chunk[0]; LANES];
        x[..chunk.len()].copy_from_slice(chunk);
        for (x, y) in x.iter().zip(Level::fastest().run(At(function, x))) {
            let exact = exact(f64::from(*x));
            let error = (f64::from(y) - exact).abs() / unit(exact);
            assert!(!error.is_nan(), "{x}: {y}, not {exact}");
            if error > worst.0 {
                worst = (error, *x);
            }
        }
    }
    worst
}

/// The distance between neighbouring numbers of 32 bits at a value.
fn last_place(exact: f64) -> f64 {
    let at = (exact.abs() as f32).max(f32::MIN_POSITIVE);
    f64::from(f32::from_bits(at.to_bits() + 1)) - f64::from(at)
}

/// Both signs of numbers from `largest` down over a hundred powers of two, 200 to each, and some at random.
fn grid(largest: f32) -> impl Iterator<Item = f32> {
    let count = 200 * 100;
    let even = move |i: u64| largest * (-(i as f32) / 200.0).exp2();
    let random = move |i: u64| largest * Stream::new(3).uniform(i) as f32;
    let both = (0..count)
        .map(even)
        .chain((0..100_000).map(random))
        .flat_map(|x| [x, -x]);
    both.chain([0.0])
}

#[test]
fn smooth_functions_are_accurate() {
    let sigmoid = |x: f64| 1.0 / (1.0 + libm::exp(-x));
    for (function, largest, exact, unit, bound) in [
        (
            Function::Tanh,
            1e30,
            libm::tanh as fn(f64) -> f64,
            last_place as fn(f64) -> f64,
            4.0,
        ),
        (Function::Sigmoid, 87.0, sigmoid, last_place, 4.0),
        (Function::Sin, 1e4, libm::sin, last_place, 2.0),
        (Function::SinOfPair, 1e4, libm::sin, last_place, 2.0),
        (Function::CosOfPair, 1e4, libm::cos, |_| 1.0, 1.5e-7),
    ] {
        let (error, at) = worst(function, grid(largest), exact, unit);
        assert!(error < bound, "off by {error} at {at}");
    }
}

#[test]
fn smooth_functions_are_bounded_everywhere() {
    let at = |function, x| Level::fastest().run(At(function, [x; LANES]))[0];
    for x in [1e5, 3e7, 1e12, 1e30, f32::MAX] {
        for x in [x, -x] {
            assert_eq!(at(Function::Tanh, x), x.signum());
            assert!((0.0..=1.0).contains(&at(Function::Sigmoid, x)));
            for function in [Function::Sin, Function::SinOfPair, Function::CosOfPair] {
                assert!(at(function, x).abs() <= 1.000_001, "{x}");
            }
        }
    }
    assert_eq!(at(Function::Tanh, f32::INFINITY), 1.0);
    assert_eq!(at(Function::Sigmoid, f32::INFINITY), 1.0);
    assert!(at(Function::Sigmoid, f32::NEG_INFINITY) < 2e-38);
    assert_eq!(at(Function::Tanh, -0.0).to_bits(), (-0.0f32).to_bits());
    assert_eq!(at(Function::Sigmoid, 0.0), 0.5);
    for function in [
        Function::Tanh,
        Function::Sigmoid,
        Function::Sin,
        Function::SinOfPair,
        Function::CosOfPair,
    ] {
        assert!(at(function, f32::NAN).is_nan());
    }
}
