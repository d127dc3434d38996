//! Markdown with pipe tables, padded so that the source reads as a table too.

use std::fmt::Write as _;

use crate::comparison::PAGES;
use crate::{Align, Block, Comparison, Document, Link, Table, escape};

impl Table {
    /// A pipe table; the best rows and cells are bold.
    pub fn to_markdown(&self) -> String {
        let header: Vec<String> = self
            .columns
            .iter()
            .map(|(name, _)| escape::markdown(name))
            .collect();
        let rows = self.rows.iter().map(|row| {
            let cells = row.cells.iter();
            let cells = cells.map(|cell| match escape::markdown(&cell.text) {
                text if cell.best && !text.is_empty() => format!("**{text}**"),
                text => text,
            });
            cells.collect()
        });
        let lines: Vec<Vec<String>> = [header].into_iter().chain(rows).collect();
        // Three dashes at least: some readers do not take fewer for a rule.
        let widths: Vec<usize> = (0..self.columns.len())
            .map(|at| {
                lines
                    .iter()
                    .map(|line| line[at].chars().count())
                    .fold(3, usize::max)
            })
            .collect();
        let mut text = String::new();
        for (at, line) in lines.iter().enumerate() {
            for ((cell, width), (_, align)) in line.iter().zip(&widths).zip(&self.columns) {
                let _ = match align {
                    Align::Left => write!(text, "| {cell:<width$} "),
                    Align::Right => write!(text, "| {cell:>width$} "),
                };
            }
            text.push_str("|\n");
            if at == 0 {
                for (width, (_, align)) in widths.iter().zip(&self.columns) {
                    let _ = match align {
                        Align::Left => write!(text, "|:{:-<width$}-", ""),
                        Align::Right => write!(text, "|-{:-<width$}:", ""),
                    };
                }
                text.push_str("|\n");
            }
        }
        text
    }
}

impl Document {
    /// A page that shows figure `name` from the address `{figures}{name}.svg`.
    pub fn to_markdown(&self, figures: &str) -> String {
        let mut text = format!("# {}\n", escape::markdown(&self.title));
        if !self.subtitle.is_empty() {
            let _ = writeln!(text, "\n{}", escape::markdown(&self.subtitle));
        }
        write_blocks(&mut text, &self.blocks, figures, 2);
        text
    }
}

/// Appends blocks, each after an empty line, their headings at the given level.
fn write_blocks(text: &mut String, blocks: &[Block], figures: &str, level: usize) {
    for block in blocks {
        text.push('\n');
        match block {
            Block::Heading(heading) => {
                let _ = writeln!(text, "{} {}", "#".repeat(level), escape::markdown(heading));
            }
            Block::Text(content) => {
                let _ = writeln!(text, "{}", escape::markdown(content));
            }
            Block::Bullets(items) => {
                for item in items {
                    let _ = writeln!(text, "- {}", escape::markdown(item));
                }
            }
            Block::Links(links) => *text += &linked(links, "md"),
            Block::Pages(links) => *text += &linked(links, "html"),
            Block::Table { caption, table } => {
                if !caption.is_empty() {
                    let _ = writeln!(text, "{}\n", escape::markdown(caption));
                }
                *text += &table.to_markdown();
            }
            Block::Figure { name, caption, .. } => {
                let alternative = if caption.is_empty() { name } else { caption };
                *text += &image(alternative, &format!("{figures}{name}.svg"));
                if !caption.is_empty() {
                    let _ = writeln!(text, "\n{}", escape::markdown(caption));
                }
            }
            Block::Details { summary, blocks } => {
                let _ = writeln!(
                    text,
                    "<details>\n<summary>{}</summary>",
                    escape::xml(summary)
                );
                write_blocks(text, blocks, figures, (level + 1).min(6));
                *text += "\n</details>\n";
            }
        }
    }
}

fn image(alternative: &str, place: &str) -> String {
    format!("![{}]({})\n", escape::markdown(alternative), address(place))
}

/// A list of links to files with an ending.
fn linked(links: &[Link], ending: &str) -> String {
    let item = |link: &Link| {
        format!(
            "- [{}]({}): {}\n",
            escape::markdown(&link.title),
            address(&format!("{}.{ending}", link.page)),
            escape::markdown(&link.text)
        )
    };
    links.iter().map(item).collect()
}

/// An address that ends where it should.
fn address(place: &str) -> String {
    let place = place.replace(' ', "%20");
    place.replace(['<', '>', '(', ')', '\n'], "")
}

