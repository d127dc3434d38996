//! `loopfit theory distance`.

pub(super) mod function;

use super::{Sheet, as_usage, checks_json, digits};
use crate::commands::on_threads;
use crate::data::count;
use crate::exit::{Exit, usage};
use crate::{Global, output};
use anyhow::Result;
use clap::ValueEnum;
use function::{Domain, Function, FunctionName, Interval};
use loopfit_likelihood::Gamma;
use loopfit_numerics::log_number::LogNumber;
use loopfit_report::{Align, Table, number};
use loopfit_theory::{
    Calibration, Check, Distances, Error, Estimate, Integration, LikelihoodModel, LogEstimate,
    Method,
};
use serde_json::{Map, Value, json};

#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  loopfit theory distance --likelihood gaussian bumps.safetensors sim:bumps\n  loopfit theory distance --likelihood gaussian sim:bumps sim:bumps@1 --gamma 0.25 --json\n  loopfit theory distance --likelihood energy four-modes.safetensors sim:four-modes --bound 4\n  loopfit theory distance --likelihood laplace --tau 0.1 sim:friedman1 model.safetensors --points 1000000"
)]
pub(crate) struct Arguments {
    /// What the functions stand for: means, medians, logits or log densities.
    #[arg(long)]
    likelihood: LikelihoodName,
    /// The first function: a model file, or a simulation's function such as sim:bumps (of a seed, sim:bumps@3).
    #[arg(value_name = "A")]
    first: FunctionName,
    /// The second function.
    #[arg(value_name = "B")]
    second: FunctionName,
    /// Standard deviation of Gaussian noise; that of the simulation by default.
    #[arg(long, value_name = "S", allow_negative_numbers = true)]
    sigma: Option<f64>,
    /// Scale of Laplace noise.
    #[arg(long, value_name = "T", allow_negative_numbers = true)]
    tau: Option<f64>,
    /// Bound H of both functions; the largest absolute value at the points by default.
    #[arg(long, value_name = "H", allow_negative_numbers = true)]
    bound: Option<f64>,
    /// Order of rho, above 0 and at most 1; the inequality of the bridge is about 0.5, the default.
    #[arg(
        long,
        value_name = "G",
        allow_negative_numbers = true,
        default_value_t = 0.5
    )]
    gamma: f64,
    /// How integrals are computed; quadrature up to three inputs and monte-carlo above by default.
    #[arg(long)]
    method: Option<MethodName>,
    /// About how many points of the unit cube to use; 262144 by default.
    #[arg(long, value_name = "N", value_parser = count)]
    points: Option<usize>,
    /// Seed of simulations without a seed of their own, and of random points.
    #[arg(long, default_value_t = 0, value_parser = crate::data::seed)]
    seed: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum LikelihoodName {
    Gaussian,
    Laplace,
    Bernoulli,
    Multiclass,
    Energy,
}

