//! Every count of Appendix E, with the formula that it is checked against.

use super::{Correction, Encoding, Routing, Setting, UnitCounts, gate_factor};
use crate::Error;
use crate::block::Block;
use crate::ffn::resources::{Relation, Resource};
use crate::rational::Rational;
use crate::records::Groups;
use crate::resolution::Resolution;
use crate::routines::Reader;
use loopfit_model::Architecture;
use std::fmt;

/// The iterations at which the parts of the program are done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Times {
    /// The address is there and warm-up begins.
    pub route: usize,
    /// The code is loaded and the evaluator starts.
    pub load: usize,
    /// The evaluator has halted.
    pub halt: usize,
    /// Everything but `C` and `v` is cleared.
    pub clear: usize,
}

impl Times {
    /// # Formula
    #[doc = loopfit_tex::tex!(r"
        1 + d\{h(L+1)+1\}, \qquad L_m + dh + 2, \qquad 2^{d(m-h)}\tau_m, \qquad (J+1)(2b+2\ell+5)+4\ell+5
    ")]
    /// one after the other; routing is boot alone for `h = 0`.
    ///
    /// # Reference
    /// Sections E.2.5, E.2.7, E.3 and E.4.
    fn new(resolution: &Resolution, groups: Groups, route: usize, correction: usize) -> Self {
        let d = resolution.d;
        let load = route + resolution.scale_exponent() + d * groups.u() + 2;
        let halt = load + groups.records() * resolution.tau();
        Self {
            route,
            load,
            halt,
            clear: halt + correction,
        }
    }

    /// The times of a network that is not built.
    pub fn of(resolution: &Resolution, groups: Groups, tokens: usize) -> Result<Self, Error> {
        let q_hom = 2 * (native_dimension(resolution) + 1);
        let routing = Routing::new(resolution, groups, tokens, q_hom)?;
        let correction = Correction::new(resolution, Reader::Paper)?;
        Ok(Self::new(
            resolution,
            groups,
            routing.iterations(groups),
            correction.iterations(),
        ))
    }
}

/// The counts of a network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resources {
    /// The native dimension `p_nat`.
    pub p_nat: usize,
    /// The least state dimension `q_hom`.
    pub q_hom: usize,
    /// The state dimension `q`.
    pub q: usize,
    /// The number of tokens `N`.
    pub tokens: usize,
    /// The gates' factor `Lambda`.
    pub gate: usize,
    /// The units of each part.
    pub units: UnitCounts,
    /// The units that the paper allows routing, `53d + 5`.
    pub routing_allowed: usize,
    /// The units that the paper allows the evaluator, `r_0`.
    pub evaluator_allowed: usize,
    /// The units that the paper allows the front end, `3 N_grp + 2d + 15`.
    pub front_allowed: usize,
    /// The units of terminal correction and rescaling, `C_add`.
    pub c_add: usize,
    /// The sufficient hidden width `r_impl`.
    pub r_impl: usize,
    /// The hidden width `r`.
    pub r: usize,
    /// The coefficients of the dense network, `B_L`.
    pub count: u128,
    /// The comparisons `L` before each commit.
    pub comparisons: usize,
    /// When the parts are done.
    pub times: Times,
    /// The digits of a group's code.
    pub code_length: usize,
    /// The digits of the correction's code.
    pub correction_length: usize,
    /// The largest magnitude of a coefficient of the FFN.
    pub largest_parameter: Rational,
    /// The parameter bound `M_0`.
    pub parameter_bound: Rational,
    table: Vec<Resource>,
}

/// What was built and is to be counted.
pub(super) struct Built<'a> {
    pub resolution: &'a Resolution,
    pub groups: Groups,
    pub setting: &'a Setting,
    pub routing: &'a Routing,
    pub correction: &'a Correction,
    pub encoding: Encoding,
    pub block: &'a Block,
    pub units: UnitCounts,
}

/// The native dimension.
///
/// # Formula
#[doc = loopfit_tex::tex!(r"p_{\rm nat} = q_* + 11d + 36, \qquad q_* = q_0 + d + 10")]
///
/// # Reference
/// (S48).
pub fn native_dimension(resolution: &Resolution) -> usize {
    original_dimension(resolution) + 11 * resolution.d + 36
}

