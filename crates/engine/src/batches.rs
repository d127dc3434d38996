//! Minibatches: a fresh permutation per epoch, the incomplete batch dropped, and rows
//! gathered into strips of sixteen.

use loopfit_data::Samples;
use loopfit_numerics::lanes::{Across, COLUMNS, Kernel, LANES, Lane, Level, Rows};
use loopfit_numerics::stream::Stream;

/// The order in which samples are visited: a pure function of the stream.
#[derive(Debug)]
pub(crate) struct Batches {
    stream: Stream,
    order: Vec<u32>,
    batch: usize,
    next: usize,
    epoch: u64,
}

impl Batches {
    /// Batches of `batch` out of `n` samples, or of all of them if there are fewer.
    pub(crate) fn new(stream: Stream, n: usize, batch: usize) -> Self {
        Self {
            stream,
            order: vec![0; n],
            batch: batch.min(n),
            next: n,
            epoch: 0,
        }
    }

    /// Samples in a batch.
    pub(crate) fn len(&self) -> usize {
        self.batch
    }

    /// The sample numbers of the next batch.
    pub(crate) fn advance(&mut self) -> &[u32] {
        if self.next + self.batch > self.order.len() {
            self.stream.nth(self.epoch).permute(&mut self.order);
            self.epoch += 1;
            self.next = 0;
        }
        self.next += self.batch;
        &self.order[self.next - self.batch..self.next]
    }
}

/// The rows of a sample set as batches are gathered from.
#[derive(Debug)]
pub(crate) struct Table<'a> {
    samples: &'a Samples,
    /// Inputs and target of a row side by side, `width` numbers from one row to the next; empty where it is not worth it.
    joined: Vec<Lane>,
    width: usize,
}

impl<'a> Table<'a> {
    /// Rows of up to so many numbers lie within half a cache line, and a batch fetches one line for each row instead of
    /// two: a tenth of an update of the smallest networks.
    const MOST_NUMBERS: usize = 8;
    /// Larger tables are not worth the memory.
    const MOST_BYTES: usize = 512 * 1024;

    /// The rows of these samples.
    pub(crate) fn new(samples: &'a Samples) -> Self {
        let (d, n) = (samples.d(), samples.n());
        let width = (d + 1).next_multiple_of(COLUMNS);
        let worth = width <= Self::MOST_NUMBERS && n * width * size_of::<f32>() <= Self::MOST_BYTES;
        let mut joined = Vec::new();
        if worth && !samples.y().is_empty() {
            joined.resize((n * width).div_ceil(LANES), Lane::ZERO);
            let rows = Lane::flatten_mut(&mut joined).chunks_exact_mut(width);
            for ((row, x), y) in rows.zip(samples.x().chunks_exact(d)).zip(samples.y()) {
                row[..d].copy_from_slice(x);
                row[d] = *y;
            }
        }
        Self {
            samples,
            joined,
            width,
        }
    }
}

/// Samples as strips: `x` is `[strip][d]`, `y` and `weight` are `[strip]`. Lanes beyond
/// the last sample repeat a sample and have weight zero.
#[derive(Debug, Default)]
pub(crate) struct Strips {
    pub(crate) x: Vec<Lane>,
    pub(crate) y: Vec<Lane>,
    pub(crate) weight: Vec<Lane>,
}

impl Strips {
    /// Room for `n` samples of dimension `d`, each with weight `1 / n`.
    pub(crate) fn new(n: usize, d: usize) -> Self {
        let strips = n.div_ceil(LANES);
        let weight = Lane::lines((0..n).map(|_| 1.0 / n as f32));
        Self {
            x: vec![Lane::ZERO; strips * d],
            y: vec![Lane::ZERO; strips],
            weight,
        }
    }

    /// All samples of a set, in order.
    pub(crate) fn all(samples: &Samples) -> Self {
        let mut strips = Self::new(samples.n(), samples.d());
        let rows: Vec<u32> = (0..samples.n() as u32).collect();
        let table = Table {
            samples,
            joined: Vec::new(),
            width: 0,
        };
        strips.gather(&table, &rows, Level::fastest());
        strips
    }

    /// Fills the strips with rows of a table.
    pub(crate) fn gather(&mut self, table: &Table<'_>, rows: &[u32], level: Level) {
        let Self { x, y, .. } = self;
        let samples = table.samples;
        let (from, d) = (samples.x(), samples.d());
        if !table.joined.is_empty() {
            return level.run(GatherJoined {
                from: Lane::flatten(&table.joined),
                width: table.width,
                d,
                rows,
                x,
                y,
            });
        }
        level.run(Gather {
            from,
            d,
            rows,
            to: x,
        });
        if !samples.y().is_empty() {
            let from = samples.y();
            level.run(Gather {
                from,
                d: 1,
                rows,
                to: y,
            });
        }
    }
}

/// Some rows of a [`Table`] whose inputs and targets are joined, as strips; lanes as in [`Gather`].
struct GatherJoined<'a> {
    from: &'a [f32],
    width: usize,
    d: usize,
    rows: &'a [u32],
    x: &'a mut [Lane],
    y: &'a mut [Lane],
}

impl Kernel for GatherJoined<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Across>(self, s: S) {
        match self.d {
            1 => self.strips(s, 1),
            2 => self.strips(s, 2),
            3 => self.strips(s, 3),
            d => self.strips(s, d),
        }
    }
}

