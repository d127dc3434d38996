//! Unicode tables for a terminal, with rules above, below and under the header.

use std::fmt::Write as _;

use unicode_width::UnicodeWidthStr;

use crate::figure::wrap;
use crate::{Align, Block, Comparison, Document, Table, escape};

/// How wide texts are set.
const COLUMNS: usize = 80;

/// Escape codes around what is emphasised.
const BOLD: &str = "\u{1b}[1m";
const PLAIN: &str = "\u{1b}[0m";
/// Between two columns.
const GAP: usize = 2;

impl Table {
    /// Lines for a terminal. With `color` the header and the best rows are
    /// emphasised by escape codes, without it the text is plain.
    pub fn to_terminal(&self, color: bool) -> String {
        let header = self.columns.iter().map(|(name, _)| (name.as_str(), true));
        let rows = self.rows.iter().map(|row| {
            let cells = row.cells.iter().map(|c| (c.text.as_str(), c.best));
            cells.collect::<Vec<_>>()
        });
        let lines: Vec<Vec<(String, bool)>> = [header.collect()]
            .into_iter()
            .chain(rows)
            .map(|cells: Vec<(&str, bool)>| {
                let cells = cells.into_iter();
                cells
                    .map(|(text, bold)| (escape::one_line(text), color && bold))
                    .collect()
            })
            .collect();
        let widest = |k: usize| {
            let cells = lines.iter().map(|line| line[k].0.width());
            cells.max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..self.columns.len()).map(widest).collect();
        let whole = widths.iter().sum::<usize>() + GAP * widths.len().saturating_sub(1);
        let rule = format!("{}\n", "─".repeat(whole));
        let mut text = rule.clone();
        for (i, line) in lines.iter().enumerate() {
            let mut set = String::new();
            for (k, (cell, bold)) in line.iter().enumerate() {
                let blank = " ".repeat(widths[k] - cell.width());
                let cell = match bold {
                    true => format!("{BOLD}{cell}{PLAIN}"),
                    false => cell.clone(),
                };
                let gap = " ".repeat(if k == 0 { 0 } else { GAP });
                let _ = match self.columns[k].1 {
                    Align::Left => write!(set, "{gap}{cell}{blank}"),
                    Align::Right => write!(set, "{gap}{blank}{cell}"),
                };
            }
            let _ = writeln!(text, "{}", set.trim_end());
            if i == 0 {
                text += &rule;
            }
        }
        text + &rule
    }
}

impl Document {
    /// Title, headings, texts and tables for a terminal of 80 columns, `color` as for
    /// [`Table::to_terminal`]. Figures are left out, what is folded, and headings of
    /// nothing else.
    pub fn to_terminal(&self, color: bool) -> String {
        let mut text = emphasised(&self.title, color);
        paragraph(&mut text, "", &self.subtitle);
        let mut heading = None;
        for block in &self.blocks {
            let shown = matches!(
                block,
                Block::Text(_)
                    | Block::Bullets(_)
                    | Block::Links(_)
                    | Block::Pages(_)
                    | Block::Table { .. }
            );
            if let Some(heading) = heading.take_if(|_| shown) {
                let _ = write!(text, "\n{}", emphasised(heading, color));
            }
            match block {
                Block::Heading(name) => heading = Some(name),
                Block::Text(content) => {
                    text.push('\n');
                    paragraph(&mut text, "", content);
                }
                Block::Bullets(items) => {
                    text.push('\n');
                    for item in items {
                        paragraph(&mut text, "- ", item);
                    }
                }
                Block::Links(links) | Block::Pages(links) => {
                    text.push('\n');
                    for link in links {
                        paragraph(&mut text, "- ", &format!("{}: {}", link.title, link.text));
                    }
                }
                Block::Table { caption, table } => {
                    text.push('\n');
                    paragraph(&mut text, "", caption);
                    text += &table.to_terminal(color);
                }
                Block::Figure { .. } | Block::Details { .. } => {}
            }
        }
        text
    }
}

/// A title or a heading.
fn emphasised(heading: &str, color: bool) -> String {
    let (bold, plain) = if color { (BOLD, PLAIN) } else { ("", "") };
    format!("{bold}{}{plain}\n", escape::one_line(heading))
}

/// Lines of at most [`COLUMNS`] characters, the first after `mark`, the others below
/// the first one's text.
fn paragraph(out: &mut String, mark: &str, content: &str) {
    let width = COLUMNS - mark.len();
    for (at, line) in wrap(&escape::one_line(content), width, usize::MAX)
        .iter()
        .enumerate()
    {
        let mark = if at == 0 { mark } else { "" };
        let indent = COLUMNS - width;
        let _ = writeln!(out, "{mark:indent$}{line}");
    }
}

