//! `loopfit theory entropy`.

use super::{
    ConstantArguments, ShapeArguments, Sheet, as_usage, constants_json, digits, insert_log,
    log_digits, whole,
};
use crate::architecture::TokensArgument;
use crate::data::count;
use crate::exit::{Exit, usage};
use crate::{Global, output};
use anyhow::Result;
use clap::ValueEnum;
use loopfit_holder::{HolderClass, Smoothness};
use loopfit_likelihood::{Gaussian, Laplace};
use loopfit_model::Budget;
use loopfit_model::budget::UntiedShape;
use loopfit_model::reference::LAYER_NORM_STABILISER;
use loopfit_numerics::log_number::LogNumber;
use loopfit_report::{Align, Table, number};
use loopfit_theory::bound::sensitivity_exponent;
use loopfit_theory::entropy::{CriticalRadius, ParameterClass, UntiedUnion};
use loopfit_theory::floor::{Floor, explicit_floor};
use loopfit_theory::{
    Calibration, LikelihoodModel, LoopShape, Problem, Rates, Sensitivity, Thresholds,
};
use serde_json::{Map, Value, json};

#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  loopfit theory entropy --dim 2 --budget 128 --iterations 16\n  loopfit theory entropy --dim 2 --q 4 --r 12 --iterations 16 --arch transformer --n 4096\n  loopfit theory entropy --dim 1 --budget 64 --iterations 8 --likelihood bernoulli --bound 3 --smoothness 1 --json"
)]
pub(crate) struct Arguments {
    /// Number of inputs d.
    #[arg(long, value_name = "d", value_parser = count)]
    dim: usize,
    #[command(flatten)]
    shape: ShapeArguments,
    /// Iterations T of the loop.
    #[arg(long, value_name = "T", value_parser = whole)]
    iterations: u64,
    /// The architecture.
    #[arg(long, value_name = "ARCH", default_value = "ffn", value_parser = ["ffn", "transformer"])]
    arch: String,
    #[command(flatten)]
    tokens: TokensArgument,
    /// Bound M_par on every coefficient; the default is that of the studies.
    #[arg(long, value_name = "M", default_value_t = 128.0)]
    parameter_bound: f64,
    /// Stabiliser of layer normalisation.
    #[arg(long, value_name = "E", default_value_t = LAYER_NORM_STABILISER)]
    epsilon_ln: f64,
    /// Radius at which the class is covered.
    #[arg(long, value_name = "E", default_value_t = 0.01)]
    epsilon: f64,
    /// The likelihood, for brackets of laws.
    #[arg(long, default_value = "gaussian")]
    likelihood: LikelihoodName,
    /// Standard deviation of Gaussian noise.
    #[arg(long, value_name = "S", default_value_t = 1.0)]
    sigma: f64,
    /// Scale of Laplace noise.
    #[arg(long, value_name = "T", default_value_t = 1.0)]
    tau: f64,
    /// Bound H of the target and of the output.
    #[arg(long, value_name = "H", default_value_t = 1.0)]
    bound: f64,
    /// Sample size, for the critical radius.
    #[arg(long, value_name = "N", value_parser = whole)]
    n: Option<u64>,
    /// Smoothness s of the target, for the untied floor with explicit constants; needs --budget.
    #[arg(long, value_name = "s", requires = "budget")]
    smoothness: Option<f64>,
    #[command(flatten)]
    constants: ConstantArguments,
}

/// The likelihoods of the paper.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum LikelihoodName {
    Gaussian,
    Laplace,
    Bernoulli,
    Energy,
}

impl Arguments {
    fn model(&self) -> Result<LikelihoodModel> {
        let model = match self.likelihood {
            LikelihoodName::Gaussian => Gaussian::new(self.sigma).map(LikelihoodModel::Gaussian),
            LikelihoodName::Laplace => Laplace::new(self.tau).map(LikelihoodModel::Laplace),
            LikelihoodName::Bernoulli => Ok(LikelihoodModel::Bernoulli),
            LikelihoodName::Energy => Ok(LikelihoodModel::Energy),
        };
        model.map_err(|error| usage(error.to_string()))
    }

