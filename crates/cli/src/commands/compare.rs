//! `loopfit compare`.

mod estimate;
mod result;

use crate::architecture::ArchitectureArguments;
use crate::data::{LearnArguments, between, cap, replications, seed};
use crate::effort::{SearchArguments, about};
use crate::estimating::EstimateArguments;
use crate::exit::{Exit, usage};
use crate::methods::MethodsArgument;
use crate::{Global, interrupt, output, progress};
use anyhow::Result;
use clap::ValueEnum;
use loopfit_engine::Engine;
use loopfit_model::{ArchitectureChoice, Method, Tying};
use loopfit_report::number;
use loopfit_report::{Comparison, MethodResult, SeedResult};
use loopfit_search::compare::{Prepared, SeedFits};
use loopfit_search::cost::Equal;
use loopfit_search::fit::{MethodFit, Request};
use loopfit_search::protocol::Protocol;
use loopfit_search::replication::{Noise, Source};
use loopfit_search::{Family, SearchError};
use result::Compared;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  loopfit compare sim:bumps --budget 128 --seeds 8\n  loopfit compare sim:bumps --budget 128 --shape single=4,11 --shape loop=4,11,16 --shape untied=6,2,3 --json\n  loopfit compare sim:bumps --budget 128 --method single,loop\n  loopfit compare data:airfoil --data-dir data --budget 64 --seeds 8 --report out/\n  loopfit compare sim:friedman1 --budget 256 --seeds 8 --arch any --tokens all"
)]
pub(crate) struct Arguments {
    #[command(flatten)]
    learn: LearnArguments,
    /// The cap B on distinct trainable numbers.
    #[arg(long, value_name = "B", value_parser = cap)]
    budget: usize,
    /// Number of paired replications.
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = replications)]
    seeds: usize,
    /// The first seed; the others follow it.
    #[arg(long, value_name = "SEED", default_value_t = 88_000, value_parser = seed)]
    first_seed: u64,
    #[command(flatten)]
    methods: MethodsArgument,
    #[command(flatten)]
    architecture: ArchitectureArguments,
    #[command(flatten)]
    estimate: EstimateArguments,
    #[command(flatten)]
    search: SearchArguments,
    /// What all methods have in common; with time or flops, Loop (of the residual FFN, if
    /// that is tried) has the updates of --effort and the others as many as cost the same.
    #[arg(long, value_name = "WHAT", default_value = "updates")]
    equal: EqualName,
    /// Write comparison.md, comparison.svg and comparison.html into this directory.
    #[arg(long, value_name = "DIR")]
    report: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum EqualName {
    Updates,
    Time,
    Flops,
}

impl EqualName {
    fn equal(self) -> Equal {
        match self {
            Self::Updates => Equal::Updates,
            Self::Time => Equal::Time,
            Self::Flops => Equal::Flops,
        }
    }
}

/// Largest q, r and T on the command line.
const MOST: usize = 1_000_000;

/// A shape on the command line.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    pub(crate) q: usize,
    pub(crate) r: usize,
    pub(crate) tying: Tying,
}

impl FromStr for Shape {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!(
                "`{text}` is not a shape: write single=q,r or loop=q,r,T or untied=q,r,T, such as loop=4,11,16"
            )
        };
        let (method, numbers) = text.split_once('=').ok_or_else(wrong)?;
        let numbers: Vec<usize> = numbers
            .split(',')
            .map(|n| between(n.trim(), 0, MOST).map_err(|_| wrong()))
            .collect::<Result<_, _>>()?;
        let (q, r, tying) = match (method.trim(), numbers.as_slice()) {
            ("single", [q, r]) => (*q, *r, Tying::Single),
            ("loop", [q, r, t]) => (*q, *r, Tying::Loop { t: *t }),
            ("untied", [q, r, t]) => (*q, *r, Tying::Untied { t: *t }),
            _ => return Err(wrong()),
        };
        if q == 0 || r == 0 || tying.iterations() == 0 {
            return Err(format!(
                "`{text}` is not a shape: q, r and T are at least 1"
            ));
        }
        Ok(Self { q, r, tying })
    }
}

