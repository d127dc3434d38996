//! What people call the error of a likelihood, and what an average loss is in its units.

use loopfit_data::Preprocessing;
use loopfit_likelihood::{Likelihood, ScalarLikelihood};

/// The error that fits make small, and that they are judged by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// The mean squared error of responses.
    Mse,
    /// The mean absolute error of responses.
    Mae,
    /// The mean deviance of counts: twice how much less likely they are than if their means were they themselves.
    Deviance,
    /// The average negative log-probability of classes.
    LogLoss,
    /// The average negative log-density.
    Nll,
}

impl Measure {
    /// The measure of a likelihood's fits.
    pub fn of(likelihood: Likelihood) -> Self {
        match likelihood {
            Likelihood::Gaussian(_) => Self::Mse,
            Likelihood::Laplace(_) => Self::Mae,
            Likelihood::Poisson(_) => Self::Deviance,
            Likelihood::Bernoulli(_) | Likelihood::Multiclass(_) => Self::LogLoss,
            Likelihood::Energy(_) => Self::Nll,
        }
    }

    /// Its names: bare, of validation rows, of test rows, against a known function.
    fn names(self) -> [&'static str; 4] {
        match self {
            Self::Mse => ["MSE", "validation MSE", "test MSE", "MSE against f0"],
            Self::Mae => ["MAE", "validation MAE", "test MAE", "MAE against f0"],
            Self::Deviance => [
                "deviance",
                "validation deviance",
                "test deviance",
                "deviance against f0",
            ],
            Self::LogLoss => [
                "log loss",
                "validation log loss",
                "test log loss",
                "log loss against f0",
            ],
            Self::Nll => ["NLL", "validation NLL", "test NLL", "NLL against f0"],
        }
    }

    /// `MSE`.
    pub fn name(self) -> &'static str {
        self.names()[0]
    }

    /// `validation MSE`.
    pub fn of_validation(self) -> &'static str {
        self.names()[1]
    }

    /// `test MSE`.
    pub fn of_test(self) -> &'static str {
        self.names()[2]
    }

    /// `MSE against f0`, which has no noise.
    pub fn against_f0(self) -> &'static str {
        self.names()[3]
    }
}

/// What the error of a likelihood's fits is called.
pub fn error_name(likelihood: Likelihood) -> &'static str {
    Measure::of(likelihood).name()
}

/// The error, in the units of the data, of an average negative log-likelihood in model units: without the constant that a
/// perfect prediction of a response still has.
///
/// # Formula
/// With `c` the loss of a perfect prediction and `u` the standard deviation of the target: `2 sigma^2 u^2 (loss - c)` (Gaussian),
/// `tau u (loss - c)` (Laplace), `2 loss` (half deviances of counts), `loss` (classes), `loss + log v` with the volume `v` of the columns' box (density).
pub fn error_of_loss(likelihood: Likelihood, preprocessing: &Preprocessing, loss: f64) -> f64 {
    let unit = preprocessing.to_original(1.0) - preprocessing.to_original(0.0);
    match likelihood {
        Likelihood::Gaussian(g) => {
            2.0 * g.sigma() * g.sigma() * unit * unit * (loss - g.nll(0.0, 0.0))
        }
        Likelihood::Laplace(l) => l.tau() * unit * (loss - l.nll(0.0, 0.0)),
        Likelihood::Poisson(_) => 2.0 * loss,
        Likelihood::Bernoulli(_) | Likelihood::Multiclass(_) => loss,
        Likelihood::Energy(_) => loss + preprocessing.log_volume(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use loopfit_likelihood::{Gaussian, Laplace};

    /// Residuals of 0.5 and 1.5: squares 0.25 and 2.25, absolute values 0.5 and 1.5, whatever the scales of the noise.
    #[test]
    fn losses_become_the_errors_that_they_stand_for() {
        let same = Preprocessing::unchanged(1);
        for scale in [0.3, 1.0, 2.0] {
            let gaussian = Likelihood::Gaussian(Gaussian::new(scale).unwrap());
            let laplace = Likelihood::Laplace(Laplace::new(scale).unwrap());
            for (likelihood, error) in [(gaussian, 1.25), (laplace, 1.0)] {
                let loss = likelihood.average_nll(&[0.5, 1.5], &[0.0, 0.0]).unwrap();
                let found = error_of_loss(likelihood, &same, loss);
                assert!((found - error).abs() < 1e-12, "{likelihood:?}: {found}");
            }
        }
    }
}
