//! Whether it says something about the target that a cell is missing.

use loopfit_numerics::sum::{mean, sum};

use crate::task::Task;

/// Fewer rows than this with or without a value decide nothing.
const LEAST_ROWS: usize = 5;

/// The statistic of two means beyond which missing cells predict a response; by chance one
/// column in 80 goes as far.
const LARGEST_CHANCE: f64 = 2.5;

/// The normal quantile that a chi-square statistic exceeds as often by chance.
///
/// # Formula
/// `z` with `P(Z > z) = P(|Z| > 2.5)` for a standard normal `Z`.
const LARGEST_CHANCE_ONE_SIDED: f64 = 2.243_903;

/// Part of the rows with a value that are near the one which missing cells count as.
const NEAR: f64 = 0.2;

/// A class that is expected in fewer rows than this of the smaller group has no part of its
/// own in the chi-square statistic.
const LEAST_EXPECTED: f64 = 1.0;

/// Which columns have an input for missing cells.
pub(super) struct Missingness {
    task: Task,
    /// Of the training rows, in model units.
    responses: Vec<f64>,
    /// The rows in which columns are missing that have such an input.
    used: Vec<Vec<bool>>,
}

impl Missingness {
    /// Decides by the responses of the training rows in model units.
    pub(super) fn new(task: Task, responses: &[f32]) -> Self {
        Self {
            task,
            responses: responses.iter().map(|y| f64::from(*y)).collect(),
            used: Vec::new(),
        }
    }

    /// Whether a column that is missing in some of the training rows gets the input: if that
    /// predicts the target and no earlier column has the same input. It predicts if rows without
    /// a value differ from all others, or from those whose value is near what missing cells count
    /// as: `distance` of each row from that, where it is known. Without the input, a function
    /// that bends enough would have a needle there to tell them apart.
    pub(super) fn is_input(&mut self, missing: Vec<bool>, distance: Option<&[f64]>) -> bool {
        let all: Vec<usize> = (0..missing.len()).collect();
        let near = distance.map(|distance| missing_and_near(&missing, distance));
        let predicts = |rows: &[usize]| self.predicts(rows, &missing);
        let predicts = predicts(&all) || near.is_some_and(|rows| predicts(&rows));
        let new = predicts && !self.used.contains(&missing);
        if new {
            self.used.push(missing);
        }
        new
    }

    /// Whether the responses of these rows differ between those that are missing and the others.
    fn predicts(&self, rows: &[usize], missing: &[bool]) -> bool {
        let missing: Vec<bool> = rows.iter().map(|row| missing[*row]).collect();
        let with = missing.iter().filter(|missing| **missing).count();
        if with < LEAST_ROWS || missing.len() - with < LEAST_ROWS {
            return false;
        }
        let responses = || -> Vec<f64> { rows.iter().map(|row| self.responses[*row]).collect() };
        match self.task {
            Task::Regression | Task::Count => means_differ(&responses(), &missing),
            Task::Binary | Task::Multiclass { .. } => shares_differ(&responses(), &missing),
            Task::Density => false,
        }
    }
}

/// The rows without a value, and those nearest to the one that they count as: a fifth of the rows with a value, but no more than are
/// without.
fn missing_and_near(missing: &[bool], distance: &[f64]) -> Vec<usize> {
    let (mut rows, mut present): (Vec<usize>, Vec<usize>) =
        (0..missing.len()).partition(|row| missing[*row]);
    let near = (NEAR * present.len() as f64) as usize;
    present.sort_by(|a, b| distance[*a].total_cmp(&distance[*b]));
    present.truncate(near.min(rows.len()));
    rows.extend(present);
    rows
}

/// Student's two-sample test with a pooled variance: were cells missing at random, both
/// groups would have the same one.
///
/// # Formula
/// `|mean_1 - mean_2| > 2.5 s sqrt(1/n_1 + 1/n_2)`, where
/// `s^2 = (sum (y - mean_1)^2 + sum (y - mean_2)^2) / (n_1 + n_2 - 2)`.
fn means_differ(responses: &[f64], missing: &[bool]) -> bool {
    let part = |which: bool| -> Vec<f64> {
        let part = responses.iter().zip(missing).filter(|(_, m)| **m == which);
        part.map(|(y, _)| *y).collect()
    };
    let (one, two) = (part(true), part(false));
    let squares = |part: &[f64]| {
        let m = mean(part);
        let squares: Vec<f64> = part.iter().map(|y| (y - m) * (y - m)).collect();
        sum(&squares)
    };
    let (n1, n2) = (one.len() as f64, two.len() as f64);
    let variance = (squares(&one) + squares(&two)) / (n1 + n2 - 2.0);
    let error = (variance * (1.0 / n1 + 1.0 / n2)).sqrt();
    (mean(&one) - mean(&two)).abs() > LARGEST_CHANCE * error
}