impl GatherJoined<'_> {
    #[inline(always)]
    fn strips<S: Across>(self, s: S, d: usize) {
        let from = Rows::new(self.from, self.width);
        let strips = self.x.chunks_exact_mut(d).zip(self.y);
        for (rows, (x, y)) in self.rows.chunks(LANES).zip(strips) {
            let mut own = [rows[0]; LANES];
            let rows = whole_strip(rows, &mut own);
            for first in (0..=d).step_by(COLUMNS) {
                let columns = from.columns(s, first, rows);
                let columns = columns.unwrap_or_else(|| unreachable!("rows are whole groups"));
                for (i, column) in (first..=d).zip(columns) {
                    let to = if i < d { &mut x[i] } else { &mut *y };
                    s.store(to, column);
                }
            }
        }
    }
}

/// The rows of a strip, those of an incomplete one in `own`, which has its first row everywhere.
#[inline(always)]
fn whole_strip<'a>(rows: &'a [u32], own: &'a mut [u32; LANES]) -> &'a [u32; LANES] {
    match rows.try_into() {
        Ok(rows) => rows,
        Err(_) => {
            own[..rows.len()].copy_from_slice(rows);
            own
        }
    }
}

/// Some rows of `d` numbers as strips; lanes beyond the last repeat the first of their strip.
struct Gather<'a> {
    from: &'a [f32],
    d: usize,
    rows: &'a [u32],
    to: &'a mut [Lane],
}

impl Kernel for Gather<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Across>(self, s: S) {
        // With d known, the places of the most common ones need no multiplication.
        match self.d {
            1 => self.strips(s, 1),
            2 => self.strips(s, 2),
            3 => self.strips(s, 3),
            4 => self.strips(s, 4),
            d => self.strips(s, d),
        }
    }
}

impl Gather<'_> {
    #[inline(always)]
    fn strips<S: Across>(self, s: S, d: usize) {
        let from = Rows::new(self.from, d);
        for (rows, to) in self.rows.chunks(LANES).zip(self.to.chunks_exact_mut(d)) {
            let mut own = [rows[0]; LANES];
            let rows = whole_strip(rows, &mut own);
            for (part, to) in to.chunks_mut(COLUMNS).enumerate() {
                let first = part * COLUMNS;
                match from.columns(s, first, rows) {
                    Some(columns) => {
                        for (to, column) in to.iter_mut().zip(columns) {
                            s.store(to, column);
                        }
                    }
                    None => {
                        for (i, to) in to.iter_mut().enumerate() {
                            *to = Lane(rows.map(|row| self.from[row as usize * d + first + i]));
                        }
                    }
                }
            }
        }
    }
}

/// Lays rows of `d` numbers out as strips; the last strip is filled up with its first row.
pub(crate) fn to_strips(rows: &[f32], d: usize, strips: &mut Vec<Lane>, level: Level) {
    let n = rows.len() / d;
    strips.resize(n.div_ceil(LANES) * d, Lane::ZERO);
    let order: Vec<u32> = (0..n as u32).collect();
    level.run(Gather {
        from: rows,
        d,
        rows: &order,
        to: strips,
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_epoch_visits_every_sample_at_most_once() {
        let mut batches = Batches::new(Stream::new(5), 100, 32);
        let mut first = Vec::new();
        for epoch in 0..4 {
            let mut seen: Vec<u32> = (0..3).flat_map(|_| batches.advance().to_vec()).collect();
            if epoch == 0 {
                first.clone_from(&seen);
            } else {
                assert_ne!(first, seen);
            }
            seen.sort_unstable();
            seen.dedup();
            assert_eq!(seen.len(), 96);
        }
    }

    #[test]
    fn a_batch_larger_than_the_sample_is_the_sample() {
        let mut batches = Batches::new(Stream::new(5), 10, 128);
        assert_eq!(batches.len(), 10);
        let mut all = batches.advance().to_vec();
        all.sort_unstable();
        assert_eq!(all, (0..10).collect::<Vec<_>>());
    }

    /// Rows in any order, the last ones too, behind which nothing is left to read.
    #[test]
    fn strips_hold_the_rows_that_were_asked_for() {
        for (n, d) in [
            (1, 1),
            (3, 1),
            (40, 1),
            (40, 2),
            (33, 3),
            (40, 4),
            (21, 5),
            (40, 9),
        ] {
            let x: Vec<f32> = (0..n * d).map(|i| i as f32).collect();
            let y: Vec<f32> = (0..n).map(|i| -(i as f32)).collect();
            let samples = Samples::new(d, x.clone(), y).unwrap();
            let mut rows = vec![0; n];
            Stream::new(7).permute(&mut rows);
            for level in Level::available() {
                let mut strips = Strips::new(n, d);
                strips.gather(&Table::new(&samples), &rows, level);
                let mut apart = Strips::new(n, d);
                let table = Table {
                    joined: Vec::new(),
                    ..Table::new(&samples)
                };
                apart.gather(&table, &rows, level);
                assert_eq!((&apart.x, &apart.y), (&strips.x, &strips.y), "{n} {d}");
                let mut in_order = Vec::new();
                to_strips(&x, d, &mut in_order, level);
                for i in 0..n.next_multiple_of(LANES) {
                    // Beyond the last row, the first one of the strip.
                    let at = if i < n { i } else { i / LANES * LANES };
                    let row = rows[at] as usize;
                    assert_eq!(strips.y[i / LANES].0[i % LANES], -(row as f32));
                    for k in 0..d {
                        let line = i / LANES * d + k;
                        assert_eq!(strips.x[line].0[i % LANES], x[row * d + k], "{n} {d}");
                        assert_eq!(in_order[line].0[i % LANES], x[at * d + k], "{n} {d}");
                    }
                }
            }
        }
    }
}
