//! What it took to come near the maximum of the likelihood, and how much is certainly missing.

use crate::efforts::{Effort, Reached};
use crate::results::Results;
use crate::sieve::BUILT;
use loopfit_model::Method;
use loopfit_report::figure::{Curve, Curves, LevelLine, Panel, Scale};
use loopfit_report::number::{self, Exponent};
use loopfit_report::{Align, Block, Table};

/// The tolerances that are asked for, in units of 1/n.
const TOLERANCES: [f64; 2] = [1.0, 10.0];

/// All that a sieve says.
pub(super) fn section(results: &Results) -> Vec<Block> {
    let efforts = &results.efforts;
    if efforts.is_empty() {
        return Vec::new();
    }
    let mut blocks = vec![Block::Heading(
        "How near the maximum of the likelihood".to_string(),
    )];
    blocks.extend(figure(results));
    blocks.extend(by_construction(results));
    blocks.push(certificates(results));
    if efforts.iter().any(|e| e.is_whole()) {
        blocks.push(costs(results));
    }
    blocks
}

fn title<'a>(results: &'a Results, effort: &'a Effort) -> &'a str {
    let own = results.study.cases.iter().find(|c| c.name == effort.case);
    own.map_or(&effort.case, |case| case.title())
}

/// `Loop, T = 4 (q 2, r 10)`.
fn class(effort: &Effort) -> String {
    let (q, r) = (effort.network.q(), effort.network.r());
    match effort.method {
        Method::Single => format!("Single (q {q}, r {r})"),
        method => {
            let t = effort.network.tying().iterations();
            format!("{method}, T = {t} (q {q}, r {r})")
        }
    }
}

fn route(effort: &Effort) -> String {
    match effort.route.as_str() {
        BUILT => "witness as built".to_string(),
        other => other.to_string(),
    }
}

/// What the construction alone says of each route into its class.
fn by_construction(results: &Results) -> Option<Block> {
    let built: Vec<&Effort> = results
        .efforts
        .iter()
        .filter(|e| e.route == BUILT)
        .collect();
    let mut lines = Vec::new();
    for witness in built {
        let routes = results
            .efforts
            .iter()
            .filter(|e| e.case == witness.case && e.network == witness.network && e.route != BUILT);
        for own in routes {
            let [best, middle] = own.above(witness);
            lines.push(format!(
                "{}, {}: tolerance >= {} for the best start and >= {} for the median one by the construction alone, which {}.",
                title(results, own),
                route(own),
                number::value((-best).max(0.0), 3, Exponent::Own),
                number::value((-middle).max(0.0), 3, Exponent::Own),
                match best > 0.0 {
                    true => format!("the best start is above by {}", number::value(best, 3, Exponent::Own)),
                    false => "no start is above".to_string(),
                }
            ));
        }
    }
    (!lines.is_empty()).then_some(Block::Bullets(lines))
}

/// What is certainly missing, class by class and route by route.
fn certificates(results: &Results) -> Block {
    let mut table = Table::new([
        ("", Align::Left),
        ("class", Align::Left),
        ("numbers", Align::Right),
        ("route", Align::Left),
        ("fits", Align::Right),
        ("log-likelihood, best start", Align::Right),
        ("median start", Align::Right),
        ("n \u{d7} tolerance \u{2265}, best start", Align::Right),
        ("n \u{d7} tolerance \u{2265}, median start", Align::Right),
    ]);
    for effort in &results.efforts {
        let [best, middle] = effort.likelihood();
        let [lacks, middle_lacks] = effort.tolerance();
        let n = effort.n as f64;
        table.push([
            title(results, effort).to_string(),
            class(effort),
            number::integer(effort.network.count() as u64),
            route(effort),
            effort.count().to_string(),
            number::fixed(best, 4),
            number::fixed(middle, 4),
            number::value(n * lacks, 3, Exponent::Plain),
            number::value(n * middle_lacks, 3, Exponent::Plain),
        ]);
    }
    Block::Table {
        caption: "Average log-likelihood of the training responses, standardised, under the simulation's noise: of each sample's \
                  best start (the median over samples) and of the median start. The certificate is the likelihood that is missing \
                  to the best member known of the same class, whatever route or climb found it; the theorems ask for n \
                  \u{d7} tolerance \u{2264} 1. The best known is a lower bound of the maximum, so that the true tolerance can only be larger."
            .to_string(),
        table,
    }
}