impl Comparison {
    /// A page with every table; `figure` is the address of a picture to show,
    /// relative to the page.
    pub fn to_markdown(&self, figure: Option<&str>) -> String {
        let mut text = format!("# {}\n\n", escape::markdown(self.title()));
        let _ = writeln!(text, "{}.\n", escape::markdown(&self.setting()));
        text += &self.methods_table().to_markdown();
        let paired = self.paired_table();
        if !paired.is_empty() {
            text.push('\n');
            text += &paired.to_markdown();
        }
        if let Some(definition) = self.definition() {
            let _ = writeln!(text, "\n{}", escape::markdown(&definition));
        }
        if let Some(address) = figure {
            let _ = write!(text, "\n{}", image(self.title(), address));
        }
        if !self.pages().is_empty() {
            let _ = writeln!(text, "\n## {PAGES}\n");
        }
        text += &linked(self.pages(), "html");
        text += "\n## Each seed\n\n";
        text += &self.seeds_table().to_markdown();
        if !self.notes().is_empty() {
            text += "\n## Notes\n\n";
            for note in self.notes() {
                let _ = writeln!(text, "- {}", escape::markdown(note));
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use crate::fixtures::{awkward, bumps, document};

    #[test]
    fn a_document() {
        insta::assert_snapshot!(document().to_markdown("figures/"), @r#"
        # Errors &amp; sample size

        Two sizes, eight seeds.

        ## Results

        Loop is lower at n = 64; \* marks nothing here.

        Mean (SE) of the error at 95%.

        |   n |               Single |                 Loop |
        |----:|---------------------:|---------------------:|
        |  64 |     3.1 (0.2) × 10⁻³ | **2.6 (0.1) × 10⁻³** |
        | 128 | **1.4 (0.1) × 10⁻³** |                    – |

        ![Errors against n.](figures/errors.svg)

        Errors against n.

        ## Results

        - One remark.
        - Another &lt;remark\>.

        ## …

        <details>
        <summary>Each seed</summary>

        ### Seeds

        |   n |               Single |                 Loop |
        |----:|---------------------:|---------------------:|
        |  64 |     3.1 (0.2) × 10⁻³ | **2.6 (0.1) × 10⁻³** |
        | 128 | **1.4 (0.1) × 10⁻³** |                    – |

        ![seeds](figures/seeds.svg)

        </details>
        "#);
    }

    #[test]
    fn a_page() {
        insta::assert_snapshot!(bumps().to_markdown(Some("comparison.svg")), @r#"
        # Single, Loop and Untied under a cap of 128 numbers

        sim:bumps, at most 128 numbers, 8 seeds; MSE against f0, lower is better.

        | method   |              mean (SE) |          median |    wins | shape             | numbers |    updates |
        |:---------|-----------------------:|----------------:|--------:|:------------------|--------:|-----------:|
        | Single   |   2.920 (0.065) × 10⁻³ |     2.92 × 10⁻³ |     1/8 | q=4 r=11          |     127 |     96,000 |
        | **Loop** | **2.64 (0.11) × 10⁻³** | **2.65 × 10⁻³** | **7/8** | **q=4 r=11 T=16** | **127** | **96,000** |
        | Untied   |   3.087 (0.080) × 10⁻³ |     3.04 × 10⁻³ |     0/8 | q=6 r=2 T=3       |     121 |     96,000 |

        | paired difference |           mean (SE) | Loop lower |
        |:------------------|--------------------:|-----------:|
        | Loop − Single     | −2.79 (0.77) × 10⁻⁴ |        7/8 |
        | Loop − Untied     | −4.46 (0.63) × 10⁻⁴ |        8/8 |

        SE is the standard error of a mean over seeds: their standard deviation (denominator n − 1) divided by the square root of their number n.

        ![Single, Loop and Untied under a cap of 128 numbers](comparison.svg)

        ## Each seed

        |  seed |       Single |         Loop |       Untied |
        |------:|-------------:|-------------:|-------------:|
        | 88000 | 2.950 × 10⁻³ | 2.410 × 10⁻³ | 3.120 × 10⁻³ |
        | 88001 | 2.710 × 10⁻³ | 2.750 × 10⁻³ | 2.950 × 10⁻³ |
        | 88002 | 3.180 × 10⁻³ | 2.980 × 10⁻³ | 3.410 × 10⁻³ |
        | 88003 | 2.840 × 10⁻³ | 2.330 × 10⁻³ | 2.790 × 10⁻³ |
        | 88004 | 3.020 × 10⁻³ | 2.870 × 10⁻³ | 3.250 × 10⁻³ |
        | 88005 | 2.660 × 10⁻³ | 2.190 × 10⁻³ | 2.880 × 10⁻³ |
        | 88006 | 3.110 × 10⁻³ | 3.050 × 10⁻³ | 3.330 × 10⁻³ |
        | 88007 | 2.890 × 10⁻³ | 2.550 × 10⁻³ | 2.970 × 10⁻³ |

        ## Notes

        - 4096 training and 1024 validation rows per seed; the test targets are noise-free.
        "#);
    }

    /// Every line of a table has as many unescaped bars as its neighbours.
    #[test]
    fn whatever_the_values_tables_stay_rectangular() {
        for c in awkward() {
            for table in [c.methods_table(), c.paired_table(), c.seeds_table()] {
                let text = table.to_markdown().replace("\\\\", "").replace("\\|", "");
                let bars: Vec<usize> = text.lines().map(|line| line.matches('|').count()).collect();
                assert!(bars.iter().all(|n| *n == table.columns.len() + 1), "{text}");
            }
        }
    }
}
