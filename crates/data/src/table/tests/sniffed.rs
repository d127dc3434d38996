//! Delimiters, decimal commas, comments and names that are recognised.

use super::*;

#[test]
fn every_delimiter_is_recognised() {
    for text in [
        "a,b,c\n1,2,3\n4,5,6\n",
        "a;b;c\n1;2;3\n4;5;6\n",
        "a\tb\tc\r\n1\t2\t3\r\n4\t5\t6\r\n",
        "a|b|c\n1|2|3\n4|5|6",
        "  a b   c\n 1  2 3\n4 5\t 6 \n",
        "\u{FEFF}a,b,c\r\n\r\n1, 2 ,3\r\n4,5,6\r\n\r\n",
        "\"a\",\"b\",\"c\"\r\n\"1\",2,\"3\"\r\n4,5,\"6\"\r\n",
    ] {
        let table = read(text).unwrap();
        assert_eq!(table.names(), ["a", "b", "c"], "{text:?}");
        assert_eq!(numbers(&table, "b"), [2.0, 5.0], "{text:?}");
        assert_eq!(numbers(&table, "c"), [3.0, 6.0], "{text:?}");
    }
}

#[test]
fn a_decimal_comma_does_not_make_a_comma_file() {
    let table = read("a;b\n1,5;2\n2,5;3\n").unwrap();
    assert_eq!(table.names(), ["a", "b"]);
    assert_eq!(numbers(&table, "b"), [2.0, 3.0]);
}

#[test]
fn decimal_commas_are_recognised_and_said() {
    let table = read("x;y\n0,5;1.234,25\n-1,5e2;3\n").unwrap();
    assert_eq!(numbers(&table, "x"), [0.5, -150.0]);
    assert_eq!(numbers(&table, "y"), [1234.25, 3.0]);
    assert!(
        table.notes()[0].contains("decimal comma"),
        "{:?}",
        table.notes()
    );
    // One number with a point, and the comma is not a part of numbers; what becomes of the others is said.
    let table = read("x;y\n0,5;1.5\n1,5;2.5\n").unwrap();
    assert_eq!(texts(&table, "x")[0].as_deref(), Some("0,5"));
    assert!(table.notes()[0].contains("`x` is read as texts, since `0,5`, line 2,"));
    // Thousands are no fractions.
    let table = read("x;y\n694,156;1\n1,156;2\n").unwrap();
    assert_eq!(texts(&table, "x")[0].as_deref(), Some("694,156"));
    let options = ReadOptions {
        decimal: Some(Decimal::Comma),
        ..ReadOptions::default()
    };
    let table = Table::from_reader("t.csv", &b"x;y\n694,156;1\n1,5;2\n"[..], &options).unwrap();
    assert_eq!(numbers(&table, "x"), [694.156, 1.5]);
    assert!(table.notes().is_empty());
    // Then points are thousands, or no part of a number.
    let table = Table::from_reader("t.csv", &b"x;y\n5.185;1,5\n857;2\n"[..], &options).unwrap();
    assert_eq!(numbers(&table, "x"), [5185.0, 857.0]);
    let table = Table::from_reader("t.csv", &b"x;y\n5.18;1,5\n857;2\n"[..], &options).unwrap();
    assert_eq!(texts(&table, "x")[0].as_deref(), Some("5.18"));
    // A group of thousands does not begin with a zero.
    let table = Table::from_reader("t.csv", &b"x;y\n0.512;1,5\n857;2\n"[..], &options).unwrap();
    assert_eq!(texts(&table, "x")[0].as_deref(), Some("0.512"));
    // Quoted cells of a comma file.
    assert_eq!(
        numbers(&read("x,y\n\"0,5\",1\n\"1,5\",2\n").unwrap(), "x"),
        [0.5, 1.5]
    );
}

