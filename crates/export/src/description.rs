//! What a model computes, complete and in one place: every format prints this and nothing else.
//!
//! Per row, in this order: columns become model inputs ([`Column`]), the network turns those into outputs ([`Network`]), which are
//! clipped and become what the model says ([`Output`]). Inputs and what outputs become are computed in 64 bits, the network in 32.
//! Every sum of the network starts at its bias (or at its residual plus a bias, or at zero) and adds terms in ascending index, by
//! multiply-adds that round once: so the engine predicts, and so an export has its bits.

use crate::ExportError;
use loopfit_data::Preprocessing;
use loopfit_data::preprocess::{Input, Target};
use loopfit_fitted::FittedModel;
use loopfit_likelihood::{Floor, Likelihood};
use loopfit_model::{Activation, Architecture, Form, Parameters};

/// A model as a computation.
#[derive(Clone, Debug, PartialEq)]
pub struct Description {
    /// What is read of a row, in the order of the model inputs that they become.
    pub columns: Vec<Column>,
    /// The network.
    pub network: Network,
    /// Outputs are held to `[-clip, clip]`; NaN stays NaN.
    pub clip: f32,
    /// What outputs become.
    pub output: Output,
    /// What the model is, in lines for people.
    pub about: Vec<String>,
}

/// A column and the model inputs that it becomes.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// Its name in the table.
    pub name: String,
    /// The first of its model inputs.
    pub first: usize,
    /// How it becomes those.
    pub reading: Reading,
    /// The model input that is 1 where the cell is missing and 0 elsewhere, if there is one.
    pub missing: Option<usize>,
}

/// How a cell becomes model inputs.
#[derive(Clone, Debug, PartialEq)]
pub enum Reading {
    /// A number `v` becomes `(v - shift) / scale`, rounded to 32 bits; a missing one counts as the median.
    Number {
        /// What becomes 0.
        shift: f64,
        /// What is one unit.
        scale: f64,
        /// What a missing cell counts as.
        median: f64,
        /// Whether it is a coordinate of a density: held to `[0, 1]`, and the density is zero where it has to be.
        bounded: bool,
    },
    /// One input for each category, 1 for the cell's own and 0 for others; all are 0 where the cell is missing or unknown.
    Indicators {
        /// The categories.
        categories: Vec<String>,
    },
    /// One input with a value for each of two categories, 0 where the cell is missing or unknown.
    Two {
        /// The categories.
        categories: Vec<String>,
        /// Their values.
        values: [f32; 2],
    },
}

impl Reading {
    /// The categories of a text, none for a number.
    pub fn categories(&self) -> Option<&[String]> {
        match self {
            Self::Number { .. } => None,
            Self::Indicators { categories } | Self::Two { categories, .. } => Some(categories),
        }
    }
}

/// A network in the paper's form. Rows of weights are followed by their bias.
#[derive(Clone, Debug, PartialEq)]
pub struct Network {
    /// Model inputs `d`.
    pub d: usize,
    /// State dimension `q`, of a Transformer of each token.
    pub q: usize,
    /// Hidden width `r`.
    pub r: usize,
    /// Outputs.
    pub outputs: usize,
    /// Iterations `T`.
    pub iterations: usize,
    /// What updates are made of.
    pub kind: Kind,
    /// The input function. FFN: `q` rows of `d`. Transformer: for each data token `q` rows of as many as it reads, then the constant
    /// tokens.
    pub input: Vec<f32>,
    /// Different updates: one that all iterations share, or one for each; none of an affine function. FFN: `r` units, each a row of
    /// `W1`, its bias, its column of `W2`; then `b2`. Transformer: `q` rows of query, key, value and output projection each, gains
    /// and biases of the first norm, units and `b2` as of an FFN, gains and biases of the second norm.
    pub blocks: Vec<Vec<f32>>,
    /// The output function: for each output a row of the whole state.
    pub output: Vec<f32>,
}

/// The two architectures.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    /// `z + W2 s(W1 z + b1) + b2`.
    Ffn {
        /// `s`.
        activation: Activation,
    },
    /// `LN2{Y + W2 ReLU(W1 Y + b1) + b2}` of `Y = LN1{S + Attn(S)}`.
    Transformer {
        /// The model inputs that each data token reads.
        tokens: Vec<Vec<usize>>,
    },
}

/// What clipped outputs become, in 64 bits.
#[derive(Clone, Debug, PartialEq)]
pub enum Output {
    /// `mean + sd f`, held to a range.
    Response {
        /// The target column.
        target: String,
        /// Mean of the training rows.
        mean: f64,
        /// Their standard deviation.
        sd: f64,
        /// Smallest and largest answer, if answers are held.
        range: Option<(f64, f64)>,
    },
    /// `e exp(f)`, with `e = rate x exposure` rounded to 32 bits.
    Count {
        /// The target column.
        target: String,
        /// Counts by exposure.
        rate: f64,
        /// The column of exposures, positive numbers; one everywhere if there is none.
        exposure: Option<String>,
    },
    /// Probabilities `room p + least`, where `p` are `1 / (1 + e^f)` and `1 / (1 + e^-f)` of one output, the softmax of several.
    Classes {
        /// The target column.
        target: String,
        /// The classes.
        names: Vec<String>,
        /// What the least probabilities leave.
        room: f64,
        /// The least probability of a class.
        least: f64,
    },
    /// `f - constant` inside the box of the coordinates, minus infinity outside.
    LogDensity {
        /// `log Z` plus the log volume of the box: one number, or one after each iteration.
        constants: Vec<f64>,
    },
}

