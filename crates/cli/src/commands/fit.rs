//! `loopfit fit`.

mod estimate;
mod search;

use crate::architecture::ArchitectureArguments;
use crate::asked::wrong;
use crate::data::{LearnArguments, Read, cap, given, index_bound, seed};
use crate::effort::{SearchArguments, duration};
use crate::estimating::EstimateArguments;
use crate::exit::Exit;
use crate::json::object;
use crate::methods::MethodsArgument;
use crate::progress::Bar;
use crate::{Global, interrupt, output};
use anyhow::Result;
use loopfit::{Absence, Error, Fit, Fits, Found, Plan};
use loopfit_report::number;
use serde_json::{Map, Value};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  loopfit fit data.csv --target y --budget 128 -o model.safetensors\n  loopfit fit data.csv --target y --budget 128 --effort strong -o model.safetensors\n  loopfit fit data.csv --target y --budget 128 --time 60s -o model.safetensors\n  loopfit fit data.csv --target species --budget 64 --method loop -o model.safetensors\n  loopfit fit data.csv --target y --budget 256 --arch transformer --tokens 0,1/2,3 -o model.safetensors\n  loopfit fit data.csv --target y --budget 256 --arch any -o model.safetensors\n  loopfit fit data:airfoil --data-dir data --budget 64 -o airfoil.safetensors\n  loopfit fit points.csv --task density --budget 160 -o density.safetensors\n  cat data.csv | loopfit fit - --target y --budget 128 --json"
)]
pub(crate) struct Arguments {
    #[command(flatten)]
    learn: LearnArguments,
    /// The cap B on distinct trainable numbers.
    #[arg(long, value_name = "B", value_parser = cap)]
    budget: usize,
    /// Where the model goes.
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    methods: MethodsArgument,
    #[command(flatten)]
    architecture: ArchitectureArguments,
    #[command(flatten)]
    estimate: EstimateArguments,
    #[command(flatten)]
    search: SearchArguments,
    /// Limit the search to this wall time (60s, 2m, 1h), and take the best model found when it is over.
    #[arg(long, value_name = "TIME", conflicts_with_all = ["effort", "updates"], value_parser = duration)]
    time: Option<Duration>,
    /// Bound M of a density's index, within which densities differ by a factor of at most e^(2M); 4 by default.
    #[arg(long, value_name = "M", allow_negative_numbers = true, value_parser = index_bound)]
    bound: Option<f32>,
    /// Seed of the splits, starts and batches.
    #[arg(long, default_value_t = 0, value_parser = seed)]
    seed: u64,
    /// Also say how good the optimum is.
    #[arg(long)]
    verbose: bool,
}

pub(crate) fn run(a: &Arguments, global: &Global) -> Result<Exit> {
    if let Some(path) = &a.output {
        let files = [a.learn.data.file(), a.search.protocol.as_deref()];
        let read: Vec<&Path> = files.into_iter().flatten().collect();
        output::check_writable(path, &read)?;
    }
    let read = a.learn.read()?;
    let bar = Bar::new(global.quiet);
    let fit = a.fit(&read, global)?.progress(|now| bar.follow(now));
    let wrong = |error| wrong(error, a.search.updates_option());
    let started = Instant::now();
    let plan = fit.prepare().map_err(wrong)?;
    bar.call_errors(plan.subject().error);
    if !global.quiet {
        plan.notes().iter().for_each(|note| output::note(note));
    }
    let predicted = plan.seconds().map_err(wrong)?;
    if let (Some((request, _)), Some(predicted), false) = (plan.search(), predicted, global.quiet) {
        output::say(&search::note(request, predicted, plan.threads()));
    }
    let fits = bar.beside(|| plan.run());
    if let Err(Error::Failed) = fits {
        output::say(
            "error: no fit has a finite validation loss and no model was written: look for extreme values in the data",
        );
        return Ok(Exit::FitsFailed);
    }
    let fits = fits.map_err(wrong)?;
    if !global.quiet {
        let new = fits.notes().iter().filter(|n| !plan.notes().contains(n));
        new.for_each(|note| output::note(note));
    }
    let done = Done {
        a,
        plan: &plan,
        fits: &fits,
        predicted,
        seconds: started.elapsed().as_secs_f64(),
    };
    // The model first: whatever happens to the output, it is not lost.
    if let Some(path) = &a.output {
        interrupt::writing(|| fits.best().model().save(path))?;
    }
    match (fits.found(), global.json) {
        (Found::Estimate(found), true) => output::print_json(&done.estimate_json(found))?,
        (Found::Estimate(found), false) => output::print(&done.estimate_text(found))?,
        (Found::Search(found), true) => output::print_json(&done.search_json(found))?,
        (Found::Search(found), false) => output::print(&done.search_text(found))?,
    }
    done.say_ending(global);
    let failed = fits.absent().iter().any(|(_, why)| *why == Absence::Failed);
    Ok(if interrupt::was_interrupted() {
        Exit::Interrupted
    } else if failed {
        Exit::FitsFailed
    } else {
        Exit::Done
    })
}

