//! Model inputs to outputs, in 32 bits.

use super::graph::{Attribute, Data, Graph};
use crate::description::{Kind, Network};
use loopfit_model::Activation;
use loopfit_model::reference::LAYER_NORM_STABILISER;

/// A constant of a block: its name, its dimensions, its numbers.
type Tensor = (&'static str, Vec<usize>, Vec<f32>);

/// The outputs of a network; updates are repeated by the operator `Loop` or written out.
pub(super) fn network(graph: &mut Graph, of: &Network, x: &str, repeated: bool) -> String {
    let mut state = match &of.kind {
        Kind::Ffn { .. } => {
            let (weights, biases) = transposed(&of.input, of.d);
            affine(graph, "_input", x, of.d, &weights, &biases)
        }
        Kind::Transformer { tokens } => lifted(graph, of, tokens, x),
    };
    let blocks: Vec<Vec<Tensor>> = of.blocks.iter().map(|block| tensors(of, block)).collect();
    if repeated && !blocks.is_empty() {
        state = repeat(graph, of, &blocks, &state);
    } else {
        let one = blocks.len() == 1;
        let name = |i: usize| match one {
            true => "_block".to_string(),
            false => format!("_block_{}", i + 1),
        };
        for (i, block) in blocks.iter().enumerate() {
            for (part, dims, values) in block {
                graph.constant(&format!("{}_{part}", name(i)), dims, &Data::Floats(values));
            }
        }
        // One block for all iterations, or one for each.
        let order = (0..blocks.len()).cycle().take(of.iterations);
        for block in order {
            state = update(graph, of, &name(block), &state);
        }
    }
    if matches!(of.kind, Kind::Transformer { .. }) {
        state = graph.node("Flatten", &[&state], &[]);
    }
    let width = of.state();
    let (weights, biases) = transposed(&of.output, width);
    affine(graph, "_output", &state, width, &weights, &biases)
}

/// Updates by the operator `Loop`: a block that all share is read from outside, of several each iteration takes its own.
fn repeat(graph: &mut Graph, of: &Network, blocks: &[Vec<Tensor>], state: &str) -> String {
    let Some(first) = blocks.first() else {
        return state.to_string();
    };
    let shared = blocks.len() == 1;
    for (i, (part, dims, _)) in first.iter().enumerate() {
        let values: Vec<f32> = blocks.iter().flat_map(|b| b[i].2.iter().copied()).collect();
        match shared {
            true => graph.constant(&format!("_block_{part}"), dims, &Data::Floats(&values)),
            false => {
                let dims = [&[blocks.len()], &dims[..]].concat();
                graph.constant(&format!("_blocks_{part}"), &dims, &Data::Floats(&values))
            }
        };
    }
    let dims = match of.kind {
        Kind::Ffn { .. } => vec![of.q],
        Kind::Transformer { .. } => vec![of.state() / of.q, of.q],
    };
    graph.repeat(of.iterations, state, &dims, |graph, iteration, state| {
        if !shared {
            for (part, ..) in first {
                let all = format!("_blocks_{part}");
                graph.node_as(&format!("_block_{part}"), "Gather", &[&all, iteration], &[]);
            }
        }
        update(graph, of, "_block", state)
    })
}

/// The state after an update, by the constants whose names begin so.
fn update(graph: &mut Graph, of: &Network, block: &str, state: &str) -> String {
    let part = |name: &str| format!("{block}_{name}");
    match of.kind {
        Kind::Ffn { activation } => {
            let inner = [state, &part("w1"), &part("b1")];
            let inner = graph.node("Gemm", &inner, &[]);
            let hidden = activated(graph, activation, &inner);
            let change = graph.node("Gemm", &[&hidden, &part("w2"), &part("b2")], &[]);
            graph.node("Add", &[state, &change], &[])
        }
        Kind::Transformer { .. } => {
            let [query, key, value] = ["query", "key", "value"]
                .map(|name| of_tokens(graph, state, &part(name), &part(&format!("{name}_bias"))));
            let turned = Attribute::Ints(&[0, 2, 1]);
            let key = graph.node("Transpose", &[&key], &[("perm", turned)]);
            let scores = graph.node("MatMul", &[&query, &key], &[]);
            let scale = graph.float("_attention_scale", 1.0 / (of.q as f32).sqrt());
            let scores = graph.node("Mul", &[&scores, &scale], &[]);
            let shares = graph.node("Softmax", &[&scores], &[("axis", Attribute::Int(-1))]);
            let mixed = graph.node("MatMul", &[&shares, &value], &[]);
            let change = of_tokens(graph, &mixed, &part("out"), &part("out_bias"));
            let sum = graph.node("Add", &[state, &change], &[]);
            let y = normed(graph, &sum, &part("gain1"), &part("bias1"));
            let inner = of_tokens(graph, &y, &part("w1"), &part("b1"));
            let hidden = graph.node("Relu", &[&inner], &[]);
            let change = of_tokens(graph, &hidden, &part("w2"), &part("b2"));
            let sum = graph.node("Add", &[&y, &change], &[]);
            normed(graph, &sum, &part("gain2"), &part("bias2"))
        }
    }
}

fn activated(graph: &mut Graph, activation: Activation, u: &str) -> String {
    match activation {
        Activation::Relu => graph.node("Relu", &[u], &[]),
        Activation::Tanh => graph.node("Tanh", &[u], &[]),
        Activation::Sine => graph.node("Sin", &[u], &[]),
        Activation::Silu => {
            let share = graph.node("Sigmoid", &[u], &[]);
            graph.node("Mul", &[u, &share], &[])
        }
    }
}

/// An affine map of each token.
fn of_tokens(graph: &mut Graph, tokens: &str, weights: &str, biases: &str) -> String {
    let product = graph.node("MatMul", &[tokens, weights], &[]);
    graph.node("Add", &[&product, biases], &[])
}

fn normed(graph: &mut Graph, tokens: &str, gains: &str, biases: &str) -> String {
    let stabiliser = Attribute::Float(LAYER_NORM_STABILISER as f32);
    let how = [("axis", Attribute::Int(-1)), ("epsilon", stabiliser)];
    graph.node("LayerNormalization", &[tokens, gains, biases], &how)
}

/// The tokens that a Transformer begins with. Those of the data read different inputs, as many as the largest does, with weights of
/// zero where one reads fewer; then the constant ones, which are biases without inputs.
fn lifted(graph: &mut Graph, of: &Network, tokens: &[Vec<usize>], x: &str) -> String {
    let q = of.q;
    let most = tokens.iter().map(Vec::len).max().unwrap_or_default();
    let (mut places, mut weights, mut biases) = (Vec::new(), Vec::new(), Vec::new());
    let mut rest = &of.input[..];
    for inputs in tokens {
        let (own, after) = rest.split_at(q * (inputs.len() + 1));
        rest = after;
        let (own_weights, own_biases) = transposed(own, inputs.len());
        let none = most - inputs.len();
        places.extend(inputs.iter().map(|input| *input as i64));
        places.extend(std::iter::repeat_n(0, none));
        weights.extend(own_weights);
        weights.extend(std::iter::repeat_n(0.0, none * q));
        biases.extend(own_biases);
    }
    biases.extend(rest);
    let all = of.state() / q;
    let constant = (all - tokens.len()) as i64;
    let places = graph.constant(
        "_token_inputs",
        &[tokens.len(), most, 1],
        &Data::Ints(&places),
    );
    let weights = graph.constant(
        "_input_weight",
        &[tokens.len(), most, q],
        &Data::Floats(&weights),
    );
    let biases = graph.constant("_input_bias", &[all, q], &Data::Floats(&biases));
    let around = graph.constant(
        "_constant_tokens",
        &[6],
        &Data::Ints(&[0, 0, 0, 0, constant, 0]),
    );
    // By products and sums: matrices of no rows, as an empty table has, are too much for some runtimes.
    let read = graph.node("Gather", &[x, &places], &[("axis", Attribute::Int(1))]);
    let terms = graph.node("Mul", &[&read, &weights], &[]);
    let axis = graph.constant("_inputs", &[1], &Data::Ints(&[2]));
    let lifted = graph.node(
        "ReduceSum",
        &[&terms, &axis],
        &[("keepdims", Attribute::Int(0))],
    );
    let padded = graph.node("Pad", &[&lifted, &around], &[]);
    graph.node("Add", &[&padded, &biases], &[])
}

/// An affine map of rows of so many numbers.
fn affine(
    graph: &mut Graph,
    name: &str,
    x: &str,
    width: usize,
    weights: &[f32],
    biases: &[f32],
) -> String {
    let dims = [width, biases.len()];
    let weights = graph.constant(&format!("{name}_weight"), &dims, &Data::Floats(weights));
    let biases = graph.constant(
        &format!("{name}_bias"),
        &[biases.len()],
        &Data::Floats(biases),
    );
    graph.node("Gemm", &[x, &weights, &biases], &[])
}

/// Rows of so many weights, each followed by its bias, as a matrix with a column for each row, and the biases.
fn transposed(numbers: &[f32], width: usize) -> (Vec<f32>, Vec<f32>) {
    let rows = || numbers.chunks_exact(width + 1);
    let weights = (0..width).flat_map(|k| rows().map(move |row| row[k]));
    (weights.collect(), rows().map(|row| row[width]).collect())
}

/// The constants of a block.
fn tensors(of: &Network, numbers: &[f32]) -> Vec<Tensor> {
    let (q, r) = (of.q, of.r);
    if matches!(of.kind, Kind::Ffn { .. }) {
        return hidden(numbers, q, r);
    }
    let mut rest = numbers;
    let mut take = |count: usize| {
        let (own, after) = rest.split_at(count);
        rest = after;
        own
    };
    let mut all = Vec::new();
    let projections = [
        ("query", "query_bias"),
        ("key", "key_bias"),
        ("value", "value_bias"),
        ("out", "out_bias"),
    ];
    for (name, bias) in projections {
        let (weights, biases) = transposed(take(q * (q + 1)), q);
        all.push((name, vec![q, q], weights));
        all.push((bias, vec![q], biases));
    }
    for name in ["gain1", "bias1"] {
        all.push((name, vec![q], take(q).to_vec()));
    }
    all.extend(hidden(take(r * (2 * q + 1) + q), q, r));
    for name in ["gain2", "bias2"] {
        all.push((name, vec![q], take(q).to_vec()));
    }
    all
}

/// Hidden units, each a row of `W1`, its bias, its column of `W2`; then `b2`.
fn hidden(numbers: &[f32], q: usize, r: usize) -> Vec<Tensor> {
    let (units, b2) = numbers.split_at(r * (2 * q + 1));
    let units = || units.chunks_exact(2 * q + 1);
    let w1 = (0..q).flat_map(|k| units().map(move |unit| unit[k]));
    let b1 = units().map(|unit| unit[q]);
    let w2 = units().flat_map(|unit| unit[q + 1..].iter().copied());
    vec![
        ("w1", vec![q, r], w1.collect()),
        ("b1", vec![r], b1.collect()),
        ("w2", vec![r, q], w2.collect()),
        ("b2", vec![q], b2.to_vec()),
    ]
}
