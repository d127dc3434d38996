//! Readers of what comes from elsewhere, under mutated input: tables, protocols, model files, formulas, stores and their records, fits
//! that workers are sent and that they give back.
//!
//! Case `i` of a target is a function of the target's name and `i`: the same on every machine, with nothing to keep. Valid inputs are
//! changed a little ([`mutate`]) and given to the code behind the commands ([`targets`]), which must end in an error or a value.

#![forbid(unsafe_code)]
#![allow(
    clippy::print_stderr,
    reason = "a command line tool: progress on stderr"
)]

mod errands;
mod mutate;
mod records;
mod targets;

use anyhow::{Context, Result, bail};
use clap::Parser;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use targets::{TARGETS, Target};

/// Gives mutated input to the readers.
#[derive(Parser)]
#[command(name = "cargo xtask fuzz", bin_name = "cargo xtask fuzz")]
struct Arguments {
    /// One target: csv, protocol, model, expression, store, records, sent or given; all by default.
    target: Option<String>,
    /// Seconds for each target.
    #[arg(long, value_name = "N", default_value_t = 10)]
    seconds: u64,
    /// The first case.
    #[arg(long, value_name = "I", default_value_t = 0)]
    first: u64,
    /// Where an input that fails is written, and the one at work.
    #[arg(long, value_name = "DIR", default_value = "target/fuzz")]
    out: PathBuf,
}

fn main() -> Result<()> {
    let a = Arguments::parse();
    let wanted = |target: &&Target| a.target.as_deref().is_none_or(|name| name == target.name);
    let chosen: Vec<&Target> = TARGETS.iter().filter(wanted).collect();
    if chosen.is_empty() {
        let names: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
        bail!(
            "there is no such target: choose one of {}",
            names.join(", ")
        );
    }
    std::fs::create_dir_all(&a.out).with_context(|| format!("{}", a.out.display()))?;
    // Panics are what is looked for: each is told once, by its case.
    std::panic::set_hook(Box::new(|_| {}));
    for target in chosen {
        target.run(a.first, Duration::from_secs(a.seconds), &a.out)?;
    }
    Ok(())
}

impl Target {
    fn run(&self, first: u64, time: Duration, out: &Path) -> Result<()> {
        let seeds = (self.seeds)();
        let begin = Instant::now();
        let (mut case, mut slowest) = (first, (Duration::ZERO, first));
        while begin.elapsed() < time {
            let input = mutate::case(self.name, &seeds, case);
            // What ends the process, where nothing can be caught, is found here.
            std::fs::write(out.join(format!("{}-at-work", self.name)), &input)?;
            let began = Instant::now();
            if let Err(why) = self.try_case(&input) {
                let file = out.join(format!("{}-{case}", self.name));
                std::fs::write(&file, &input)?;
                bail!(
                    "{}, case {case}: {why}; the input is in {}",
                    self.name,
                    file.display()
                );
            }
            slowest = slowest.max((began.elapsed(), case));
            case += 1;
        }
        eprintln!(
            "{}: {} cases from {first} on, the slowest was {} with {:.3} s",
            self.name,
            case - first,
            slowest.1,
            slowest.0.as_secs_f64()
        );
        Ok(())
    }

    /// Whether the input was read; an error if the reader panics.
    fn try_case(&self, input: &[u8]) -> Result<bool, String> {
        catch_unwind(AssertUnwindSafe(|| (self.read)(input))).map_err(|panic| {
            let text = panic.downcast_ref::<&str>().map(ToString::to_string);
            let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
            format!("panics with {:?}", text.unwrap_or_default())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Seeds are valid: mutations start from what is read.
    #[test]
    fn seeds_are_read() {
        for target in TARGETS {
            for seed in (target.seeds)() {
                assert!((target.read)(&seed), "{}", target.name);
            }
        }
    }

    /// A short run of every target.
    #[test]
    fn no_case_panics() {
        for target in TARGETS {
            let seeds = (target.seeds)();
            let slow = ["store", "records"].contains(&target.name);
            for case in 0..if slow { 60 } else { 1000 } {
                let input = mutate::case(target.name, &seeds, case);
                if let Err(why) = target.try_case(&input) {
                    panic!("{}, case {case}: {why}", target.name);
                }
            }
        }
    }

    /// Changed values reach the readers: checksums do not stop them.
    #[test]
    fn changed_records_are_read() {
        for name in ["records", "sent", "given"] {
            let target = TARGETS.iter().find(|target| target.name == name);
            let target = target.expect("it is among the targets");
            let seeds = (target.seeds)();
            let read = |case: &u64| (target.read)(&mutate::case(target.name, &seeds, *case));
            // About one in ten: the seeds hold measured seconds, so that it is not the same number each time.
            let found = (0..160).filter(read).count();
            assert!((2..160).contains(&found), "{name}: {found} of 160");
        }
    }

    #[test]
    fn a_case_is_a_function_of_its_number() {
        let seeds = [b"x,y\n1,2\n".to_vec(), b"a;b\n3;4\n".to_vec()];
        let cases = |name: &str| -> Vec<Vec<u8>> {
            (0..200).map(|i| mutate::case(name, &seeds, i)).collect()
        };
        assert_eq!(cases("csv"), cases("csv"));
        assert_ne!(cases("csv"), cases("store"));
        let mut different = cases("csv");
        different.sort();
        different.dedup();
        assert!(different.len() > 150);
    }
}
