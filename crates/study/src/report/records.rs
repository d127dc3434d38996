//! What stands behind the results: the development screen, costs, every seed.

use super::tables::{capitalised, point_name};
use crate::results::{Results, Value};
use loopfit_report::number::{self, Exponent};
use loopfit_report::{Align, Block, Table};

/// What the development screen found.
pub(super) fn screen(results: &Results) -> Vec<Block> {
    if results.screened.is_empty() {
        return Vec::new();
    }
    let methods = &results.study.methods;
    let mut columns = vec![("setting".to_string(), Align::Left)];
    columns.extend(methods.iter().map(|m| (m.to_string(), Align::Right)));
    for name in ["Loop lowest on", "advantage", "eligible"] {
        columns.push((name.to_string(), Align::Right));
    }
    let mut table = Table::new(columns);
    for screened in &results.screened {
        let exponent = Exponent::of(screened.means.iter().flatten().copied());
        let mut cells = vec![screened.case.clone()];
        cells.extend(screened.means.iter().map(|m| {
            m.map_or(number::ABSENT.to_string(), |m| {
                number::value(m, 3, exponent)
            })
        }));
        cells.push(screened.wins.to_string());
        let advantage = screened.advantage;
        cells.push(advantage.map_or(number::ABSENT.to_string(), |a| {
            format!("{}%", number::fixed(100.0 * a, 1))
        }));
        cells.push(if screened.eligible { "yes" } else { "no" }.to_string());
        if results.selected.as_ref() == Some(&screened.case) {
            table.push_best(cells);
        } else {
            table.push(cells);
        }
    }
    let selected = match &results.selected {
        Some(case) => format!(
            "The rule (Loop has the smallest mean development error and wins on enough seeds; then the \
             largest advantage over the second best) selects {case}."
        ),
        None => "No setting is eligible.".to_string(),
    };
    vec![
        Block::Heading("Development screen".to_string()),
        Block::Text(selected),
        Block::Table {
            caption: "Mean development error of each method's best model by validation."
                .to_string(),
            table,
        },
    ]
}

/// Fits, updates and processor time of every method.
pub(super) fn costs(results: &Results) -> Vec<Block> {
    let mut table = Table::new([
        ("phase", Align::Left),
        ("method", Align::Left),
        ("fits", Align::Right),
        ("updates", Align::Right),
        ("CPU seconds", Align::Right),
        ("updates per CPU second", Align::Right),
    ]);
    for cost in &results.costs {
        let rate = cost.updates as f64 / cost.seconds.max(1e-9);
        table.push([
            cost.phase.clone(),
            capitalised(&cost.method),
            number::integer(cost.fits),
            number::integer(cost.updates),
            number::fixed(cost.seconds, 1),
            number::integer(rate as u64),
        ]);
    }
    if table.is_empty() {
        return Vec::new();
    }
    vec![
        Block::Heading("What it cost".to_string()),
        Block::Table {
            caption: "All fits, those that were not selected included.".to_string(),
            table,
        },
    ]
}

/// Every value behind the means.
pub(super) fn each_seed(results: &Results) -> Vec<Block> {
    let mut blocks = Vec::new();
    for point in &results.points {
        let mut columns = vec![
            ("split".to_string(), Align::Right),
            ("seed".to_string(), Align::Right),
        ];
        columns.extend(
            point
                .entries
                .iter()
                .map(|e| (e.label.clone(), Align::Right)),
        );
        let mut table = Table::new(columns);
        let Some(first) = point.entries.first() else {
            continue;
        };
        for value in &first.values {
            let split = value.split.map_or(String::new(), |s| s.to_string());
            let mut cells = vec![split, value.seed.to_string()];
            for entry in &point.entries {
                let same = |v: &&Value| v.split == value.split && v.seed == value.seed;
                let own = entry.values.iter().find(same).map_or(f64::NAN, |v| v.value);
                cells.push(number::value(own, 4, Exponent::Own));
            }
            table.push(cells);
        }
        blocks.push(Block::Table {
            caption: format!("{}, {}.", point_name(results, point), point.metric),
            table: table.without_empty_columns(),
        });
    }
    if blocks.is_empty() {
        return Vec::new();
    }
    vec![Block::Details {
        summary: "Every seed".to_string(),
        blocks,
    }]
}
