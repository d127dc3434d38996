//! LaTeX tables in the manner of the package booktabs, for a paper.

use std::fmt::Write as _;

use crate::document::visit;
use crate::{Align, Block, Document, Table, escape};

impl Table {
    /// A `table` environment; the best cells are bold. It needs
    /// `\usepackage{booktabs}`; without a caption it has none.
    pub fn to_latex(&self, caption: &str) -> String {
        let mut text = String::from("\\begin{table}\n\\centering\n");
        if !caption.is_empty() {
            let _ = writeln!(text, "\\caption{{{}}}", escape::latex(caption));
        }
        let columns = self.columns.iter().map(|(_, align)| match align {
            Align::Left => 'l',
            Align::Right => 'r',
        });
        let columns: String = columns.collect();
        let _ = writeln!(text, "\\begin{{tabular}}{{{columns}}}\n\\toprule");
        let names = self.columns.iter().map(|(name, _)| escape::latex(name));
        let _ = writeln!(
            text,
            "{} \\\\\n\\midrule",
            names.collect::<Vec<_>>().join(" & ")
        );
        for row in &self.rows {
            let cells = row
                .cells
                .iter()
                .map(|cell| match escape::latex(&cell.text) {
                    text if cell.best && !text.is_empty() => format!("\\textbf{{{text}}}"),
                    text => text,
                });
            let _ = writeln!(text, "{} \\\\", cells.collect::<Vec<_>>().join(" & "));
        }
        text += "\\bottomrule\n\\end{tabular}\n\\end{table}\n";
        text
    }
}

impl Document {
    /// Every table, also those inside details, as [`Table::to_latex`] writes it.
    pub fn to_latex(&self) -> String {
        let mut tables = Vec::new();
        visit(&self.blocks, &mut |block| {
            if let Block::Table { caption, table } = block {
                tables.push(table.to_latex(caption));
            }
        });
        tables.join("\n")
    }
}

#[cfg(test)]
mod tests {
    use crate::fixtures::document;

    #[test]
    fn tables_for_a_paper() {
        insta::assert_snapshot!(document().to_latex(), @r#"
        \begin{table}
        \centering
        \caption{Mean (SE) of the error at 95\%.}
        \begin{tabular}{rrr}
        \toprule
        n & Single & Loop \\
        \midrule
        64 & 3.1 (0.2) $\times$ 10$^{-3}$ & \textbf{2.6 (0.1) $\times$ 10$^{-3}$} \\
        128 & \textbf{1.4 (0.1) $\times$ 10$^{-3}$} & -- \\
        \bottomrule
        \end{tabular}
        \end{table}

        \begin{table}
        \centering
        \begin{tabular}{rrr}
        \toprule
        n & Single & Loop \\
        \midrule
        64 & 3.1 (0.2) $\times$ 10$^{-3}$ & \textbf{2.6 (0.1) $\times$ 10$^{-3}$} \\
        128 & \textbf{1.4 (0.1) $\times$ 10$^{-3}$} & -- \\
        \bottomrule
        \end{tabular}
        \end{table}
        "#);
    }
}
