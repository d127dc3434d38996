//! From raw files to the paper's inputs and target, one function for each kind of set.

use std::f64::consts::TAU;
use std::path::Path;

use loopfit_numerics::libm;
use loopfit_numerics::stream::Stream;

use super::files::{RawFile, read_unpacked};
use super::{CatalogError, DataSet, mat, sample};
use crate::table::{Column, Decimal, ReadOptions, Table};

/// Makes the columns of a set from its folder.
pub(super) type Prepare = fn(&mut Folder<'_>) -> Result<Prepared, CatalogError>;

/// Named columns, inputs first, and the test rows if they are fixed.
pub(super) struct Prepared {
    pub(super) columns: Columns,
    pub(super) official_test: Option<Vec<usize>>,
}

type Columns = Vec<(String, Column)>;

impl From<Columns> for Prepared {
    fn from(columns: Columns) -> Self {
        Self {
            columns,
            official_test: None,
        }
    }
}

/// The data folder as one set sees it.
pub(super) struct Folder<'a> {
    set: &'a DataSet,
    folder: &'a Path,
    notes: Vec<String>,
}

impl<'a> Folder<'a> {
    pub(super) fn new(set: &'a DataSet, folder: &'a Path) -> Self {
        Self {
            set,
            folder,
            notes: Vec::new(),
        }
    }

    pub(super) fn into_notes(self) -> Vec<String> {
        self.notes
    }

    /// The uncompressed content of a file and its name for messages.
    fn content(&mut self, file: &RawFile) -> Result<(String, Vec<u8>), CatalogError> {
        let Some(path) = file.locate(self.folder) else {
            return Err(CatalogError::Missing {
                set: self.set.name,
                file: file.path,
                folder: self.folder.display().to_string(),
            });
        };
        let name = path.display().to_string();
        let content = read_unpacked(&path).map_err(|cause| CatalogError::Unreadable {
            file: name.clone(),
            cause,
        })?;
        if !file.is_content(&content) {
            self.notes.push(format!(
                "`{name}` is not the published file of data:{}: its checksum differs",
                self.set.name
            ));
        }
        Ok((name, content))
    }

    fn wrong(&self, file: &str, why: String) -> CatalogError {
        CatalogError::Content {
            set: self.set.name,
            file: file.to_string(),
            why,
        }
    }

    /// The columns of a text file under names of ours.
    fn text(
        &mut self,
        file: &RawFile,
        header: bool,
        names: &[&str],
    ) -> Result<Columns, CatalogError> {
        let (path, content) = self.content(file)?;
        let options = ReadOptions {
            header: Some(header),
            delimiter: None,
            decimal: Some(Decimal::Point),
            ..ReadOptions::default()
        };
        let columns = Table::from_reader(&path, content.as_slice(), &options)?.into_columns();
        if columns.len() != names.len() {
            let why = format!("it has {} columns, not {}", columns.len(), names.len());
            return Err(self.wrong(&path, why));
        }
        let columns = columns.into_iter().map(|(_, column)| column);
        Ok(names.iter().map(|n| n.to_string()).zip(columns).collect())
    }

    /// Numbers of a column that must have nothing else.
    fn numbers(&self, (name, column): &(String, Column)) -> Result<Vec<f64>, CatalogError> {
        match column {
            Column::Numeric(values) => Ok(values.clone()),
            Column::Categorical(c) => {
                let why = format!("column `{name}` holds {}", c.first_text);
                Err(self.wrong(self.set.files[0].path, why))
            }
        }
    }
}

/// A set whose one file holds its inputs and target, named here in order.
pub(super) fn as_published(
    folder: &mut Folder<'_>,
    header: bool,
    names: &[&str],
) -> Result<Prepared, CatalogError> {
    Ok(folder.text(&folder.set.files[0], header, names)?.into())
}

/// The eight features of the common form of this set: rooms, bedrooms and persons are means
/// over households, the value is in units of 100 000 dollars.
pub(super) fn california(folder: &mut Folder<'_>) -> Result<Prepared, CatalogError> {
    let names = [
        "Longitude",
        "Latitude",
        "HouseAge",
        "rooms",
        "bedrooms",
        "Population",
        "households",
        "MedInc",
        "value",
    ];
    let columns = folder.text(&folder.set.files[0], false, &names)?;
    let [
        longitude,
        latitude,
        age,
        rooms,
        bedrooms,
        population,
        households,
        income,
        value,
    ] = columns
        .iter()
        .map(|column| folder.numbers(column))
        .collect::<Result<Vec<_>, _>>()?
        .try_into()
        .unwrap_or_else(|_| unreachable!("as many columns as names"));
    let per_household =
        |total: &[f64]| -> Vec<f64> { total.iter().zip(&households).map(|(t, h)| t / h).collect() };
    let (rooms, bedrooms) = (per_household(&rooms), per_household(&bedrooms));
    let occupants = per_household(&population);
    let value = value.iter().map(|v| v / 100_000.0).collect();
    let derived = [
        ("MedInc", income),
        ("HouseAge", age),
        ("AveRooms", rooms),
        ("AveBedrms", bedrooms),
        ("Population", population),
        ("AveOccup", occupants),
        ("Latitude", latitude),
        ("Longitude", longitude),
        ("MedHouseVal", value),
    ];
    Ok(numeric(derived).into())
}

