//! Results, models and reports of every way of fitting.

use super::{quick, run};
use loopfit_data::Simulation;
use loopfit_model::{Architecture, Method};
use loopfit_study::models::{Best, Models};
use loopfit_study::protocol::{Named, Study};
use loopfit_study::store::Store;
use loopfit_study::{Shard, report, results};

/// The same Transformer in a continuation, whose blocks grow, and in a shortlist.
#[test]
fn a_case_is_a_transformer_in_every_way_of_fitting() {
    let head = "
title = \"Transformers\"
seeds = { first = 1, count = 1 }
[[cases]]
name = \"bumps\"
data = \"sim:bumps\"
architecture = \"transformer\"
tokens = \"all\"
";
    // Table 1 by hand: d = 2, N = 4, q = 3 gives 94 + 7r, and 31 + 2(63 + 7r) with two blocks.
    let path = "
shapes = { single = 3, loop = [3, 4], untied = [3, 2] }
[continuation]
stages = [
    { train = 96, valid = 64, budget = 120, updates = 20, at = 120 },
    { train = 128, valid = 64, budget = 200, updates = 20, at = 200 },
]
";
    let shortlist = "
budget = 200
train = 96
valid = 64
[shortlist.single]
q = [3]
[shortlist.loop]
q = [3]
t = [4]
[shortlist.untied]
q = [3]
t = [2]
[shortlist.development]
seeds = { first = 9, count = 1 }
warm = 10
refine = 10
keep = 1
[shortlist.confirmation]
warm = 10
refine = 10
";
    let directory = tempfile::tempdir().unwrap();
    for (name, tail, expected) in [
        (
            "path",
            path,
            vec![
                (Method::Single, [3, 3, 1]),
                (Method::Loop, [3, 3, 4]),
                (Method::Untied, [3, 3, 1]),
                (Method::Single, [3, 15, 1]),
                (Method::Loop, [3, 15, 4]),
                (Method::Untied, [3, 3, 2]),
            ],
        ),
        (
            "shortlist",
            shortlist,
            vec![
                (Method::Single, [3, 15, 1]),
                (Method::Loop, [3, 15, 4]),
                (Method::Untied, [3, 3, 2]),
            ],
        ),
    ] {
        let study = Study::parse(name, &format!("{head}{tail}")).unwrap();
        let named = Named::new(name, study);
        let out = directory.path().join(name);
        run(&named, &out, Shard::WHOLE, 2).unwrap();
        let found = results::read(&Store::open(&out).unwrap(), &named).unwrap();
        let shapes: Vec<(Method, [usize; 3])> = found
            .points
            .iter()
            .flat_map(|point| point.methods())
            .map(|(method, entry)| {
                let network = entry.values[0].network.as_ref().unwrap();
                let all = Architecture::Transformer {
                    partition: vec![vec![0, 1]],
                };
                assert_eq!(*network.architecture(), all, "{name}");
                assert!(entry.values[0].value.is_finite());
                let t = network.tying().iterations();
                (method, [network.q(), network.r(), t])
            })
            .collect();
        assert_eq!(shapes, expected, "{name}");
    }
}

/// A model that was built again has the test error that the store says: on the same inputs of a simulation, the function itself is
/// the target.
fn has_its_error(best: &Best) {
    assert_eq!(best.model.contradiction(), None, "{}", best.title);
    let provenance = &best.model.provenance;
    let simulation = provenance.source.strip_prefix("sim:").unwrap();
    let simulation: Simulation = simulation.parse().unwrap();
    if simulation.is_density() {
        assert!(best.model.log_density_constant().unwrap().is_some());
        return;
    }
    let test = simulation.draw(provenance.seed, 0, 0, 32_768).test;
    let rows: Vec<usize> = (0..32_768).collect();
    let score = best.model.score(&test.to_table("test"), &rows).unwrap();
    assert_eq!(
        score.value.to_bits(),
        best.error.to_bits(),
        "{}",
        best.title
    );
}

/// Every kind of study has a report with its tables and figures, complete or not.
#[test]
fn reports_are_written_from_any_state() {
    let directory = tempfile::tempdir().unwrap();
    for name in [
        "cap-path",
        "iteration-path",
        "sample-size-path",
        "ebm",
        "beyond-simulations",
        "separation",
        "transformer-simulations",
    ] {
        let named = quick(name);
        let out = directory.path().join(name);
        {
            let store = Store::create(&out, Shard::WHOLE).unwrap();
            store.begin(&named).unwrap();
            let empty = report::report(&store, &named, &Models::default()).unwrap();
            assert!(empty.to_markdown("").contains("No replication"), "{name}");
        }
        run(&named, &out, Shard::WHOLE, 2).unwrap();
        let store = Store::open(&out).unwrap();
        let models = Models::read(&store, &named, None).unwrap();
        assert!(
            models.missing.is_empty() && !models.best.is_empty(),
            "{name}"
        );
        models.best.iter().for_each(has_its_error);
        let document = report::report(&store, &named, &models).unwrap();
        let text = document.to_markdown("");
        for best in &models.best {
            let link = format!("]({}.html): ", best.page);
            assert!(text.contains(&link), "{name}: {text}");
        }
        assert!(
            text.contains("CPU seconds") && text.contains("mean (SE)"),
            "{name}: {text}"
        );
        assert!(text.contains("SE is the standard error"), "{name}");
        // Loop is alone there, and the wins of one method mean nothing.
        assert_eq!(
            text.contains("| lowest"),
            name != "iteration-path",
            "{name}"
        );
        assert_eq!(
            text.contains("hollow diamonds"),
            text.contains("filled diamonds") && text.contains("Beside the paper"),
            "{name}"
        );
        assert_eq!(text.contains("presets T = 64"), name == "sample-size-path");
        assert!(
            !text.contains("NOT COMPLETE") && !text.contains("NaN"),
            "{name}: {text}"
        );
        assert!(!document.figures().is_empty(), "{name}");
        assert!(document.to_html().contains("</html>"));
        let found = results::read(&store, &named).unwrap();
        assert_eq!(found.tasks.0, found.tasks.1, "{name}");
        if ["cap-path", "beyond-simulations"].contains(&name) {
            assert!(text.contains("difference in SE"), "{name}");
        }
    }
}
