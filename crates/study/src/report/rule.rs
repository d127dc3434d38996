//! What a rule chooses among cases on the same data, by validation alone.

use crate::protocol::{Case, CaseRule};
use crate::published::Published;
use crate::results::{Results, Validation};
use loopfit_model::Method;
use loopfit_numerics::sum::mean;
use loopfit_report::number::{self, Exponent};
use loopfit_report::{Align, Block, Cell, Table};

/// The section of a study with a rule.
pub(super) fn section(results: &Results, published: &Published) -> Vec<Block> {
    let Some(rule) = results.study.rule else {
        return Vec::new();
    };
    if results.validations.is_empty() {
        return Vec::new();
    }
    let table = match rule {
        CaseRule::LowestMean => lowest(results),
        CaseRule::LeastGain => gains(results, published),
    };
    vec![Block::Heading("Chosen by validation".to_string()), table]
}

/// Mean validation error of a method in a case, over seeds, splits and places; none if there is none.
fn error(validations: &[Validation], case: &Case, method: Method) -> Option<f64> {
    let own = validations
        .iter()
        .filter(|v| v.case == case.name && v.method == method);
    let errors: Vec<f64> = own.map(|v| v.error).collect();
    (!errors.is_empty()).then(|| mean(&errors))
}

/// The cases on the same data, in the order of the protocol.
fn groups(results: &Results) -> Vec<Vec<&Case>> {
    let mut groups: Vec<Vec<&Case>> = Vec::new();
    for case in &results.study.cases {
        match groups.iter_mut().find(|g| g[0].data == case.data) {
            Some(group) => group.push(case),
            None => groups.push(vec![case]),
        }
    }
    groups
}

/// Each method's errors in the cases, the lowest in bold.
fn lowest(results: &Results) -> Block {
    let methods = &results.study.methods;
    let mut columns = vec![("".to_string(), Align::Left)];
    columns.extend(methods.iter().map(|m| (m.to_string(), Align::Right)));
    let mut table = Table::new(columns);
    for group in groups(results) {
        let of = |case: &Case, method: Method| error(&results.validations, case, method);
        let all = group
            .iter()
            .flat_map(|case| methods.iter().filter_map(|m| of(case, *m)));
        let exponent = Exponent::column(all.collect::<Vec<_>>());
        for case in &group {
            let mut cells = vec![Cell::from(case.title().to_string())];
            for method in methods {
                let own = of(case, *method);
                let others = group.iter().filter_map(|case| of(case, *method));
                let least = others.fold(f64::INFINITY, f64::min);
                let q = case.path_shape(*method).map(|(q, _)| format!("q = {q}: "));
                let text = own.map_or(number::ABSENT.to_string(), |v| {
                    number::value(v, 4, exponent)
                });
                cells.push(Cell::marked(
                    format!("{}{text}", q.unwrap_or_default()),
                    own == Some(least),
                ));
            }
            table.push(cells);
        }
    }
    Block::Table {
        caption: "Validation error of the standardised response, averaged over seeds and all places of the axis: the lowest of each \
                  method is its choice, in bold."
            .to_string(),
        table,
    }
}

/// The relative improvements of Loop over Single and over Untied, from the errors of the three.
fn improvements([single, looped, untied]: [Option<f64>; 3]) -> [f64; 2] {
    let over = |other: Option<f64>| {
        let both = looped.zip(other);
        both.map_or(f64::NAN, |(looped, other)| 1.0 - looped / other)
    };
    [over(single), over(untied)]
}

/// Improvements of Loop in every case, the one with the largest smaller one in bold.
fn gains(results: &Results, published: &Published) -> Block {
    let mut table = Table::new([
        ("", Align::Left),
        ("B", Align::Right),
        ("Single", Align::Right),
        ("Loop", Align::Right),
        ("Untied", Align::Right),
        ("Loop over Single", Align::Right),
        ("Loop over Untied", Align::Right),
        ("the smaller", Align::Right),
        ("paper's B", Align::Right),
    ]);
    for group in groups(results) {
        let errors = |case: &Case| Method::ALL.map(|m| error(&results.validations, case, m));
        let both = |case: &Case| improvements(errors(case));
        let smaller = |case: &Case| both(case)[0].min(both(case)[1]);
        let largest = group
            .iter()
            .map(|c| smaller(c))
            .fold(f64::NEG_INFINITY, f64::max);
        let theirs = published.budget_of(&group[0].data);
        let all = group.iter().flat_map(|case| errors(case));
        let exponent = Exponent::column(all.flatten().collect::<Vec<_>>());
        for case in &group {
            let percent = |v: f64| match v.is_finite() {
                true => format!("{}%", number::fixed(100.0 * v, 1)),
                false => number::ABSENT.to_string(),
            };
            let mut cells = vec![case.title().to_string(), number::integer(case.cap() as u64)];
            cells.extend(errors(case).map(|e| {
                e.map_or(number::ABSENT.to_string(), |e| {
                    number::value(e, 4, exponent)
                })
            }));
            let [over_single, over_untied] = both(case);
            cells.extend([over_single, over_untied, smaller(case)].map(percent));
            cells.push(theirs.map_or(String::new(), |b| number::integer(b as u64)));
            match smaller(case) == largest {
                true => table.push_best(cells),
                false => table.push(cells),
            }
        }
    }
    Block::Table {
        caption: "Validation error of each method's best development model (of a response in units of its standard deviation), \
                  averaged over development seeds, and the relative improvement of Loop. The rule takes the cap at which the \
                  smaller of the two improvements is largest, in bold: the caps at which Loop looks best."
            .to_string(),
        table: table.without_empty_columns(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builtin;

    /// 0.8 against 1.0 and 1.6: a fifth and a half less.
    #[test]
    fn improvements_by_hand() {
        let [single, untied] = improvements([Some(1.0), Some(0.8), Some(1.6)]);
        assert!((single - 0.2).abs() < 1e-12 && (untied - 0.5).abs() < 1e-12);
        assert!(improvements([None, Some(0.8), Some(1.6)])[0].is_nan());
    }

    /// Errors are averaged over seeds, splits and places of the same case and method alone.
    #[test]
    fn errors_are_means_of_a_case_and_a_method() {
        let study = builtin::find("bump-dimension-cap").unwrap().remove(0).study;
        let of = |case: &str, method: Method, seed: i64, error: f64| Validation {
            case: case.to_string(),
            method,
            of: (None, seed, Some(64)),
            error,
        };
        let validations = [
            of("plus-0", Method::Loop, 1, 1.0),
            of("plus-0", Method::Loop, 2, 3.0),
            of("plus-1", Method::Loop, 1, 7.0),
            of("plus-0", Method::Single, 1, 9.0),
        ];
        let [first, second, third] = &study.cases[..] else {
            panic!("three cases");
        };
        assert_eq!(error(&validations, first, Method::Loop), Some(2.0));
        assert_eq!(error(&validations, second, Method::Loop), Some(7.0));
        assert_eq!(error(&validations, third, Method::Loop), None);
    }
}
