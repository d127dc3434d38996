//! Tables from the interpreter's memory.

use crate::errors::of_library;
use crate::model::Matrix;
use loopfit::{Column, Error};
use numpy::{IntoPyArray, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use std::sync::Arc;

/// Named columns; built one after the other.
#[pyclass(module = "loopfit._loopfit")]
pub(crate) struct Table(pub(crate) Arc<loopfit::Table>);

#[pymethods]
impl Table {
    /// No columns yet; `source` names the table in messages.
    #[new]
    #[pyo3(signature = (source = "memory"))]
    fn new(source: &str) -> Self {
        Self(Arc::new(loopfit::Table::without_columns(source)))
    }

    /// One more column of numbers; NaN is a missing cell.
    fn numbers(&mut self, name: &str, values: PyReadonlyArray1<'_, f64>) -> PyResult<()> {
        let values = values.as_array();
        match values.as_slice() {
            Some(values) => self.put(|table| table.with_column(name, values)),
            None => {
                let copied = values.to_vec();
                self.put(|table| table.with_column(name, &copied))
            }
        }
    }

    /// One more column for each name, of a matrix of numbers.
    fn matrix(&mut self, names: Vec<String>, values: Matrix<'_>) -> PyResult<()> {
        match values {
            Matrix::Double(values) => self.columns(&names, &values),
            Matrix::Single(values) => self.columns(&names, &values),
        }
    }

    /// One more column of texts; None is a missing cell.
    fn texts(&mut self, name: &str, cells: Vec<Option<String>>) -> PyResult<()> {
        let cells = cells.iter().map(Option::as_deref);
        self.put(|table| table.with_texts(name, cells))
    }

    /// One more column of texts that are what they are, also where they say `NA` or nothing; None is a missing cell.
    fn labels(&mut self, name: &str, cells: Vec<Option<String>>) -> PyResult<()> {
        let cells = cells.iter().map(Option::as_deref);
        self.put(|table| table.with_labels(name, cells))
    }

    /// Names and cells of all columns: arrays of numbers, lists of texts.
    fn cells<'py>(&self, py: Python<'py>) -> PyResult<Vec<(String, Bound<'py, PyAny>)>> {
        let columns = loopfit::Table::clone(&self.0).into_columns().into_iter();
        let of = |column: Column| match column {
            Column::Numeric(values) => Ok(values.into_pyarray(py).into_any()),
            Column::Categorical(texts) => {
                let text = |code: &u32| texts.categories.get(*code as usize);
                let cells: Vec<Option<&String>> = texts.codes.iter().map(text).collect();
                cells.into_pyobject(py)
            }
        };
        columns
            .map(|(name, column)| Ok((name, of(column)?)))
            .collect()
    }

    /// SHA-256 of names and cells.
    fn hash(&self) -> String {
        self.0.hash()
    }

    fn __len__(&self) -> usize {
        self.0.rows()
    }
}

impl Table {
    fn columns<T: numpy::Element + Copy + Into<f64>>(
        &mut self,
        names: &[String],
        values: &PyReadonlyArray2<'_, T>,
    ) -> PyResult<()> {
        for (name, column) in names.iter().zip(values.as_array().columns()) {
            match column.as_slice() {
                Some(column) => self.put(|table| table.with_column(name, column))?,
                None => {
                    let column = column.to_vec();
                    self.put(|table| table.with_column(name, &column))?;
                }
            }
        }
        Ok(())
    }

    fn put(
        &mut self,
        with: impl FnOnce(loopfit::Table) -> Result<loopfit::Table, loopfit::TableError>,
    ) -> PyResult<()> {
        let nothing = Arc::new(loopfit::Table::without_columns(""));
        let before = Arc::unwrap_or_clone(std::mem::replace(&mut self.0, nothing));
        let table = with(before).map_err(|error| of_library(Error::Table(error)))?;
        self.0 = Arc::new(table);
        Ok(())
    }
}
