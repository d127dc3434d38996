use proptest::prelude::*;

use super::*;
use crate::fixtures::well_formed;

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
    fn pair_panel()(title in any::<String>(),
                    methods in prop::collection::vec((any::<String>(), any::<usize>(), numbers(5)), 0..5),
                    published in prop::collection::vec(prop::option::of((number(), number())), 0..6)) -> PairPanel {
        PairPanel { metric: title.clone(), title, methods, published }
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
        well_formed(&Fields { title, rows }.to_svg());
    }
}