/// Updates and multiply-adds until a fit is near enough.
fn costs(results: &Results) -> Block {
    let mut table = Table::new([
        ("", Align::Left),
        ("class", Align::Left),
        ("route", Align::Left),
        ("never", Align::Right),
        ("updates: quartiles", Align::Right),
        ("multiply-adds: median", Align::Right),
        ("multiply-adds for each that gets there", Align::Right),
        ("never, 10/n", Align::Right),
        ("updates: median, 10/n", Align::Right),
    ]);
    for effort in results.efforts.iter().filter(|e| e.is_whole()) {
        let [tight, loose] = TOLERANCES.map(|t| effort.reached(t / effort.n as f64));
        let never = |reached: &Reached| {
            let share = (effort.count() - reached.fits) as f64 / effort.count() as f64;
            format!("{}%", number::fixed(100.0 * share, 0))
        };
        table.push([
            title(results, effort).to_string(),
            class(effort),
            route(effort),
            never(&tight),
            tight.updates.map(whole).join(", "),
            large(tight.multiply_adds),
            large(tight.per_success),
            never(&loose),
            whole(loose.updates[1]),
        ]);
    }
    Block::Table {
        caption: "Until the average log-likelihood is within 1/n of the best known of the class: the share of starts that never \
                  get there, the lower quartile, median and upper quartile of the updates (\u{2013} where it lies among those \
                  that never do), multiply-adds of the median start, and of all starts together, each until it is there or \
                  ends, for each that gets there; the same within 10/n. Evaluations of the likelihood on the way are not counted."
            .to_string(),
        table,
    }
}

fn whole(value: f64) -> String {
    match value.is_finite() {
        true => number::integer(value as u64),
        false => number::ABSENT.to_string(),
    }
}

fn large(value: f64) -> String {
    match value.is_finite() {
        true => number::value(value, 2, Exponent::Powers),
        false => number::ABSENT.to_string(),
    }
}

/// Multiply-adds for each start that gets there, against T; what no start of a class reaches has no point.
fn figure(results: &Results) -> Vec<Block> {
    let mut panels = Vec::new();
    for case in &results.study.cases {
        let own = results
            .efforts
            .iter()
            .filter(|e| e.case == case.name && e.is_whole());
        let own: Vec<&Effort> = own.collect();
        let cost = |effort: &Effort| effort.reached(1.0 / effort.n as f64).per_success;
        let mut routes: Vec<&str> = own.iter().map(|e| e.route.as_str()).collect();
        routes.sort_unstable();
        routes.dedup();
        let of = |method: Method, route: &str| {
            let all = own
                .iter()
                .filter(|e| e.method == method && e.route == route);
            let points = all.map(|e| (e.network.tying().iterations() as f64, cost(e)));
            points
                .filter(|(_, y)| y.is_finite())
                .collect::<Vec<(f64, f64)>>()
        };
        let curves: Vec<Curve> = routes
            .iter()
            .enumerate()
            .map(|(i, route)| {
                Curve::line(
                    format!("Loop, {route}"),
                    1 + 2 * i,
                    i > 0,
                    of(Method::Loop, route),
                )
            })
            .filter(|curve| !curve.points.is_empty())
            .collect();
        let mut levels = Vec::new();
        for method in [Method::Single, Method::Untied] {
            for route in &routes {
                let least = of(method, route).into_iter().map(|(_, y)| y);
                let y = least.fold(f64::INFINITY, f64::min);
                if y.is_finite() {
                    levels.push(LevelLine {
                        name: format!("{method}, {route}"),
                        y,
                    });
                }
            }
        }
        if curves.iter().any(|curve| curve.points.len() > 1) {
            panels.push(Panel {
                title: case.title().to_string(),
                x_label: "iteration count T".to_string(),
                y_label: "Multiply-adds for each start that gets within 1/n".to_string(),
                x_scale: Scale::Log,
                y_scale: Scale::Log,
                curves,
                levels,
            });
        }
    }
    if panels.is_empty() {
        return Vec::new();
    }
    let figure = Curves {
        title: format!("{}: the cost of sharing", results.study.title),
        panels,
    };
    vec![Block::Figure {
        name: format!("{}-cost", results.name),
        caption: "Multiply-adds of all starts, each until it is within 1/n of the best known likelihood of its class or ends, for \
                  each that gets there. Dotted: the cheapest shape of Single and of Untied under the same cap. A class that no start \
                  reached has no point."
            .to_string(),
        svg: figure.to_svg(),
    }]
}