/// All that a comparison is made of.
pub(crate) struct Setup {
    pub(crate) source: Source,
    pub(crate) noise: Option<Noise>,
    pub(crate) budget: usize,
    pub(crate) families: Vec<Family>,
    pub(crate) seeds: Vec<u64>,
    pub(crate) updates: usize,
    pub(crate) protocol: Arc<Protocol>,
    pub(crate) equal: Equal,
}

pub(crate) fn run(a: &Arguments, global: &Global) -> Result<Exit> {
    let Some(last) = a.first_seed.checked_add(a.seeds as u64 - 1) else {
        return Err(usage(
            "the seeds run past the largest number: use a smaller --first-seed".to_string(),
        ));
    };
    let source = a.learn.source(a.first_seed)?;
    let protocol = a.search.protocol(&source)?;
    let methods = a.methods.chosen(&a.search)?;
    let families = a.architecture.families(&methods, &protocol)?;
    estimate::say(&source, global);
    let seeds: Vec<u64> = (a.first_seed..=last).collect();
    let report = a.report.as_deref();
    let _directory = report.map(output::create_directory).transpose()?;
    if a.equal == EqualName::Updates
        && a.estimate
            .applies(&source, a.architecture.is_ffn(), &a.search)?
    {
        let (compared, exit) = estimate::run(a, &source, methods, &seeds, global)?;
        return finish(&compared, a.report.as_deref(), exit, global);
    }
    let setup = Setup {
        source,
        noise: a.learn.noise(),
        budget: a.budget,
        families,
        seeds,
        updates: a.search.updates(),
        protocol,
        equal: a.equal.equal(),
    };
    let (compared, exit) = setup.run(global)?;
    finish(&compared, a.report.as_deref(), exit, global)
}

/// Prints a comparison as the user wants it, writes its report and says whether all seeds are there.
pub(crate) fn finish(
    compared: &Compared,
    report: Option<&Path>,
    exit: Exit,
    global: &Global,
) -> Result<Exit> {
    if global.json {
        output::print_json(&compared.to_json())?;
    } else {
        output::print(&compared.comparison.to_terminal(output::color()))?;
    }
    if let Some(directory) = report {
        write_report(&compared.comparison, directory, global.quiet)?;
    }
    if !compared.is_complete() {
        output::say(&format!("interrupted: {}", compared.so_far()));
        return Ok(Exit::Interrupted);
    }
    Ok(exit)
}

impl Setup {
    /// Runs the comparison.
    pub(crate) fn run(&self, global: &Global) -> Result<(Compared, Exit)> {
        let request = Request {
            budget: self.budget,
            families: self.families.clone(),
            updates: self.updates,
            protocol: self.protocol.clone(),
        };
        let engine = Engine::new(global.threads)?;
        let mut left_out = Vec::new();
        let seeds = interrupt::searching(|control| {
            let prepared = Prepared::new(
                &engine,
                &self.source,
                self.noise,
                &self.seeds,
                request,
                self.equal,
                control,
            )?;
            left_out = prepared.notes().to_vec();
            if !global.quiet {
                left_out.iter().for_each(|note| output::say(note));
                output::say(&format!(
                    "search: {}, {} updates in all, {} on {}",
                    number::count(self.seeds.len(), "seed"),
                    number::integer(prepared.updates()),
                    about(prepared.seconds(&engine)?),
                    number::count(engine.threads(), "thread")
                ));
            }
            progress::with_bar(prepared.updates(), global.quiet, control, None, || {
                prepared.run(&engine, control)
            })
        })?;
        if seeds.is_empty() {
            return Err(SearchError::Interrupted.into());
        }
        let failed = seeds.iter().flat_map(|s| &s.fits).any(MethodFit::failed);
        let exit = if failed { Exit::FitsFailed } else { Exit::Done };
        Ok((self.compared(&seeds, left_out)?, exit))
    }