impl Arguments {
    /// The fit that is asked for.
    fn fit<'a>(&self, read: &'a Read, global: &Global) -> Result<Fit<'a>> {
        let mut fit = self.learn.fit(read).budget(self.budget);
        fit = fit.seed(self.seed).threads(global.threads);
        fit = self.estimate.apply(self.methods.apply(fit));
        fit = self.search.apply(self.architecture.apply(fit)?)?;
        fit = given(fit, self.time, Fit::time_limit);
        Ok(given(fit, self.bound, Fit::bound))
    }
}

/// A fit that is done, to be shown.
struct Done<'a> {
    a: &'a Arguments,
    plan: &'a Plan<'a>,
    fits: &'a Fits,
    predicted: Option<f64>,
    seconds: f64,
}

impl Done<'_> {
    /// `so far ` where the work did not come to its end.
    fn so_far(&self) -> &'static str {
        match self.fits.is_complete() {
            true => "",
            false => "so far ",
        }
    }

    /// What the keys of both ways have in common.
    fn common_json(&self) -> Map<String, Value> {
        let (a, subject) = (self.a, self.fits.subject());
        object!({
            "data": subject.data, "task": subject.task, "budget": a.budget, "seed": a.seed,
            "inputs": subject.inputs, "metric": subject.test_error, "error": subject.error, "notes": self.fits.notes(),
            "model": a.output.as_ref().map(|p| p.display().to_string()),
        })
    }

    /// Says whether what was printed is all, and where the model is.
    fn say_ending(&self, global: &Global) {
        if let (Some(facts), false) = (self.fits.density(), global.quiet) {
            facts.notes().iter().for_each(|note| output::note(note));
        }
        let absent = self.fits.absent().iter();
        let not_reached = absent.filter(|(_, why)| *why == Absence::NotReached);
        let not_reached: Vec<String> = not_reached.map(|(family, _)| family.to_string()).collect();
        let missed = match &not_reached[..] {
            [] => String::new(),
            [one] => format!(", and {one} was not reached"),
            [most @ .., last] => format!(", and {} and {last} were not reached", most.join(", ")),
        };
        if interrupt::was_interrupted() {
            output::say(&format!("interrupted: this is the best so far{missed}"));
        } else if !global.quiet && !self.fits.is_complete() {
            output::say(&format!(
                "the time was over before the end: this is the best so far{missed}"
            ));
        }
        if !global.quiet {
            output::say(&match &self.a.output {
                Some(path) => format!("wrote {}", path.display()),
                None => "no model was written: name a file with -o to keep it".to_string(),
            });
        }
        if let (Some((request, _)), Found::Search(found)) = (self.plan.search(), self.fits.found())
            && request.protocol.refit
            && !found[0].refitted
            && !global.quiet
        {
            output::say("there was no time left to fit again with the validation rows");
        }
    }
}

/// What a table's last column shows beside the errors: R2, of counts the part of the deviance that is explained, of classes the share
/// that is right.
fn beside(also: &[(&'static str, f64)]) -> Option<(&'static str, f64)> {
    let shown = |(name, value): &(&'static str, f64)| match *name {
        "R2" => Some(("R²", *value)),
        "D2" => Some(("D²", *value)),
        "accuracy" => Some(("accuracy", *value)),
        _ => None,
    };
    also.iter().find_map(shown)
}

/// A share such as R2 or an accuracy.
fn share(value: f64) -> String {
    match value.is_finite() {
        true => format!("{value:.3}"),
        false => number::ABSENT.to_string(),
    }
}
