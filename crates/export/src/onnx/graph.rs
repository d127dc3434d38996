//! Graphs of ONNX: nodes, constants, inputs and outputs, as messages of `onnx.proto`.

use super::wire::Message;

/// The operators' version: the newest that runtimes of the last years know; texts can be compared from 19 on.
pub(super) const OPSET: i64 = 21;
/// The version of the file format that came with it.
pub(super) const IR_VERSION: i64 = 10;
/// What rows are called where a dimension counts them.
const ROWS: &str = "N";

/// What tensors are made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Element {
    Float = 1,
    Int = 7,
    Text = 8,
    Bool = 9,
    Double = 11,
}

/// Numbers or texts of a constant.
pub(super) enum Data<'a> {
    Floats(&'a [f32]),
    Doubles(&'a [f64]),
    Ints(&'a [i64]),
    Texts(&'a [String]),
    /// One that is true.
    True,
}

/// An attribute of a node.
pub(super) enum Attribute<'a> {
    Float(f32),
    Int(i64),
    Ints(&'a [i64]),
    Graph(Message),
}

/// Attributes by their names.
pub(super) type Attributes<'a> = [(&'a str, Attribute<'a>)];

/// A graph under construction. Names of what it makes itself begin with `_`.
#[derive(Default)]
pub(super) struct Graph {
    nodes: Vec<Message>,
    constants: Vec<Message>,
    /// Names of constants, so that small ones can be asked for again.
    known: Vec<String>,
    inputs: Vec<Message>,
    outputs: Vec<Message>,
    /// Nodes so far, in graphs within as well.
    made: usize,
}

impl Graph {
    /// A node with one output, whose name is given back.
    pub(super) fn node(&mut self, op: &str, inputs: &[&str], attributes: &Attributes) -> String {
        let name = format!("_{}_{}", op.to_ascii_lowercase(), self.made);
        self.node_as(&name, op, inputs, attributes);
        name
    }

    /// A node whose output has this name.
    pub(super) fn node_as(&mut self, name: &str, op: &str, inputs: &[&str], of: &Attributes) {
        let node = Message::default()
            .each(inputs, Message::input)
            .bytes(2, name)
            .bytes(3, format!("{op}_{}", self.made))
            .bytes(4, op)
            .each(of, |node, (name, value)| {
                node.message(5, &value.message(name))
            });
        self.made += 1;
        self.nodes.push(node);
    }

    /// Numbers of another kind.
    pub(super) fn cast(&mut self, value: &str, to: Element) -> String {
        self.node("Cast", &[value], &[("to", Attribute::Int(to as i64))])
    }

    /// Columns beside each other.
    pub(super) fn beside(&mut self, columns: &[&str]) -> String {
        match columns {
            [one] => one.to_string(),
            _ => self.node("Concat", columns, &[("axis", Attribute::Int(1))]),
        }
    }

    /// Some columns, in this order.
    pub(super) fn columns(&mut self, name: &str, of: &str, places: &[usize]) -> String {
        let places: Vec<i64> = places.iter().map(|place| *place as i64).collect();
        let places = self.constant(name, &[places.len()], &Data::Ints(&places));
        self.node("Gather", &[of, &places], &[("axis", Attribute::Int(1))])
    }

    /// Sums or the like over columns, which become one or, unless kept, none.
    pub(super) fn over_columns(&mut self, op: &str, of: &str, kept: bool) -> String {
        let axis = self.constant("_columns", &[1], &Data::Ints(&[1]));
        let kept = Attribute::Int(i64::from(kept));
        self.node(op, &[of, &axis], &[("keepdims", kept)])
    }

    /// Numbers held to a range; NaN stays NaN, of which the operator `Clip` says nothing.
    pub(super) fn held(&mut self, value: &str, low: &str, high: &str) -> String {
        let held = self.node("Clip", &[value, low, high], &[]);
        let none = self.node("IsNaN", &[value], &[]);
        self.node("Where", &[&none, value, &held], &[])
    }

    /// A constant, whose name is given back.
    pub(super) fn constant(&mut self, name: &str, dims: &[usize], data: &Data) -> String {
        if !self.known.iter().any(|known| known == name) {
            self.known.push(name.to_string());
            self.constants.push(tensor(name, dims, data));
        }
        name.to_string()
    }

    /// One number of 64 bits.
    pub(super) fn double(&mut self, name: &str, value: f64) -> String {
        self.constant(name, &[], &Data::Doubles(&[value]))
    }

    /// One number of 32 bits.
    pub(super) fn float(&mut self, name: &str, value: f32) -> String {
        self.constant(name, &[], &Data::Floats(&[value]))
    }

    /// An input of the graph, with so many columns.
    pub(super) fn input(&mut self, name: &str, element: Element, columns: usize, about: &str) {
        let dims = [None, Some(columns)];
        self.inputs
            .push(value(name, element, &dims).bytes(3, about));
    }

    /// An output of the graph, with so many columns, or one number or text for each row.
    pub(super) fn output(&mut self, name: &str, element: Element, columns: Option<usize>) {
        let dims = [None, columns];
        let dims = &dims[..1 + usize::from(columns.is_some())];
        self.outputs.push(value(name, element, dims));
    }

    /// Repeats a computation of a state, which has so many numbers in these dimensions for each row: `update` is given the name of
    /// the iteration, from zero, and of the state.
    pub(super) fn repeat(
        &mut self,
        times: usize,
        start: &str,
        dims: &[usize],
        update: impl FnOnce(&mut Self, &str, &str) -> String,
    ) -> String {
        let outer = std::mem::take(&mut self.nodes);
        let (iteration, go, state) = ("_iteration", "_go", "_state");
        let next = update(self, iteration, state);
        let go_on = self.node("Identity", &[go], &[]);
        let own = std::mem::replace(&mut self.nodes, outer);
        let dims: Vec<Option<usize>> = [None]
            .into_iter()
            .chain(dims.iter().copied().map(Some))
            .collect();
        let inputs = [
            value(iteration, Element::Int, &[]),
            value(go, Element::Bool, &[]),
            value(state, Element::Float, &dims),
        ];
        let outputs = [
            value(&go_on, Element::Bool, &[]),
            value(&next, Element::Float, &dims),
        ];
        let body = message("update", "", &own, &[], &inputs, &outputs);
        let times = self.constant("_iterations", &[], &Data::Ints(&[times as i64]));
        // May be left out, but not every runtime knows.
        let begin = self.constant("_begin", &[], &Data::True);
        let body = [("body", Attribute::Graph(body))];
        self.node("Loop", &[&times, &begin, start], &body)
    }

    /// The whole graph.
    pub(super) fn finish(self, about: &str) -> Message {
        let Self {
            nodes,
            constants,
            inputs,
            outputs,
            ..
        } = self;
        message("loopfit", about, &nodes, &constants, &inputs, &outputs)
    }
}

impl Message {
    fn input(self, name: &&str) -> Self {
        self.bytes(1, name)
    }
}

impl Attribute<'_> {
    fn message(&self, name: &str) -> Message {
        let message = Message::default().bytes(1, name);
        match self {
            Self::Float(value) => message.float(2, *value).int(20, 1),
            Self::Int(value) => message.int(3, *value).int(20, 2),
            Self::Graph(graph) => message.message(6, graph).int(20, 5),
            Self::Ints(values) => message.each(*values, |m, v| m.int(8, *v)).int(20, 7),
        }
    }
}

fn message(
    name: &str,
    about: &str,
    nodes: &[Message],
    constants: &[Message],
    inputs: &[Message],
    outputs: &[Message],
) -> Message {
    Message::default()
        .each(nodes, |graph, node| graph.message(1, node))
        .bytes(2, name)
        .each(constants, |graph, tensor| graph.message(5, tensor))
        .bytes(10, about)
        .each(inputs, |graph, value| graph.message(11, value))
        .each(outputs, |graph, value| graph.message(12, value))
}

/// A constant: its dimensions, what it is made of, its name, and its numbers as they lie in memory, lowest byte first.
fn tensor(name: &str, dims: &[usize], data: &Data) -> Message {
    let message = |element: Element| {
        Message::default()
            .each(dims, |tensor, size| tensor.int(1, *size as i64))
            .int(2, element as i64)
            .bytes(8, name)
    };
    match data {
        Data::Floats(values) => {
            let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
            message(Element::Float).bytes(9, bytes)
        }
        Data::Doubles(values) => {
            let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
            message(Element::Double).bytes(9, bytes)
        }
        Data::Ints(values) => {
            let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
            message(Element::Int).bytes(9, bytes)
        }
        Data::True => message(Element::Bool).bytes(9, [1]),
        Data::Texts(values) => {
            message(Element::Text).each(*values, |tensor, text| tensor.bytes(6, text))
        }
    }
}

/// A value with its type; a dimension that is none counts rows.
fn value(name: &str, element: Element, dims: &[Option<usize>]) -> Message {
    let dim = |size: &Option<usize>| match size {
        Some(size) => Message::default().int(1, *size as i64),
        None => Message::default().bytes(2, ROWS),
    };
    let shape = Message::default().each(dims, |shape, size| shape.message(1, &dim(size)));
    let tensor = Message::default().int(1, element as i64).message(2, &shape);
    let kind = Message::default().message(1, &tensor);
    Message::default().bytes(1, name).message(2, &kind)
}
