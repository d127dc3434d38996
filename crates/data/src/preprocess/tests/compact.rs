//! The compact encoding: one input of two categories, inputs for missing cells, ranges, and
//! fewer columns.

use super::*;
use crate::table::{Categorical, MISSING};

fn compact(table: &Table, task: Task, rows: &[usize]) -> Preprocessing {
    let target = (task != Task::Density).then_some("y");
    let roles = Roles::new(table, target, None, &[]).unwrap();
    let (scaling, encoding) = (Scaling::Fitted, Encoding::Compact);
    Preprocessing::fit_encoded(table, &roles, task, rows, scaling, encoding).unwrap()
}

fn all(table: &Table) -> Vec<usize> {
    (0..table.rows()).collect()
}

/// Two of four rows are m: mean 1/2, sample SD `sqrt(1/3)`.
#[test]
fn two_categories_are_one_input() {
    let t = table("sex,y\nm,1\nf,2\nm,3\nf,4\nx,5\n,6\n");
    let p = compact(&t, Task::Regression, &[0, 1, 2, 3]);
    assert_eq!(p.feature_names(), ["sex=m"]);
    assert_eq!(p.d(), 1);
    let f = p.features(&t, &all(&t)).unwrap();
    let m = (0.5 / (1.0f64 / 3.0).sqrt()) as f32;
    assert_eq!(f.x, [m, -m, m, -m, 0.0, 0.0]);
    assert_eq!((f.missing, f.unknown), (1, 1));
    assert_eq!(
        f.notes(),
        [
            "missing cells, replaced: 1",
            "texts that are not a category of the training rows: 1"
        ]
    );
    assert!(p.inputs_to_original(&f.x[..1]).is_empty());
    let error = p.features(&table("sex\n1\n"), &[0]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "column `sex` must hold texts such as `f`, but holds numbers"
    );
    // Three categories in the training rows stay indicators.
    let p = compact(&t, Task::Regression, &[0, 1, 2, 3, 4]);
    assert_eq!(p.feature_names(), ["sex=f", "sex=m", "sex=x"]);
}

/// Column `a` is missing where y is large; `b` is missing in as many rows that say nothing;
/// `c` is missing where `a` is; the texts likewise.
fn with_missing_cells() -> Table {
    let mut text = "a,b,c,s,t,u,v,k,l,y\n".to_string();
    for i in 0..24 {
        let large = i < 8;
        let says = |cell: &str, missing: bool| if missing { "" } else { cell }.to_string();
        let number = (i * i % 7).to_string();
        let two = if i % 2 == 0 { "p" } else { "q" };
        let three = ["p", "q", "r"][i % 3];
        let y = (i % 5) + if large { 100 } else { 0 };
        let cells = [
            says(&number, large),
            says(&number, i % 3 == 0),
            says(&number, large),
            says(two, (1..8).contains(&i)),
            says(two, i % 3 == 0),
            says(three, (2..8).contains(&i)),
            says("only", large),
            says("7", (0..7).contains(&i)),
            says("7", i % 3 == 0),
            y.to_string(),
        ];
        text.push_str(&format!("{}\n", cells.join(",")));
    }
    table(&text)
}

#[test]
fn missing_cells_are_an_input_where_they_predict() {
    let t = with_missing_cells();
    let p = compact(&t, Task::Regression, &all(&t));
    assert_eq!(
        p.feature_names(),
        [
            "a",
            "a missing",
            "b",
            "c",
            "s=q",
            "s missing",
            "t=q",
            "u=p",
            "u=q",
            "u=r",
            "u missing",
            "v=only",
            "k=7",
        ]
    );
    assert_eq!(p.feature_columns(), [0, 0, 1, 2, 3, 3, 4, 5, 5, 5, 5, 6, 7]);
    assert_eq!(
        p.notes(),
        [
            "column `a`: the target differs where it is missing, which becomes an input",
            "column `s`: the target differs where it is missing, which becomes an input",
            "column `u`: the target differs where it is missing, which becomes an input",
            "column `l` is left out: it is 7 in every training row",
        ]
    );
    let f = p.features(&t, &[0, 3, 20]).unwrap();
    let column = |k: usize| -> Vec<f32> { f.x.iter().skip(k).step_by(p.d()).copied().collect() };
    assert_eq!(column(1), [1.0, 1.0, 0.0]);
    assert_eq!(column(5), [0.0, 1.0, 0.0]);
    assert_eq!(column(10), [0.0, 1.0, 0.0]);
    assert_eq!(column(11), [0.0, 0.0, 1.0]);
    assert_eq!(column(12), [0.0, 0.0, 1.0]);
    // An unknown text is not missing.
    let new = table("a,b,c,s,t,u,v,k\n1,1,1,new,p,new,only,7\n");
    let f = p.features(&new, &[0]).unwrap();
    assert_eq!((f.unknown, f.missing), (2, 0));
    assert_eq!([f.x[5], f.x[10]], [0.0, 0.0]);
}

