//! Risks along the sample size, their slopes beside the theorems', and what each rule for the iteration count loses.

use super::trend::slope;
use crate::contender::{Contender, Rule};
use crate::results::{Entry, Point, Results, Value};
use loopfit_data::Simulation;
use loopfit_model::Method;
use loopfit_numerics::libm::{exp, log, pow};
use loopfit_numerics::sum::{mean, standard_error};
use loopfit_report::figure::{self, Curve, Curves, LevelLine, Panel, Scale};
use loopfit_report::number::{self, Exponent, mean_se};
use loopfit_report::statistics::median;
use loopfit_report::{Align, Block, Table};

/// Who has columns, in their order.
const SHOWN: [Contender; 10] = [
    Contender::Method(Method::Loop),
    Contender::Chosen(Rule::Fixed),
    Contender::Chosen(Rule::Penalised),
    Contender::Chosen(Rule::Validation),
    Contender::Chosen(Rule::CrossValidation),
    Contender::Chosen(Rule::Lepski),
    Contender::Method(Method::Single),
    Contender::Method(Method::Untied),
    Contender::Smoother,
    Contender::Constant,
];

/// Who is drawn, with a colour and whether dashed.
const DRAWN: [(Contender, usize, bool); 7] = [
    (Contender::Constant, 4, true),
    (Contender::Smoother, 3, false),
    (Contender::Method(Method::Single), 0, false),
    (Contender::Method(Method::Untied), 2, false),
    (Contender::Chosen(Rule::Fixed), 11, true),
    (Contender::Chosen(Rule::Penalised), 15, true),
    (Contender::Method(Method::Loop), 1, false),
];

/// Colours of curves that are not methods; then dashed ones follow.
const COLOURS: usize = 6;

/// Rules that choose an iteration count.
const RULES: [Contender; 6] = [
    Contender::Method(Method::Loop),
    Contender::Chosen(Rule::Fixed),
    Contender::Chosen(Rule::Penalised),
    Contender::Chosen(Rule::Validation),
    Contender::Chosen(Rule::CrossValidation),
    Contender::Chosen(Rule::Lepski),
];

/// All targets of one class at one sample size.
struct Size<'a> {
    n: f64,
    /// One for each target.
    points: Vec<&'a Point>,
}

impl Size<'_> {
    /// The mean over seeds of each target.
    fn risks(&self, of: Contender) -> Vec<f64> {
        let entries = self.points.iter().filter_map(|point| point.entry(of));
        entries.map(Entry::mean).collect()
    }

    fn mean(&self, of: Contender) -> f64 {
        mean(&self.risks(of))
    }

    /// Of the worst target.
    fn worst(&self, of: Contender) -> f64 {
        self.risks(of).into_iter().fold(f64::NAN, f64::max)
    }

    /// Every replication's value of a contender beside those of all iteration counts.
    fn replications(&self, of: Contender) -> Vec<(&Value, Vec<&Value>)> {
        let mut found = Vec::new();
        for point in &self.points {
            let Some(entry) = point.entry(of) else {
                continue;
            };
            for value in &entry.values {
                let cuts = point.entries.iter();
                let cuts = cuts.filter(|e| matches!(e.of, Contender::Cut { .. }));
                let same = cuts.flat_map(|e| e.values.iter().filter(|v| v.seed == value.seed));
                found.push((value, same.collect()));
            }
        }
        found
    }

    /// Logarithms of each replication's risk over that of the best iteration count in hindsight.
    fn regrets(&self, of: Contender) -> Vec<f64> {
        let all = self.replications(of).into_iter();
        all.map(|(value, cuts)| {
            let best = cuts.iter().map(|v| v.value).fold(f64::INFINITY, f64::min);
            log(value.value / best)
        })
        .filter(|regret| regret.is_finite())
        .collect()
    }

    /// The median of the iteration counts that a rule chose.
    fn chosen(&self, of: Contender) -> f64 {
        let all = self.replications(of).into_iter();
        let counts: Vec<f64> = all.filter_map(|(value, _)| iterations(value)).collect();
        median(&counts)
    }

    /// The median of the iteration counts that were best in hindsight.
    fn best(&self) -> f64 {
        let all = self.replications(Method::Loop.into()).into_iter();
        let counts: Vec<f64> = all
            .filter_map(|(_, cuts)| {
                let finite = cuts.into_iter().filter(|v| v.value.is_finite());
                iterations(finite.min_by(|a, b| a.value.total_cmp(&b.value))?)
            })
            .collect();
        median(&counts)
    }
}

