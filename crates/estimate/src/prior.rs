//! A Gaussian prior on groups of coefficients.

use loopfit_model::{Form, Network, Reduced};
use loopfit_numerics::cholesky::Cholesky;

/// Prior precision of coefficients that are not penalised, the output's bias: enough to keep the matrix regular.
const FREE_PRECISION: f64 = 1e-6;

/// A Gaussian prior on groups of coefficients.
///
/// # Formula
/// `L(theta) + 1/2 sum_g lambda_g theta_g^T Q theta_g + 5e-7 (b - c)^2` is minimised, `b` the output's bias, `c` the mean of the targets, `L` the sum of losses and
/// `lambda_g = multiplier alpha_g / beta` with a precision `alpha_g` for each group (a tensor each) and the precision
/// `beta` of the noise, one where the likelihood has no scale. `alpha` and `beta` are MacKay's:
/// `alpha_g = gamma_g / theta_g^T Q theta_g`, `gamma_g = k_g - alpha_g tr (A^-1 Q)_g` with `A = beta H + alpha Q`,
/// and `beta = (n - gamma) / 2 L` (Gaussian) or `(n - gamma) / L` (Laplace).
///
/// `Q` is the identity but for the coefficients of `C` classes, of which the last is fixed at zero: for those that differ in
/// the class alone it is `I - 1 1^T / C`. That is the sum of squares of what all `C` have when their mean is zero, so no class is
/// treated unlike the others.
///
/// # Reference
/// MacKay, "Bayesian interpolation", 1992.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Prior {
    /// Group of each coefficient; none for the output's bias.
    group: Vec<Option<usize>>,
    /// The places of the coefficients that are not zero for good, ascending.
    kept: Vec<usize>,
    /// Sets of coefficients that differ in the class alone.
    classmates: Vec<Vec<usize>>,
    /// The same sets as places among those that are kept.
    across: Vec<Vec<usize>>,
    /// Number of classes.
    classes: f64,
    /// What the prior takes the output's bias to be: [that](crate::rows::Rows::centre) of the rows that are fitted.
    pub(crate) centre: f64,
    /// Precision of each group.
    pub(crate) alpha: Vec<f64>,
    /// Precision of the noise.
    pub(crate) beta: f64,
}

/// A quadratic penalty on the kept coefficients, `1/2 theta^T (P Q) theta` with `P` diagonal and `theta` less its prior mean.
#[derive(Debug)]
pub(crate) struct Penalty<'a> {
    prior: &'a Prior,
    precision: Vec<f64>,
}

impl Prior {
    /// One precision for all groups.
    pub(crate) fn new(network: &Network, precision: f64) -> Self {
        let mut group = vec![None; network.count()];
        let (mut groups, mut classmates) = (0, Vec::new());
        let told = Reduced::outputs_told(network.outputs());
        // Channels that are the scores of classes.
        let scores = matches!(network.form(), Form::Carried { extra } if extra >= told);
        for view in &network.layout() {
            if view.name == "output.bias" {
                continue;
            }
            group[view.range()].fill(Some(groups));
            groups += 1;
            let outgoing = view.name.ends_with(".w2") || view.name.ends_with(".b2");
            if told > 1 && (view.name == "output.weight" || scores && outgoing) {
                let class = |col: usize| (0..told).map(move |c| view.offset + c * view.cols + col);
                classmates.extend((0..view.cols).map(|col| class(col).collect()));
            }
        }
        Self {
            kept: (0..group.len()).collect(),
            group,
            across: classmates.clone(),
            classmates,
            classes: network.outputs() as f64,
            centre: 0.0,
            alpha: vec![precision; groups],
            beta: 1.0,
        }
    }

    /// The same precisions for a network with tensors of the same names.
    pub(crate) fn of(&self, network: &Network) -> Self {
        Self {
            alpha: self.alpha.clone(),
            beta: self.beta,
            ..Self::new(network, 1.0)
        }
    }