/// Pearson's chi-square test of classes against missing cells. Classes too rare for it count
/// as one, or not at all if they are too rare together.
fn shares_differ(responses: &[f64], missing: &[bool]) -> bool {
    let last = responses.iter().copied().fold(0.0, f64::max) as usize;
    let mut counts = vec![[0.0; 2]; last + 1];
    for (class, missing) in responses.iter().zip(missing) {
        counts[*class as usize][usize::from(*missing)] += 1.0;
    }
    let totals = |counts: &[[f64; 2]]| {
        let add = |[a, b]: [f64; 2], c: &[f64; 2]| [a + c[0], b + c[1]];
        counts.iter().fold([0.0; 2], add)
    };
    // Counts are whole numbers, whose sums are exact in any order.
    let all = totals(&counts);
    let smaller = all[0].min(all[1]) / (all[0] + all[1]);
    let enough = |c: &[f64; 2]| (c[0] + c[1]) * smaller >= LEAST_EXPECTED;
    let (mut counts, rare): (Vec<_>, Vec<_>) = counts.into_iter().partition(enough);
    let rare = totals(&rare);
    if enough(&rare) {
        counts.push(rare);
    }
    if counts.len() < 2 {
        return false;
    }
    let groups = totals(&counts);
    let n = groups[0] + groups[1];
    let terms = counts.iter().flat_map(|c| {
        [0, 1].map(|g| {
            let expected = (c[0] + c[1]) * groups[g] / n;
            (c[g] - expected) * (c[g] - expected) / expected
        })
    });
    let terms: Vec<f64> = terms.collect();
    sum(&terms) > chi_square_threshold(counts.len() - 1)
}

