//! What a selection gives, and which of several choices is the best.

use crate::fit::Fit;
use crate::honest;
use loopfit_model::Network;
use loopfit_numerics::libm;
use loopfit_numerics::stream::Stream;
use loopfit_numerics::sum::{mean, standard_error};

/// Standard errors by which held-out losses must be below those of something simpler to be preferred: of a network below those of the affine
/// function, under a larger cap below those of what a smaller one delivers. The best of three methods is better by 0.8 by chance alone where
/// all are alike. With one margin for both, what is preferred to something that is preferred is so too.
pub const PREFERRED: f64 = 1.5;
/// As many for an affine function of fewer inputs or with zeros to be preferred to the one of all inputs: of numbers, and of classes, whose
/// losses have tails so long that those of few rows make their standard errors look small.
const FEWER: [f64; 2] = [2.0, 3.0];
/// As many for an affine function of classes to have zeros in a quarter of its coefficients: it differs little from the one of all inputs,
/// so that little is lost where the few rows mislead.
const FEW_ZEROS: f64 = 1.0;
/// As many for an affine function to have another penalty than the evidence's: that of few rows is better than what few held-out rows choose.
const OTHER_PENALTY: f64 = 1.5;
/// How far from the losses of fitted rows to those of held-out ones the loss of a good fit to all rows is; with `p` coefficients and `n`
/// rows, of which a fold fits 0.8, these differ by about `2 p / (0.8 n)`, and fits to `n` and `0.8 n` rows by `0.25 p / n`: a tenth, and a
/// little more for chance.
const CLOSER: f64 = 0.25;
/// Standard errors by which the held-out loss of classes must fall with a weaker penalty for that to be preferred. Rows that are sure and wrong are
/// rare and cost much, so that few held-out rows make a weak penalty look good.
const WEAKER: f64 = 0.5;

/// A network with a penalty, and what cross-validation says of it.
#[derive(Clone, Debug)]
pub struct Choice {
    /// The network, as if there were no other inputs than the most important ones that it reads.
    pub network: Network,
    /// The inputs that a fit to all rows reads.
    pub inputs: Vec<usize>,
    /// Narrower networks that are fitted first, the narrowest first: each begins with the units of the one before.
    pub grown_from: Vec<Network>,
    /// How many coefficients its units of one input each have, which are added one by one; none if it begins at random.
    pub stepwise: Option<usize>,
    /// How many coefficients are left after the others became zero; none if all are.
    pub pruned_to: Option<usize>,
    /// Factor on the strengths of the evidence.
    pub factor: f64,
    /// Starts of each fit.
    pub starts: usize,
    /// Most steps of each fit: part of the choice, since with separable classes the evidence lets coefficients grow for ever.
    pub steps: usize,
    /// Loss of each row that some fold holds out, by row; the mean where several do.
    pub losses: Vec<f64>,
    /// Mean loss of the rows that were fitted, the median over the folds.
    pub(crate) fitted_loss: f64,
    /// Outputs of each held-out row, row-major, in the order of the folds.
    pub outputs: Vec<f64>,
    /// These rows.
    pub held: Vec<usize>,
    /// The fit to each fold, before the factor.
    pub(crate) fits: Vec<Fit>,
    /// The inputs that each of them reads.
    pub(crate) fold_inputs: Vec<Vec<usize>>,
}

impl Choice {
    /// The network as it was fitted to the first fold, with its zeros, which are others in every fit.
    pub fn fitted(&self) -> Network {
        let zeros = self.fits.first().map_or_else(Vec::new, Fit::zeros);
        let network = self.network.clone().with_zeros(zeros);
        network.unwrap_or_else(|_| self.network.clone())
    }

    /// Whether another one differs in the factor alone.
    fn is_like(&self, other: &Self) -> bool {
        let how = |c: &Self| (c.stepwise, c.pruned_to);
        self.network == other.network
            && self.grown_from == other.grown_from
            && how(self) == how(other)
    }

    /// Whether another affine function is fitted in the same way.
    pub(crate) fn is_fitted_like(&self, other: &Self) -> bool {
        let how = |c: &Self| (c.pruned_to, c.factor);
        self.network == other.network && how(self) == how(other)
    }

