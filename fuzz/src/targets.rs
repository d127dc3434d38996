//! What is fuzzed: a reader and inputs that it reads.

use crate::{errands, records};
use flate2::{Compression, write::GzEncoder};
use loopfit_data::preprocess::{Encoding, Preprocessing, Scaling};
use loopfit_data::table::Limits;
use loopfit_data::{ReadOptions, Roles, Table, Task};
use loopfit_engine::{Control, Engine};
use loopfit_fitted::{FittedModel, Provenance};
use loopfit_holder::Differentiable;
use loopfit_likelihood::{Energy, Gaussian, Likelihood, Multiclass};
use loopfit_model::{Bounds, ModelFile, Network, Tying, init};
use loopfit_numerics::stream::Stream;
use loopfit_search::protocol::Protocol;
use loopfit_study::models::Models;
use loopfit_study::progress::Progress;
use loopfit_study::run::Prepared;
use loopfit_study::store::{self, Store};
use loopfit_study::{Shard, Study, builtin, report, results, status};
use loopfit_witness::expression::Expression;
use std::io::Write;
use std::path::Path;
use std::sync::OnceLock;
use tempfile::NamedTempFile;

/// A reader under test.
pub(crate) struct Target {
    pub(crate) name: &'static str,
    /// Valid inputs.
    pub(crate) seeds: fn() -> Vec<Vec<u8>>,
    /// Reads an input and uses what it holds; whether that was an input at all.
    pub(crate) read: fn(&[u8]) -> bool,
}

/// All of them.
pub(crate) const TARGETS: &[Target] = &[
    Target {
        name: "csv",
        seeds: tables,
        read: read_table,
    },
    Target {
        name: "protocol",
        seeds: protocols,
        read: read_protocol,
    },
    Target {
        name: "model",
        seeds: models,
        read: read_model,
    },
    Target {
        name: "expression",
        seeds: expressions,
        read: read_expression,
    },
    Target {
        name: "store",
        seeds: stores,
        read: read_store,
    },
    Target {
        name: "records",
        seeds: record_texts,
        read: read_records,
    },
    Target {
        name: "sent",
        seeds: errands::sent,
        read: errands::read_sent,
    },
    Target {
        name: "given",
        seeds: errands::given,
        read: errands::read_given,
    },
];

fn tables() -> Vec<Vec<u8>> {
    let numbers: String = (0..12)
        .map(|i| format!("{},{},{}\n", i, i * i % 7, f64::from(i) / 3.0))
        .collect();
    let texts = [
        format!("a,b,y\n{numbers}"),
        "x;kind;y\n0,5;red;1\n1,5;\"dark; blue\";2\n2,5;red;0\n;NA;1\n".to_string(),
        "# a comment\r\nid\tx\ty\r\n007\t1e3\t-2\r\n008\t\t3.5\r\n009\t7\t4\r\n".to_string(),
        "  p q   r\n 1  2 3\n4 5\t 6 \n7 8 9\n".to_string(),
        "\u{FEFF}name,share,y\n\"Ann \"\"A\"\"\nB\",1.2%,\"694,156\"\nBob,3%,\"1,200\"\n"
            .to_string(),
        "1|2|3\n4|5|6\n".to_string(),
    ];
    let mut seeds: Vec<Vec<u8>> = texts.map(String::into_bytes).to_vec();
    let mut packed = GzEncoder::new(Vec::new(), Compression::default());
    if packed.write_all(&seeds[0]).is_ok() {
        seeds.extend(packed.finish());
    }
    seeds
}

/// As `fit` does before anything is fitted: the last column is the target.
fn read_table(bytes: &[u8]) -> bool {
    let options = ReadOptions {
        limits: Limits {
            bytes: 1 << 20,
            ..Limits::default()
        },
        ..ReadOptions::default()
    };
    let Ok(table) = Table::from_reader("fuzz", bytes, &options) else {
        return false;
    };
    table.hash();
    let Some(target) = table.names().last().cloned() else {
        return true;
    };
    let table = table.with_values_of(&target);
    let rows: Vec<usize> = (0..table.rows()).collect();
    let roles = Roles::new(&table, Some(&target), None, &[]);
    let task = Task::decide(&table, Some(&target), None);
    if let (Ok(roles), Ok(decision)) = (roles, task) {
        for encoding in [Encoding::Compact, Encoding::Indicators] {
            let (task, scaling) = (decision.task, Scaling::Fitted);
            let fitted = Preprocessing::fit_encoded(&table, &roles, task, &rows, scaling, encoding);
            if let Ok(preprocessing) = fitted {
                let _ = preprocessing.samples(&table, &rows);
                let _ = preprocessing.outside_range(&table, &rows);
            }
        }
    }
    true
}

fn protocols() -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../protocols");
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .collect();
    files.sort();
    files.iter().flat_map(std::fs::read).collect()
}

/// A study's protocol or a search's.
fn read_protocol(bytes: &[u8]) -> bool {
    let study = std::str::from_utf8(bytes)
        .ok()
        .and_then(|text| Study::parse("fuzz", text).ok());
    if let Some(study) = &study {
        study.hash();
        let _ = study.clone().quick();
    }
    let search = in_file(bytes, |path| Protocol::read(path).is_ok());
    study.is_some() || search
}