    fn compared(&self, seeds: &[SeedFits], left_out: Vec<String>) -> Result<Compared> {
        let fits = seeds.first().map_or(&[][..], |first| &first.fits);
        let families: Vec<&Family> = fits.iter().map(|fit| &fit.family).collect();
        let methods = families.iter().enumerate().map(|(i, family)| MethodResult {
            key: family.key(),
            name: family.to_string(),
            updates: most_updates(seeds, i),
            results: seeds
                .iter()
                .map(|s| {
                    let network = s.fits[i].model.parameters.network();
                    SeedResult {
                        shape: shape(network),
                        count: network.count(),
                        value: s.fits[i].judged.error,
                    }
                })
                .collect(),
        });
        let name = self.source.name();
        let title = format!(
            "{} on {name} under B = {}",
            what_competes(&families),
            self.budget
        );
        let updates: Vec<u64> = (0..families.len())
            .map(|i| most_updates(seeds, i))
            .collect();
        let same = updates.iter().all(|u| *u == updates[0]);
        let each = families
            .iter()
            .zip(&updates)
            .map(|(family, updates)| format!("{family} {}", number::integer(*updates)))
            .collect::<Vec<_>>()
            .join(", ");
        let note = match self.equal {
            Equal::Updates if same => format!(
                "Every method had the same number of updates for each seed: {}.",
                number::integer(updates[0])
            ),
            Equal::Updates => format!(
                "Every method was given the same number of updates for each seed; some fits ended early: {each}."
            ),
            Equal::Time => format!(
                "Every method was given the same time on one thread, as measured here; updates for each seed: {each}."
            ),
            Equal::Flops => format!(
                "Every method was given the same floating-point operations; updates for each seed: {each}."
            ),
        };
        let comparison = Comparison::new(
            title,
            name,
            self.budget,
            self.source.metric(self.noise),
            seeds.iter().map(|s| s.seed).collect(),
            methods.collect(),
        )?;
        let notes = match &self.source {
            Source::Table(table) => table.notes.clone(),
            Source::Simulation { .. } => Vec::new(),
        };
        let networks = (0..families.len()).map(|i| {
            let network = |s: &SeedFits| s.fits[i].model.parameters.network().clone();
            seeds.iter().map(network).collect()
        });
        let compared = Compared {
            comparison: comparison.with_notes(notes.into_iter().chain([note]).chain(left_out)),
            families: families
                .iter()
                .map(|f| (f.method.key(), f.architecture.key()))
                .collect(),
            networks: networks.collect(),
            asked: self.seeds.len(),
        };
        Ok(compared.with_note())
    }
}

/// What the title calls the families.
fn what_competes(families: &[&Family]) -> String {
    let is_ffn = |family: &&Family| family.architecture == ArchitectureChoice::Ffn;
    let taking_part = |method: &Method| families.iter().any(|f| f.method == *method);
    let methods = Method::ALL.into_iter().filter(taking_part);
    let methods = names(methods);
    match (families.iter().any(is_ffn), families.iter().all(is_ffn)) {
        (_, true) => methods,
        (true, false) => format!("{methods} FFNs and Transformers"),
        (false, false) => format!("{methods} Transformers"),
    }
}

/// `Single, Loop and Untied`.
fn names(methods: impl IntoIterator<Item = Method>) -> String {
    let names: Vec<String> = methods.into_iter().map(|m| m.to_string()).collect();
    match &names[..] {
        [most @ .., last] if !most.is_empty() => format!("{} and {last}", most.join(", ")),
        _ => names.concat(),
    }
}

/// Updates of a method's search, over the seeds the most.
fn most_updates(seeds: &[SeedFits], method: usize) -> u64 {
    seeds
        .iter()
        .map(|s| s.fits[method].updates as u64)
        .max()
        .unwrap_or(0)
}

/// `q = 4, r = 11, T = 16`.
fn shape(network: &loopfit_model::Network) -> String {
    let (q, r, t) = (network.q(), network.r(), network.tying().iterations());
    format!("q = {q}, r = {r}, T = {t}")
}

/// Writes a comparison as Markdown with its figure, and as one HTML page.
fn write_report(comparison: &Comparison, directory: &Path, quiet: bool) -> Result<()> {
    let files = [
        (
            "comparison.md",
            comparison.to_markdown(Some("comparison.svg")),
        ),
        ("comparison.svg", comparison.to_svg()),
        ("comparison.html", comparison.to_html()),
    ];
    for (name, text) in files {
        let path = directory.join(name);
        output::write_file(&path, &text)?;
        if !quiet {
            output::say(&format!("wrote {}", path.display()));
        }
    }
    Ok(())
}
