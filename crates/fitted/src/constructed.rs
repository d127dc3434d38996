//! Models that were constructed, not fitted: networks of the proofs as ordinary model files.

use crate::fitted::{FittedModel, Provenance};
use loopfit_data::Preprocessing;
use loopfit_likelihood::{Gaussian, Likelihood};
use loopfit_model::bounds::BoundsError;
use loopfit_model::{Bounds, Parameters};

/// How the source of such a model begins.
const CONSTRUCTED: &str = "constructed, not fitted: ";

impl FittedModel {
    /// A network with inputs `x1`, ..., `xd` that stay as they are and outputs in `[-H, H]`; the words say what it was constructed for.
    pub fn constructed(parameters: Parameters, h: f32, words: &str) -> Result<Self, BoundsError> {
        let sizes = parameters.values().iter().map(|value| value.abs());
        Ok(Self {
            bounds: Bounds::new(sizes.fold(1.0, f32::max), h)?,
            likelihood: Likelihood::Gaussian(Gaussian::squared_error()),
            preprocessing: Preprocessing::unchanged(parameters.network().d()),
            provenance: Provenance {
                version: env!("CARGO_PKG_VERSION").to_string(),
                source: format!("{CONSTRUCTED}{words}"),
                budget: parameters.network().count(),
                ..Provenance::nothing()
            },
            assessment: None,
            parameters,
        })
    }

    /// What the model was constructed for, if it was not fitted.
    pub fn construction(&self) -> Option<&str> {
        self.provenance.source.strip_prefix(CONSTRUCTED)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use loopfit_model::{Network, Tying};

    #[test]
    fn a_constructed_model_says_so_and_holds_its_parameters() {
        let network = Network::ffn(2, 1, 1, 1, Tying::Loop { t: 3 }).unwrap();
        let mut values = vec![0.0; network.count()];
        values[0] = -300.0;
        let parameters = Parameters::new(network, values).unwrap();
        let mut model = FittedModel::constructed(parameters, 2.0, "x1/2, d = 2").unwrap();
        assert_eq!(model.construction(), Some("x1/2, d = 2"));
        assert_eq!((model.bounds.parameter, model.bounds.output), (300.0, 2.0));
        assert_eq!(model.provenance.budget, model.parameters.network().count());
        model.provenance.source = "data.csv".to_string();
        assert_eq!(model.construction(), None);
    }
}
