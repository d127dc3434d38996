//! The library as its users see it.

use loopfit::Column;
use loopfit::{
    Effort, Error, ExportOptions, Fit, Format, Method, Model, Noise, Predictions, Simulation,
    Table, TaskKind, Tying,
};
use std::ops::ControlFlow;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// Two inputs, a response, and classes.
fn table() -> Table {
    table_of(160)
}

fn table_of(rows: u32) -> Table {
    let inputs: Vec<f64> = (0..2 * rows)
        .map(|i| (f64::from(i) * 0.618_034).fract())
        .collect();
    let response = |x: &[f64]| (5.0 * x[0]).sin() + x[1];
    let y: Vec<f64> = inputs.chunks(2).map(response).collect();
    let class: Vec<f64> = y
        .iter()
        .map(|y| (y * 1.5).floor().clamp(-1.0, 1.0))
        .collect();
    let table = Table::from_rows(&inputs, &["u", "v"]).unwrap();
    let table = table.with_column("y", &y).unwrap();
    table.with_column("class", &class).unwrap()
}

fn quick<'a>(table: &'a Table, target: &str, other: &str) -> Fit<'a> {
    let fit = Fit::new(table).target(target).ignore(other).budget(24);
    fit.methods([Method::Single, Method::Loop])
        .effort(Effort::Quick)
        .iterations([2])
}

#[test]
fn a_table_becomes_a_model_that_survives_its_file() {
    let table = table();
    let fits = quick(&table, "y", "class").run().unwrap();
    let (best, model) = (fits.best().fitted(), fits.best().model());
    assert!(model.count() <= 24 && fits.is_complete());
    assert!(fits.iter().all(|f| best.validation <= f.validation * 1.5));
    assert!(best.validation < 0.5 * fits.constant().unwrap().validation);
    let text = fits.best().to_string();
    assert!(
        text.contains("validation MSE") && text.contains("test"),
        "{text}"
    );
    let file = tempfile::tempdir().unwrap();
    let path = file.path().join("m.safetensors");
    model.save(&path).unwrap();
    let loaded = Model::load(&path).unwrap();
    assert_eq!(
        loaded.predict(&table).unwrap(),
        model.predict(&table).unwrap()
    );
    let bytes = std::fs::read(&path).unwrap();
    let same = Model::from_bytes("m", &bytes).unwrap();
    assert_eq!(
        same.predict(&table).unwrap(),
        model.predict(&table).unwrap()
    );
    let error = Model::from_bytes("what was sent", &bytes[..50]).unwrap_err();
    assert!(error.to_string().starts_with("what was sent: "), "{error}");
    let every = loaded.predict_iterations(&table).unwrap();
    assert_eq!(every.len(), model.network().tying().iterations());
    assert_eq!(every.last(), Some(&model.predict(&table).unwrap()));
    let intervals = loaded.intervals(&table, 0.5).unwrap();
    assert!(intervals.iter().all(|(low, high)| low <= high));
    let options = ExportOptions::default();
    for (format, words) in [
        (Format::C, "float model_predict(const float *x)"),
        (Format::Rust, "pub fn predict(input: &Input) -> f64"),
        (Format::JavaScript, "export function predict(row)"),
    ] {
        let export = loaded.export(format, &options).unwrap();
        let content = export.single();
        assert!(content.text().unwrap().contains(words), "{format:?}");
        assert_eq!(export, model.export(format, &options).unwrap());
    }
    let onnx = loaded.export(Format::Onnx, &options).unwrap();
    assert!(onnx.body.text().is_none() && onnx.header.is_none());
}

/// Predictions are held to the range of the targets unless that makes held-out rows worse: those at its ends count as if they had not
/// been seen.
#[test]
fn a_line_goes_on_beyond_its_rows_and_noise_does_not() {
    let inputs: Vec<f64> = (0..60).map(|i| f64::from(i) / 59.0).collect();
    let noise = |i: usize| (i as f64 * 0.618_034).fract();
    let of = |target: Vec<f64>| {
        let table = Table::from_rows(&inputs, &["x"]).unwrap();
        let table = table.with_column("y", &target).unwrap();
        let fit = Fit::new(&table)
            .target("y")
            .budget(16)
            .methods([Method::Single]);
        let fits = fit.effort(Effort::Quick).run().unwrap();
        let far = Table::from_rows(&[1.5], &["x"]).unwrap();
        match fits.best().model().predict(&far).unwrap() {
            Predictions::Responses(values) => values[0],
            other => panic!("{other:?}"),
        }
    };
    assert!((of(inputs.iter().map(|x| 2.0 * x).collect()) - 3.0).abs() < 1e-3);
    let mixed = inputs.iter().enumerate().map(|(i, x)| x + 9.0 * noise(i));
    let mixed: Vec<f64> = mixed.collect();
    let largest = mixed.iter().copied().fold(0.0, f64::max);
    assert!(of(mixed) <= largest);
}

