use super::*;
use crate::builtin;

const SMALL: &str = r#"
title = "Small"
seeds = { first = 1, count = 2 }
[[cases]]
name = "bumps"
data = "sim:bumps"
budget = 64
train = 64
valid = 32
[search]
updates = 320
"#;

fn wrong(change: impl FnOnce(&str) -> String) -> String {
    Study::parse("small.toml", &change(SMALL))
        .unwrap_err()
        .to_string()
}

/// A frozen protocol does not change unnoticed: whoever changes one changes its line here.
#[test]
fn built_in_protocols_are_frozen() {
    let hashes: Vec<String> = builtin::names()
        .into_iter()
        .map(|name| {
            let named = builtin::find(name).unwrap().remove(0);
            format!("{name} {}", &named.study.hash()[..12])
        })
        .collect();
    assert_eq!(hashes.join("\n"), FROZEN.trim());
}

const FROZEN: &str = "
cap-path 4913ce914405
iteration-path 562c28a2232d
sample-size-path 6986f871a880
ebm 56f85c50e7c1
real-regression 051bea251e90
real-classification f18b58b93722
beyond-simulations 2dfeffa6fb81
beyond-ebm 8ac71c85e73c
beyond-real 521a58c59cc8
separation 26c476a6a316
transformer-simulations 0576967a4344
schedule-fixed d6e74832407e
schedule-growing 62d52ee9bea5
schedule-simulations 77ac2b685217
schedule-effort ab1670396e64
iteration-controls 6b5b6065fce4
bump-dimension-cap 9031913f738f
bump-dimension-iterations 0c24c222938b
cap-choice ecd3dd8d8f16
sieve-effort d59d8af19897
sieve-witness 4c0cfd71b717
";

#[test]
fn every_built_in_study_has_a_quick_size_that_makes_sense() {
    for name in builtin::names() {
        let named = builtin::find(name).unwrap().remove(0);
        let quick = named.study.clone().quick();
        assert_eq!(quick.check(), Ok(()), "{name}");
        assert!(!quick.cases.is_empty(), "{name}");
        assert_ne!(quick.hash(), named.study.hash());
        // The same way of fitting, much less of it.
        let work = |s: &Study| crate::run::total(s);
        assert!(
            work(&quick).updates * 50 < work(&named.study).updates,
            "{name}"
        );
    }
    for (group, members) in builtin::groups() {
        assert_eq!(builtin::find(group).unwrap().len(), members.len());
    }
    assert!(
        builtin::find("papers")
            .unwrap_err()
            .to_string()
            .contains("cap-path")
    );
}

const SCHEDULE: &str = r#"
title = "Small"
seeds = { first = 1, count = 1 }
[[cases]]
name = "fixed"
curve = "class"
data = "sim:packing:dim=1,smoothness=1,bound=40,noise=0.5"
budget = 64
follow = { smoothness = 1, constant = 0.1, q = 2, cells = 1.5, vertex = 0.6 }
[[cases]]
name = "growing"
data = "sim:series:smoothness=1,signs=equal"
follow = { smoothness = 1, constant = 1, growth = { gamma = 0.1, cap = 24, state = 0.3 } }
[schedule]
sizes = [256, 4096]
updates = 320
folds = 2
lepski = 0.01
"#;

