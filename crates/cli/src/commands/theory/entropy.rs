//! `loopfit theory entropy`.

use super::{
    ConstantArguments, architecture_json, architecture_words, as_usage, constants_json, digits,
    log_digits, log_json, put_constants, whole,
};
use crate::architecture::ArchitectureArgument;
use crate::data::count;
use crate::exit::{Exit, usage};
use crate::json::object;
use crate::sheet::{Sheet, columns, values};
use crate::{Global, output};
use anyhow::Result;
use loopfit_holder::Smoothness;
use loopfit_model::budget::UntiedShape;
use loopfit_model::reference::LAYER_NORM_STABILISER;
use loopfit_numerics::named::Named;
use loopfit_report::{Table, number};
use loopfit_theory::entropy::sizes::{Question, Untied};
use loopfit_theory::entropy::{CriticalRadius, LARGEST_UNION, Laws, Sizes};
use loopfit_theory::{Constant, LoopClass, Problem, Sensitivity, Widths};
use serde_json::{Map, Value, json};

#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  loopfit theory entropy --dim 2 --budget 128 --iterations 16\n  loopfit theory entropy --dim 2 --q 4 --r 12 --iterations 16 --arch transformer --n 4096\n  loopfit theory entropy --dim 1 --budget 64 --iterations 8 --bound 3 --smoothness 1 --n 1e6 --json"
)]
pub(crate) struct Arguments {
    /// Number of inputs d.
    #[arg(long, value_name = "d", value_parser = count)]
    dim: usize,
    /// The cap B: the loop has the largest hidden width that it allows, and all untied networks under the cap
    /// are considered beside it.
    #[arg(long, value_name = "B", value_parser = whole, conflicts_with = "width", required_unless_present = "width")]
    budget: Option<u64>,
    /// State dimension q; of a budget, by default the largest whose widest block is at least as wide.
    #[arg(long = "q", value_name = "Q", value_parser = whole)]
    state: Option<u64>,
    /// Hidden width r, instead of a budget.
    #[arg(long = "r", value_name = "R", value_parser = whole, requires = "state")]
    width: Option<u64>,
    /// Iterations T of the loop.
    #[arg(long, value_name = "T", value_parser = whole)]
    iterations: u64,
    #[command(flatten)]
    architecture: ArchitectureArgument,
    /// Bound M_par on every coefficient; the default is that of the studies.
    #[arg(
        long,
        value_name = "M",
        allow_negative_numbers = true,
        default_value_t = 128.0
    )]
    parameter_bound: f64,
    /// Stabiliser of layer normalisation.
    #[arg(long, value_name = "E", allow_negative_numbers = true, default_value_t = LAYER_NORM_STABILISER)]
    epsilon_ln: f64,
    /// Radius of covers, and width of brackets, below 1.
    #[arg(
        long,
        value_name = "E",
        allow_negative_numbers = true,
        default_value_t = 0.01
    )]
    epsilon: f64,
    /// Standard deviation of Gaussian noise.
    #[arg(
        long,
        value_name = "S",
        allow_negative_numbers = true,
        default_value_t = 1.0
    )]
    sigma: f64,
    /// Scale of Laplace noise.
    #[arg(
        long,
        value_name = "T",
        allow_negative_numbers = true,
        default_value_t = 1.0
    )]
    tau: f64,
    /// Bound H of the target and of the output.
    #[arg(
        long,
        value_name = "H",
        allow_negative_numbers = true,
        default_value_t = 1.0
    )]
    bound: f64,
    /// Sample size, for the critical radius.
    #[arg(long, value_name = "N", value_parser = whole)]
    n: Option<u64>,
    /// Smoothness s of the target, for the untied floor and, with --n, the minimax floor, both with explicit constants; needs
    /// --budget.
    #[arg(
        long,
        value_name = "s",
        allow_negative_numbers = true,
        requires = "budget"
    )]
    smoothness: Option<f64>,
    #[command(flatten)]
    constants: ConstantArguments,
}

impl Arguments {
    /// The open constants that the answer depends on.
    fn used(&self) -> Vec<Constant> {
        Constant::of_entropy(self.n.is_some(), self.smoothness.is_some())
    }

    fn shape(&self, problem: &Problem) -> Result<LoopClass> {
        let widths = Widths {
            budget: self.budget,
            q: self.state,
            r: self.width,
        };
        let (shape, _) = problem.choose(widths, None).map_err(as_usage)?;
        Ok(shape)
    }