#[test]
fn options_and_threads_mean_what_they_say() {
    let table = table();
    let of = |threads| {
        let fits = quick(&table, "y", "class").threads(threads).seed(3).run();
        fits.unwrap().best().model().predict(&table).unwrap()
    };
    assert_eq!(of(1), of(2));
    let laplace = quick(&table, "y", "class")
        .noise(Noise::Laplace)
        .test_fraction(0.0);
    let fits = laplace.run().unwrap();
    assert_eq!(fits.best().fitted().metric, "MAE");
    assert_eq!(fits.best().fitted().test, None);
    let fits = quick(&table, "class", "y").task(TaskKind::Multiclass);
    let fits = fits.run().unwrap();
    let predictions = fits.best().model().predict(&table).unwrap();
    assert_eq!(predictions.classes().unwrap().len(), 160);
    assert!(matches!(predictions, Predictions::Probabilities { .. }));
}

#[test]
fn one_callback_tells_and_cancels() {
    let table = table();
    let seen = Mutex::new(Vec::new());
    let fits = quick(&table, "y", "class").progress(|p| {
        seen.lock().unwrap().push(p.done);
        ControlFlow::Continue(())
    });
    assert!(fits.run().unwrap().is_complete());
    let seen = seen.into_inner().unwrap();
    assert!(seen.is_sorted() && seen.last().is_some_and(|done| *done > 0.9));
    let stopped = quick(&table, "y", "class")
        .progress(|_| ControlFlow::Break(()))
        .run();
    match stopped {
        Ok(fits) => assert!(!fits.is_complete()),
        Err(error) => assert!(matches!(error, Error::Cancelled), "{error}"),
    }
}

/// Asked for all or nothing, whatever is under way ends without a model: selections, searches, curves, comparisons.
#[test]
fn all_or_nothing_ends_at_once() {
    // So many rows that nothing is done before the second call.
    let table = table_of(4000);
    // After the first call: something is under way.
    let calls = AtomicUsize::new(0);
    let fit = |effort| {
        calls.store(0, Ordering::Relaxed);
        let fit = Fit::new(&table).target("y").ignore("class").budget(256);
        fit.effort(effort).all_or_nothing(true).progress(|_| {
            match calls.fetch_add(1, Ordering::Relaxed) {
                0 => ControlFlow::Continue(()),
                _ => ControlFlow::Break(()),
            }
        })
    };
    let cancelled = |result: Result<(), Error>| assert!(matches!(result, Err(Error::Cancelled)));
    cancelled(fit(Effort::Strong).run().map(drop));
    let endless = Effort::Updates(100_000_000);
    cancelled(fit(endless).run().map(drop));
    cancelled(fit(Effort::Strong).curve([128, 256]).map(drop));
    cancelled(fit(Effort::Strong).compare([1, 2]).map(drop));
    cancelled(fit(endless).compare([1, 2]).map(drop));
}

#[test]
fn densities_are_searched_for_and_sampled() {
    let table = Table::from_rows(
        &(0..400)
            .map(|i| (f64::from(i) * 0.754_877).fract())
            .collect::<Vec<_>>(),
        &["u", "v"],
    );
    let table = table.unwrap();
    let fits = Fit::new(&table)
        .density()
        .budget(40)
        .methods([Method::Single]);
    let fits = fits.effort(Effort::Updates(64)).run().unwrap();
    let draws = fits.best().model().sample(7, 1).unwrap();
    assert_eq!((draws.rows(), draws.names()), (7, table.names()));
    assert_eq!(
        fits.best()
            .model()
            .predict(&table)
            .unwrap()
            .log_densities()
            .unwrap()
            .len(),
        200
    );
}

