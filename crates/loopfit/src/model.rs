//! A fitted model.

use crate::{
    Error, Export, ExportOptions, Format, IntegerExport, Numbers, Predictions, Score, Table, Width,
};
use loopfit_data::Column;
use loopfit_fitted::{Application, FittedModel};
use loopfit_model::Network;
use loopfit_model::file::FileError;
use loopfit_numerics::stream::Stream;
use std::fmt::{Display, Formatter};
use std::ops::Range;
use std::path::Path;

/// A fitted model with all it takes to use it: named inputs, scaling, network and what its outputs mean.
#[derive(Clone, Debug)]
pub struct Model(FittedModel);

impl Model {
    /// Reads a model from its file.
    pub fn load(path: impl AsRef<Path>) -> Result<Self, Error> {
        Ok(Self(FittedModel::load(path.as_ref())?))
    }

    /// Reads a model from the contents of its file, where there are no files; `source` names it in messages.
    pub fn from_bytes(source: &str, bytes: &[u8]) -> Result<Self, Error> {
        Ok(Self(FittedModel::from_bytes(source, bytes)?))
    }

    /// Writes the model into one safetensors file: all of it, or nothing.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<(), Error> {
        Ok(self.0.save(path.as_ref())?)
    }

    /// The contents of its file, for [`Model::from_bytes`].
    pub fn to_bytes(&self) -> Result<Vec<u8>, Error> {
        self.0.to_bytes().map_err(|reason| {
            let path = "memory".into();
            Error::File(FileError::Format { path, reason })
        })
    }

    /// What the model says about some rows of numbers that are read where they lie, with these names of their columns; those bits that
    /// [`Model::predict`] gives. None where an input is a category, a column is missing or the target is a count: a table is needed then.
    ///
    /// # Example
    /// ```
    /// # let rows: Vec<f64> = (0..240).map(|i| f64::from(i % 60) / 60.0).collect();
    /// # let y: Vec<f64> = rows.chunks(2).map(|x| 3.0 * x[0] - x[1]).collect();
    /// # use loopfit::{Effort, Fit, Numbers, Table};
    /// let table = Table::from_rows(&rows, &["u", "v"])?.with_column("y", &y)?;
    /// let fits = Fit::new(&table).target("y").budget(8).effort(Effort::Quick).run()?;
    /// let model = fits.best().model();
    /// let numbers = Numbers::by_rows(&rows, 2).unwrap();
    /// let some = model.predict_numbers(&numbers, &["u", "v"], 60..120)?.unwrap();
    /// assert_eq!(some.responses().unwrap(), &model.predict(&table)?.responses().unwrap()[60..]);
    /// # Ok::<(), loopfit::Error>(())
    /// ```
    pub fn predict_numbers<T: Copy + Into<f64> + Sync>(
        &self,
        numbers: &Numbers<'_, T>,
        names: &[impl AsRef<str>],
        rows: Range<usize>,
    ) -> Result<Option<Predictions>, Error> {
        let Some(reader) = self.0.preprocessing.number_reader(names) else {
            return Ok(None);
        };
        let mut application = Application::new(&self.0)?;
        Ok(Some(application.predict_numbers(&reader, numbers, rows)?))
    }

    /// What the model says about every row of a table: responses, probabilities of classes, or log densities. Columns are
    /// found by their names; others are not looked at.
    pub fn predict(&self, table: &Table) -> Result<Predictions, Error> {
        Ok(self.0.predict(table)?.0)
    }

    /// What it would say after each of its iterations, the first of them first.
    pub fn predict_iterations(&self, table: &Table) -> Result<Vec<Predictions>, Error> {
        let iterations = self.network().tying().iterations();
        let mut all: Vec<Predictions> = Vec::new();
        let each = |first: usize, steps: Vec<loopfit_fitted::IterationPredictions>| {
            let steps = steps.into_iter().map(|step| step.predictions);
            match first {
                0 => all = steps.collect(),
                _ => all
                    .iter_mut()
                    .zip(steps)
                    .for_each(|(to, from)| to.extend(from)),
            }
            Ok::<(), Error>(())
        };
        self.0.predict_every_iteration(table, 0..iterations, each)?;
        Ok(all)
    }

    /// Intervals around the responses of a regression that cover new targets with this probability, between 0 and 1.
    pub fn intervals(&self, table: &Table, level: f64) -> Result<Vec<(f64, f64)>, Error> {
        let half = self.0.half_width(level)?;
        let predictions = self.predict(table)?;
        let responses = predictions.responses().unwrap_or_default();
        Ok(responses.iter().map(|y| (y - half, y + half)).collect())
    }

    /// How well the model explains rows whose targets are known.
    pub fn score(&self, table: &Table) -> Result<Score, Error> {
        let every: Vec<usize> = (0..table.rows()).collect();
        Ok(self.0.score(table, &every)?.checked()?)
    }

    /// Exact draws from a density, in the units of its columns.
    pub fn sample(&self, rows: usize, seed: u64) -> Result<Table, Error> {
        let draws = self.0.sample(rows, Stream::new(seed).child("sample"))?;
        let inputs = self.0.preprocessing.inputs().iter().enumerate();
        let columns = inputs.map(|(k, input)| {
            let values = draws.iter().map(|row| row[k]).collect();
            (input.name().to_string(), Column::Numeric(values))
        });
        Ok(Table::from_columns("sample", columns.collect()))
    }

    /// The model as source code of another language or as a graph, all of it from named columns to predictions; [`Export::files`] are what to write.
    pub fn export(&self, to: Format, options: &ExportOptions) -> Result<Export, Error> {
        Ok(loopfit_export::export(&self.0, to, options)?)
    }

    /// The model as C whose network has no floats, and what that costs. Scales and rounding are chosen by the rows of `table`, best those
    /// that the model was fitted to, or else by rows drawn from what it knows of these.
    pub fn export_integers(
        &self,
        width: Width,
        table: Option<&Table>,
        options: &ExportOptions,
    ) -> Result<IntegerExport, Error> {
        let found = loopfit_export::export_integers(&self.0, width, table, options)?;
        Ok(found)
    }

    /// The network: its shape, tying, form and count.
    pub fn network(&self) -> &Network {
        self.0.parameters.network()
    }

    /// Trainable numbers.
    pub fn count(&self) -> usize {
        self.network().count()
    }

    /// All parts of the model.
    pub fn parts(&self) -> &FittedModel {
        &self.0
    }
}

impl From<FittedModel> for Model {
    fn from(model: FittedModel) -> Self {
        Self(model)
    }
}

impl Display for Model {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        self.network().fmt(f)
    }
}
