//! LaTeX tables in the manner of the package booktabs, for a paper.

use std::fmt::Write as _;

use crate::document::visit;
use crate::table::Row;
use crate::{Align, Block, Document, Table, escape};

/// Rows of a page; a longer table goes on in the next.
const ROWS: usize = 40;

impl Table {
    /// A `table` environment that is never wider than the text, or several for more rows than a page
    /// has; the best cells are bold. It needs `\usepackage{booktabs,graphicx}`; without a caption it has
    /// none, and no label.
    pub fn to_latex(&self, caption: &str, label: &str) -> String {
        let mut text = self.part(caption, label, &self.rows[..self.rows.len().min(ROWS)]);
        for rows in self.rows.chunks(ROWS).skip(1) {
            let caption = format!("{caption} (continued)");
            let _ = write!(text, "\n{}", self.part(caption.trim(), "", rows));
        }
        text
    }

    fn part(&self, caption: &str, label: &str, rows: &[Row]) -> String {
        let mut text = String::from("\\begin{table}[htbp]\n\\centering\n");
        if !caption.is_empty() {
            let _ = writeln!(text, "\\caption{{{}}}", escape::latex(caption));
            // A label refers to the number of its caption.
            if !label.is_empty() {
                let _ = writeln!(text, "\\label{{tab:{label}}}");
            }
        }
        let columns = self.columns.iter().map(|(_, align)| match align {
            Align::Left => 'l',
            Align::Right => 'r',
        });
        let columns: String = columns.collect();
        text += "\\small\\setlength{\\tabcolsep}{4pt}\n";
        text += "\\resizebox{\\ifdim\\width>\\linewidth\\linewidth\\else\\width\\fi}{!}{%\n";
        let _ = writeln!(text, "\\begin{{tabular}}{{{columns}}}\n\\toprule");
        let names = self.columns.iter().map(|(name, _)| escape::latex(name));
        text += &line(names);
        text += "\\midrule\n";
        for row in rows {
            let cells = row
                .cells
                .iter()
                .map(|cell| match escape::latex(&cell.text) {
                    text if cell.best && !text.is_empty() => {
                        format!("\\textbf{{\\boldmath {text}}}")
                    }
                    text => text,
                });
            text += &line(cells);
        }
        text += "\\bottomrule\n\\end{tabular}}\n\\end{table}\n";
        text
    }
}

/// The cells of a row. Behind a rule or another row a bracket or a star would begin an option of that.
fn line(cells: impl Iterator<Item = String>) -> String {
    let line = cells.collect::<Vec<_>>().join(" & ");
    let guard = if line.starts_with(['[', '*']) {
        "{}"
    } else {
        ""
    };
    format!("{guard}{line} \\\\\n")
}

impl Document {
    /// Every table, also those inside details, as [`Table::to_latex`] writes it; their labels are
    /// `tab:NAME-1`, `tab:NAME-2` and so on.
    pub fn to_latex(&self, name: &str) -> String {
        let mut tables = vec!["% \\usepackage{booktabs,graphicx}\n".to_string()];
        visit(&self.blocks, &mut |block| {
            if let Block::Table { caption, table } = block {
                let label = format!("{name}-{}", tables.len());
                tables.push(table.to_latex(caption, &label));
            }
        });
        tables.join("\n")
    }
}

#[cfg(test)]
mod tests {
    use crate::fixtures::document;
    use crate::{Align, Cell, Table};
    use proptest::prelude::*;

