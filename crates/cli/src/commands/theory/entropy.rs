//! `loopfit theory entropy`.

use super::{
    ConstantArguments, Sheet, architecture, architecture_words, as_usage, constants_json, digits,
    insert_log, log_digits, tokens_of, whole,
};
use crate::architecture::TokensArgument;
use crate::data::count;
use crate::exit::{Exit, usage};
use crate::{Global, output};
use anyhow::Result;
use loopfit_holder::{HolderClass, Smoothness};
use loopfit_model::Budget;
use loopfit_model::budget::UntiedShape;
use loopfit_model::reference::LAYER_NORM_STABILISER;
use loopfit_numerics::log_number::LogNumber;
use loopfit_report::{Align, Table, number};
use loopfit_theory::bound::sensitivity_exponent;
use loopfit_theory::entropy::{
    CriticalRadius, LARGEST_UNION, ParameterClass, UntiedUnion, resolution_constant,
};
use loopfit_theory::fano::{Fano, fano};
use loopfit_theory::floor::{Floor, explicit_floor};
use loopfit_theory::{Calibration, Constant, LikelihoodModel, LoopShape, Problem, Sensitivity};
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
    /// The architecture.
    #[arg(long, value_name = "ARCH", default_value = "ffn", value_parser = ["ffn", "transformer"])]
    arch: String,
    #[command(flatten)]
    tokens: TokensArgument,
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
    /// The four likelihoods of the paper.
    fn models(&self) -> Result<[(&'static str, LikelihoodModel); 4]> {
        Ok([
            (
                "gaussian",
                LikelihoodModel::gaussian(self.sigma).map_err(as_usage)?,
            ),
            (
                "laplace",
                LikelihoodModel::laplace(self.tau).map_err(as_usage)?,
            ),
            ("bernoulli", LikelihoodModel::Bernoulli),
            ("energy", LikelihoodModel::Energy),
        ])
    }

    /// The open constants that the answer depends on.
    fn used(&self) -> Vec<Constant> {
        let mut used = vec![Constant::C6];
        used.extend(
            self.n
                .into_iter()
                .flat_map(|_| [Constant::C1, Constant::C2]),
        );
        used.extend(self.smoothness.map(|_| Constant::CUntied));
        used
    }

    fn shape(&self, problem: &Problem) -> Result<LoopShape, loopfit_theory::Error> {
        match (self.budget, self.state, self.width) {
            (Some(budget), Some(q), _) => problem.widest(q, budget),
            (Some(budget), None, _) => problem.widest(problem.square_q(budget)?, budget),
            (None, q, r) => problem.shape(q.unwrap_or(1), r.unwrap_or(1)),
        }
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
}

pub(crate) fn run(a: &Arguments, global: &Global) -> Result<Exit> {
    a.check()?;
    // The smoothness enters the untied floor alone, which needs one.
    let smoothness = Smoothness::new(a.dim, a.smoothness.unwrap_or(1.0)).map_err(in_usage)?;
    let architecture = architecture(&a.arch, &a.tokens, a.dim)?;
    let problem = Problem::new(smoothness, architecture, a.constants.constants(&a.used())?);
    let shape = a.shape(&problem).map_err(as_usage)?;
    let answer = Answer::new(a, &problem, shape)?;
    if global.json {
        output::print_json(&answer.to_json(a))?;
    } else {
        answer.sheet(a).print()?;
    }
    Ok(Exit::Done)
}

fn in_usage(error: loopfit_holder::Error) -> anyhow::Error {
    usage(error.to_string())
}

struct Answer<'a> {
    problem: &'a Problem,
    shape: LoopShape,
    g: f64,
    sensitivity: Sensitivity,
    gamma: LogNumber,
    covering: f64,
    /// The number of untied shapes and the one with the largest cover, where there is a budget.
    untied: Option<(u64, UntiedShape)>,
    laws: Vec<Laws>,
}

/// What one likelihood makes of the classes.
struct Laws {
    name: &'static str,
    bracketing: f64,
    radius: Option<CriticalRadius>,
    untied_covering: Option<f64>,
    floor: Option<Floor>,
    /// Where there are a sample size and a smoothness.
    fano: Option<Fano>,
    /// `K` of Lemma C.5, where there is a critical radius.
    k: Option<f64>,
}

