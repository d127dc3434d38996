//! One self-contained page: no script, no font, no address outside itself.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use crate::comparison::PAGES;
use crate::{Align, Block, Comparison, Document, Table, escape, style};

/// From so many headings on, a page begins with a table of contents.
const CONTENTS: usize = 3;

/// A figure shrinks down to this fraction of its size; on a narrower screen it
/// scrolls, because its text would be too small to read.
const SHRINK: f64 = 0.68;

impl Table {
    /// A `table` element; the best rows and cells have the class `best`, the
    /// right-aligned cells the class `right`.
    pub fn to_html(&self) -> String {
        let mut html = String::from("<table>\n<thead><tr>");
        for (name, align) in &self.columns {
            let class = class(*align, false);
            let _ = write!(html, "<th scope=\"col\"{class}>{}</th>", escape::xml(name));
        }
        html.push_str("</tr></thead>\n<tbody>\n");
        for row in &self.rows {
            html.push_str(if row.best {
                "<tr class=\"best\">"
            } else {
                "<tr>"
            });
            for (cell, (_, align)) in row.cells.iter().zip(&self.columns) {
                let class = class(*align, cell.best);
                let _ = write!(html, "<td{class}>{}</td>", escape::xml(&cell.text));
            }
            html.push_str("</tr>\n");
        }
        html.push_str("</tbody>\n</table>\n");
        html
    }
}

fn class(align: Align, best: bool) -> &'static str {
    match (align, best) {
        (Align::Left, false) => "",
        (Align::Left, true) => " class=\"best\"",
        (Align::Right, false) => " class=\"right\"",
        (Align::Right, true) => " class=\"right best\"",
    }
}

impl Document {
    /// A page that opens offline, on a phone, in the dark and on paper.
    pub fn to_html(&self) -> String {
        let title = escape::xml(&self.title);
        let mut page = Page::default();
        page.write(&self.blocks, 2);
        let figures = if self.figures().is_empty() {
            String::new()
        } else {
            style::figure()
        };
        let mut html = format!(
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <title>{title}</title>\n{}{figures}</head>\n<body>\n<h1>{title}</h1>\n",
            style::page()
        );
        if !self.subtitle.is_empty() {
            let _ = writeln!(
                html,
                "<p class=\"subtitle\">{}</p>",
                escape::xml(&self.subtitle)
            );
        }
        if page.headings.len() >= CONTENTS {
            html += "<nav aria-label=\"Contents\">\n<ul>\n";
            for (anchor, heading) in &page.headings {
                let _ = writeln!(html, "<li><a href=\"#{anchor}\">{heading}</a></li>");
            }
            html += "</ul>\n</nav>\n";
        }
        html += &page.body;
        html += "</body>\n</html>\n";
        html
    }
}

impl Comparison {
    /// A page that opens offline, on a phone and in the dark: tables, figure, notes.
    pub fn to_html(&self) -> String {
        let table = |table| Block::Table {
            caption: String::new(),
            table,
        };
        let mut blocks = vec![table(self.methods_table())];
        let paired = self.paired_table();
        if !paired.is_empty() {
            blocks.push(table(paired));
        }
        blocks.extend(self.definition().map(Block::Text));
        blocks.push(Block::Figure {
            name: "comparison".into(),
            caption: String::new(),
            svg: self.figure(false),
        });
        if !self.pages().is_empty() {
            blocks.push(Block::Heading(PAGES.into()));
            blocks.push(Block::Pages(self.pages().to_vec()));
        }
        if !self.notes().is_empty() {
            blocks.push(Block::Heading("Notes".into()));
            blocks.push(Block::Bullets(self.notes().to_vec()));
        }
        blocks.push(Block::Details {
            summary: "Each seed".into(),
            blocks: vec![table(self.seeds_table())],
        });
        let document = Document {
            title: self.title().into(),
            subtitle: format!("{}.", self.setting()),
            blocks,
        };
        document.to_html()
    }
}

/// The inside of a page, and its headings with their anchors.
#[derive(Default)]
struct Page {
    body: String,
    headings: Vec<(String, String)>,
    anchors: BTreeSet<String>,
}

