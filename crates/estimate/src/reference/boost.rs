//! Gradient boosting: trees added one after the other, each a Newton step of the loss.

use super::Table;
use super::bins::Bins;
use super::loss::Loss;
use super::tree::{Ground, Shape, Tree};
use crate::curvature::Stop;
use loopfit_numerics::stream::Stream;
use loopfit_numerics::sum::median;

/// How to boost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Setting {
    pub(super) shape: Shape,
    /// Factor on each tree.
    pub(super) rate: f64,
    /// Share of the rows that a tree is grown on.
    pub(super) rows: f64,
    /// Share of the inputs that a tree may split.
    pub(super) inputs: f64,
}

/// A sum of trees.
#[derive(Clone, Debug)]
pub(super) struct Ensemble {
    bins: Bins,
    constants: Vec<f64>,
    /// One tree for each output, round after round.
    trees: Vec<Tree>,
}

impl Ensemble {
    /// Row-major outputs at row-major inputs.
    pub(super) fn outputs(&self, x: &[f32]) -> Vec<f64> {
        let codes = self.bins.rows(x);
        let outputs = self.constants.len();
        let mut f = Vec::with_capacity(x.len() / self.bins.inputs() * outputs);
        for codes in codes.chunks(self.bins.inputs()) {
            let at = f.len();
            f.extend_from_slice(&self.constants);
            for round in self.trees.chunks(outputs) {
                for (f, tree) in f[at..].iter_mut().zip(round) {
                    *f += tree.value(codes);
                }
            }
        }
        f
    }
}

/// A table with its inputs in bins.
pub(super) struct Binned<'a> {
    pub(super) table: &'a Table<'a>,
    pub(super) bins: Bins,
    codes: Vec<u32>,
}

impl<'a> Binned<'a> {
    pub(super) fn new(table: &'a Table<'a>) -> Self {
        let bins = Bins::new(table.x, table.d);
        let codes = bins.rows(table.x);
        Self { table, bins, codes }
    }

    /// Boosts on the given rows for so many rounds, fewer if stopped.
    pub(super) fn fit(
        &self,
        rows: &[u32],
        setting: Setting,
        rounds: usize,
        stream: Stream,
        stop: Stop<'_>,
    ) -> Ensemble {
        let mut boost = Boost::new(self, rows, &[], setting, stream);
        boost.run(rounds, stop);
        Ensemble {
            bins: self.bins.clone(),
            constants: boost.constants,
            trees: boost.trees,
        }
    }
}

/// Boosting under way.
pub(super) struct Boost<'a> {
    binned: &'a Binned<'a>,
    setting: Setting,
    stream: Stream,
    /// Rows that it learns from, ascending.
    rows: Vec<u32>,
    held: &'a [u32],
    constants: Vec<f64>,
    /// Outputs at all rows of the table, row-major; kept up to date at `rows` and `held`.
    f: Vec<f64>,
    trees: Vec<Tree>,
    /// Sum of the losses at the held-out rows after each round.
    pub(super) held_losses: Vec<f64>,
    /// Slope and curvature of each output at each row, output after output.
    slope: Vec<f64>,
    curvature: Vec<f64>,
}

impl<'a> Boost<'a> {
    pub(super) fn new(
        binned: &'a Binned<'a>,
        rows: &[u32],
        held: &'a [u32],
        setting: Setting,
        stream: Stream,
    ) -> Self {
        let table = binned.table;
        let y: Vec<f64> = rows.iter().map(|row| table.y(*row)).collect();
        let constants = table.loss.constants(&y);
        let n = table.n();
        let f = constants.iter().copied().cycle().take(n * constants.len());
        Self {
            f: f.collect(),
            slope: vec![0.0; n * constants.len()],
            curvature: vec![0.0; n * constants.len()],
            rows: rows.to_vec(),
            trees: Vec::new(),
            held_losses: Vec::new(),
            binned,
            setting,
            stream,
            held,
            constants,
        }
    }

    pub(super) fn run(&mut self, rounds: usize, stop: Stop<'_>) {
        for _ in 0..rounds {
            if stop() {
                return;
            }
            self.round();
        }
    }

    /// Adds a tree for each output, grown on a sample of the rows.
    ///
    /// # Formula
    /// `f_k <- f_k + rate * tree_k`, where `tree_k` is grown on slopes and curvatures of the loss
    /// by `f_k`. The leaves of the absolute loss, whose curvature says nothing, get the median of
    /// their residuals.
    ///
    /// # Reference
    /// J. H. Friedman, Greedy function approximation: a gradient boosting machine, Ann. Statist.
    /// 29 (2001) 1189-1232, algorithms 1 and 3; Stochastic gradient boosting, Comput. Statist.
    /// Data Anal. 38 (2002) 367-378.
    fn round(&mut self) {
        let Binned { table, bins, codes } = self.binned;
        let (loss, outputs, d, n) = (table.loss, self.constants.len(), table.d, table.n());
        let round = (self.trees.len() / outputs) as u64;
        let (mut order, chosen, inputs) = self.sample(round);
        let (rows, rest) = order.split_at_mut(chosen);
        let (mut slope, mut curvature) = (vec![0.0; outputs], vec![0.0; outputs]);
        for row in rows.iter() {
            let i = *row as usize;
            let f = &self.f[i * outputs..][..outputs];
            loss.slopes(table.y(*row), f, &mut slope, &mut curvature);
            for k in 0..outputs {
                self.slope[k * n + i] = slope[k];
                self.curvature[k * n + i] = curvature[k];
            }
        }
        let rate = self.setting.rate;
        for k in 0..outputs {
            let ground = Ground {
                bins,
                codes,
                slope: &self.slope[k * n..][..n],
                curvature: &self.curvature[k * n..][..n],
                inputs: &inputs,
            };
            let f = &mut self.f;
            let tree = ground.grow(rows, &self.setting.shape, &mut |rows, newton| {
                let step = match loss {
                    Loss::Absolute if !rows.is_empty() => {
                        let residual = |row: &u32| table.y(*row) - f[*row as usize];
                        median(&rows.iter().map(residual).collect::<Vec<_>>())
                    }
                    _ => newton,
                };
                for row in rows {
                    f[*row as usize * outputs + k] += rate * step;
                }
                rate * step
            });
            for row in rest.iter().chain(self.held) {
                let i = *row as usize;
                f[i * outputs + k] += tree.value(&codes[i * d..][..d]);
            }
            self.trees.push(tree);
        }
        let of =
            |row: &u32| loss.value(table.y(*row), &self.f[*row as usize * outputs..][..outputs]);
        self.held_losses.push(self.held.iter().map(of).sum());
    }

    /// The rows, those of a round first; how many these are; the inputs of the round.
    fn sample(&self, round: u64) -> (Vec<u32>, usize, Vec<usize>) {
        let stream = self.stream.child("rows").nth(round);
        let share = self.setting.rows;
        let (mut order, mut rest) = (Vec::with_capacity(self.rows.len()), Vec::new());
        for row in &self.rows {
            if share >= 1.0 || stream.uniform(u64::from(*row)) < share {
                order.push(*row);
            } else {
                rest.push(*row);
            }
        }
        let chosen = order.len();
        order.append(&mut rest);
        let d = self.binned.table.d;
        let mut inputs = vec![0; d];
        self.stream.child("inputs").nth(round).permute(&mut inputs);
        let count = (d as f64 * self.setting.inputs).ceil() as usize;
        let mut inputs: Vec<usize> = inputs[..count.clamp(1, d)]
            .iter()
            .map(|i| *i as usize)
            .collect();
        inputs.sort_unstable();
        (order, chosen, inputs)
    }
}
