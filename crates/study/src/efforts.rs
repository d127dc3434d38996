//! What the fits of a sieve say: how far each is from the best known member of its class, and what it took to come near.

use crate::StudyError;
use crate::protocol::{Named, Way};
use crate::sieve::{BUILT, POLISH};
use crate::store::Store;
use loopfit_engine::{Stage, flops_per_update_of};
use loopfit_likelihood::Likelihood;
use loopfit_model::{Method, Network};
use loopfit_report::statistics::median;
use std::collections::BTreeMap;

/// One fit of a sieve.
#[derive(Clone, Debug, PartialEq)]
struct Strained {
    seed: i64,
    /// Updates and the average negative log-likelihood there, from the start on.
    curve: Vec<(usize, f64)>,
    lowest: f64,
    /// Multiply-adds of an update.
    cost: f64,
    /// Whether the curve tells of all updates: fits of several rounds have had others before.
    whole: bool,
}

/// The fits of one class by one route, over all seeds and starts.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Effort {
    pub(crate) case: String,
    pub(crate) method: Method,
    pub(crate) network: Network,
    pub(crate) route: String,
    /// Training observations.
    pub(crate) n: usize,
    /// For each fit its seed, what it lacks, and its way there.
    fits: Vec<(Strained, f64)>,
}

/// How many fits come within a tolerance, and what it takes.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Reached {
    /// Fits that do.
    pub(crate) fits: usize,
    /// Quartiles of the updates until they do, a fit that never does counting as infinitely many.
    pub(crate) updates: [f64; 3],
    /// Median of the multiply-adds.
    pub(crate) multiply_adds: f64,
    /// Multiply-adds of all fits, each until it is there or ends, divided by the number that get there.
    pub(crate) per_success: f64,
}

/// Case, seed, name, curve and specification of a fit.
type Row = (String, i64, String, String, String);

/// The place of a case, its method, iterations, shape and route: the order of tables.
type Key = (usize, Method, usize, String, String);

/// The fits of a sieve by case, class and route; climbs from the best of a class count for what is known of it alone.
pub(crate) fn read(store: &Store, named: &Named) -> Result<Vec<Effort>, StudyError> {
    if !matches!(named.study.way, Way::Sieve(_)) {
        return Ok(Vec::new());
    }
    let query = "SELECT task.\"case\", task.seed, fit.fit, fit.curve, fit.spec FROM fit JOIN task USING (study, task) \
         WHERE study = ? ORDER BY task.task, fit.fit";
    let rows: Vec<Row> = store.rows(query, [&named.name], |r| {
        Ok((r.get(0)?, r.get(1)?, r.get(2)?, r.get(3)?, r.get(4)?))
    })?;
    // By case and class the lowest loss of each seed, and by route the fits.
    let mut lowest: BTreeMap<(String, String, i64), f64> = BTreeMap::new();
    let mut routes: BTreeMap<Key, Effort> = BTreeMap::new();
    let mut kept: Vec<(Key, String, Strained)> = Vec::new();
    for (case, seed, name, curve, spec) in rows {
        let broken = || StudyError::Broken {
            path: store.path().display().to_string(),
            what: format!("fit {name}"),
            why: "it is not a fit of a sieve".to_string(),
        };
        let parts: Vec<&str> = name.split('/').collect();
        let [_, shape, route, _, rest @ ..] = &parts[..] else {
            return Err(broken());
        };
        let round = match rest {
            [] => None,
            [round] => Some(*round),
            _ => return Err(broken()),
        };
        if round.is_some_and(|round| round.starts_with("round-")) {
            continue;
        }
        let spec: serde_json::Value = serde_json::from_str(&spec).map_err(|_| broken())?;
        let part = |key: &str| spec[key].clone();
        let network: Network = serde_json::from_value(part("network")).map_err(|_| broken())?;
        let likelihood: Likelihood =
            serde_json::from_value(part("likelihood")).map_err(|_| broken())?;
        let stage: Stage =
            serde_json::from_value(spec["stages"][0].clone()).map_err(|_| broken())?;
        let curve: Vec<(usize, Option<f64>)> =
            serde_json::from_str(&curve).map_err(|_| broken())?;
        let at = named.study.cases.iter().position(|c| c.name == case);
        let at = at.ok_or_else(broken)?;
        let n = named.study.cases[at].train.unwrap_or(1);
        let route = if round == Some(BUILT) { BUILT } else { route };
        let strained = Strained {
            seed,
            lowest: curve
                .iter()
                .filter_map(|(_, loss)| *loss)
                .fold(f64::INFINITY, f64::min),
            curve: curve
                .into_iter()
                .map(|(updates, loss)| (updates, loss.unwrap_or(f64::INFINITY)))
                .collect(),
            cost: 0.5 * flops_per_update_of(&stage, &network, likelihood, n),
            whole: spec["start"]["given"].is_null(),
        };
        let method = network.tying().method();
        let class = (case.clone(), format!("{method}/{shape}"), seed);
        let least = lowest.entry(class).or_insert(f64::INFINITY);
        *least = least.min(strained.lowest);
        if route == POLISH {
            continue;
        }
        let t = network.tying().iterations();
        let key = (at, method, t, shape.to_string(), route.to_string());
        routes.entry(key.clone()).or_insert_with(|| Effort {
            case: case.clone(),
            method,
            network,
            route: route.to_string(),
            n,
            fits: Vec::new(),
        });
        kept.push((key, format!("{method}/{shape}"), strained));
    }
    for (key, class, strained) in kept {
        if let Some(effort) = routes.get_mut(&key) {
            let best = lowest[&(effort.case.clone(), class, strained.seed)];
            let lacks = strained.lowest - best;
            effort.fits.push((strained, lacks));
        }
    }
    Ok(routes.into_values().collect())
}

