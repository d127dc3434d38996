use proptest::prelude::*;

use super::*;
use crate::roles::Roles;
use crate::table::{Column, ReadOptions};

fn table(text: &str) -> Table {
    Table::from_reader("t.csv", text.as_bytes(), &ReadOptions::default()).unwrap()
}

fn groups(text: &str, group: Option<&str>, block: Option<usize>) -> Result<Vec<usize>, SplitError> {
    let table = table(text);
    let roles = Roles::new(&table, Some("y"), group, &[]).unwrap();
    let groups = Groups::new(&table, &roles, block)?;
    Ok((0..groups.rows()).map(|row| groups.of_row(row)).collect())
}

#[test]
fn equal_inputs_stay_together_whatever_the_target() {
    let text = "a,s,y\n1,u,1\n2,u,2\n1,u,3\n1,v,4\n,u,5\nNA,u,6\n1.0,u,7\n";
    assert_eq!(groups(text, None, None).unwrap(), [0, 1, 0, 2, 3, 3, 0]);
}

/// Three different rows of inputs are few among thirty rows, not among 29; copies of each row are copies.
#[test]
fn equal_inputs_are_apart_where_few_are_seen_often() {
    let count = |rows: usize, different: usize, block: Option<usize>| {
        let line = |i| format!("{},{i}\n", i % different);
        let table = table(&format!("a,y\n{}", (0..rows).map(line).collect::<String>()));
        let roles = Roles::new(&table, Some("y"), None, &[]).unwrap();
        let equal = Groups::new(&table, &roles, None).unwrap();
        assert_eq!(equal.count(), different);
        Groups::apart_if_few(&table, &roles, block).unwrap().count()
    };
    assert_eq!((count(30, 3, None), count(29, 3, None)), (30, 3));
    assert_eq!(count(150, 50, None), 50);
    assert_eq!(count(30, 3, Some(2)), 15);
    // What a column says stays together is together.
    let lines: String = (0..20).map(|i| format!("1,{},{i}\n", i % 2)).collect();
    let table = table(&format!("a,g,y\n{lines}"));
    let roles = Roles::new(&table, Some("y"), Some("g"), &[]).unwrap();
    let groups = Groups::apart_if_few(&table, &roles, None).unwrap();
    assert_eq!(groups.count(), 2);
}

#[test]
fn group_columns_and_blocks_join_what_they_say() {
    let text = "a,g,y\n1,p,1\n2,q,2\n3,p,3\n4,r,4\n2,r,5\n";
    // Rows 2 and 5 have equal inputs, rows 4 and 5 one group: a chain.
    assert_eq!(groups(text, Some("g"), None).unwrap(), [0, 1, 0, 1, 1]);
    let text = "a,y\n1,1\n2,2\n3,3\n4,4\n5,5\n";
    assert_eq!(groups(text, None, Some(2)).unwrap(), [0, 0, 1, 1, 2]);
    assert_eq!(groups(text, None, Some(0)), Err(SplitError::EmptyBlocks));
    assert_eq!(
        groups("a,g,y\n1,p,1\n2,,2\n", Some("g"), None),
        Err(SplitError::MissingGroup {
            column: "g".to_string(),
            row: 2
        })
    );
}

#[test]
fn what_cannot_be_split_says_why() {
    let splitter = |text: &str| {
        let table = table(text);
        let roles = Roles::new(&table, Some("y"), None, &[]).unwrap();
        let groups = Groups::new(&table, &roles, None).unwrap();
        (table, groups)
    };
    let (a, b) = (Stream::new(1), Stream::new(2));
    let (_, one) = splitter("x,y\n1,1\n1,2\n1,3\n");
    assert_eq!(
        Splitter::new(one).split(a, b).unwrap_err(),
        SplitError::TooFewGroups { groups: 1 }
    );
    let (_, two) = splitter("x,y\n1,1\n1,2\n2,3\n");
    assert_eq!(
        Splitter::new(two).split(a, b).unwrap_err(),
        SplitError::TooFewGroups { groups: 1 }
    );
    let (_, three) = splitter("x,y\n1,1\n3,2\n2,3\n");
    assert!(Splitter::new(three.clone()).split(a, b).is_ok());
    for fraction in [0.0, 1.0, f64::NAN] {
        let error = Splitter::new(three.clone()).holdout(fraction, a);
        assert!(matches!(error, Err(SplitError::Fraction { .. })));
    }
    let (table, groups) = splitter("x,y\n1,u\n2,u\n3,u\n4,v\n5,v\n");
    assert_eq!(
        Splitter::stratified(groups, &table, "y")
            .unwrap_err()
            .to_string(),
        "class `v` of target `y` has 2 rows, and a split into training, validation and test needs 3; merge or remove it"
    );
    let (table, groups) = splitter("x,y\n1,u\n2,\n3,v\n");
    assert!(matches!(
        Splitter::stratified(groups, &table, "y"),
        Err(SplitError::MissingClass { row: 2, .. })
    ));
}