    fn check(&self) -> Result<()> {
        if self.epsilon >= 1.0 {
            return Err(usage(format!(
                "--epsilon {} must be below 1, as in Proposition 3.2",
                number::shortest(self.epsilon)
            )));
        }
        for (option, value) in [
            ("--parameter-bound", self.parameter_bound),
            ("--epsilon-ln", self.epsilon_ln),
            ("--epsilon", self.epsilon),
        ] {
            if !(value > 0.0 && value.is_finite()) {
                let value = number::shortest(value);
                return Err(usage(format!("{option} {value} must be a positive number")));
            }
        }
        Ok(())
    }

    fn question(&self, shape: LoopClass) -> Question {
        Question {
            shape,
            iterations: self.iterations as f64,
            budget: self.budget,
            parameter_bound: self.parameter_bound,
            stabiliser: self.epsilon_ln,
            epsilon: self.epsilon,
            sigma: self.sigma,
            tau: self.tau,
            bound: self.bound,
            n: self.n.map(|n| n as f64),
            floors: self.smoothness.is_some(),
        }
    }
}

pub(crate) fn run(a: &Arguments, global: &Global) -> Result<Exit> {
    a.check()?;
    // The smoothness enters the floors alone.
    let smoothness = Smoothness::new(a.dim, a.smoothness.unwrap_or(1.0));
    let smoothness = smoothness.map_err(|error| usage(error.to_string()))?;
    let architecture = a.architecture.at(a.dim)?;
    let problem = Problem::new(smoothness, architecture, a.constants.constants(&a.used())?);
    let shape = a.shape(&problem)?;
    let sizes = Sizes::new(&problem, &a.question(shape)).map_err(as_usage)?;
    if global.json {
        output::print_json(&to_json(a, &problem, shape, &sizes))?;
    } else {
        sheet(a, &problem, shape, &sizes).print()?;
    }
    Ok(Exit::Done)
}

fn to_json(
    a: &Arguments,
    problem: &Problem,
    shape: LoopClass,
    sizes: &Sizes,
) -> Map<String, Value> {
    let laws = sizes.laws.iter();
    let laws = laws.map(|laws| (laws.kind.name().to_string(), laws_json(laws)));
    let mut object = architecture_json(problem.architecture());
    object.extend(object!({
        "d": a.dim, "q": shape.q, "r": shape.r, "T": a.iterations, "P": shape.count,
        "M_par": a.parameter_bound, "H": a.bound, "sigma": a.sigma, "tau": a.tau, "epsilon": a.epsilon,
        "G": sizes.exponent, "log_gamma": sizes.gamma.ln(), "covering": sizes.covering,
        "laws": Value::Object(laws.collect()), "constants": constants_json(problem.constants(), &a.used()),
    }));
    for named in sizes.sensitivity.constants() {
        object.extend(log_json([(named.symbol, named.value)]));
    }
    if let Some(Untied { triples, largest }) = &sizes.untied {
        object.extend(object!({ "untied_triples": triples, "untied_largest": largest }));
    }
    object
}

fn laws_json(laws: &Laws) -> Value {
    let mut object = object!({ "bracketing": laws.bracketing });
    if let Some(radius) = laws.radius {
        let (e, needed) = match radius {
            CriticalRadius::Radius(e) => (Some(e), None),
            CriticalRadius::None { needed } => (None, Some(needed)),
        };
        object.extend(object!({ "e_n": e, "K": laws.k }));
        object.extend(
            needed
                .map(|n| log_json([("n_needed", n)]))
                .into_iter()
                .flatten(),
        );
    }
    if let Some(covering) = laws.untied_covering {
        object.insert("untied_covering".into(), json!(covering));
    }
    if let Some(fano) = &laws.fano {
        object.extend(log_json([
            ("minimax_floor", fano.risk),
            ("minimax_constant", fano.constant),
            ("minimax_delta", fano.delta),
        ]));
    }
    if let Some(floor) = &laws.floor {
        object.extend(log_json([
            ("untied_floor", floor.risk()),
            ("delta", floor.delta),
        ]));
        object.extend(object!({
            "log_M_at_delta": floor.log_packing.value(), "log_N_at_delta": floor.log_cover.value(),
        }));
    }
    Value::Object(object)
}