/// `q_* = q_0 + d + 10`.
fn original_dimension(resolution: &Resolution) -> usize {
    resolution.q_0() + resolution.d + 10
}

/// The units of terminal correction, rescaling and transfer.
///
/// # Formula
#[doc = loopfit_tex::tex!(r"C_{\rm add} = 2q_* + 2d + 184")]
///
/// # Reference
/// (S64).
pub fn correction_width(resolution: &Resolution) -> usize {
    2 * original_dimension(resolution) + 2 * resolution.d + 184
}

/// The sufficient hidden width.
///
/// # Formula
#[doc = loopfit_tex::tex!(r"r_{\rm impl} = r_0 + C_{\rm add} + 3N_{\rm grp} + 55d + 20")]
///
/// # Reference
/// (S60).
pub fn implementation_width(resolution: &Resolution, groups: Groups) -> usize {
    resolution.r_0() + correction_width(resolution) + 3 * groups.count() + 55 * resolution.d + 20
}

/// The group exponent that the proof chooses for a hidden width `r`: the largest `h <= m` whose
/// network fits.
///
/// # Reference
/// Section E.4.
pub fn group_exponent(resolution: &Resolution, r: usize) -> Result<usize, Error> {
    let mut least = 0;
    for h in (0..=resolution.m).rev() {
        least = implementation_width(resolution, Groups::new(resolution, h)?);
        if least <= r {
            return Ok(h);
        }
    }
    Err(Error::HiddenWidth { r, least })
}

/// The parameter bound.
///
/// # Formula
#[doc = loopfit_tex::tex!(r"
    M_0^{\rm Tr} = \max\{3B_{\rm eval},\, 64(q_{\rm hom} + 1) + 2,\, N,\, \sqrt{1 + \varepsilon_{\rm LN}},\, 2H\}
")]
/// A root that is the largest and no rational number is rounded up, to 64 bits.
///
/// # Reference
/// Section E.4.
fn parameter_bound(resolution: &Resolution, setting: &Setting, q_hom: usize) -> Rational {
    let tokens = setting.tokens();
    let whole = [3 * resolution.b_eval(), gate_factor(q_hom) + 2, tokens];
    let largest = whole.map(|n| Rational::from(n as i64)).into_iter();
    let largest = largest.fold(resolution.h.scaled(1), Rational::max);
    let square = &setting.stabiliser + Rational::ONE;
    if square <= &largest * &largest {
        return largest;
    }
    let root = super::real::root_above(&square, 64);
    root.max(largest)
}

impl Resources {
    /// Counts what was built.
    pub(super) fn new(built: Built<'_>) -> Self {
        let Built {
            resolution,
            groups,
            setting,
            routing,
            correction,
            encoding,
            block,
            units,
        } = built;
        let (d, q_hom) = (resolution.d, encoding.length());
        let r_impl = implementation_width(resolution, groups);
        let r = setting.r.unwrap_or(r_impl);
        let architecture = Architecture::Transformer {
            partition: setting.partition.clone(),
        };
        let times = Times::new(
            resolution,
            groups,
            routing.iterations(groups),
            correction.iterations(),
        );
        let mut resources = Self {
            p_nat: native_dimension(resolution),
            q_hom,
            q: encoding.q(),
            tokens: setting.tokens(),
            gate: gate_factor(q_hom),
            units,
            routing_allowed: 53 * d + 5,
            evaluator_allowed: resolution.r_0(),
            front_allowed: 3 * groups.count() + 2 * d + 15,
            c_add: correction_width(resolution),
            r_impl,
            r,
            count: architecture.count(d, 1, encoding.q(), r, 1),
            comparisons: routing.length,
            times,
            code_length: groups.records() * resolution.record_length(),
            correction_length: correction.digits(),
            largest_parameter: block.largest_parameter(),
            parameter_bound: parameter_bound(resolution, setting, q_hom),
            table: Vec::new(),
        };
        resources.table = resources.lines(correction, block);
        resources
    }

    /// The hidden units that are not padding.
    pub fn units_used(&self) -> usize {
        let UnitCounts {
            routing,
            evaluator,
            front,
            correction,
        } = self.units;
        routing + evaluator + front + correction
    }

