use proptest::prelude::*;

use super::*;
use crate::fixtures::{curves, well_formed};

/// The values of an attribute of all elements of a class, in order.
fn attributes<'a>(svg: &'a str, class: &str, name: &str) -> Vec<&'a str> {
    let (class, name) = (format!("class=\"{class}\""), format!(" {name}=\""));
    svg.lines()
        .filter(|line| line.contains(&class))
        .filter_map(|line| line.split_once(&name)?.1.split('"').next())
        .collect()
}

/// Four sizes in equal ratios: 0.06 of their distance is air at each end, so that
/// they stand at 0.06, 0.06 + 1/3, ... of 1.12.
#[test]
fn points_stand_where_the_axis_puts_them() {
    let svg = curves().to_svg();
    let ends = attributes(&svg, "axis", "x2");
    let right: f64 = ends
        .iter()
        .filter_map(|x| x.parse().ok())
        .fold(0.0, f64::max);
    let left: f64 = attributes(&svg, "grid", "x1")[0].parse().unwrap();
    let expected: Vec<String> = (0..4)
        .map(|n| (0.06 + f64::from(n) / 3.0) / 1.12)
        .map(|position| format!("{:.1}", left + (right - left) * position))
        .collect();
    let nodes = attributes(&svg, "node", "cx");
    // Two entries of the legend, then Single, then Loop without its second point.
    assert_eq!(nodes[2..6], expected);
    assert_eq!(nodes[6..], [&*expected[0], &*expected[2], &*expected[3]]);
}

#[test]
fn a_missing_point_breaks_the_line_and_is_marked() {
    let svg = curves().to_svg();
    // Its two single values are missing too.
    assert_eq!(attributes(&svg, "missing", "d").len(), 3);
    assert!(svg.contains("× marks what the axis cannot show: 3 of 25 values."));
    assert_eq!(attributes(&svg, "curve", "d").len(), 1);
    assert_eq!(attributes(&svg, "band", "d").len(), 2);
    assert!(svg.contains(">64</text>") && svg.contains(">512</text>"));
    assert!(svg.contains(">noise</text>"));
}

/// On a logarithmic axis a band may reach below zero: it ends at the axis.
#[test]
fn a_band_is_cut_at_the_end_of_the_axis() {
    let mut figure = curves();
    figure.panels[0].curves.truncate(1);
    figure.panels[0].curves[0].points[3].low = -1.0;
    let svg = figure.to_svg();
    let bottom = attributes(&svg, "axis", "y2")
        .into_iter()
        .filter_map(|y| y.parse::<f64>().ok())
        .fold(0.0, f64::max);
    let band = attributes(&svg, "band", "d")[0];
    // The axis' ticks reach five below it.
    assert!(band.contains(&format!(" {:.1}L", bottom - 5.0)), "{band}");
}

#[test]
fn published_means_are_hollow_and_beside_ours() {
    let panel = PairPanel {
        title: "bumps".into(),
        metric: "MSE".into(),
        methods: vec![
            PairMethod {
                name: "Single".into(),
                color: 0,
                values: vec![2.0, 3.0],
                se: Some(0.25),
                published: Some((2.5, 0.5)),
            },
            PairMethod {
                name: "Loop".into(),
                color: 1,
                values: vec![1.0, f64::NAN],
                se: None,
                published: None,
            },
        ],
    };
    let svg = Pairs {
        title: "Pairs".into(),
        panels: vec![panel],
    }
    .to_svg();
    assert_eq!(attributes(&svg, "published", "d").len(), 1);
    assert_eq!(attributes(&svg, "mean", "d").len(), 1);
    // The bar has the standard error that was given, half of the published one, about the same mean.
    let ends = |class: &str| -> Vec<f64> {
        let ends = attributes(&svg, class, "y1");
        ends.iter().filter_map(|y| y.parse().ok()).collect()
    };
    let reach = |class: &str| {
        let ends = ends(class);
        let (low, high) = (
            ends.iter().copied().fold(0.0, f64::max),
            ends.iter().copied().fold(f64::INFINITY, f64::min),
        );
        low - high
    };
    let (ours, theirs) = (reach("bar"), reach("published"));
    assert!(
        ours > 0.0 && (0.45..0.55).contains(&(ours / theirs)),
        "{ours} {theirs}"
    );
    assert_eq!(attributes(&svg, "dot", "cx").len(), 3);
    assert_eq!(attributes(&svg, "missing", "d").len(), 1);
}

