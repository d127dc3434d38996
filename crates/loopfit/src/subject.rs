//! What is learned from what.

use crate::Noise;
use loopfit_data::Task;
use loopfit_search::replication::Source;

/// What is learned from what, and what its errors are called.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Subject {
    /// The data.
    pub data: String,
    /// What is learned.
    pub task: Task,
    /// The inputs of the networks.
    pub inputs: Vec<String>,
    /// The error: `MSE`, `MAE`, `deviance`, `log loss`, `NLL`.
    pub error: &'static str,
    /// The error on rows that the fits had not seen: `validation MSE`.
    pub validation_error: &'static str,
    /// The error that the models are judged by: `test MSE`, of a simulation `MSE against f0`.
    pub test_error: &'static str,
}

impl Subject {
    pub(crate) fn new(source: &Source, noise: Option<Noise>, inputs: Vec<String>) -> Self {
        Self {
            data: source.name(),
            task: source.task(),
            inputs,
            error: source.error_name(noise),
            validation_error: source.validation_metric(noise),
            test_error: source.metric(noise),
        }
    }
}
