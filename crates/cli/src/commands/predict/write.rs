//! Predictions as csv or JSON, some rows at a time.

use crate::json::object;
use crate::output;
use anyhow::Result;
use loopfit_data::preprocess::OutsideRange;
use loopfit_fitted::{IterationPredictions, Predictions};
use loopfit_report::JSON_SCHEMA;
use serde_json::{Map, Value, json};
use std::borrow::Cow;
use std::fmt::{Display, Write as _};
use std::io::{self, Write};

/// What is added on both sides of a prediction.
#[derive(Clone, Copy)]
pub(super) struct Interval {
    pub(super) level: f64,
    pub(super) half_width: f64,
}

impl Interval {
    fn ends(self, prediction: f64) -> [f64; 2] {
        [prediction - self.half_width, prediction + self.half_width]
    }
}

/// What stands beside the predictions.
pub(super) struct Beside<'a> {
    /// Columns that are carried along, with a cell for each row.
    pub(super) ids: Vec<(String, Vec<Cow<'a, str>>)>,
    /// The interval around each prediction, if it is asked for.
    pub(super) interval: Option<Interval>,
    /// Rows outside what the training rows hold, ascending, if they are flagged.
    pub(super) outside: Option<Vec<OutsideRange<'a>>>,
    /// Whether no text may look like a formula.
    pub(super) safe: bool,
}

impl Beside<'_> {
    /// A text as a cell. Spreadsheets take a cell that begins in certain ways for a formula; an apostrophe before it makes it a text.
    fn text<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let formula = text.starts_with(['=', '+', '-', '@', '\t', '\r']);
        if self.safe && formula && text.parse::<f64>().is_err() {
            format!("'{text}").into()
        } else {
            text.into()
        }
    }

    /// The flagged columns of a row.
    fn outside(&self, row: usize) -> Option<&[&str]> {
        let found = self.outside.as_ref()?;
        let at = found.binary_search_by_key(&row, |outside| outside.position);
        Some(at.map_or(&[], |at| &found[at].columns))
    }

    fn names_before(&self) -> impl Iterator<Item = String> {
        self.ids
            .iter()
            .map(|(name, _)| self.text(name).into_owned())
    }

    fn names_after(&self) -> impl Iterator<Item = String> {
        let ends = self.interval.map(|_| ["lower", "upper"]);
        let flag = self.outside.as_ref().map(|_| "outside");
        let names = ends.into_iter().flatten().chain(flag);
        names.map(String::from)
    }

    fn put_before(&self, csv: &mut Csv<'_>, row: usize) -> Result<()> {
        for (_, cells) in &self.ids {
            csv.text(&self.text(&cells[row]))?;
        }
        Ok(())
    }

    fn put_after(&self, csv: &mut Csv<'_>, row: usize, predictions: &Predictions) -> Result<()> {
        if let (Some(interval), Predictions::Responses(values)) = (self.interval, predictions) {
            for end in interval.ends(values[row]) {
                csv.number(end)?;
            }
        }
        match self.outside(row) {
            Some(columns) => csv.text(&self.text(&columns.join(";"))),
            None => Ok(()),
        }
    }

    /// The cells of a row's predictions; the row is that of `predictions`.
    fn put(&self, csv: &mut Csv<'_>, row: usize, predictions: &Predictions) -> Result<()> {
        match predictions {
            Predictions::Responses(values) | Predictions::LogDensities(values) => {
                csv.number(values[row])
            }
            Predictions::Probabilities {
                classes,
                values,
                labels,
            } => {
                csv.text(&self.text(&classes[labels[row]]))?;
                let own = &values[row * classes.len()..][..classes.len()];
                own.iter().try_for_each(|p| csv.number(*p))
            }
        }
    }

    /// The names of the columns.
    pub(super) fn write_header(&self, csv: &mut Csv<'_>, predictions: &Predictions) -> Result<()> {
        let names = self.names_before().chain(header(predictions));
        csv.names(names.chain(self.names_after()))
    }

    /// One line for each row.
    pub(super) fn write_rows(&self, csv: &mut Csv<'_>, predictions: &Predictions) -> Result<()> {
        for row in 0..rows(predictions) {
            self.put_before(csv, row)?;
            self.put(csv, row, predictions)?;
            self.put_after(csv, row, predictions)?;
            csv.end()?;
        }
        Ok(())
    }

    /// One line for each row and iteration; `steps` calls what it is given with the first row and the steps of some rows after
    /// another.
    pub(super) fn write_every_csv(
        &self,
        out: &mut dyn Write,
        steps: impl FnOnce(&mut dyn FnMut(usize, Vec<IterationPredictions>) -> Result<()>) -> Result<()>,
    ) -> Result<()> {
        let mut csv = Csv::new(out);
        steps(&mut |first, steps| {
            if first == 0 {
                let names = header(&steps[0].predictions);
                let names = ["row", "t"].map(String::from).into_iter().chain(names);
                let names = self.names_before().chain(names);
                let change = std::iter::once("change".to_string());
                csv.names(names.chain(change).chain(self.names_after()))?;
            }
            for row in 0..steps[0].change.len() {
                let place = first + row;
                for (i, step) in steps.iter().enumerate() {
                    self.put_before(&mut csv, place)?;
                    csv.number(place + 1)?;
                    csv.number(i + 1)?;
                    self.put(&mut csv, row, &step.predictions)?;
                    csv.number(step.change[row])?;
                    self.put_after(&mut csv, place, &step.predictions)?;
                    csv.end()?;
                }
            }
            Ok(())
        })?;
        csv.finish()
    }

    /// One object.
    pub(super) fn write_json(&self, out: &mut dyn Write, predictions: &Predictions) -> Result<()> {
        let mut json = to_json(predictions);
        if let (Some(interval), Predictions::Responses(values)) = (self.interval, predictions) {
            let ends: Vec<[f64; 2]> = values.iter().map(|v| interval.ends(*v)).collect();
            json.insert("level".into(), json!(interval.level));
            json.insert("half_width".into(), json!(interval.half_width));
            let lower = ends.iter().map(|[lower, _]| *lower);
            json.insert("lower".into(), lower.collect());
            let upper = ends.iter().map(|[_, upper]| *upper);
            json.insert("upper".into(), upper.collect());
        }
        if !self.ids.is_empty() {
            json.insert("ids".into(), self.ids_json());
        }
        if let Some(outside) = self.outside_json(rows(predictions)) {
            json.insert("outside".into(), outside);
        }
        Ok(out.write_all(output::json_line(&json).as_bytes())?)
    }

    /// One object with an entry for each iteration, whose steps for all rows come one after another.
    pub(super) fn write_every_json(
        &self,
        out: &mut dyn Write,
        rows: usize,
        steps: impl FnOnce(&mut dyn FnMut(usize, IterationPredictions) -> Result<()>) -> Result<()>,
    ) -> Result<()> {
        let put = |out: &mut dyn Write, json: &Value| {
            serde_json::to_writer(out, json).map_err(io::Error::from)
        };
        write!(out, "{{\"schema\":\"{JSON_SCHEMA}\",")?;
        if !self.ids.is_empty() {
            out.write_all(b"\"ids\":")?;
            put(out, &self.ids_json())?;
            out.write_all(b",")?;
        }
        out.write_all(b"\"iterations\":[")?;
        steps(&mut |i, step| {
            if i > 0 {
                out.write_all(b",")?;
            }
            let mut json = to_json(&step.predictions);
            json.insert("t".into(), json!(i + 1));
            json.insert("change".into(), json!(step.change));
            Ok(put(out, &Value::Object(json))?)
        })?;
        out.write_all(b"]")?;
        if let Some(outside) = self.outside_json(rows) {
            out.write_all(b",\"outside\":")?;
            put(out, &outside)?;
        }
        Ok(out.write_all(b"}\n")?)
    }

    fn ids_json(&self) -> Value {
        let ids = self.ids.iter();
        let ids: Map<String, Value> = ids
            .map(|(name, cells)| (name.clone(), json!(cells)))
            .collect();
        Value::Object(ids)
    }

    fn outside_json(&self, rows: usize) -> Option<Value> {
        self.outside.as_ref()?;
        Some((0..rows).map(|row| json!(self.outside(row))).collect())
    }
}

