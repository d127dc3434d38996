//! Which functions and constants a network needs, whatever the language.

use crate::description::{Description, Kind, Network};
use loopfit_model::Activation;
use loopfit_model::reference::LAYER_NORM_STABILISER;

/// A function or a few that belong together; each format has a template of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// Multiply-adds, affine maps, the clip.
    Arithmetic,
    /// Clamps and polynomials.
    Polynomial,
    /// Rounding to integers.
    Magic,
    /// `e^x` in 32 bits.
    Exp,
    /// The activations.
    Relu,
    Tanh,
    Silu,
    Sine,
    /// The networks.
    Affine,
    Ffn,
    Transformer,
}

/// The parts of a network, each behind those that it calls.
pub(crate) fn parts(network: &Network) -> Vec<Part> {
    use Part::*;
    let own: &[Part] = match network.kind {
        _ if network.blocks.is_empty() => &[Affine],
        Kind::Ffn { activation } => match activation {
            Activation::Relu => &[Relu, Ffn],
            Activation::Tanh => &[Polynomial, Tanh, Ffn],
            Activation::Silu => &[Polynomial, Magic, Exp, Silu, Ffn],
            Activation::Sine => &[Polynomial, Magic, Sine, Ffn],
        },
        Kind::Transformer { .. } => &[Relu, Polynomial, Magic, Exp, Transformer],
    };
    [&[Arithmetic], own].concat()
}

/// Constants by their names.
type Constants<T> = Vec<(&'static str, T)>;

/// The sizes that the parts name, and the other numbers.
pub(crate) fn constants(d: &Description) -> (Constants<usize>, Constants<f32>) {
    let network = &d.network;
    let mut sizes = vec![
        ("D", network.d),
        ("Q", network.q),
        ("OUTPUTS", network.outputs),
    ];
    let mut numbers = vec![("CLIP", d.clip)];
    if let [first, others @ ..] = &network.blocks[..] {
        // From the weights of an iteration to those of the next, unless all share the first.
        let step = if others.is_empty() { 0 } else { first.len() };
        sizes.extend([("R", network.r), ("STEP", step)]);
    }
    if let Kind::Transformer { tokens } = &network.kind {
        let q = network.q as f32;
        sizes.extend([("TOKENS", tokens.len()), ("N", network.state() / network.q)]);
        numbers.extend([
            ("SHARE", 1.0 / q),
            ("ATTENTION_SCALE", 1.0 / q.sqrt()),
            ("STABILISER", LAYER_NORM_STABILISER as f32),
        ]);
    }
    (sizes, numbers)
}

/// The tables of weights that there are, each by what it belongs to.
pub(crate) fn weights(network: &Network) -> Vec<(&'static str, Vec<f32>)> {
    let mut tables = vec![
        ("input", network.input.clone()),
        ("block", network.blocks.concat()),
        ("output", network.output.clone()),
    ];
    tables.retain(|(_, values)| !values.is_empty());
    tables
}

/// How many inputs each token of a Transformer reads, and which; of other networks, nothing.
pub(crate) fn tokens(network: &Network) -> Vec<(&'static str, Vec<usize>)> {
    match &network.kind {
        Kind::Ffn { .. } => Vec::new(),
        Kind::Transformer { tokens } => vec![
            ("sizes", tokens.iter().map(Vec::len).collect()),
            ("inputs", tokens.concat()),
        ],
    }
}

/// A template of classes with the floor of their probabilities.
pub(crate) fn with_floor(template: &str, room: f64, least: f64) -> String {
    let template = template.replace("ROOM", &format!("{room:?}"));
    template.replace("LEAST", &format!("{least:?}"))
}

/// The templates of a format by their parts.
macro_rules! templates {
    ($folder:literal, $end:literal) => {{
        |part: $crate::parts::Part| match part {
            $crate::parts::Part::Arithmetic => template!($folder, "arithmetic", $end),
            $crate::parts::Part::Polynomial => template!($folder, "polynomial", $end),
            $crate::parts::Part::Magic => template!($folder, "magic", $end),
            $crate::parts::Part::Exp => template!($folder, "exp", $end),
            $crate::parts::Part::Relu => template!($folder, "relu", $end),
            $crate::parts::Part::Tanh => template!($folder, "tanh", $end),
            $crate::parts::Part::Silu => template!($folder, "silu", $end),
            $crate::parts::Part::Sine => template!($folder, "sine", $end),
            $crate::parts::Part::Affine => template!($folder, "affine", $end),
            $crate::parts::Part::Ffn => template!($folder, "ffn", $end),
            $crate::parts::Part::Transformer => template!($folder, "transformer", $end),
        }
    }};
}

/// A template of a format.
macro_rules! template {
    ($folder:literal, $name:literal, $end:literal) => {
        include_str!(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/templates/",
            $folder,
            "/",
            $name,
            ".",
            $end
        ))
    };
}

pub(crate) use {template, templates};