    fn check(&self) -> Result<()> {
        for (option, value) in [
            ("--parameter-bound", self.parameter_bound),
            ("--epsilon-ln", self.epsilon_ln),
            ("--epsilon", self.epsilon),
        ] {
            if !(value > 0.0 && value.is_finite()) {
                return Err(usage(format!("{option} {value} must be a positive number")));
            }
        }
        Ok(())
    }
}

pub(crate) fn run(a: &Arguments, global: &Global) -> Result<Exit> {
    a.check()?;
    let model = a.model()?;
    // Without a smoothness nothing below depends on it.
    let smoothness =
        Smoothness::new(a.dim, a.smoothness.unwrap_or(1.0)).map_err(|e| usage(e.to_string()))?;
    let architecture = a.tokens.of(&a.arch)?.at(a.dim)?;
    let thresholds =
        Thresholds::new(smoothness, &architecture, a.bound, a.epsilon_ln).map_err(as_usage)?;
    let problem = Problem::new(smoothness, architecture, a.constants.constants()?);
    if a.shape.budget.is_none() && a.shape.width.is_none() {
        return Err(usage(
            "which class? give --budget B, or widths as --q Q --r R".to_string(),
        ));
    }
    let (shape, _) = a.shape.get(&problem, &thresholds)?;
    let calibration = Calibration::new(model, a.bound).map_err(as_usage)?;
    let answer = Answer::new(a, &problem, shape, calibration)?;
    if global.json {
        output::print_json(&answer.to_json(a))?;
    } else {
        answer.sheet(a).print()?;
    }
    Ok(Exit::Done)
}

struct Answer<'a> {
    problem: &'a Problem,
    shape: LoopShape,
    g: f64,
    sensitivity: Sensitivity,
    gamma: LogNumber,
    covering: f64,
    bracketing: f64,
    radius: Option<CriticalRadius>,
    untied: Option<Untied>,
}

/// What a budget says about separate blocks.
struct Untied {
    triples: u64,
    covering: f64,
    largest: UntiedShape,
    floor: Option<Floor>,
    order: LogNumber,
}

impl<'a> Answer<'a> {
    fn new(
        a: &Arguments,
        problem: &'a Problem,
        shape: LoopShape,
        calibration: Calibration,
    ) -> Result<Self> {
        let t = a.iterations as f64;
        let sensitivity = Sensitivity::new(
            problem.architecture(),
            a.dim,
            shape.q,
            shape.r,
            a.parameter_bound,
            a.epsilon_ln,
        );
        let gamma = sensitivity.gamma(t);
        let class = ParameterClass::new(shape.count, a.parameter_bound, gamma);
        let constants = problem.constants();
        let radius =
            a.n.map(|n| class.critical_radius(calibration, n as f64, constants));
        let untied = a
            .shape
            .budget
            .map(|b| Untied::new(a, problem, b, calibration));
        Ok(Self {
            problem,
            shape,
            g: sensitivity_exponent(problem, shape, t),
            sensitivity,
            gamma,
            covering: class.covering(LogNumber::new(a.epsilon)),
            bracketing: class.bracketing(calibration, a.epsilon),
            radius,
            untied: untied.transpose()?,
        })
    }

    fn constants(&self) -> Vec<loopfit_theory::Constant> {
        self.problem.constants().of(&["C_6", "C_1", "C_2"])
    }

    fn to_json(&self, a: &Arguments) -> Value {
        let mut object = Map::new();
        for (key, value) in [
            ("d", json!(a.dim)),
            ("q", json!(self.shape.q)),
            ("r", json!(self.shape.r)),
            ("T", json!(a.iterations)),
            ("P", json!(self.shape.count)),
            ("M_par", json!(a.parameter_bound)),
            ("H", json!(a.bound)),
            ("epsilon", json!(a.epsilon)),
            ("G", json!(self.g)),
            ("log_gamma", json!(self.gamma.ln())),
            ("covering", json!(self.covering)),
            ("bracketing", json!(self.bracketing)),
        ] {
            object.insert(key.into(), value);
        }
        for named in self.sensitivity.constants() {
            insert_log(&mut object, named.symbol, named.value);
        }
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
        if let Some(untied) = &self.untied {
            object.insert("untied".into(), untied.to_json());
        }
        object.insert("constants".into(), constants_json(&self.constants()));
        Value::Object(object)
    }

