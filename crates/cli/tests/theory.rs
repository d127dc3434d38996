//! The calculators from outside: rates, schedules, bounds and entropies.

mod common;
use common::Place;
use serde_json::Value;

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value}"))
}

fn check(answer: &Value, name: &str) -> (bool, String) {
    let checks = answer["checks"].as_array().unwrap();
    let check = checks.iter().find(|c| c["name"] == name).unwrap();
    let sentence = check["sentence"].as_str().unwrap().to_string();
    (check["holds"].as_bool().unwrap(), sentence)
}

#[test]
fn rates() {
    let place = Place::new();
    let rate = place.json("theory rate --dim 1 --smoothness 2");
    assert_eq!(number(&rate["a"]), 4.0);
    assert_eq!(number(&rate["minimax_exponent"]), 0.8);
    assert_eq!(number(&rate["gamma_B_window"][1]), 0.1);
    assert_eq!(number(&rate["k"]), 1.0);
    let text = place.ok("theory rate --dim 1 --smoothness 2");
    assert!(text.contains("{B^2 log(eB)}^-4"), "{text}");
    place.refused("theory rate --dim 0 --smoothness 1", "at least 1");
    for bad in ["0", "-1", "nan", "inf"] {
        let command = format!("theory rate --dim 2 --smoothness {bad}");
        place.refused(&command, "it must be a positive number");
    }
}

#[test]
fn schedules() {
    let place = Place::new();
    // a = 1: T_n = ceil(sqrt(n log(en))) = ceil(3849.09); q_0 = 66, r_0 = 2845 by (S20), (S36).
    let fixed = place.json("theory schedule --n 1e6 --dim 2 --smoothness 1");
    assert_eq!(fixed["T_n"], 3850);
    assert_eq!((&fixed["q"], &fixed["r"]), (&66.into(), &2845.into()));
    assert_eq!(fixed["B_L"], 66 * 5 + 1 + 133 * 2845);
    assert!(check(&fixed, "admissible widths").0);

    let small = place.json("theory schedule --n 4096 --dim 2 --smoothness 2 --budget 128");
    let (holds, sentence) = check(&small, "admissible widths");
    assert!(!holds && sentence.contains("the smallest admissible budget is 854228"));

    let growing =
        place.json("theory schedule --n 1e9 --dim 3 --smoothness 1 --gamma 0.2 --arch transformer");
    assert!(check(&growing, "window (21)").0 && check(&growing, "budget").0);
    let product = number(&growing["r_n"]) * number(&growing["T_n"]);
    assert!(product >= number(&growing["W_n"]));
    let outside = place.json("theory schedule --n 1e6 --dim 2 --smoothness 1 --gamma 0.3");
    let (holds, sentence) = check(&outside, "window (21)");
    assert!(
        !holds && sentence.contains("take a smaller gamma_B"),
        "{sentence}"
    );

    let text = place.ok("theory schedule --n 1 --dim 2 --smoothness 0.5 --budget 64");
    assert!(
        text.contains("FAILS  sample size: Theorem 4.1 begins at n = 2"),
        "{text}"
    );
    place.refused(
        "theory schedule --n 0 --dim 2 --smoothness 1",
        "from 1 to 1e18",
    );
    place.refused(
        "theory schedule --n 2.5 --dim 2 --smoothness 1",
        "from 1 to 1e18",
    );
    let command = "theory schedule --n 100 --dim 2 --smoothness 1 --budget 8";
    place.refused(command, "with r = 1 it has 9 parameters; raise the budget");
    let command = "theory schedule --n 100 --dim 2 --smoothness 1 --gamma 0.1 --below-thresholds";
    place.refused(
        command,
        "no schedule at n = 100: the budget 2 holds no loop with q = 6",
    );
    place.refused(
        "theory schedule --n 100 --dim 2 --smoothness 1 --gamma=-1",
        "a positive number",
    );
    place.refused(
        "theory schedule --n 100 --dim 2 --smoothness 1 --set c_Z=1",
        "there is no constant `c_Z`",
    );
    place.refused(
        "theory schedule --n 100 --dim 2 --smoothness 1 --set C_6=1",
        "of at least 2",
    );
    place.refused(
        "theory schedule --n 100 --dim 2 --smoothness 1 --set C_6",
        "NAME=VALUE",
    );
    place.refused(
        "theory schedule --n 100 --dim 100 --smoothness 40",
        "choose a smaller s or d",
    );
}