impl Effort {
    /// How many fits there are.
    pub(crate) fn count(&self) -> usize {
        self.fits.len()
    }

    /// Whether updates are all that its fits have had.
    pub(crate) fn is_whole(&self) -> bool {
        self.fits.iter().all(|(fit, _)| fit.whole)
    }

    /// Average log-likelihoods: of the best of each seed, the median over seeds, and of all fits, their median.
    pub(crate) fn likelihood(&self) -> [f64; 2] {
        let all: Vec<f64> = self.fits.iter().map(|(fit, _)| -fit.lowest).collect();
        let best = self.best_of_seeds(|(fit, _)| fit.lowest);
        [-median(&best), median(&all)]
    }

    /// What is certainly missing to the maximum over the class: of the best of each seed, the median over seeds, and of all
    /// fits, their median.
    pub(crate) fn tolerance(&self) -> [f64; 2] {
        let all: Vec<f64> = self.fits.iter().map(|(_, lacks)| *lacks).collect();
        [
            median(&self.best_of_seeds(|(_, lacks)| *lacks)),
            median(&all),
        ]
    }

    /// How far the average log-likelihood is above that of another route on the same samples: of the best start of each, and of
    /// the median start of this one, both the medians over samples.
    pub(crate) fn above(&self, other: &Self) -> [f64; 2] {
        let theirs = other.best_of_seeds(|(fit, _)| fit.lowest);
        let gaps = |own: Vec<f64>| {
            let gaps: Vec<f64> = theirs.iter().zip(own).map(|(a, b)| a - b).collect();
            median(&gaps)
        };
        let mut seeds: BTreeMap<i64, Vec<f64>> = BTreeMap::new();
        for (fit, _) in &self.fits {
            seeds.entry(fit.seed).or_default().push(fit.lowest);
        }
        let middles = seeds.into_values().map(|losses| median(&losses));
        [
            gaps(self.best_of_seeds(|(fit, _)| fit.lowest)),
            gaps(middles.collect()),
        ]
    }

    fn best_of_seeds(&self, of: impl Fn(&(Strained, f64)) -> f64) -> Vec<f64> {
        let mut best: BTreeMap<i64, f64> = BTreeMap::new();
        for fit in &self.fits {
            let least = best.entry(fit.0.seed).or_insert(f64::INFINITY);
            *least = least.min(of(fit));
        }
        best.into_values().collect()
    }

