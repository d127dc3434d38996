//! One sample at a time: hidden units across lanes, so that a single prediction does
//! not pay for fifteen idle samples.

use super::pack::Packing;
use crate::smooth::run_activation;
use loopfit_numerics::lanes::{Across, Kernel, LANES, Lane, Level};

/// A residual FFN laid out for predictions of single rows.
#[derive(Clone, Debug)]
pub(crate) struct RowPredictor {
    p: Packing,
    level: Level,
    input: Vec<f32>,
    /// Per block: columns of `W1` (`q` x `lines`), `b1` (`lines`), rows of `W2` (`q` x `lines`).
    blocks: Vec<Lane>,
    b2: Vec<f32>,
    output: Vec<f32>,
    z: Vec<f32>,
    h: Vec<Lane>,
}

impl RowPredictor {
    /// Lays packed coefficients out for single rows.
    pub(crate) fn new(p: Packing, level: Level, packed: &[f32]) -> Self {
        let lines = p.r.div_ceil(LANES);
        let mut blocks = Vec::new();
        let mut b2 = Vec::new();
        for block in 0..p.blocks {
            let units = &packed[p.units(block)];
            // Packed unit j holds W1[j, 0..q], b1[j], W2[0..q, j]: its transpose is what we want.
            for i in 0..2 * p.q + 1 {
                for line in 0..lines {
                    blocks.push(Lane(std::array::from_fn(|lane| {
                        let j = line * LANES + lane;
                        if j < p.r {
                            units[j * (2 * p.q + 1) + i]
                        } else {
                            0.0
                        }
                    })));
                }
            }
            b2.extend_from_slice(&packed[p.b2(block)]);
        }
        Self {
            level,
            input: packed[p.input()].to_vec(),
            blocks,
            b2,
            output: packed[p.output()].to_vec(),
            z: vec![0.0; p.q],
            h: vec![Lane::ZERO; lines],
            p,
        }
    }

    /// Outputs for one row, before clipping.
    pub(crate) fn predict(&mut self, x: &[f32], out: &mut [f32]) {
        affine(&self.input, x, &mut self.z);
        let level = self.level;
        if self.p.is_smooth() {
            level.run(IterateAny::<true>(self));
            return affine(&self.output, &self.z, out);
        }
        match self.p.q {
            1 => level.run(Iterate::<1>(self)),
            2 => level.run(Iterate::<2>(self)),
            3 => level.run(Iterate::<3>(self)),
            4 => level.run(Iterate::<4>(self)),
            5 => level.run(Iterate::<5>(self)),
            6 => level.run(Iterate::<6>(self)),
            7 => level.run(Iterate::<7>(self)),
            8 => level.run(Iterate::<8>(self)),
            _ => level.run(IterateAny::<false>(self)),
        }
        affine(&self.output, &self.z, out);
    }
}

/// `to = W x + b`, rows of `W` each followed by their bias.
fn affine(rows: &[f32], x: &[f32], to: &mut [f32]) {
    for (row, to) in rows.chunks_exact(x.len() + 1).zip(to) {
        *to = row
            .iter()
            .zip(x)
            .fold(row[x.len()], |sum, (w, x)| sum + w * x);
    }
}

/// All iterations with the state in registers.
struct Iterate<'a, const Q: usize>(&'a mut RowPredictor);

impl<const Q: usize> Kernel for Iterate<'_, Q> {
    type Output = ();

    #[inline(always)]
    fn run<S: Across>(self, s: S) {
        let RowPredictor {
            p,
            blocks,
            b2,
            z: state,
            ..
        } = self.0;
        let lines = p.r.div_ceil(LANES);
        let zero = s.splat(0.0);
        let mut z: [f32; Q] = std::array::from_fn(|k| state[k]);
        for t in 0..p.iterations {
            let block = p.block_at(t);
            let weights = &blocks[block * (2 * Q + 1) * lines..][..(2 * Q + 1) * lines];
            let b2 = &b2[block * Q..][..Q];
            let mut sums = [zero; Q];
            for line in 0..lines {
                let mut h = s.load(&weights[Q * lines + line]);
                for k in 0..Q {
                    h = s.fma(s.load(&weights[k * lines + line]), s.splat(z[k]), h);
                }
                h = s.max(zero, h);
                for k in 0..Q {
                    sums[k] = s.fma(s.load(&weights[(Q + 1 + k) * lines + line]), h, sums[k]);
                }
            }
            for k in 0..Q {
                z[k] = (z[k] + b2[k]) + s.sum(sums[k]);
            }
        }
        state.copy_from_slice(&z);
    }
}

/// All iterations for any state dimension.
struct IterateAny<'a, const SMOOTH: bool>(&'a mut RowPredictor);

impl<const SMOOTH: bool> Kernel for IterateAny<'_, SMOOTH> {
    type Output = ();

    #[inline(always)]
    fn run<S: Across>(self, s: S) {
        let RowPredictor {
            p,
            blocks,
            b2,
            z,
            h,
            ..
        } = self.0;
        let (q, lines) = (p.q, h.len());
        for t in 0..p.iterations {
            let block = p.block_at(t);
            let weights = &blocks[block * (2 * q + 1) * lines..][..(2 * q + 1) * lines];
            for (line, h) in h.iter_mut().enumerate() {
                let mut sum = s.load(&weights[q * lines + line]);
                for (k, z) in z.iter().enumerate() {
                    sum = s.fma(s.load(&weights[k * lines + line]), s.splat(*z), sum);
                }
                let positive = s.max(s.splat(0.0), sum);
                s.store(h, if SMOOTH { sum } else { positive });
            }
            if SMOOTH {
                run_activation(s, p.activation, h);
            }
            for (k, z) in z.iter_mut().enumerate() {
                let row = &weights[(q + 1 + k) * lines..][..lines];
                let mut sum = s.splat(0.0);
                for (w, h) in row.iter().zip(&*h) {
                    sum = s.fma(s.load(w), s.load(h), sum);
                }
                *z = (*z + b2[block * q + k]) + s.sum(sum);
            }
        }
    }
}