/// By hand, with a = 2: n^(1/3) log(en)^(2/3) is 22.218 at n = 256 and 70.848 at n = 4096, of which c = 0.1 makes 3 and 8; 1.5 cells
/// become 1.5 * 16^(1/3) = 3.78. Under 64 numbers a loop with d = 1 and q = 2 has 5 r + 9 of them. With gamma = 0.1 the cap is
/// 24 * 4096^0.1 = 55.1, q = 0.3 * 9.318 = 2.8, 7 r + 13 numbers; l = log(2 * 4 * 7), W = (4096 * 9.318^2 / (3 l))^(1/3) = 30.88.
#[test]
fn schedules_by_hand() {
    let study = Study::parse("schedule", SCHEDULE).unwrap();
    let case = |name: &str| study.cases.iter().find(|c| c.name == name).unwrap();
    let follow = |name: &str| case(name).follow.clone().unwrap();
    assert_eq!(study.cases.len(), 4);
    assert_eq!(follow("fixed-n256").shape, Some([2, 11, 3]));
    assert_eq!(follow("fixed-n4096").shape, Some([2, 11, 8]));
    assert_eq!(follow("fixed-n4096").first, Some(3));
    assert_eq!(case("fixed-n4096").at, Some(4096.0));
    assert_eq!(
        (case("fixed-n4096").train, case("fixed-n4096").budget),
        (Some(4096), Some(64))
    );
    // Of two cells there are four functions, of four sixteen, of which 0.6 is the third and the tenth.
    assert!(case("fixed-n256").data.ends_with(",member=2"));
    assert!(case("fixed-n4096").data.ends_with(",member=9"));
    assert_eq!(case("growing-n4096").budget, Some(56));
    assert_eq!(follow("growing-n4096").shape, Some([3, 6, 6]));
    assert_eq!(case("growing-n4096").curve.as_deref(), Some("growing"));
    assert_eq!(follow("fixed-n256").exponent(1), 2.0 / 3.0);
    // What was written out stays.
    assert_eq!(Study::parse("again", &study.to_toml()).unwrap(), study);
}

#[test]
fn wrong_schedules_are_refused_in_one_sentence() {
    for (from, to, says) in [
        ("q = 2, ", "", "either budget"),
        ("budget = 64", "", "either budget"),
        (
            "budget = 64",
            "budget = 64\ntrain = 64",
            "come from schedule.sizes",
        ),
        ("budget = 64", "budget = 8", "q = 2"),
        ("cells = 1.5, ", "", "belong together"),
        ("vertex = 0.6", "vertex = 2", "part of one"),
        (
            "smoothness = 1, constant = 0.1",
            "smoothness = 2, constant = 0.1",
            "not the packing's",
        ),
        ("constant = 0.1", "constant = -1", "positive"),
        ("constant = 0.1", "constant = 1e9", "too many iterations"),
        ("sizes = [256, 4096]", "sizes = []", "ascending"),
        ("sizes = [256, 4096]", "sizes = [4096, 256]", "ascending"),
        ("folds = 2", "folds = 1", "from 2 to 20"),
        ("lepski = 0.01", "lepski = 0", "positive"),
        ("gamma = 0.1", "gamma = -0.1", "gamma_B"),
        ("seeds = {", "baselines = true\nseeds = {", "of its own"),
        (
            "seeds = {",
            "methods = [\"loop\"]\nseeds = {",
            "all methods",
        ),
        (
            "sim:series:smoothness=1,signs=equal",
            "data.csv",
            "needs a simulation",
        ),
        (
            "follow = { smoothness = 1, constant = 1, growth = { gamma = 0.1, cap = 24, state = 0.3 } }",
            "",
            "needs follow",
        ),
    ] {
        assert!(SCHEDULE.contains(from), "{from}");
        let error = Study::parse("small.toml", &SCHEDULE.replace(from, to)).unwrap_err();
        assert!(error.to_string().contains(says), "{from} -> {to}: {error}");
    }
    let follow = SMALL.replace(
        "budget = 64",
        "budget = 64\nfollow = { smoothness = 1, constant = 1 }",
    );
    let error = Study::parse("small.toml", &follow).unwrap_err().to_string();
    assert!(error.contains("[schedule]"), "{error}");
}

#[test]
fn a_protocol_survives_json_and_comments_do_not_count() {
    let study = Study::parse("a", SMALL).unwrap();
    assert_eq!(
        Study::from_json(&study.to_json(), &study.hash()).unwrap(),
        study
    );
    assert_eq!(Study::parse("toml", &study.to_toml()).unwrap(), study);
    for name in builtin::names() {
        let study = builtin::find(name).unwrap().remove(0).study.quick();
        assert_eq!(Study::parse(name, &study.to_toml()).unwrap(), study);
    }
    let commented = format!("# a comment\n{SMALL}");
    assert_eq!(Study::parse("b", &commented).unwrap().hash(), study.hash());
    let other = SMALL.replace("count = 2", "count = 3");
    assert_ne!(Study::parse("c", &other).unwrap().hash(), study.hash());
}

