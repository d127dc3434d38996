//! The gradient of a batch's average negative log-likelihood in all coefficients.

use crate::batches::{Strips, Table, to_strips};
use crate::objective::{Derivative, EnergyDerivative};
use crate::program::{Activations, Program};
use loopfit_data::Samples;
use loopfit_likelihood::{Energy, Likelihood};
use loopfit_model::{Bounds, Network, Parameters};
use loopfit_numerics::lanes::{Across, Kernel, LANES, Lane, Level};

/// Computes gradients for one network and likelihood, batch after batch, in memory
/// allocated once.
#[derive(Debug)]
pub(crate) struct Gradient {
    program: Program,
    likelihood: Likelihood,
    bound: f32,
    batch: Strips,
    kept: Activations,
    out: Vec<Lane>,
    g_out: Vec<Lane>,
    /// Line `i`: the gradient of the kernels' coefficient `i`, lane by lane.
    acc: Vec<Lane>,
    /// Room for fixed coefficients.
    full: Vec<f32>,
    /// Lane `i` over all lines: the gradient of coefficient `i`.
    total: Vec<Lane>,
}

impl Gradient {
    /// For batches of `n` samples. The energy model's nodes are laid behind the batch.
    pub(crate) fn new(program: Program, likelihood: Likelihood, bound: f32, n: usize) -> Self {
        let (d, outputs) = (program.d(), program.outputs());
        let mut batch = Strips::new(n, d);
        if let Likelihood::Energy(energy) = likelihood {
            batch.x.extend(node_strips(energy));
        }
        let strips = batch.x.len() / d;
        let lines = program.len().next_multiple_of(LANES);
        let all_lines = program.full_len().next_multiple_of(LANES);
        Self {
            out: vec![Lane::ZERO; strips * outputs],
            g_out: vec![Lane::ZERO; strips * outputs],
            acc: vec![Lane::ZERO; all_lines],
            total: vec![Lane::ZERO; lines / LANES],
            kept: Activations::default(),
            full: Vec::new(),
            batch,
            program,
            likelihood,
            bound,
        }
    }

    /// Fills the batch with rows of a table.
    pub(crate) fn gather(&mut self, table: &Table<'_>, rows: &[u32]) {
        self.batch.gather(table, rows, self.program.level());
    }

    /// The batch, followed by the nodes of an energy model.
    pub(crate) fn batch(&self) -> &Strips {
        &self.batch
    }

    /// What [`Gradient::compute`] computed, in packed order, filled up with zeros.
    pub(crate) fn total(&self) -> &[Lane] {
        &self.total
    }

    /// Computes the gradient of the batch at `params`.
    pub(crate) fn compute(&mut self, params: &[f32]) {
        let params = self.program.full(params, &mut self.full);
        let (d, c) = (self.program.d(), self.program.outputs());
        let strips = self.batch.x.len() / d;
        let at_once = self.program.strips_at_once(strips);
        let coupled = matches!(self.likelihood, Likelihood::Energy(_));
        let level = self.program.level();
        if let Likelihood::Energy(energy) = self.likelihood {
            // All outputs come before any derivative: the normaliser needs every node.
            self.program.predict(params, &self.batch.x, &mut self.out);
            level.run(EnergyDerivative {
                energy,
                bound: self.bound,
                weight: &self.batch.weight,
                out: &self.out,
                g_out: &mut self.g_out,
            });
        }
        for start in (0..strips).step_by(at_once) {
            let end = strips.min(start + at_once);
            let x = &self.batch.x[start * d..end * d];
            let out = &mut self.out[start * c..end * c];
            let g_out = &mut self.g_out[start * c..end * c];
            self.program.forward(params, x, out, &mut self.kept);
            if !coupled {
                level.run(Derivative {
                    likelihood: &self.likelihood,
                    bound: self.bound,
                    y: &self.batch.y[start..end],
                    weight: &self.batch.weight[start..end],
                    out,
                    g_out,
                });
            }
            let acc = &mut self.acc[..params.len()];
            let acc = (acc, start > 0);
            self.program.backward(params, x, g_out, &mut self.kept, acc);
        }
        self.program.compact(&mut self.acc);
        level.run(SumLanes {
            acc: &self.acc,
            total: &mut self.total,
        });
    }

    /// Bytes held.
    pub(crate) fn bytes(&self) -> usize {
        let lines = [
            &self.batch.x,
            &self.batch.y,
            &self.batch.weight,
            &self.out,
            &self.g_out,
            &self.acc,
            &self.total,
        ];
        self.kept.bytes()
            + lines
                .iter()
                .map(|l| l.capacity() * size_of::<Lane>())
                .sum::<usize>()
    }
}

/// Gradient of the average negative log-likelihood of all samples in all coefficients, in
/// the order of the model's layout.
pub fn gradient(
    parameters: &Parameters,
    likelihood: Likelihood,
    bounds: Bounds,
    samples: &Samples,
    level: Level,
) -> Vec<f32> {
    let program = Program::new(parameters.network(), level);
    let mut gradient = Gradient::new(program.clone(), likelihood, bounds.output, samples.n());
    let rows: Vec<u32> = (0..samples.n() as u32).collect();
    gradient.gather(&Table::new(samples), &rows);
    gradient.compute(&program.pack(parameters));
    program.unpack(&Lane::flatten(gradient.total())[..program.len()])
}

/// Bytes of a fit's gradient computation: activations, accumulators and batch. Beside them
/// a fit holds five vectors of its coefficients and the validation samples.
pub fn bytes_in_flight(network: &Network, likelihood: Likelihood, batch: usize) -> usize {
    let program = Program::new(network, Level::fastest());
    let params = vec![0.0; program.len()];
    let mut gradient = Gradient::new(program, likelihood, 1.0, batch);
    gradient.compute(&params);
    gradient.bytes()
}

/// The nodes of an energy model as strips.
pub(crate) fn node_strips(energy: Energy) -> Vec<Lane> {
    let points: Vec<f32> = energy.node_points().iter().map(|v| *v as f32).collect();
    let mut strips = Vec::new();
    to_strips(&points, energy.d(), &mut strips, Level::fastest());
    strips
}

/// Lane `i` of `total` is the sum over the lanes of line `i` of `acc`.
struct SumLanes<'a> {
    acc: &'a [Lane],
    total: &'a mut [Lane],
}

impl Kernel for SumLanes<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Across>(self, s: S) {
        for (lines, total) in self.acc.chunks_exact(LANES).zip(self.total) {
            let mut v = [s.splat(0.0); LANES];
            for (v, line) in v.iter_mut().zip(lines) {
                *v = s.load(line);
            }
            s.store(total, s.sums(v));
        }
    }
}
