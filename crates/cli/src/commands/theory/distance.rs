//! `loopfit theory distance`.

use super::function::FunctionArgument;
use super::{as_usage, checks_json, digits, exit_of, put_checks};
use crate::commands::on_threads;
use crate::data::count;
use crate::exit::{Exit, usage};
use crate::json::object;
use crate::named::named;
use crate::sheet::{Sheet, columns, values};
use crate::{Global, output};
use anyhow::Result;
use loopfit_likelihood::Gamma;
use loopfit_numerics::log_number::LogNumber;
use loopfit_numerics::named::Named;
use loopfit_report::number;
use loopfit_theory::function::{common_domain, common_model};
use loopfit_theory::{
    Calibration, Check, Cubature, CubatureKind, Distances, Domain, Error, FunctionError,
    Integration, Interval, LikelihoodKind, LikelihoodModel, Measured,
};
use serde_json::{Map, Value, json};

#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  loopfit theory distance --likelihood gaussian bumps.safetensors sim:bumps\n  loopfit theory distance --likelihood gaussian sim:bumps sim:bumps@1 --gamma 0.25 --json\n  loopfit theory distance --likelihood energy four-modes.safetensors sim:four-modes --bound 4\n  loopfit theory distance --likelihood laplace --tau 0.1 sim:friedman1 model.safetensors --points 1000000"
)]
pub(crate) struct Arguments {
    /// What the functions stand for: means, medians, logits or log densities.
    #[arg(long, value_parser = named::<LikelihoodKind>())]
    likelihood: LikelihoodKind,
    /// The first function: a model file, or a simulation's function such as sim:bumps (of a seed, sim:bumps@3).
    #[arg(value_name = "A")]
    first: FunctionArgument,
    /// The second function.
    #[arg(value_name = "B")]
    second: FunctionArgument,
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
    #[arg(long, value_parser = named::<CubatureKind>())]
    method: Option<CubatureKind>,
    /// About how many points of the unit cube to use; 262144 by default.
    #[arg(long, value_name = "N", value_parser = count)]
    points: Option<usize>,
    /// Seed of simulations without a seed of their own, and of random points.
    #[arg(long, default_value_t = 0, value_parser = crate::data::seed)]
    seed: u64,
}

pub(crate) fn run(a: &Arguments, global: &Global) -> Result<Exit> {
    let (first, second) = (a.first.load(a.seed)?, a.second.load(a.seed)?);
    let domain = common_domain(a.likelihood, &first, &second);
    let domain = domain.map_err(|error| refused(error.into()))?;
    a.check_noise()?;
    let model = common_model(a.likelihood, &first, &second, a.sigma, a.tau).map_err(refused)?;
    let d = domain.inputs.len();
    let integration = Integration::choose(d, a.seed, a.method, a.points).map_err(as_usage)?;
    let gamma = Gamma::new(a.gamma).map_err(|error| usage(error.to_string()))?;
    let distances = on_threads(global, || {
        Distances::between(
            model,
            gamma,
            integration,
            |points| first.on(&domain, points),
            |points| second.on(&domain, points),
        )
    })??;
    let calibration = distances.calibration(a.bound).map_err(as_usage)?;
    let checks = distances.checks(&calibration);
    for function in [&first, &second].into_iter().filter(|_| !global.quiet) {
        if let Some((made_for, taken_for)) = function.taken_for(a.likelihood) {
            output::say(&format!(
                "the function of {} is a {made_for} in its simulation and a {taken_for} here",
                function.name
            ));
        }
    }
    if global.json {
        output::print_json(&a.to_json(&domain, &distances, &calibration, &checks))?;
    } else {
        let title = format!("Distances between {} and {}", first.name, second.name);
        let mut sheet = a.sheet(&title, &distances, &calibration, &checks);
        sheet.note(&a.where_uniform(&domain));
        sheet.print()?;
    }
    Ok(exit_of(&checks))
}

/// What cannot be compared, in the words of the command line.
fn refused(error: Error) -> anyhow::Error {
    let Error::Functions(why) = &error else {
        return as_usage(error);
    };
    usage(match why {
        FunctionError::OtherLikelihood { name, own, asked } => format!(
            "{name} was fitted with the {own} likelihood and is not a function of the {asked} one: use --likelihood {own}"
        ),
        FunctionError::TwoNoises { .. } => format!("{error} with --sigma"),
        FunctionError::NoNoise => format!("{error} with --sigma"),
        FunctionError::NoScale => format!("{error} with --tau"),
        _ => error.to_string(),
    })
}

