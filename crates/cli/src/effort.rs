//! How long a search may take and what it tries, on the command line.

use crate::commands::compare::Shape;
use crate::data::{given, updates};
use crate::named::named;
use anyhow::Result;
use clap::Args;
use loopfit::{Device, Effort, Fit, Protocol};
use loopfit_numerics::named::Named;
use loopfit_report::number;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

/// Effort and protocol of a search.
#[derive(Args, Clone, Debug)]
pub(crate) struct SearchArguments {
    /// How long to look: quick, standard, strong, or a number of updates of a stochastic search.
    #[arg(long, value_name = "EFFORT", default_value = "standard")]
    effort: EffortArgument,
    /// Updates of each method, over all its starts; the same as --effort N.
    #[arg(long, value_name = "N", conflicts_with = "effort", value_parser = updates)]
    updates: Option<usize>,
    /// Fix a method's shape: single=q,r or loop=q,r,T or untied=q,r,T.
    #[arg(long, value_name = "METHOD=q,r[,T]")]
    shape: Vec<Shape>,
    /// A TOML file that fixes shapes, rounds, ranges and rules of the search.
    #[arg(long, value_name = "FILE")]
    pub(crate) protocol: Option<PathBuf>,
    /// After the selection, go on with training and validation rows together.
    #[arg(long, conflicts_with = "no_refit")]
    refit: bool,
    /// What runs a stochastic search: cpu, cuda (an NVIDIA GPU) or auto. Never changes a result.
    #[arg(long, value_name = "DEVICE", default_value = "cpu", value_parser = named::<Device>())]
    device: Device,
}

impl SearchArguments {
    /// A fit with these options.
    pub(crate) fn apply<'a>(&self, fit: Fit<'a>) -> Result<Fit<'a>> {
        let protocol = self.protocol.as_deref().map(Protocol::read).transpose()?;
        let mut fit = given(fit.device(self.device), protocol, Fit::protocol);
        for Shape { q, r, tying } in &self.shape {
            fit = fit.shape(*q, *r, *tying);
        }
        fit = given(fit, self.refit.then_some(true), Fit::refit);
        let updates = self.updates.map(Effort::Updates);
        Ok(fit.effort(updates.unwrap_or(self.effort.0)))
    }

    /// What asks for a number of updates.
    pub(crate) fn updates_option(&self) -> &'static str {
        match self.updates {
            Some(_) => "--updates",
            None => "--effort N",
        }
    }
}

/// How long to look, by name or by number.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EffortArgument(Effort);

impl FromStr for EffortArgument {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Some(effort) = Effort::named(text) {
            return Ok(Self(effort));
        }
        let updates = updates(text.strip_suffix("-updates").unwrap_or(text));
        updates
            .map(|updates| Self(Effort::Updates(updates)))
            .map_err(|why| format!("use quick, standard, strong or a number of updates: {why}"))
    }
}

/// Seconds, minutes or hours: 60s, 2m, 1.5h; a bare number is seconds.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    let wrong = || format!("`{text}` is not a time: write 60s, 2m or 1.5h");
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match &text[digits.len()..] {
        "" | "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        _ => return Err(wrong()),
    };
    let number: f64 = digits.trim().parse().map_err(|_| wrong())?;
    let seconds = number * unit;
    if !(0.1..=1e7).contains(&seconds) {
        return Err(format!("`{text}` is not a useful time: use 0.1s to 2000h"));
    }
    Ok(Duration::from_secs_f64(seconds))
}

/// `3 s`, `2 min`, `1.5 h`: as exact as a prediction is.
pub(crate) fn about(seconds: f64) -> String {
    match seconds {
        s if s < 1.0 => "less than a second".to_string(),
        s if s < 100.0 => format!("about {s:.0} s"),
        s if s < 6000.0 => format!("about {:.0} min", s / 60.0),
        s if s < 3.6e6 => format!("about {:.1} h", s / 3600.0),
        s => {
            let years = number::value(s / (365.25 * 86_400.0), 2, number::Exponent::Own);
            format!("about {years} years")
        }
    }
}