    /// Whether it is the same network, with the same fits to folds as its losses show.
    pub fn is(&self, other: &Self) -> bool {
        self.network == other.network && self.inputs == other.inputs && self.losses == other.losses
    }

    /// Mean loss over held-out rows.
    pub fn cross_validation(&self) -> f64 {
        mean(&self.losses)
    }

    /// Mean loss of the rows of a fit to all of them that has found an optimum as good as the folds' are: near the one of their fits,
    /// a little towards that of held-out rows, since more rows are followed less closely.
    pub(crate) fn expected_loss(&self) -> f64 {
        self.fitted_loss + CLOSER * (self.cross_validation() - self.fitted_loss).max(0.0)
    }
}

/// Of an affine function with several factors the one of the evidence, unless another is clearly better; none if none was judged.
pub(crate) fn by_evidence(mut choices: Vec<Choice>) -> Option<Choice> {
    choices.retain(|choice| choice.cross_validation().is_finite());
    sort(&mut choices);
    let smallest = choices.first()?;
    let own = choices.iter().find(|choice| choice.factor == 1.0);
    let own = own.filter(|own| paired(&smallest.losses, &own.losses) < OTHER_PENALTY);
    Some(own.unwrap_or(smallest).clone())
}

/// The best of a method, and how good it is.
#[derive(Clone, Debug)]
pub struct Chosen {
    /// The choice.
    pub best: Choice,
    /// An estimate of its error on new rows that allows for having been selected.
    pub error: f64,
    /// The best of those that can grow: it has no zeros.
    pub(crate) grows: Option<Choice>,
    /// The held-out losses of all that it was selected from.
    pub(crate) finalists: Vec<Vec<f64>>,
}

impl Chosen {
    /// The one with the smallest mean loss, of classes with the strongest penalty that is hardly worse; none if none was judged.
    pub(crate) fn of(mut choices: Vec<Choice>, classes: bool, stream: Stream) -> Option<Self> {
        choices.retain(|choice| choice.cross_validation().is_finite());
        sort(&mut choices);
        let finalists: Vec<Vec<f64>> = choices.iter().map(|c| c.losses.clone()).collect();
        let grows = choices.iter().find(|c| c.pruned_to.is_none()).cloned();
        let smallest = choices.first()?;
        let hardly_worse = |c: &&Choice| {
            classes && c.is_like(smallest) && paired(&smallest.losses, &c.losses) < WEAKER
        };
        let others = choices.iter().filter(hardly_worse);
        let best = others.fold(smallest, |a, b| if b.factor > a.factor { b } else { a });
        Some(Self::new(best.clone(), grows, finalists, stream))
    }

    fn new(best: Choice, grows: Option<Choice>, finalists: Vec<Vec<f64>>, stream: Stream) -> Self {
        let losses: Vec<&[f64]> = finalists.iter().map(|l| &l[..]).collect();
        Self {
            error: honest::error(&losses, stream.child("honest")),
            best,
            grows,
            finalists,
        }
    }

    /// The same with what other folds say of it.
    pub(crate) fn judged(self, losses: Vec<f64>, outputs: Vec<f64>, held: Vec<usize>) -> Self {
        let best = Choice {
            losses,
            outputs,
            held,
            ..self.best
        };
        Self {
            error: best.cross_validation(),
            finalists: vec![best.losses.clone()],
            grows: self.grows,
            best,
        }
    }

    /// This affine function, or that of all inputs unless this is clearly better.
    pub(crate) fn or_of_all_inputs(self, full: Option<Self>, classes: bool) -> Self {
        let margin = FEWER[usize::from(classes)];
        match full {
            Some(full) if paired(&self.best.losses, &full.best.losses) < margin => {
                self.preferring(full.best)
            }
            _ => self,
        }
    }

    /// This affine function of classes, or one with few zeros if that is better.
    pub(crate) fn or_with_few_zeros(self, few: Option<Self>) -> Self {
        match few {
            Some(few) if few.is_better_than(&self, FEW_ZEROS) => Self {
                finalists: [self.finalists, few.finalists].concat(),
                ..few
            },
            _ => self,
        }
    }

