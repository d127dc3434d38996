//! `loopfit theory packing`.

use super::rate::SmoothnessArguments;
use super::{checks_json, digits, exit_of, put_checks};
use crate::data::between;
use crate::exit::{Exit, usage};
use crate::json::object;
use crate::sheet::{Sheet, values};
use crate::{Global, output};
use anyhow::Result;
use loopfit_data::Simulation;
use loopfit_data::simulation::packing::PackingTarget;
use loopfit_holder::{HolderClass, Packing, bump};
use loopfit_report::number;
use loopfit_theory::{Check, packing};

#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  loopfit theory packing --dim 2 --smoothness 1.5 --bound 100 --delta 0.003\n  loopfit theory packing --dim 1 --smoothness 2 --bound 1 --delta 1e-6 --members 8 --json\n  loopfit fit sim:packing:dim=2,smoothness=1.5,bound=100,delta=0.003,member=7 --budget 128"
)]
pub(crate) struct Arguments {
    #[command(flatten)]
    smoothness: SmoothnessArguments,
    /// Bound H > 0 of the class: of values, derivatives and Hölder quotients.
    #[arg(long, value_name = "H", allow_negative_numbers = true)]
    bound: f64,
    /// Radius delta > 0: functions are 8 delta apart and no larger than C delta.
    #[arg(long, value_name = "D", allow_negative_numbers = true)]
    delta: f64,
    /// Functions drawn to be integrated and checked, beside zero and its nearest neighbour.
    #[arg(long, value_name = "K", default_value_t = 2, value_parser = members)]
    members: usize,
    /// Seed of the functions that are drawn and of the points they are looked at.
    #[arg(long, default_value_t = 0, value_parser = crate::data::seed)]
    seed: u64,
}

fn members(text: &str) -> Result<usize, String> {
    between(text, 0, 64)
}

pub(crate) fn run(a: &Arguments, global: &Global) -> Result<Exit> {
    let refused = |error: loopfit_holder::Error| usage(error.to_string());
    let class = HolderClass::new(a.smoothness.get()?, a.bound).map_err(refused)?;
    let packing = Packing::new(class, a.delta).map_err(refused)?;
    let checks = packing::checks(&packing, &packing.verify(a.members, a.seed));
    let simulated = |member| -> Result<String> {
        let target = PackingTarget::of(&packing, member).map_err(refused)?;
        Ok(format!("sim:{}", Simulation::Packing(target)))
    };
    let simulations = [simulated(Some(1))?, simulated(None)?];
    if global.json {
        print_json(&packing, &checks, &simulations)?;
    } else {
        print_text(&packing, &checks, &simulations)?;
    }
    Ok(exit_of(&checks))
}

fn print_json(packing: &Packing, checks: &[Check], [member, drawn]: &[String; 2]) -> Result<()> {
    let (class, code) = (packing.class(), packing.code());
    let smoothness = class.smoothness();
    output::print_json(&object!({
        "d": smoothness.d(), "s": smoothness.s(), "H": class.bound(), "delta": packing.delta(),
        "k": smoothness.k(), "alpha": smoothness.alpha(),
        "rho": bump::RHO, "beta": bump::BETA, "psi_norm": packing.psi_norm(),
        "c_star": packing.c_star(), "c_sep": packing.c_sep(), "delta_0": packing.delta_0(),
        "m": packing.m(), "cells": packing.cells(),
        "code": {
            "name": code.name(), "length": code.length(), "log2_M": code.bits(),
            "distance": code.distance(),
        },
        "log_M": packing.log_m(), "c": packing.c().value(), "log_c": packing.c().ln(),
        "lower_bound": packing.log_m_bound(),
        "separation": packing.separation(), "C": packing.norm_constant(),
        "norm": packing.largest_norm(),
        "verdicts": checks_json(checks),
        "member": member, "drawn": drawn,
    }))
}

fn print_text(packing: &Packing, checks: &[Check], [member, drawn]: &[String; 2]) -> Result<()> {
    let (class, code) = (packing.class(), packing.code());
    let smoothness = class.smoothness();
    let mut sheet = Sheet::new(
        &format!(
            "Packing of the Hölder class for d = {}, s = {}, H = {} at delta = {}",
            smoothness.d(),
            number::shortest(smoothness.s()),
            number::shortest(class.bound()),
            number::shortest(packing.delta())
        ),
        "Lemma C.3; f(x) = c_* m^-s sum_j omega_j psi(mx - j) for the words omega of a binary code",
    );
    let c = packing.c();
    let whole = |value: usize| number::integer(value as u64);
    let phi = format!("exp(b - b/(1 - u^2)), b = {}", bump::BETA);
    let largest = packing.norm_constant() * packing.delta();
    let lines = values! {
        "k", smoothness.k(), "derivatives that must exist";
        "alpha", digits(smoothness.alpha()), "s - k, exponent of their continuity";
        "psi", "phi'(t_1) phi(t_2) ... phi(t_d)", "the bump, of integral zero";
        "phi", phi, "u = (t - 1/2)/rho";
        "rho", number::shortest(bump::RHO), "half the width of psi's support";
        "||psi||", digits(packing.psi_norm()), "norm in L2 of the cube";
        "c_*", digits(packing.c_star()), "scale that keeps all sums in the class";
        "c_sep", digits(packing.c_sep()), "c_* ||psi|| / sqrt 8";
        "delta_0", digits(packing.delta_0()), "c_sep/8, the largest delta";
        "m", packing.m(), "floor of (c_sep/(8 delta))^(1/s), cells along an axis";
        "n", whole(packing.cells()), "m^d, cells and places of the code";
        "M", format!("2^{}", code.bits()), "functions";
        "distance", whole(code.distance()), "places in which words differ at least";
        "log M", digits(packing.log_m()), "must be at least the bound below";
        "c delta^(-d/s)", digits(packing.log_m_bound()), "c = (log 2/8) 2^-d (c_sep/8)^(d/s)";
        "c", power_of_e(c.ln(), c.value()), "constant of the count";
        "separation", digits(packing.separation()), "least distance of two functions";
        "8 delta", digits(8.0 * packing.delta()), "what it must be at least";
        "norm", digits(packing.largest_norm()), "no function's is larger";
        "C delta", digits(largest), "what it must be at most; C = 8 sqrt(8) 2^s";
    };
    sheet.values("", lines);
    sheet.note(&format!("The code: {}", code.name()));
    put_checks(&mut sheet, "Verdicts", checks);
    sheet.note(&format!(
        "To learn a function of it, give as DATA one by its number (0 to 2^{} - 1; 0 is zero)\n  {member}\nor one drawn by --seed\n  {drawn}\nand add noise=SD for another noise than 0.02.",
        code.bits().min(64)
    ));
    sheet.print()
}

/// A number, as a power of e where it is too small for a float.
fn power_of_e(ln: f64, value: f64) -> String {
    if value > 0.0 {
        digits(value)
    } else {
        format!("e^{}", digits(ln))
    }
}