fn iterations(value: &Value) -> Option<f64> {
    Some(value.network.as_ref()?.tying().iterations() as f64)
}

/// The targets of one class along the sample size.
struct Class<'a> {
    title: &'a str,
    /// `a/(a+1)`.
    exponent: f64,
    sizes: Vec<Size<'a>>,
}

impl Class<'_> {
    /// Slope on logarithmic axes and its standard error.
    fn slope(&self, of: Contender, risk: impl Fn(&Size<'_>, Contender) -> f64) -> String {
        let line: Vec<(f64, f64)> = self
            .sizes
            .iter()
            .map(|size| (size.n, risk(size, of)))
            .filter(|(_, risk)| risk.is_finite() && *risk > 0.0)
            .collect();
        match slope(&line) {
            Some((slope, se)) => mean_se(slope, se, Exponent::Own),
            None => number::ABSENT.to_string(),
        }
    }
}

fn classes(results: &Results) -> Vec<Class<'_>> {
    let mut classes: Vec<Class<'_>> = Vec::new();
    for point in &results.points {
        let (Some(title), Some(n)) = (point.case.curve.as_deref(), point.at) else {
            continue;
        };
        let place = classes.iter().position(|class| class.title == title);
        let place = place.unwrap_or_else(|| {
            let name = point.case.data.strip_prefix("sim:").unwrap_or_default();
            let d = name.parse::<Simulation>().map_or(1, Simulation::dim);
            let follow = point.case.follow.as_ref();
            classes.push(Class {
                title,
                exponent: follow.map_or(f64::NAN, |follow| follow.exponent(d)),
                sizes: Vec::new(),
            });
            classes.len() - 1
        });
        let sizes = &mut classes[place].sizes;
        match sizes.iter_mut().find(|size| size.n == n) {
            Some(size) => size.points.push(point),
            None => sizes.push(Size {
                n,
                points: vec![point],
            }),
        }
    }
    for class in &mut classes {
        class.sizes.sort_by(|a, b| a.n.total_cmp(&b.n));
    }
    classes
}

/// Of some contenders those that a study has: without held-out rows nobody chooses by them.
fn present(of: &[Contender], results: &Results) -> Vec<Contender> {
    let has = |own: &Contender| results.points.iter().any(|p| p.entry(*own).is_some());
    of.iter().copied().filter(has).collect()
}

