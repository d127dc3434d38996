//! A fitted model.

use crate::data::Table;
use crate::errors::{of_library, of_system};
use crate::work::{beside, threads};
use loopfit::{Content, Error, ExportOptions, Format, Method, Network, Numbers, Predictions, Task};
use loopfit_model::file::write_atomic;
use loopfit_numerics::named::Named;
use numpy::ndarray::Array2;
use numpy::{IntoPyArray, PyArray1, PyArray2, PyReadonlyArray2};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyType};
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Rows that are predicted before the first look at signals.
const FIRST_ROWS: usize = 1 << 12;
/// Time between two looks at signals that is aimed at.
const LOOK: Duration = Duration::from_millis(50);

/// A fitted model: predictions, one file, source code of other languages.
#[pyclass(frozen, module = "loopfit._loopfit")]
pub(crate) struct Model(pub(crate) Arc<loopfit::Model>);

/// Numbers where they lie.
#[derive(FromPyObject)]
pub(crate) enum Matrix<'py> {
    Double(PyReadonlyArray2<'py, f64>),
    Single(PyReadonlyArray2<'py, f32>),
}

/// The name of a method; none is the linear model.
pub(crate) fn method(method: Option<Method>) -> &'static str {
    method.map_or("linear", Named::name)
}

/// The shape of a network, into a row.
pub(crate) fn shape(row: &Bound<'_, PyDict>, network: &Network) -> PyResult<()> {
    row.set_item("architecture", network.architecture().kind().name())?;
    row.set_item("q", network.q())?;
    row.set_item("r", network.r())?;
    row.set_item("iterations", network.tying().iterations())?;
    row.set_item("activation", network.activation().name())?;
    row.set_item("form", network.form().to_string())
}

/// What a model says, as arrays.
type Said<'py> = Bound<'py, PyAny>;

/// The files that were written, or the contents of one that was not.
type Exported<'py> = (Option<Vec<PathBuf>>, Option<Bound<'py, PyAny>>);