/// The response is the mean of the four run times.
pub(super) fn sgemm(folder: &mut Folder<'_>) -> Result<Prepared, CatalogError> {
    let names = [
        "MWG", "NWG", "KWG", "MDIMC", "NDIMC", "MDIMA", "NDIMB", "KWI", "VWM", "VWN", "STRM",
        "STRN", "SA", "SB", "Run1", "Run2", "Run3", "Run4",
    ];
    let mut columns = folder.text(&folder.set.files[0], true, &names)?;
    let runs = columns.split_off(14);
    let runs = runs.iter().map(|run| folder.numbers(run));
    let runs = runs.collect::<Result<Vec<_>, _>>()?;
    let mean = |row: usize| runs.iter().map(|run| run[row]).sum::<f64>() / runs.len() as f64;
    let means = (0..runs[0].len()).map(mean).collect();
    columns.push((folder.set.target.to_string(), Column::Numeric(means)));
    Ok(columns.into())
}

/// Date and time become a day ordinal and the sine and cosine of the time of day (F.4.6).
pub(super) fn room_occupancy(folder: &mut Folder<'_>) -> Result<Prepared, CatalogError> {
    let names = [
        "Date",
        "Time",
        "S1_Temp",
        "S2_Temp",
        "S3_Temp",
        "S4_Temp",
        "S1_Light",
        "S2_Light",
        "S3_Light",
        "S4_Light",
        "S1_Sound",
        "S2_Sound",
        "S3_Sound",
        "S4_Sound",
        "S5_CO2",
        "S5_CO2_Slope",
        "S6_PIR",
        "S7_PIR",
        "Room_Occupancy_Count",
    ];
    let mut columns = folder.text(&folder.set.files[0], true, &names)?;
    let sensors = columns.split_off(2);
    let read = |(name, column): &(String, Column), parse: fn(&str) -> Option<f64>| {
        let cell = |row| {
            let text = column.text(row).unwrap_or_default();
            parse(&text).ok_or_else(|| {
                let why = format!("column `{name}` holds `{text}` in row {}", row + 1);
                folder.wrong(folder.set.files[0].path, why)
            })
        };
        (0..column.len()).map(cell).collect::<Result<Vec<_>, _>>()
    };
    let day = read(&columns[0], day_ordinal)?;
    let angle: Vec<f64> = read(&columns[1], seconds_of_day)?
        .into_iter()
        .map(|seconds| TAU * seconds / 86_400.0)
        .collect();
    let mut columns = numeric([
        ("Day", day),
        ("Time_sin", angle.iter().map(|a| libm::sin(*a)).collect()),
        ("Time_cos", angle.iter().map(|a| libm::cos(*a)).collect()),
    ]);
    columns.extend(sensors);
    Ok(columns.into())
}

/// Days of the Gregorian calendar up to a date such as `2017/12/22`, the first of January of
/// the year one being day 1.
fn day_ordinal(date: &str) -> Option<f64> {
    let mut parts = date.split('/').map(|part| part.parse::<i64>().ok());
    let (year, month, day) = (parts.next()??, parts.next()??, parts.next()??);
    if !(1..=9999).contains(&year) || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    // Years begin in March, so that the leap day is the last of its year.
    let (year, month) = if month > 2 {
        (year, month - 3)
    } else {
        (year - 1, month + 9)
    };
    let before_year = 365 * year + year / 4 - year / 100 + year / 400;
    let before_month = (153 * month + 2) / 5;
    Some((before_year + before_month + day - 306) as f64)
}

/// Seconds since midnight of a time such as `10:49:41`.
fn seconds_of_day(time: &str) -> Option<f64> {
    let mut parts = time.split(':').map(|part| part.parse::<u32>().ok());
    let (hours, minutes, seconds) = (parts.next()??, parts.next()??, parts.next()??);
    (hours < 24 && minutes < 60 && seconds < 60)
        .then(|| f64::from(3600 * hours + 60 * minutes + seconds))
}

/// Rows of the paper's sample of RT-IoT, and the seed it is drawn with (F.4.6).
const RT_IOT_SAMPLE: (usize, u64) = (30_000, 20_261_101);

