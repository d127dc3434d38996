//! `loopfit compare`.

mod result;

use crate::architecture::ArchitectureArguments;
use crate::asked::wrong;
use crate::data::{LearnArguments, between, cap, given, replications, seed};
use crate::effort::{SearchArguments, about};
use crate::estimating::EstimateArguments;
use crate::exit::{Exit, usage};
use crate::methods::MethodsArgument;
use crate::named::named;
use crate::progress::Bar;
use crate::{Global, output};
use anyhow::Result;
use loopfit::{Equal, Fit, Tying};
use loopfit_report::number;
use result::Compared;
use std::path::{Path, PathBuf};
use std::str::FromStr;

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
    #[arg(long, value_name = "WHAT", default_value = "updates", value_parser = named::<Equal>())]
    equal: Equal,
    /// Write comparison.md, comparison.svg and comparison.html into this directory, and a page of the best model of each method
    /// that a stochastic search has fitted.
    #[arg(long, value_name = "DIR")]
    report: Option<PathBuf>,
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

pub(crate) fn run(a: &Arguments, global: &Global) -> Result<Exit> {
    let Some(last) = a.first_seed.checked_add(a.seeds as u64 - 1) else {
        return Err(usage(
            "the seeds run past the largest number: use a smaller --first-seed".to_string(),
        ));
    };
    let read = a.learn.read()?;
    let mut fit = a.learn.fit(&read).budget(a.budget);
    fit = a.estimate.apply(a.methods.apply(fit));
    fit = a.search.apply(a.architecture.apply(fit)?)?;
    // The same number of updates is what a search gives anyway.
    let equal = Some(a.equal).filter(|equal| *equal != Equal::Updates);
    fit = given(fit, equal, Fit::equal);
    let seeds = a.first_seed..=last;
    let updates = a.search.updates_option();
    compare(fit, seeds, updates, a.report.as_deref(), global)
}

/// Compares, prints the comparison as the user wants it, writes its report and says whether all seeds are there.
pub(crate) fn compare(
    fit: Fit<'_>,
    seeds: impl IntoIterator<Item = u64>,
    updates: &str,
    report: Option<&Path>,
    global: &Global,
) -> Result<Exit> {
    let seeds: Vec<u64> = seeds.into_iter().collect();
    let asked = seeds.len();
    let bar = Bar::new(global.quiet);
    let fit = fit.threads(global.threads).progress(|now| bar.follow(now));
    let wrong = |error| wrong(error, updates);
    let plan = fit.prepare_comparison(seeds).map_err(wrong)?;
    let _directory = report.map(output::create_directory).transpose()?;
    if !global.quiet {
        plan.notes().iter().for_each(|note| output::note(note));
        if let Some((updates, seconds)) = plan.searches().map_err(wrong)? {
            output::say(&format!(
                "search: {}, {} updates in all, {} on {}",
                number::count(asked, "seed"),
                number::integer(updates),
                about(seconds),
                number::count(plan.threads(), "thread")
            ));
        }
    }
    let found = bar.beside(|| plan.run()).map_err(wrong)?;
    let failed = found.failed;
    let compared = Compared::new(&found, asked)?;
    if global.json {
        output::print_json(&compared.to_json())?;
    } else {
        output::print(&compared.comparison.to_terminal(output::color()))?;
    }
    if let Some(directory) = report {
        write_report(&compared, directory, global.quiet)?;
    }
    Ok(if !compared.is_complete() {
        output::say(&format!("interrupted: {}", compared.so_far()));
        Exit::Interrupted
    } else if failed {
        Exit::FitsFailed
    } else {
        Exit::Done
    })
}

/// Writes a comparison as Markdown with its figure, and as one HTML page, beside pages of the best models.
fn write_report(compared: &Compared, directory: &Path, quiet: bool) -> Result<()> {
    let comparison = &compared.comparison;
    let models = compared.pages.iter();
    let models = models.map(|(name, page)| (format!("{name}.html"), page.clone()));
    let report = [
        ("md", comparison.to_markdown(Some("comparison.svg"))),
        ("svg", comparison.to_svg()),
        ("html", comparison.to_html()),
    ];
    let report = report.map(|(ending, text)| (format!("comparison.{ending}"), text.into()));
    for (name, content) in models.chain(report) {
        let path = directory.join(name);
        output::write_file(&path, &content)?;
        if !quiet {
            output::say(&format!("wrote {}", path.display()));
        }
    }
    Ok(())
}