fn said(py: Python<'_>, predictions: Predictions) -> PyResult<Said<'_>> {
    Ok(match predictions {
        Predictions::Responses(values) | Predictions::LogDensities(values) => {
            values.into_pyarray(py).into_any()
        }
        Predictions::Probabilities {
            classes, values, ..
        } => {
            let rows = values.len() / classes.len().max(1);
            matrix(rows, classes.len(), values)?
                .into_pyarray(py)
                .into_any()
        }
    })
}

fn matrix(rows: usize, columns: usize, values: Vec<f64>) -> PyResult<Array2<f64>> {
    let shaped = Array2::from_shape_vec((rows, columns), values);
    shaped.map_err(|error| PyValueError::new_err(error.to_string()))
}

#[pymethods]
impl Model {
    /// Reads a model from its file.
    #[classmethod]
    fn load(_class: &Bound<'_, PyType>, py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        let model = py.detach(|| loopfit::Model::load(path));
        Ok(Self(Arc::new(model.map_err(of_library)?)))
    }

    /// Reads a model from the contents of its file.
    #[classmethod]
    fn from_bytes(_class: &Bound<'_, PyType>, contents: &[u8]) -> PyResult<Self> {
        let model = loopfit::Model::from_bytes("memory", contents);
        Ok(Self(Arc::new(model.map_err(of_library)?)))
    }

    /// The contents of the model's file.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &self.0.to_bytes().map_err(of_library)?))
    }

    /// Writes the model into one safetensors file: all of it, or nothing.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        py.detach(|| self.0.save(path)).map_err(of_library)
    }

    fn __reduce__<'py>(
        slf: &Bound<'py, Self>,
    ) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyBytes>,))> {
        let make = slf.get_type().getattr("from_bytes")?;
        Ok((make, (slf.get().to_bytes(slf.py())?,)))
    }

    fn __repr__(&self) -> String {
        format!("<Model: {}>", self.0)
    }

    fn __str__(&self) -> String {
        self.0.to_string()
    }

    fn __eq__(&self, other: &Self) -> bool {
        let bytes = |model: &Self| model.0.to_bytes().ok();
        bytes(self).is_some_and(|own| Some(own) == bytes(other))
    }

    /// Responses, probabilities of classes or log densities for every row of a matrix of numbers, which is read where it lies; by a table
    /// where an input is a category. Columns have these names.
    #[pyo3(signature = (values, names, threads = 0))]
    fn predict<'py>(
        &self,
        py: Python<'py>,
        values: Matrix<'py>,
        names: Vec<String>,
        threads: usize,
    ) -> PyResult<Said<'py>> {
        match &values {
            Matrix::Double(values) => self.of_matrix(py, values, &names, threads),
            Matrix::Single(values) => self.of_matrix(py, values, &names, threads),
        }
    }

    /// As `predict`, for a table.
    #[pyo3(signature = (table, threads = 0))]
    fn predict_table<'py>(
        &self,
        py: Python<'py>,
        table: &Table,
        threads: usize,
    ) -> PyResult<Said<'py>> {
        let rows = Arc::clone(&table.0);
        let predictions = self.beside(py, threads, move |model| model.predict(&rows))?;
        said(py, predictions)
    }

    /// What it would say after each of its iterations, the first of them first.
    #[pyo3(signature = (table, threads = 0))]
    fn predict_iterations<'py>(
        &self,
        py: Python<'py>,
        table: &Table,
        threads: usize,
    ) -> PyResult<Vec<Said<'py>>> {
        let rows = Arc::clone(&table.0);
        let steps = self.beside(py, threads, move |model| model.predict_iterations(&rows))?;
        steps.into_iter().map(|step| said(py, step)).collect()
    }

    /// Half the width of intervals around responses that cover new targets with a probability of `level`.
    fn half_width(&self, level: f64) -> PyResult<f64> {
        let width = self.0.parts().half_width(level);
        width.map_err(|error| of_library(Error::Apply(error)))
    }

    /// Exact draws from a density, in the units of its columns.
    fn sample<'py>(
        &self,
        py: Python<'py>,
        rows: usize,
        seed: u64,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let drawn = self.beside(py, 0, move |model| model.sample(rows, seed))?;
        let columns = drawn.into_columns();
        let columns: Vec<Vec<f64>> = columns
            .into_iter()
            .filter_map(|(_, column)| match column {
                loopfit::Column::Numeric(values) => Some(values),
                loopfit::Column::Categorical(_) => None,
            })
            .collect();
        let at = |(row, column): (usize, usize)| columns[column][row];
        Ok(Array2::from_shape_fn((rows, columns.len()), at).into_pyarray(py))
    }

    /// The model in another language: the files that were written, or the contents where no path is given.
    #[pyo3(signature = (to, path = None, prefix = "model", every_iteration = false, loop_operator = false))]
    fn export<'py>(
        &self,
        py: Python<'py>,
        to: &str,
        path: Option<PathBuf>,
        prefix: &str,
        every_iteration: bool,
        loop_operator: bool,
    ) -> PyResult<Exported<'py>> {
        let format = Format::named(to).ok_or_else(|| {
            let known: Vec<&str> = Format::ALL.iter().map(|one| one.name()).collect();
            let known = known.join(", ");
            PyValueError::new_err(format!("a model is exported to one of {known}, not {to:?}"))
        })?;
        let options = ExportOptions {
            prefix: prefix.to_string(),
            every_iteration,
            loop_operator,
        };
        let export = self.0.export(format, &options).map_err(of_library)?;
        let Some(path) = path else {
            return Ok((
                None,
                Some(match export.single() {
                    Content::Text(text) => text.into_pyobject(py)?.into_any(),
                    Content::Bytes(bytes) => PyBytes::new(py, &bytes).into_any(),
                }),
            ));
        };
        let files = export.files(&path);
        let files = files.map_err(|error| of_library(Error::Export(error)))?;
        for (path, content) in &files {
            write_atomic(path, content.as_ref()).map_err(|reason| {
                let sentence = format!("cannot write {}: {reason}", path.display());
                of_system(&reason, sentence)
            })?;
        }
        Ok((
            Some(files.into_iter().map(|(path, _)| path).collect()),
            None,
        ))
    }

    /// Method, shape, form and count.
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let row = PyDict::new(py);
        shape(&row, self.0.network())?;
        row.set_item("count", self.count())?;
        row.set_item("budget", self.budget())?;
        Ok(row)
    }

    /// single, loop, untied or linear.
    #[getter]
    fn method(&self) -> &'static str {
        let network = self.0.network();
        match network.r() == 0 {
            true => "linear",
            false => network.tying().method().name(),
        }
    }

    /// ffn or transformer.
    #[getter]
    fn architecture(&self) -> &'static str {
        self.0.network().architecture().kind().name()
    }

    /// State dimension.
    #[getter]
    fn q(&self) -> usize {
        self.0.network().q()
    }

    /// Hidden width.
    #[getter]
    fn r(&self) -> usize {
        self.0.network().r()
    }

    /// T.
    #[getter]
    fn iterations(&self) -> usize {
        self.0.network().tying().iterations()
    }

    /// The hidden units.
    #[getter]
    fn activation(&self) -> &'static str {
        self.0.network().activation().name()
    }

    /// Trainable numbers.
    #[getter]
    fn count(&self) -> usize {
        self.0.count()
    }

    /// The cap under which the model was fitted.
    #[getter]
    fn budget(&self) -> usize {
        self.0.parts().provenance.budget
    }

    /// regression, count, binary, multiclass or density.
    #[getter]
    fn task(&self) -> &'static str {
        match self.0.parts().preprocessing.task() {
            Task::Regression => "regression",
            Task::Count => "count",
            Task::Binary => "binary",
            Task::Multiclass { .. } => "multiclass",
            Task::Density => "density",
        }
    }

    /// The columns that the model takes, in their order.
    #[getter]
    fn columns(&self) -> Vec<String> {
        let inputs = self.0.parts().preprocessing.inputs().iter();
        inputs.map(|input| input.name().to_string()).collect()
    }

    /// The columns that the network reads.
    #[getter]
    fn columns_read(&self) -> Vec<&str> {
        self.0.parts().columns_read()
    }

    /// The column that was learned.
    #[getter]
    fn target(&self) -> Option<&str> {
        self.0
            .parts()
            .preprocessing
            .target()
            .map(|target| target.name())
    }

    /// A column of weights or exposures.
    #[getter]
    fn weight(&self) -> Option<&str> {
        self.0.parts().preprocessing.weight_column()
    }

    /// The names of the classes.
    #[getter]
    fn classes(&self) -> Vec<String> {
        self.0.parts().preprocessing.class_names().to_vec()
    }

    /// The likelihood: gaussian, laplace, bernoulli, multiclass, poisson or energy.
    #[getter]
    fn likelihood(&self) -> &'static str {
        self.0.parts().likelihood.name()
    }
}

