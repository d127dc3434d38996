//! A fitted model in another form of its network: the same predictions from other numbers.

use crate::fitted::FittedModel;
use loopfit_model::{CanonicalError, Parameters};

impl FittedModel {
    /// The model in the paper's form. Exact: predictions are the same, bit for bit.
    pub fn to_paper(&self) -> Self {
        self.with(self.parameters.to_paper())
    }

    /// The model in the canonical form, up to rounding; see [`Parameters::to_canonical`].
    pub fn to_canonical(&self) -> Result<Self, CanonicalError> {
        Ok(self.with(self.parameters.to_canonical()?))
    }

    /// The model with coefficients of the same function, under a cap and in a box that hold them.
    fn with(&self, parameters: Parameters) -> Self {
        let mut model = self.clone();
        let cap = &mut model.provenance.budget;
        *cap = (*cap).max(parameters.network().count());
        let largest = &mut model.bounds.parameter;
        *largest = parameters
            .values()
            .iter()
            .fold(*largest, |a, v| a.max(v.abs()));
        model.parameters = parameters;
        model
    }
}