fn models() -> Vec<Vec<u8>> {
    let table = Table::from_reader("t", &tables()[0][..], &ReadOptions::default());
    let Ok(table) = table else {
        return Vec::new();
    };
    let rows: Vec<usize> = (0..table.rows()).collect();
    let gaussian = Likelihood::Gaussian(Gaussian::squared_error());
    let kinds = [
        (Some(gaussian), Task::Regression),
        (
            Multiclass::new(4).ok().map(Likelihood::Multiclass),
            Task::Multiclass { classes: 4 },
        ),
        (
            Energy::training(2).ok().map(Likelihood::Energy),
            Task::Density,
        ),
    ];
    let model = |(likelihood, task): (Option<Likelihood>, Task)| {
        let likelihood = likelihood?;
        let (target, ignored) = match task {
            Task::Regression => (Some("y"), vec![]),
            Task::Density => (None, vec!["b".to_string()]),
            _ => (Some("b"), vec![]),
        };
        let roles = Roles::new(&table, target, None, &ignored).ok()?;
        let preprocessing = Preprocessing::fit_encoded(
            &table,
            &roles,
            task,
            &rows,
            Scaling::Fitted,
            Encoding::Compact,
        );
        let preprocessing = preprocessing.ok()?;
        let network = Network::ffn(
            preprocessing.d(),
            likelihood.outputs(),
            2,
            3,
            Tying::Loop { t: 3 },
        );
        let network = network.ok()?;
        let model = FittedModel {
            parameters: init::fresh(&network, 1.0, Stream::new(5)),
            bounds: Bounds::default(),
            likelihood,
            preprocessing,
            provenance: Provenance {
                budget: network.count(),
                ..Provenance::nothing()
            },
            assessment: None,
        };
        let file = NamedTempFile::new().ok()?;
        model.save(file.path()).ok()?;
        std::fs::read(file.path()).ok()
    };
    kinds.into_iter().filter_map(model).collect()
}

/// As `predict` does, where that takes no time.
fn read_model(bytes: &[u8]) -> bool {
    let Ok(file) = ModelFile::from_bytes(bytes) else {
        return false;
    };
    let network = file.parameters.network();
    let small = network.tying().iterations() * network.count() < 100_000;
    let Ok(model) = FittedModel::from_bytes("m", bytes) else {
        return false;
    };
    let table = Table::from_reader("t", &tables()[0][..], &ReadOptions::default());
    if let Ok(table) = table
        && small
    {
        let _ = model.predict(&table);
        let _ = model.outside_range(&table);
    }
    let _ = model.to_paper().to_canonical();
    true
}

fn expressions() -> Vec<Vec<u8>> {
    let texts = [
        "x1*(1-x2)/2",
        "sin(3*x1) + x2^2",
        "-x1^3/7 + exp(-x2)*log(1 + x3)",
        "sqrt(cosh(x1) - 0.25)*tanh(x2)/1.5",
        "((x1))",
    ];
    texts.map(|text| text.as_bytes().to_vec()).to_vec()
}

/// The value of a formula and of its first derivative, if it has few inputs.
fn read_expression(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    let Ok(expression) = Expression::parse(&text, None) else {
        return false;
    };
    let d = expression.d();
    if d <= 4 {
        let mut order = vec![0; d];
        expression.derivative(&order, &vec![0.3; d]);
        order[0] = 1;
        expression.derivative(&order, &vec![0.3; d]);
    }
    true
}

/// The smallest study that has everything, run once.
fn stores() -> Vec<Vec<u8>> {
    static STORE: OnceLock<Option<Vec<u8>>> = OnceLock::new();
    let make = || -> Option<Vec<u8>> {
        let directory = tempfile::tempdir().ok()?;
        let mut named = builtin::find("cap-path").ok()?.remove(0);
        named.study = named.study.quick();
        named.study.cases.truncate(1);
        let prepared = Prepared::new(&named, Shard::WHOLE, None).ok()?;
        let store = Store::create(directory.path(), Shard::WHOLE).ok()?;
        let (control, progress) = (Control::default(), Progress::default());
        let engine = Engine::new(0).ok()?;
        let entered = prepared.enter(&store, &engine).ok()?;
        entered.run(&control, &progress).ok()?;
        let path = store.path().to_path_buf();
        drop(store);
        std::fs::read(path).ok()
    };
    STORE.get_or_init(make).iter().cloned().collect()
}

/// As `study verify`, `status`, `export` and `report` do.
fn read_store(bytes: &[u8]) -> bool {
    in_file(bytes, use_store)
}

fn use_store(path: &Path) -> bool {
    let _ = store::verify(path);
    let Ok(store) = Store::open(path) else {
        return false;
    };
    let _ = status::status(&store);
    let exported = store::export(&store, &mut std::io::sink()).is_ok();
    for named in store.studies().into_iter().flatten() {
        let _ = results::read(&store, &named);
        let models = Models::read(&store, &named, None).unwrap_or_default();
        let _ = report::report(&store, &named, &models);
    }
    exported
}

/// The records of that study's store.
fn record_texts() -> Vec<Vec<u8>> {
    let mut texts = Vec::new();
    for store in stores() {
        in_file(&store, |path| {
            texts.extend(records::write(path));
            true
        });
    }
    texts
}

/// A store with these records.
fn read_records(text: &[u8]) -> bool {
    stores().iter().any(|store| {
        in_file(store, |path| {
            records::replace(path, text).is_ok() && use_store(path)
        })
    })
}

/// Does something with a file that holds these bytes.
fn in_file(bytes: &[u8], work: impl FnOnce(&Path) -> bool) -> bool {
    let file = NamedTempFile::new().and_then(|mut file| file.write_all(bytes).map(|()| file));
    file.is_ok_and(|file| work(file.path()))
}