#[test]
fn columns_that_look_like_numbers_are_said() {
    for (cells, said) in [
        ("1.2%\n3%", true),
        ("$1.2\n$3.4", true),
        ("\"694,156\"\n\"1,200\"", true),
        ("\"0,5\"\n1.5", true),
        ("1\n2\n3\nbroken", true),
        ("red\nblue\n3", false),
        ("a1\nb2", false),
        ("2020-01-01\n2020-01-02", false),
        ("1.5\n2", false),
    ] {
        // Not where commas may separate thousands.
        let comma = cells.contains("0,5") || cells.contains("694,156");
        let table = read(format!("x\n{cells}\n")).unwrap();
        assert_eq!(
            !table.notes().is_empty(),
            said,
            "{cells}: {:?}",
            table.notes()
        );
        let notes = table.notes().concat();
        assert_eq!(notes.contains("with decimal commas"), comma, "{notes}");
        let hint = said && !cells.contains("broken");
        assert_eq!(notes.contains("write it as 1234.5"), hint, "{notes}");
    }
}

#[test]
fn comments_at_the_beginning_are_left_out() {
    let table = read("# made by hand\n#second\nx,y\n1,2\n").unwrap();
    assert_eq!(table.names(), ["x", "y"]);
    assert_eq!(
        table.notes(),
        ["left out 2 comment lines at the beginning of t.csv"]
    );
    // Lines are counted with them.
    let error = read("# made by hand\nx,y\n1,2\n3\n").unwrap_err();
    assert!(error.to_string().contains("line 4"), "{error}");
    // A column may be called `#`.
    assert_eq!(read("#,y\n1,2\n").unwrap().names(), ["#", "y"]);
}

/// What a row may be that does not fit the others, or a text among numbers.
#[test]
fn comments_and_decimal_commas_in_the_middle_are_suggested() {
    let refused = |text: &str| read(text).unwrap_err().to_string();
    let comment = refused("x,y\n1,2\n# half of it\n3,4\n");
    assert!(comment.contains("line 3: 1 cell where 2 are expected; if it is a comment,"));
    let one = refused("y\n0,5\n-1,5\n");
    assert!(one.contains("line 2: 2 cells where 1 is expected; if its number has a decimal comma"));
    assert!(one.contains("with semicolons between cells and decimal commas"));
    let two = refused("x,y\n0,5,1,5\n");
    assert!(two.contains("separate cells by semicolons"), "{two}");
    assert!(!refused("x,y\n1,2,3\n").contains("comma"));
    let options = ReadOptions {
        delimiter: Some(Delimiter::Semicolon),
        decimal: Some(Decimal::Comma),
        ..ReadOptions::default()
    };
    let table = Table::from_reader("t.csv", &b"y\n0,5\n-1,5\n"[..], &options).unwrap();
    assert_eq!(numbers(&table, "y"), [0.5, -1.5]);
    let notes = read("x\n1\n2\n# three\n4\n").unwrap();
    assert!(
        notes.notes()[0].contains("`# three`, line 4, is not a number; if it is a comment"),
        "{:?}",
        notes.notes()
    );
}

#[test]
fn spaces_inside_texts_do_not_make_a_whitespace_file() {
    let table = read("age,risk\n1,low risk\n2,high risk\n").unwrap();
    assert_eq!(texts(&table, "risk")[1].as_deref(), Some("high risk"));
}

#[test]
fn files_without_names_get_numbered_columns() {
    let table = read("M,0.5,15\nF,0.6,7\n").unwrap();
    assert_eq!(table.names(), ["c1", "c2", "c3"]);
    assert_eq!(table.rows(), 2);
    // An index column written without a name.
    assert_eq!(read(",x\n0,1\n1,2\n").unwrap().names(), ["c1", "x"]);
}

#[test]
fn guesses_can_be_overridden() {
    let header = |header| ReadOptions {
        header: Some(header),
        ..Default::default()
    };
    let years = Table::from_reader("t", "2019,2020\n1,2\n".as_bytes(), &header(true)).unwrap();
    assert_eq!(years.names(), ["2019", "2020"]);
    let words = Table::from_reader("t", "a,b\nc,d\n".as_bytes(), &header(false)).unwrap();
    assert_eq!((words.names()[0].as_str(), words.rows()), ("c1", 2));
    let options = ReadOptions {
        delimiter: Some(Delimiter::Whitespace),
        ..Default::default()
    };
    let table = Table::from_reader("t", "a,x b\n1 2\n".as_bytes(), &options).unwrap();
    assert_eq!(table.names(), ["a,x", "b"]);
}
