//! Which resolution a number of iterations and a hidden width can afford.

use crate::Error;
use crate::ffn::{finishing_time, group_exponent, hidden_width};
use crate::rational::Rational;
use crate::records::Groups;
use crate::resolution::Resolution;
use crate::transformer::resources;
use loopfit_model::Architecture;

/// The finest construction within given resources.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// The resolution.
    pub resolution: Resolution,
    /// The group exponent.
    pub u: usize,
    /// The iterations that it needs, `S_{m,u}`.
    pub finishing_time: usize,
    /// The hidden width that it needs, `r(u)`.
    pub width: usize,
}

impl Plan {
    /// The finest construction of an architecture.
    ///
    /// # Reference
    /// Lemma B.1.
    pub fn of(
        architecture: &Architecture,
        d: usize,
        s: Rational,
        h: Rational,
        iterations: usize,
        width: usize,
    ) -> Result<Self, Error> {
        match architecture.tokens() {
            None => Self::new(d, s, h, iterations, width),
            Some(tokens) => Self::transformer(d, s, h, iterations, width, tokens),
        }
    }

    /// The groups and the records of each.
    pub fn groups_and_records(&self) -> (usize, usize) {
        let (d, m) = (self.resolution.d, self.resolution.m);
        (1 << (d * self.u), 1 << (d * (m - self.u)))
    }

    /// The largest `m` whose finishing time is affordable with the group exponent that the proof chooses for the width.
    ///
    /// # Formula
    #[doc = loopfit_tex::tex!(r"\max\{m : S_{m,u} \le T\}, \qquad u = \max\{u \le m : R(u) \le r\}")]
    /// The proof takes `K^d` of the order `rT / log(erT)` with constants that it does not state; here the exact times and widths decide.
    ///
    /// # Reference
    /// Lemma B.1; (S34), (S35).
    pub fn new(
        d: usize,
        s: Rational,
        h: Rational,
        iterations: usize,
        width: usize,
    ) -> Result<Self, Error> {
        Self::finest(d, s, h, iterations, |resolution| {
            let u = group_exponent(&resolution, width)?;
            Ok(Self {
                u,
                finishing_time: finishing_time(&resolution, u),
                width: hidden_width(&resolution, u),
                resolution,
            })
        })
    }

    /// The same for the Transformer with so many tokens, clearing included and settling of the scale not.
    ///
    /// # Reference
    /// Lemma B.1; Section E.4, (S60).
    pub fn transformer(
        d: usize,
        s: Rational,
        h: Rational,
        iterations: usize,
        width: usize,
        tokens: usize,
    ) -> Result<Self, Error> {
        Self::finest(d, s, h, iterations, |resolution| {
            let u = resources::group_exponent(&resolution, width)?;
            let groups = Groups::new(&resolution, u)?;
            Ok(Self {
                u,
                finishing_time: resources::Times::of(&resolution, groups, tokens)?.clear,
                width: resources::implementation_width(&resolution, groups),
                resolution,
            })
        })
    }

    /// The finest plan that is affordable.
    fn finest(
        d: usize,
        s: Rational,
        h: Rational,
        iterations: usize,
        of: impl Fn(Resolution) -> Result<Self, Error>,
    ) -> Result<Self, Error> {
        let at = |m: usize| Resolution::new(d, s.clone(), h.clone(), m);
        let coarsest = of(at(1)?)?;
        if coarsest.finishing_time > iterations {
            return Err(Error::Iterations {
                iterations,
                least: coarsest.finishing_time,
            });
        }
        // Finer grids that can be built at all, until one takes too long.
        let finer = (2..).map_while(|m| of(at(m).ok()?).ok());
        let affordable = finer.take_while(|plan| plan.finishing_time <= iterations);
        Ok(affordable.last().unwrap_or(coarsest))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(d: usize, s: &str, iterations: usize, width: usize) -> Result<Plan, Error> {
        Plan::new(d, s.parse().unwrap(), Rational::ONE, iterations, width)
    }

    /// d = s = 1: R(0) = 1960 + 70 + 25 = 2055; one more iteration or unit never makes it coarser, and
    /// one iteration less than needed makes it coarser.
    #[test]
    fn plans_are_the_finest() {
        let mut last = 0;
        for iterations in [200, 1_000, 10_000, 27_000, 200_000] {
            let found = plan(1, "1", iterations, 2055).unwrap();
            assert_eq!(found.u, 0);
            assert!(found.finishing_time <= iterations && found.resolution.m >= last);
            last = found.resolution.m;
            let fewer = plan(1, "1", found.finishing_time - 1, 2055);
            assert!(fewer.is_err() || fewer.unwrap().resolution.m < found.resolution.m);
        }
        // With room for every cell a group of its own, m is limited by the grid alone.
        let wide = plan(1, "1", 10_000, 1 << 24).unwrap();
        assert_eq!(wide.u, wide.resolution.m.min(19));
        assert_eq!(wide.resolution.m, 22);
    }

    #[test]
    fn transformers_have_plans_too() {
        let of = |iterations, width| {
            Plan::transformer(1, "1".parse().unwrap(), Rational::ONE, iterations, width, 4)
        };
        // The golden case d = s = 1, m = 2, h = 1 is done after 422 iterations with 2339 units.
        let plan = of(422, 2339).unwrap();
        assert_eq!(
            (plan.resolution.m, plan.u, plan.finishing_time),
            (2, 1, 422)
        );
        assert!(of(421, 2339).unwrap().resolution.m < 2);
        assert!(matches!(of(422, 2000), Err(Error::HiddenWidth { .. })));
    }

    #[test]
    fn too_little_is_refused_with_what_would_do() {
        let narrow = plan(1, "1", 1_000_000, 2054).unwrap_err().to_string();
        assert!(narrow.contains("2055"), "{narrow}");
        let short = plan(1, "1", 10, 2055).unwrap_err();
        let Error::Iterations { least, .. } = short else {
            panic!("{short}");
        };
        assert!(plan(1, "1", least, 2055).is_ok() && plan(1, "1", least - 1, 2055).is_err());
    }
}
