//! `loopfit theory oracle`.

use super::function::{FunctionArgument, of_model};
use super::{
    ConstantArguments, as_usage, constants_json, digits, log_digits, log_json, put_constants,
};
use crate::data::{count, seeded_simulation};
use crate::exit::{Exit, usage};
use crate::json::object;
use crate::sheet::{Sheet, values};
use crate::{Global, interrupt, output};
use anyhow::{Context, Result};
use loopfit_data::{Samples, Simulation};
use loopfit_engine::{Engine, MAX_SCORING_PARAMETERS};
use loopfit_fitted::FittedModel;
use loopfit_likelihood::{Gamma, Gaussian, Likelihood};
use loopfit_model::reference::LAYER_NORM_STABILISER;
use loopfit_model::{Activation, Parameters};
use loopfit_numerics::named::Named;
use loopfit_report::number;
use loopfit_search::climb::{Climbed, Slope, climb};
use loopfit_theory::entropy::CriticalRadius;
use loopfit_theory::function::common_domain;
use loopfit_theory::oracle::class_of;
use loopfit_theory::{
    Calibration, Constant, Constants, Distances, Function, Integration, LikelihoodKind,
    LikelihoodModel, Oracle,
};
use serde_json::{Map, Value};
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;

/// Training and validation observations of a simulation where none are given, as in `fit`.
const TRAIN: usize = 4096;
const VALID: usize = 1024;
/// Fresh observations, of a response without noise, that the nearest member is looked for with.
const FRESH: usize = 8192;
/// The constants that the critical radius depends on.
const USED: [Constant; 2] = [Constant::C1, Constant::C2];

#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  loopfit fit sim:double-well --budget 64 --updates 20000 -o well.safetensors\n  loopfit theory oracle well.safetensors sim:double-well\n  loopfit fit sim:bumps --seed 3 --train 512 --budget 64 --updates 20000 -o bumps.safetensors\n  loopfit theory oracle bumps.safetensors sim:bumps@3 --train 512 --json"
)]
pub(crate) struct Arguments {
    /// A model of at most 4096 numbers, fitted to the simulation: a residual FFN with ReLU units, or a Transformer.
    model: PathBuf,
    /// The simulation that it was fitted to, such as sim:bumps, of the seed of the fit (of another, sim:bumps@3).
    data: SimulationArgument,
    /// Training observations of the fit; 4096 by default.
    #[arg(long, value_name = "N", value_parser = count)]
    train: Option<usize>,
    /// Validation observations of the fit, which count where it was fitted again to all; 1024 by default.
    #[arg(long, value_name = "N", value_parser = count)]
    valid: Option<usize>,
    /// Updates of each climb that looks for a more likely member, and for one nearer to the truth.
    #[arg(long, value_name = "N", default_value_t = 300, value_parser = count)]
    updates: usize,
    #[command(flatten)]
    constants: ConstantArguments,
}

/// A simulation, of a seed or of the model's own.
#[derive(Clone, Debug)]
struct SimulationArgument(Simulation, Option<u64>);

impl FromStr for SimulationArgument {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match seeded_simulation(text) {
            Some(simulation) => simulation.map(|(simulation, seed)| Self(simulation, seed)),
            None => Err(
                "the law behind a table is unknown, so that no risk can be measured: name a simulation such as sim:bumps"
                    .to_string(),
            ),
        }
    }
}

/// All that was found.
struct Found {
    oracle: Oracle,
    climbed: Climbed,
    n: usize,
    kind: LikelihoodKind,
    /// The noise on the scale of the model's outputs.
    sigma: Option<f64>,
}

pub(crate) fn run(a: &Arguments, global: &Global) -> Result<Exit> {
    let constants = a.constants.constants(&USED)?;
    let mut model = FittedModel::load(&a.model)?;
    // A member of the class is the network itself.
    model.assessment = None;
    let SimulationArgument(simulation, seed) = a.data.clone();
    let seed = seed.unwrap_or(model.provenance.seed);
    let found = a.measure(&model, simulation, seed, &constants, global)?;
    if global.json {
        output::print_json(&a.to_json(&model, seed, &found, &constants))?;
    } else {
        a.sheet(&model, seed, &found, &constants).print()?;
    }
    Ok(Exit::Done)
}

