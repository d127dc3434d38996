//! Shares of the whole of the paper's studies, judged by the processor seconds that each study took.

#![allow(clippy::print_stdout, reason = "the figures of docs/cluster.md")]

use loopfit_numerics::stream::Stream;
use loopfit_study::run::Prepared;
use loopfit_study::shares::{Shares, pieces};
use loopfit_study::{Shard, builtin};
use std::collections::HashMap;

/// CPU seconds of each study, measured on all of its fits (docs/studies.md).
const MEASURED: [(&str, f64); 6] = [
    ("cap-path", 171.0),
    ("iteration-path", 106.0),
    ("sample-size-path", 97.0),
    ("ebm", 624.0),
    ("real-regression", 685.0),
    ("real-classification", 3651.0),
];
/// How far the prediction may be off for the tasks of a case, beyond its study's factor: the standard deviation of a logarithm.
const ERRORS: [f64; 3] = [0.1, 0.3, 0.5];
const DRAWS: u64 = 200;

/// The longest share over the mean.
fn longest(shares: &Shares, costs: &[f64]) -> f64 {
    let sums = shares.sums(costs);
    let mean = sums.iter().sum::<f64>() / sums.len() as f64;
    sums.into_iter().fold(0.0, f64::max) / mean
}

#[test]
#[ignore = "needs the data sets of the paper in LOOPFIT_DATA"]
fn sixteen_shares_of_the_paper_are_even() {
    let data = std::env::var_os("LOOPFIT_DATA").unwrap();
    let studies = builtin::find("paper").unwrap();
    let prepared = Prepared::all(&studies, Shard::WHOLE, Some(data.into())).unwrap();
    let pieces = pieces(&prepared).unwrap();
    let factor = |number: usize| {
        let own = pieces.iter().filter(|piece| piece.study == number);
        let predicted: f64 = own.map(|piece| piece.cost).sum();
        let name = &studies[number].name;
        let (_, measured) = MEASURED.iter().find(|(known, _)| known == name).unwrap();
        println!("{name}: {predicted:.0} s predicted, {measured} s measured");
        measured / predicted
    };
    let factors: Vec<f64> = (0..studies.len()).map(factor).collect();
    let costs = pieces.iter().map(|piece| piece.cost * factors[piece.study]);
    let costs: Vec<f64> = costs.collect();
    let all: f64 = costs.iter().sum();
    for count in [4, 8, 16, 32, 64, 256, 1_000, 10_000] {
        let shares = Shares::new(pieces.clone(), count);
        let even = longest(&shares, &costs);
        let end = shares.ends(&costs).into_iter().fold(0.0, f64::max);
        let speed_up = all / end;
        println!("{count} shares: longest {even:.2}, end {end:.1} s, speed-up {speed_up:.1}");
        if count > 64 {
            continue;
        }
        let late = ERRORS.map(|sd| {
            let draw = |number: u64| {
                // One factor for all tasks of a case in a phase.
                let mut cases = HashMap::new();
                let stream = Stream::new(number);
                let costs = pieces.iter().zip(&costs).map(|(piece, cost)| {
                    let key = (piece.study, piece.phase as u8, &piece.case);
                    let next = cases.len() as u64;
                    let at = *cases.entry(key).or_insert(next);
                    cost * (sd * stream.normal(at)).exp()
                });
                longest(&shares, &costs.collect::<Vec<f64>>())
            };
            let mut all: Vec<f64> = (0..DRAWS).map(draw).collect();
            all.sort_by(f64::total_cmp);
            all[DRAWS as usize * 19 / 20]
        });
        println!("  with errors of {ERRORS:?} below {late:.2?} in 95 of 100 draws");
        if count == 16 {
            assert!(even <= 1.1 && late[2] <= 1.3, "{even} {late:?}");
        }
    }
}
