//! Results shared by the tests of every writer.

use crate::figure::{Curve, Curves, LevelLine, Panel, Point, Scale};
use crate::{Align, Block, Cell, Comparison, Document, MethodResult, SeedResult, Table};

/// A method with the given values and a shape of its own.
pub(crate) fn method(key: &str, values: &[f64]) -> MethodResult {
    let (name, shape, count) = match key {
        "single" => ("Single", "q=4 r=11", 127),
        "loop" => ("Loop", "q=4 r=11 T=16", 127),
        "single-transformer" => ("Single Transformer", "q=3 r=4", 128),
        "loop-transformer" => ("Loop Transformer", "q=3 r=4 T=16", 128),
        "untied-transformer" => ("Untied Transformer", "q=2 r=3 T=2", 123),
        _ => ("Untied", "q=6 r=2 T=3", 121),
    };
    MethodResult {
        key: key.into(),
        name: name.into(),
        updates: 96_000,
        results: values
            .iter()
            .map(|&value| SeedResult {
                shape: shape.into(),
                count,
                value,
            })
            .collect(),
    }
}

/// Methods on the seeds 88000, 88001, ... under a cap of 128.
pub(crate) fn comparison(methods: &[(&str, &[f64])]) -> Comparison {
    let seeds = (88_000..).take(methods[0].1.len()).collect();
    let methods = methods
        .iter()
        .map(|(key, values)| method(key, values))
        .collect();
    Comparison::new(
        "Single, Loop and Untied under a cap of 128 numbers",
        "sim:bumps",
        128,
        "MSE against f0",
        seeds,
        methods,
    )
    .unwrap()
}

/// Eight seeds of a plausible experiment.
pub(crate) fn bumps() -> Comparison {
    comparison(&[
        (
            "single",
            &[
                2.95e-3, 2.71e-3, 3.18e-3, 2.84e-3, 3.02e-3, 2.66e-3, 3.11e-3, 2.89e-3,
            ],
        ),
        (
            "loop",
            &[
                2.41e-3, 2.75e-3, 2.98e-3, 2.33e-3, 2.87e-3, 2.19e-3, 3.05e-3, 2.55e-3,
            ],
        ),
        (
            "untied",
            &[
                3.12e-3, 2.95e-3, 3.41e-3, 2.79e-3, 3.25e-3, 2.88e-3, 3.33e-3, 2.97e-3,
            ],
        ),
    ])
    .with_notes([
        "4096 training and 1024 validation rows per seed; the test targets are noise-free.",
    ])
}

/// The methods of two architectures.
pub(crate) fn six() -> Comparison {
    comparison(&[
        ("single", &[2.95e-3, 2.71e-3, 3.18e-3, 2.84e-3]),
        ("loop", &[2.41e-3, 2.75e-3, 2.98e-3, 2.33e-3]),
        ("untied", &[3.12e-3, 2.95e-3, 3.41e-3, 2.79e-3]),
        ("single-transformer", &[4.55e-3, 4.21e-3, 4.18e-3, 3.84e-3]),
        ("loop-transformer", &[3.41e-3, 2.65e-3, 2.91e-3, 3.33e-3]),
        ("untied-transformer", &[6.12e-3, 5.95e-3, 6.41e-3, 5.79e-3]),
    ])
}

/// Results that a figure or a table may stumble over.
pub(crate) fn awkward() -> Vec<Comparison> {
    let nan = f64::NAN;
    let mut hostile = comparison(&[("loop", &[1.0, 2.0]), ("single", &[2.0, 3.0])]);
    let evil = "</text><script>alert(\"1\")</script> & | \u{1b}[31m\n# 'x'";
    hostile = Comparison::new(
        evil,
        evil,
        128,
        evil,
        vec![1, 2],
        hostile
            .methods()
            .iter()
            .map(|m| {
                let mut m = m.clone();
                m.name = evil.into();
                m.results[1].shape = evil.into();
                m
            })
            .collect(),
    )
    .unwrap()
    .with_notes([evil]);
    vec![
        hostile,
        comparison(&[("loop", &[0.0, 0.0]), ("single", &[0.0, 0.0])]),
        comparison(&[("loop", &[-1.0, 2.0]), ("single", &[-3e5, 0.0])]),
        comparison(&[("loop", &[nan, 2.0]), ("single", &[1.0, f64::INFINITY])]),
        comparison(&[("loop", &[nan, nan]), ("single", &[nan, nan])]),
        comparison(&[
            ("loop", &[2.5e-4]),
            ("single", &[3e-4]),
            ("untied", &[2.7e-4]),
        ]),
        comparison(&[("single", &[1.0, 1.0, 1.0])]),
        six(),
        comparison(&[("loop", &[1e-300, 1e300]), ("single", &[5e-324, f64::MAX])]),
        comparison(&[
            ("loop", &[1e-6, 1.0]),
            ("single", &[0.1, 0.2]),
            ("untied", &[0.3, 0.1]),
        ]),
        comparison(&[
            ("loop", &[f64::MAX, f64::MAX]),
            ("single", &[-f64::MAX, -f64::MAX]),
        ]),
    ]
}

