//! Files of the Transformer construction.

use super::{Case, Point, texts};
use crate::Error;
use crate::rational::Rational;
use crate::resolution::Resolution;
use crate::target::{Polynomial, Target};
use crate::transformer::{Setting, Witness, scientific};
use serde::Deserialize;
use serde_json::{Map, Value, json};

#[derive(Deserialize)]
struct Params {
    d: usize,
    s: String,
    #[serde(rename = "H")]
    bound: String,
    m: usize,
    h: usize,
    #[serde(rename = "eps_LN")]
    stabiliser: String,
    token_partition_0based: Vec<Vec<usize>>,
}

/// Decimals behind the point of numbers that are not rational.
const DECIMALS: usize = 40;

/// Bits with which limits are computed: more than the decimals have.
const LIMIT_BITS: usize = 256;

/// What the file should say, in its own form.
pub(super) fn describe(case: &Case) -> Result<Value, Error> {
    let params: Params = case.params()?;
    let Params { d, m, h, .. } = params;
    let resolution = Resolution::new(d, params.s.parse()?, params.bound.parse()?, m)?;
    let target = case.target(d)?;
    let setting = Setting {
        partition: params.token_partition_0based.clone(),
        stabiliser: params.stabiliser.parse()?,
        q: case.resources.q,
        ..Setting::new(d)
    };
    let witness = Witness::new(resolution, h, setting, &target)?;
    let points = case.points.iter();
    let points = points.map(|point| describe_point(&witness, &target, point));
    let points = points.collect::<Result<Vec<_>, _>>()?;
    let strips = case.strip_points.iter();
    let strips = strips.map(|point| describe_strip_point(&witness, point));
    let strips = strips.collect::<Result<Vec<_>, _>>()?;
    let (resolution, encoding) = (witness.resolution(), witness.encoding());
    let (resources, correction) = (witness.resources(), witness.correction());
    let words: Vec<_> = correction
        .words
        .iter()
        .map(|word| word.to_string())
        .collect();
    Ok(json!({
        "params": {
            "d": d, "s": params.s, "H": params.bound, "m": m, "h": h,
            "eps_LN": witness.setting().stabiliser.to_string(),
            "token_partition_0based": params.token_partition_0based,
            "k": resolution.k,
            "M_Tay": resolution.terms,
            "V": resolution.letters,
            "b": resolution.b(),
            "G": resolution.g(),
            "L_m": resolution.scale_exponent(),
            "copies_L_q": encoding.copies(),
            "lambda_q": encoding.lambda().to_string(),
        },
        "resources": {
            "p_nat": resources.p_nat,
            "q_hom": resources.q_hom,
            "q": resources.q,
            "N": resources.tokens,
            "Lambda": resources.gate,
            "routing_units_used": resources.units.routing,
            "routing_units_allowed": resources.routing_allowed,
            "eval_units_used": resources.units.evaluator,
            "r0": resources.evaluator_allowed,
            "front_used": resources.units.front,
            "front_allowed": resources.front_allowed,
            "C_add": resources.c_add,
            "r_impl": resources.r_impl,
            "units_used": resources.units_used(),
            "B_L": resources.count as u64,
            "L_route": resources.comparisons,
            "T_route": resources.times.route,
            "T_load": resources.times.load,
            "T_halt": resources.times.halt,
            "T_clear": resources.times.clear,
            "readout_b": correction.b,
            "readout_l": correction.l,
            "readout_J": correction.j,
            "readout_code_digits": resources.correction_length,
            "code_digits_L": resources.code_length,
            "max_coef": resources.largest_parameter.to_string(),
            "M0": resources.parameter_bound.to_string(),
        },
        "group_codes": texts(witness.codes()),
        "readout_code": correction.code.to_string(),
        "readout_words_a_j_times_2^b": words,
        "points": points,
        "strip_points": strips,
    }))
}

/// On a strip the program need not end, but its `u` at the time at which it should have halted is a number.
fn describe_strip_point(witness: &Witness, point: &Point) -> Result<Value, Error> {
    let runner = witness.exact();
    let mut run = runner.start(&point.x()?)?;
    while run.iteration() < witness.resources().times.halt {
        run.step();
    }
    let u = run.value(witness.native().u).to_string();
    Ok(json!({ "x": point.x, "u": u }))
}

fn describe_point(witness: &Witness, target: &Polynomial, point: &Point) -> Result<Value, Error> {
    let x = point.x()?;
    let outcome = witness.exact().evaluate(&x)?;
    let clear = witness.resources().times.clear;
    let asked = point.g_at.keys().map(|text| {
        let iterations = text.parse::<usize>();
        iterations.map_err(|_| Error::Golden(format!("\"{text}\" is not a number of iterations")))
    });
    let mut iterations = asked.collect::<Result<Vec<_>, _>>()?;
    iterations.push(clear);
    iterations.sort_unstable();
    let settled = witness.settled(&x, &iterations)?;
    let decimal = |value: &Rational| Value::from(scientific(value, DECIMALS));
    let values = iterations.iter().zip(&settled.values);
    let values: Map<_, _> = values
        .map(|(t, value)| (t.to_string(), decimal(value)))
        .collect();
    let mut scales = iterations.iter().zip(&settled.inverse_square_scales);
    let cleared = scales
        .find(|(t, _)| **t == clear)
        .map(|(_, scale)| decimal(scale));
    let (scale_limit, limit) = witness.limit(&outcome.v, LIMIT_BITS);
    Ok(json!({
        "x": point.x,
        "u": outcome.u.to_string(),
        "v": outcome.v.to_string(),
        "f0": target.value(&x)?.to_string(),
        "g_at": values,
        "g_limit": decimal(&limit),
        "d_alpha_at_T_clear": cleared,
        "d_alpha_limit": decimal(&scale_limit),
    }))
}
