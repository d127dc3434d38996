mod parts;
mod sniffed;

use std::io::Write;

use flate2::{Compression, write::GzEncoder};
use proptest::prelude::*;

use super::*;

fn read(text: impl AsRef<[u8]>) -> Result<Table, TableError> {
    Table::from_reader("t.csv", text.as_ref(), &ReadOptions::default())
}

fn numbers(table: &Table, name: &str) -> Vec<f64> {
    match table.column(name) {
        Some(Column::Numeric(values)) => values.clone(),
        other => panic!("{name}: {other:?}"),
    }
}

fn texts(table: &Table, name: &str) -> Vec<Option<String>> {
    let column = table.column(name).unwrap();
    assert!(matches!(column, Column::Categorical(_)), "{name}");
    (0..table.rows()).map(|row| column.text(row)).collect()
}

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn rows_without_a_value_can_be_left_out() {
    let table = read("x,y\n1,2\n2,\n3,?\n4,5\n")
        .unwrap()
        .with_values_of("y");
    assert_eq!(numbers(&table, "x"), [1.0, 4.0]);
    assert_eq!(table.notes(), ["left out 2 rows without a value of `y`"]);
    let table = read("x,y\n1,\n2,\n").unwrap().with_values_of("y");
    assert_eq!((table.rows(), table.notes().len()), (2, 0));
}

/// What a file from elsewhere may hold is bounded, and the bounds can be raised.
#[test]
fn texts_have_bounds() {
    let limits = Limits {
        line: 1 << 17,
        columns: 9,
        bytes: 1 << 20,
    };
    let read = |text: &[u8], limits: Limits| {
        let options = ReadOptions {
            limits,
            ..ReadOptions::default()
        };
        Table::from_reader("t.csv", text, &options)
    };
    let long = |cells: &[u8], count: usize| [b"a,b\n1,", &cells.repeat(count)[..], b"\n"].concat();
    let rows = [&b"a,b\n"[..], &b"1,2\n".repeat(1 << 19)].concat();
    let blanks = [&b"a b\n1 2\n"[..], &b"3".repeat(1 << 20)].concat();
    let open = [&b"a,b\n1,\""[..], &b"\n2,3".repeat(1 << 18)].concat();
    let columns = b"x,".repeat(9);
    for (text, words) in [
        (
            long(b"x", 1 << 20),
            "row that begins in line 2 is longer than 131072 bytes",
        ),
        // An open quotation mark makes one row of all lines.
        (open, "line 2 is longer"),
        (blanks, "line 3 is longer"),
        (gzip(&long(b"x", 1 << 20)), "line 2 is longer"),
        (columns, "has 10 columns, more than 9"),
        (rows.clone(), "holds more than 1048576 bytes"),
        (gzip(&rows), "raise the limit"),
        (vec![0; 1 << 20], "line 1 is longer"),
    ] {
        let error = read(&text, limits).unwrap_err().to_string();
        assert!(error.contains(words), "{words}: {error}");
    }
    let wide = Limits {
        line: 1 << 22,
        columns: 10,
        bytes: 1 << 22,
    };
    assert_eq!(read(&rows, wide).unwrap().rows(), 1 << 19);
    assert_eq!(read(&gzip(&rows), wide).unwrap().rows(), 1 << 19);
    assert_eq!(read(&long(b"x", 1 << 20), wide).unwrap().rows(), 1);
    // A file on a disk has an end.
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.csv");
    std::fs::write(&path, &rows).unwrap();
    let options = ReadOptions {
        limits,
        ..ReadOptions::default()
    };
    assert_eq!(Table::read_with(&path, &options).unwrap().rows(), 1 << 19);
}

#[cfg(unix)]
#[test]
fn devices_are_refused() {
    for device in ["/dev/zero", "/dev/null"] {
        let error = Table::read_with(Path::new(device), &ReadOptions::default()).unwrap_err();
        assert!(matches!(error, TableError::Device { .. }), "{error}");
    }
}