/// What a chi-square statistic exceeds by chance as rarely as the other test does.
///
/// # Formula
/// `k (1 - 2/(9k) + z sqrt(2/(9k)))^3` for `k` degrees of freedom.
///
/// # Reference
/// Wilson and Hilferty (1931), The distribution of chi-square.
fn chi_square_threshold(freedom: usize) -> f64 {
    let k = freedom as f64;
    let variance = 2.0 / (9.0 * k);
    let root = 1.0 - variance + LARGEST_CHANCE_ONE_SIDED * variance.sqrt();
    k * root * root * root
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn flags(missing: usize, present: usize) -> Vec<bool> {
        (0..missing + present).map(|i| i < missing).collect()
    }

    fn predicts(task: Task, responses: &[f32], missing: &[bool]) -> bool {
        Missingness::new(task, responses).is_input(missing.to_vec(), None)
    }

    /// Both groups are -1, 0, 1 twice over, one of them moved: the pooled variance is 8 / 10, so
    /// the statistic is `shift / sqrt(0.8 / 3)`, which is 2.5 at 1.29099.
    #[test]
    fn means_differ_beyond_the_threshold() {
        let differ = |shift: f32| {
            let group = [-1.0, 0.0, 1.0, -1.0, 0.0, 1.0];
            let responses = [group.map(|y| y + shift), group].concat();
            predicts(Task::Regression, &responses, &flags(6, 6))
        };
        assert!(differ(1.2911) && differ(-1.2911));
        assert!(!differ(1.2909) && !differ(-1.2909) && !differ(0.0));
    }

    #[test]
    fn groups_without_spread_differ_if_their_means_do() {
        let missing = flags(5, 5);
        let parts = |a: f32, b: f32| [[a; 5], [b; 5]].concat();
        assert!(predicts(Task::Regression, &parts(1.0, 0.0), &missing));
        assert!(!predicts(Task::Regression, &parts(1.0, 1.0), &missing));
    }

    #[test]
    fn few_rows_and_densities_decide_nothing() {
        let responses: Vec<f32> = (0..20).map(|i| if i < 4 { 1.0 } else { 0.0 }).collect();
        for task in [Task::Regression, Task::Binary] {
            assert!(!predicts(task, &responses, &flags(4, 16)));
            let others: Vec<bool> = flags(4, 16).iter().map(|m| !m).collect();
            assert!(!predicts(task, &responses, &others));
            assert!(predicts(task, &responses, &flags(5, 15)));
        }
        assert!(!predicts(Task::Density, &[], &flags(5, 15)));
    }

    /// The exact quantiles: `2.5^2` for one degree of freedom; for an even number 2h of them the
    /// root of `exp(-x/2) sum_{j<h} (x/2)^j / j! = P(|Z| > 2.5)`, found by bisection.
    #[test]
    fn thresholds_are_the_quantiles_within_a_hundredth() {
        for (freedom, exact) in [
            (1, 6.25),
            (2, 8.777_002),
            (4, 12.776_828),
            (10, 22.577_242),
            (40, 62.694_832),
        ] {
            let ratio = chi_square_threshold(freedom) / exact;
            assert!((ratio - 1.0).abs() < 0.011, "{freedom}: {ratio}");
        }
    }

    /// Class 1 in 9 of 20 missing and 3 or 2 of 20 present rows: of a 2 x 2 table with rows
    /// (a, b), (c, d) the statistic is `n (ad - bc)^2` over the product of its four sums, which
    /// is 4.29 and 6.14 (below 6.18), and 7.03 for 8 and 1.
    #[test]
    fn classes_are_compared_by_chi_square() {
        let differ = |missing: usize, present: usize| {
            let class = |k: usize, i: usize| f32::from(u8::from(i < k));
            let responses: Vec<f32> = (0..20)
                .map(|i| class(missing, i))
                .chain((0..20).map(|i| class(present, i)))
                .collect();
            predicts(Task::Binary, &responses, &flags(20, 20))
        };
        assert!(!differ(9, 3) && !differ(9, 2));
        assert!(differ(8, 1) && differ(1, 8));
    }

    /// One row of a class that is expected in a fifth of a row proves nothing, and neither do
    /// classes without rows.
    #[test]
    fn rare_classes_are_no_evidence() {
        let mut responses = vec![0.0; 25];
        responses[0] = 1.0;
        assert!(!predicts(Task::Binary, &responses, &flags(5, 20)));
        let task = Task::Multiclass { classes: 9 };
        assert!(!predicts(task, &responses, &flags(5, 20)));
        // Five classes of one row each, in all missing rows: together they are no longer rare.
        for (row, class) in (1..=5u8).enumerate() {
            responses[row] = f32::from(class);
        }
        assert!(predicts(task, &responses, &flags(5, 20)));
    }

    #[test]
    fn equal_rows_are_one_input() {
        let responses: Vec<f32> = (0..20).map(|i| if i < 8 { 1.0 } else { 0.0 }).collect();
        let mut missingness = Missingness::new(Task::Regression, &responses);
        assert!(missingness.is_input(flags(7, 13), None));
        assert!(!missingness.is_input(flags(7, 13), None));
        assert!(missingness.is_input(flags(8, 12), None));
    }

    /// Missing at random, so that all means are alike: a square differs from its values near zero, a line does not.
    #[test]
    fn what_a_function_would_have_to_bend_for_is_an_input() {
        let x: Vec<f64> = (0..200).map(|i| f64::from(i - 100) / 50.0).collect();
        let missing: Vec<bool> = (0..200).map(|i| i % 4 == 0).collect();
        let distance: Vec<f64> = x.iter().map(|x| x.abs()).collect();
        let is_input = |task: Task, y: fn(f64) -> f64, distance: Option<&[f64]>| {
            let y: Vec<f32> = x.iter().map(|x| y(*x) as f32).collect();
            Missingness::new(task, &y).is_input(missing.clone(), distance)
        };
        let far = |x: f64| f64::from(u8::from(x.abs() > 1.0));
        for (task, y) in [
            (Task::Regression, (|x| x * x) as fn(f64) -> f64),
            (Task::Binary, far),
        ] {
            assert!(is_input(task, y, Some(&distance)));
            assert!(!is_input(task, y, None));
        }
        assert!(!is_input(Task::Regression, |x| x, Some(&distance)));
        assert!(!is_input(Task::Regression, |x| x.powi(3), Some(&distance)));
    }

    /// A fifth of the six with a value is one, the nearest.
    #[test]
    fn near_are_a_fifth() {
        let missing = [false, true, false, false, true, false, false, false];
        let distance = [3.0, f64::NAN, 1.0, 2.0, f64::NAN, 0.5, 4.0, 5.0];
        assert_eq!(missing_and_near(&missing, &distance), [1, 4, 5]);
    }

    proptest! {
        /// Any flags and classes are decided, whichever of the two groups is called missing.
        #[test]
        fn the_groups_are_interchangeable(
            rows in prop::collection::vec((any::<bool>(), 0u8..4, -3.0f32..3.0), 0..60),
        ) {
            let missing: Vec<bool> = rows.iter().map(|row| row.0).collect();
            let present: Vec<bool> = rows.iter().map(|row| !row.0).collect();
            let classes: Vec<f32> = rows.iter().map(|row| f32::from(row.1)).collect();
            let task = Task::Multiclass { classes: 4 };
            prop_assert_eq!(predicts(task, &classes, &missing), predicts(task, &classes, &present));
            let responses: Vec<f32> = rows.iter().map(|row| row.2).collect();
            prop_assert_eq!(
                predicts(Task::Regression, &responses, &missing),
                predicts(Task::Regression, &responses, &present)
            );
        }
    }
}