    /// The penalty with the precisions of the groups times a factor.
    pub(crate) fn penalty(&self, factor: f64) -> Penalty<'_> {
        let of = |group: &Option<usize>| match group {
            Some(g) => factor * self.alpha[*g],
            None => FREE_PRECISION,
        };
        Penalty {
            prior: self,
            precision: self.kept.iter().map(|i| of(&self.group[*i])).collect(),
        }
    }

    /// The places of the coefficients that are not zero for good, ascending.
    pub(crate) fn kept(&self) -> &[usize] {
        &self.kept
    }

    /// The places of those that are.
    pub(crate) fn zeros(&self) -> Vec<usize> {
        let kept = |i: &usize| self.kept.binary_search(i).is_ok();
        (0..self.group.len()).filter(|i| !kept(i)).collect()
    }

    /// Whether a coefficient may become zero: all but the output's bias.
    pub(crate) fn can_be_zero(&self, i: usize) -> bool {
        self.group[i].is_some()
    }

    /// Only these coefficients, in ascending places, are not zero for good.
    pub(crate) fn keep(&mut self, kept: Vec<usize>) {
        let place = |i: &usize| kept.binary_search(i).ok();
        let sets = self.classmates.iter();
        let sets = sets.map(|set| set.iter().filter_map(place).collect());
        self.across = sets.filter(|set: &Vec<usize>| !set.is_empty()).collect();
        self.kept = kept;
    }

    /// Coefficients that are not penalised.
    pub(crate) fn free(&self) -> f64 {
        self.group.iter().filter(|group| group.is_none()).count() as f64
    }

    /// Coefficients of each group.
    pub(crate) fn sizes(&self) -> Vec<f64> {
        self.sums(|_| 1.0, |_| 0.0)
    }

    /// `theta^T Q theta` of each group.
    pub(crate) fn squares(&self, theta: &[f64]) -> Vec<f64> {
        let theta = self.of_kept(theta);
        let sum = |set: &[usize]| set.iter().map(|k| theta[*k]).sum::<f64>();
        self.sums(|k| theta[k] * theta[k], |set| sum(set) * sum(set))
    }

    /// `tr (A^-1 Q)` of each group, from a factor of `A` and the diagonal of its inverse, both among the coefficients that are kept.
    pub(crate) fn traces(&self, factor: &Cholesky, inverse: &[f64]) -> Vec<f64> {
        let of_set = |set: &[usize]| {
            let mut solution = vec![0.0; self.kept.len()];
            set.iter().for_each(|k| solution[*k] = 1.0);
            factor.solve(&mut solution);
            set.iter().map(|k| solution[*k]).sum()
        };
        self.sums(|k| inverse[k], of_set)
    }

    /// For each group the sum over its kept coefficients, less the sum over classes divided by their number.
    fn sums(&self, own: impl Fn(usize) -> f64, of_set: impl Fn(&[usize]) -> f64) -> Vec<f64> {
        let mut sums = vec![0.0; self.alpha.len()];
        for (k, i) in self.kept.iter().enumerate() {
            if let Some(g) = self.group[*i] {
                sums[g] += own(k);
            }
        }
        for set in &self.across {
            if let Some(g) = self.group[self.kept[set[0]]] {
                sums[g] -= of_set(set) / self.classes;
            }
        }
        sums
    }

    /// The kept ones of all coefficients, as they differ from their prior means.
    fn of_kept(&self, theta: &[f64]) -> Vec<f64> {
        let mean = |i: &usize| self.group[*i].map_or(self.centre, |_| 0.0);
        self.kept.iter().map(|i| theta[*i] - mean(i)).collect()
    }
}