    /// Another choice of those that this was selected from.
    pub(crate) fn preferring(self, best: Choice) -> Self {
        Self { best, ..self }
    }

    /// What was selected under a smaller cap, with the error that it has there, unless this is clearly better.
    pub(crate) fn or(self, smaller: Option<&Self>, stream: Stream) -> Self {
        let Some(smaller) = smaller else {
            return self;
        };
        let finalists = [smaller.finalists.clone(), self.finalists.clone()].concat();
        match self.is_better_than(smaller, PREFERRED) {
            true => Self::new(self.best, self.grows, finalists, stream),
            false => Self {
                best: smaller.best.clone(),
                error: smaller.error,
                grows: self.grows,
                finalists,
            },
        }
    }

    /// Whether its held-out losses are so many standard errors of the paired difference below those of another.
    fn is_better_than(&self, other: &Self, margin: f64) -> bool {
        paired(&self.best.losses, &other.best.losses) >= margin
    }

    /// Whether it is clearly better than the affine function, if there is one.
    fn is_preferred(&self, linear: Option<&Self>) -> bool {
        linear.is_none_or(|linear| self.is_better_than(linear, PREFERRED))
    }
}

/// What is best under a cap.
#[derive(Clone, Debug)]
pub struct Selection {
    /// The cap.
    pub cap: usize,
    /// The best affine function, if one fits the cap.
    pub linear: Option<Chosen>,
    /// The best network of each method, in the order asked for; none where none fits the cap.
    pub methods: Vec<Option<Chosen>>,
    /// Seconds from the beginning of the work on the affine function to its end, and of that on each method, under this cap. Methods are
    /// worked on beside each other; nothing is decided by this.
    pub seconds: Vec<f64>,
    /// The best: 0 for the affine function, then the methods in their order.
    pub(crate) best: Option<usize>,
}

impl Selection {
    /// The linear choice first, then those of the methods in their order.
    pub fn all(&self) -> impl Iterator<Item = &Chosen> {
        self.linear.iter().chain(self.methods.iter().flatten())
    }

    /// With the best of what was selected under this cap, given what was best under a smaller one.
    pub(crate) fn decided(self, before: Option<&Self>) -> Self {
        let best = self.decide(before.and_then(|before| before.best));
        Self { best, ..self }
    }

    /// The slot of the best: the smallest honest error of the affine function and the networks that are clearly better than it. What
    /// was best under a smaller cap stays unless that is better by a margin.
    fn decide(&self, kept: Option<usize>) -> Option<usize> {
        let slots: Vec<Option<&Chosen>> = self.slots().collect();
        let linear = slots[0];
        let known = slots.iter().enumerate();
        let known = known.filter_map(|(slot, chosen)| Some((slot, (*chosen)?)));
        let may = known.filter(|(slot, chosen)| *slot == 0 || chosen.is_preferred(linear));
        let smallest = may.min_by(|(_, a), (_, b)| a.error.total_cmp(&b.error));
        let kept = kept.and_then(|slot| Some((slot, slots[slot]?)));
        let (slot, _) = match (smallest, kept) {
            (Some(new), Some(kept)) if new.1.is_better_than(kept.1, PREFERRED) => new,
            (_, Some(kept)) => kept,
            (new, None) => new?,
        };
        Some(slot)
    }

    /// The affine function, then the network of each method, if there is one.
    fn slots(&self) -> impl Iterator<Item = Option<&Chosen>> {
        let methods = self.methods.iter().map(Option::as_ref);
        [self.linear.as_ref()].into_iter().chain(methods)
    }

    /// The place among [`Selection::all`] of the best. It is what a smaller cap delivers unless something is better by one and a half
    /// standard errors of the paired difference, and a network only if it is clearly better than the affine function of the cap that it was found under.
    pub fn best(&self) -> Option<usize> {
        Some(self.slots().take(self.best?).flatten().count())
    }
}