#[test]
fn wrong_protocols_are_refused_in_one_sentence() {
    for (change, says) in [
        (("seeds = {", "sedes = {"), "line 3"),
        (("count = 2", "count = 0"), "seeds must be 1 to 1000"),
        (("name = \"bumps\"", "name = \"a b\""), "letters, digits"),
        (("budget = 64", ""), "needs a cap"),
        (("train = 64", ""), "needs train"),
        (("updates = 320", "updates = 3"), "at least 32"),
        (
            ("updates = 320", "updates = 2000000000"),
            "at most 1000000000",
        ),
        (
            (
                "title = \"Small\"",
                "title = \"Small\"\npublished = \"nix\"",
            ),
            "simulations",
        ),
        (
            ("[search]", "[quick]\ncases = [\"humps\"]\n[search]"),
            "`humps`",
        ),
        (("[search]", "[quick]\nat = [7.0]\n[search]"), "names 7"),
        (("[search]", "[continuation]"), "line"),
        (
            ("budget = 64", "budget = 64\narchitecture = \"cnn\""),
            "case `bumps`: `cnn` is not an architecture: write ffn or transformer",
        ),
        (
            ("budget = 64", "budget = 64\ntokens = \"all\""),
            "case `bumps`: tokens are for the Transformer",
        ),
        (
            (
                "budget = 64",
                "architecture = \"transformer\"\ntokens = \"0;1\"",
            ),
            "line 8: `0;1`",
        ),
        (
            ("data = \"sim:bumps\"", "data = \"x.csv\""),
            "for simulations",
        ),
        (("[search]\nupdates = 320", ""), "exactly one of"),
    ] {
        let message = wrong(|text| text.replace(change.0, change.1));
        assert!(message.contains(says), "{change:?}: {message}");
        assert!(!message.contains('\n'), "{message}");
    }
    let two = wrong(|text| format!("{text}\n[continuation]\nstages = []\n"));
    assert!(two.contains("exactly one"), "{two}");
    let path = builtin::text("cap-path").unwrap();
    let with = path.replacen("seeds =", "baselines = true\nseeds =", 1);
    let error = Study::parse("path", &with).unwrap_err().to_string();
    assert!(
        error.contains("baselines are for one training size"),
        "{error}"
    );
}

#[test]
fn a_case_names_its_architecture() {
    use loopfit_model::{ArchitectureChoice, Tokens};
    let parse = |added: &str| {
        let text = SMALL.replace("budget = 64", &format!("budget = 64\n{added}"));
        Study::parse("small.toml", &text).unwrap()
    };
    let plain = parse("");
    assert_eq!(plain.cases[0].architecture(), Ok(ArchitectureChoice::Ffn));
    for (added, tokens) in [
        ("architecture = \"transformer\"", Tokens::Default),
        (
            "architecture = \"transformer\"\ntokens = \"1,0\"",
            Tokens::Given(vec![vec![1, 0]]),
        ),
    ] {
        let study = parse(added);
        let expected = ArchitectureChoice::Transformer(tokens);
        assert_eq!(study.cases[0].architecture(), Ok(expected));
        assert_eq!(
            Study::from_json(&study.to_json(), &study.hash()).unwrap(),
            study
        );
        assert_ne!(study.hash(), plain.hash());
    }
}

#[test]
fn development_and_confirmation_share_no_seed() {
    let text = builtin::text("ebm").unwrap();
    let shared = text.replace("first = 9000, count = 3", "first = 9099, count = 3");
    let message = Study::parse("ebm", &shared).unwrap_err().to_string();
    assert!(message.contains("must not share a seed"), "{message}");
}

/// Development errors of a table would be those of its test rows.
#[test]
fn a_screen_is_for_simulations_and_its_own_settings() {
    let text = builtin::text("ebm").unwrap();
    let message = |text: String| Study::parse("ebm", &text).unwrap_err().to_string();
    let table = message(text.replace("sim:four-modes", "data:airfoil"));
    assert!(table.contains("for simulations"), "{table}");
    let also = message(text.replace("also = [160, 2048]", "also = [160, 2000]"));
    assert!(also.contains("also"), "{also}");
}

