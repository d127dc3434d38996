//! The catalogue: raw formats from small files made here, and the real files from the folder
//! named by `LOOPFIT_DATA`; without it the tests of real files are ignored.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use loopfit_data::catalog::{self, CatalogError, DataSet, Loaded};
use loopfit_data::preprocess::{Preprocessing, Scaling};
use loopfit_data::roles::Roles;
use loopfit_data::split::Groups;
use loopfit_data::table::Column;
use loopfit_data::task::Task;
use loopfit_numerics::sum::{mean, sample_sd};

fn real_data() -> PathBuf {
    std::env::var_os("LOOPFIT_DATA").unwrap().into()
}

fn numbers<'a>(loaded: &'a Loaded, name: &str) -> &'a [f64] {
    match loaded.table.column(name) {
        Some(Column::Numeric(values)) => values,
        other => panic!("{name} is {other:?}"),
    }
}

/// Rows and groups of the data at hand. Rows and inputs are those of the paper's table, but
/// for SARCOS without its training file; groups were counted independently.
const REAL: &[(&str, usize, usize)] = &[
    ("airfoil", 1503, 1503),
    ("power-plant", 9568, 9527),
    ("fish-toxicity", 908, 775),
    ("white-wine", 4898, 3961),
    ("concrete", 1030, 996),
    ("california-housing", 20_640, 20_640),
    ("abalone", 4177, 4177),
    ("sgemm", 241_600, 241_600),
    ("sarcos", 7684, 7684),
    ("wall-robot", 5456, 91),
    ("maternal-risk", 1014, 416),
    ("rt-iot", 30_000, 29_706),
    ("room-occupancy", 10_129, 85),
];

#[test]
#[ignore = "needs the data sets of the paper in LOOPFIT_DATA"]
fn real_sets_have_the_sizes_of_the_paper() {
    let folder = real_data();
    assert_eq!(catalog::all().len(), REAL.len());
    for (set, (name, rows, groups)) in catalog::all().iter().zip(REAL) {
        assert_eq!(set.name, *name);
        let loaded = set.load(&folder).unwrap();
        let partial = usize::from(*rows != set.rows);
        assert_eq!(loaded.notes.len(), partial, "{:?}", loaded.notes);
        let table = &loaded.table;
        assert_eq!(table.rows(), *rows, "{name}");
        let roles = Roles::new(table, Some(set.target), None, &[]).unwrap();
        let task = Task::decide(table, Some(set.target), Some(set.task))
            .unwrap()
            .task;
        match set.classes {
            Some(classes) => assert_eq!(task, Task::Multiclass { classes }, "{name}"),
            None => assert_eq!(task, Task::Regression, "{name}"),
        }
        let found = Groups::new(table, &roles, set.block).unwrap();
        assert_eq!(found.count(), *groups, "{name}");
        let rows: Vec<usize> = (0..table.rows()).collect();
        let fitted = Preprocessing::fit(table, &roles, task, &rows, Scaling::Fitted).unwrap();
        assert_eq!(fitted.d(), set.features, "{name}: {:?}", fitted.notes());
    }
}

/// Means and standard deviations as they were computed from the raw files with numpy.
#[test]
#[ignore = "needs the data sets of the paper in LOOPFIT_DATA"]
fn real_targets_and_derived_features_have_the_stated_moments() {
    let folder = real_data();
    let load = |name: &str| DataSet::find(name).unwrap().load(&folder).unwrap();
    let near = |found: f64, stated: f64| {
        assert!(
            (found / stated - 1.0).abs() < 5e-6,
            "{found} is not {stated}"
        );
    };
    for (name, target, m, sd) in [
        ("airfoil", "sound_pressure", 124.836, 6.89866),
        ("power-plant", "PE", 454.365, 17.067),
        ("fish-toxicity", "LC50", 4.06443, 1.4557),
        ("white-wine", "quality", 5.87791, 0.885639),
        ("concrete", "strength", 35.8178, 16.7057),
        ("california-housing", "MedHouseVal", 2.06856, 1.15396),
        ("abalone", "Rings", 9.93368, 3.22417),
        ("sgemm", "mean_run_ms", 217.572, 368.75),
    ] {
        let loaded = load(name);
        let values = numbers(&loaded, target);
        near(mean(values), m);
        near(sample_sd(values), sd);
    }
    let california = load("california-housing");
    for (name, m) in [
        ("MedInc", 3.870671),
        ("HouseAge", 28.639486),
        ("AveRooms", 5.429000),
        ("AveBedrms", 1.096675),
        ("Population", 1425.476744),
        ("AveOccup", 3.070655),
        ("Latitude", 35.631861),
        ("Longitude", -119.569704),
    ] {
        near(mean(numbers(&california, name)), m);
    }
    let room = load("room-occupancy");
    near(mean(numbers(&room, "S1_Temp")), 25.454012);
    near(mean(numbers(&room, "S5_CO2")), 460.8604);
    let (sine, cosine) = (numbers(&room, "Time_sin"), numbers(&room, "Time_cos"));
    assert!(
        sine.iter()
            .zip(cosine)
            .all(|(s, c)| (s * s + c * c - 1.0).abs() < 1e-12)
    );
    let day = numbers(&room, "Day");
    assert_eq!((day[0], day[10_128]), (736_685.0, 736_705.0));
    let sarcos = load("sarcos");
    near(mean(&numbers(&sarcos, "tau1")[3235..]), 13.6921);
    near(sample_sd(&numbers(&sarcos, "tau1")[3235..]), 20.3536);
    assert_eq!(sarcos.official_test, None);
}