    /// How many fits come within a tolerance of the best known average log-likelihood of their class, and what it takes.
    pub(crate) fn reached(&self, tolerance: f64) -> Reached {
        let mut updates = Vec::new();
        let (mut spent, mut fits) = (0.0, 0);
        let mut costs = Vec::new();
        for (fit, lacks) in &self.fits {
            let enough = fit.lowest - lacks + tolerance;
            let there = fit.curve.iter().find(|(_, loss)| *loss <= enough);
            let made = there.or(fit.curve.last()).map_or(0, |(made, _)| *made) as f64;
            spent += made * fit.cost;
            fits += usize::from(there.is_some());
            updates.push(there.map_or(f64::INFINITY, |_| made));
            costs.push(there.map_or(f64::INFINITY, |_| made * fit.cost));
        }
        Reached {
            fits,
            updates: [0.25, 0.5, 0.75].map(|share| quantile(&updates, share)),
            multiply_adds: quantile(&costs, 0.5),
            per_success: spent / fits as f64,
        }
    }
}

/// The smallest value that a share of all does not exceed.
fn quantile(values: &[f64], share: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let rank = (share * sorted.len() as f64).ceil().max(1.0) as usize;
    sorted.get(rank - 1).copied().unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;
    use loopfit_model::Tying;

    fn effort(curves: &[&[(usize, f64)]], best: f64) -> Effort {
        let fits = curves.iter().enumerate().map(|(i, curve)| {
            let lowest = curve.iter().map(|(_, v)| *v).fold(f64::INFINITY, f64::min);
            let fit = Strained {
                seed: (i / 2) as i64,
                curve: curve.to_vec(),
                lowest,
                cost: 10.0,
                whole: true,
            };
            (fit, lowest - best)
        });
        Effort {
            case: "c".to_string(),
            method: Method::Loop,
            network: Network::ffn(1, 1, 1, 1, Tying::Loop { t: 2 }).unwrap(),
            route: "adam".to_string(),
            n: 100,
            fits: fits.collect(),
        }
    }

    /// Four fits, of which two come within 0.1 of the best known loss 1: after 20 and after 40 updates.
    #[test]
    fn efforts_by_hand() {
        let effort = effort(
            &[
                &[(0, 5.0), (20, 1.1), (40, 1.05)],
                &[(0, 5.0), (20, 2.0), (40, 1.0)],
                &[(0, 5.0), (20, 3.0), (40, 3.0)],
                &[(0, 5.0), (20, 4.0), (40, 2.5)],
            ],
            1.0,
        );
        let reached = effort.reached(0.1 + 1e-12);
        assert_eq!(reached.fits, 2);
        assert_eq!(reached.updates, [20.0, 40.0, f64::INFINITY]);
        assert_eq!(reached.multiply_adds, 400.0);
        // 20 + 40 + 40 + 40 updates of ten multiply-adds for two.
        assert_eq!(reached.per_success, 700.0);
        // The best of the two seeds lack 0 and 1.5; all lack 0.05, 0, 2 and 1.5.
        let [best, all] = effort.tolerance();
        assert!((best - 0.75).abs() < 1e-12 && (all - 0.775).abs() < 1e-12);
        let [best, all] = effort.likelihood();
        assert!((best + 1.75).abs() < 1e-12 && (all + 1.775).abs() < 1e-12);
        // Another route with losses 2 and 2 on the two samples: 1 above and 0.5 below with the best starts; the median starts
        // have 1.025 and 2.75.
        let other = self::effort(&[&[(0, 2.0)], &[(0, 2.0)], &[(0, 2.0)]], 1.0);
        let [best, middle] = effort.above(&other);
        assert!((best - 0.25).abs() < 1e-12 && (middle - 0.1125).abs() < 1e-12);
        let nobody = effort.reached(-1.0);
        assert_eq!((nobody.fits, nobody.multiply_adds), (0, f64::INFINITY));
        assert!(nobody.per_success.is_infinite());
    }
}
