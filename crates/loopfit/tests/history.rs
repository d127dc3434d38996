//! The way to a model, how long it took, and the model as bytes.

use loopfit::{Effort, Fit, Method, Model, Step, Table};

fn table() -> Table {
    let rows: Vec<f64> = (0..180).map(|i| f64::from(i * 37 % 101) / 101.0).collect();
    let y: Vec<f64> = rows.chunks(2).map(|x| x[0] * x[1]).collect();
    let table = Table::from_rows(&rows, &["u", "v"]).unwrap();
    table.with_column("y", &y).unwrap()
}

#[test]
fn a_selection_climbs_to_the_cap() {
    let fits = Fit::of_table(table())
        .target("y")
        .budget(16)
        .methods([Method::Single])
        .effort(Effort::Quick)
        .run()
        .unwrap();
    let last = fits.history().last().unwrap();
    let Step::Cap { cap, count, .. } = last else {
        panic!("{last:?}");
    };
    assert_eq!(*cap, 16);
    assert!(*count <= 16);
    // The last rung has the errors of the competitors.
    for fitted in fits.iter() {
        let own = fits.history().iter().any(|step| {
            matches!(step, Step::Cap { cap: 16, method, validation, .. }
                if *method == fitted.method && *validation == fitted.validation)
        });
        assert!(own, "{fitted}");
        assert!(fitted.seconds > 0.0 && fitted.seconds <= fits.seconds());
    }
}

#[test]
fn a_search_gets_better() {
    let table = table();
    let fit = || {
        let fit = Fit::new(&table).target("y").budget(24);
        fit.methods([Method::Loop]).effort(Effort::Updates(640))
    };
    let fits = fit().run().unwrap();
    let errors: Vec<f64> = fits
        .history()
        .iter()
        .map(|step| match step {
            Step::Search { validation, .. } => *validation,
            other => panic!("{other:?}"),
        })
        .collect();
    assert!(!errors.is_empty());
    assert!(errors.windows(2).all(|pair| pair[1] < pair[0]));
    // What is not fitted again is what a search does anyway.
    let same = fit().refit(false).run().unwrap();
    let bytes = |model: &Model| model.to_bytes().unwrap();
    assert_eq!(bytes(fits.best().model()), bytes(same.best().model()));
    let refitted = fit().refit(true).run().unwrap();
    assert_ne!(bytes(fits.best().model()), bytes(refitted.best().model()));
}

#[test]
fn penalised_likelihood_chooses_the_smallest_sum() {
    let table = table();
    let fit = Fit::new(&table).target("y").budget(24);
    let fit = fit.effort(Effort::Updates(448)).automatic_iterations();
    let fits = fit.run().unwrap();
    let sums: Vec<(usize, f64)> = fits
        .history()
        .iter()
        .map(|step| match step {
            Step::Iterations { t, loss, penalty } => (*t, loss + penalty),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(
        sums.iter().map(|(t, _)| *t).collect::<Vec<_>>(),
        [1, 2, 4, 8, 16, 32, 64]
    );
    let smallest = sums.iter().min_by(|a, b| a.1.total_cmp(&b.1)).unwrap();
    assert_eq!(
        fits.best().model().network().tying().iterations(),
        smallest.0
    );
}

#[test]
fn bytes_are_those_of_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.safetensors");
    let fits = Fit::of_table(table())
        .target("y")
        .budget(8)
        .methods([Method::Single])
        .effort(Effort::Quick)
        .run()
        .unwrap();
    let model = fits.best().model();
    model.save(&path).unwrap();
    let bytes = model.to_bytes().unwrap();
    assert_eq!(bytes, std::fs::read(&path).unwrap());
    let again = Model::from_bytes("memory", &bytes).unwrap();
    assert_eq!(again.to_bytes().unwrap(), bytes);
}
