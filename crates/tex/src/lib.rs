//! Formulas in documentation: [`tex!`] turns TeX into MathML while the crate compiles.
//!
//! Browsers render MathML by themselves, so the pages of a plain `cargo doc` show formulas without scripts, without
//! fonts from elsewhere and without a network.

#![forbid(unsafe_code)]

use proc_macro::{Literal, TokenStream, TokenTree};

mod error;
mod literal;
mod mathml;

/// A formula as a block of its own: a raw string of TeX becomes a string of HTML for `#[doc = ...]`.
///
/// ```
/// /// The number of iterations.
/// ///
/// /// # Formula
/// #[doc = loopfit_tex::tex!(r"T_n = \left\lceil n^{1/(a+1)} \right\rceil")]
/// ///
/// /// # Reference
/// /// Theorem 4.4.
/// pub fn iterations(n: f64, a: f64) -> f64 {
///     n.powf(1.0 / (a + 1.0)).ceil()
/// }
/// ```
///
/// A long formula may go over several lines of the string; their indentation does not count. The text around the block
/// stays Markdown, with or without blank lines between. The TeX is kept as an annotation, which is not shown.
///
/// TeX that cannot be read is an error of compilation that quotes it.
#[proc_macro]
pub fn tex(input: TokenStream) -> TokenStream {
    match literal::raw_string(&input.to_string()).and_then(mathml::line) {
        Ok(html) => TokenTree::from(Literal::string(&html)).into(),
        Err(error) => format!("::core::compile_error!({:?})", error.to_string())
            .parse()
            .expect("a macro call with a string literal is Rust"),
    }
}
