//! Weight gradients: sums of outer products over (iteration, strip), lane by lane.

use super::Activations;
use super::pack::Packing;
use crate::outer::{Factor, SumRows, Target, outer_product};
use loopfit_numerics::lanes::{Lane, Level};
use std::ops::Range;

/// Adds the gradients of all coefficients to `acc`.
///
/// # Formula
/// `dW1 += a_t z_t^T`, `db1 += a_t`, `dW2 += g_{t+1} h_t^T`, `db2 += g_{t+1}`, and the
/// two affine maps likewise, over iterations in ascending order.
pub(super) fn accumulate(
    level: Level,
    p: &Packing,
    strips: usize,
    x: &[Lane],
    g_out: &[Lane],
    kept: &Activations,
    acc: &mut [Lane],
) {
    let (d, q, r) = (p.d, p.q, p.r);
    let state = strips * q;
    let hidden = strips * r;
    let affine = |acc: &mut [Lane], grad: &[Lane], rows: usize, input: &[Lane], cols: usize| {
        let (grad, input) = (Factor::new(grad, rows), Factor::new(input, cols));
        outer_product(level, acc, Target::affine(cols), grad, input);
    };
    affine(&mut acc[p.input()], &kept.g[..state], q, x, d);
    for block in 0..p.blocks {
        let t = if p.blocks == 1 {
            0..p.iterations
        } else {
            block..block + 1
        };
        let (z, h) = (&kept.z[scale(&t, state)], &kept.h[scale(&t, hidden)]);
        let a = &kept.a[scale(&t, hidden)];
        let g = &kept.g[scale(&(t.start + 1..t.end + 1), state)];
        let units = &mut acc[p.units(block)];
        outer_product(
            level,
            units,
            Target::incoming(q),
            Factor::new(a, r),
            Factor::new(z, q),
        );
        outer_product(
            level,
            units,
            Target::outgoing(q),
            Factor::new(h, r),
            Factor::new(g, q),
        );
        level.run(SumRows {
            acc: &mut acc[p.b2(block)],
            rows: g,
        });
    }
    affine(
        &mut acc[p.output()],
        g_out,
        p.outputs,
        &kept.z[p.iterations * state..],
        q,
    );
}

fn scale(range: &Range<usize>, by: usize) -> Range<usize> {
    range.start * by..range.end * by
}