/// By how many of its standard errors the mean of `a` is below that of `b`, row by row. Few rows say little of their spread: Student's `t` counts
/// as the normal deviate that is as improbable.
///
/// # Formula
/// `z = (8 v + 1) / (8 v + 3) {v log(1 + t^2 / v)}^{1/2}` with the sign of `t`, at `v = n - 1` degrees of freedom.
///
/// # Reference
/// Wallace, "Bounds on normal approximations to Student's and the chi-square distributions", 1959.
pub fn paired(a: &[f64], b: &[f64]) -> f64 {
    let differences: Vec<f64> = a.iter().zip(b).map(|(a, b)| b - a).collect();
    let t = mean(&differences) / standard_error(&differences);
    // Equal losses, or one row: neither is below.
    if t.is_nan() {
        return 0.0;
    }
    if t.is_infinite() {
        return t;
    }
    let v = differences.len() as f64 - 1.0;
    let z = (v * libm::log1p(t * t / v)).sqrt();
    ((8.0 * v + 1.0) / (8.0 * v + 3.0) * z).copysign(t)
}

/// The mean of what belongs to each of these rows, by row.
pub fn by_row(rows: &[usize], values: &[f64]) -> Vec<f64> {
    let mut pairs: Vec<(usize, f64)> = rows.iter().copied().zip(values.iter().copied()).collect();
    pairs.sort_by_key(|(row, _)| *row);
    let runs = pairs.chunk_by(|a, b| a.0 == b.0);
    runs.map(|run| run.iter().map(|(_, v)| v).sum::<f64>() / run.len() as f64)
        .collect()
}

/// The smallest mean loss first.
pub(crate) fn sort(choices: &mut [Choice]) {
    choices.sort_by(|a, b| a.cross_validation().total_cmp(&b.cross_validation()));
}

#[cfg(test)]
mod tests {
    use super::*;
    use loopfit_model::Tying;

    fn choice(factor: f64, losses: &[f64]) -> Choice {
        Choice {
            network: Network::ffn(2, 3, 2, 2, Tying::Single).unwrap(),
            inputs: vec![0, 1],
            grown_from: Vec::new(),
            stepwise: None,
            pruned_to: None,
            factor,
            starts: 1,
            steps: 1,
            losses: losses.to_vec(),
            fitted_loss: 0.0,
            outputs: Vec::new(),
            held: Vec::new(),
            fits: Vec::new(),
            fold_inputs: Vec::new(),
        }
    }

    /// Quantiles of Student's `t` are those of the normal law, here from tables of both.
    #[test]
    fn few_rows_make_differences_less_certain() {
        for (rows, t, z) in [(6, 2.571, 1.960), (11, 2.228, 1.960), (31, 2.750, 2.576)] {
            // Differences of mean one and of standard error one over t.
            let spread = (f64::from(rows)).sqrt() / t;
            let raw: Vec<f64> = (0..rows)
                .map(|i| f64::from(i) - 0.5 * f64::from(rows - 1))
                .collect();
            let size = standard_error(&raw) * (rows as f64).sqrt();
            let losses: Vec<f64> = raw.iter().map(|v| 1.0 + spread * v / size).collect();
            let zeros = vec![0.0; losses.len()];
            assert!((paired(&zeros, &losses) - z).abs() < 0.01);
            assert!((paired(&losses, &zeros) + z).abs() < 0.01);
        }
        assert_eq!(paired(&[0.0; 3], &[1.0; 3]), f64::INFINITY);
        assert_eq!(paired(&[0.5], &[1.0]), 0.0);
    }

    /// Losses fall by 0.01 (less than one standard error of the difference), and by 0.1 (far more), with a weaker penalty.
    #[test]
    fn classes_get_the_strongest_penalty_that_is_hardly_worse() {
        let weak = choice(0.1, &[0.30, 0.10, 0.20, 0.40]);
        let medium = choice(1.0, &[0.35, 0.08, 0.25, 0.36]);
        let strong = choice(10.0, &[0.45, 0.18, 0.35, 0.46]);
        let all = vec![strong, weak, medium];
        let factor = |classes| {
            let chosen = Chosen::of(all.clone(), classes, Stream::new(1));
            chosen.map(|chosen| chosen.best.factor)
        };
        assert_eq!(factor(true), Some(1.0));
        assert_eq!(factor(false), Some(0.1));
    }