impl Arguments {
    fn measure(
        &self,
        model: &FittedModel,
        simulation: Simulation,
        seed: u64,
        constants: &Constants,
        global: &Global,
    ) -> Result<Found> {
        let network = model.parameters.network();
        self.check(model, simulation)?;
        let (samples, fresh) = self.samples(model, simulation, seed)?;
        let n = samples.n();
        let unit = model.preprocessing.to_original(1.0) - model.preprocessing.to_original(0.0);
        let (law, likelihood, sigma) = match simulation.noise_sd() {
            None => (LikelihoodModel::Energy, model.likelihood, None),
            Some(noise) => {
                let wrong = |e: loopfit_likelihood::Error| {
                    usage(format!(
                        "sim:{simulation} cannot be a law of observations: {e}"
                    ))
                };
                let own = Gaussian::new(noise).map_err(wrong)?;
                let scaled = Gaussian::new(noise / unit).map_err(wrong)?;
                let likelihood = Likelihood::Gaussian(scaled);
                (
                    LikelihoodModel::Gaussian(own),
                    likelihood,
                    Some(noise / unit),
                )
            }
        };
        let slope = |samples: Samples| Slope {
            samples: Arc::new(samples),
            likelihood,
            bounds: model.bounds,
        };
        let (own, truth) = (slope(samples), slope(fresh));
        let engine = Engine::new(global.threads)?;
        let slopes = [&own, &truth];
        let climbed = interrupt::searching(|control| {
            climb(&engine, control, &model.parameters, slopes, self.updates)
        })?;
        let f0 = FunctionArgument::Simulation(simulation, Some(seed)).load(seed)?;
        let distance = |parameters: &Parameters| -> Result<Distances> {
            let member = FittedModel {
                parameters: parameters.clone(),
                ..model.clone()
            };
            let member = of_model(self.name(), member);
            self.distances(law, &f0, &member, global)
        };
        let risk = distance(&model.parameters)?.h2;
        let mut approximation = risk;
        for member in &climbed.members {
            let h2 = distance(member)?.h2;
            if h2.value < approximation.value {
                approximation = h2;
            }
        }
        // On the scale of the network's outputs, where its bounds are.
        let scaled = match likelihood {
            Likelihood::Gaussian(gaussian) => LikelihoodModel::Gaussian(gaussian),
            _ => LikelihoodModel::Energy,
        };
        let bound = f64::from(model.bounds.output);
        let calibration = Calibration::new(scaled, bound).map_err(as_usage)?;
        let class = class_of(
            network,
            model.bounds.parameter.into(),
            LAYER_NORM_STABILISER,
        );
        let tolerance = climbed.own - climbed.lowest;
        let oracle = Oracle::new(
            risk,
            approximation,
            tolerance,
            (&class, calibration),
            n,
            constants,
        );
        Ok(Found {
            oracle,
            climbed,
            n,
            kind: law.kind(),
            sigma,
        })
    }

    fn name(&self) -> String {
        self.model.display().to_string()
    }

    /// What the inequality is not about.
    fn check(&self, model: &FittedModel, simulation: Simulation) -> Result<()> {
        let (name, network) = (self.name(), model.parameters.network());
        if network.activation() != Activation::Relu {
            return Err(usage(format!(
                "{name} has {} units, and the classes of the paper have ReLU units: fit one with --activation relu",
                network.activation()
            )));
        }
        if network.count() > MAX_SCORING_PARAMETERS {
            return Err(usage(format!(
                "{name} has {} numbers, and climbs take at most {MAX_SCORING_PARAMETERS}: fit one under a smaller cap",
                network.count()
            )));
        }
        if network.d() != simulation.dim() {
            return Err(usage(format!(
                "{name} has {} inputs and sim:{simulation} has {}: name the simulation that it was fitted to",
                network.d(),
                simulation.dim()
            )));
        }
        match (model.likelihood, simulation.is_density()) {
            (Likelihood::Gaussian(_), false) | (Likelihood::Energy(_), true) => Ok(()),
            (own, _) => Err(usage(format!(
                "{name} was fitted with the {} likelihood, which is not the law of sim:{simulation}: fit one without --likelihood",
                own.name()
            ))),
        }
    }

    /// The samples that the model was fitted to, and fresh ones, a response without noise.
    fn samples(
        &self,
        model: &FittedModel,
        simulation: Simulation,
        seed: u64,
    ) -> Result<(Samples, Samples)> {
        let (n_train, n_valid) = (self.train.unwrap_or(TRAIN), self.valid.unwrap_or(VALID));
        let draw = simulation.draw(seed, n_train, n_valid, FRESH);
        let [train, valid, fresh] = [
            (draw.train, n_train),
            (draw.valid, n_valid),
            (draw.test, FRESH),
        ]
        .map(|(part, n)| {
            let table = part.to_table(&format!("sim:{simulation}"));
            let rows: Vec<usize> = (0..n).collect();
            model
                .preprocessing
                .samples(&table, &rows)
                .with_context(|| self.name())
        });
        let (train, fresh) = (train?, fresh?);
        let known = &model.provenance.training_samples;
        if *known == train.hash() {
            return Ok((train, fresh));
        }
        let all = train.followed_by(&valid?)?;
        if *known == all.hash() {
            return Ok((all, fresh));
        }
        Err(usage(format!(
            "{} was not fitted to {n_train} training observations of sim:{simulation} with seed {seed}: give --train and --valid of its fit, \
             or its seed as in sim:{simulation}@3",
            self.name()
        )))
    }