#[test]
fn methods_are_compared_seed_by_seed() {
    let table = table();
    let comparison = quick(&table, "y", "class").compare([1, 2]).unwrap();
    assert_eq!((comparison.seeds.len(), comparison.methods.len()), (2, 3));
    assert_eq!(comparison.methods[0].name(), "linear");
    let is_whole = |m: &loopfit::Compared| m.errors.len() == 2 && m.networks.len() == 2;
    assert!(comparison.methods.iter().all(is_whole));
    assert_eq!(comparison.lowest_on().iter().sum::<usize>(), 2);
    let simulated = Fit::simulation("bumps".parse::<Simulation>().unwrap(), 64, 32);
    let simulated = simulated
        .budget(40)
        .methods([Method::Loop])
        .effort(Effort::Updates(64));
    assert_eq!(
        simulated.compare([5]).unwrap().subject.test_error,
        "MSE against f0"
    );
}

#[test]
fn what_cannot_be_is_one_sentence_without_an_option_of_the_command_line() {
    let table = table();
    let errors = [
        Fit::new(&table).budget(9).run(),
        Fit::new(&table).target("y").run(),
        Fit::new(&table).target("z").budget(9).run(),
        Fit::new(&table).target("y").density().budget(9).run(),
        Fit::new(&table).target("y").budget(9).methods([]).run(),
        Fit::new(&table).target("y").budget(9).bound(3.0).run(),
        Fit::new(&table)
            .density()
            .budget(40)
            .test_fraction(0.5)
            .run(),
        Fit::simulation("bumps".parse::<Simulation>().unwrap(), 8, 8)
            .target("y")
            .budget(9)
            .run(),
    ];
    for error in errors {
        let text = error.unwrap_err().to_string();
        assert!(
            !text.contains("--") && !text.contains('\n') && text.len() > 10,
            "{text}"
        );
    }
    let nothing = ["u", "y"].map(|name| (name.to_string(), Column::Numeric(Vec::new())));
    let nothing = Table::from_columns("nothing", nothing.to_vec());
    assert!(Fit::new(&nothing).target("y").budget(9).run().is_err());
    assert!(Table::from_rows(&[0.0; 0], &["u", "v"]).is_err());
    assert!(Table::from_rows(&[1.0, 2.0, 3.0], &["u", "v"]).is_err());
    assert!(Table::from_rows(&[1.0, 2.0], &["u", "u"]).is_err());
    assert!(Table::from_rows(&[1.0, f64::INFINITY], &["u", "v"]).is_err());
}

/// Options that make no sense are errors or are put up with, and never a panic.
#[test]
fn senseless_options_do_not_panic() {
    let table = table();
    let fit = || quick(&table, "y", "class");
    let tried = [
        fit().test_rows([5000]).run().err(),
        fit().test_rows([]).run().err(),
        fit().test_fraction(2.0).run().err(),
        fit().test_fraction(f64::NAN).run().err(),
        fit().block(0).run().err(),
        fit().budget(0).run().err(),
        fit().iterations([0]).run().err(),
        fit().iterations([]).run().err(),
        fit().shape(0, 0, Tying::Single).run().err(),
        fit().effort(Effort::Updates(0)).run().err(),
        fit().time_limit(Duration::ZERO).run().err(),
        Fit::new(&table)
            .density()
            .budget(40)
            .bound(f32::NAN)
            .run()
            .err(),
    ];
    for error in tried.into_iter().flatten() {
        assert!(!error.to_string().is_empty());
    }
    let fits = fit()
        .time_limit(Duration::MAX)
        .threads(1)
        .effort(Effort::Quick);
    drop(fits);
}

/// Counts with mean `e exp(1 + u - 2 v)` after an exposure `e`, drawn by inversion.
fn counts() -> Table {
    let number = |i: usize, k: f64| (i as f64 * k).fract();
    let rows: Vec<f64> = (0..400)
        .flat_map(|i| [number(i, 0.754_877_7), number(i, 0.569_840_3)])
        .collect();
    let exposure: Vec<f64> = (0..400).map(|i| 0.5 + 2.0 * number(i, 0.381_966)).collect();
    let count = |(i, x): (usize, &[f64])| {
        let mean = exposure[i] * (1.0 + x[0] - 2.0 * x[1]).exp();
        let (mut k, mut p) = (0.0, (-mean).exp());
        let (mut below, u) = (p, number(i, 0.237_462_9));
        while below < u && k < 100.0 {
            k += 1.0;
            p *= mean / k;
            below += p;
        }
        k
    };
    let y: Vec<f64> = rows.chunks(2).enumerate().map(count).collect();
    let table = Table::from_rows(&rows, &["u", "v"]).unwrap();
    let table = table.with_column("days", &exposure).unwrap();
    table.with_column("y", &y).unwrap()
}

