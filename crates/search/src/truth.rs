//! The law that a simulation draws from, and how far a model is from it.

use crate::SearchError;
use loopfit_data::Simulation;
use loopfit_fitted::FittedModel;
use loopfit_likelihood::{Bernoulli, Distance, Energy, Gaussian, Likelihood, Nodes};

/// Cells along each axis of the grid of one, two and three inputs. With two it is the paper's (F.4.5).
const SIDES: [usize; 3] = [4096, 256, 48];
/// Low-discrepancy points of more inputs.
const POINTS: usize = 65_536;

/// The law of a simulation on the nodes of a quadrature over its inputs, which are uniform; of a density over its draws.
#[derive(Clone, Debug)]
pub struct Truth {
    likelihood: Likelihood,
    rule: Energy,
    points: Vec<f64>,
    index: Vec<f64>,
}

impl Truth {
    /// The law of a seed.
    pub fn new(simulation: Simulation, seed: u64) -> Result<Self, SearchError> {
        let d = simulation.dim();
        let nodes = match SIDES.get(d - 1) {
            Some(&side) => Nodes::Grid { side },
            None => Nodes::LowDiscrepancy { n: POINTS },
        };
        let rule = Energy::new(d, nodes)?;
        let likelihood = match simulation.noise_sd() {
            Some(sd) => Likelihood::Gaussian(Gaussian::new(sd)?),
            None if simulation.is_binary() => Likelihood::Bernoulli(Bernoulli),
            None => Likelihood::Energy(rule),
        };
        let (points, target) = (rule.node_points(), simulation.target(seed));
        let index = points.chunks(d).map(|x| target.eval(x)).collect();
        Ok(Self {
            likelihood,
            rule,
            points,
            index,
        })
    }

    /// How the function explains data: with its own noise, on its own scale.
    pub fn likelihood(&self) -> Likelihood {
        self.likelihood
    }

    /// The nodes, row-major.
    pub fn points(&self) -> &[f64] {
        &self.points
    }

    /// The function at the nodes.
    pub fn index(&self) -> &[f64] {
        &self.index
    }

    /// Cells along each axis; none where the nodes are no grid.
    pub fn side(&self) -> Option<usize> {
        match self.rule.nodes() {
            Nodes::Grid { side } => Some(side),
            Nodes::LowDiscrepancy { .. } => None,
        }
    }

    /// Squared Hellinger distance between the laws of two functions that are given by their values at the nodes.
    ///
    /// # Formula
    /// Responses and classes: the mean over the nodes of the squared distance of the laws of Y given X, in closed form. Densities: the
    /// distance of the laws on the nodes.
    ///
    /// # Reference
    /// Section 2.2; Sections C.1 to C.4.
    pub fn between(&self, f: &[f64], g: &[f64]) -> Result<f64, SearchError> {
        let distance = Distance::HellingerSquared;
        Ok(self.likelihood.distance(distance, f, g)?)
    }

    /// Squared Hellinger distance of a function that is given by its values at the nodes.
    pub fn distance(&self, f: &[f64]) -> Result<f64, SearchError> {
        self.between(&self.index, f)
    }

    /// Squared Hellinger distance of a model.
    pub fn of_model(&self, model: &FittedModel) -> Result<f64, SearchError> {
        self.distance(&model.index(&self.points)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use loopfit_numerics::libm::{exp, sqrt};

    fn truth(text: &str) -> Truth {
        Truth::new(text.parse().unwrap(), 1).unwrap()
    }

    /// Expected: two functions that differ by a constant have the closed form of that constant, `2 - 2 exp(-c^2 / (8 sigma^2))`
    /// (Section C.1); c = 0.3, sigma = 0.3: 2 - 2 exp(-1/8) = 0.23500619...
    #[test]
    fn a_shift_of_a_gaussian_index_has_its_closed_form() {
        let truth = truth("double-well");
        let shifted: Vec<f64> = truth.index().iter().map(|f| f + 0.3).collect();
        assert!((truth.distance(&shifted).unwrap() - 0.235_006_194_83).abs() < 1e-9);
        assert_eq!(truth.distance(truth.index()).unwrap(), 0.0);
        assert_eq!(truth.points().len(), 2 * 256 * 256);
    }

    /// Classes against the sum over both of them, and a density against integrals, by quadratures that share no code with the calls.
    #[test]
    fn classes_and_densities_agree_with_direct_sums() {
        let packing = "packing:dim=1,smoothness=1,bound=160,delta=0.06,member=5,law=";
        let classes = truth(&format!("{packing}bernoulli"));
        let g: Vec<f64> = classes.points().iter().map(|x| 0.5 - x).collect();
        let one = |f: f64| 1.0 / (1.0 + exp(-f));
        let direct = classes.index().iter().zip(&g).map(|(f, g)| {
            let (p, q) = (one(*f), one(*g));
            (sqrt(p) - sqrt(q)).powi(2) + (sqrt(1.0 - p) - sqrt(1.0 - q)).powi(2)
        });
        let direct = direct.sum::<f64>() / 4096.0;
        assert!((classes.distance(&g).unwrap() - direct).abs() < 1e-12);
        let density = truth(&format!("{packing}energy"));
        assert_eq!(density.index(), classes.index());
        let z = |f: &[f64]| f.iter().map(|f| exp(*f)).sum::<f64>() / 4096.0;
        let (zf, zg) = (z(density.index()), z(&g));
        let pairs = density.index().iter().zip(&g);
        let direct = pairs.map(|(f, g)| (sqrt(exp(*f) / zf) - sqrt(exp(*g) / zg)).powi(2));
        let direct = direct.sum::<f64>() / 4096.0;
        assert!((density.distance(&g).unwrap() - direct).abs() < 1e-12);
    }
}
