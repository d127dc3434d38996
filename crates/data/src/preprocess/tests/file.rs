//! What model files may say, and what not.

use serde_json::{Value, json};

use super::*;

/// What this version writes of [`Encoding::Indicators`]; earlier ones wrote it without [`RANGE`].
const INDICATORS: &str = r#"{"task":"regression","inputs":[{"numeric":{"name":"a","mean":3.0,"sd":2.0,"median":3.0,"range":[1.0,5.0]}},{"categorical":{"name":"s","categories":["u","v"]}}],"target":{"response":{"name":"y","mean":20.0,"sd":10.0}},"notes":["column `k` is left out: it is 7 in every training row"]}"#;

const RANGE: &str = r#","range":[1.0,5.0]"#;

const DENSITY: &str = r#"{"task":"density","inputs":[{"unit":{"name":"a","low":0.8,"width":4.4,"median":3.0}}],"target":null,"notes":[]}"#;

fn compact() -> Preprocessing {
    let mut text = "a,s,t,y\n".to_string();
    for i in 0..20 {
        let missing = i < 6;
        let a = if missing { "" } else { ["1", "5"][i % 2] };
        let s = if i < 7 { "" } else { ["f", "m"][i % 2] };
        let t = if i < 8 { "" } else { ["k", "l", "m"][i % 3] };
        text.push_str(&format!(
            "{a},{s},{t},{}\n",
            i % 3 + if missing { 50 } else { 0 }
        ));
    }
    let t = table(&text);
    let roles = Roles::new(&t, Some("y"), None, &[]).unwrap();
    let rows: Vec<usize> = (0..t.rows()).collect();
    let (task, scaling) = (Task::Regression, Scaling::Fitted);
    Preprocessing::fit_encoded(&t, &roles, task, &rows, scaling, Encoding::Compact).unwrap()
}

#[test]
fn indicators_are_written_as_ever() {
    let p = fit(&table(TRAIN), Task::Regression, &[0, 1, 2]).unwrap();
    assert_eq!(serde_json::to_string(&p).unwrap(), INDICATORS);
    assert_eq!(
        serde_json::from_str::<Preprocessing>(INDICATORS).unwrap(),
        p
    );
    let older = INDICATORS.replace(RANGE, "");
    let p: Preprocessing = serde_json::from_str(&older).unwrap();
    assert_eq!(p.inputs()[0].range(), None);
    assert_eq!(serde_json::to_string(&p).unwrap(), older);
    let density: Preprocessing = serde_json::from_str(DENSITY).unwrap();
    assert_eq!(density.inputs()[0].range(), None);
    assert_eq!(serde_json::to_string(&density).unwrap(), DENSITY);
}

#[test]
fn compact_files_keep_everything() {
    let p = compact();
    let file = serde_json::to_value(&p).unwrap();
    assert_eq!(
        file["inputs"][0]["numeric"],
        json!({"name": "a", "mean": 3.0, "sd": (56.0f64 / 13.0).sqrt(), "median": 3.0, "missing": true, "range": [1.0, 5.0]})
    );
    assert_eq!(file["inputs"][1]["binary"]["categories"], json!(["f", "m"]));
    assert_eq!(file["inputs"][1]["binary"]["missing"], json!(true));
    assert_eq!(file["inputs"][2]["categorical"]["missing"], json!(true));
    assert_eq!(file["target"]["response"]["range"], json!([0.0, 52.0]));
    assert_eq!(serde_json::from_value::<Preprocessing>(file).unwrap(), p);
}

#[test]
fn damaged_files_say_what_is_wrong() {
    let refused = |mut file: Value, pointer: &str, value: Value| {
        match file.pointer_mut(pointer) {
            Some(entry) => *entry = value,
            None => {
                let (parent, key) = pointer.rsplit_once('/').unwrap();
                file.pointer_mut(parent).unwrap()[key] = value;
            }
        }
        let error = serde_json::from_value::<Preprocessing>(file).unwrap_err();
        error.to_string()
    };
    let file = serde_json::to_value(compact()).unwrap();
    let old: Value = serde_json::from_str(INDICATORS).unwrap();
    let density: Value = serde_json::from_str(DENSITY).unwrap();
    for (file, pointer, value, sentence) in [
        (
            &old,
            "/inputs/0/numeric/sd",
            json!(0.0),
            "a scale is positive and finite, not 0",
        ),
        (
            &file,
            "/inputs/1/binary/sd",
            json!(-1.0),
            "a scale is positive and finite, not -1",
        ),
        (
            &file,
            "/inputs/1/binary/mean",
            json!(1.0),
            "the share of one of two categories is between 0 and 1, not 1",
        ),
        (
            &file,
            "/inputs/1/binary/categories",
            json!(["f", "m", "x"]),
            "a column of two categories has 3",
        ),
        (
            &file,
            "/inputs/1/binary/categories",
            json!(["f", "f"]),
            "`f` is there twice",
        ),
        (
            &file,
            "/inputs/0/numeric/range",
            json!([5.0, 5.0]),
            "a range runs from a number up to a larger one, not from 5 to 5",
        ),
        (
            &file,
            "/target/response/range",
            json!([2.0, 1.0]),
            "a range runs from a number up to a larger one, not from 2 to 1",
        ),
        (
            &file,
            "/inputs/0/numeric/median",
            json!(7.0),
            "column `a` has median 7 outside its range from 1 to 5",
        ),
        (
            &density,
            "/inputs/0/unit/range",
            json!([4.0, 5.0]),
            "column `a` has median 3 outside its range from 4 to 5",
        ),
        (
            &density,
            "/inputs/0",
            json!({"numeric": {"name": "a", "mean": 0.0, "sd": 1.0, "median": 0.5, "missing": true}}),
            "a density has no input for missing cells, but column `a` has one",
        ),
        (
            &file,
            "/inputs/0/numeric/missing",
            json!("yes"),
            "expected a boolean",
        ),
        (&file, "/ranges", json!([]), "unknown field `ranges`"),
        (
            &file,
            "/inputs/1/binary/range",
            json!([0.0, 1.0]),
            "unknown field `range`",
        ),
    ] {
        let said = refused(file.clone(), pointer, value);
        assert!(said.contains(sentence), "{sentence}: {said}");
    }
}
