//! Parquet files, row by row.

use std::fs::File;

use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;

use super::build::{Cell, ColumnBuilder};
use super::read::finish_columns;
use super::sniff::Decimal;
use super::{Table, TableError, first_repeat};

pub(super) fn read(file: &str, handle: File) -> Result<Table, TableError> {
    let damaged = |cause: ParquetError| TableError::ParquetDamaged {
        file: file.to_string(),
        cause: cause.to_string(),
    };
    let reader = SerializedFileReader::new(handle).map_err(damaged)?;
    let metadata = reader.metadata().file_metadata();
    let names: Vec<String> = metadata
        .schema()
        .get_fields()
        .iter()
        .map(|field| field.name().to_string())
        .collect();
    if let Some((first, second)) = first_repeat(&names) {
        return Err(TableError::DuplicateHeader {
            file: file.to_string(),
            name: names[first].clone(),
            first: first + 1,
            second: second + 1,
        });
    }
    let rows = metadata.num_rows();
    if names.is_empty() || rows <= 0 {
        return Err(TableError::HeaderOnly {
            file: file.to_string(),
        });
    }
    if rows >= i64::from(u32::MAX) {
        return Err(TableError::TooManyRows {
            file: file.to_string(),
        });
    }
    let mut columns: Vec<ColumnBuilder> = names.iter().map(|_| ColumnBuilder::new()).collect();
    for (i, row) in reader.get_row_iter(None).map_err(damaged)?.enumerate() {
        let row = row.map_err(damaged)?;
        for (column, (name, field)) in columns.iter_mut().zip(row.get_column_iter()) {
            let cell = cell(field).ok_or_else(|| TableError::ParquetType {
                file: file.to_string(),
                column: name.clone(),
                kind: kind(field),
            })?;
            column.push(cell, i as u64 + 1);
        }
    }
    finish_columns(file, names, columns)
}

/// A field as a cell; `None` for dates, times, bytes and nested values.
fn cell(field: &Field) -> Option<Cell<'_>> {
    Some(match field {
        Field::Null => Cell::Missing,
        Field::Bool(true) => Cell::Text("true"),
        Field::Bool(false) => Cell::Text("false"),
        Field::Byte(v) => Cell::number((*v).into()),
        Field::Short(v) => Cell::number((*v).into()),
        Field::Int(v) => Cell::number((*v).into()),
        Field::Long(v) => Cell::number(*v as f64),
        Field::UByte(v) => Cell::number((*v).into()),
        Field::UShort(v) => Cell::number((*v).into()),
        Field::UInt(v) => Cell::number((*v).into()),
        Field::ULong(v) => Cell::number(*v as f64),
        Field::Float(v) => Cell::number((*v).into()),
        Field::Double(v) => Cell::number(*v),
        Field::Str(text) => Cell::parse(text, Decimal::Point),
        _ => return None,
    })
}

/// The variant's name: what stands before the first bracket of its debug form.
fn kind(field: &Field) -> String {
    let debug = format!("{field:?}");
    debug.split('(').next().unwrap_or_default().to_string()
}
