//! Climbing a likelihood from given coefficients: fits whose samples choose their own checkpoint, so that what they
//! find is at least as likely as where they began. The best of them is a lower bound of the maximum over the class.

use crate::SearchError;
use loopfit_data::Samples;
use loopfit_engine::{
    Adam, Backend, Control, FitOutcome, FitSpec, MAX_SCORING_PARAMETERS, Optimiser, Scoring, Stage,
    Start, WeightDecay,
};
use loopfit_likelihood::Likelihood;
use loopfit_model::{Bounds, Parameters};
use loopfit_numerics::stream::Stream;
use std::sync::Arc;

/// Climbs from one start at most.
pub const MOST_CLIMBS: usize = 3;
/// Most samples of a batch: below it every step sees all of them.
const LARGEST_BATCH: usize = 4096;
/// Evaluations on the way, beside the first and the last one.
const EVALUATIONS: usize = 50;
/// Steps of second order: learning rate and damping of each climb.
const SCORING: [(f64, f64); MOST_CLIMBS] = [(0.3, 1e-3), (0.1, 1e-2), (0.03, 0.1)];
/// Steps of first order, for networks too large for the second: learning rates.
const ADAM: [f64; 2] = [1e-3, 1e-4];

/// What is climbed.
#[derive(Clone, Debug)]
pub struct Slope {
    /// The samples.
    pub samples: Arc<Samples>,
    /// How outputs explain them.
    pub likelihood: Likelihood,
    /// Parameter box and output clipping.
    pub bounds: Bounds,
}

impl Slope {
    /// One climb of so many updates from these coefficients for each of a few settings.
    pub fn climbs(&self, from: &Parameters, updates: usize, stream: Stream) -> Vec<FitSpec> {
        let spec = |(number, (optimiser, learning_rate)): (usize, (Optimiser, f64))| FitSpec {
            network: from.network().clone(),
            likelihood: self.likelihood,
            bounds: self.bounds,
            train: self.samples.clone(),
            valid: self.samples.clone(),
            start: Start::Given(from.clone()),
            stages: vec![Stage {
                optimiser,
                learning_rate,
                final_rate: 0.02,
                weight_decay: WeightDecay::Coupled(0.0),
                batch: self.samples.n().min(LARGEST_BATCH),
                updates,
                validate_every: updates.div_ceil(EVALUATIONS),
            }],
            stream: stream.nth(number as u64),
        };
        settings(from.network().count())
            .into_iter()
            .enumerate()
            .map(spec)
            .collect()
    }
}

fn settings(count: usize) -> Vec<(Optimiser, f64)> {
    if count > MAX_SCORING_PARAMETERS {
        let adam = Optimiser::Adam(Adam::default());
        return ADAM.map(|rate| (adam, rate)).to_vec();
    }
    let scoring = |(rate, damping): (f64, f64)| {
        let scoring = Scoring {
            damping,
            refresh: 5,
            ..Scoring::default()
        };
        (Optimiser::Scoring(scoring), rate)
    };
    SCORING.map(scoring).to_vec()
}

/// The highest of some climbs.
pub fn highest(climbed: &[FitOutcome]) -> Option<&FitOutcome> {
    let order = |a: &&FitOutcome, b: &&FitOutcome| a.validation.total_cmp(&b.validation);
    climbed.iter().min_by(order)
}

/// What climbing from an estimate found.
#[derive(Clone, Debug)]
pub struct Climbed {
    /// Average negative log-likelihood of the estimate on its samples.
    pub own: f64,
    /// The lowest that was found.
    pub lowest: f64,
    /// The most likely coefficients of each climb, on the estimate's samples and on others: members of its class.
    pub members: Vec<Parameters>,
}

/// Climbs from an estimate on its own samples and on others that say more of the truth, and then from what either found
/// on the other.
pub fn climb(
    backend: &dyn Backend,
    control: &Control,
    estimate: &Parameters,
    [own, truth]: [&Slope; 2],
    updates: usize,
) -> Result<Climbed, SearchError> {
    let root = Stream::new(0).child("climb");
    let round = |label: &str, from: [&Parameters; 2]| -> Result<[FitOutcome; 2], SearchError> {
        let stream = root.child(label);
        let mut specs = own.climbs(from[0], updates, stream.child("own"));
        let count = specs.len();
        specs.extend(truth.climbs(from[1], updates, stream.child("truth")));
        let outcomes = backend.run(&specs, control, &|_, _| ())?;
        if control.is_stopped() {
            return Err(SearchError::Interrupted);
        }
        let best = |outcomes: &[FitOutcome]| highest(outcomes).cloned();
        let both = best(&outcomes[..count]).zip(best(&outcomes[count..]));
        both.map(<[FitOutcome; 2]>::from)
            .ok_or(SearchError::Interrupted)
    };
    let first = round("first", [estimate, estimate])?;
    let second = round("second", [&first[1].parameters, &first[0].parameters])?;
    let start = first[0]
        .curve
        .first()
        .map_or(f64::INFINITY, |(_, loss)| *loss);
    Ok(Climbed {
        own: start,
        lowest: first[0].validation.min(second[0].validation),
        members: [first, second]
            .concat()
            .into_iter()
            .map(|o| o.parameters)
            .collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use loopfit_engine::Engine;
    use loopfit_likelihood::Gaussian;
    use loopfit_model::{Network, Tying, init};

    fn slope() -> Slope {
        let x: Vec<f32> = (0..256).map(|i| i as f32 / 256.0).collect();
        let y = x.iter().map(|x| (x - 0.4).abs() + 0.1 * x).collect();
        Slope {
            samples: Arc::new(Samples::new(1, x, y).unwrap()),
            likelihood: Likelihood::Gaussian(Gaussian::new(0.1).unwrap()),
            bounds: Bounds::default(),
        }
    }

    /// A loop of one kink can be the target exactly: from a start beside it the climb comes close, never below its start.
    #[test]
    fn a_climb_ends_no_lower_than_it_began() {
        let slope = slope();
        let network = Network::ffn(1, 1, 2, 3, Tying::Loop { t: 2 }).unwrap();
        let start = init::fresh(&network, 0.5, Stream::new(4));
        let specs = slope.climbs(&start, 200, Stream::new(1));
        let engine = Engine::new(2).unwrap();
        let climbed = engine.run(&specs, &Control::default(), &|_, _| ()).unwrap();
        for outcome in &climbed {
            let (update, first) = outcome.curve[0];
            assert_eq!(update, 0);
            assert!(outcome.validation <= first);
        }
        let best = highest(&climbed).unwrap();
        let (_, first) = best.curve[0];
        // The loss of a perfect fit is log(0.1) + log(2 pi) / 2.
        let perfect = 0.1f64.ln() + 0.5 * std::f64::consts::TAU.ln();
        let (left, before) = (best.validation - perfect, first - perfect);
        assert!(left >= 0.0 && left < 0.05 * before, "{left} of {before}");
        assert!(climbed.iter().all(|c| c.validation >= best.validation));
    }

    /// The second order is for small networks.
    #[test]
    fn large_networks_climb_by_adam() {
        let is_adam = |count| {
            let settings = settings(count);
            settings
                .iter()
                .all(|(o, _)| matches!(o, Optimiser::Adam(_)))
        };
        assert!(!is_adam(MAX_SCORING_PARAMETERS) && is_adam(MAX_SCORING_PARAMETERS + 1));
    }
}