    /// The distances of a member from the truth.
    fn distances(
        &self,
        law: LikelihoodModel,
        truth: &Function<'static, anyhow::Error>,
        member: &Function<'static, anyhow::Error>,
        global: &Global,
    ) -> Result<Distances> {
        let domain =
            common_domain(law.kind(), truth, member).map_err(|error| as_usage(error.into()))?;
        let integration =
            Integration::choose(domain.inputs.len(), 0, None, None).map_err(as_usage)?;
        crate::commands::on_threads(global, || {
            Distances::between(
                law,
                Gamma::HALF,
                integration,
                |points| truth.on(&domain, points),
                |points| member.on(&domain, points),
            )
        })?
    }

    /// `sim:bumps@3`.
    fn data(&self, seed: u64) -> String {
        format!("sim:{}@{seed}", self.data.0)
    }

    fn sheet(&self, model: &FittedModel, seed: u64, found: &Found, constants: &Constants) -> Sheet {
        let (oracle, network) = (&found.oracle, model.parameters.network());
        let mut sheet = Sheet::new(
            &format!(
                "Oracle inequality at {}: {network}, {} observations of {}",
                self.name(),
                number::integer(found.n as u64),
                self.data(seed)
            ),
            "Corollary 2.4, equation (4): E h^2 <= C_5 {A + e_n^2 + epsilon_n}",
        );
        sheet.lines("", [one_line(oracle)]);
        let n = found.n as f64;
        let within = match oracle.tolerance <= 1.0 / n {
            true => "at least; within 1/n as far as the climbs can tell",
            false => "at least: above 1/n, which the theorems ask for",
        };
        let lines = values! {
            "h^2", digits(oracle.risk.value), "squared Hellinger distance of the model from the truth: its risk on this sample";
            "A", digits(oracle.approximation.value), "at most: that of the nearest member of its class that was found";
            "e_n^2", digits(oracle.estimation()), estimation_words(oracle);
            "epsilon", digits(oracle.tolerance), within;
            "n epsilon", digits(n * oracle.tolerance), "the same in units of 1/n";
            "L", digits(-found.climbed.own), "average log-likelihood of the model on its sample, in model units";
            "L best", digits(-found.climbed.lowest), "the highest that was found in its class";
        };
        sheet.values("", lines);
        sheet.note(&format!(
            "The truth and the noise are those of the simulation. The nearest and the most likely member are the best of climbs of {} updates from the model, so that A may be smaller and epsilon larger; the inequality is about a mean over samples and the worst target, and C_5 is open.",
            self.updates
        ));
        put_constants(&mut sheet, constants, &USED);
        sheet
    }

    fn to_json(
        &self,
        model: &FittedModel,
        seed: u64,
        found: &Found,
        constants: &Constants,
    ) -> Map<String, Value> {
        let (oracle, network) = (&found.oracle, model.parameters.network());
        let e_n = match oracle.radius {
            CriticalRadius::Radius(e) => Some(e),
            CriticalRadius::None { .. } => None,
        };
        let arch = network.architecture().kind().name();
        let n = found.n as f64;
        let mut object = object!({
            "model": self.name(), "data": self.data(seed), "n": found.n, "m": found.kind.name(), "sigma": found.sigma,
            "arch": arch, "method": network.tying().method().key(), "d": network.d(), "q": network.q(), "r": network.r(),
            "T": network.tying().iterations(), "P": network.count(), "M_par": model.bounds.parameter,
            "H": model.bounds.output, "updates": self.updates,
            "h2": { "value": oracle.risk.value, "error": oracle.risk.error },
            "A": { "value": oracle.approximation.value, "error": oracle.approximation.error },
            "e_n": e_n, "estimation": oracle.estimation(), "epsilon": oracle.tolerance,
            "within_tolerance": oracle.tolerance <= 1.0 / n,
            "L": -found.climbed.own, "L_best": -found.climbed.lowest,
            "sum": oracle.sum(), "ratio": oracle.ratio(), "constants": constants_json(constants, &USED),
        });
        if let CriticalRadius::None { needed } = oracle.radius {
            object.extend(log_json([("n_needed", needed)]));
        }
        object
    }
}

/// `h^2 = 0.012; A + e_n^2 + epsilon = 0.004 + 0.9 + 0.001 = 0.905; ratio 0.0133`.
fn one_line(oracle: &Oracle) -> String {
    format!(
        "h^2 = {}; A + e_n^2 + epsilon = {} + {} + {} = {}; ratio {}",
        digits(oracle.risk.value),
        digits(oracle.approximation.value),
        digits(oracle.estimation()),
        digits(oracle.tolerance),
        digits(oracle.sum()),
        digits(oracle.ratio())
    )
}

fn estimation_words(oracle: &Oracle) -> String {
    match oracle.radius {
        CriticalRadius::Radius(_) => {
            "critical radius of the class, squared, from its entropy".to_string()
        }
        CriticalRadius::None { needed } => format!(
            "no critical radius: the entropy condition needs n = {}, and h^2 <= 2 is all that is left",
            log_digits(needed)
        ),
    }
}
