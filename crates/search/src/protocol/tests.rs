//! The default, wrong entries, and a file that fixes everything.

use super::*;
use std::sync::Arc;

/// The documented file is the default, entry by entry.
#[test]
fn the_default_is_the_documented_file() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../protocols/search.toml");
    assert_eq!(Protocol::read(&path).unwrap(), Protocol::default());
}

fn parse(text: &str) -> Result<Protocol, SearchError> {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), text).unwrap();
    Protocol::read(file.path())
}

#[test]
fn wrong_entries_are_named() {
    for (text, part) in [
        ("rate = 3", "unknown field `rate`"),
        (
            "[scoring]\nlearning_rate = [0.2, 0.1]",
            "scoring.learning_rate",
        ),
        ("[adam]\nlearning_rate = [0.0, 0.1]", "adam.learning_rate"),
        ("[decay]\nnone = 2.0", "decay.none"),
        ("[shapes]\ncount = 0", "shapes.count"),
        ("[[rungs]]\nfits = 3\nshare = 0.5", "rungs"),
        ("refit = maybe", "search protocol"),
    ] {
        let error = parse(text).unwrap_err().to_string();
        assert!(error.contains(part), "{text}: {error}");
        assert_eq!(error.lines().count(), 1, "{error}");
    }
    let missing = Protocol::read(Path::new("no/such/file.toml")).unwrap_err();
    assert!(missing.to_string().contains("no/such/file.toml"));
}

/// The paper's way: Adam with fixed rates, one path, no growth.
#[test]
fn a_file_can_fix_every_part() {
    let protocol = parse(
        "rungs = [{ fits = 24, share = 0.25 }, { fits = 24, share = 0.75 }]
         refit = true
         [shapes]
         loop = [[4, 11, 16]]
         [start]
         outgoing_multiplier = { factor = 0.05, power = 1.0 }
         [decay]
         none = 0.0
         strength = [3.0, 3.0]
         decoupled = true
         [batches]
         size = 256
         validate_every = 100
         [scoring]
         up_to = 0
         [adam]
         learning_rate = [0.003, 0.003]
         outgoing_rate = { factor = 1.0, power = 1.0 }",
    )
    .unwrap();
    let network = Network::ffn(2, 1, 4, 11, Tying::Loop { t: 16 }).unwrap();
    let draw = protocol.draw(0.5, Stream::new(1));
    let samples = |n: usize| {
        let y = vec![0.0; n];
        Arc::new(loopfit_data::Samples::new(2, vec![0.0; 2 * n], y).unwrap())
    };
    let problem = Problem {
        train: samples(300),
        valid: samples(100),
        likelihood: loopfit_likelihood::Likelihood::Bernoulli(loopfit_likelihood::Bernoulli),
        bounds: loopfit_model::Bounds::default(),
    };
    let stage = protocol.stage(&network, &problem, draw, 1000, Some(0.5));
    assert_eq!(
        stage,
        Stage {
            optimiser: Optimiser::Adam(Adam {
                outgoing_rate: 1.0 / 16.0,
                gradient_cap: 5.0
            }),
            learning_rate: 0.003,
            final_rate: 0.05,
            weight_decay: WeightDecay::Decoupled(0.01),
            batch: 256,
            updates: 1000,
            validate_every: 100,
        }
    );
    let budget = Budget::ffn(128, 2, 1).unwrap();
    let networks = protocol.shapes.networks(&budget, Method::Loop).unwrap();
    assert_eq!(networks, std::slice::from_ref(&network));
    let Start::Fresh {
        outgoing_multiplier,
    } = protocol.fresh(&network)
    else {
        panic!("a fresh start");
    };
    assert_eq!(outgoing_multiplier, 0.05 / 16.0);
}