/// How much a model takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// Bytes of the tables of numbers: weights and biases of the paper's form, scaling.
    pub tables: usize,
    /// Multiply-adds of the network for one prediction.
    pub multiply_adds: usize,
    /// Bytes of the arrays that one prediction has on the stack; frames of calls come on top.
    pub stack: usize,
}

impl Description {
    /// The description of a model; with `every_iteration`, also what a density needs after each of its iterations.
    pub fn new(model: &FittedModel, every_iteration: bool) -> Result<Self, ExportError> {
        let output = match model.likelihood {
            Likelihood::Energy(_) => {
                let constants = match every_iteration {
                    true => model.log_density_constants()?,
                    false => model.log_density_constant()?.map(|constant| vec![constant]),
                };
                Output::LogDensity {
                    constants: constants.unwrap_or_default(),
                }
            }
            _ => Output::of_target(model)?,
        };
        Ok(Self {
            columns: columns(&model.preprocessing),
            network: Network::new(&model.parameters),
            clip: model.bounds.output,
            output,
            about: about(model),
        })
    }

    /// All columns that a row has: those of the inputs, then the exposure.
    pub fn names(&self) -> Vec<&str> {
        let exposure = match &self.output {
            Output::Count { exposure, .. } => exposure.as_deref(),
            _ => None,
        };
        let inputs = self.columns.iter().map(|column| column.name.as_str());
        inputs.chain(exposure).collect()
    }

    /// Whether every column is a number.
    pub fn is_numeric(&self) -> bool {
        let text = |column: &Column| column.reading.categories().is_some();
        !self.columns.iter().any(text)
    }

    /// The classes; empty without any.
    pub fn classes(&self) -> &[String] {
        match &self.output {
            Output::Classes { names, .. } => names,
            _ => &[],
        }
    }

    /// How much it takes.
    pub fn sizes(&self) -> Sizes {
        let network = &self.network;
        let (d, q, r, outputs) = (network.d, network.q, network.r, network.outputs);
        let blocks: usize = network.blocks.iter().map(Vec::len).sum();
        let floats = network.input.len() + blocks + network.output.len();
        let numbers = self
            .columns
            .iter()
            .filter(|c| c.reading.categories().is_none());
        let constants = match &self.output {
            Output::LogDensity { constants } => constants.len(),
            _ => 0,
        };
        let doubles = 3 * numbers.count() + constants;
        let state = network.state();
        let (update, integers, room) = match &network.kind {
            Kind::Ffn { .. } => (2 * q * r, 0, 2 * q),
            Kind::Transformer { tokens } => {
                let n = state / q;
                let update = n * (4 * q * q + 2 * n * q + 2 * q * r);
                (update, tokens.len() + d, 4 * state + n + 3 * q)
            }
        };
        let updates = if network.blocks.is_empty() {
            0
        } else {
            network.iterations
        };
        Sizes {
            tables: 4 * (floats + integers) + 8 * doubles,
            multiply_adds: q * d + updates * update + outputs * state,
            stack: 4 * (d + room + outputs) + 8 * self.classes().len(),
        }
    }
}

impl Output {
    /// What outputs become for a target column.
    fn of_target(model: &FittedModel) -> Result<Self, ExportError> {
        let preprocessing = &model.preprocessing;
        let assessment = model.assessment.as_ref();
        match preprocessing.target() {
            Some(Target::Response { name, mean, sd, .. }) => {
                let held = assessment.is_some_and(|a| a.clip);
                let range = preprocessing.target_range().filter(|_| held);
                Ok(Self::Response {
                    target: name.clone(),
                    mean: *mean,
                    sd: *sd,
                    range: range.map(|range| (range.low(), range.high())),
                })
            }
            Some(Target::Count { name, rate }) => Ok(Self::Count {
                target: name.clone(),
                rate: *rate,
                exposure: preprocessing.weight_column().map(str::to_string),
            }),
            Some(Target::Classes { name, classes }) => {
                let least = assessment.map_or(0.0, |a| a.floor);
                let floor = Floor::new(model.likelihood, least).unwrap_or(Floor::NONE);
                Ok(Self::Classes {
                    target: name.clone(),
                    names: classes.names().to_vec(),
                    room: 1.0 - classes.len() as f64 * floor.least(),
                    least: floor.least(),
                })
            }
            None => Err(ExportError::Contradiction),
        }
    }
}