/// A group counts to the class of most of its rows.
#[test]
fn a_group_belongs_to_its_majority_class() {
    let table = table("x,y\n1,a\n1,b\n1,b\n2,a\n2,a\n3,b\n");
    let roles = Roles::new(&table, Some("y"), None, &[]).unwrap();
    let groups = Groups::new(&table, &roles, None).unwrap();
    let splitter = Splitter::stratified(groups, &table, "y").unwrap();
    assert_eq!(splitter.stratum, [1, 0, 1]);
}

/// A table with inputs from a small set, so that duplicates abound, and a class column.
fn example(inputs: &[u8], classes: &[u8]) -> Table {
    let numbers = |v: &[u8]| Column::Numeric(v.iter().map(|b| f64::from(*b)).collect());
    let columns = [("x", inputs), ("y", classes)];
    let columns = columns.map(|(name, v)| (name.to_string(), numbers(v)));
    Table::from_columns("t", columns.to_vec())
}

proptest! {
    #[test]
    fn splits_partition_the_rows_and_keep_groups_whole(
        rows in prop::collection::vec((0u8..60, 0u8..3), 20..200),
        block in prop::option::of(1usize..4),
        stratify: bool,
        seeds: [u64; 2],
    ) {
        let (inputs, classes): (Vec<u8>, Vec<u8>) = rows.into_iter().unzip();
        let table = example(&inputs, &classes);
        let roles = Roles::new(&table, Some("y"), None, &[]).unwrap();
        let groups = Groups::new(&table, &roles, block).unwrap();
        prop_assume!(groups.count() >= 3);
        let splitter = if stratify {
            let Ok(splitter) = Splitter::stratified(groups.clone(), &table, "y") else {
                return Ok(());
            };
            splitter
        } else {
            Splitter::new(groups.clone())
        };
        let [test, replication] = seeds.map(Stream::new);
        let Ok(split) = splitter.split(test, replication) else {
            // Possible only where every class sits in one group of those left: at most two
            // groups for each of three classes.
            prop_assert!(stratify && groups.count() <= 6);
            return Ok(());
        };
        prop_assert_eq!(&splitter.split(test, replication).unwrap(), &split);

        let mut all = [&split.train[..], &split.valid, &split.test].concat();
        all.sort_unstable();
        prop_assert_eq!(all, (0..table.rows()).collect::<Vec<_>>());

        let groups_of = |part: &[usize]| {
            let mut of: Vec<usize> = part.iter().map(|row| groups.of_row(*row)).collect();
            of.sort_unstable();
            of.dedup();
            of
        };
        let parts = [&split.train, &split.valid, &split.test].map(|part| groups_of(part));
        prop_assert_eq!(parts.iter().map(Vec::len).sum::<usize>(), groups.count());

        // Each stratum gives its share, rounded, to every part that it can reach.
        for stratum in 0..splitter.strata {
            let counts = parts.each_ref().map(|part| {
                part.iter().filter(|group| splitter.stratum[**group] == stratum).count()
            });
            let total: usize = counts.iter().sum();
            if total >= 3 {
                prop_assert!(counts.iter().all(|c| *c >= 1), "{:?}", counts);
                let rest = (total - counts[2]) as f64;
                prop_assert!((counts[2] as f64 - TEST * total as f64).abs() < 1.0);
                prop_assert!((counts[1] as f64 - VALID * rest).abs() < 1.0);
            }
        }
    }

    #[test]
    fn the_test_part_is_the_same_for_every_replication(seed: u64, a: u64, b: u64) {
        let inputs: Vec<u8> = (0..100).collect();
        let table = example(&inputs, &inputs);
        let roles = Roles::new(&table, Some("y"), None, &[]).unwrap();
        let splitter = Splitter::new(Groups::new(&table, &roles, None).unwrap());
        let split = |replication| splitter.split(Stream::new(seed), Stream::new(replication)).unwrap();
        prop_assert_eq!(split(a).test, split(b).test);
        prop_assert_eq!(split(a).test.len(), 20);
        prop_assert_eq!(split(a).valid.len(), 20);
        prop_assert!(a == b || split(a).valid != split(b).valid);
    }
}

/// Rows 0 and 3 equal test row 5, so they are in no part.
#[test]
fn given_test_rows_take_their_groups_out_of_training() {
    let table = table("x,y\n7,1\n1,2\n2,3\n7,4\n3,5\n7,6\n4,7\n9,8\n");
    let roles = Roles::new(&table, Some("y"), None, &[]).unwrap();
    let splitter = Splitter::new(Groups::new(&table, &roles, None).unwrap());
    let split = splitter.split_given_test(&[7, 5], Stream::new(3)).unwrap();
    assert_eq!(split.test, [5, 7]);
    let mut others = [split.train, split.valid].concat();
    others.sort_unstable();
    assert_eq!(others, [1, 2, 4, 6]);
    assert_eq!(
        splitter.split_given_test(&[8], Stream::new(3)),
        Err(SplitError::NoTestRow { row: 8, rows: 8 })
    );
}