/// The sample of RT-IoT, as an independent program draws it from the same stream.
#[test]
#[ignore = "needs the data sets of the paper in LOOPFIT_DATA"]
fn the_sample_of_rt_iot_is_stratified() {
    let folder = real_data();
    let loaded = DataSet::find("rt-iot").unwrap().load(&folder).unwrap();
    let Some(Column::Categorical(classes)) = loaded.table.column("Attack_type") else {
        panic!("classes are texts");
    };
    let mut counts = vec![0; classes.categories.len()];
    for code in &classes.codes {
        counts[*code as usize] += 1;
    }
    let mut found: Vec<(&str, usize)> = classes
        .categories
        .iter()
        .map(String::as_str)
        .zip(counts)
        .collect();
    found.sort_unstable();
    assert_eq!(
        found,
        [
            ("ARP_poisioning", 1888),
            ("DDOS_Slowloris", 130),
            ("DOS_SYN_Hping", 23_066),
            ("MQTT_Publish", 1010),
            ("Metasploit_Brute_Force_SSH", 9),
            ("NMAP_FIN_SCAN", 7),
            ("NMAP_OS_DETECTION", 487),
            ("NMAP_TCP_scan", 244),
            ("NMAP_UDP_SCAN", 631),
            ("NMAP_XMAS_TREE_SCAN", 490),
            ("Thing_Speak", 1976),
            ("Wipro_bulb", 62),
        ]
    );
    // Ports of the first five sampled rows: 4, 10, 13, 19 and 23 of the file, from zero.
    assert_eq!(
        numbers(&loaded, "id.orig_p")[..5],
        [51087.0, 54153.0, 51495.0, 44927.0, 39989.0]
    );
}

fn write(folder: &Path, path: &str, content: &[u8]) {
    let path = folder.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, content).unwrap();
}

/// A folder with one file, loaded as a set; the file is not the published one, which is said.
fn made(set: &str, path: &str, content: &[u8]) -> Result<Loaded, CatalogError> {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), path, content);
    let loaded = DataSet::find(set).unwrap().load(folder.path())?;
    assert_eq!(loaded.notes.len(), 1, "{:?}", loaded.notes);
    assert!(loaded.notes[0].contains("checksum"));
    Ok(loaded)
}

#[test]
fn every_raw_format_is_read() {
    let tabs = b"800\t0\t0.3\t71.3\t0.002\t126.2\r\n1000\t0\t0.3\t71.3\t0.002\t125.2\r\n";
    let airfoil = made("airfoil", "airfoil/airfoil_self_noise.dat", tabs).unwrap();
    assert_eq!(numbers(&airfoil, "frequency"), [800.0, 1000.0]);
    assert_eq!(numbers(&airfoil, "sound_pressure"), [126.2, 125.2]);
    assert_eq!(airfoil.table.source(), "data:airfoil");

    let mark = "\u{FEFF}Age,SystolicBP,DiastolicBP,BS,BodyTemp,HeartRate,RiskLevel\r\n25,130,80,15,98,86,high risk\r\n";
    let path = "maternal-risk/Maternal Health Risk Data Set.csv";
    let maternal = made("maternal-risk", path, mark.as_bytes()).unwrap();
    assert_eq!(numbers(&maternal, "Age"), [25.0]);

    let semicolons = b"3.26;0.829;1.676;0;1;1.453;3.770\r\n2.189;0.58;0.863;0;0;1.348;3.115\r\n";
    let fish = made(
        "fish-toxicity",
        "fish-toxicity/qsar_fish_toxicity.csv",
        semicolons,
    )
    .unwrap();
    assert_eq!(numbers(&fish, "SM1_Dz(Z)"), [0.829, 0.58]);

    let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gz.write_all(b"M,0.4,0.3,0.1,0.5,0.2,0.1,0.1,15\nF,0.3,0.2,0.1,0.2,0.1,0.1,0.1,7\n")
        .unwrap();
    let abalone = made("abalone", "abalone/abalone.data.gz", &gz.finish().unwrap()).unwrap();
    assert_eq!(numbers(&abalone, "Rings"), [15.0, 7.0]);
    assert!(matches!(
        abalone.table.column("Sex"),
        Some(Column::Categorical(_))
    ));

    let runs = "MWG,NWG,KWG,MDIMC,NDIMC,MDIMA,NDIMB,KWI,VWM,VWN,STRM,STRN,SA,SB,Run1 (ms),Run2 (ms),Run3 (ms),Run4 (ms)\n16,16,16,8,8,8,8,2,1,1,0,0,0,0,1,2,3,6\n";
    let sgemm = made("sgemm", "sgemm/sgemm_product.csv", runs.as_bytes()).unwrap();
    assert_eq!(numbers(&sgemm, "mean_run_ms"), [3.0]);
    assert_eq!(sgemm.table.names().len(), 15);
}