#[test]
fn a_screen_crosses_caps_and_sizes() {
    let ebm = builtin::find("ebm").unwrap().remove(0).study;
    assert_eq!(ebm.cases.len(), 12);
    let case = ebm.cases.iter().find(|c| c.name == "B160-n2048").unwrap();
    assert_eq!(
        (case.budget, case.train, case.valid),
        (Some(160), Some(2048), Some(2048))
    );
}

/// The shapes of the cap-128 stage are those that the paper froze, with its counts.
#[test]
fn paths_have_the_published_shapes() {
    use crate::published::Published;
    for (study, file) in [
        ("cap-path", "simulations"),
        ("sample-size-path", "simulations"),
        ("iteration-path", "iterations"),
    ] {
        let named = builtin::find(study).unwrap().remove(0);
        for row in Published::find(file).unwrap().configurations {
            if row.study != study {
                continue;
            }
            let case = named
                .study
                .cases
                .iter()
                .find(|c| c.data == row.data)
                .unwrap();
            for (method, printed) in [
                (Method::Single, row.single),
                (Method::Loop, row.looped),
                (Method::Untied, row.untied),
            ] {
                let Some([q, _, t, _]) = printed else {
                    continue;
                };
                let (own_q, own_t) = case.path_shape(method).unwrap();
                assert_eq!(own_q, q, "{study} {} {method}", row.data);
                assert!(t == 0 || own_t == t, "{study} {} {method}", row.data);
            }
        }
    }
}

/// Caps, sizes, iteration counts and the sum of updates along a path are those of the paper.
#[test]
fn paths_have_the_published_sizes() {
    use crate::published::Published;
    let paths = Published::find("simulations").unwrap().paths;
    assert_eq!(paths.len(), 3);
    for path in paths {
        let named = builtin::find(&path.study).unwrap().remove(0);
        let stages = named.study.way.stages();
        let shown: Vec<&PathStage> = stages.iter().filter(|s| s.at.is_some()).collect();
        let distinct = |value: &dyn Fn(&PathStage) -> usize| {
            let mut values: Vec<usize> = shown.iter().map(|s| value(s)).collect();
            values.dedup();
            values
        };
        assert_eq!(distinct(&|s| s.budget), path.budgets, "{}", path.study);
        assert_eq!(distinct(&|s| s.train), path.train, "{}", path.study);
        assert_eq!(distinct(&|s| s.valid), path.valid, "{}", path.study);
        let looped = named.study.cases[0].path_shape(Method::Loop).unwrap().1;
        assert_eq!(
            distinct(&|s| s.iterations.unwrap_or(looped)),
            path.iterations
        );
        let updates: usize = stages.iter().map(|s| s.updates).sum();
        assert_eq!(updates, path.updates, "{}", path.study);
    }
}

/// A name with its ending is a file's name, which most systems limit to 255 bytes.
#[test]
fn names_are_limited_in_bytes() {
    use super::check_name;
    assert!(check_name(&"a".repeat(100)).is_ok());
    assert!(check_name(&"a".repeat(101)).is_err());
    assert!(check_name(&"\u{20000}".repeat(25)).is_ok());
    assert!(check_name(&"\u{20000}".repeat(26)).is_err());
}

/// A correction is of what a built-in study says, not of the same words in a study of someone else.
#[test]
fn only_built_in_studies_are_corrected() {
    let (mut corrected, mut quick) = (0, 0);
    for name in builtin::names() {
        let mut named = builtin::find(name).unwrap().remove(0);
        corrected += builtin::corrections(&named).len();
        named.study = named.study.quick();
        quick += builtin::corrections(&named).len();
        named.study.title = "Another".to_string();
        assert!(builtin::corrections(&named).is_empty(), "{name}");
        let own = Named::new("own", builtin::find(name).unwrap().remove(0).study);
        assert!(builtin::corrections(&own).is_empty(), "{name}");
    }
    // A quick study has a question of its own, and the same caveats.
    assert!(corrected >= 3 && quick >= 1, "{corrected} {quick}");
}
