//! Densities from outside: the bound of the index, the error of the normaliser, rows outside the box.

mod common;
use common::Place;

/// Four coordinates of a bump, and a fifth row far away if asked for.
fn points(rows: usize, d: usize, outliers: usize) -> String {
    let names: Vec<String> = (1..=d).map(|k| format!("x{k}")).collect();
    let mut csv = names.join(",") + "\n";
    for i in 0..rows {
        let cells = (0..d).map(|k| {
            let u = ((i * [37, 53, 29, 61, 71][k] + 17 * k) % 101) as f64 / 101.0;
            let far = if i < outliers { 50.0 } else { 0.0 };
            (u - 0.5).powi(3) + far
        });
        csv += &(cells.map(|v| v.to_string()).collect::<Vec<_>>().join(",") + "\n");
    }
    csv
}

/// Five coordinates on a coarse grid, so that every split has rows at both ends of each.
fn rounded(rows: usize) -> String {
    let mut csv = "x1,x2,x3,x4,x5\n".to_string();
    for i in 0..rows {
        let cells = [37, 53, 29, 61, 71].map(|k| (i * k % 101 * 4 / 101).to_string());
        csv += &(cells.join(",") + "\n");
    }
    csv
}

fn said(place: &Place, arguments: &str) -> String {
    let output = place.run(arguments);
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{arguments}: {error}");
    error
}

/// Four outliers push all other rows into a corner of the box, where the index would have to be far above its bound.
#[test]
fn a_clip_that_binds_is_said_and_can_be_moved() {
    let place = Place::new();
    place.write("p.csv", points(300, 2, 4));
    let fit = "fit p.csv --task density --budget 60 --method single --updates 6400";
    let fitted = place.json(&format!("{fit} --bound 0.5 -o m.safetensors"));
    assert_eq!(fitted["density"]["bound"], 0.5);
    assert!(
        fitted["density"]["clipped_rows"].as_u64().unwrap() > 100,
        "{fitted}"
    );
    let words = "the index is at its bound of ±0.5 on";
    assert!(said(&place, &format!("{fit} --bound 0.5")).contains(words));
    assert!(said(&place, "predict m.safetensors p.csv").contains(words));
    assert!(said(&place, "score m.safetensors p.csv").contains(words));
    let larger = place.json(&format!("{fit} --bound 8"));
    let test = |json: &serde_json::Value| json["methods"][0]["test"].as_f64().unwrap();
    assert!(test(&larger) < test(&fitted) - 0.5, "{larger} {fitted}");
    place.all_refused(&[
        (
            "fit sim:bumps --budget 60 --bound 3",
            2,
            &["--bound is for the index of a density"],
        ),
        (
            "fit sim:four-modes --budget 60 --bound -1",
            2,
            &["above 0 and at most 64"],
        ),
    ]);
}

/// The score is that of the rows inside; how many lie outside and how well log Z is known stand beside it.
#[test]
fn rows_outside_are_counted_and_log_z_has_an_error() {
    let place = Place::new();
    place.write("p.csv", points(300, 5, 0));
    let fit = "fit p.csv --task density --budget 80 --method loop --updates 3200 -o m.safetensors";
    let fitted = place.json(fit);
    let error = fitted["density"]["log_z_error"].as_f64().unwrap();
    assert!(error > 0.0 && error < 0.02, "{fitted}");
    place.write("q.csv", points(50, 5, 3));
    let score = place.json("score m.safetensors q.csv");
    let outside = score["also"]["rows outside"].as_f64().unwrap() as u64;
    let inside = score["rows"].as_u64().unwrap();
    assert!(outside >= 3 && inside + outside == 50, "{score}");
    assert_eq!(score["also"]["error of log Z"].as_f64().unwrap(), error);
    let text = place.ok("score m.safetensors q.csv");
    let line = text.lines().find(|line| line.starts_with("rows outside"));
    assert!(line.unwrap().ends_with(&format!(" {outside}")), "{text}");
    let words = format!("the density, {inside} of 50; over all rows it is infinite");
    assert!(said(&place, "score m.safetensors q.csv").contains(&words));
    // The file has the same validation loss as the table, in the units of the unit cube.
    place.write("r.csv", rounded(300));
    let fitted = place.json(&fit.replace("p.csv", "r.csv"));
    let show = place.json("show m.safetensors");
    let inputs = show["preprocessing"]["inputs"].as_array().unwrap();
    let widths = inputs
        .iter()
        .map(|input| input["unit"]["width"].as_f64().unwrap());
    let log_volume: f64 = widths.map(f64::ln).sum();
    let validation = fitted["methods"][0]["validation"].as_f64().unwrap() - log_volume;
    let kept = show["provenance"]["validation"].as_f64().unwrap();
    assert!((validation - kept).abs() < 1e-6, "{validation} {kept}");
    place.json(fit);
    // After its last iteration the density is the density.
    let whole = place.json("predict m.safetensors q.csv");
    let every = place.json("predict m.safetensors q.csv --every-iteration");
    let last = every["iterations"].as_array().unwrap().last().unwrap();
    assert_eq!(last["log_densities"], whole["log_densities"]);
}
