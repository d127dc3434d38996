//! The public data sets of the paper, from the folder named by `LOOPFIT_DATA`; without it
//! these tests have nothing to do and pass.

use std::path::PathBuf;

use loopfit_data::preprocess::{Preprocessing, Scaling};
use loopfit_data::roles::Roles;
use loopfit_data::split::{Groups, Splitter};
use loopfit_data::table::{ReadOptions, Table};
use loopfit_data::task::{Task, TaskKind};
use loopfit_numerics::stream::Stream;

/// One data set and what the paper (Table "Dimensions and parameter caps") says about it.
struct Case {
    file: &'static str,
    target: &'static str,
    left_out: &'static [&'static str],
    block: Option<usize>,
    asked: Option<TaskKind>,
    rows: usize,
    groups: usize,
    features: usize,
    task: Task,
}

const REGRESSION: Case = Case {
    file: "",
    target: "",
    left_out: &[],
    block: None,
    asked: None,
    rows: 0,
    groups: 0,
    features: 0,
    task: Task::Regression,
};

fn cases() -> Vec<Case> {
    vec![
        Case {
            file: "airfoil/airfoil_self_noise.dat",
            target: "c6",
            rows: 1503,
            groups: 1503,
            features: 5,
            ..REGRESSION
        },
        Case {
            file: "power-plant/Folds5x2_pp_sheet1.csv.gz",
            target: "PE",
            rows: 9568,
            groups: 9527,
            features: 4,
            ..REGRESSION
        },
        Case {
            file: "fish-toxicity/qsar_fish_toxicity.csv",
            target: "c7",
            rows: 908,
            groups: 775,
            features: 6,
            ..REGRESSION
        },
        Case {
            file: "white-wine/winequality-white.csv.gz",
            target: "quality",
            rows: 4898,
            groups: 3961,
            features: 11,
            ..REGRESSION
        },
        Case {
            file: "concrete/Concrete_Data.csv",
            target: "Concrete compressive strength(MPa, megapascals)",
            rows: 1030,
            groups: 996,
            features: 8,
            ..REGRESSION
        },
        Case {
            file: "california-housing/cal_housing.data.gz",
            target: "c9",
            rows: 20640,
            groups: 20640,
            features: 8,
            ..REGRESSION
        },
        Case {
            file: "abalone/abalone.data.gz",
            target: "c9",
            rows: 4177,
            groups: 4177,
            features: 10,
            ..REGRESSION
        },
        Case {
            file: "sgemm/sgemm_product.csv.gz",
            target: "Run1 (ms)",
            left_out: &["Run2 (ms)", "Run3 (ms)", "Run4 (ms)"],
            rows: 241_600,
            groups: 241_600,
            features: 14,
            ..REGRESSION
        },
        Case {
            file: "wall-robot/sensor_readings_24.data.gz",
            target: "c25",
            block: Some(60),
            rows: 5456,
            groups: 91,
            features: 24,
            task: Task::Multiclass { classes: 4 },
            ..REGRESSION
        },
        Case {
            file: "maternal-risk/Maternal Health Risk Data Set.csv",
            target: "RiskLevel",
            rows: 1014,
            groups: 416,
            features: 6,
            task: Task::Multiclass { classes: 3 },
            ..REGRESSION
        },
        // The time is a text here that identifies rows: without it 1301 sensor rows repeat, and
        // equal rows join some of the 85 blocks.
        Case {
            file: "room-occupancy/Occupancy_Estimation.csv.gz",
            target: "Room_Occupancy_Count",
            left_out: &["Date"],
            block: Some(120),
            asked: Some(TaskKind::Multiclass),
            rows: 10129,
            groups: 52,
            features: 16,
            task: Task::Multiclass { classes: 4 },
        },
        Case {
            file: "rt-iot/RT_IOT2022.csv.gz",
            target: "Attack_type",
            left_out: &["c1"],
            rows: 123_117,
            groups: 117_915,
            features: 93,
            task: Task::Multiclass { classes: 12 },
            ..REGRESSION
        },
    ]
}

#[test]
fn the_data_sets_have_the_stated_sizes_and_groups() {
    let Some(folder) = std::env::var_os("LOOPFIT_DATA").map(PathBuf::from) else {
        return;
    };
    for case in cases() {
        let path = folder.join(case.file);
        if !path.exists() {
            continue;
        }
        let file = case.file;
        let table = Table::read(&path, &ReadOptions::default()).unwrap();
        assert_eq!(table.rows(), case.rows, "{file}");
        let left_out: Vec<String> = case.left_out.iter().map(|s| s.to_string()).collect();
        let roles = Roles::new(&table, Some(case.target), None, &left_out).unwrap();
        let task = Task::decide(&table, Some(case.target), case.asked)
            .unwrap()
            .task;
        assert_eq!(task, case.task, "{file}");
        let groups = Groups::new(&table, &roles, case.block).unwrap();
        assert_eq!(groups.count(), case.groups, "{file}");
        let splitter = if task.is_classification() {
            Splitter::stratified(groups, &table, case.target).unwrap()
        } else {
            Splitter::new(groups)
        };
        let split = splitter.split(Stream::new(1), Stream::new(2)).unwrap();
        let p = Preprocessing::fit(&table, &roles, task, &split.train, Scaling::Fitted).unwrap();
        assert_eq!(p.d(), case.features, "{file}: {:?}", p.notes());
        for part in [&split.train, &split.valid, &split.test] {
            let samples = p.samples(&table, part).unwrap();
            assert_eq!(samples.n(), part.len());
        }
    }
}
