//! Inputs as numbers of bins: all that a tree asks of them.

/// Bins of an input at most.
const BINS: usize = 64;
/// Rows that the quantiles are taken from at most.
const QUANTILE_ROWS: usize = 20_000;

/// The bins of all inputs. Those of an input are consecutive numbers in the order of its values,
/// so that a bin says both which input and which values.
#[derive(Clone, Debug)]
pub(super) struct Bins {
    /// Upper ends of the bins of each input but the last, ascending.
    ends: Vec<Vec<f32>>,
    /// First bin of each input, and the number of all bins.
    first: Vec<u32>,
}

impl Bins {
    /// Bins of row-major inputs: one for each value of an input that has few, else quantiles.
    pub(super) fn new(x: &[f32], d: usize) -> Self {
        let n = x.len() / d;
        // Every so many rows, from all parts of the table.
        let step = n.div_ceil(QUANTILE_ROWS).max(1);
        let ends: Vec<Vec<f32>> = (0..d)
            .map(|input| {
                let mut values: Vec<f32> = (0..n).step_by(step).map(|i| x[i * d + input]).collect();
                values.sort_by(f32::total_cmp);
                ends(&values)
            })
            .collect();
        let mut first = vec![0];
        for ends in &ends {
            first.push(first[first.len() - 1] + ends.len() as u32 + 1);
        }
        Self { ends, first }
    }

    /// Number of inputs.
    pub(super) fn inputs(&self) -> usize {
        self.ends.len()
    }

    /// Number of bins of all inputs together.
    pub(super) fn count(&self) -> usize {
        self.first[self.ends.len()] as usize
    }

    /// The bins of an input.
    pub(super) fn of(&self, input: usize) -> std::ops::Range<usize> {
        self.first[input] as usize..self.first[input + 1] as usize
    }

    /// The bins of row-major inputs.
    pub(super) fn rows(&self, x: &[f32]) -> Vec<u32> {
        let d = self.inputs();
        let bin = |i: usize| {
            let ends = &self.ends[i % d];
            self.first[i % d] + ends.partition_point(|end| *end < x[i]) as u32
        };
        (0..x.len()).map(bin).collect()
    }
}

/// Ends between bins for sorted values: halfway between neighbours.
fn ends(sorted: &[f32]) -> Vec<f32> {
    let mut distinct = sorted.to_vec();
    distinct.dedup();
    let steps: Vec<[f32; 2]> = if distinct.len() <= BINS {
        distinct.windows(2).map(|w| [w[0], w[1]]).collect()
    } else {
        // Where a quantile falls among equal values, the bin ends after them.
        let mut steps: Vec<[f32; 2]> = (1..BINS)
            .map(|b| sorted[sorted.len() * b / BINS - 1])
            .filter_map(|below| {
                let above = sorted.partition_point(|value| *value <= below);
                Some([below, *sorted.get(above)?])
            })
            .collect();
        steps.dedup();
        steps
    };
    let middle = |[below, above]: [f32; 2]| {
        let middle = ((f64::from(below) + f64::from(above)) / 2.0) as f32;
        // Between neighbouring floats there is none.
        if middle < above { middle } else { below }
    };
    steps.into_iter().map(middle).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_values_have_a_bin_each() {
        let bins = Bins::new(&[0.0, 5.0, 1.0, 5.0, 0.0, 7.0, 1.0, 5.0], 2);
        assert_eq!((bins.count(), bins.of(0), bins.of(1)), (4, 0..2, 2..4));
        assert_eq!(bins.rows(&[0.0, 5.0, 1.0, 7.0]), [0, 2, 1, 3]);
        // New values go where they are nearest.
        assert_eq!(bins.rows(&[-9.0, 5.9, 0.6, 6.1]), [0, 2, 1, 3]);
        let one = 1.0f32;
        let bins = Bins::new(&[one, one.next_up()], 1);
        assert_eq!(bins.rows(&[one, one.next_up()]), [0, 1]);
    }

    #[test]
    fn many_values_share_bins_of_equal_size() {
        let x: Vec<f32> = (0..6400).map(|i| (i * 37 % 6400) as f32).collect();
        let bins = Bins::new(&x, 1);
        let mut sizes = vec![0; bins.count()];
        bins.rows(&x).iter().for_each(|b| sizes[*b as usize] += 1);
        assert_eq!(sizes, vec![100; BINS]);
        // Half of the rows are zero: one bin for them, and no empty ones.
        let x: Vec<f32> = x.iter().map(|v| (v - 3200.0).max(0.0)).collect();
        let bins = Bins::new(&x, 1);
        let mut sizes = vec![0; bins.count()];
        bins.rows(&x).iter().for_each(|b| sizes[*b as usize] += 1);
        assert!(
            sizes[0] >= 3200 && sizes.iter().all(|s| *s > 0),
            "{sizes:?}"
        );
        // Each value ten times: quantiles that fall among equals still end bins.
        let x: Vec<f32> = (0..6400).map(|i| (i / 10) as f32).collect();
        assert_eq!(Bins::new(&x, 1).count(), BINS);
    }
}