/// What a schedule's study says.
pub(super) fn section(results: &Results) -> Vec<Block> {
    let classes = classes(results);
    let (shown, rules) = (present(&SHOWN, results), present(&RULES, results));
    let mut blocks = vec![figure(results, &classes)];
    blocks.push(Block::Heading("Slopes beside the theorem's".to_string()));
    let mean: fn(&Size<'_>, Contender) -> f64 = |size, of| size.mean(of);
    let worst: fn(&Size<'_>, Contender) -> f64 = |size, of| size.worst(of);
    for (what, risk) in [("mean over targets", mean), ("worst target", worst)] {
        blocks.push(Block::Table {
            caption: format!(
                "Least-squares slope of the {what} on logarithmic axes, with its standard error from the residuals; the theorem's \
                 is −a/(a+1), up to a logarithm."
            ),
            table: slopes(&classes, &shown, risk),
        });
    }
    blocks.push(Block::Heading("Loop over Untied".to_string()));
    blocks.push(ratio_figure(results, &classes));
    blocks.push(Block::Table {
        caption: "Mean risk of Loop at the theorem's T over that of Untied, and of the worst targets after the slash."
            .to_string(),
        table: ratios(&classes),
    });
    blocks.push(Block::Heading("What each rule for T loses".to_string()));
    blocks.extend(regrets(&classes, &rules));
    blocks.push(Block::Heading("Risks".to_string()));
    for class in &classes {
        blocks.push(Block::Table {
            caption: format!(
                "{}: squared Hellinger risk, mean over targets and seeds / mean of the worst target over seeds.",
                class.title
            ),
            table: risks(class, &shown),
        });
    }
    blocks
}

fn figure(results: &Results, classes: &[Class<'_>]) -> Block {
    let panels = classes.iter().map(|class| {
        let mut curves: Vec<Curve> = DRAWN
            .into_iter()
            .map(|(of, color, dashed)| Curve {
                name: of.to_string(),
                color,
                dashed,
                points: class.sizes.iter().map(|size| drawn(size, of)).collect(),
            })
            .collect();
        // The theorem's slope, through the smoother's first point.
        if let Some(first) = class.sizes.first() {
            let from = first.mean(Contender::Smoother);
            let at = |size: &Size<'_>| from * pow(size.n / first.n, -class.exponent);
            let points = class.sizes.iter().map(|size| exact(size.n, at(size)));
            curves.insert(
                0,
                Curve {
                    name: "theorem's slope".to_string(),
                    color: 4,
                    dashed: false,
                    points: points.collect(),
                },
            );
        }
        Panel {
            title: class.title.to_string(),
            x_label: results.study.axis.clone().unwrap_or_default(),
            y_label: "Squared Hellinger risk".to_string(),
            x_scale: Scale::Log,
            y_scale: Scale::Log,
            curves,
            levels: Vec::new(),
        }
    });
    let figure = Curves {
        title: results.study.title.clone(),
        panels: panels.collect(),
    };
    Block::Figure {
        name: format!("{}-curves", results.name),
        caption: "Means over targets and seeds; shading reaches to the worst target.".to_string(),
        svg: figure.to_svg(),
    }
}

/// The ratio that goes to zero in the theorems, one curve for each class.
fn ratio_figure(results: &Results, classes: &[Class<'_>]) -> Block {
    let (own, other) = (Method::Loop.into(), Method::Untied.into());
    let curves = classes.iter().enumerate().map(|(i, class)| {
        let ratio = |size: &Size<'_>| (size.n, size.mean(own) / size.mean(other));
        let points = class.sizes.iter().map(ratio);
        Curve::line(class.title, i % COLOURS, i >= COLOURS, points)
    });
    let figure = Curves {
        title: format!("{}: Loop over Untied", results.study.title),
        panels: vec![Panel {
            title: "Mean risk of Loop over that of Untied".to_string(),
            x_label: results.study.axis.clone().unwrap_or_default(),
            y_label: "Ratio".to_string(),
            x_scale: Scale::Log,
            y_scale: Scale::Log,
            curves: curves.collect(),
            levels: vec![LevelLine {
                name: "equal".to_string(),
                y: 1.0,
            }],
        }],
    };
    Block::Figure {
        name: format!("{}-ratio", results.name),
        caption: "Mean risk over targets and seeds of Loop at the theorem's T over that of Untied; below the line Loop is better."
            .to_string(),
        svg: figure.to_svg(),
    }
}

fn drawn(size: &Size<'_>, of: Contender) -> figure::Point {
    let mean = size.mean(of);
    figure::Point {
        high: size.worst(of),
        ..exact(size.n, mean)
    }
}

fn exact(x: f64, centre: f64) -> figure::Point {
    figure::Point {
        x,
        centre,
        low: centre,
        high: centre,
        values: Vec::new(),
    }
}

fn columns(first: &str, second: &[&str], rest: &[Contender]) -> Vec<(String, Align)> {
    let names = second.iter().map(|name| name.to_string());
    let rest = rest.iter().map(Contender::to_string);
    std::iter::once((first.to_string(), Align::Left))
        .chain(names.chain(rest).map(|name| (name, Align::Right)))
        .collect()
}

fn slopes(
    classes: &[Class<'_>],
    shown: &[Contender],
    risk: fn(&Size<'_>, Contender) -> f64,
) -> Table {
    let mut table = Table::new(columns("", &["−a/(a+1)"], shown));
    for class in classes {
        let mut cells = vec![class.title.to_string(), number::fixed(-class.exponent, 3)];
        cells.extend(shown.iter().map(|of| class.slope(*of, risk)));
        table.push(cells);
    }
    table
}

fn ratios(classes: &[Class<'_>]) -> Table {
    let mut all: Vec<f64> = classes
        .iter()
        .flat_map(|c| c.sizes.iter().map(|s| s.n))
        .collect();
    all.sort_by(f64::total_cmp);
    all.dedup();
    let names: Vec<String> = all
        .iter()
        .map(|n| format!("n = {}", number::shortest(*n)))
        .collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut table = Table::new(columns("", &names, &[]));
    let (own, other) = (Method::Loop.into(), Method::Untied.into());
    for class in classes {
        let mut cells = vec![class.title.to_string()];
        for n in &all {
            let size = class.sizes.iter().find(|size| size.n == *n);
            cells.push(size.map_or(String::new(), |size| {
                both(
                    size.mean(own) / size.mean(other),
                    size.worst(own) / size.worst(other),
                    size,
                )
            }));
        }
        table.push(cells);
    }
    table
}

/// Two numbers, or one where there is one target.
fn both(mean: f64, worst: f64, size: &Size<'_>) -> String {
    let value = |v: f64| number::value(v, 3, Exponent::Own);
    match size.points.len() {
        1 => value(mean),
        _ => format!("{} / {}", value(mean), value(worst)),
    }
}

fn regrets(classes: &[Class<'_>], rules: &[Contender]) -> Vec<Block> {
    let mut table = Table::new(columns("", &[], rules));
    let of_all = |of: Contender| -> Vec<f64> {
        let sizes = classes.iter().flat_map(|class| &class.sizes);
        sizes.flat_map(|size| size.regrets(of)).collect()
    };
    let cell = |logs: Vec<f64>| match logs.len() {
        0 => number::ABSENT.to_string(),
        _ => {
            let (centre, se) = (exp(mean(&logs)), standard_error(&logs));
            mean_se(centre, Some(centre * se), Exponent::Own)
        }
    };
    for class in classes {
        let of = |of| {
            class
                .sizes
                .iter()
                .flat_map(|size| size.regrets(of))
                .collect()
        };
        let mut cells = vec![class.title.to_string()];
        cells.extend(rules.iter().map(|rule| cell(of(*rule))));
        table.push(cells);
    }
    let mut all = vec!["all".to_string()];
    all.extend(rules.iter().map(|rule| cell(of_all(*rule))));
    table.push(all);
    let mut tails = Table::new(columns("", &[], rules));
    let tail = |share: f64| {
        move |mut logs: Vec<f64>| {
            logs.sort_by(f64::total_cmp);
            let last = logs.len().saturating_sub(1) as f64;
            let at = logs.get((share * last).round() as usize).copied();
            number::value(exp(at.unwrap_or(f64::NAN)), 3, Exponent::Own)
        }
    };
    for (name, share) in [
        ("median", 0.5),
        ("nine of ten are below", 0.9),
        ("largest", 1.0),
    ] {
        let mut cells = vec![name.to_string()];
        cells.extend(rules.iter().map(|rule| tail(share)(of_all(*rule))));
        tails.push(cells);
    }
    let mut chosen = Table::new(columns("", &["n", "best in hindsight"], rules));
    for class in classes {
        for size in &class.sizes {
            let mut cells = vec![
                class.title.to_string(),
                number::shortest(size.n),
                number::shortest(size.best()),
            ];
            cells.extend(
                rules
                    .iter()
                    .map(|rule| number::shortest(size.chosen(*rule))),
            );
            chosen.push(cells);
        }
    }
    vec![
        Block::Table {
            caption: "Risk over that of the best iteration count in hindsight of the same replication: geometric means (SE). Loop is the \
                      theorem's T_n."
                .to_string(),
            table,
        },
        Block::Table {
            caption: "The same over all replications: quantiles.".to_string(),
            table: tails,
        },
        Block::Details {
            summary: "Iteration counts that were chosen, medians".to_string(),
            blocks: vec![Block::Table {
                caption: "Medians over targets and seeds.".to_string(),
                table: chosen,
            }],
        },
    ]
}

fn risks(class: &Class<'_>, shown: &[Contender]) -> Table {
    let mut table = Table::new(columns("n", &["B", "q", "r", "T"], shown));
    for size in &class.sizes {
        let follow = size.points[0].case.follow.as_ref();
        let shape = follow.map_or([0; 3], |follow| follow.shape());
        let mut cells = vec![number::shortest(size.n), size.points[0].budget.to_string()];
        cells.extend(shape.map(|v| v.to_string()));
        cells.extend(
            shown
                .iter()
                .map(|of| both(size.mean(*of), size.worst(*of), size)),
        );
        table.push(cells);
    }
    table
}