/// A small report with one block of each kind.
pub(crate) fn document() -> Document {
    let mut table = Table::new([
        ("n", Align::Right),
        ("Single", Align::Right),
        ("Loop", Align::Right),
    ]);
    table.push([
        Cell::from("64"),
        Cell::from("3.1 (0.2) × 10⁻³"),
        Cell::best("2.6 (0.1) × 10⁻³"),
    ]);
    table.push([
        Cell::from("128"),
        Cell::best("1.4 (0.1) × 10⁻³"),
        Cell::from("–"),
    ]);
    Document {
        title: "Errors & sample size".into(),
        subtitle: "Two sizes, eight seeds.".into(),
        blocks: vec![
            Block::Heading("Results".into()),
            Block::Text("Loop is lower at n = 64; * marks nothing here.".into()),
            Block::Table {
                caption: "Mean (SE) of the error at 95%.".into(),
                table: table.clone(),
            },
            Block::Figure {
                name: "errors".into(),
                caption: "Errors against n.".into(),
                svg: curves().to_svg(),
            },
            Block::Heading("Results".into()),
            Block::Bullets(vec!["One remark.".into(), "Another <remark>.".into()]),
            Block::Heading("…".into()),
            Block::Details {
                summary: "Each seed".into(),
                blocks: vec![
                    Block::Heading("Seeds".into()),
                    Block::Table {
                        caption: String::new(),
                        table,
                    },
                    Block::Figure {
                        name: "seeds".into(),
                        caption: String::new(),
                        svg: curves().to_svg(),
                    },
                ],
            },
        ],
    }
}

/// Two curves, one with a gap.
pub(crate) fn curves() -> Curves {
    let point = |x: f64, centre: f64| Point {
        x,
        centre,
        low: 0.9 * centre,
        high: 1.1 * centre,
        values: vec![0.8 * centre, 1.3 * centre],
    };
    let curve = |name: &str, color: usize, centres: [f64; 4]| Curve {
        name: name.into(),
        color,
        dashed: color == 0,
        points: [64.0, 128.0, 256.0, 512.0]
            .into_iter()
            .zip(centres)
            .map(|(x, centre)| point(x, centre))
            .collect(),
    };
    Curves {
        title: "Error against sample size".into(),
        panels: vec![Panel {
            title: "bumps".into(),
            x_label: "n".into(),
            y_label: "MSE".into(),
            x_scale: Scale::Log,
            y_scale: Scale::Log,
            curves: vec![
                curve("Single", 0, [8e-3, 5e-3, 4e-3, 3e-3]),
                curve("Loop", 1, [6e-3, f64::NAN, 1e-3, 5e-4]),
            ],
            levels: vec![LevelLine {
                name: "noise".into(),
                y: 4e-4,
            }],
        }],
    }
}

/// Checks that a figure is XML, alone in its world and made of numbers.
pub(crate) fn well_formed(svg: &str) {
    let parsed = roxmltree::Document::parse(svg).unwrap_or_else(|e| panic!("{e} in {svg}"));
    for node in parsed.descendants() {
        assert!(!node.has_tag_name("script"), "{svg}");
        for attribute in node.attributes() {
            let (name, value) = (attribute.name(), attribute.value());
            assert_ne!(name, "id", "ids collide in a page with several figures");
            let written = ["aria-label", "href", "class"].contains(&name);
            let number = !["NaN", "inf"].iter().any(|word| value.contains(word));
            assert!(written || number, "{name}={value}");
        }
    }
}

/// Checks that every tag of `document` is closed in order.
pub(crate) fn balanced(document: &str) {
    let mut open: Vec<&str> = Vec::new();
    let mut rest = document;
    while let Some((_, after)) = rest.split_once('<') {
        let (tag, after) = after.split_once('>').expect("every tag ends");
        rest = after;
        let name = tag
            .trim_start_matches('/')
            .split([' ', '/'])
            .next()
            .unwrap_or("");
        // Attributes are all quoted, so that quotes come in pairs.
        assert!(tag.matches('"').count().is_multiple_of(2), "<{tag}>");
        match tag {
            _ if tag.starts_with('!') || tag.ends_with('/') || name == "meta" => {}
            _ if tag.starts_with('/') => assert_eq!(open.pop(), Some(name), "</{name}>"),
            _ => open.push(name),
        }
    }
    assert!(open.is_empty(), "left open: {open:?}");
}