    /// Losses fall by more than two standard errors with fewer inputs: enough of numbers, not of classes.
    #[test]
    fn classes_need_more_to_leave_inputs_out() {
        let fewer = choice(1.0, &[0.1, 0.2, 0.3, 0.4]);
        let full = choice(1.0, &[0.2, 0.23, 0.35, 0.45]);
        let t = paired(&fewer.losses, &full.losses);
        assert!((2.0..3.0).contains(&t), "{t}");
        let kept = |classes| {
            let of = |choice: &Choice| Chosen::of(vec![choice.clone()], classes, Stream::new(1));
            let chosen = of(&fewer).unwrap().or_of_all_inputs(of(&full), classes);
            chosen.best.losses[0]
        };
        assert_eq!((kept(false), kept(true)), (0.1, 0.2));
    }

    /// Losses fall by 1.2 standard errors with a weaker penalty than the evidence's, then by far more.
    #[test]
    fn affine_functions_have_the_penalty_of_the_evidence() {
        let own = choice(1.0, &[0.35, 0.08, 0.25, 0.36]);
        let hardly = choice(0.1, &[0.30, 0.07, 0.27, 0.30]);
        let clearly = choice(10.0, &[0.25, 0.0, 0.16, 0.26]);
        let t = paired(&hardly.losses, &own.losses);
        assert!((0.5..OTHER_PENALTY).contains(&t), "{t}");
        let factor = |choices: &[&Choice]| {
            let choices = choices.iter().map(|choice| (*choice).clone()).collect();
            by_evidence(choices).map(|choice| choice.factor)
        };
        assert_eq!(factor(&[&hardly, &own]), Some(1.0));
        assert_eq!(factor(&[&hardly, &own, &clearly]), Some(10.0));
        assert_eq!(factor(&[&hardly]), Some(0.1));
        assert_eq!(factor(&[&choice(1.0, &[f64::NAN])]), None);
    }

    fn chosen(losses: &[f64]) -> Chosen {
        Chosen::of(vec![choice(1.0, losses)], false, Stream::new(1)).unwrap()
    }

    /// Losses fall by 2.4 standard errors, which is enough, and by 0.6, which is not.
    #[test]
    fn classes_need_less_to_leave_few_coefficients_out() {
        let kept = |few: &[f64]| {
            let full = chosen(&[0.2, 0.22, 0.34, 0.44]);
            let found = full.or_with_few_zeros(Some(chosen(few)));
            (found.best.losses[0], found.finalists.len())
        };
        assert_eq!(kept(&[0.1, 0.2, 0.3, 0.4]), (0.1, 2));
        assert_eq!(kept(&[0.1, 0.25, 0.33, 0.45]), (0.2, 1));
        let full = chosen(&[0.2, 0.22, 0.34, 0.44]);
        assert_eq!(full.or_with_few_zeros(None).best.losses[0], 0.2);
    }

    /// What is best of an affine function and two methods, after what was best under a smaller cap.
    fn selection(
        linear: Option<&[f64]>,
        methods: [Option<&[f64]>; 2],
        before: Option<&Selection>,
    ) -> Selection {
        let selection = Selection {
            cap: 8,
            linear: linear.map(chosen),
            methods: methods.map(|losses| losses.map(chosen)).to_vec(),
            seconds: Vec::new(),
            best: None,
        };
        selection.decided(before)
    }

    const LINE: [f64; 4] = [1.0, 1.1, 1.0, 1.1];
    /// Far below the line; then a third of a standard error, and far, below that.
    const FIRST: [f64; 4] = [0.5, 0.4, 0.5, 0.4];
    const HARDLY: [f64; 4] = [0.4, 0.5, 0.5, 0.36];
    const FAR: [f64; 4] = [0.3, 0.21, 0.3, 0.2];