impl<'a> Answer<'a> {
    fn new(a: &Arguments, problem: &'a Problem, shape: LoopShape) -> Result<Self> {
        let t = a.iterations as f64;
        let architecture = problem.architecture();
        let (m, stabiliser) = (a.parameter_bound, a.epsilon_ln);
        let sensitivity = Sensitivity::new(architecture, a.dim, shape.q, shape.r, m, stabiliser);
        let gamma = sensitivity.gamma(t);
        let class = ParameterClass::new(shape.count, m, gamma);
        let union = match a.budget {
            // The loop's own entropy needs no enumeration.
            Some(b) if b > LARGEST_UNION as u64 && a.smoothness.is_none() => None,
            None => None,
            Some(b) => {
                let budget = Budget::new(b as usize, architecture.clone(), a.dim, 1)
                    .map_err(|error| usage(error.to_string()))?;
                Some(UntiedUnion::new(&budget, m, stabiliser).map_err(as_usage)?)
            }
        };
        let epsilon = LogNumber::new(a.epsilon);
        let mut laws = Vec::new();
        for (name, model) in a.models()? {
            let calibration = Calibration::new(model, a.bound).map_err(as_usage)?;
            let radius = |n: u64| class.critical_radius(calibration, n as f64, problem.constants());
            let cover = |union: &UntiedUnion| {
                union
                    .covering(LogNumber::new(calibration.cover_radius(a.epsilon)))
                    .0
            };
            let target = HolderClass::new(problem.smoothness(), a.bound).map_err(in_usage)?;
            let floor = match (&union, a.smoothness) {
                (Some(union), Some(_)) => {
                    Some(explicit_floor(union, calibration, target).map_err(as_usage)?)
                }
                _ => None,
            };
            let fano = match (a.n, a.smoothness) {
                (Some(n), Some(_)) => Some(fano(calibration, target, n as f64).map_err(as_usage)?),
                _ => None,
            };
            let radius = a.n.map(radius);
            let k = match (radius, a.n) {
                (Some(CriticalRadius::Radius(e)), Some(n)) => {
                    let g = sensitivity_exponent(problem, shape, t);
                    Some(resolution_constant(e, shape.count, g, n as f64))
                }
                _ => None,
            };
            laws.push(Laws {
                name,
                bracketing: class.bracketing(calibration, a.epsilon),
                radius,
                untied_covering: union.as_ref().map(cover),
                floor,
                fano,
                k,
            });
        }
        Ok(Self {
            problem,
            shape,
            g: sensitivity_exponent(problem, shape, t),
            sensitivity,
            gamma,
            covering: class.covering(epsilon),
            untied: union.map(|union| (union.triples, union.covering(epsilon).1)),
            laws,
        })
    }

    fn to_json(&self, a: &Arguments) -> Map<String, Value> {
        let mut object = Map::new();
        object.insert("arch".into(), json!(a.arch));
        if let Some(n) = tokens_of(self.problem.architecture()) {
            object.insert("N".into(), json!(n));
        }
        for (key, value) in [
            ("d", json!(a.dim)),
            ("q", json!(self.shape.q)),
            ("r", json!(self.shape.r)),
            ("T", json!(a.iterations)),
            ("P", json!(self.shape.count)),
            ("M_par", json!(a.parameter_bound)),
            ("H", json!(a.bound)),
            ("sigma", json!(a.sigma)),
            ("tau", json!(a.tau)),
            ("epsilon", json!(a.epsilon)),
            ("G", json!(self.g)),
            ("log_gamma", json!(self.gamma.ln())),
            ("covering", json!(self.covering)),
        ] {
            object.insert(key.into(), value);
        }
        for named in self.sensitivity.constants() {
            insert_log(&mut object, named.symbol, named.value);
        }
        if let Some((triples, largest)) = &self.untied {
            object.insert("untied_triples".into(), json!(triples));
            object.insert("untied_largest".into(), json!(largest));
        }
        let laws = self
            .laws
            .iter()
            .map(|laws| (laws.name.to_string(), laws.to_json()));
        object.insert("laws".into(), Value::Object(laws.collect()));
        object.insert(
            "constants".into(),
            constants_json(self.problem.constants(), &a.used()),
        );
        object
    }