/// The hash is that of the samples before there was another encoding.
#[test]
fn the_frozen_encoding_keeps_its_samples() {
    let t = with_missing_cells();
    let p = fit(&t, Task::Regression, &all(&t)).unwrap();
    assert_eq!(
        p.samples(&t, &all(&t)).unwrap().hash(),
        "6820351ad1c24e2c96786e0309e674028dcd9740fbda155a3c858152faa47bfe"
    );
}

#[test]
fn classes_and_densities_have_missing_cells_too() {
    let mut text = "a,b,y\n".to_string();
    for i in 0..30 {
        let a = if i < 8 { "" } else { ["1", "2"][i % 2] };
        let y = if i < 10 { "yes" } else { "no" };
        text.push_str(&format!("{a},{},{y}\n", i % 4));
    }
    let t = table(&text);
    let p = compact(&t, Task::Binary, &all(&t));
    assert_eq!(p.feature_names(), ["a", "a missing", "b"]);
    let t = table(&text.replace(",yes", ",0.5").replace(",no", ",1"));
    let p = compact(&t, Task::Density, &all(&t));
    assert_eq!(p.feature_names(), ["a", "b", "y"]);
}

#[test]
fn rows_outside_the_range_name_their_columns() {
    let t = table("a,sex,b,y\n1,m,0,10\n5,f,1,30\n3,m,2,20\n");
    let p = compact(&t, Task::Regression, &[0, 1, 2]);
    let range = p.target_range().unwrap();
    assert_eq!((range.low(), range.high()), (10.0, 30.0));
    let range = p.inputs()[0].range().unwrap();
    assert_eq!((range.low(), range.high()), (1.0, 5.0));
    assert_eq!(p.inputs()[1].range(), None);
    let new = table("a,sex,b\n1,f,2\n0.9,m,1\n,,\n6,x,3\n2,y,1\n");
    let outside = p.outside_range(&new, &[4, 0, 1, 2, 3]).unwrap();
    let found: Vec<_> = outside.iter().map(|o| (o.position, &o.columns)).collect();
    assert_eq!(
        found,
        [
            (0, &vec!["sex"]),
            (2, &vec!["a"]),
            (4, &vec!["a", "sex", "b"]),
        ]
    );
    let error = |text| p.outside_range(&table(text), &[0]).unwrap_err();
    assert!(matches!(error("a,b\n1,1\n"), PreprocessError::Column(_)));
    let texts = error("a,sex,b\nlow,m,1\n");
    assert!(matches!(texts, PreprocessError::TextColumn { .. }));
    let numbers = error("a,sex,b\n1,1,1\n");
    assert!(matches!(numbers, PreprocessError::NumberColumn { .. }));

    // The other encoding keeps those of the inputs.
    let p = fit(&t, Task::Regression, &[0, 1, 2]).unwrap();
    assert_eq!(p.target_range(), None);
    assert_eq!(p.inputs()[0].range(), Some(range));
    // An older file may have none.
    let unchanged = Preprocessing::unchanged(1);
    let error = unchanged.outside_range(&table("x1\n2\n"), &[0]);
    assert_eq!(
        error.unwrap_err().to_string(),
        "the model does not know the range of column `x1` in its training rows; fit it again to know"
    );

    // A density keeps the range within its margins.
    let t = table("u,v\n0,10\n10,30\n5,20\n10.1,20\n");
    let p = compact(&t, Task::Density, &[0, 1, 2]);
    let outside = p.outside_range(&t, &all(&t)).unwrap();
    assert_eq!(outside.len(), 1);
    assert_eq!(
        (outside[0].position, &outside[0].columns[..]),
        (3, &["u"][..])
    );
    assert!(p.features(&t, &all(&t)).unwrap().outside.is_empty());
}

#[test]
fn a_restriction_needs_its_columns_alone() {
    let t = with_missing_cells();
    let p = compact(&t, Task::Regression, &all(&t));
    let few = p.restricted(&[5, 0, 5]);
    assert_eq!(
        few.feature_names(),
        ["a", "a missing", "u=p", "u=q", "u=r", "u missing"]
    );
    assert_eq!(few.target(), p.target());
    assert_eq!(few.notes(), p.notes());
    let f = few.features(&table("u,a\nq,\n"), &[0]).unwrap();
    assert_eq!(f.x[1..], [1.0, 0.0, 1.0, 0.0, 0.0]);
    assert_eq!(p.restricted(&[]).d(), 0);
    assert_eq!(p.restricted(&(0..p.inputs().len()).collect::<Vec<_>>()), p);
}

/// Cells of a column: numbers, two texts or three, each possibly missing.
fn column(rows: usize) -> impl Strategy<Value = Column> {
    let numbers = prop::collection::vec(prop::option::of(-5i8..5), rows).prop_map(|cells| {
        let number = |cell: Option<i8>| cell.map_or(f64::NAN, f64::from);
        Column::Numeric(cells.into_iter().map(number).collect())
    });
    let texts = (2u32..=3).prop_flat_map(move |categories| {
        let cells = prop::collection::vec(prop::option::of(0..categories), rows);
        cells.prop_map(|cells| {
            let code = |cell: Option<u32>| cell.unwrap_or(MISSING);
            Column::Categorical(Categorical {
                codes: cells.into_iter().map(code).collect(),
                categories: ["p", "q", "r"].map(str::to_string).to_vec(),
                first_text: "`p`".to_string(),
            })
        })
    });
    prop_oneof![numbers, texts]
}

