//! One self-contained page: no script, no font, no address outside itself.

use std::fmt::Write as _;

use crate::{Align, Comparison, Table, escape};

const STYLE: &str = "
:root { color-scheme: light dark; }
body { margin: 0 auto; padding: 1.5rem 1rem 3rem; max-width: 54rem; background: #ffffff; color: #1f2328;
  font: 16px/1.55 system-ui, 'Helvetica Neue', Arial, sans-serif; }
h1 { font-size: 1.5rem; line-height: 1.25; margin: 0 0 0.25rem; overflow-wrap: anywhere; }
h2 { font-size: 1.1rem; margin: 2rem 0 0.5rem; }
p, li { overflow-wrap: anywhere; }
.setting { color: #59636e; margin: 0 0 1.5rem; }
.scroll { overflow-x: auto; margin: 0 0 1.25rem; }
table { border-collapse: collapse; font-size: 0.9rem; font-variant-numeric: tabular-nums; }
th, td { padding: 0.4rem 0.75rem; white-space: nowrap; text-align: left; border-bottom: 1px solid #e4e8ec; }
th { color: #59636e; font-weight: 600; border-bottom: 2px solid #c9d1d9; }
.right { text-align: right; }
tr.best td { font-weight: 700; background: #f2f5f8; }
figure { margin: 1.5rem 0; }
figure svg { display: block; width: 100%; max-width: 40rem; height: auto; margin: 0 auto; }
summary { cursor: pointer; margin: 2rem 0 0.5rem; font-size: 1.1rem; font-weight: 600; }
@media (prefers-color-scheme: dark) {
body { background: #15181c; color: #e6e9ec; }
.setting, th { color: #9aa4ae; }
th, td { border-color: #2a2f36; }
th { border-bottom-color: #444c56; }
tr.best td { background: #232930; }
}
";

impl Table {
    /// A `table` element; the best rows have the class `best`, the right-aligned
    /// cells the class `right`.
    pub fn to_html(&self) -> String {
        let class = |align: &Align| match align {
            Align::Left => "",
            Align::Right => " class=\"right\"",
        };
        let mut html = String::from("<table>\n<thead><tr>");
        for (name, align) in &self.columns {
            let _ = write!(
                html,
                "<th scope=\"col\"{}>{}</th>",
                class(align),
                escape::xml(name)
            );
        }
        html.push_str("</tr></thead>\n<tbody>\n");
        for row in &self.rows {
            html.push_str(if row.best {
                "<tr class=\"best\">"
            } else {
                "<tr>"
            });
            for (cell, (_, align)) in row.cells.iter().zip(&self.columns) {
                let _ = write!(html, "<td{}>{}</td>", class(align), escape::xml(cell));
            }
            html.push_str("</tr>\n");
        }
        html.push_str("</tbody>\n</table>\n");
        html
    }
}

impl Comparison {
    /// A page that opens offline, on a phone and in the dark: tables, figure, notes.
    pub fn to_html(&self) -> String {
        let title = escape::xml(self.title());
        let setting = escape::xml(&self.setting());
        let mut html = format!(
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <title>{title}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n\
             <h1>{title}</h1>\n<p class=\"setting\">{setting}.</p>\n"
        );
        html += &scrolling(&self.methods_table());
        let paired = self.paired_table();
        if !paired.is_empty() {
            html += &scrolling(&paired);
        }
        let _ = write!(html, "<figure>\n{}</figure>\n", self.figure(false));
        if !self.notes().is_empty() {
            html += "<h2>Notes</h2>\n<ul>\n";
            for note in self.notes() {
                let _ = writeln!(html, "<li>{}</li>", escape::xml(note));
            }
            html += "</ul>\n";
        }
        let seeds = scrolling(&self.seeds_table());
        let _ = write!(
            html,
            "<details>\n<summary>Each seed</summary>\n{seeds}</details>\n"
        );
        html += "</body>\n</html>\n";
        html
    }
}

/// A wide table scrolls by itself; the page never does sideways.
fn scrolling(table: &Table) -> String {
    format!("<div class=\"scroll\">\n{}</div>\n", table.to_html())
}

#[cfg(test)]
mod tests {
    use crate::fixtures::{awkward, balanced, bumps};
    use crate::{Align, Table};

    #[test]
    fn whatever_the_values_the_page_is_well_formed() {
        for c in awkward().into_iter().chain([bumps()]) {
            let html = c.to_html();
            balanced(&html);
            assert!(!html.contains("<script"));
            let outside = html.replace("http://www.w3.org/2000/svg", "");
            assert!(!outside.contains("http") && !outside.contains("url("));
        }
    }

    #[test]
    fn a_table_element() {
        let mut table = Table::new([("a", Align::Left), ("b", Align::Right)]);
        table.push_best(["<x>", "1"]);
        insta::assert_snapshot!(table.to_html(), @r#"
        <table>
        <thead><tr><th scope="col">a</th><th scope="col" class="right">b</th></tr></thead>
        <tbody>
        <tr class="best"><td>&lt;x&gt;</td><td class="right">1</td></tr>
        </tbody>
        </table>
        "#);
    }
}