    #[test]
    fn a_larger_cap_keeps_what_a_smaller_one_delivers() {
        let smaller = selection(Some(&LINE), [Some(&FIRST), None], None);
        assert_eq!(smaller.best(), Some(1));
        // Another method is hardly better: it would win alone, and does not win against what is there.
        let both = [Some(&FIRST[..]), Some(&HARDLY[..])];
        assert_eq!(selection(Some(&LINE), both, None).best(), Some(2));
        assert_eq!(selection(Some(&LINE), both, Some(&smaller)).best(), Some(1));
        let both = [Some(&FIRST[..]), Some(&FAR[..])];
        let larger = selection(Some(&LINE), both, Some(&smaller));
        assert_eq!(larger.best(), Some(2));
        // And so on from cap to cap.
        let back = [Some(&FAR.map(|loss| 0.99 * loss)[..]), Some(&FAR[..])];
        assert_eq!(selection(Some(&LINE), back, Some(&larger)).best(), Some(1));
        let back = [Some(&[0.21, 0.3, 0.2, 0.295][..]), Some(&FAR[..])];
        assert_eq!(selection(Some(&LINE), back, Some(&larger)).best(), Some(2));
    }

    #[test]
    fn a_line_stays_until_a_network_is_clearly_better() {
        // By 1.4 standard errors.
        let close = [0.97, 0.93, 1.05, 0.95];
        let t = paired(&close, &LINE);
        assert!((1.0..PREFERRED).contains(&t), "{t}");
        let line = selection(Some(&LINE), [Some(&close), None], None);
        assert_eq!(line.best(), Some(0));
        let larger = selection(Some(&LINE), [Some(&close), Some(&FIRST)], Some(&line));
        assert_eq!(larger.best(), Some(2));
        // A line that only the larger cap holds needs the margin too, and has the first place once it is there.
        let without = selection(None, [Some(&close), None], None);
        assert_eq!(without.best(), Some(0));
        let with = selection(Some(&LINE), [Some(&close), None], Some(&without));
        assert_eq!(with.best(), Some(1));
        let better = close.map(|loss| loss - 0.1);
        let with = selection(Some(&better), [Some(&close), None], Some(&without));
        assert_eq!(with.best(), Some(0));
        assert_eq!(selection(None, [None, None], None).best(), None);
    }

    /// Of three that are each one and a half standard errors below the one before, the last is as much below the first.
    #[test]
    fn what_is_clearly_better_than_the_better_is_clearly_better() {
        for seed in 0..200 {
            let draws = Stream::new(seed);
            let step = |role: &str, from: &[f64]| -> Vec<f64> {
                let draws = draws.child(role);
                let noise: Vec<f64> = (0..6).map(|i| draws.normal(i)).collect();
                // Of six rows it takes as many to count as 1.5.
                let shift = mean(&noise) + 1.79 * standard_error(&noise);
                from.iter()
                    .zip(&noise)
                    .map(|(l, e)| l - shift + e)
                    .collect()
            };
            let first = vec![1.0; 6];
            let second = step("second", &first);
            let third = step("third", &second);
            for (a, b) in [(&second, &first), (&third, &second), (&third, &first)] {
                assert!(chosen(a).is_better_than(&chosen(b), PREFERRED));
            }
        }
    }

    /// What was selected under a smaller cap stays, with the error that it has there, unless this is clearly better.
    #[test]
    fn a_method_keeps_its_smaller_network() {
        let smaller = chosen(&FIRST);
        let with = |wide: &[f64]| chosen(wide).or(Some(&smaller), Stream::new(1));
        let kept = with(&HARDLY);
        assert_eq!((kept.best.losses[0], kept.error), (0.5, smaller.error));
        assert_eq!(kept.finalists.len(), 2);
        let wider = with(&FAR);
        assert_eq!(wider.best.losses[0], 0.3);
        assert!(wider.error < smaller.error);
    }

    #[test]
    fn a_penalty_belongs_to_its_network() {
        let other = Choice {
            pruned_to: Some(5),
            ..choice(10.0, &[0.31, 0.09, 0.21, 0.39])
        };
        let chosen = Chosen::of(
            vec![choice(1.0, &[0.3, 0.1, 0.2, 0.38]), other],
            true,
            Stream::new(1),
        );
        assert_eq!(chosen.map(|c| c.best.factor), Some(1.0));
    }
}
