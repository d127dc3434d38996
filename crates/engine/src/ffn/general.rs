//! Any state dimension: the state lies in memory. Operations and their order are those of
//! the register kernels, so the bits agree.

use super::backward::Steps;
use super::pack::Packing;
use crate::feedforward::affine;
use loopfit_numerics::lanes::{Lane, Level};

/// Strips that go through all iterations together.
const N: usize = 4;

/// Where the forward pass leaves every iteration for the backward pass: states, hidden values
/// and, of smooth units, derivatives.
pub(super) struct Kept<'a> {
    pub(super) z: &'a mut [Lane],
    pub(super) h: &'a mut [Lane],
    pub(super) slopes: &'a mut [Lane],
}

/// As [`super::forward::Forward`], the states and hidden values of every iteration to `kept`.
pub(super) fn forward(
    level: Level,
    p: &Packing,
    params: &[f32],
    x: &[Lane],
    out: &mut [Lane],
    mut kept: Option<Kept<'_>>,
) {
    let (d, q, r) = (p.d, p.q, p.r);
    let strips = x.len() / d;
    let mut z = vec![Lane::ZERO; N * q];
    let mut next = vec![Lane::ZERO; N * q];
    let mut h = vec![Lane::ZERO; N * r];
    for strip in (0..strips).step_by(N) {
        let m = N.min(strips - strip);
        let (z, next, h) = (&mut z[..m * q], &mut next[..m * q], &mut h[..m * r]);
        affine(level, &params[p.input()], &x[strip * d..][..m * d], d, z, q);
        for t in 0..p.iterations {
            let block = p.block_at(t);
            let hidden = p.hidden(level, params, block);
            let b2 = &params[p.b2(block)];
            if let Some(kept) = &mut kept {
                let first = p.step_at(t) * strips + strip;
                let range = first * r..(first + m) * r;
                let slopes = match p.is_smooth() {
                    true => &mut kept.slopes[range.clone()],
                    false => &mut [],
                };
                let h = &mut kept.h[range];
                hidden.values(z, h, slopes);
                hidden.residual(z, h, b2, next);
                kept.z[(p.state_at(t) * strips + strip) * q..][..m * q].copy_from_slice(z);
            } else {
                hidden.values(z, h, &mut []);
                hidden.residual(z, h, b2, next);
            }
            z.copy_from_slice(next);
        }
        if let Some(kept) = &mut kept {
            kept.z[strip * q..][..m * q].copy_from_slice(z);
        }
        let out = &mut out[strip * p.outputs..][..m * p.outputs];
        affine(level, &params[p.output()], z, q, out, p.outputs);
    }
}

/// As [`super::backward::Backward`].
pub(super) fn backward(level: Level, p: &Packing, params: &[f32], at: Steps<'_>) {
    let (q, r) = (p.q, p.r);
    let Steps {
        strips,
        steps,
        h,
        a,
        g,
    } = at;
    let mut room = vec![Lane::ZERO; if p.is_smooth() { strips * r } else { 0 }];
    for (step, a) in steps.zip(a.chunks_exact_mut(strips * r)) {
        let hidden = p.hidden(level, params, p.block_at(p.step_at(step)));
        let (old, new) = g[step * strips * q..][..2 * strips * q].split_at_mut(strips * q);
        let h = &h[step * strips * r..][..strips * r];
        match p.is_smooth() {
            true => hidden.smooth_backward(old, &mut room, a, new),
            false => hidden.backward(old, h, a, new),
        }
    }
}