fn counted<'a>(table: &'a Table, exposure: &str) -> Fit<'a> {
    let fit = Fit::new(table).target("y").counts().exposure(exposure);
    fit.budget(12).effort(Effort::Quick)
}

#[test]
fn counts_have_means_in_proportion_to_their_exposure() {
    let table = counts();
    let fits = counted(&table, "days").run().unwrap();
    let (best, model) = (fits.best(), fits.best().model());
    assert_eq!(fits.subject().test_error, "test deviance");
    // The mean deviance of such counts is about one; that of the best constant is far above.
    assert!((0.7..1.4).contains(&best.fitted().validation), "{best}");
    assert!(fits.constant().unwrap().validation > 1.5 * best.fitted().validation);
    let score = model.score(&table).unwrap();
    assert_eq!((score.metric, score.also[0].0), ("deviance", "D2"));
    let file = tempfile::tempdir().unwrap();
    let path = file.path().join("m.safetensors");
    model.save(&path).unwrap();
    let model = Model::load(&path).unwrap();
    let at = |days: f64| {
        let table = Table::from_rows(&[0.3, 0.4, days], &["u", "v", "days"]).unwrap();
        model.predict(&table).unwrap().responses().unwrap()[0]
    };
    let truth = (1.0f64 + 0.3 - 0.8).exp();
    assert!((at(1.0) / truth - 1.0).abs() < 0.15, "{} {truth}", at(1.0));
    assert!((at(3.0) / at(1.0) - 3.0).abs() < 1e-5);
    let without = Table::from_rows(&[0.3, 0.4], &["u", "v"]).unwrap();
    assert!(
        model
            .predict(&without)
            .unwrap_err()
            .to_string()
            .contains("days")
    );
}

#[test]
fn what_is_not_a_count_or_a_weight_is_refused() {
    let table = counts();
    let halves: Vec<f64> = (0..400).map(|i| f64::from(i) / 2.0).collect();
    let wrong = table.clone().with_column("half", &halves).unwrap();
    let fit = Fit::new(&wrong).target("half").counts().budget(12);
    assert!(fit.run().unwrap_err().to_string().contains("not a count"));
    let zero = counted(&wrong, "half").run().unwrap_err().to_string();
    assert!(zero.contains("does not hold one in row 1"), "{zero}");
    let weighted = Fit::new(&table).target("y").budget(12).weights("days");
    assert!(weighted.counts().run().is_err());
    let exposed = Fit::new(&table).target("y").budget(12).exposure("days");
    assert!(exposed.run().is_err());
    let searched = counted(&table, "days").effort(Effort::Updates(64));
    assert!(searched.run().is_err());
}

/// Rows of hardly any weight say hardly anything.
#[test]
fn weights_are_heard() {
    let rows: Vec<f64> = (0..300)
        .map(|i| (f64::from(i) * 0.618_034).fract())
        .collect();
    let y: Vec<f64> = rows
        .iter()
        .enumerate()
        .map(|(i, x)| if i % 3 == 0 { 5.0 } else { 2.0 * x })
        .collect();
    let weights: Vec<f64> = (0..300)
        .map(|i| if i % 3 == 0 { 1e-6 } else { 7.0 })
        .collect();
    let table = Table::from_rows(&rows, &["x"]).unwrap();
    let table = table.with_column("y", &y).unwrap();
    let table = table.with_column("w", &weights).unwrap();
    let fit = Fit::new(&table).target("y").weights("w").budget(8);
    let fits = fit.effort(Effort::Quick).run().unwrap();
    assert!(fits.best().fitted().test.unwrap() < 1e-3, "{}", fits.best());
    let new = Table::from_rows(&[0.25], &["x"]).unwrap();
    let at = fits
        .best()
        .model()
        .predict(&new)
        .unwrap()
        .responses()
        .unwrap()[0];
    assert!((at - 0.5).abs() < 0.02, "{at}");
}
