//! The networks of the proofs as members of a study's classes.

use crate::StudyError;
use crate::protocol::{Case, WitnessOf};
use loopfit_data::Simulation;
use loopfit_model::growth::{self, Normalisation};
use loopfit_model::{Architecture, Parameters};
use loopfit_witness::target::Floating;
use loopfit_witness::{Construction, Rational, Reader, Resolution};

/// The witness of a case's function at a seed, in 32 bits, with outputs on the response's own scale.
pub(crate) fn witness(
    case: &Case,
    of: &WitnessOf,
    resolution: usize,
    seed: u64,
) -> Result<Parameters, StudyError> {
    let wrong = |why: String| StudyError::Data {
        case: case.name.clone(),
        why,
    };
    let refused = |e: loopfit_witness::Error| wrong(format!("its witness: {e}"));
    let name = case.data.strip_prefix("sim:").unwrap_or_default();
    let simulation: Simulation = name
        .parse()
        .map_err(|e: loopfit_data::simulation::SimulationError| wrong(e.to_string()))?;
    let rational = |text: &str| text.parse::<Rational>().map_err(refused);
    let (s, h) = (rational(&of.smoothness)?, rational(&of.bound)?);
    let construction = Construction {
        name: case.data.clone(),
        target: Box::new(Floating(simulation.target(seed))),
        resolution: Resolution::new(simulation.dim(), s, h, resolution).map_err(refused)?,
        groups: resolution,
        reader: Reader::Dyadic,
        architecture: Architecture::Ffn,
        stabiliser: Rational::new(1, 100_000u32),
        padding: (None, None),
    };
    let network = construction.build().map_err(refused)?;
    let dense = network.dense((None, None), None).map_err(refused)?;
    match dense.exact.len() {
        0 => trimmed(&dense.parameters).map_err(|e| wrong(format!("its witness: {e}"))),
        lost => Err(wrong(format!(
            "its witness at m = {resolution} has {lost} coefficients that 32 bits do not hold: take a smaller resolution"
        ))),
    }
}

/// The network without the hidden units behind the last one that does something: the paper's width has room for many more.
fn trimmed(parameters: &Parameters) -> Result<Parameters, growth::GrowthError> {
    let old = parameters.network();
    let outgoing = parameters.view("block.0.w2");
    let does = |unit: &usize| {
        outgoing
            .iter()
            .skip(*unit)
            .step_by(old.r())
            .any(|w| *w != 0.0)
    };
    let r = (0..old.r()).rev().find(does).map_or(1, |last| last + 1);
    let network = old.resized(r, old.tying())?;
    let mut values = vec![0.0; network.count()];
    for view in &network.layout() {
        let from = parameters.view(&view.name);
        let width = from.len() / (view.size() / view.cols).max(1);
        // A matrix of rows as wide as before, or of fewer of them.
        let stride = if view.name == "block.0.w2" {
            width
        } else {
            view.cols
        };
        for (row, to) in values[view.range()].chunks_exact_mut(view.cols).enumerate() {
            to.copy_from_slice(&from[row * stride..][..view.cols]);
        }
    }
    Ok(Parameters::new(network, values)?)
}

/// The same function with outputs on the scale of a standardised response.
pub(crate) fn standardised(
    parameters: &Parameters,
    to: Normalisation,
) -> Result<Parameters, growth::GrowthError> {
    let own = Normalisation { mean: 0.0, sd: 1.0 };
    growth::rescale(parameters, own, to)
}

#[cfg(test)]
mod tests {
    use super::*;
    use loopfit_engine::Predictor;
    use loopfit_model::Bounds;

    fn case() -> Case {
        let text = r#"
            name = "c"
            data = "sim:packing:dim=1,smoothness=1,bound=100,delta=0.1,noise=0.5"
        "#;
        toml::from_str(text).unwrap()
    }

    /// At the middle of every cell the network of 32 bits is the target, rounded down to the quantum H 2^(1 - b) with b = m:
    /// by the construction, computed here from the target alone.
    #[test]
    fn a_witness_takes_the_rounded_values_of_its_target() {
        let of = WitnessOf {
            smoothness: "1".to_string(),
            bound: "4".to_string(),
            resolution: 3,
        };
        let built = witness(&case(), &of, 3, 5).unwrap();
        let network = built.network();
        // As `witness build` prints: 56 coordinates, and 154 units of the paper's width are used.
        assert_eq!((network.q(), network.r()), (56, 154));
        let simulation: Simulation = case().data["sim:".len()..].parse().unwrap();
        let target = simulation.target(5);
        let x: Vec<f32> = (0..8).map(|cell| (cell as f32 + 0.5) / 8.0).collect();
        let bounds = Bounds {
            parameter: 200.0,
            output: 4.0,
        };
        let values = Predictor::new(&built, bounds).predict(&x);
        let quantum = 4.0 / f64::from(1 << 2);
        for (cell, value) in values.iter().enumerate() {
            let middle = target.eval(&[f64::from(x[cell])]);
            let expected = (middle / quantum).floor() * quantum;
            assert!((value - expected).abs() < 1e-6, "{cell}: {value} {middle}");
        }
        let to = Normalisation { mean: 0.5, sd: 2.0 };
        let scaled = standardised(&built, to).unwrap();
        let rescaled = Predictor::new(&scaled, bounds).predict(&x);
        for (a, b) in values.iter().zip(rescaled) {
            assert!((a - (0.5 + 2.0 * b)).abs() < 1e-5);
        }
    }
}