/// Identifiers are no numbers, whatever they look like.
#[test]
fn cells_can_be_kept_as_they_are_written() {
    let options = ReadOptions {
        verbatim: vec!["id".to_string(), "none".to_string()],
        ..ReadOptions::default()
    };
    let text = "id,y\n007,1\n 1e3 ,\nNA,3\n9007199254740993,4\n";
    let table = Table::from_reader("t.csv", text.as_bytes(), &options).unwrap();
    let written = ["007", "1e3", "NA", "9007199254740993"];
    assert_eq!(table.verbatim("id").unwrap(), written);
    assert_eq!(numbers(&table, "id")[0], 7.0);
    assert!(table.verbatim("y").is_none() && table.verbatim("none").is_none());
    let left = table.with_values_of("y");
    assert_eq!(left.verbatim("id").unwrap(), ["007", "NA", written[3]]);
}

/// A pipe gives its bytes once.
#[cfg(unix)]
#[test]
fn a_pipe_is_read_from_its_first_byte() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pipe");
    let made = std::process::Command::new("mkfifo")
        .arg(&path)
        .status()
        .unwrap();
    assert!(made.success());
    let writer = {
        let path = path.clone();
        std::thread::spawn(move || std::fs::write(path, "temperature,y\n1,2\n").unwrap())
    };
    let table = Table::read_with(&path, &ReadOptions::default()).unwrap();
    writer.join().unwrap();
    assert_eq!(table.names(), ["temperature", "y"]);
}

#[test]
fn missing_cells_and_types() {
    let table = read("x,s\n1,a\nNA,\n ,?\nnan,N/A\nnull,-\n-2.5e1,None\n").unwrap();
    let x = numbers(&table, "x");
    assert_eq!((x[0], x[5]), (1.0, -25.0));
    assert!(x[1..5].iter().all(|v| v.is_nan()));
    let s: Vec<_> = texts(&table, "s");
    let s: Vec<_> = s.iter().map(Option::as_deref).collect();
    assert_eq!(s, [Some("a"), None, None, None, Some("-"), Some("None")]);
}

/// The same cells in any order give the same categories.
#[test]
fn a_number_has_one_name_as_a_category() {
    let texts_of = |text| texts(&read(text).unwrap(), "s");
    let first = texts_of("s\n1.0\n01\n1e0\nA\n");
    let last = texts_of("s\nA\n1.0\n01\n1e0\n");
    assert_eq!(first[..3], last[1..]);
    assert!(first[..3].iter().all(|t| t.as_deref() == Some("1")));
    let Some(Column::Categorical(c)) = read("s\n1\nA\n").unwrap().column("s").cloned() else {
        panic!("s is text");
    };
    assert_eq!(c.first_text, "`A`, line 3");
}

#[test]
fn quoted_cells_keep_delimiters_quotes_and_line_ends() {
    let table = read("x,s\n1,\"a, \"\"b\"\"\nc\"\n2,d\n").unwrap();
    assert_eq!(texts(&table, "s")[0].as_deref(), Some("a, \"b\"\nc"));
    assert_eq!(table.rows(), 2);
}

#[test]
fn gzip_is_recognised_by_its_first_bytes() {
    let mut packed = gzip(b"a,b\n1,2\n");
    assert_eq!(read(&packed).unwrap(), read("a,b\n1,2\n").unwrap());
    // Two members in one file.
    packed.extend(gzip(b"3,4\n"));
    assert_eq!(read(&packed).unwrap().rows(), 2);
}