impl Page {
    /// Appends blocks, their headings at the given level.
    fn write(&mut self, blocks: &[Block], level: usize) {
        for block in blocks {
            match block {
                Block::Heading(heading) => self.heading(heading, level),
                Block::Text(text) => {
                    let _ = writeln!(self.body, "<p>{}</p>", escape::xml(text));
                }
                Block::Bullets(items) => {
                    self.body += "<ul>\n";
                    for item in items {
                        let _ = writeln!(self.body, "<li>{}</li>", escape::xml(item));
                    }
                    self.body += "</ul>\n";
                }
                Block::Links(links) | Block::Pages(links) => {
                    self.body += "<ul>\n";
                    for link in links {
                        let _ = writeln!(
                            self.body,
                            "<li><a href=\"{}.html\">{}</a>: {}</li>",
                            escape::xml(&link.page),
                            escape::xml(&link.title),
                            escape::xml(&link.text)
                        );
                    }
                    self.body += "</ul>\n";
                }
                Block::Table { caption, table } => {
                    self.body += "<figure class=\"data\">\n";
                    self.caption(caption);
                    // A wide table scrolls by itself; the page never does sideways.
                    let _ = write!(
                        self.body,
                        "<div class=\"scroll\">\n{}</div>\n</figure>\n",
                        table.to_html()
                    );
                }
                Block::Figure { caption, svg, .. } => {
                    self.body += "<figure class=\"chart\">\n";
                    // The page has the rules once for all figures.
                    let svg = svg.replacen(&style::figure(), "", 1);
                    let _ = write!(
                        self.body,
                        "<div class=\"scroll\"><div{}>\n{svg}</div></div>\n",
                        limits(&svg)
                    );
                    self.caption(caption);
                    self.body += "</figure>\n";
                }
                Block::Details { summary, blocks } => {
                    let summary = escape::xml(summary);
                    let _ = writeln!(self.body, "<details>\n<summary>{summary}</summary>");
                    self.write(blocks, (level + 1).min(6));
                    self.body += "</details>\n";
                }
            }
        }
    }

    fn caption(&mut self, caption: &str) {
        if !caption.is_empty() {
            let caption = escape::xml(caption);
            let _ = writeln!(self.body, "<figcaption>{caption}</figcaption>");
        }
    }

    /// A heading that can be linked to; those of the top level are in the contents.
    fn heading(&mut self, heading: &str, level: usize) {
        let anchor = self.anchor(heading);
        let text = escape::xml(heading);
        let _ = writeln!(
            self.body,
            "<h{level} id=\"{anchor}\">{text} <a class=\"anchor\" href=\"#{anchor}\" \
             aria-label=\"Link to this section\">#</a></h{level}>"
        );
        if level == 2 {
            self.headings.push((anchor, text));
        }
    }

    /// The letters and digits of a heading, joined by hyphens; a number follows where
    /// another heading has the same.
    fn anchor(&mut self, heading: &str) -> String {
        let words = heading.split(|c: char| !c.is_ascii_alphanumeric());
        let words: Vec<String> = words
            .filter(|word| !word.is_empty())
            .map(str::to_ascii_lowercase)
            .collect();
        let name = match words.join("-") {
            empty if empty.is_empty() => "section".into(),
            name => name,
        };
        let numbered = (2usize..).map(|n| format!("{name}-{n}"));
        let mut names = [name.clone()].into_iter().chain(numbered);
        let free = names.find(|name| !self.anchors.contains(name));
        let anchor = free.unwrap_or(name);
        self.anchors.insert(anchor.clone());
        anchor
    }
}

