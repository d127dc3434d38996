//! The arithmetic of the Rust template, which has neither a fused multiply-add nor a square root nor exponentials of its own: the
//! same bits as those of the standard library and of libm.

use loopfit_numerics::libm;
use loopfit_numerics::stream::Stream;

#[allow(dead_code, clippy::all)]
mod template {
    const CLIP: f32 = 8.0;
    include!("../templates/rust/arithmetic.rs");
    include!("../templates/rust/exp64.rs");
    include!("../templates/rust/log64.rs");

    pub(super) fn fused(a: f32, b: f32, c: f32) -> f32 {
        fma(a, b, c)
    }
    pub(super) fn exponential(x: f64) -> f64 {
        exp64(x)
    }
    pub(super) fn logarithm(x: f64) -> f64 {
        log64(x)
    }
}

#[allow(dead_code, clippy::all)]
mod transformer {
    const D: usize = 1;
    const Q: usize = 1;
    const R: usize = 1;
    const N: usize = 4;
    const TOKENS: usize = 1;
    const STEP: usize = 0;
    const OUTPUTS: usize = 1;
    const CLIP: f32 = 8.0;
    const SHARE: f32 = 1.0;
    const ATTENTION_SCALE: f32 = 1.0;
    const STABILISER: f32 = 1e-5;
    const TOKEN_SIZES: [usize; 1] = [1];
    const TOKEN_INPUTS: [usize; 1] = [0];
    const INPUT_WEIGHTS: [f32; 5] = [0.0; 5];
    const BLOCK_WEIGHTS: [f32; 17] = [0.0; 17];
    const OUTPUT_WEIGHTS: [f32; 5] = [0.0; 5];
    include!("../templates/rust/arithmetic.rs");
    include!("../templates/rust/relu.rs");
    include!("../templates/rust/polynomial.rs");
    include!("../templates/rust/magic.rs");
    include!("../templates/rust/exp.rs");
    include!("../templates/rust/transformer.rs");

    pub(super) fn root(x: f32) -> f32 {
        sqrt(x)
    }
}

fn same(a: f32, b: f32) -> bool {
    a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan()
}

#[test]
fn multiply_adds_round_once() {
    let s = Stream::new(1);
    let draw = |i: u64| f32::from_bits(s.bits(i) as u32);
    for i in 0..300_000 {
        let (a, b, c) = (draw(3 * i), draw(3 * i + 1), draw(3 * i + 2));
        assert!(
            same(template::fused(a, b, c), a.mul_add(b, c)),
            "{a:e} {b:e} {c:e}"
        );
        // Terms of alike sizes, and a product halfway between two numbers that a small term moves.
        let scaled =
            |v: f32, e: u32| f32::from_bits((v.to_bits() & 0x807f_ffff) | ((100 + e) << 23));
        let e = (s.bits(i) >> 40) as u32 % 50;
        let (a, b, c) = (scaled(a, e % 7), scaled(b, 27), scaled(c, e));
        assert!(
            same(template::fused(a, b, c), a.mul_add(b, c)),
            "{a:e} {b:e} {c:e}"
        );
        let (a, b) = (1.0 + f32::EPSILON * (1 + e) as f32, 1.0 + 0.5f32.powi(12));
        assert!(same(
            template::fused(a, b, c * 1e-12),
            a.mul_add(b, c * 1e-12)
        ));
    }
    // Halfway, and a hair above or below: a sum of 64 bits alone loses the hair.
    let (a, b) = (1.0 + 2f32.powi(-12), 1.0 + 2f32.powi(-12));
    for c in [
        2f32.powi(-80),
        -(2f32.powi(-80)),
        0.0,
        f32::MIN_POSITIVE,
        f32::INFINITY,
    ] {
        assert!(same(template::fused(a, b, c), a.mul_add(b, c)), "{c:e}");
        assert!(same(template::fused(-a, b, c), (-a).mul_add(b, c)), "{c:e}");
    }
}

#[test]
fn square_roots_are_the_nearest() {
    let s = Stream::new(2);
    for i in 0..300_000 {
        let x = f32::from_bits(s.bits(i) as u32 & 0x7fff_ffff);
        if x > 0.0 {
            assert!(same(transformer::root(x), x.sqrt()), "{x:e}");
        }
    }
}

#[test]
fn exponentials_and_logarithms_are_those_of_libm() {
    let s = Stream::new(3);
    for i in 0..200_000 {
        for size in [1e-9, 0.5, 2.0, 20.0, 800.0] {
            let x = size * (2.0 * s.uniform(i) - 1.0);
            assert_eq!(
                template::exponential(x).to_bits(),
                libm::exp(x).to_bits(),
                "{x:e}"
            );
        }
        let x = 1.0 + [1e-12, 0.3, 2.0, 1000.0, 1e7][i as usize % 5] * s.uniform(i);
        assert_eq!(
            template::logarithm(x).to_bits(),
            libm::log(x).to_bits(),
            "{x:e}"
        );
    }
    for x in [
        0.0,
        709.7827,
        709.79,
        -708.4,
        -745.1,
        -746.0,
        f64::INFINITY,
        f64::NEG_INFINITY,
    ] {
        assert_eq!(
            template::exponential(x).to_bits(),
            libm::exp(x).to_bits(),
            "{x:e}"
        );
    }
    assert!(template::exponential(f64::NAN).is_nan());
    assert_eq!(template::logarithm(1.0), 0.0);
}
