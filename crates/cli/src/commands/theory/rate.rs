//! `loopfit theory rate`.

use super::digits;
use crate::data::count;
use crate::exit::{Exit, usage};
use crate::json::object;
use crate::sheet::{Sheet, values};
use crate::{Global, output};
use anyhow::Result;
use loopfit_holder::Smoothness;
use loopfit_report::number;
use loopfit_theory::Rates;

#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  loopfit theory rate --dim 2 --smoothness 1.5\n  loopfit theory rate --dim 5 --smoothness 2 --json"
)]
pub(crate) struct Arguments {
    #[command(flatten)]
    smoothness: SmoothnessArguments,
}

/// The Hölder class up to its bound.
#[derive(clap::Args, Clone, Debug)]
pub(super) struct SmoothnessArguments {
    /// Number of inputs d.
    #[arg(long, value_name = "d", value_parser = count)]
    dim: usize,
    /// Smoothness s > 0 of the target; need not be an integer.
    #[arg(long, value_name = "s", allow_negative_numbers = true)]
    smoothness: f64,
}

impl SmoothnessArguments {
    pub(super) fn get(&self) -> Result<Smoothness> {
        Smoothness::new(self.dim, self.smoothness).map_err(|error| usage(error.to_string()))
    }
}

pub(crate) fn run(a: &Arguments, global: &Global) -> Result<Exit> {
    let smoothness = a.smoothness.get()?;
    let rates = Rates::new(smoothness);
    if global.json {
        output::print_json(&object!({
            "d": smoothness.d(), "s": smoothness.s(), "k": smoothness.k(), "alpha": smoothness.alpha(),
            "a": rates.a(),
            "minimax_exponent": rates.minimax_exponent(),
            "fixed_budget": { "n_exponent": rates.minimax_exponent(), "log_power": rates.fixed_budget_log_power() },
            "growing_budget": { "n_exponent": rates.minimax_exponent(), "log_power": rates.growing_budget_log_power() },
            "gamma_B_window": [0.0, rates.window_end()],
            "untied_floor": { "B_exponent": -2.0 * rates.a(), "log_power": -rates.a() },
            "untied_growth": { "n_exponent": rates.untied_growth_exponent(), "log_power": -0.5 },
        }))?;
        return Ok(Exit::Done);
    }
    let mut sheet = Sheet::new(
        &format!(
            "Rates for d = {}, s = {} (squared Hellinger risk)",
            smoothness.d(),
            number::shortest(smoothness.s())
        ),
        "Theorems 4.2, 4.4 and 4.5, Proposition 4.3; constants do not matter here",
    );
    let minimax = format!("n^-{}", digits(rates.minimax_exponent()));
    let with_log = |power: f64| format!("{minimax} log(en)^{}", digits(power));
    let floor = format!("{{B^2 log(eB)}}^-{}", digits(rates.a()));
    let growth = format!("n^{} log(en)^-0.5", digits(rates.untied_growth_exponent()));
    let window = format!("(0, {})", digits(rates.window_end()));
    let lines = values! {
        "a", digits(rates.a()), "2s/d, exponent of approximation";
        "minimax", minimax, "no estimator does better (16)";
        "loop, fixed B", with_log(rates.fixed_budget_log_power()), "upper bound at T_n (19)";
        "loop, growing B", with_log(rates.growing_budget_log_power()), "upper bound with q_n, r_n, T_n (22)";
        "gamma_B", window, "window of growth B_n ~ n^gamma_B (21)";
        "untied floor", floor, "no untied network comes below, at any n (17)";
        "untied growth", growth, "what B must at least be for untied networks to attain the minimax rate";
    };
    sheet.values("", lines);
    sheet.print()?;
    Ok(Exit::Done)
}
