mod compact;
mod file;

use proptest::prelude::*;

use super::*;
use crate::roles::Roles;
use crate::simulation::Simulation;
use crate::table::ReadOptions;

fn table(text: &str) -> Table {
    Table::from_reader("t.csv", text.as_bytes(), &ReadOptions::default()).unwrap()
}

fn fit(table: &Table, task: Task, rows: &[usize]) -> Result<Preprocessing, PreprocessError> {
    let target = (task != Task::Density).then_some("y");
    let roles = Roles::new(table, target, None, &[]).unwrap();
    Preprocessing::fit(table, &roles, task, rows, Scaling::Fitted)
}

/// A table of numbers, and how a regression on a column reads it, or a density of all of them.
pub(super) fn fitted_to_numbers(
    rows: &[f64],
    names: &[&str],
    target: Option<&str>,
) -> (Table, Preprocessing) {
    let table = Table::from_rows(rows, names).unwrap();
    let every: Vec<usize> = (0..table.rows()).collect();
    let roles = Roles::new(&table, target, None, &[]).unwrap();
    let task = target.map_or(Task::Density, |_| Task::Regression);
    let p = Preprocessing::fit(&table, &roles, task, &every, Scaling::Fitted).unwrap();
    (table, p)
}

const TRAIN: &str = "a,s,k,y\n1,u,7,10\n3,v,7,20\n5,u,7,30\n,,7,40\n100,w,8,1000\n";

/// Mean 3, SD 2, median 3 of column a; mean 25 of y: all from the first four rows.
#[test]
fn constants_come_from_the_training_rows_only() {
    let table = table(TRAIN);
    let p = fit(&table, Task::Regression, &[0, 1, 2, 3]).unwrap();
    assert_eq!(p.feature_names(), ["a", "s=u", "s=v"]);
    assert_eq!(p.d(), 3);
    assert_eq!(
        p.notes(),
        ["column `k` is left out: it is 7 in every training row"]
    );
    let f = p.features(&table, &[0, 1, 2, 3, 4]).unwrap();
    let expected = [
        [-1.0, 1.0, 0.0],
        [0.0, 0.0, 1.0],
        [1.0, 1.0, 0.0],
        [0.0, 0.0, 0.0],
        [48.5, 0.0, 0.0],
    ];
    assert_eq!(f.x, expected.concat());
    assert_eq!((f.missing, f.unknown, f.outside.len()), (2, 1, 0));
    assert_eq!(f.notes().len(), 2);
    // The sample SD of 10, 20, 30, 40 is sqrt(500 / 3).
    let y = p.targets(&table, &[0, 4]).unwrap();
    assert!((f64::from(y[0]) + 15.0 / (500.0f64 / 3.0).sqrt()).abs() < 1e-6);
    assert!((p.to_original(f64::from(y[1])) - 1000.0).abs() < 1e-3);
    let samples = p.samples(&table, &[2, 0]).unwrap();
    assert_eq!(samples.x(), [expected[2], expected[0]].concat());
}

#[test]
fn prediction_needs_the_inputs_only_and_in_any_order() {
    let p = fit(&table(TRAIN), Task::Regression, &[0, 1, 2]).unwrap();
    let new = table("extra,s,a\nq,v,3\nq,zzz,NA\n");
    let f = p.features(&new, &[1, 0]).unwrap();
    assert_eq!(f.x, [0.0, 0.0, 0.0, 0.0, 0.0, 1.0]);
    assert_eq!((f.missing, f.unknown), (1, 1));
}

#[test]
fn errors_at_prediction_name_the_column() {
    let p = fit(&table(TRAIN), Task::Regression, &[0, 1, 2]).unwrap();
    let error = |text| p.features(&table(text), &[0]).unwrap_err().to_string();
    assert_eq!(
        error("A,s\n1,u\n"),
        "`t.csv` has no column `a` (did you mean `A`?); its columns are A, s"
    );
    assert_eq!(
        error("a,s\nhigh,u\n"),
        "column `a` must hold numbers, but holds `high`, line 2"
    );
    assert_eq!(
        error("a,s\n1e300,u\n"),
        "column `a` holds 1e300 in row 1 below the header, too far from the training rows to scale"
    );
    let no_target = p.targets(&table("a,s\n1,u\n"), &[0]).unwrap_err();
    assert!(matches!(no_target, PreprocessError::Column(_)));
}

