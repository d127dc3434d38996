//! The `loopfit` command: arguments in, one library call, text out.
//!
//! The binary calls [`main`]; programs use the crate `loopfit`.

#![forbid(unsafe_code)]

mod architecture;
mod asked;
mod cache;
mod commands;
mod data;
mod effort;
mod estimating;
mod exit;
mod hints;
mod interrupt;
mod iterations;
mod json;
mod methods;
mod named;
mod output;
mod progress;
mod rows;
mod sheet;

use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand};
use exit::Exit;
use std::any::TypeId;
use std::path::PathBuf;

/// Fit the best function that a parameter budget can buy.
///
/// One residual block applied once (Single), one block applied T times (Loop) or T
/// separate blocks (Untied), under a hard cap B on the number of trainable numbers.
///
/// DATA is a csv or tsv file (gzip is fine, `-` reads standard input), a parquet file
/// where that is built in, a simulation (sim:bumps, sim:recurrence, sim:friedman1,
/// sim:four-modes, sim:double-well, sim:packing:dim=d,smoothness=s,bound=H,delta=D; see
/// `loopfit theory packing`) or a real data set of the paper (data:airfoil, ...; see
/// `loopfit data list`). Results go to standard output, messages to standard error.
#[derive(Parser)]
#[command(name = "loopfit", version, arg_required_else_help = true)]
#[command(
    after_help = "Exit codes: 0 done, 1 a check failed, 2 wrong usage, 3 bad input, 4 some fits failed, 130 interrupted (143 by SIGTERM, 129 by SIGHUP)."
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
    #[command(flatten)]
    global: Global,
}

/// Options of every command.
#[derive(Args, Clone, Debug)]
struct Global {
    /// Print one JSON object instead of text.
    #[arg(long, global = true)]
    json: bool,
    /// Threads to use; 0 means one for each core. Never changes a result.
    #[arg(long, global = true, default_value_t = 0, value_name = "N", value_parser = data::threads)]
    threads: usize,
    /// Say nothing on standard error but errors.
    #[arg(long, short, global = true)]
    quiet: bool,
}

#[derive(Subcommand)]
enum Command {
    /// Compare Single, Loop and Untied on a simulation, with nothing to prepare.
    Demo(commands::demo::Arguments),
    /// Fit a table or a simulation under a cap and write the best model.
    Fit(commands::fit::Arguments),
    /// Show the error against the cap: how many numbers a table needs.
    Curve(commands::curve::Arguments),
    /// Predict the rows of a table with a fitted model.
    ///
    /// Rows are read, predicted and written in parts, in order, so that memory does not grow with a file or a pipe; parts before one
    /// with a row that is refused are already printed, while -o writes all or nothing. --json and --every-iteration hold all rows in memory.
    Predict(commands::predict::Arguments),
    /// Score a fitted model on rows with known targets.
    Score(commands::score::Arguments),
    /// Show what a model file holds.
    Show(commands::show::Arguments),
    /// Write a model file in another form of its network.
    Convert(commands::convert::Arguments),
    /// Write a model for other programs: C with floats or integers, Rust, JavaScript, ONNX, or a page that shows it.
    Export(commands::export::Arguments),
    /// Compare Single, Loop and Untied under a cap, paired over seeds.
    Compare(commands::compare::Arguments),
    /// Draw exact samples from a fitted density.
    Sample(commands::sample::Arguments),
    /// List the shapes that fit under a cap, with their exact numbers in the paper's form.
    ///
    /// Of a residual FFN, `loopfit fit` counts canonical forms by default: they leave out the numbers that a change of basis
    /// makes redundant, so that larger shapes fit the same cap. `loopfit fit --form paper` counts as here.
    Budget(commands::budget::Arguments),
    /// List, check and download the real data sets of the paper.
    Data(commands::data::Arguments),
    /// Calculate what the paper proves: rates, schedules, bounds, entropies, distances, packings.
    Theory(commands::theory::Arguments),
    /// Build and run the networks that the proofs construct, exactly.
    Witness(commands::witness::Arguments),
    /// Run frozen protocols: the paper's studies, those beyond it, or your own.
    Study(commands::study::Arguments),
    /// Print a completion script for a shell.
    Completions(commands::completions::Arguments),
}

/// Lets values begin with a hyphen, so that a negative number meets the sentence of its option and not the parser's.
fn with_negative_values(command: clap::Command) -> clap::Command {
    let command = command.mut_args(|arg| {
        let kind = arg.get_value_parser().type_id();
        let any_text = kind == TypeId::of::<String>() || kind == TypeId::of::<PathBuf>();
        match arg.get_action().takes_values() {
            // A name or a path may not begin like an option, unless it is declared to.
            true if any_text || arg.is_positional() => arg.allow_negative_numbers(true),
            true => arg.allow_hyphen_values(true),
            false => arg,
        }
    });
    command.mut_subcommands(with_negative_values)
}

/// Runs the command line: parses the arguments of the process, does what they ask for, and says how it ended.
pub fn main() -> std::process::ExitCode {
    let matches = with_negative_values(Cli::command()).get_matches();
    let cli = Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    interrupt::install();
    let global = &cli.global;
    let result = match cli.command {
        Command::Demo(a) => commands::demo::run(&a, global),
        Command::Fit(a) => commands::fit::run(&a, global),
        Command::Curve(a) => commands::curve::run(&a, global),
        Command::Predict(a) => commands::predict::run(&a, global),
        Command::Score(a) => commands::score::run(&a, global),
        Command::Show(a) => commands::show::run(&a, global),
        Command::Convert(a) => commands::convert::run(&a, global),
        Command::Export(a) => commands::export::run(&a, global),
        Command::Compare(a) => commands::compare::run(&a, global),
        Command::Sample(a) => commands::sample::run(&a, global),
        Command::Budget(a) => commands::budget::run(&a, global),
        Command::Data(a) => commands::data::run(&a, global),
        Command::Theory(a) => commands::theory::run(&a, global),
        Command::Witness(a) => commands::witness::run(&a, global),
        Command::Study(a) => commands::study::run(&a, global),
        Command::Completions(a) => commands::completions::run(&a),
    };
    result.unwrap_or_else(|error| Exit::of_error(&error)).into()
}

#[cfg(test)]
mod tests;