impl Network {
    fn new(parameters: &Parameters) -> Self {
        let network = parameters.network();
        let affine = network.form() == Form::Affine;
        let tensors = Tensors(parameters.to_paper());
        let blocks = match affine {
            true => 0,
            false => network.tying().blocks(),
        };
        let (kind, input, blocks) = match network.architecture() {
            Architecture::Ffn => {
                let activation = network.activation();
                (
                    Kind::Ffn { activation },
                    tensors.affine("input"),
                    (0..blocks).map(|block| tensors.hidden(block)).collect(),
                )
            }
            Architecture::Transformer { partition } => {
                let data =
                    (0..partition.len()).map(|token| tensors.affine(&format!("input.{token}")));
                let mut input: Vec<f32> = data.flatten().collect();
                for token in ["controller", "reference.0", "reference.1"] {
                    input.extend(tensors.0.view(token));
                }
                let tokens = partition.clone();
                (
                    Kind::Transformer { tokens },
                    input,
                    (0..blocks).map(|block| tensors.attention(block)).collect(),
                )
            }
        };
        Self {
            d: network.d(),
            q: network.q(),
            r: network.r(),
            outputs: network.outputs(),
            iterations: network.tying().iterations(),
            kind,
            input,
            blocks,
            output: tensors.affine("output"),
        }
    }

    /// Numbers in a state: `q`, or `N q` of a Transformer's `N` tokens.
    pub fn state(&self) -> usize {
        match &self.kind {
            Kind::Ffn { .. } => self.q,
            Kind::Transformer { tokens } => loopfit_model::architecture::tokens(tokens) * self.q,
        }
    }
}

/// The tensors of a network in the paper's form.
struct Tensors(Parameters);

impl Tensors {
    /// The rows of a matrix, each followed by its bias.
    fn affine(&self, name: &str) -> Vec<f32> {
        let weights = self.0.view(&format!("{name}.weight"));
        let biases = self.0.view(&format!("{name}.bias"));
        let rows = weights.chunks_exact(weights.len() / biases.len());
        let rows = rows.zip(biases).map(|(row, bias)| [row, &[*bias]].concat());
        rows.flatten().collect()
    }

    /// The hidden units of a block, one after the other, and `b2`.
    fn hidden(&self, block: usize) -> Vec<f32> {
        let [w1, b1, w2, b2] =
            ["w1", "b1", "w2", "b2"].map(|name| self.0.view(&format!("block.{block}.{name}")));
        let (q, r) = (b2.len(), b1.len());
        let unit = |j: usize| {
            let column = w2.iter().skip(j).step_by(r);
            let own = w1[j * q..][..q].iter().chain([&b1[j]]).chain(column);
            own.copied().collect::<Vec<f32>>()
        };
        let units = (0..r).flat_map(unit);
        units.chain(b2.iter().copied()).collect()
    }

    /// All of a Transformer's block.
    fn attention(&self, block: usize) -> Vec<f32> {
        let mut numbers = Vec::new();
        for projection in ["query", "key", "value", "out"] {
            numbers.extend(self.affine(&format!("block.{block}.{projection}")));
        }
        let norm = |name: &str, numbers: &mut Vec<f32>| {
            for part in ["gain", "bias"] {
                numbers.extend(self.0.view(&format!("block.{block}.{name}.{part}")));
            }
        };
        norm("ln1", &mut numbers);
        numbers.extend(self.hidden(block));
        norm("ln2", &mut numbers);
        numbers
    }
}

fn columns(preprocessing: &Preprocessing) -> Vec<Column> {
    let mut first = 0;
    let column = |input: &Input| {
        let reading = match input {
            Input::Numeric {
                mean, sd, median, ..
            } => Reading::Number {
                shift: *mean,
                scale: *sd,
                median: *median,
                bounded: false,
            },
            Input::Unit {
                low, width, median, ..
            } => Reading::Number {
                shift: *low,
                scale: *width,
                median: *median,
                bounded: true,
            },
            Input::Categorical { categories, .. } => Reading::Indicators {
                categories: categories.names().to_vec(),
            },
            Input::Binary {
                categories,
                mean,
                sd,
                ..
            } => Reading::Two {
                categories: categories.names().to_vec(),
                values: [0.0, 1.0].map(|level| ((level - mean) / sd) as f32),
            },
        };
        let own = first;
        first += input.features();
        Column {
            name: input.name().to_string(),
            first: own,
            reading,
            missing: input.says_missing().then(|| first - 1),
        }
    };
    preprocessing.inputs().iter().map(column).collect()
}

/// What a model is, in lines without an end.
fn about(model: &FittedModel) -> Vec<String> {
    let provenance = &model.provenance;
    let mut lines = vec![
        format!("{}, cap {}", model.parameters.network(), provenance.budget),
        format!("likelihood {}", model.likelihood.name()),
    ];
    if !provenance.source.is_empty() {
        lines.push(format!("from {}", provenance.source));
    }
    if let Some(a) = model.assessment.as_ref().filter(|a| a.rows > 0) {
        lines.push(format!(
            "{} rows, estimated {} {:.4e}",
            a.rows, a.metric, a.error
        ));
    }
    lines
}