#[test]
fn classes_have_names_and_unknown_ones_are_refused() {
    let t = table("x,y\n1,low\n2,high\n3,mid\n4,low\n");
    let p = fit(&t, Task::Multiclass { classes: 3 }, &[0, 1, 3]).unwrap();
    assert_eq!(p.class_names(), ["high", "low", "mid"]);
    assert_eq!(p.targets(&t, &[0, 1, 2]).unwrap(), [1.0, 0.0, 2.0]);
    let error = p.targets(&table("x,y\n1,low\n1,none\n"), &[0, 1]);
    assert_eq!(
        error.unwrap_err().to_string(),
        "target `y` is `none` in row 2 below the header, which is none of the model's classes high, low, mid"
    );
    // Two numbers, scored on a file that writes them otherwise.
    let t = table("x,y\n1,0\n2,1\n");
    let p = fit(&t, Task::Binary, &[0, 1]).unwrap();
    let y = p.targets(&table("x,y\n1,1.0\n1,00\n"), &[0, 1]).unwrap();
    assert_eq!(y, [1.0, 0.0]);
}

#[test]
fn a_density_lives_on_the_widened_range() {
    let t = table("u,v\n0,10\n10,30\n5,20\n40,20\n");
    let p = fit(&t, Task::Density, &[0, 1, 2]).unwrap();
    let f = p.features(&t, &[0, 1, 2, 3]).unwrap();
    // Range [-0.5, 10.5] for u: 0 becomes 0.5 / 11.
    let edge = 0.5 / 11.0;
    let expected = [edge, edge, 1.0 - edge, 1.0 - edge, 0.5, 0.5, 1.0, 0.5];
    assert!(
        f.x.iter()
            .zip(expected)
            .all(|(a, b)| (f64::from(*a) - b).abs() < 1e-7)
    );
    assert_eq!(f.outside.len(), 1);
    assert!(p.targets(&t, &[0]).unwrap().is_empty());
    assert!((p.log_volume() - (11.0f64 * 22.0).ln()).abs() < 1e-12);
    let back = p.inputs_to_original(&f.x[2..4]);
    assert!((back[0] - 10.0).abs() < 1e-5 && (back[1] - 30.0).abs() < 1e-5);
}

#[test]
fn raw_inputs_stay_on_their_scale() {
    let draw = Simulation::Friedman1.draw(1, 50, 0, 0);
    let t = draw.train.to_table("sim");
    let roles = Roles::new(&t, Some("y"), None, &[]).unwrap();
    let rows: Vec<usize> = (0..50).collect();
    let p = Preprocessing::fit(&t, &roles, Task::Regression, &rows, Scaling::Raw).unwrap();
    let x: Vec<f32> = draw.train.x.iter().map(|v| *v as f32).collect();
    assert_eq!(p.features(&t, &rows).unwrap().x, x);

    let draw = Simulation::FourModes.draw(1, 50, 0, 0);
    let t = draw.train.to_table("sim");
    let roles = Roles::new(&t, None, None, &[]).unwrap();
    let p = Preprocessing::fit(&t, &roles, Task::Density, &rows, Scaling::Raw).unwrap();
    let x: Vec<f32> = draw.train.x.iter().map(|v| *v as f32).collect();
    assert_eq!(p.features(&t, &rows).unwrap().x, x);
    assert_eq!(p.log_volume(), 0.0);
}