#[test]
fn errors_say_what_where_and_what_to_do() {
    let mut long = b"a,b\n".to_vec();
    long.extend((0..5000).flat_map(|i| format!("{i},{}\n", i * i).into_bytes()));
    let packed = gzip(&long);
    let mut damaged = packed.clone();
    let middle = damaged.len() / 2;
    damaged[middle..middle + 40].fill(0xFF);
    let cases: Vec<(Vec<u8>, &str)> = vec![
        (
            b"".to_vec(),
            "`t.csv` is empty; a table needs at least one row",
        ),
        (
            b"\n \r\n".to_vec(),
            "`t.csv` is empty; a table needs at least one row",
        ),
        (b"a,b\n".to_vec(), "`t.csv` holds a header line and no rows"),
        (
            b"a,b\r\n1,2\r\n\r\n3\r\n".to_vec(),
            "`t.csv`, line 4: 1 cell where 2 are expected",
        ),
        (
            b"a,b\n\"1\n\",2\n3,4,5\n".to_vec(),
            "`t.csv`, line 4: 3 cells where 2 are expected",
        ),
        (
            [b"a b\n".to_vec(), b"1 2\n".repeat(20), b"3\n".to_vec()].concat(),
            "`t.csv`, line 22: 1 cell where 2 are expected",
        ),
        (
            b"a,b, a\n1,2,3\n".to_vec(),
            "`t.csv`: columns 1 and 3 are both called `a`; rename one",
        ),
        (
            b"a,b\n1,2\n3,caf\xE9\n".to_vec(),
            "`t.csv`, line 3, column 2: the text is not UTF-8; convert the file",
        ),
        (
            b"a,b\n1,2\n3,\"x\n4,5\n6,7\n".to_vec(),
            "`t.csv`: a quotation mark opened in line 3 is never closed",
        ),
        (
            b"a,b\n1,2\n3,inf\n".to_vec(),
            "`t.csv`, line 3: column `b` holds an infinite value; leave the cell empty or correct it",
        ),
        (
            b"a,b\n1,2\n3,-1e999\n".to_vec(),
            "`t.csv`, line 3: column `b` holds an infinite value; leave the cell empty or correct it",
        ),
        (
            packed[..packed.len() / 2].to_vec(),
            "`t.csv` is a gzip file that ends too early; copy or download it again",
        ),
        (
            gzip(b"PAR1 and more"),
            "`t.csv` holds parquet data, which can be read from a plain file only",
        ),
    ];
    for (text, expected) in cases {
        let error = read(&text).unwrap_err().to_string();
        assert_eq!(error, expected);
    }
    let error = read(&damaged).unwrap_err();
    assert!(matches!(error, TableError::GzipDamaged { .. }), "{error}");
}

/// Among texts `inf` is a text.
#[test]
fn an_infinite_word_in_a_text_column_is_a_text() {
    let table = read("s\ninf\nlow\n").unwrap();
    assert_eq!(texts(&table, "s")[0].as_deref(), Some("inf"));
}

#[test]
fn files_that_cannot_be_opened() {
    let folder = tempfile::tempdir().unwrap();
    let absent = folder.path().join("absent.csv");
    let options = ReadOptions::default();
    assert!(matches!(
        Table::read_with(&absent, &options),
        Err(TableError::NotFound { .. })
    ));
    assert!(matches!(
        Table::read_with(folder.path(), &options),
        Err(TableError::Unreadable { .. })
    ));
    let file = folder.path().join("t.csv");
    std::fs::write(&file, "a,b\n1,2\n").unwrap();
    assert_eq!(Table::read_with(&file, &options).unwrap().rows(), 1);
}

#[cfg(not(feature = "parquet"))]
#[test]
fn parquet_says_how_to_enable_it() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("t.parquet");
    std::fs::write(&file, b"PAR1....").unwrap();
    let error = Table::read_with(&file, &ReadOptions::default()).unwrap_err();
    assert!(error.to_string().contains("the feature `parquet`"));
}

#[cfg(feature = "parquet")]
mod parquet_files {
    use std::sync::Arc;

