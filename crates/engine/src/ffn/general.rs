//! Any state dimension: the state lies in memory. Operations and their order are those of
//! the register kernels, so the bits agree.

use super::pack::Packing;
use crate::products::{Bias, Finish, Matrix, Products, Start};
use loopfit_numerics::lanes::{Lane, Level};

/// Strips that go through all iterations together.
const N: usize = 4;

/// As [`super::forward::Forward`], the states and hidden values of every iteration to `kept`.
pub(super) fn forward(
    level: Level,
    p: &Packing,
    params: &[f32],
    x: &[Lane],
    out: &mut [Lane],
    mut kept: Option<(&mut [Lane], &mut [Lane])>,
) {
    let (d, q, r) = (p.d, p.q, p.r);
    let strips = x.len() / d;
    let mut z = vec![Lane::ZERO; N * q];
    let mut next = vec![Lane::ZERO; N * q];
    let mut h = vec![Lane::ZERO; N * r];
    for strip in (0..strips).step_by(N) {
        let m = N.min(strips - strip);
        let (z, next, h) = (&mut z[..m * q], &mut next[..m * q], &mut h[..m * r]);
        let affine = |rows: &[f32], from: &[Lane], width, to: &mut [Lane], height| {
            level.run(Products {
                matrix: Matrix::affine(rows, width),
                start: Start::Bias(Bias::affine(rows, width)),
                finish: Finish::Sum,
                from,
                width,
                to,
                height,
            });
        };
        affine(&params[p.input()], &x[strip * d..][..m * d], d, z, q);
        for t in 0..p.iterations {
            let block = p.block_at(t);
            let units = &params[p.units(block)];
            level.run(Products {
                matrix: Matrix::incoming(units, q),
                start: Start::Bias(Bias::incoming(units, q)),
                finish: Finish::Relu,
                from: z,
                width: q,
                to: h,
                height: r,
            });
            if let Some((kept_z, kept_h)) = &mut kept {
                kept_z[(t * strips + strip) * q..][..m * q].copy_from_slice(z);
                kept_h[(t * strips + strip) * r..][..m * r].copy_from_slice(h);
            }
            level.run(Products {
                matrix: Matrix::outgoing(units, q),
                start: Start::RowsAndBias(z, Bias::new(&params[p.b2(block)])),
                finish: Finish::Sum,
                from: h,
                width: r,
                to: next,
                height: q,
            });
            z.copy_from_slice(next);
        }
        if let Some((kept_z, _)) = &mut kept {
            kept_z[(p.iterations * strips + strip) * q..][..m * q].copy_from_slice(z);
        }
        let out = &mut out[strip * p.outputs..][..m * p.outputs];
        affine(&params[p.output()], z, q, out, p.outputs);
    }
}

/// As [`super::backward::Backward`].
pub(super) fn backward(
    level: Level,
    p: &Packing,
    params: &[f32],
    g_out: &[Lane],
    h: &[Lane],
    a: &mut [Lane],
    kept_g: &mut [Lane],
) {
    let (q, r) = (p.q, p.r);
    let strips = g_out.len() / p.outputs;
    let mut g = vec![Lane::ZERO; N * q];
    let mut next = vec![Lane::ZERO; N * q];
    for strip in (0..strips).step_by(N) {
        let m = N.min(strips - strip);
        let (g, next) = (&mut g[..m * q], &mut next[..m * q]);
        level.run(Products {
            matrix: Matrix::affine(&params[p.output()], q).transposed(),
            start: Start::Constant(0.0),
            finish: Finish::Sum,
            from: &g_out[strip * p.outputs..][..m * p.outputs],
            width: p.outputs,
            to: g,
            height: q,
        });
        for t in (0..p.iterations).rev() {
            kept_g[((t + 1) * strips + strip) * q..][..m * q].copy_from_slice(g);
            let units = &params[p.units(p.block_at(t))];
            let a = &mut a[(t * strips + strip) * r..][..m * r];
            level.run(Products {
                matrix: Matrix::outgoing(units, q).transposed(),
                start: Start::Constant(-0.0),
                finish: Finish::Where(&h[(t * strips + strip) * r..][..m * r]),
                from: g,
                width: q,
                to: a,
                height: r,
            });
            level.run(Products {
                matrix: Matrix::incoming(units, q).transposed(),
                start: Start::Rows(g),
                finish: Finish::Sum,
                from: a,
                width: r,
                to: next,
                height: q,
            });
            g.copy_from_slice(next);
        }
        kept_g[strip * q..][..m * q].copy_from_slice(g);
    }
}