fn sheet(a: &Arguments, problem: &Problem, shape: LoopClass, sizes: &Sizes) -> Sheet {
    let mut sheet = Sheet::new(
        &format!(
            "Entropy of a loop class: {}, d = {}, q = {}, r = {}, T = {}, coefficients in [-{m}, {m}]",
            architecture_words(problem.architecture()),
            a.dim,
            shape.q,
            shape.r,
            number::integer(a.iterations),
            m = number::shortest(a.parameter_bound)
        ),
        match sizes.sensitivity {
            Sensitivity::Transformer(_) => {
                "Lemma C.4, equations (S11), (S12), Proposition 3.4; sensitivity, covers and brackets have explicit constants"
            }
            Sensitivity::Ffn(_) => {
                "Equations (S11), (S12), Proposition 3.4, with explicit constants; those of the FFN's sensitivity are our own, derived as in Lemma C.4"
            }
        },
    );
    let lines = values! {
        "P", number::integer(shape.count), "coefficients";
        "G", digits(sizes.exponent), "exponent of sensitivity (10), with C_6";
        "log Gamma", digits(sizes.gamma.ln()), "sensitivity of the output to the coefficients (S11)";
        "log N", digits(sizes.covering), "cover of the functions at radius epsilon (S12)";
    };
    sheet.values("", lines);
    let constants = sizes.sensitivity.constants().into_iter();
    let constants = constants.map(|named| {
        let (symbol, meaning) = (named.symbol.to_string(), named.meaning.to_string());
        (symbol, log_digits(named.value), meaning)
    });
    sheet.values(
        "Constants of the sensitivity recurrence",
        constants.collect(),
    );
    let caption = format!(
        "Laws with Hellinger brackets of width and covers of radius {}; H = {}, sigma = {}, tau = {}",
        number::shortest(a.epsilon),
        number::shortest(a.bound),
        number::shortest(a.sigma),
        number::shortest(a.tau)
    );
    sheet.table(&caption, &laws_table(a, sizes));
    let remarks = remarks(a, problem, sizes);
    remarks.iter().for_each(|sentence| sheet.note(sentence));
    put_constants(&mut sheet, problem.constants(), &a.used());
    sheet
}

/// What the columns are, as far as they are there.
fn remarks(a: &Arguments, problem: &Problem, sizes: &Sizes) -> Vec<String> {
    let mut remarks = Vec::new();
    match (&sizes.untied, a.budget) {
        (Some(Untied { triples, largest }), _) => {
            let UntiedShape { q, r, t, .. } = largest;
            remarks.push(format!(
                "Untied networks under the same budget: {} admissible (q, r, T), of which ({q}, {r}, {t}) has the largest cover; their union is covered as in Lemma C.6 with all constants explicit.",
                number::integer(*triples)
            ));
        }
        (None, Some(_)) => remarks.push(format!(
            "Untied networks are enumerated up to a budget of {}.",
            number::integer(LARGEST_UNION as u64)
        )),
        (None, None) => {}
    }
    if let (Some(b), Some(_)) = (a.budget, a.smoothness) {
        let order = problem.rates().untied_floor(b as f64, problem.constants());
        remarks.push(format!(
            "Untied floor: no estimator with values in these networks has a smaller worst-case squared Hellinger risk at any n, by Theorem 2.6 with the packing of Lemma C.3, all constants explicit; c_U {{B^2 log(eB)}}^-a is {}.",
            log_digits(order)
        ));
    }
    if a.n.is_some() {
        let words =
            "K: e_n^2 = K P {log(en) + G} / n, the smallest constant of Lemma C.5 at this n.";
        remarks.push(words.to_string());
    }
    if let (Some(n), Some(_)) = (a.n, a.smoothness) {
        remarks.push(format!(
            "Minimax floor: no estimator of any kind has a smaller worst-case squared Hellinger risk at n = {}, by Fano's inequality on the packing of Lemma C.3, all constants explicit (Theorem 4.2).",
            number::integer(n)
        ));
    }
    remarks
}

/// One line for each likelihood.
fn laws_table(a: &Arguments, sizes: &Sizes) -> Table {
    let mut header = vec!["brackets H"];
    header.extend(
        a.n.map(|_| ["critical radius e_n", "K"])
            .into_iter()
            .flatten(),
    );
    header.extend(sizes.untied.map(|_| "untied cover log N"));
    header.extend(a.smoothness.map(|_| "untied floor"));
    header.extend(a.smoothness.and(a.n).map(|_| "minimax floor"));
    let mut table = columns(&["likelihood"], &header, &[]);
    for laws in &sizes.laws {
        let mut cells = vec![laws.kind.name().to_string(), digits(laws.bracketing)];
        if let Some(radius) = laws.radius {
            cells.push(match radius {
                CriticalRadius::Radius(e) => digits(e),
                CriticalRadius::None { needed } => format!("none below n = {}", log_digits(needed)),
            });
            cells.push(laws.k.map_or(number::ABSENT.to_string(), digits));
        }
        cells.extend(laws.untied_covering.map(digits));
        cells.extend(laws.floor.map(|floor| log_digits(floor.risk())));
        cells.extend(laws.fano.map(|fano| log_digits(fano.risk)));
        table.push(cells);
    }
    table
}