    use ::parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type};
    use ::parquet::file::writer::SerializedFileWriter;
    use ::parquet::schema::parser::parse_message_type;

    use super::*;

    #[test]
    fn columns_arrive_as_from_text() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.parquet");
        let schema =
            "message m { REQUIRED INT64 k; OPTIONAL DOUBLE x; REQUIRED BYTE_ARRAY s (UTF8); }";
        let schema = Arc::new(parse_message_type(schema).unwrap());
        let file = File::create(&path).unwrap();
        let mut writer = SerializedFileWriter::new(file, schema, Default::default()).unwrap();
        let mut group = writer.next_row_group().unwrap();
        let mut column = group.next_column().unwrap().unwrap();
        let typed = column.typed::<Int64Type>();
        typed.write_batch(&[3, 4, 5], None, None).unwrap();
        column.close().unwrap();
        let mut column = group.next_column().unwrap().unwrap();
        let typed = column.typed::<DoubleType>();
        typed
            .write_batch(&[0.5, 2.5], Some(&[1, 0, 1]), None)
            .unwrap();
        column.close().unwrap();
        let mut column = group.next_column().unwrap().unwrap();
        let typed = column.typed::<ByteArrayType>();
        let words = ["a", "", "b"].map(ByteArray::from);
        typed.write_batch(&words, None, None).unwrap();
        column.close().unwrap();
        group.close().unwrap();
        writer.close().unwrap();

        let table = Table::read_with(&path, &ReadOptions::default()).unwrap();
        let same = read("k,x,s\n3,0.5,a\n4,,\n5,2.5,b\n").unwrap();
        assert_eq!(table.names(), same.names());
        assert_eq!(numbers(&table, "k"), [3.0, 4.0, 5.0]);
        let x = numbers(&table, "x");
        assert!(x[0] == 0.5 && x[1].is_nan() && x[2] == 2.5);
        assert_eq!(texts(&table, "s"), texts(&same, "s"));
    }

    #[test]
    fn a_damaged_file_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.parquet");
        std::fs::write(&path, b"PAR1 and then nothing of the kind").unwrap();
        let error = Table::read_with(&path, &ReadOptions::default()).unwrap_err();
        assert!(
            matches!(error, TableError::ParquetDamaged { .. }),
            "{error}"
        );
    }
}

proptest! {
    /// Whatever the bytes, reading ends in a table or an error.
    #[test]
    fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = read(&bytes);
    }

    #[test]
    fn arbitrary_text_never_panics(text in "[a-c0-9,;\"\n\r .-]{0,120}") {
        let _ = read(&text);
    }

    #[test]
    fn numbers_survive_writing_and_reading(
        rows in prop::collection::vec(prop::array::uniform3(prop::num::f64::NORMAL), 1..30),
        delimiter in prop::sample::select(vec![",", ";", "\t", "|", "  "]),
    ) {
        let mut text = ["x", "y", "z"].join(delimiter);
        for row in &rows {
            text.push('\n');
            text.push_str(&row.map(|v| v.to_string()).join(delimiter));
        }
        let table = read(&text).unwrap();
        for (k, name) in ["x", "y", "z"].iter().enumerate() {
            let written: Vec<f64> = rows.iter().map(|row| row[k]).collect();
            prop_assert_eq!(numbers(&table, name), written);
        }
    }
}

/// The hash is about cells: not about where they were read, but about every one of them.
#[test]
fn hashes_tell_tables_apart() {
    let hash = |source: &str, text: &str| {
        Table::from_reader(source, text.as_bytes(), &ReadOptions::default())
            .unwrap()
            .hash()
    };
    let first = hash("a.csv", "x,k\n1,red\n2,\n");
    assert_eq!(first, hash("b.csv", "x;k\n1.0;red\n2;NA\n"));
    for other in [
        "x,k\n1,red\n3,\n",
        "x,k\n1,red\n2,red\n",
        "y,k\n1,red\n2,\n",
        "x,k\n1,re\n2,\n",
    ] {
        assert_ne!(first, hash("a.csv", other), "{other}");
    }
}
