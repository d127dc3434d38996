//! A stratified sample of rows.

use loopfit_numerics::stream::Stream;

use crate::levels::{Level, Levels};
use crate::table::Column;

/// Fewest rows of a class in a sample, if it has so many.
const LEAST: usize = 2;

/// Draws `n` rows without replacement, ascending, with classes in proportion; rows without a
/// class are never drawn.
///
/// Each class has its share of `n` rounded down, at least [`LEAST`]; what is missing to `n`
/// goes one each to the classes with the largest remainders, the first of equal ones first.
/// The rows of class `c`, in the order of [`Levels`], are the first of a permutation by
/// `stream.nth(c)`.
pub(super) fn stratified(classes: &Column, n: usize, stream: Stream) -> Vec<usize> {
    let levels = Levels::of(classes, 0..classes.len());
    let finder = levels.finder(classes);
    let mut members = vec![Vec::new(); levels.len()];
    for row in 0..classes.len() {
        if let Level::Known(class) = finder.get(row) {
            members[class].push(row);
        }
    }
    let counts: Vec<usize> = members.iter().map(Vec::len).collect();
    let mut rows = Vec::with_capacity(n);
    for ((class, members), count) in members.iter().enumerate().zip(allot(&counts, n)) {
        let mut order = vec![0; members.len()];
        stream.nth(class as u64).permute(&mut order);
        rows.extend(order[..count].iter().map(|i| members[*i as usize]));
    }
    rows.sort_unstable();
    rows
}

/// How many of `n` each class has.
fn allot(counts: &[usize], n: usize) -> Vec<usize> {
    let total: usize = counts.iter().sum();
    if total <= n {
        return counts.to_vec();
    }
    let share = |count: usize| count as u128 * n as u128;
    let mut allotted: Vec<usize> = counts
        .iter()
        .map(|count| ((share(*count) / total as u128) as usize).max(LEAST.min(*count)))
        .collect();
    let mut by_remainder: Vec<usize> = (0..counts.len()).collect();
    by_remainder.sort_by_key(|class| std::cmp::Reverse(share(counts[*class]) % total as u128));
    for class in by_remainder.into_iter().cycle() {
        if allotted.iter().sum::<usize>() >= n {
            break;
        }
        if allotted[class] < counts[class] {
            allotted[class] += 1;
        }
    }
    allotted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_round_down_and_remainders_are_served_by_size() {
        // Shares 5.4, 12.6, 2.0: the missing one goes to the second class.
        assert_eq!(allot(&[54, 126, 20], 20), [5, 13, 2]);
        assert_eq!(allot(&[540, 360, 100], 100), [54, 36, 10]);
        // Shares 49.3, 49.3, 1.4.
        assert_eq!(allot(&[70, 70, 2], 100), [49, 49, 2]);
        assert_eq!(allot(&[1, 999], 10), [1, 9]);
        assert_eq!(allot(&[3, 4], 10), [3, 4]);
    }

    #[test]
    fn samples_are_distinct_rows_in_order_and_depend_on_the_stream_alone() {
        let classes = Column::Numeric((0..1000).map(|i| f64::from(i % 4)).collect());
        let sample = |seed| stratified(&classes, 200, Stream::new(seed));
        let rows = sample(1);
        assert_eq!(rows.len(), 200);
        assert!(rows.windows(2).all(|pair| pair[0] < pair[1]));
        assert_eq!(rows.iter().filter(|row| *row % 4 == 3).count(), 50);
        assert_eq!(rows, sample(1));
        assert_ne!(rows, sample(2));
    }
}