    fn sheet(&self, a: &Arguments) -> Sheet {
        let mut sheet = Sheet::new(
            &format!(
                "Entropy of a loop class: q = {}, r = {}, T = {}, coefficients in [-{m}, {m}]",
                self.shape.q,
                self.shape.r,
                number::integer(a.iterations),
                m = a.parameter_bound
            ),
            "Lemma C.4 and equations (S11), (S12); Proposition 3.4; sensitivity, covers and brackets have explicit constants",
        );
        let radius = match self.radius {
            None => None,
            Some(CriticalRadius::Radius(e)) => Some((
                "e_n",
                digits(e),
                "critical radius (2); its square is the estimation term",
            )),
            Some(CriticalRadius::None { needed }) => Some((
                "e_n",
                format!("none below n = {}", log_digits(needed)),
                "critical radius (2): the condition fails at every radius",
            )),
        };
        sheet.values(
            [
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
                (
                    "H",
                    digits(self.bracketing),
                    "Hellinger brackets of the laws of width epsilon",
                ),
            ]
            .into_iter()
            .chain(radius),
        );
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
        if let Some(untied) = &self.untied {
            untied.describe(&mut sheet);
        }
        sheet.constants(&self.constants());
        sheet
    }
}

impl Untied {
    fn new(a: &Arguments, problem: &Problem, b: u64, calibration: Calibration) -> Result<Self> {
        let budget = Budget::new(b as usize, problem.architecture().clone(), a.dim, 1)
            .map_err(|error| usage(error.to_string()))?;
        let union = UntiedUnion::new(&budget, a.parameter_bound, a.epsilon_ln).map_err(as_usage)?;
        let (covering, largest) =
            union.covering(LogNumber::new(calibration.cover_radius(a.epsilon)));
        let floor = match a.smoothness {
            None => None,
            Some(_) => {
                let class = HolderClass::new(problem.smoothness(), a.bound)
                    .map_err(|error| usage(error.to_string()))?;
                Some(explicit_floor(&union, calibration, class).map_err(as_usage)?)
            }
        };
        Ok(Self {
            triples: union.triples,
            covering,
            largest,
            floor,
            order: Rates::new(problem.smoothness()).untied_floor(b as f64, problem.constants()),
        })
    }

    fn to_json(&self) -> Value {
        let mut object = Map::new();
        object.insert("triples".into(), json!(self.triples));
        object.insert("covering".into(), json!(self.covering));
        object.insert("largest".into(), json!(self.largest));
        if let Some(floor) = &self.floor {
            insert_log(&mut object, "floor", floor.risk());
            insert_log(&mut object, "delta", floor.delta);
            object.insert("log_M".into(), json!(floor.log_packing.value()));
            object.insert("log_N".into(), json!(floor.log_cover.value()));
        }
        Value::Object(object)
    }

    fn describe(&self, sheet: &mut Sheet) {
        let UntiedShape { q, r, t, .. } = self.largest;
        sheet.note(&format!(
            "Untied networks under the same budget: {} admissible (q, r, T); their laws have Hellinger covers of radius epsilon with log N = {}, of which (q, r, T) = ({q}, {r}, {t}) has the largest share (Lemma C.6, all constants explicit).",
            number::integer(self.triples),
            digits(self.covering)
        ));
        if let Some(floor) = &self.floor {
            sheet.note(&format!(
                "No estimator with values in them has a worst-case squared Hellinger risk below {}, at any n: Lemma C.3 has targets 8 delta apart, delta = {}, with log M = {}, and log N = {} balls of radius delta cover the networks (Theorem 2.6, all constants explicit; {{B^2 log(eB)}}^-a is {}).",
                log_digits(floor.risk()),
                log_digits(floor.delta),
                log_digits(floor.log_packing),
                log_digits(floor.log_cover),
                log_digits(self.order)
            ));
        }
    }
}