impl Model {
    fn pool(&self, count: usize) -> PyResult<Arc<loopfit::Threads>> {
        threads(count).map_err(of_library)
    }

    /// Work on so many threads, beside the interpreter.
    fn beside<T: Send + 'static>(
        &self,
        py: Python<'_>,
        count: usize,
        work: impl FnOnce(&loopfit::Model) -> Result<T, Error> + Send + 'static,
    ) -> PyResult<T> {
        let (pool, model) = (self.pool(count)?, Arc::clone(&self.0));
        let done = beside(py, None, move |_| pool.install(|| work(&model)))?;
        done.map_err(of_library)
    }

    fn of_matrix<'py, T: numpy::Element + Copy + Into<f64> + Send + Sync>(
        &self,
        py: Python<'py>,
        values: &PyReadonlyArray2<'py, T>,
        names: &[String],
        count: usize,
    ) -> PyResult<Said<'py>> {
        let pool = self.pool(count)?;
        let view = values.as_array();
        let (rows, columns) = view.dim();
        let turned = view.t();
        let copied: Vec<T>;
        let numbers = match (view.as_slice(), turned.as_slice()) {
            (Some(slice), _) => Numbers::by_rows(slice, columns),
            (None, Some(slice)) => Numbers::by_columns(slice, columns),
            (None, None) => {
                copied = view.iter().copied().collect();
                Numbers::by_rows(&copied, columns)
            }
        };
        let numbers = numbers.ok_or_else(|| PyValueError::new_err("a row has no columns"))?;
        let mut all: Option<Predictions> = None;
        let (mut first, mut at_once) = (0, FIRST_ROWS);
        while first < rows {
            let part: Range<usize> = first..rows.min(first + at_once);
            let begin = Instant::now();
            let predicted = py
                .detach(|| pool.install(|| self.0.predict_numbers(&numbers, names, part.clone())));
            let Some(predicted) = predicted.map_err(of_library)? else {
                return self.of_table(py, &numbers, names, count);
            };
            match &mut all {
                None => all = Some(predicted),
                Some(all) => all.extend(predicted),
            }
            py.check_signals()?;
            first = part.end;
            at_once = match begin.elapsed() {
                short if short < LOOK => 2 * at_once,
                long if long > 2 * LOOK => (at_once / 2).max(1),
                _ => at_once,
            };
        }
        match all {
            Some(all) => said(py, all),
            None => Ok(PyArray1::<f64>::zeros(py, 0, false).into_any()),
        }
    }

    /// Where numbers are categories, or something is missing that only a table can name.
    fn of_table<'py, T: Copy + Into<f64>>(
        &self,
        py: Python<'py>,
        numbers: &Numbers<'_, T>,
        names: &[String],
        count: usize,
    ) -> PyResult<Said<'py>> {
        let mut table = loopfit::Table::without_columns("memory");
        for (k, name) in names.iter().enumerate().take(numbers.columns()) {
            let column: Vec<f64> = (0..numbers.rows()).map(|row| numbers.at(row, k)).collect();
            let with = table.with_column(name, &column);
            table = with.map_err(|error| of_library(Error::Table(error)))?;
        }
        self.predict_table(py, &Table(Arc::new(table)), count)
    }
}