/// A stratified sample without the row number and the one constant column.
pub(super) fn rt_iot(folder: &mut Folder<'_>) -> Result<Prepared, CatalogError> {
    let (path, content) = folder.content(&folder.set.files[0])?;
    let options = ReadOptions {
        header: Some(true),
        delimiter: None,
        decimal: Some(Decimal::Point),
        ..ReadOptions::default()
    };
    let mut columns = Table::from_reader(&path, content.as_slice(), &options)?.into_columns();
    let target = columns
        .iter()
        .position(|(name, _)| name == folder.set.target);
    let (85, Some(target)) = (columns.len(), target) else {
        let why = format!(
            "it has {} columns, not 85 with `{}` among them",
            columns.len(),
            folder.set.target
        );
        return Err(folder.wrong(&path, why));
    };
    let class = columns.remove(target);
    let (rows, seed) = RT_IOT_SAMPLE;
    let sampled = sample::stratified(&class.1, rows, Stream::new(seed));
    // The first column, whose name differs between releases, numbers the rows.
    let columns = columns.into_iter().skip(1).chain([class]);
    let columns = columns.filter(|(name, _)| name != "bwd_URG_flag_count");
    Ok(columns
        .map(|(name, column)| (name, column.take(&sampled)))
        .collect::<Columns>()
        .into())
}

/// Positions, velocities and accelerations of seven joints, and the first torque.
///
/// With the training file the rows are the training rows and then the official test rows,
/// which are the test set; without it, what is at hand of both.
pub(super) fn sarcos(folder: &mut Folder<'_>) -> Result<Prepared, CatalogError> {
    let [training, test, substitute] = folder.set.files else {
        unreachable!("three files in the catalogue");
    };
    // Without either file it is the published one that is missing.
    let full =
        training.locate(folder.folder).is_some() || substitute.locate(folder.folder).is_none();
    let test = sarcos_matrix(folder, test)?;
    let first = if full {
        sarcos_matrix(folder, training)?
    } else {
        let names: Vec<String> = (0..29).map(|i| i.to_string()).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let columns = folder.text(substitute, true, &names)?;
        let columns = columns.iter().skip(1).map(|c| folder.numbers(c));
        columns.collect::<Result<Vec<_>, _>>()?
    };
    let (before, tested) = (first[0].len(), test[0].len());
    let joint = |quantity: &'static str| (1..=7).map(move |i| format!("{quantity}{i}"));
    let names = joint("q").chain(joint("qd")).chain(joint("qdd"));
    let names = names.chain([folder.set.target.to_string()]);
    let values = first.into_iter().zip(test).map(|(mut column, test)| {
        column.extend(test);
        Column::Numeric(column)
    });
    let columns: Columns = names.zip(values).collect();
    if !full {
        folder.notes.push(format!(
            "partial: {} of {} rows, because `{}` is missing; split at random instead of by the official test rows",
            before + tested,
            folder.set.rows,
            training.path
        ));
    }
    Ok(Prepared {
        columns,
        official_test: full.then(|| (before..before + tested).collect()),
    })
}

/// The 28 columns of a MATLAB file: 21 inputs and 7 torques.
fn sarcos_matrix(folder: &mut Folder<'_>, file: &RawFile) -> Result<Vec<Vec<f64>>, CatalogError> {
    let (path, content) = folder.content(file)?;
    let matrix = mat::first_matrix(&content).map_err(|why| CatalogError::Mat {
        set: folder.set.name,
        file: path.clone(),
        why,
    })?;
    if matrix.columns.len() != 28 {
        let (rows, columns) = (matrix.rows, matrix.columns.len());
        return Err(folder.wrong(
            &path,
            format!("it is a {rows} x {columns} matrix, not n x 28"),
        ));
    }
    Ok(matrix.columns)
}

fn numeric<const N: usize>(columns: [(&str, Vec<f64>); N]) -> Columns {
    let columns = columns.into_iter();
    columns
        .map(|(name, values)| (name.to_string(), Column::Numeric(values)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ordinals from Python's `datetime.date.toordinal`.
    #[test]
    fn days_and_times() {
        assert_eq!(day_ordinal("0001/01/01"), Some(1.0));
        assert_eq!(day_ordinal("1970/01/01"), Some(719_163.0));
        assert_eq!(day_ordinal("2000/02/29"), Some(730_179.0));
        assert_eq!(day_ordinal("2017/12/22"), Some(736_685.0));
        assert_eq!(day_ordinal("2018/01/11"), Some(736_705.0));
        assert_eq!(seconds_of_day("10:49:41"), Some(38_981.0));
        for wrong in ["", "2017-12-22", "2017/13/01", "2017/12", "10:49:41"] {
            assert_eq!(day_ordinal(wrong), None, "{wrong}");
        }
        for wrong in ["", "10:49", "24:00:00", "x:1:2", "2017/12/22"] {
            assert_eq!(seconds_of_day(wrong), None, "{wrong}");
        }
    }
}