impl Comparison {
    /// The whole comparison for a terminal, `color` as for [`Table::to_terminal`].
    pub fn to_terminal(&self, color: bool) -> String {
        let mut text = emphasised(self.title(), color);
        let _ = writeln!(text, "{}\n", escape::one_line(&self.setting()));
        text += &self.methods_table().to_terminal(color);
        let paired = self.paired_table();
        if !paired.is_empty() {
            text.push('\n');
            text += &paired.to_terminal(color);
        }
        if let Some(definition) = self.definition() {
            text.push('\n');
            paragraph(&mut text, "", &definition);
        }
        if !self.notes().is_empty() {
            text.push('\n');
        }
        for note in self.notes() {
            let _ = writeln!(text, "{}", escape::one_line(note));
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use crate::fixtures::{awkward, bumps, comparison, document};

    #[test]
    fn a_document() {
        insta::assert_snapshot!(document().to_terminal(false), @r#"
        Errors & sample size
        Two sizes, eight seeds.

        Results

        Loop is lower at n = 64; * marks nothing here.

        Mean (SE) of the error at 95%.
        ───────────────────────────────────────
          n            Single              Loop
        ───────────────────────────────────────
         64  3.1 (0.2) × 10⁻³  2.6 (0.1) × 10⁻³
        128  1.4 (0.1) × 10⁻³                 –
        ───────────────────────────────────────

        Results

        - One remark.
        - Another <remark>.
        "#);
    }

    #[test]
    fn plain_text() {
        insta::assert_snapshot!(bumps().to_terminal(false), @r#"
        Single, Loop and Untied under a cap of 128 numbers
        sim:bumps, at most 128 numbers, 8 seeds; MSE against f0, lower is better

        ────────────────────────────────────────────────────────────────────────────────
        method             mean (SE)       median  wins  shape          numbers  updates
        ────────────────────────────────────────────────────────────────────────────────
        Single  2.920 (0.065) × 10⁻³  2.92 × 10⁻³   1/8  q=4 r=11           127   96,000
        Loop      2.64 (0.11) × 10⁻³  2.65 × 10⁻³   7/8  q=4 r=11 T=16      127   96,000
        Untied  3.087 (0.080) × 10⁻³  3.04 × 10⁻³   0/8  q=6 r=2 T=3        121   96,000
        ────────────────────────────────────────────────────────────────────────────────

        ──────────────────────────────────────────────────
        paired difference            mean (SE)  Loop lower
        ──────────────────────────────────────────────────
        Loop − Single      −2.79 (0.77) × 10⁻⁴         7/8
        Loop − Untied      −4.46 (0.63) × 10⁻⁴         8/8
        ──────────────────────────────────────────────────

        SE is the standard error of a mean over seeds: their standard deviation
        (denominator n − 1) divided by the square root of their number n.

        4096 training and 1024 validation rows per seed; the test targets are noise-free.
        "#);
    }

    #[test]
    fn one_seed() {
        let c = comparison(&[("single", &[0.51]), ("loop", &[f64::NAN])]);
        insta::assert_snapshot!(c.to_terminal(false), @r#"
        Single, Loop and Untied under a cap of 128 numbers
        sim:bumps, at most 128 numbers, seed 88000; MSE against f0, lower is better

        ────────────────────────────────────────────────────────────
        method  value  median  wins  shape          numbers  updates
        ────────────────────────────────────────────────────────────
        Single  0.510   0.510   1/1  q=4 r=11           127   96,000
        Loop        –       –   0/1  q=4 r=11 T=16      127   96,000
        ────────────────────────────────────────────────────────────

        ────────────────────────────────────
        paired difference  value  Loop lower
        ────────────────────────────────────
        Loop − Single          –         0/1
        ────────────────────────────────────
        "#);
    }

    #[test]
    fn color_adds_escape_codes_and_nothing_else() {
        let (plain, color) = (bumps().to_terminal(false), bumps().to_terminal(true));
        let mut stripped = String::new();
        for (at, part) in color.split('\u{1b}').enumerate() {
            stripped += if at == 0 {
                part
            } else {
                part.split_once('m').unwrap().1
            };
        }
        assert_ne!(plain, color);
        let trimmed = |text: &str| {
            text.lines()
                .map(str::trim_end)
                .collect::<Vec<_>>()
                .join("\n")
        };
        assert_eq!(trimmed(&stripped), trimmed(&plain));
    }

    #[test]
    fn text_from_outside_cannot_steer_the_terminal() {
        for c in awkward() {
            assert!(!c.to_terminal(false).contains('\u{1b}'));
        }
    }
}