/// A csv file whose errors are those of writing.
pub(super) struct Csv<'a> {
    writer: csv::Writer<&'a mut dyn Write>,
    /// The digits of a number.
    digits: String,
}

impl<'a> Csv<'a> {
    pub(super) fn new(out: &'a mut dyn Write) -> Self {
        Self {
            writer: csv::Writer::from_writer(out),
            digits: String::new(),
        }
    }

    fn names(&mut self, names: impl IntoIterator<Item = String>) -> Result<()> {
        Ok(self.writer.write_record(names).map_err(output::csv_error)?)
    }

    fn text(&mut self, cell: &str) -> Result<()> {
        Ok(self.writer.write_field(cell).map_err(output::csv_error)?)
    }

    fn number(&mut self, number: impl Display) -> Result<()> {
        self.digits.clear();
        write!(self.digits, "{number}")?;
        let cell = self.writer.write_field(&self.digits);
        Ok(cell.map_err(output::csv_error)?)
    }

    /// Ends a line.
    fn end(&mut self) -> Result<()> {
        let line = self.writer.write_record(None::<&[u8]>);
        Ok(line.map_err(output::csv_error)?)
    }

    pub(super) fn finish(mut self) -> Result<()> {
        Ok(self.writer.flush()?)
    }
}

/// Names of the columns.
pub(super) fn header(predictions: &Predictions) -> Vec<String> {
    match predictions {
        Predictions::Responses(_) => vec!["prediction".to_string()],
        Predictions::LogDensities(_) => vec!["log_density".to_string()],
        Predictions::Probabilities { classes, .. } => std::iter::once("prediction".to_string())
            .chain(classes.iter().map(|c| format!("p({c})")))
            .collect(),
    }
}

/// Adds the step of some rows to that of the rows before.
pub(super) fn append(all: &mut IterationPredictions, more: IterationPredictions) {
    all.change.extend(more.change);
    all.predictions.extend(more.predictions);
}

fn rows(predictions: &Predictions) -> usize {
    match predictions {
        Predictions::Responses(values) | Predictions::LogDensities(values) => values.len(),
        Predictions::Probabilities { labels, .. } => labels.len(),
    }
}

fn to_json(predictions: &Predictions) -> Map<String, Value> {
    match predictions {
        Predictions::Responses(values) => object!({ "predictions": values }),
        Predictions::LogDensities(values) => object!({ "log_densities": values }),
        Predictions::Probabilities {
            classes,
            values,
            labels,
        } => {
            let rows: Vec<&[f64]> = values.chunks(classes.len()).collect();
            let labels: Vec<&String> = labels.iter().map(|label| &classes[*label]).collect();
            object!({ "classes": classes, "predictions": labels, "probabilities": rows })
        }
    }
}