impl Penalty<'_> {
    /// The coefficients that differ in the class alone, with their precision divided by the number of classes.
    fn across(&self) -> impl Iterator<Item = (&[usize], f64)> {
        let Prior {
            across, classes, ..
        } = self.prior;
        across
            .iter()
            .map(move |set| (&set[..], self.precision[set[0]] / classes))
    }

    /// Its value at all coefficients.
    pub(crate) fn of(&self, theta: &[f64]) -> f64 {
        let theta = self.prior.of_kept(theta);
        let terms = self.precision.iter().zip(&theta).map(|(l, t)| l * t * t);
        let mut value = terms.sum::<f64>();
        for (set, precision) in self.across() {
            let sum: f64 = set.iter().map(|k| theta[*k]).sum();
            value -= precision * sum * sum;
        }
        0.5 * value
    }

    /// Adds its gradient at all coefficients to that of those that are kept.
    pub(crate) fn add_gradient(&self, theta: &[f64], to: &mut [f64]) {
        let theta = self.prior.of_kept(theta);
        for (to, (precision, theta)) in to.iter_mut().zip(self.precision.iter().zip(&theta)) {
            *to = precision.mul_add(*theta, *to);
        }
        for (set, precision) in self.across() {
            let sum: f64 = set.iter().map(|k| theta[*k]).sum();
            set.iter().for_each(|k| to[*k] -= precision * sum);
        }
    }

    /// Adds its matrix to the right upper part of another, both of the coefficients that are kept.
    pub(crate) fn add_matrix(&self, to: &mut [f64]) {
        let p = self.precision.len();
        for (i, precision) in self.precision.iter().enumerate() {
            to[i * p + i] += precision;
        }
        for (set, precision) in self.across() {
            for (place, i) in set.iter().enumerate() {
                set[place..].iter().for_each(|j| to[i * p + j] -= precision);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use loopfit_model::Tying;
    use loopfit_numerics::lanes::Level;

    fn network() -> Network {
        let network = Network::ffn(2, 4, 2 + 3, 2, Tying::Single).unwrap();
        network.with_form(Form::Carried { extra: 3 }).unwrap()
    }

    /// Scores of all classes with mean zero, of a row or column of coefficients of all but the last.
    fn all_classes(theta: &[f64]) -> Vec<f64> {
        let mean = theta.iter().sum::<f64>() / (theta.len() + 1) as f64;
        theta.iter().chain([&0.0]).map(|t| t - mean).collect()
    }

    #[test]
    fn no_class_is_unlike_the_others() {
        let network = network();
        let theta: Vec<f64> = (0..network.count())
            .map(|i| (i as f64 * 0.7).sin())
            .collect();
        let prior = Prior::new(&network, 2.0);
        let mut expected = 0.0;
        for view in &network.layout() {
            let values = &theta[view.range()];
            if view.name == "output.bias" {
                expected += 1e-6 * values.iter().map(|v| v * v).sum::<f64>();
            } else if view.name == "output.weight" || view.name.ends_with("w2") {
                for col in 0..view.cols {
                    let column: Vec<f64> = (0..3).map(|c| values[c * view.cols + col]).collect();
                    expected += 2.0 * all_classes(&column).iter().map(|v| v * v).sum::<f64>();
                }
            } else {
                expected += 2.0 * values.iter().map(|v| v * v).sum::<f64>();
            }
        }
        let value = prior.penalty(1.0).of(&theta);
        assert!((value - 0.5 * expected).abs() < 1e-12 * expected);
    }

    #[test]
    fn gradient_matrix_and_traces_belong_together() {
        let network = network();
        let p = network.count();
        let theta: Vec<f64> = (0..p).map(|i| (i as f64 * 1.3).cos()).collect();
        let prior = Prior::new(&network, 0.5);
        let penalty = prior.penalty(3.0);
        let (mut gradient, mut matrix) = (vec![0.0; p], vec![0.0; p * p]);
        penalty.add_gradient(&theta, &mut gradient);
        penalty.add_matrix(&mut matrix);
        for i in 0..p {
            let row = (0..p).map(|j| matrix[i.min(j) * p + i.max(j)] * theta[j]);
            assert!((row.sum::<f64>() - gradient[i]).abs() < 1e-12);
        }
        // With A = P Q itself, tr (A^-1 Q) of a group is its size over its precision.
        let mut cholesky = Cholesky::new(p, Level::fastest());
        assert!(cholesky.factor(&matrix, 0.0));
        let traces = prior.traces(&cholesky, &cholesky.inverse_diagonal().0);
        for (trace, size) in traces.iter().zip(prior.sizes()) {
            assert!((trace - size / 1.5).abs() < 1e-10);
        }
    }
}