/// The first index is x, the second y, and the origin is at the lower left: read back
/// from the picture, whose rows begin at the top.
#[test]
fn fields_have_their_origin_at_the_lower_left() {
    let picture = Field {
        title: String::new(),
        side: 2,
        values: vec![0.0, f64::NAN, 0.5, 1.0],
    };
    assert_eq!(picture.entries(|value| value), [0, 255, 1, 128]);
}

/// Numbers that a figure may stumble over, as likely as ordinary ones.
fn number() -> impl Strategy<Value = f64> {
    prop_oneof![
        any::<f64>(),
        -1.0..1.0f64,
        1e-6..1e6f64,
        Just(0.0),
        Just(f64::NAN),
        Just(f64::INFINITY),
        Just(f64::NEG_INFINITY),
        Just(f64::MAX),
        Just(-f64::MAX),
    ]
}

fn numbers(most: usize) -> impl Strategy<Value = Vec<f64>> {
    prop::collection::vec(number(), 0..=most)
}

fn scale() -> impl Strategy<Value = Scale> {
    prop_oneof![Just(Scale::Linear), Just(Scale::Log)]
}

prop_compose! {
    fn point()(x in number(), centre in number(), low in number(), high in number(), values in numbers(3)) -> Point {
        Point { x, centre, low, high, values }
    }
}

prop_compose! {
    fn curve()(name in any::<String>(), color in any::<usize>(), dashed in any::<bool>(),
               points in prop::collection::vec(point(), 0..20)) -> Curve {
        Curve { name, color, dashed, points }
    }
}

prop_compose! {
    fn panel()(title in any::<String>(), label in any::<String>(), x_scale in scale(), y_scale in scale(),
               curves in prop::collection::vec(curve(), 0..4), levels in numbers(3)) -> Panel {
        Panel {
            title,
            x_label: label.clone(),
            y_label: label.clone(),
            x_scale,
            y_scale,
            curves,
            levels: levels.into_iter().map(|y| LevelLine { name: label.clone(), y }).collect(),
        }
    }
}

prop_compose! {
    fn pair_method()(name in any::<String>(), color in any::<usize>(), values in numbers(5),
                     se in prop::option::of(number()),
                     published in prop::option::of((number(), number()))) -> PairMethod {
        PairMethod { name, color, values, se, published }
    }
}

prop_compose! {
    fn pair_panel()(title in any::<String>(),
                    methods in prop::collection::vec(pair_method(), 0..5)) -> PairPanel {
        PairPanel { metric: title.clone(), title, methods }
    }
}

prop_compose! {
    fn field()(title in any::<String>(), side in 0..5usize, values in numbers(30)) -> Field {
        Field { title, side, values }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_curves_are_well_formed(title in any::<String>(), panels in prop::collection::vec(panel(), 0..5)) {
        well_formed(&Curves { title, panels }.to_svg());
    }

    #[test]
    fn any_pairs_are_well_formed(title in any::<String>(), panels in prop::collection::vec(pair_panel(), 0..5)) {
        well_formed(&Pairs { title, panels }.to_svg());
    }

    #[test]
    fn any_fields_are_well_formed(title in any::<String>(),
                                  rows in prop::collection::vec(prop::collection::vec(field(), 0..4), 0..3)) {
        let rows = rows.into_iter().map(|fields| FieldRow { label: title.clone(), fields }).collect();
        well_formed(&Fields { axes: [title.clone(), title.clone()], title, rows }.to_svg());
    }
}
