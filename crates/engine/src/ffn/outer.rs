//! Weight gradients: sums of outer products over (iteration, strip), lane by lane.

use super::Activations;
use super::pack::Packing;
use crate::outer::{Factor, SumRows, Target, outer_product, vectors_at_once};
use loopfit_numerics::lanes::{Lane, Level};
use std::ops::Range;

/// The gradients of a block's coefficients, from all of its iterations, counted from the last; added to `acc` or
/// written there.
///
/// # Formula
/// `dW1 += a_t z_t^T`, `db1 += a_t`, `dW2 += g_{t+1} h_t^T`, `db2 += g_{t+1}`, over iterations in
/// descending order.
pub(super) fn block(
    level: Level,
    p: &Packing,
    strips: usize,
    steps: Range<usize>,
    kept: &Activations,
    (acc, add): (&mut [Lane], bool),
) {
    let (q, r) = (p.q, p.r);
    let of = |lines, width: usize, vectors: Range<usize>| -> Factor {
        let lines: &[Lane] = lines;
        Factor::new(&lines[vectors.start * width..vectors.end * width], width)
    };
    let block = p.block_at(p.step_at(steps.start));
    let (start, end) = (steps.start * strips, steps.end * strips);
    let at_once = vectors_at_once(level, q + r).min(end - start);
    for first in (start..end).step_by(at_once) {
        let now = first..end.min(first + at_once);
        // `z_t` stands one behind `g_{t+1}`: the states after the iterations come first.
        let before = now.start + strips..now.end + strips;
        let (a, z) = (of(&kept.a, r, now.clone()), of(&kept.z, q, before));
        let (h, g) = (of(&kept.h, r, now.clone()), of(&kept.g, q, now));
        let add = add || first > start;
        let units = &mut acc[p.units(block)];
        outer_product(level, units, Target::incoming(q, add), a, z);
        outer_product(level, units, Target::outgoing(q, add), h, g);
        level.lanewise(SumRows {
            add,
            acc: &mut acc[p.b2(block)],
            rows: g.lines,
        });
    }
}

/// The gradients of an affine map, added to `acc` or written there, from `input` (`width` numbers) whose outputs (`height`
/// numbers) have the gradients `grad`.
pub(super) fn affine(
    level: Level,
    (acc, add): (&mut [Lane], bool),
    (grad, height): (&[Lane], usize),
    (input, width): (&[Lane], usize),
) {
    let (grad, input) = (Factor::new(grad, height), Factor::new(input, width));
    outer_product(level, acc, Target::affine(width, add), grad, input);
}
