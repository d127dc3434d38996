//! What the macro expands to, read back by a parser of XML.

use loopfit_tex::tex;
use roxmltree::{Document, Node};

/// The elements as `name(children)` or `name:text`, without spaces of no width.
fn outline(node: Node) -> String {
    let name = node.tag_name().name();
    let shown = |node: &Node| {
        node.is_element() && (!node.has_tag_name("mspace") || node.has_attribute("width"))
    };
    let children: Vec<String> = node.children().filter(shown).map(outline).collect();
    match (children.is_empty(), node.text()) {
        (true, None) => name.to_owned(),
        (true, Some(text)) => format!("{name}:{text}"),
        (false, _) => format!("{name}({})", children.join(" ")),
    }
}

/// The formula and its annotation.
fn formula(html: &str) -> (String, String) {
    let document = Document::parse(html).expect("balanced tags");
    let math = document
        .root_element()
        .first_element_child()
        .expect("a formula");
    assert_eq!(math.tag_name().name(), "math");
    assert_eq!(math.attribute("display"), Some("block"));
    let semantics = math.first_element_child().expect("semantics");
    let [formula, annotation] = [
        semantics.first_element_child(),
        semantics.last_element_child(),
    ]
    .map(|node| node.expect("a formula and its annotation"));
    assert_eq!(annotation.attribute("encoding"), Some("application/x-tex"));
    (
        outline(formula),
        annotation.text().unwrap_or_default().to_owned(),
    )
}

#[test]
fn an_expansion_is_one_line_that_markdown_leaves_alone() {
    // CommonMark 0.31, section 4.6, kind 2: HTML from a line that begins with `<!--` to the first that contains `-->`.
    let html = tex!(
        r"
        \begin{aligned}
            a_1 * b_1 &= [c] \\
            d &= \text{`e`}
        \end{aligned}
        "
    );
    assert!(html.starts_with("<!-- formula --><div "), "{html}");
    assert!(!html.contains('\n'), "{html}");
}

#[test]
fn tex_becomes_the_elements_of_mathml_core() {
    // The selector U+FE00 asks for the rounder of the two scripts that fonts have.
    let cases = [
        (tex!(r"x_1^2"), "msubsup(mi:x mn:1 mn:2)"),
        (tex!(r"\frac ab"), "mfrac(mi:a mi:b)"),
        (tex!(r"\sqrt2"), "msqrt(mn:2)"),
        (tex!(r"\sup_f"), "munder(mo:sup mi:f)"),
        (tex!(r"h_0^{\rm Tr}"), "msubsup(mi:h mn:0 mrow(mi:Tr))"),
        (tex!(r"\mathcal N"), "mrow(mi:𝒩\u{fe00})"),
        (tex!(r"\lceil s \rceil"), "mrow(mo:⌈ mi:s mo:⌉)"),
        (tex!(r"\operatorname{sigmoid}"), "mo:sigmoid"),
        (tex!(r"\tilde f"), "mover(mi:f mo:˜)"),
        (tex!(r"\widetilde f"), "mover(mi:f mo:˜)"),
        (tex!(r"\underbrace{x}_n"), "munder(munder(mi:x mo:⏟) mi:n)"),
    ];
    for (html, expected) in cases {
        assert_eq!(formula(html).0, expected);
    }
}

#[test]
fn rows_and_columns_of_aligned_equations_are_kept() {
    let (outline, _) = formula(tex!(
        r"\begin{aligned} a &= 1, & b &= 2 \\ c &= 3 \end{aligned}"
    ));
    assert_eq!(outline.matches("mtr(").count(), 2);
    assert_eq!(outline.matches("mtd(").count(), 6);
}

#[test]
fn characters_of_html_are_escaped_in_formula_and_annotation() {
    let (outline, annotation) = formula(tex!(r"a < b > c \text{ d\&e}"));
    assert_eq!(annotation, r"a < b > c \text{ d\&e}");
    for text in ["mo:<", "mo:>", "d&e"] {
        assert!(outline.contains(text), "{outline}");
    }
}

#[test]
fn lines_of_a_formula_lose_their_indentation_alone() {
    let (outline, annotation) = formula(tex!(
        r"
        a = b,\
            c

        "
    ));
    assert_eq!(annotation, "a = b,\\ \nc");
    assert_eq!(outline, formula(tex!(r"a = b,\ c")).0);
}

#[test]
fn a_sized_delimiter_with_a_script_has_a_row_of_its_own() {
    let (outline, _) = formula(tex!(r"\Bigl( x \Bigr)^2 \bigl( y \bigr) (z)^2"));
    let expected = "mrow(mo:( mi:x msup(mrow(mo:)) mn:2) mo:( mi:y mo:) mo:( mi:z msup(mo:) mn:2))";
    assert_eq!(outline, expected);
}