    fn lines(&self, correction: &Correction, block: &Block) -> Vec<Resource> {
        let line = |name, formula, stated: usize, relation, built: usize| Resource {
            name,
            formula,
            stated: Rational::from(stated as i64),
            relation,
            built: Rational::from(built as i64),
        };
        let (equal, at_most) = (Relation::Equal, Relation::AtMost);
        let Correction { b, l, j, .. } = *correction;
        let correction_bound = (j + 1) * (2 * b + 2 * l + 8) + 4 * l + 12;
        let p = block.coordinates().len();
        let units = &self.units;
        vec![
            line(
                "native dimension",
                "p_nat = q_* + 11d + 36 (S48)",
                self.p_nat,
                equal,
                p,
            ),
            line(
                "encoding threshold",
                "q_hom = 2 (p_nat + 1) (S48)",
                self.q_hom,
                equal,
                2 * (p + 1),
            ),
            line(
                "routing units",
                "53d + 5 (Section E.2.6)",
                self.routing_allowed,
                at_most,
                units.routing,
            ),
            line(
                "evaluator units",
                "r_0 = P (8d + 62) (S20)",
                self.evaluator_allowed,
                at_most,
                units.evaluator,
            ),
            line(
                "front-end units",
                "3 N_grp + 2d + 15 (Section E.2.7)",
                self.front_allowed,
                at_most,
                units.front,
            ),
            line(
                "correction units",
                "C_add = 2 q_* + 2d + 184 (S64)",
                self.c_add,
                equal,
                units.correction,
            ),
            line(
                "hidden width",
                "r_impl = r_0 + C_add + 3 N_grp + 55d + 20 (S60)",
                self.r_impl,
                at_most,
                block.units().len(),
            ),
            line(
                "correction iterations",
                "(J + 1)(2b + 2l + 8) + 4l + 12 (S65)",
                correction_bound,
                at_most,
                correction.iterations(),
            ),
            Resource {
                name: "coefficients",
                formula: "M_0 = max{3 B_eval, 64 (q_hom + 1) + 2, N, sqrt(1 + eps_LN), 2H}",
                stated: self.parameter_bound.clone(),
                relation: at_most,
                built: self.largest_parameter.clone(),
            },
        ]
    }

    /// The lines of the table.
    pub fn table(&self) -> &[Resource] {
        &self.table
    }

    /// Checks that what was built is what is stated, and that the shape holds it.
    pub fn check(&self) -> Result<(), Error> {
        if self.r < self.r_impl {
            return Err(Error::HiddenWidth {
                r: self.r,
                least: self.r_impl,
            });
        }
        match self.table.iter().find(|line| !line.holds()) {
            None => Ok(()),
            Some(line) => Err(line.error()),
        }
    }
}

impl fmt::Display for Resources {
    /// The table, then times and sizes that follow from it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for line in &self.table {
            writeln!(f, "{line}")?;
        }
        let Times {
            route,
            load,
            halt,
            clear,
        } = self.times;
        let sizes: [(_, u128, _); 7] = [
            (
                "comparisons per bit",
                self.comparisons as u128,
                "L = ceil(log2(1 + 1 / (c_sig delta))) (S58)",
            ),
            (
                "iterations of routing",
                route as u128,
                "1 + d {h (L + 1) + 1}, one for h = 0",
            ),
            ("iterations until load", load as u128, "and L_m + dh + 2"),
            (
                "iterations until halt",
                halt as u128,
                "and 2^(d(m - h)) tau_m",
            ),
            (
                "iterations in all",
                clear as u128,
                "and (J + 1)(2b + 2l + 5) + 4l + 5",
            ),
            (
                "digits of a code",
                self.code_length as u128,
                "L = N_* (dm + M_Tay b + 1) (S24)",
            ),
            (
                "coefficients in all",
                self.count,
                "B_L = q(d + 2N) + 1 + 4q^2 + (2q + 1) r + 9q (S47)",
            ),
        ];
        for (name, value, formula) in sizes {
            writeln!(f, "{name:<24}{value:>10}               {formula}")?;
        }
        Ok(())
    }
}