fn any_table() -> impl Strategy<Value = Table> {
    (12usize..40).prop_flat_map(|rows| {
        let columns = prop::collection::vec(column(rows), 1..6);
        let targets = prop::collection::vec(0u8..3, rows);
        (columns, targets).prop_map(|(columns, targets)| {
            let mut named: Vec<(String, Column)> = columns
                .into_iter()
                .enumerate()
                .map(|(k, column)| (format!("x{k}"), column))
                .collect();
            let targets = targets.into_iter().map(f64::from).collect();
            named.push(("y".to_string(), Column::Numeric(targets)));
            Table::from_columns("t", named)
        })
    })
}

fn any_fit(table: &Table, task: Task) -> Option<Preprocessing> {
    let roles = Roles::new(table, Some("y"), None, &[]).unwrap();
    let (rows, scaling) = (all(table), Scaling::Fitted);
    Preprocessing::fit_encoded(table, &roles, task, &rows, scaling, Encoding::Compact).ok()
}

proptest! {
    /// A text of two categories gives the bits of the column of numbers 0 and 1.
    #[test]
    fn two_categories_are_the_numbers_0_and_1(cells in prop::collection::vec(any::<bool>(), 2..40)) {
        prop_assume!(cells.contains(&true) && cells.contains(&false));
        let numbers = cells.iter().map(|c| f64::from(u8::from(*c))).collect();
        let n = cells.len();
        let t = Table::from_columns("t", vec![
            ("number".to_string(), Column::Numeric(numbers)),
            ("text".to_string(), Column::Categorical(Categorical {
                codes: cells.iter().map(|c| u32::from(*c)).collect(),
                categories: vec!["no".to_string(), "yes".to_string()],
                first_text: "`no`".to_string(),
            })),
            ("y".to_string(), Column::Numeric((0..n).map(|i| i as f64).collect())),
        ]);
        let p = compact(&t, Task::Regression, &all(&t));
        prop_assert_eq!(p.feature_names(), ["number", "text=yes"]);
        let x = p.features(&t, &all(&t)).unwrap().x;
        prop_assert!(x.chunks(2).all(|pair| pair[0] == pair[1]), "{:?}", x);
    }

    /// Every model input has one name and one column; training rows are inside their ranges;
    /// a restriction picks the inputs of its columns; files keep everything.
    #[test]
    fn any_columns_are_encoded(
        t in any_table(),
        classes in any::<bool>(),
        kept in prop::collection::vec(any::<bool>(), 6),
    ) {
        let task = if classes { Task::Multiclass { classes: 3 } } else { Task::Regression };
        let p = any_fit(&t, task);
        prop_assume!(p.is_some());
        let p = p.unwrap();
        let columns = p.feature_columns();
        prop_assert_eq!(p.feature_names().len(), p.d());
        prop_assert_eq!(columns.len(), p.d());
        let rows = all(&t);
        let x = p.features(&t, &rows).unwrap().x;
        prop_assert_eq!(x.len(), rows.len() * p.d());
        prop_assert!(p.outside_range(&t, &rows).unwrap().is_empty());

        let chosen: Vec<usize> = (0..p.inputs().len()).filter(|k| kept[*k]).collect();
        let few = p.restricted(&chosen);
        let picked: Vec<f32> = x
            .iter()
            .enumerate()
            .filter(|(i, _)| chosen.contains(&columns[i % p.d()]))
            .map(|(_, v)| *v)
            .collect();
        prop_assert_eq!(few.features(&t, &rows).unwrap().x, picked);

        for p in [p, few] {
            let json = serde_json::to_string(&p).unwrap();
            prop_assert_eq!(serde_json::from_str::<Preprocessing>(&json).unwrap(), p);
        }
    }

    /// Complete numbers are the same samples in both encodings.
    #[test]
    fn complete_numbers_do_not_depend_on_the_encoding(
        cells in prop::collection::vec((-1e3f64..1e3, -1e3f64..1e3), 3..40),
    ) {
        let (x, y): (Vec<f64>, Vec<f64>) = cells.into_iter().unzip();
        let t = Table::from_columns("t", vec![
            ("x".to_string(), Column::Numeric(x)),
            ("y".to_string(), Column::Numeric(y)),
        ]);
        let old = fit(&t, Task::Regression, &all(&t)).unwrap();
        let new = compact(&t, Task::Regression, &all(&t));
        let samples = |p: &Preprocessing| p.samples(&t, &all(&t)).unwrap();
        prop_assert_eq!(samples(&old), samples(&new));
    }
}
