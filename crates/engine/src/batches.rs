//! Minibatches: a fresh permutation per epoch, the incomplete batch dropped, and rows
//! gathered into strips of sixteen.

use loopfit_data::Samples;
use loopfit_numerics::lanes::{LANES, Lane};
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
        strips.gather(samples, &rows);
        strips
    }

    /// Fills the strips with rows of a sample set.
    pub(crate) fn gather(&mut self, samples: &Samples, rows: &[u32]) {
        let (n, d, x, y) = (samples.n(), samples.d(), samples.x(), samples.y());
        assert!(
            rows.iter().all(|row| (*row as usize) < n),
            "rows of the sample set"
        );
        for (strip, rows) in rows.chunks(LANES).enumerate() {
            let mut own = [rows[0]; LANES];
            own[..rows.len()].copy_from_slice(rows);
            for (i, line) in self.x[strip * d..][..d].iter_mut().enumerate() {
                for (to, row) in line.0.iter_mut().zip(own) {
                    // SAFETY: every row is below n and i below d; x has n * d entries.
                    *to = unsafe { *x.get_unchecked(row as usize * d + i) };
                }
            }
            if !y.is_empty() {
                self.y[strip] = Lane(own.map(|row| y[row as usize]));
            }
        }
    }
}

/// Lays rows of `d` numbers out as strips; the last strip is filled up with its first row.
pub(crate) fn to_strips(rows: &[f32], d: usize, strips: &mut Vec<Lane>) {
    strips.clear();
    let blocks = rows.chunks_exact(LANES * d);
    let rest = blocks.remainder();
    // With d known the compiler turns the few most common ones into shuffles.
    match d {
        1 => blocks.for_each(|block| push_strip(block, 1, strips)),
        2 => blocks.for_each(|block| push_strip(block, 2, strips)),
        3 => blocks.for_each(|block| push_strip(block, 3, strips)),
        4 => blocks.for_each(|block| push_strip(block, 4, strips)),
        _ => blocks.for_each(|block| push_strip(block, d, strips)),
    }
    if !rest.is_empty() {
        let mut block = rest[..d].repeat(LANES);
        block[..rest.len()].copy_from_slice(rest);
        push_strip(&block, d, strips);
    }
}

/// Sixteen rows as a strip.
#[inline(always)]
fn push_strip(block: &[f32], d: usize, strips: &mut Vec<Lane>) {
    let block = &block[..LANES * d];
    for i in 0..d {
        strips.push(Lane(std::array::from_fn(|lane| block[lane * d + i])));
    }
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
}