#[test]
fn each_way_of_being_wrong_has_its_sentence() {
    let regression = |text: &str| {
        let t = table(text);
        let rows: Vec<usize> = (0..t.rows()).collect();
        fit(&t, Task::Regression, &rows).unwrap_err().to_string()
    };
    assert_eq!(
        regression("x,y\n1,2\n"),
        "preprocessing needs at least two training rows, not 1"
    );
    assert_eq!(
        regression("x,y\n1,2\n2,\n"),
        "target `y` has no value in row 2 below the header; remove such rows"
    );
    assert_eq!(
        regression("x,y\n1,2\n2,2\n"),
        "target `y` has zero variance in the training rows, so there is nothing to learn"
    );
    assert_eq!(
        regression("x,s,y\n1,a,2\n1,a,3\n"),
        "no usable input column is left: column `x` is left out: it is 1 in every training row; \
         column `s` is left out: it is `a` in every training row"
    );
    let names: String = (0..101).map(|i| format!("{i},n{i},{i}\n")).collect();
    let t = table(&format!("x,s,y\n{names}"));
    let rows: Vec<usize> = (0..101).collect();
    assert_eq!(
        fit(&t, Task::Regression, &rows).unwrap().notes(),
        [
            "column `x` numbers the rows: leave it out if it means nothing else",
            "column `s` is left out: it has 101 different texts, the first being `n0`, line 2"
        ]
    );
    let t = table("x,y\n1,a\n2,a\n3,b\n");
    assert_eq!(
        fit(&t, Task::Binary, &[0, 1]).unwrap_err().to_string(),
        "target `y` has only the class `a` in the training rows, so there is nothing to learn"
    );
    let t = table("x,s\n1,a\n2,b\n");
    assert_eq!(
        fit(&t, Task::Density, &[0, 1]).unwrap_err().to_string(),
        "a density needs numbers, but column `s` holds `a`, line 2; leave the column out"
    );
}

proptest! {
    /// Training features have mean 0 and sample SD 1, whatever the scale of the column.
    #[test]
    fn training_rows_are_standardised(
        values in prop::collection::vec(-1.0f64..1.0, 3..50),
        shift in -1e6f64..1e6,
        log_scale in -6f64..6.0,
    ) {
        prop_assume!(values.iter().any(|v| (v - values[0]).abs() > 1e-3));
        // The column must keep its spread beside its shift in 53 bits.
        prop_assume!(shift.abs() < 1e6 * 10f64.powf(log_scale));
        let values: Vec<f64> = values.iter().map(|v| shift + v * 10f64.powf(log_scale)).collect();
        let n = values.len();
        let t = Table::from_columns("t", vec![
            ("x".to_string(), Column::Numeric(values.clone())),
            ("y".to_string(), Column::Numeric((0..n).map(|i| i as f64).collect())),
        ]);
        let rows: Vec<usize> = (0..n).collect();
        let p = fit(&t, Task::Regression, &rows).unwrap();
        let x: Vec<f64> = p.features(&t, &rows).unwrap().x.iter().map(|v| f64::from(*v)).collect();
        let mean = x.iter().sum::<f64>() / n as f64;
        let variance = x.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / (n - 1) as f64;
        prop_assert!(mean.abs() < 1e-5 && (variance - 1.0).abs() < 1e-4, "{} {}", mean, variance);
    }
}

/// What missing cells count as, and which columns are categories; a table of numbers without holes needs no words.
#[test]
fn columns_are_described() {
    let t = table(TRAIN);
    let p = fit(&t, Task::Regression, &[0, 1, 2, 3]).unwrap();
    assert_eq!(
        p.describe(&t, &[0, 1, 2, 3]).unwrap(),
        [
            "categories: `s` (u, v)",
            "missing cells: 1 of `a` counts as its median 3; 1 of `s` counts as no category"
        ]
    );
    let plain = table("a,y\n1,2\n2,3\n4,5\n");
    let p = fit(&plain, Task::Regression, &[0, 1, 2]).unwrap();
    assert!(p.describe(&plain, &[0, 1, 2]).unwrap().is_empty());
}

/// Mean 3 and SD 2 of column a: a uniform law on 3 ± 2 sqrt 3 has them. Columns of categories and of densities have their own.
#[test]
fn intervals_have_the_moments_of_the_training_rows() {
    let table = table(TRAIN);
    let p = fit(&table, Task::Regression, &[0, 1, 2, 3]).unwrap();
    let (low, width) = p.inputs()[0].interval();
    assert!((low + width / 2.0 - 3.0).abs() < 1e-12);
    assert!((width * width / 12.0 - 4.0).abs() < 1e-12);
    assert_eq!(p.inputs()[1].interval(), (0.0, 1.0));
    assert_eq!(
        Preprocessing::unchanged(1).inputs()[0].interval(),
        (0.0, 1.0)
    );
    let unit = Input::Unit {
        name: "u".into(),
        low: -2.0,
        width: 5.0,
        median: 0.0,
        range: None,
    };
    assert_eq!(unit.interval(), (-2.0, 5.0));
}