    #[test]
    fn tables_for_a_paper() {
        insta::assert_snapshot!(document().to_latex("errors"), @r#"
        % \usepackage{booktabs,graphicx}

        \begin{table}[htbp]
        \centering
        \caption{Mean (SE) of the error at 95\%.}
        \label{tab:errors-1}
        \small\setlength{\tabcolsep}{4pt}
        \resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%
        \begin{tabular}{rrr}
        \toprule
        $n$ & Single & Loop \\
        \midrule
        64 & 3.1 (0.2) $\times 10^{-3}$ & \textbf{\boldmath 2.6 (0.1) $\times 10^{-3}$} \\
        128 & \textbf{\boldmath 1.4 (0.1) $\times 10^{-3}$} & -- \\
        \bottomrule
        \end{tabular}}
        \end{table}

        \begin{table}[htbp]
        \centering
        \small\setlength{\tabcolsep}{4pt}
        \resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%
        \begin{tabular}{rrr}
        \toprule
        $n$ & Single & Loop \\
        \midrule
        64 & 3.1 (0.2) $\times 10^{-3}$ & \textbf{\boldmath 2.6 (0.1) $\times 10^{-3}$} \\
        128 & \textbf{\boldmath 1.4 (0.1) $\times 10^{-3}$} & -- \\
        \bottomrule
        \end{tabular}}
        \end{table}
        "#);
    }

    /// What TeX would stop at: braces and dollars in pairs, as many cells as columns, and nothing but letters, digits and what
    /// was escaped outside of them.
    fn lint(text: &str) -> Result<(), String> {
        let (mut depth, mut math, mut columns) = (0i32, false, 0);
        for line in text.lines().filter(|line| !line.starts_with('%')) {
            let wrong = |what: &str| Err(format!("{what}: {line}"));
            let (mut before, mut cells) = (' ', 1);
            for c in line.chars() {
                match c {
                    _ if before == '\\' => (),
                    '{' => depth += 1,
                    '}' => depth -= 1,
                    '$' => math = !math,
                    '&' if math => return wrong("math over two cells"),
                    '&' => cells += 1,
                    '^' | '_' if !math => return wrong("outside of math"),
                    '#' | '~' => return wrong("not escaped"),
                    _ => (),
                }
                // Two backslashes end a row and escape nothing.
                before = if (before, c) == ('\\', '\\') { ' ' } else { c };
            }
            if math || depth < 0 {
                return wrong("without a partner");
            }
            if let Some(own) = line.strip_prefix("\\begin{tabular}") {
                columns = own.matches(['l', 'r']).count();
            }
            if line.ends_with(" \\\\") && (cells != columns || line.starts_with(['[', '*'])) {
                return wrong("other cells than the columns, or an option of the row before");
            }
        }
        match depth {
            0 => Ok(()),
            _ => Err("braces without partners".to_string()),
        }
    }

    #[test]
    fn what_tex_stops_at_is_found() {
        for wrong in ["a_1", "{a", "$a", "a $ & $ b", "#1", "[a] & b \\\\"] {
            assert!(lint(wrong).is_err(), "{wrong}");
        }
        assert_eq!(lint(&document().to_latex("errors")), Ok(()));
    }

    proptest! {
        #[test]
        fn tables_can_be_set_whatever_they_hold(texts in proptest::collection::vec(any::<String>(), 4), best: bool) {
            let mut table = Table::new([(texts[0].as_str(), Align::Left), (texts[1].as_str(), Align::Right)]);
            let cells = [Cell::marked(texts[2].clone(), best), Cell::from("[1] *".to_string())];
            table.push(cells.clone());
            table.push([cells[1].clone(), cells[0].clone()]);
            let text = table.to_latex(&texts[3], "a");
            prop_assert_eq!(lint(&text), Ok(()), "{}", text);
        }
    }

    /// A page has room for so many rows; the rest is a table of its own.
    #[test]
    fn a_long_table_goes_on() {
        let mut table = Table::new([("n", Align::Right)]);
        (0..90).for_each(|n| table.push([n.to_string()]));
        let text = table.to_latex("All.", "all");
        assert_eq!(text.matches("\\begin{table}").count(), 3);
        assert_eq!(text.matches("\\label{tab:all}").count(), 1);
        assert_eq!(text.matches("All. (continued)").count(), 2);
        assert!((0..90).all(|n| text.contains(&format!("\n{n} \\\\"))));
    }
}