#[test]
fn wrong_files_say_which_and_why() {
    let folder = tempfile::tempdir().unwrap();
    let error = |set: &str| {
        let set = DataSet::find(set).unwrap();
        set.load(folder.path()).unwrap_err().to_string()
    };
    let missing = error("airfoil");
    assert!(
        missing.contains("airfoil/airfoil_self_noise.dat"),
        "{missing}"
    );
    assert!(missing.contains("fetch data:airfoil into it"), "{missing}");
    write(
        folder.path(),
        "airfoil/airfoil_self_noise.dat",
        b"1\t2\n3\t4\n",
    );
    assert!(error("airfoil").contains("it has 2 columns, not 6"));
    write(
        folder.path(),
        "abalone/abalone.data.gz",
        &[0x1F, 0x8B, 8, 0, 0],
    );
    assert!(error("abalone").contains("cannot be read"));
    write(
        folder.path(),
        "sarcos/sarcos_inv_test.mat",
        b"<html>404</html>",
    );
    assert!(error("sarcos").contains("no header of a MATLAB level 5 file"));
    let names: Vec<String> = (0..19).map(|i| format!("c{i}")).collect();
    let room = format!(
        "{}\n2017-12-22,10:00:00{}\n",
        names.join(","),
        ",1".repeat(17)
    );
    write(
        folder.path(),
        "room-occupancy/Occupancy_Estimation.csv",
        room.as_bytes(),
    );
    assert!(error("room-occupancy").contains("`2017-12-22` in row 1"));
    let homes = b"a,1,1,1,1,1,1,1,1\n1,1,1,1,1,1,1,1,1\n";
    write(folder.path(), "california-housing/cal_housing.data", homes);
    assert!(error("california-housing").contains("column `Longitude` holds `a`"));
    let unknown = DataSet::find("boston").unwrap_err().to_string();
    assert!(
        unknown.contains("`boston`") && unknown.contains("room-occupancy"),
        "{unknown}"
    );
}

/// An uncompressed MATLAB file of a matrix given by rows.
fn mat(rows: &[Vec<f64>]) -> Vec<u8> {
    let element = |kind: u32, contents: &[u8]| {
        let mut bytes = kind.to_le_bytes().to_vec();
        bytes.extend((contents.len() as u32).to_le_bytes());
        bytes.extend(contents);
        bytes.resize(bytes.len().next_multiple_of(8), 0);
        bytes
    };
    let size = [rows.len() as i32, rows[0].len() as i32];
    let mut parts = element(6, &[6, 0, 0, 0, 0, 0, 0, 0]);
    parts.extend(element(5, &size.map(i32::to_le_bytes).concat()));
    parts.extend(element(1, b"sarcos_inv"));
    let columns = (0..rows[0].len()).flat_map(|j| rows.iter().map(move |row| row[j]));
    parts.extend(element(
        9,
        &columns.flat_map(f64::to_le_bytes).collect::<Vec<u8>>(),
    ));
    let mut file = b"MATLAB 5.0 MAT-file".to_vec();
    file.resize(124, b' ');
    file.extend([0, 1, b'I', b'M']);
    file.extend(element(14, &parts));
    file
}

#[test]
fn sarcos_with_its_training_file_has_official_test_rows() {
    let folder = tempfile::tempdir().unwrap();
    let sarcos = DataSet::find("sarcos").unwrap();
    let row = |i: usize| (0..28).map(|j| (100 * i + j) as f64).collect::<Vec<f64>>();
    let training: Vec<Vec<f64>> = (0..10).map(row).collect();
    write(folder.path(), "sarcos/sarcos_inv.mat", &mat(&training));
    write(
        folder.path(),
        "sarcos/sarcos_inv_test.mat",
        &mat(&[row(0), row(5), row(77)]),
    );
    let loaded = sarcos.load(folder.path()).unwrap();
    assert_eq!(loaded.official_test, Some(vec![10, 11, 12]));
    assert_eq!(loaded.table.names().len(), 22);
    assert_eq!(numbers(&loaded, "q2")[..2], [1.0, 101.0]);
    assert_eq!(numbers(&loaded, "tau1")[10..], [21.0, 521.0, 7721.0]);
    let roles = Roles::new(&loaded.table, Some("tau1"), None, &[]).unwrap();
    assert_eq!(
        Groups::new(&loaded.table, &roles, None).unwrap().count(),
        11
    );
    fs::remove_file(folder.path().join("sarcos/sarcos_inv.mat")).unwrap();
    let missing = sarcos.load(folder.path()).unwrap_err().to_string();
    assert!(missing.contains("sarcos/sarcos_inv.mat"), "{missing}");
}