impl LikelihoodName {
    /// As users write it.
    fn name(self) -> &'static str {
        match self {
            Self::Gaussian => "gaussian",
            Self::Laplace => "laplace",
            Self::Bernoulli => "bernoulli",
            Self::Multiclass => "multiclass",
            Self::Energy => "energy",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum MethodName {
    Quadrature,
    MonteCarlo,
}

pub(crate) fn run(a: &Arguments, global: &Global) -> Result<Exit> {
    let [first, second] = [&a.first, &a.second].map(|name| Function::load(name, a.seed));
    let (first, second) = (first?, second?);
    let domain = function::domain(a.likelihood, &first, &second)?;
    let model = a.model(&first, &second)?;
    let integration = a.integration(first.d()).map_err(as_usage)?;
    let gamma = Gamma::new(a.gamma).map_err(|error| usage(error.to_string()))?;
    let distances = on_threads(global, || {
        Distances::between(
            model,
            gamma,
            integration,
            |points| first.index(points, &domain),
            |points| second.index(points, &domain),
        )
    })??;
    let calibration = distances.calibration(a.bound).map_err(as_usage)?;
    let checks = distances.checks(&calibration);
    if !global.quiet {
        for function in [&first, &second] {
            if let Some(note) = function.note(a.likelihood) {
                output::say(&note);
            }
        }
    }
    if global.json {
        output::print_json(&a.to_json(&domain, &distances, &calibration, &checks))?;
    } else {
        let title = format!("Distances between {} and {}", first.name(), second.name());
        let mut sheet = a.sheet(&title, &distances, &calibration, &checks);
        sheet.note(&a.where_uniform(&domain));
        sheet.print()?;
    }
    Ok(if checks.iter().all(|check| check.holds) {
        Exit::Done
    } else {
        Exit::CheckFailed
    })
}

impl Arguments {
    /// The likelihood model with its noise scale or classes.
    fn model(&self, first: &Function, second: &Function) -> Result<LikelihoodModel> {
        let only = |given: bool, option: &str, likelihood: LikelihoodName| {
            if given && self.likelihood != likelihood {
                return Err(usage(format!(
                    "{option} is the noise of --likelihood {}: leave it out",
                    likelihood.name()
                )));
            }
            Ok(())
        };
        only(self.sigma.is_some(), "--sigma", LikelihoodName::Gaussian)?;
        only(self.tau.is_some(), "--tau", LikelihoodName::Laplace)?;
        match self.likelihood {
            LikelihoodName::Gaussian => {
                let sigma = match (self.sigma, first.noise_sd(), second.noise_sd()) {
                    (Some(sigma), ..) => sigma,
                    (None, Some(one), Some(other)) if one != other => {
                        return Err(usage(format!(
                            "the noise of {} has standard deviation {one}, that of {} {other}: choose one with --sigma",
                            first.name(),
                            second.name()
                        )));
                    }
                    (None, Some(sigma), _) | (None, None, Some(sigma)) => sigma,
                    (None, None, None) => {
                        return Err(usage(
                            "a model file does not know the noise of its data: give its standard deviation with --sigma".to_string(),
                        ));
                    }
                };
                LikelihoodModel::gaussian(sigma).map_err(as_usage)
            }
            LikelihoodName::Laplace => match self.tau {
                Some(tau) => LikelihoodModel::laplace(tau).map_err(as_usage),
                None => Err(usage(
                    "the Laplace model has a noise scale: give it with --tau".to_string(),
                )),
            },
            LikelihoodName::Bernoulli => Ok(LikelihoodModel::Bernoulli),
            LikelihoodName::Multiclass => {
                LikelihoodModel::multiclass(first.classes().len()).map_err(as_usage)
            }
            LikelihoodName::Energy => Ok(LikelihoodModel::Energy),
        }
    }

    fn integration(&self, d: usize) -> Result<Integration, Error> {
        let standard = Integration::standard(d, self.seed)?;
        let method = match self.method {
            None => standard.method(),
            Some(MethodName::Quadrature) => Method::Quadrature,
            Some(MethodName::MonteCarlo) => Method::MonteCarlo { seed: self.seed },
        };
        Integration::new(d, method, self.points.unwrap_or(standard.points()))
    }

    fn sheet(
        &self,
        title: &str,
        distances: &Distances,
        calibration: &Calibration,
        checks: &[Check],
    ) -> Sheet {
        let noise = match distances.model {
            LikelihoodModel::Gaussian(l) => format!(", sigma = {}", l.sigma()),
            LikelihoodModel::Laplace(l) => format!(", tau = {}", l.tau()),
            _ => String::new(),
        };
        let title = format!("{title} ({}{noise})", self.likelihood.name());
        let mut sheet = Sheet::new(&title, "Proposition 3.2, Sections C.1 to C.4");
        let points = number::integer(distances.integration.points() as u64);
        let (column, how) = match distances.integration.method() {
            Method::Quadrature => (
                "+-",
                format!(
                    "Gauss-Legendre quadrature at {points} points; +- is the difference from a coarser rule, an estimate and no bound where functions have kinks."
                ),
            ),
            Method::MonteCarlo { seed } => (
                "+- (95%)",
                format!(
                    "Monte Carlo at {points} points of seed {seed}; +- is half a 95% confidence interval."
                ),
            ),
        };
        let mut table = Table::new([
            ("symbol", Align::Left),
            ("value", Align::Right),
            (column, Align::Right),
            ("meaning", Align::Left),
        ]);
        let plain = |e: Estimate| [digits(e.value), digits(e.error)];
        let LogEstimate { value, error } = distances.rho;
        let rho = match distances.gamma == Gamma::HALF {
            true => "rho_1/2".to_string(),
            false => format!("rho_{}", number::shortest(self.gamma)),
        };
        for (symbol, [value, error], meaning) in [
            (
                "h^2",
                plain(distances.h2),
                "squared Hellinger distance, at most 2",
            ),
            (
                "KL",
                plain(distances.kl),
                "Kullback-Leibler divergence of B from A",
            ),
            (
                rho.as_str(),
                [log_digits(value), log_digits(error)],
                "one-sided likelihood quantity",
            ),
            ("L2", plain(distances.l2), "distance of the functions"),
            (
                "L2 centred",
                plain(distances.l2_centred),
                "the same modulo what the law does not see of an energy or of logits",
            ),
        ] {
            table.push([symbol.to_string(), value, error, meaning.to_string()]);
        }
        sheet.table("", &table);
        sheet.note(&how);
        let origin = match self.bound {
            Some(_) => "bound of both functions, as given",
            None => "bound of both functions: the largest |value| at the points (--bound sets it)",
        };
        sheet.values([
            ("H", digits(calibration.bound()), origin),
            ("c_m", log_digits(calibration.c()), "c_m d_m^2 <= h^2"),
            ("C_m", log_digits(calibration.upper()), "h^2 <= C_m d_m^2"),
            (
                "C_bridge",
                log_digits(calibration.bridge()),
                "rho_1/2 <= C_bridge h^2",
            ),
        ]);
        sheet.verdicts(
            "Inequalities on this pair (d_m is L2, for energies and classes L2 centred)",
            checks,
        );
        sheet
    }

    /// Where the inputs are uniform, in a sentence.
    fn where_uniform(&self, domain: &Domain) -> String {
        if domain.is_unit_cube() {
            return "Inputs are uniform on the unit cube.".to_string();
        }
        let interval = |input: &Interval| {
            let [low, high] = [input.low, input.low + input.width].map(digits);
            format!("{} in [{low}, {high}]", input.name)
        };
        let intervals: Vec<String> = domain.inputs.iter().map(interval).collect();
        let why = match self.likelihood {
            LikelihoodName::Energy => "the box of the densities",
            _ => "the box with the mean and the standard deviations of A's training rows",
        };
        format!("Inputs are uniform on {why}: {}.", intervals.join(", "))
    }

    fn to_json(
        &self,
        domain: &Domain,
        distances: &Distances,
        calibration: &Calibration,
        checks: &[Check],
    ) -> Map<String, Value> {
        let plain = |e: Estimate| json!({ "value": e.value, "error": e.error });
        let integration = distances.integration;
        let mut rho = Map::new();
        put(&mut rho, "value", distances.rho.value);
        put(&mut rho, "error", distances.rho.error);
        let mut all = Map::new();
        let mut set = |key: &str, value: Value| all.insert(key.to_string(), value);
        set("A", json!(self.first.text()));
        set("B", json!(self.second.text()));
        set("d", json!(integration.d()));
        let interval = |input: &Interval| json!({ "input": input.name, "low": input.low, "high": input.low + input.width });
        set("box", domain.inputs.iter().map(interval).collect());
        set("m", json!(self.likelihood.name()));
        match distances.model {
            LikelihoodModel::Gaussian(l) => set("sigma", json!(l.sigma())),
            LikelihoodModel::Laplace(l) => set("tau", json!(l.tau())),
            LikelihoodModel::Multiclass(l) => set("classes", json!(l.classes())),
            LikelihoodModel::Bernoulli | LikelihoodModel::Energy => None,
        };
        set("H", json!(calibration.bound()));
        set("h2", plain(distances.h2));
        set("KL", plain(distances.kl));
        let half = distances.gamma == Gamma::HALF;
        set(if half { "rho_half" } else { "rho" }, Value::Object(rho));
        set("gamma", json!(self.gamma));
        set("L2", plain(distances.l2));
        set("L2_centred", plain(distances.l2_centred));
        let method = match integration.method() {
            Method::Quadrature => "quadrature",
            Method::MonteCarlo { .. } => "monte-carlo",
        };
        set("method", json!(method));
        set("points", json!(integration.points()));
        set("checks", checks_json(checks));
        put(&mut all, "c_m", calibration.c());
        put(&mut all, "C_m", calibration.upper());
        put(&mut all, "C_bridge", calibration.bridge());
        all
    }
}

/// Five digits of a number that no float may hold.
fn log_digits(number: LogNumber) -> String {
    match number.value() {
        value if number == LogNumber::ZERO || value.is_normal() => digits(value),
        _ => number.to_string(),
    }
}

/// A number under its key; its natural logarithm under `log_KEY` where no float can hold it.
fn put(map: &mut Map<String, Value>, key: &str, number: LogNumber) {
    let value = number.value();
    if number == LogNumber::ZERO || value.is_normal() {
        map.insert(key.to_string(), json!(value));
    } else {
        map.insert(format!("log_{key}"), json!(number.ln()));
    }
}
