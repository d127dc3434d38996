//! `loopfit witness precision` and `loopfit witness error` from outside.

mod common;
use common::Place;
use serde_json::Value;

fn rows<'a>(answer: &'a Value, groups: &str, reader: &str) -> Vec<&'a Value> {
    let rows = answer["rows"].as_array().unwrap().iter();
    rows.filter(|row| row["groups"] == groups && row["reader"] == reader)
        .collect()
}

/// Where every bit of the code counts: 2L + 3 with this target, whose last word ends in a zero,
/// as the gate 2 B_eval = 130 stands eight bits above the point; and more with the paper's reader.
#[test]
fn precision() {
    let place = Place::new();
    let answer = place.json("witness precision --to 2 --plot bits.svg");
    assert_eq!(answer["d"], 1);
    let dyadic = rows(&answer, "one", "dyadic");
    let works: Vec<_> = dyadic.iter().map(|row| row["works"].clone()).collect();
    assert_eq!(works, [15, 43]);
    assert_eq!(dyadic[1]["code_bits"], 40);
    assert_eq!(dyadic[1]["S"], 192);
    assert_eq!(
        (&dyadic[1]["f64"], &dyadic[1]["f32"]),
        (&"exact".into(), &"fails".into())
    );
    let paper = rows(&answer, "one", "paper");
    assert!(paper[1]["works"].as_u64() > Some(70));
    assert_eq!(paper[1]["exact"], Value::Null);
    assert_eq!(paper[1]["f64"], "fails");
    let tried = paper[1]["tried"].as_array().unwrap();
    assert!(
        tried.iter().any(|pair| pair[1] == "fails") && tried.iter().any(|pair| pair[1] == "works")
    );
    assert!(
        String::from_utf8(place.read("bits.svg"))
            .unwrap()
            .contains("dyadic reader")
    );
    let one_thread = place.json("witness precision --to 2 --threads 1");
    assert_eq!(one_thread, answer);
    let text = place.ok("witness precision --to 1 --groups one --reader dyadic");
    assert!(
        text.contains("works from") && text.contains("exact from"),
        "{text}"
    );
}

#[test]
fn errors_against_the_resolution() {
    let place = Place::new();
    let answer =
        place.json("witness error --smoothness 2,3 --from 3 --to 5 --points 64 --plot e.svg");
    for (series, s) in answer["series"].as_array().unwrap().iter().zip([2.0, 3.0]) {
        let slope = series["slope"].as_f64().unwrap();
        assert!((slope + s).abs() < 0.25, "{slope}");
        for row in series["rows"].as_array().unwrap() {
            let number = |value: &Value| value.as_f64().unwrap();
            assert!(number(&row["off"]["largest"]) <= number(&row["interior_bound"]));
            assert_eq!(row["off"]["points"], 64);
        }
    }
    assert!(
        String::from_utf8(place.read("e.svg"))
            .unwrap()
            .contains("L2 error, s = 3")
    );
    let text = place.ok("witness error --to 2 --points 8");
    assert!(text.contains("fitted slope"), "{text}");
}

#[test]
fn wrong_requests_are_refused() {
    let place = Place::new();
    place.refused(
        "witness error --from 20 --to 20",
        "this table would take about",
    );
    place.refused(
        "witness precision --groups one --from 12 --to 12",
        "take a smaller --to or fewer --cells",
    );
    place.refused(
        "witness precision --arch transformer --groups one --from 8 --to 8",
        "this table would take about",
    );
    let cases = [
        (
            "witness precision --from 3 --to 2",
            "--from 3 is above --to 2",
        ),
        ("witness precision --target x3 --dim 2", "x3"),
        ("witness precision --target 0*x1", "returns zero"),
        ("witness precision --target 2*x1", "beyond H = 1"),
        ("witness precision --plot bits.png", ".svg"),
        (
            "witness precision --dim 2 --from 12 --to 12",
            "between 1 and 11",
        ),
        ("witness precision --smoothness=-1", "s is -1"),
        ("witness error --bound 1/8", "beyond H = 1"),
        ("witness error --smoothness 1,x", "not a rational number"),
        ("witness error --target x1+ --bound 1", "cannot read"),
    ];
    for (command, sentence) in cases {
        let output = place.run(command);
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{command}: {error}");
        assert!(error.contains(sentence), "{command}: {error}");
    }
}
