use super::*;
use crate::table::ReadOptions;

fn table(cells: &[&str]) -> Table {
    let text = format!(
        "y,x\n{}",
        cells.iter().map(|c| format!("{c},1\n")).collect::<String>()
    );
    Table::from_reader("t.csv", text.as_bytes(), &ReadOptions::default()).unwrap()
}

fn decide(cells: &[&str], asked: Option<TaskKind>) -> Result<Decision, TaskError> {
    Task::decide(&table(cells), Some("y"), asked)
}

#[test]
fn tasks_are_inferred_with_a_reason() {
    let grades: Vec<&str> = ["3", "4", "5"].into_iter().cycle().take(100).collect();
    let cases: &[(&[&str], Task, &str)] = &[
        (
            &["no", "yes", "no"],
            Task::Binary,
            "Binary classification of `y`: it has two different values, `no` (class 0) and `yes` (class 1).",
        ),
        (
            &["1", "0", "1.0"],
            Task::Binary,
            "Binary classification of `y`: it has two different values, `0` (class 0) and `1` (class 1).",
        ),
        (
            &["c", "a", "b"],
            Task::Multiclass { classes: 3 },
            "Classification into 3 classes of `y`: it holds texts (a, b, c).",
        ),
        (
            &["1.5", "2", "3"],
            Task::Regression,
            "Regression on `y`: it holds 3 different numbers.",
        ),
        (
            &grades,
            Task::Regression,
            "Regression on `y`: it holds 3 different whole numbers, whose order counts; ask for multiclass to treat them as classes.",
        ),
    ];
    for (cells, task, because) in cases {
        let decision = decide(cells, None).unwrap();
        assert_eq!(decision.task, *task);
        assert_eq!(decision.because, *because);
    }
}

#[test]
fn the_asked_task_wins_where_it_is_possible() {
    let grades = ["3", "4", "5", "4"];
    let task = |asked| decide(&grades, Some(asked)).map(|d| d.task);
    assert_eq!(
        task(TaskKind::Multiclass),
        Ok(Task::Multiclass { classes: 3 })
    );
    assert_eq!(task(TaskKind::Regression), Ok(Task::Regression));
    let two = decide(&["0", "1"], Some(TaskKind::Regression)).unwrap();
    assert_eq!(two.task, Task::Regression);
    let density = Task::decide(&table(&grades), None, Some(TaskKind::Density)).unwrap();
    assert_eq!(density.task, Task::Density);
}

#[test]
fn each_way_of_being_wrong_has_its_sentence() {
    let many: Vec<String> = (0..300).map(|i| format!("name{i}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let t = table(&["1", "2", "3"]);
    let cases = [
        (
            Task::decide(&t, None, None),
            "no target column is given; name one, or ask for the density of all columns",
        ),
        (
            Task::decide(&t, Some("y"), Some(TaskKind::Density)),
            "a density has no target, but `y` is given; leave one of the two out",
        ),
        (
            Task::decide(&t, Some("Y"), None),
            "`t.csv` has no column `Y` (did you mean `y`?); its columns are y, x",
        ),
        (
            decide(&["1", "NaN", "3"], None),
            "target `y` has no value in row 2 below the header; remove such rows",
        ),
        (
            decide(&["", "NA", "?"], None),
            "target `y` has no values: its cells are empty in all rows; name another column, or fill it",
        ),
        (
            decide(&["a", "a"], None),
            "target `y` is `a` in every row, so there is nothing to learn",
        ),
        (
            decide(&["1", "2", "oops"], Some(TaskKind::Regression)),
            "regression needs numbers, but target `y` holds `oops`, line 4",
        ),
        (
            decide(&["1", "2", "3"], Some(TaskKind::Binary)),
            "a binary target has two different values, but `y` has 3",
        ),
        (
            decide(&many, None),
            "target `y` has 300 different values, more than the 256 classes possible; the first text is `name0`, line 2",
        ),
    ];
    for (got, expected) in cases {
        assert_eq!(got.unwrap_err().to_string(), expected);
    }
    assert_eq!(
        "ranking".parse::<TaskKind>().unwrap_err().to_string(),
        "there is no task `ranking`; the known ones are regression, binary, multiclass, density"
    );
}