#[test]
fn bounds() {
    let place = Place::new();
    let answer =
        place.json("theory bound --n 1e6 --dim 2 --smoothness 1 --q 6 --r 7 --iterations 12");
    for form in ["general", "budget_iteration"] {
        let terms = &answer[form];
        let sum: f64 = [
            "approximation",
            "initialisation",
            "estimation",
            "optimisation",
        ]
        .map(|key| number(&terms[key]))
        .iter()
        .sum();
        assert!(
            (sum / number(&terms["total"]) - 1.0).abs() < 1e-12,
            "{terms}"
        );
        let ratio = number(&terms["total"]) / number(&answer["untied_floor"]);
        assert!((ratio / number(&terms["ratio"]) - 1.0).abs() < 1e-12);
        assert!(number(&terms["best"]["total"]) <= number(&terms["total"]));
        assert!(number(&terms["n_cross"]) > 1e6);
    }
    // With few samples no T is the best: (14) falls towards 1 + 1/n, and T_n is not taken instead.
    for n in [100.0, 3162.0] {
        let command = "theory bound --dim 2 --smoothness 1 --budget 128 --iterations best --n";
        let few = place.json(&format!("{command} {n}"));
        for terms in [&few["general"], &few["general"]["best"]] {
            assert!(terms["T"].is_null(), "{terms}");
            assert!((number(&terms["total"]) - 1.0 - 1.0 / n).abs() < 1e-12);
        }
        let text = place.ok(&format!("{command} {n}"));
        assert!(
            text.contains("No T minimises the general (14) bound"),
            "{text}"
        );
        let sweep = "theory bound --dim 2 --smoothness 1 --budget 128 --iterations best --over n";
        let rows = place.json(&format!("{sweep} --from {n} --to 1e4 --points 2"));
        assert!(rows["rows"][0]["T"].is_null());
    }
    // [log(e 84) / 84]^1 with r T = 84.
    let approximation = number(&answer["general"]["approximation"]);
    assert!((approximation - (1.0 + 84f64.ln()) / 84.0).abs() < 1e-15);
    let doubled = place.json(
        "theory bound --n 1e6 --dim 2 --smoothness 1 --q 6 --r 7 --iterations 12 --set c_U=2",
    );
    let halved = number(&doubled["general"]["ratio"]) / number(&answer["general"]["ratio"]);
    assert!((halved - 0.5).abs() < 1e-12);

    let sweep = place.json("theory bound --dim 2 --smoothness 1 --budget 128 --over n --from 100 --to 1e18 --points 10 --plot bound.svg");
    let rows = sweep["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 10);
    assert_eq!(rows[9]["n"].as_u64(), Some(1_000_000_000_000_000_000));
    assert!(number(&rows[9]["ratio"]) < number(&rows[0]["ratio"]));
    assert!(number(&rows[9]["total_at_fixed_T"]) > number(&rows[9]["total"]));
    let svg = String::from_utf8(place.read("bound.svg")).unwrap();
    assert!(
        svg.contains("untied floor") && svg.contains("T_n of Theorem 4.4"),
        "{svg}"
    );
    for over in ["B --from 1000", "T"] {
        let text = place.ok(&format!(
            "theory bound --n 1e9 --dim 2 --smoothness 1 --over {over} --arch transformer"
        ));
        assert!(text.contains("total / floor"), "{text}");
    }
    place.refused("theory bound --dim 2 --smoothness 1 --over B", "add --n");
    place.refused(
        "theory bound --n 10 --dim 2 --smoothness 1 --over T --from 9 --to 3",
        "give a smaller --from",
    );
    place.refused("theory bound --dim 2 --smoothness 1", "--n");
    place.refused(
        "theory bound --n 9 --dim 2 --smoothness 1 --iterations 0",
        "`schedule`, `best` or",
    );
    place.refused(
        "theory bound --n 9 --dim 2 --smoothness 1 --tolerance=-1",
        "at least 0",
    );
    place.refused(
        "theory bound --n 9 --dim 2 --smoothness 1 --over B --r 4 --q 2",
        "leave --budget and --r out",
    );
}

#[test]
fn entropies() {
    let place = Place::new();
    let answer = place.json("theory entropy --dim 2 --budget 60 --iterations 4 --parameter-bound 1 --smoothness 1 --n 1e9");
    // q = 4, r = 4: 1 + q r m^2 = 17, m(d + 1) = 3.
    assert!(
        (number(&answer["a_t"]) - 17.0).abs() < 1e-12
            && (number(&answer["Z_0"]) - 3.0).abs() < 1e-12
    );
    let p = number(&answer["P"]);
    let cover = p * (4.0 / 0.01f64).ln() + p * number(&answer["log_gamma"]);
    assert!((number(&answer["covering"]) / cover - 1.0).abs() < 1e-6);
    let radius = number(&answer["laws"]["gaussian"]["e_n"]);
    assert!(radius > 1e-9f64.sqrt() && radius < 1.0);
    let floor = number(&answer["laws"]["energy"]["untied_floor"]);
    assert!(floor > 0.0 && floor < 1e-4, "{floor}");
    let none =
        place.ok("theory entropy --dim 2 --q 4 --r 4 --iterations 4 --arch transformer --n 10");
    assert!(
        none.contains("none below n = ") && none.contains("L_blk"),
        "{none}"
    );

    place.refused("theory entropy --dim 2 --iterations 4", "--budget <B>");
    place.refused(
        "theory entropy --dim 2 --iterations 4 --q 3 --r 3 --epsilon 0",
        "positive number",
    );
    let command = "theory entropy --dim 2 --iterations 4 --budget 1e7 --smoothness 1";
    place.refused(command, "lower the budget");
    let large = place.ok("theory entropy --dim 2 --iterations 4 --budget 1e7");
    assert!(
        large.contains("enumerated up to a budget of 2,097,152"),
        "{large}"
    );
    let command = "theory entropy --dim 2 --iterations 4 --budget 64 --epsilon 1";
    place.refused(command, "must be below 1");
    let command = "theory entropy --dim 2 --iterations 4 --budget 64 --set C_1=2";
    place.refused(command, "does not depend on C_1");
    place.refused(
        "theory entropy --dim 2 --iterations 4 --budget 64 --sigma 0",
        "sigma",
    );
}

/// Sampling refutes a bound that is too small, with an exit code, and tells the smallest that it cannot refute.
#[test]
fn membership_of_formulas_simulations_and_models() {
    let place = Place::new();
    // |x1 (1 - x2)/2| <= 1/2, first derivatives up to 1/2, whose own slope is 1/2.
    let smooth = place.json("theory holder x1*(1-x2)/2 --smoothness 2 --bound 1");
    assert_eq!((&smooth["holds"], &smooth["d"]), (&true.into(), &2.into()));
    assert!((number(&smooth["least_H"]) - 0.5).abs() < 0.01, "{smooth}");
    // The slope of sqrt(x) is unbounded: in no class of smoothness 1, in the one of 1/2 with H = 1.
    let rough = place.run("theory holder sqrt(x1) --smoothness 1 --bound 10");
    assert_eq!(rough.status.code(), Some(1));
    assert!(
        String::from_utf8(rough.stdout)
            .unwrap()
            .contains("outside the class with H = 10")
    );
    place.ok("theory holder sqrt(x1) --smoothness 0.5 --bound 1.0001");
    place.json("theory holder sim:bumps@3 --smoothness 1.5 --points 200");
    place.ok("fit sim:bumps --budget 30 --method single --train 64 --valid 32 --updates 64 -o m.safetensors");
    let model = place.json("theory holder m.safetensors --smoothness 1 --points 100");
    assert!(
        number(&model["least_H"]).is_finite() && model["holds"].is_null(),
        "{model}"
    );
    place.refused("theory holder x1+ --smoothness 1", "expected a number");
    place.refused("theory holder x1 --smoothness 0", "smoothness");
    place.ok("theory holder 3*x1 --smoothness 1 --bound 3");
    for (formula, s, h) in [("x1*(1-x2)*20", 2, 20.0), ("100*x1+7*x2", 1, 107.0)] {
        let found = place.json(&format!("theory holder {formula} --smoothness {s}"));
        let least = found["least_H"].as_f64().unwrap();
        assert!((least / h - 1.0).abs() < 1e-6, "{found}");
    }
    for large in [
        "x8 --smoothness 6 --points 50",
        "x1 --smoothness 1e9 --points 1",
    ] {
        place.refused(&format!("theory holder {large}"), "fewer --points");
    }
    place.refused(
        "theory holder sim:bumps --smoothness 1 --dim 2",
        "--dim is for formulas",
    );
}

/// Budgets that grow, another order of rho, and the constants that a sample size fixes.
#[test]
fn growth_orders_and_explicit_constants() {
    let place = Place::new();
    for (gamma, words) in [
        ("-1", "give a positive number\n"),
        ("5", "take a smaller n, gamma_B or C_B\n"),
    ] {
        let command = format!("theory bound --dim 2 --smoothness 1 --over n --gamma {gamma}");
        let said = place.run(&command).stderr;
        assert!(String::from_utf8_lossy(&said).ends_with(words), "{said:?}");
    }
    let sweep = "theory bound --dim 2 --smoothness 1 --over n --gamma 0.1 --below-thresholds --set C_B=64 --from 1e3 --points 5";
    let rows = place.json(sweep);
    let first = place.json(
        "theory schedule --n 1e3 --dim 2 --smoothness 1 --gamma 0.1 --below-thresholds --set C_B=64",
    );
    let row = &rows["rows"][0];
    assert_eq!((&row["B"], &row["T"]), (&first["B_n"], &first["T_n"]));
    assert_eq!((&row["q"], &row["r"]), (&first["q_n"], &first["r_n"]));
    assert!(rows["rows"][4]["B"].as_u64() > row["B"].as_u64());
    place.ok(&format!("{sweep} --plot growing.svg"));
    place.refused(
        "theory bound --n 1e6 --dim 2 --smoothness 1 --over T --gamma 0.1",
        "use it with --over n",
    );

    let entropy = place.json("theory entropy --dim 1 --q 2 --r 2 --iterations 2 --n 1e9");
    let law = &entropy["laws"]["gaussian"];
    let (e, n) = (number(&law["e_n"]), 1e9f64);
    let expected = e * e * n / (number(&entropy["P"]) * (1.0 + n.ln() + number(&entropy["G"])));
    assert!((number(&law["K"]) / expected - 1.0).abs() < 1e-9, "{law}");
    let entropy =
        place.json("theory entropy --dim 1 --budget 64 --iterations 2 --smoothness 1 --n 1e9");
    let law = &entropy["laws"]["bernoulli"];
    // a/(a+1) = 2/3 at d = s = 1.
    let constant = number(&law["minimax_floor"]) * 1e6;
    assert!(
        (number(&law["minimax_constant"]) / constant - 1.0).abs() < 1e-9,
        "{law}"
    );

    let distance =
        "theory distance --likelihood gaussian sim:bumps sim:bumps@1 --sigma 1 --points 4096";
    let quarter = place.json(&format!("{distance} --gamma 0.25"));
    let half = place.json(distance);
    assert!(number(&quarter["rho"]["value"]) < number(&half["rho_half"]["value"]));
    assert_eq!(quarter["gamma"], 0.25);
    place.refused(&format!("{distance} --gamma 1.5"), "above 0 and at most 1");
}

/// The budget-iteration bound asks for the initialisation condition and for a tolerance of 1/n: its best T satisfies the
/// one, and a check says where the other fails.
#[test]
fn the_second_form_keeps_its_hypotheses() {
    let place = Place::new();
    for arch in ["ffn", "transformer"] {
        let command = format!(
            "theory bound --n 1e6 --dim 2 --smoothness 2 --budget 500 --iterations best --arch {arch}"
        );
        let answer = place.json(&command);
        let t = number(&answer["budget_iteration"]["T"]);
        let log_ert = 1.0 + (number(&answer["r"]) * t).ln();
        let need = if arch == "ffn" {
            log_ert
        } else {
            log_ert * log_ert
        };
        assert!(t >= need, "{arch}: {t} {need}");
        assert!(check(&answer, "initialisation condition, (15)").0);
        assert!(check(&answer, "tolerance, (15)").0);
        let loose = place.json(&format!("{command} --tolerance 0.5"));
        assert!(!check(&loose, "tolerance, (15)").0);
        assert_eq!(
            loose["general"]["best"]["T"],
            answer["general"]["best"]["T"]
        );
    }
    let rows = place.json("theory bound --n 1e6 --dim 2 --smoothness 2 --budget 128 --over T --to 100 --form budget-iteration --set C=5");
    assert_eq!(rows["constants"]["C"], 5.0);
    assert_eq!(rows["rows"][0]["applies"], false);
    assert_eq!(rows["rows"][0]["admissible"], false);
    assert_eq!(rows["smallest_admissible_budget"], 854_228);
    assert!(rows.get("fixed_T").is_none());
    // Where the condition binds it is said, and a table over T has no best T to speak of.
    let text =
        place.ok("theory bound --n 1e6 --dim 2 --smoothness 2 --budget 128 --iterations best");
    let held = "budget-iteration (15) bound is held up by the initialisation condition";
    assert!(
        text.contains(held) && text.contains("T = 4 does not"),
        "{text}"
    );
    let text = place.ok("theory bound --n 1e18 --dim 2 --smoothness 2 --budget 128");
    assert!(!text.contains("held up"), "{text}");
    let sweep = "theory bound --dim 2 --smoothness 1 --budget 128 --points 4 --form";
    let text = place.ok(&format!("{sweep} budget-iteration --over n"));
    assert!(
        text.contains("5*") && text.contains("with a star"),
        "{text}"
    );
    let text = place.ok(&format!("{sweep} general --over T --n 100"));
    assert!(
        !text.contains("best T") && !text.contains("brackets"),
        "{text}"
    );
    place.refused(
        "theory bound --n 9 --dim 2 --smoothness 1 --over n",
        "leave --n out",
    );
    place.refused(
        "theory bound --n 9 --dim 2 --smoothness 1 --over T --iterations 5",
        "leave --iterations out",
    );
    place.refused(
        "theory bound --n 9 --dim 2 --smoothness 1 --points 4",
        "--over",
    );
    place.refused(
        "theory bound --n 9 --dim 2 --smoothness 1 --over T --plot x.png",
        "ends in .svg",
    );
    place.refused(
        "theory bound --n 9 --dim 2 --smoothness 1 --arch transformer --tokens 3",
        "tokens are too many",
    );
}

/// Whatever the sizes, an answer has no infinities and no missing numbers.
#[test]
fn edges_have_answers() {
    let place = Place::new();
    for arch in ["ffn", "transformer"] {
        for command in [
            "theory schedule --n 1 --dim 1 --smoothness 1",
            "theory schedule --n 1e18 --dim 1 --smoothness 0.001 --budget 1e18",
            "theory schedule --n 1e18 --dim 3 --smoothness 3 --gamma 0.01",
            "theory bound --n 1 --dim 1 --smoothness 1 --budget 100",
            "theory bound --n 1e18 --dim 7 --smoothness 11.5 --q 1e8 --r 1e8 --iterations 1e18",
            "theory bound --n 1e18 --dim 1 --smoothness 900 --budget 1e18 --iterations best",
            "theory entropy --dim 1 --q 1e8 --r 1e8 --iterations 1e18 --n 1e18 --parameter-bound 1e15",
            "theory entropy --dim 1 --q 1 --r 1 --iterations 1 --n 1 --parameter-bound 1e-9",
            "theory entropy --dim 1 --budget 30 --iterations 1 --smoothness 0.1 --bound 20",
        ] {
            let text = place.ok(&format!("{command} --arch {arch}"));
            for wrong in ["NaN", "nan", "inf ", "∞"] {
                assert!(!text.contains(wrong), "{command}: {text}");
            }
            place.json(&format!("{command} --arch {arch}"));
        }
    }
}