    fn sheet(&self, a: &Arguments) -> Sheet {
        let mut sheet = Sheet::new(
            &format!(
                "Entropy of a loop class: {}, d = {}, q = {}, r = {}, T = {}, coefficients in [-{m}, {m}]",
                architecture_words(self.problem.architecture()),
                a.dim,
                self.shape.q,
                self.shape.r,
                number::integer(a.iterations),
                m = number::shortest(a.parameter_bound)
            ),
            match self.sensitivity {
                Sensitivity::Transformer(_) => {
                    "Lemma C.4, equations (S11), (S12), Proposition 3.4; sensitivity, covers and brackets have explicit constants"
                }
                Sensitivity::Ffn(_) => {
                    "Equations (S11), (S12), Proposition 3.4, with explicit constants; those of the FFN's sensitivity are our own, derived as in Lemma C.4"
                }
            },
        );
        sheet.values([
            ("P", number::integer(self.shape.count), "coefficients"),
            (
                "G",
                digits(self.g),
                "exponent of sensitivity (10), with C_6",
            ),
            (
                "log Gamma",
                digits(self.gamma.ln()),
                "sensitivity of the output to the coefficients (S11)",
            ),
            (
                "log N",
                digits(self.covering),
                "cover of the functions at radius epsilon (S12)",
            ),
        ]);
        let mut table = Table::new([
            ("symbol", Align::Left),
            ("value", Align::Right),
            ("meaning", Align::Left),
        ]);
        for named in self.sensitivity.constants() {
            table.push([
                named.symbol.to_string(),
                log_digits(named.value),
                named.meaning.to_string(),
            ]);
        }
        sheet.table("Constants of the sensitivity recurrence", &table);
        let (caption, table) = self.laws_table(a);
        sheet.table(&caption, &table);
        if let Some((triples, UntiedShape { q, r, t, .. })) = &self.untied {
            sheet.note(&format!(
                "Untied networks under the same budget: {} admissible (q, r, T), of which ({q}, {r}, {t}) has the largest cover; their union is covered as in Lemma C.6 with all constants explicit.",
                number::integer(*triples)
            ));
        }
        if let (None, Some(_)) = (self.untied, a.budget) {
            sheet.note(&format!(
                "Untied networks are enumerated up to a budget of {}.",
                number::integer(LARGEST_UNION as u64)
            ));
        }
        if let (Some(b), Some(_)) = (a.budget, a.smoothness) {
            let order = self
                .problem
                .rates()
                .untied_floor(b as f64, self.problem.constants());
            sheet.note(&format!(
                "Untied floor: no estimator with values in these networks has a smaller worst-case squared Hellinger risk at any n, by Theorem 2.6 with the packing of Lemma C.3, all constants explicit; c_U {{B^2 log(eB)}}^-a is {}.",
                log_digits(order)
            ));
        }
        if a.n.is_some() {
            sheet.note(
                "K: e_n^2 = K P {log(en) + G} / n, the smallest constant of Lemma C.5 at this n.",
            );
        }
        if let (Some(n), Some(_)) = (a.n, a.smoothness) {
            sheet.note(&format!(
                "Minimax floor: no estimator of any kind has a smaller worst-case squared Hellinger risk at n = {}, by Fano's inequality on the packing of Lemma C.3, all constants explicit (Theorem 4.2).",
                number::integer(n)
            ));
        }
        sheet.constants(self.problem.constants(), &a.used());
        sheet
    }

    /// One line for each likelihood.
    fn laws_table(&self, a: &Arguments) -> (String, Table) {
        let mut header = vec![("likelihood", Align::Left), ("brackets H", Align::Right)];
        header.extend(a.n.map(|_| ("critical radius e_n", Align::Right)));
        header.extend(a.n.map(|_| ("K", Align::Right)));
        header.extend(self.untied.map(|_| ("untied cover log N", Align::Right)));
        header.extend(a.smoothness.map(|_| ("untied floor", Align::Right)));
        header.extend(
            a.smoothness
                .and(a.n)
                .map(|_| ("minimax floor", Align::Right)),
        );
        let mut table = Table::new(header);
        for laws in &self.laws {
            let mut cells = vec![laws.name.to_string(), digits(laws.bracketing)];
            cells.extend(laws.radius.map(|radius| match radius {
                CriticalRadius::Radius(e) => digits(e),
                CriticalRadius::None { needed } => {
                    format!("none below n = {}", log_digits(needed))
                }
            }));
            if a.n.is_some() {
                cells.push(laws.k.map_or(number::ABSENT.to_string(), digits));
            }
            cells.extend(laws.untied_covering.map(digits));
            cells.extend(laws.floor.map(|floor| log_digits(floor.risk())));
            cells.extend(laws.fano.map(|fano| log_digits(fano.risk)));
            table.push(cells);
        }
        let caption = format!(
            "Laws with Hellinger brackets of width and covers of radius {}; H = {}, sigma = {}, tau = {}",
            number::shortest(a.epsilon),
            number::shortest(a.bound),
            number::shortest(a.sigma),
            number::shortest(a.tau)
        );
        (caption, table)
    }
}

impl Laws {
    fn to_json(&self) -> Value {
        let mut object = Map::new();
        object.insert("bracketing".into(), json!(self.bracketing));
        match self.radius {
            Some(CriticalRadius::Radius(e)) => {
                object.insert("e_n".into(), json!(e));
            }
            Some(CriticalRadius::None { needed }) => {
                object.insert("e_n".into(), Value::Null);
                insert_log(&mut object, "n_needed", needed);
            }
            None => {}
        }
        if let Some(covering) = self.untied_covering {
            object.insert("untied_covering".into(), json!(covering));
        }
        if self.radius.is_some() {
            object.insert("K".into(), json!(self.k));
        }
        if let Some(fano) = &self.fano {
            insert_log(&mut object, "minimax_floor", fano.risk);
            insert_log(&mut object, "minimax_constant", fano.constant);
            insert_log(&mut object, "minimax_delta", fano.delta);
        }
        if let Some(floor) = &self.floor {
            insert_log(&mut object, "untied_floor", floor.risk());
            insert_log(&mut object, "delta", floor.delta);
            object.insert("log_M_at_delta".into(), json!(floor.log_packing.value()));
            object.insert("log_N_at_delta".into(), json!(floor.log_cover.value()));
        }
        Value::Object(object)
    }
}
