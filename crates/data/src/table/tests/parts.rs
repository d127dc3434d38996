//! Files read in parts.

use super::*;

/// Parts of a file in their order; what is noted once is not noted again.
#[test]
fn parts_are_the_rows_of_the_whole() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.csv");
    let mut text = "# by hand\nx,k,id\n".to_string();
    for i in 0..50 {
        text += &format!("{i},{},00{i}\n", ["1.2%", "7"][i % 2]);
    }
    std::fs::write(&path, text).unwrap();
    let options = ReadOptions {
        verbatim: vec!["id".to_string()],
        ..ReadOptions::default()
    };
    let whole = Table::read_with(&path, &options).unwrap();
    for cells in [0, 3, 7, 60, 149, 150, 1000] {
        let (mut x, mut id, mut notes, mut most) = (Vec::new(), Vec::new(), Vec::new(), 0);
        Table::read_in_parts(&path, &options, cells, |part| {
            assert_eq!(part.names(), whole.names());
            assert_eq!(part.number_of(0), x.len() + 1);
            x.extend(numbers(&part, "x"));
            id.extend_from_slice(part.verbatim("id").unwrap());
            notes.extend_from_slice(part.notes());
            most = most.max(part.rows());
            Ok::<_, TableError>(())
        })
        .unwrap();
        assert_eq!(x, numbers(&whole, "x"));
        assert_eq!(id, whole.verbatim("id").unwrap());
        assert_eq!(notes, whole.notes());
        assert_eq!(most, (cells / 3).clamp(1, 50));
    }
    // No part is asked for after one that was refused.
    let mut asked = 0;
    let refused = Table::read_in_parts(&path, &options, 30, |_| {
        asked += 1;
        Err(TableError::Empty { file: "t".into() })
    });
    assert!(matches!(refused, Err(TableError::Empty { .. })));
    assert_eq!(asked, 1);
    // Once a column holds a text, numbers of later parts are texts too.
    std::fs::write(&path, "x,y\n1,a\n2,inf\n3,7\n").unwrap();
    let mut y = Vec::new();
    Table::read_in_parts(&path, &ReadOptions::default(), 2, |part| {
        y.extend(texts(&part, "y"));
        Ok::<_, TableError>(())
    })
    .unwrap();
    assert_eq!(y, ["a", "inf", "7"].map(|text| Some(text.to_string())));
    // Lines are counted over all parts.
    std::fs::write(&path, "x,y\n1,2\n3,4\n5\n").unwrap();
    let ragged = Table::read_in_parts(&path, &ReadOptions::default(), 2, |_| {
        Ok::<_, TableError>(())
    });
    assert!(ragged.unwrap_err().to_string().contains("line 4"));
}