/// The least and the largest width of a figure in a page, from its own.
fn limits(svg: &str) -> String {
    let width = svg
        .split_once(" width=\"")
        .and_then(|(_, rest)| rest.split_once('"'))
        .and_then(|(width, _)| width.parse::<f64>().ok());
    match width {
        Some(width) if width.is_finite() => format!(
            " style=\"min-width:{:.0}px;max-width:{width:.0}px\"",
            SHRINK * width
        ),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use crate::fixtures::{awkward, balanced, bumps, document};
    use crate::{Align, Cell, Table};

    #[test]
    fn whatever_the_values_the_page_is_well_formed() {
        let comparisons = awkward().into_iter().chain([bumps()]);
        for html in comparisons
            .map(|c| c.to_html())
            .chain([document().to_html()])
        {
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
        table.push([Cell::from("y"), Cell::best("2")]);
        insta::assert_snapshot!(table.to_html(), @r#"
        <table>
        <thead><tr><th scope="col">a</th><th scope="col" class="right">b</th></tr></thead>
        <tbody>
        <tr class="best"><td class="best">&lt;x&gt;</td><td class="right best">1</td></tr>
        <tr><td>y</td><td class="right best">2</td></tr>
        </tbody>
        </table>
        "#);
    }

    /// The parts of the page that depend on the document.
    #[test]
    fn a_page() {
        let html = document().to_html();
        let (_, body) = html.split_once("<body>\n").unwrap();
        let mut shown = String::new();
        for part in body.split("<svg") {
            shown += part.split_once("</svg>\n").map_or(part, |(_, rest)| rest);
        }
        insta::assert_snapshot!(shown, @r##"
        <h1>Errors &amp; sample size</h1>
        <p class="subtitle">Two sizes, eight seeds.</p>
        <nav aria-label="Contents">
        <ul>
        <li><a href="#results">Results</a></li>
        <li><a href="#results-2">Results</a></li>
        <li><a href="#section">…</a></li>
        </ul>
        </nav>
        <h2 id="results">Results <a class="anchor" href="#results" aria-label="Link to this section">#</a></h2>
        <p>Loop is lower at n = 64; * marks nothing here.</p>
        <figure class="data">
        <figcaption>Mean (SE) of the error at 95%.</figcaption>
        <div class="scroll">
        <table>
        <thead><tr><th scope="col" class="right">n</th><th scope="col" class="right">Single</th><th scope="col" class="right">Loop</th></tr></thead>
        <tbody>
        <tr><td class="right">64</td><td class="right">3.1 (0.2) × 10⁻³</td><td class="right best">2.6 (0.1) × 10⁻³</td></tr>
        <tr><td class="right">128</td><td class="right best">1.4 (0.1) × 10⁻³</td><td class="right">–</td></tr>
        </tbody>
        </table>
        </div>
        </figure>
        <figure class="chart">
        <div class="scroll"><div style="min-width:354px;max-width:520px">
        </div></div>
        <figcaption>Errors against n.</figcaption>
        </figure>
        <h2 id="results-2">Results <a class="anchor" href="#results-2" aria-label="Link to this section">#</a></h2>
        <ul>
        <li>One remark.</li>
        <li>Another &lt;remark&gt;.</li>
        </ul>
        <h2 id="section">… <a class="anchor" href="#section" aria-label="Link to this section">#</a></h2>
        <details>
        <summary>Each seed</summary>
        <h3 id="seeds">Seeds <a class="anchor" href="#seeds" aria-label="Link to this section">#</a></h3>
        <figure class="data">
        <div class="scroll">
        <table>
        <thead><tr><th scope="col" class="right">n</th><th scope="col" class="right">Single</th><th scope="col" class="right">Loop</th></tr></thead>
        <tbody>
        <tr><td class="right">64</td><td class="right">3.1 (0.2) × 10⁻³</td><td class="right best">2.6 (0.1) × 10⁻³</td></tr>
        <tr><td class="right">128</td><td class="right best">1.4 (0.1) × 10⁻³</td><td class="right">–</td></tr>
        </tbody>
        </table>
        </div>
        </figure>
        <figure class="chart">
        <div class="scroll"><div style="min-width:354px;max-width:520px">
        </div></div>
        </figure>
        </details>
        </body>
        </html>
        "##);
        // One set of rules for all figures, and no id twice.
        assert_eq!(html.matches("<style>").count(), 2);
        let ids: Vec<&str> = html
            .split(" id=\"")
            .skip(1)
            .map(|s| s.split('"').next().unwrap())
            .collect();
        let distinct: std::collections::BTreeSet<_> = ids.iter().collect();
        assert_eq!(distinct.len(), ids.len());
    }
}
