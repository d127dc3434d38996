//! Files of the FFN construction.

use super::{Case, Point, texts};
use crate::Error;
use crate::arithmetic::Exact;
use crate::ffn::Witness;
use crate::records::taylor_words;
use crate::resolution::Resolution;
use crate::routines::Reader;
use crate::target::Target;
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Deserialize)]
struct Params {
    d: usize,
    s: String,
    #[serde(rename = "H")]
    h: String,
    m: usize,
    u_grp: usize,
}

/// What the file should say, in its own form.
pub(super) fn describe(case: &Case) -> Result<Value, Error> {
    let Params { d, s, h, m, u_grp } = case.params()?;
    let resolution = Resolution::new(d, s.parse()?, h.parse()?, m)?;
    let target = case.target(d)?;
    let witness = Witness::new(resolution, u_grp, Reader::Paper, &target)?;
    let runner = witness.runner(Exact);
    let point = |point: &Point| {
        let x = point.x()?;
        let output = runner.evaluate(&x)?;
        Ok(json!({
            "x": point.x,
            "u": output.u.to_string(),
            "Hu": output.value.to_string(),
            "f0": target.value(&x)?.to_string(),
        }))
    };
    let points = |points: &[Point]| points.iter().map(point).collect::<Result<Vec<_>, Error>>();
    let resolution = witness.resolution();
    let resources = witness.resources();
    Ok(json!({
        "params": {
            "d": d, "s": s, "H": h, "m": m, "u_grp": u_grp,
            "k": resolution.k,
            "M_Tay": resolution.terms,
            "V": resolution.letters,
            "b": resolution.b(),
            "J": resolution.j(),
            "G": resolution.g(),
            "K": resolution.cells_per_axis(),
            "B_eval": resolution.b_eval(),
            "L_m": resolution.scale_exponent(),
        },
        "conventions": {
            "W_k": taylor_words(d, resolution.k),
            "cells_in_group": witness.groups().cells(),
            "group_codes": texts(witness.codes()),
        },
        "resources": {
            "P": resources.phases,
            "q0": resources.evaluator.0,
            "r0": resources.evaluator.1,
            "q_star": resources.q,
            "r_of_u": resources.r,
            "r_eval_units_used": resources.units[0],
            "r_front_units_used": resources.units[1],
            "tau_m": resources.tau,
            "t_lookup": resources.selection_time,
            "S": resources.finishing_time,
            "max_abs_coef": resources.largest_parameter.to_string(),
            "nnz_W1": resources.entries.w1,
            "nnz_b1": resources.entries.b1,
            "nnz_W2": resources.entries.w2,
            "B_L_dense": resources.count as u64,
            "code_digits_L": resources.code_length,
        },
        "points": points(&case.points)?,
        "strip_points": points(&case.strip_points)?,
    }))
}
