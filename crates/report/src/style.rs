//! One look for every figure and every page: the colours, light and dark, and the
//! style rules that are made of them.

use std::fmt::Write as _;

/// The colours of one scheme.
struct Palette {
    text: &'static str,
    muted: &'static str,
    paper: &'static str,
    /// Behind the best row of a table.
    raised: &'static str,
    grid: &'static str,
    rule: &'static str,
    axis: &'static str,
    seed: &'static str,
    /// Where a picture has no value.
    absent: &'static str,
    link: &'static str,
    series: [&'static str; SERIES],
    ramp: [&'static str; RAMP],
}

/// How many colours tell methods apart: Single, Loop, Untied, then three more.
const SERIES: usize = 6;

/// How many shades of Loop's colour a fan of curves has, and their first number.
const RAMP: usize = 6;
const FIRST_OF_RAMP: usize = 10;

/// The first three are told apart with any colour vision (after Okabe and Ito, 2008).
const LIGHT: Palette = Palette {
    text: "#1f2328",
    muted: "#59636e",
    paper: "#ffffff",
    raised: "#f2f5f8",
    grid: "#e4e8ec",
    rule: "#c9d1d9",
    axis: "#8c959f",
    seed: "#9aa4ae",
    absent: "#c9d1d9",
    link: "#0b5cad",
    series: [
        "#0072b2", "#d55e00", "#00875f", "#a8497f", "#6b6b6b", "#8a6d00",
    ],
    ramp: [
        "#f2bf94", "#e99f61", "#dd7c2b", "#c25700", "#943f00", "#612800",
    ],
};

const DARK: Palette = Palette {
    text: "#e6e9ec",
    muted: "#9aa4ae",
    paper: "#15181c",
    raised: "#232930",
    grid: "#2a2f36",
    rule: "#444c56",
    axis: "#6b7480",
    seed: "#7c8692",
    absent: "#444c56",
    link: "#7cb7f2",
    series: [
        "#56b4e9", "#ff9d4d", "#3fcf9f", "#e08fbf", "#b0b0b0", "#e6c84a",
    ],
    ramp: [
        "#76431a", "#a05a20", "#cb7429", "#f59443", "#ffb983", "#ffdfc6",
    ],
};

/// The class that colours series number `color`: 0 Single, 1 Loop, 2 Untied, 3 to 5
/// for others, from 10 on a ramp of Loop's hue, weak to strong.
pub(crate) fn series(color: usize) -> String {
    match color {
        ..FIRST_OF_RAMP => format!("c{}", color % SERIES),
        _ => format!("c{}", color.min(FIRST_OF_RAMP + RAMP - 1)),
    }
}

/// The style element of a figure.
///
/// Plain rules, no variables: the tools that turn a figure into a PDF know only
/// these. All of them are below `.loopfit`, because a page may hold the figure.
pub(crate) fn figure() -> String {
    let mut css = String::from(
        "<style>
.loopfit { font: 12px system-ui, 'Helvetica Neue', Arial, sans-serif; max-width: 100%; height: auto; }
.loopfit .title { font-size: 15px; font-weight: 600; }
.loopfit .name { font-size: 13px; font-weight: 600; }
.loopfit .seed, .loopfit .curve { fill: none; }
.loopfit .seed { stroke-opacity: 0.55; }
.loopfit .curve { stroke: currentColor; stroke-width: 1.8; stroke-linejoin: round; }
.loopfit .dashed { stroke-dasharray: 6 3.5; }
.loopfit .band { fill: currentColor; fill-opacity: 0.16; }
.loopfit .level { stroke-dasharray: 1.5 3; stroke-linecap: round; }
.loopfit .halo { paint-order: stroke; stroke-width: 3; stroke-linejoin: round; }
.loopfit .dot, .loopfit .mean, .loopfit .node { fill: currentColor; }
.loopfit .dot { fill-opacity: 0.6; }
.loopfit .faint { fill: currentColor; fill-opacity: 0.35; }
.loopfit .mean { stroke-width: 1.5; }
.loopfit .bar { stroke: currentColor; stroke-width: 2; }
.loopfit .published { stroke: currentColor; stroke-width: 1.4; }
.loopfit .missing { stroke: currentColor; stroke-width: 1.5; fill: none; }
.loopfit image { image-rendering: auto; }
.loopfit .frame { fill: none; }
",
    );
    figure_colors(&mut css, &LIGHT);
    css.push_str("@media (prefers-color-scheme: dark) {\n");
    figure_colors(&mut css, &DARK);
    css.push_str("}\n</style>\n");
    css
}

fn figure_colors(css: &mut String, palette: &Palette) {
    let Palette {
        text,
        muted,
        paper,
        grid,
        axis,
        seed,
        absent,
        ..
    } = palette;
    let _ = write!(
        css,
        ".loopfit text {{ fill: {text}; }}
.loopfit .small {{ fill: {muted}; }}
.loopfit .paper {{ fill: {paper}; }}
.loopfit .grid {{ stroke: {grid}; }}
.loopfit .axis, .loopfit .frame {{ stroke: {axis}; }}
.loopfit .seed {{ stroke: {seed}; }}
.loopfit .level {{ stroke: {muted}; }}
.loopfit .mean, .loopfit .halo {{ stroke: {paper}; }}
.loopfit .published {{ fill: {paper}; }}
.loopfit .absent {{ fill: {absent}; }}
.loopfit text.name {{ fill: currentColor; }}
"
    );
    let _ = writeln!(css, ".loopfit {{ color: {text}; }}");
    let numbered = palette.series.iter().enumerate();
    let ramp = palette.ramp.iter().zip(FIRST_OF_RAMP..);
    for (at, color) in numbered.chain(ramp.map(|(color, at)| (at, color))) {
        let _ = writeln!(css, ".loopfit .c{at} {{ color: {color}; }}");
    }
}

/// The style element of a page.
pub(crate) fn page() -> String {
    let mut css = String::from(
        "<style>
:root { color-scheme: light dark; }
body { margin: 0 auto; padding: 1.5rem 1rem 3rem; max-width: 64rem;
  font: 16px/1.55 system-ui, 'Helvetica Neue', Arial, sans-serif; }
h1 { font-size: 1.5rem; line-height: 1.25; margin: 0 0 0.25rem; overflow-wrap: anywhere; }
h2, h3 { line-height: 1.3; margin: 2.25rem 0 0.5rem; overflow-wrap: anywhere; }
h2 { font-size: 1.2rem; }
h3 { font-size: 1rem; }
p, li { max-width: 46rem; overflow-wrap: anywhere; }
.subtitle { margin: 0 0 1.5rem; }
nav { margin: 0 0 1.5rem; padding: 0.6rem 1rem; font-size: 0.9rem; border-left: 3px solid; }
nav ul { margin: 0; padding: 0; list-style: none; }
.anchor { text-decoration: none; font-weight: 400; opacity: 0; }
h2:hover .anchor, h3:hover .anchor, .anchor:focus { opacity: 1; }
.scroll { overflow-x: auto; }
figure { margin: 1.5rem 0; }
figure svg { display: block; width: 100%; }
figcaption { font-size: 0.9rem; max-width: 46rem; overflow-wrap: anywhere; }
figure.chart figcaption { margin-top: 0.5rem; }
figure.data figcaption { margin-bottom: 0.4rem; }
table { border-collapse: collapse; font-size: 0.9rem; font-variant-numeric: tabular-nums; }
th, td { padding: 0.4rem 0.75rem; white-space: nowrap; text-align: left; border-bottom: 1px solid; }
th { font-weight: 600; border-bottom-width: 2px; }
.right { text-align: right; }
td.best { font-weight: 700; }
details { margin: 1.5rem 0; }
summary { cursor: pointer; font-weight: 600; }
@media (max-width: 34rem) {
th, td { padding: 0.35rem 0.5rem; }
td:first-child { white-space: normal; min-width: 6.5rem; }
}
@media print {
:root, body { font-size: 10pt; }
body { max-width: none; padding: 0; }
table { font-size: 0.78rem; }
th, td { padding: 0.25rem 0.4rem; white-space: normal; }
nav, .anchor { display: none; }
.scroll { overflow: visible; }
figure, tr { break-inside: avoid; }
h2, h3 { break-after: avoid; }
details::details-content { content-visibility: visible; height: auto; }
}
",
    );
    page_colors(&mut css, &LIGHT);
    css.push_str("@media (prefers-color-scheme: dark) {\n");
    page_colors(&mut css, &DARK);
    css.push_str("}\n</style>\n");
    css
}

fn page_colors(css: &mut String, palette: &Palette) {
    let Palette {
        text,
        muted,
        paper,
        raised,
        grid,
        rule,
        link,
        ..
    } = palette;
    let _ = write!(
        css,
        "body {{ background: {paper}; color: {text}; }}
a {{ color: {link}; }}
.subtitle, th, figcaption, .anchor {{ color: {muted}; }}
th, td {{ border-color: {grid}; }}
th, nav {{ border-color: {rule}; }}
tr.best td {{ background: {raised}; }}
"
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_color_number_has_a_rule() {
        let css = figure();
        for color in (0..30).chain([usize::MAX]) {
            let rule = format!(".loopfit .{} {{", series(color));
            // Once light, once dark.
            assert_eq!(css.matches(&rule).count(), 2, "{color}");
        }
        for palette in [LIGHT, DARK] {
            let distinct: std::collections::BTreeSet<_> = palette.series.iter().collect();
            assert_eq!(distinct.len(), SERIES);
        }
    }
}