impl Arguments {
    /// An error where a noise is given that the likelihood does not have.
    fn check_noise(&self) -> Result<()> {
        for (given, option, kind) in [
            (self.sigma, "--sigma", LikelihoodKind::Gaussian),
            (self.tau, "--tau", LikelihoodKind::Laplace),
        ] {
            if given.is_some() && self.likelihood != kind {
                return Err(usage(format!(
                    "{option} is the noise of --likelihood {}: leave it out",
                    kind.name()
                )));
            }
        }
        Ok(())
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
            Cubature::Quadrature => (
                "+-",
                format!(
                    "Gauss-Legendre quadrature at {points} points; +- is the difference from a coarser rule, an estimate and no bound where functions have kinks."
                ),
            ),
            Cubature::MonteCarlo { seed } => (
                "+- (95%)",
                format!(
                    "Monte Carlo at {points} points of seed {seed}; +- is half a 95% confidence interval."
                ),
            ),
        };
        let mut table = columns(&["symbol"], &["value", column], &["meaning"]);
        let plain = |e: Measured| [digits(e.value), digits(e.error)];
        let rho = match distances.gamma == Gamma::HALF {
            true => "rho_1/2".to_string(),
            false => format!("rho_{}", number::shortest(self.gamma)),
        };
        let rho_digits = [distances.rho.value, distances.rho.error].map(log_digits);
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
            (&rho, rho_digits, "one-sided likelihood quantity"),
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
        let lines = values! {
            "H", digits(calibration.bound()), origin;
            "c_m", log_digits(calibration.c()), "c_m d_m^2 <= h^2";
            "C_m", log_digits(calibration.upper()), "h^2 <= C_m d_m^2";
            "C_bridge", log_digits(calibration.bridge()), "rho_1/2 <= C_bridge h^2";
        };
        sheet.values("", lines);
        let heading = "Inequalities on this pair (d_m is L2, for energies and classes L2 centred)";
        put_checks(&mut sheet, heading, checks);
        sheet
    }

    /// Where the inputs are uniform, in a sentence.
    fn where_uniform(&self, domain: &Domain) -> String {
        if domain.is_unit_cube() {
            return "Inputs are uniform on the unit cube.".to_string();
        }
        let interval = |input: &Interval| {
            let [low, high] = [input.low, input.high()].map(digits);
            format!("{} in [{low}, {high}]", input.name)
        };
        let intervals: Vec<String> = domain.inputs.iter().map(interval).collect();
        let why = match self.likelihood {
            LikelihoodKind::Energy => "the box of the densities",
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
        let plain = |e: Measured| json!({ "value": e.value, "error": e.error });
        let integration = distances.integration;
        let rho = [
            ("value", distances.rho.value),
            ("error", distances.rho.error),
        ];
        let rho_key = match distances.gamma == Gamma::HALF {
            true => "rho_half",
            false => "rho",
        };
        let interval = |input: &Interval| json!({ "input": input.name, "low": input.low, "high": input.high() });
        let mut object = object!({
            "A": self.first.text(), "B": self.second.text(), "d": integration.d(), "m": self.likelihood.name(),
            "box": domain.inputs.iter().map(interval).collect::<Vec<_>>(), "H": calibration.bound(),
            "h2": plain(distances.h2), "KL": plain(distances.kl), (rho_key): in_log(rho), "gamma": self.gamma,
            "L2": plain(distances.l2), "L2_centred": plain(distances.l2_centred),
            "method": integration.method().kind().name(), "points": integration.points(), "checks": checks_json(checks),
        });
        object.extend(match distances.model {
            LikelihoodModel::Gaussian(l) => object!({ "sigma": l.sigma() }),
            LikelihoodModel::Laplace(l) => object!({ "tau": l.tau() }),
            LikelihoodModel::Multiclass(l) => object!({ "classes": l.classes() }),
            LikelihoodModel::Bernoulli | LikelihoodModel::Energy => Map::new(),
        });
        object.extend(in_log([
            ("c_m", calibration.c()),
            ("C_m", calibration.upper()),
            ("C_bridge", calibration.bridge()),
        ]));
        object
    }
}

/// Five digits of a number that no float may hold.
fn log_digits(number: LogNumber) -> String {
    match number.value() {
        value if number == LogNumber::ZERO || value.is_normal() => digits(value),
        _ => number.to_string(),
    }
}

/// Numbers under their keys; the natural logarithm under `log_KEY` where no float can hold one.
fn in_log<const N: usize>(numbers: [(&str, LogNumber); N]) -> Map<String, Value> {
    let entry = |(key, number): (&str, LogNumber)| match number.value() {
        value if number == LogNumber::ZERO || value.is_normal() => (key.to_string(), json!(value)),
        _ => (format!("log_{key}"), json!(number.ln())),
    };
    numbers.into_iter().map(entry).collect()
}
