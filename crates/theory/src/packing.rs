//! The assertions of Lemma C.3 for a packing that was built and verified, in words.

use crate::Check;
use loopfit_holder::code::Code;
use loopfit_holder::verification::{Integral, Rule};
use loopfit_holder::{Packing, Verification};
use loopfit_numerics::libm::sqrt;

/// One verdict for each assertion: the code, the count, separation, norms, means, membership.
///
/// # Reference
/// Lemma C.3.
pub fn checks(packing: &Packing, verification: &Verification) -> Vec<Check> {
    vec![
        code(packing, verification),
        count(packing, verification),
        separation(packing, verification),
        norm(packing, verification),
        mean(verification),
        membership(verification),
    ]
}

fn code(packing: &Packing, verification: &Verification) -> Check {
    let found = &verification.code;
    let weight = found.lightest.iter().filter(|bit| **bit).count();
    let how = if found.exhaustive {
        format!("the lightest of all 2^{} words", packing.code().bits())
    } else {
        format!(
            "every inner word and the zeros of polynomials give {}, and the lightest word found",
            found.proved
        )
    };
    let sentence = format!(
        "{how} has weight {weight}; words must differ in ceil(n/8) = {} of n = {} places",
        Code::least_distance(packing.cells()),
        packing.cells()
    );
    Check::new("code", verification.code_holds, sentence)
}

fn count(packing: &Packing, verification: &Verification) -> Check {
    let sentence = format!(
        "log M = {} must be at least c delta^(-d/s) = {}",
        digits(packing.log_m()),
        digits(packing.log_m_bound())
    );
    Check::new("count", verification.count_holds, sentence)
}

fn separation(packing: &Packing, verification: &Verification) -> Check {
    let sentence = format!(
        "distances are at least {} and must be at least 8 delta = {}; {} by {}",
        digits(packing.separation()),
        digits(8.0 * packing.delta()),
        agreement(&verification.distances),
        rule(verification.rule),
    );
    Check::new("separation", verification.separation_holds, sentence)
}

fn norm(packing: &Packing, verification: &Verification) -> Check {
    let sentence = format!(
        "norms are at most {} and must be at most C delta = {}; {}",
        digits(packing.largest_norm()),
        digits(packing.norm_constant() * packing.delta()),
        agreement(&verification.norms),
    );
    Check::new("norm", verification.norm_holds, sentence)
}

fn mean(verification: &Verification) -> Check {
    let means = verification.means.iter();
    let (largest, allowed) = means
        .map(|mean| (mean.numerical.abs(), mean.error))
        .fold((0.0, 0.0), |a, b| if b.0 > a.0 { b } else { a });
    let sentence = format!(
        "integrals of {} functions are zero up to {largest:.1e} (allowed {allowed:.1e})",
        verification.means.len()
    );
    Check::new("mean", verification.mean_holds, sentence)
}

fn membership(verification: &Verification) -> Check {
    let memberships = &verification.memberships;
    let bound = memberships.first().map_or(0.0, |m| m.bound);
    let largest =
        |of: fn(&loopfit_holder::Membership) -> f64| memberships.iter().map(of).fold(0.0, f64::max);
    let derivatives = largest(|m| m.orders.iter().map(|o| o.value).fold(0.0, f64::max));
    let sentence = format!(
        "of {} functions the largest derivative found is {} and the largest Hölder quotient {}; both must be at most H = {bound} (sampling refutes but does not prove)",
        memberships.len(),
        digits(derivatives),
        digits(largest(|m| m.quotient.value)),
    );
    Check::new("membership", verification.membership_holds, sentence)
}

fn rule(rule: Rule) -> String {
    match rule {
        Rule::GaussLegendre { nodes } => format!("Gauss-Legendre ({nodes} nodes a cell and axis)"),
        Rule::MonteCarlo { draws } => format!("Monte Carlo ({draws} points)"),
    }
}

/// Six digits, without an exponent where the number is neither small nor large.
fn digits(value: f64) -> String {
    let text = format!("{value:.5e}");
    let exponent = text.rsplit_once('e').and_then(|(_, e)| e.parse().ok());
    match exponent {
        Some(e @ -3..=5) => format!("{value:.*}", (5 - e) as usize),
        _ => text,
    }
}

/// How integrals of functions as they are evaluated compare with closed forms.
fn agreement(integrals: &[Integral]) -> String {
    let (off, allowed) = worst(integrals);
    let n = integrals.len();
    if allowed < 0.5 {
        format!(
            "{n} integrals of evaluated functions agree up to a relative error of {off:.1e} (allowed {allowed:.1e})"
        )
    } else {
        format!(
            "{n} integrals of evaluated functions cannot tell (their relative error is {allowed:.1e})"
        )
    }
}

/// The relative error of a norm that uses most of what it may, and what it may.
fn worst(integrals: &[Integral]) -> (f64, f64) {
    let relative = |a: &Integral| {
        let off = (sqrt(a.numerical.max(0.0)) / sqrt(a.exact) - 1.0).abs();
        (off, 0.5 * a.error / a.exact)
    };
    let used = |(off, allowed): (f64, f64)| off / allowed;
    let nonzero = integrals.iter().filter(|a| a.exact > 0.0).map(relative);
    nonzero.fold((0.0, 1.0), |a, b| if used(b) > used(a) { b } else { a })
}

#[cfg(test)]
mod tests {
    use super::*;
    use loopfit_holder::{HolderClass, Smoothness};

    #[test]
    fn numbers_have_six_digits() {
        let shown = [0.0, 9.999_999_9, 0.001_234_567, 123_456.7, 1e6, 1.5e-4].map(digits);
        let expected = [
            "0.00000",
            "10.0000",
            "0.00123457",
            "123457",
            "1.00000e6",
            "1.50000e-4",
        ];
        assert_eq!(shown, expected);
    }

    #[test]
    fn every_assertion_has_its_verdict() {
        let class = HolderClass::new(Smoothness::new(2, 1.5).unwrap(), 100.0).unwrap();
        let packing = Packing::new(class, 0.003).unwrap();
        let mut verification = packing.verify(1, 0);
        let names = |v: &Verification| {
            let held = |c: &Check| (c.name, c.holds);
            checks(&packing, v).iter().map(held).collect::<Vec<_>>()
        };
        let all = ["code", "count", "separation", "norm", "mean", "membership"];
        assert_eq!(names(&verification), all.map(|name| (name, true)));
        verification.norm_holds = false;
        assert!(names(&verification).contains(&("norm", false)));
    }
}
