//! What a protocol must be before anything runs.

use super::{
    Candidates, Case, CaseRule, Continuation, Grid, Rounds, Schedule, SearchPlan, Seeds, Shortlist,
    Sieve, Study, Way,
};
use crate::published::Published;
use loopfit_model::Method;
use std::collections::BTreeSet;

/// Most seeds, updates of a fit and observations that a protocol may ask for.
const MOST_SEEDS: u64 = 1000;
const MOST_UPDATES: usize = 1_000_000_000;
const MOST_ROWS: usize = 10_000_000;
/// Finest resolution of a witness, beyond what 32 bits hold.
const MOST_RESOLUTION: usize = 8;

/// Characters of a name at most.
const LONGEST_NAME: usize = 100;

impl Study {
    /// What is wrong with the protocol, if anything, in one sentence.
    pub fn check(&self) -> Result<(), String> {
        need(!self.title.trim().is_empty(), "title must not be empty")?;
        check_line("title", Some(&self.title))?;
        check_line("axis", self.axis.as_ref())?;
        check_seeds("seeds", self.seeds)?;
        need(!self.methods.is_empty(), "methods must name at least one")?;
        need(
            distinct(self.methods.iter()),
            "methods must not repeat a method",
        )?;
        need(
            !self.test_splits.is_empty() && distinct(self.test_splits.iter()),
            "test_splits must be one or more different numbers",
        )?;
        self.check_cases()?;
        self.check_quick()?;
        if let Some(name) = &self.published {
            Published::find(name).map_err(|e| e.to_string())?;
        }
        match &self.way {
            Way::Continuation(path) => self.check_continuation(path),
            Way::Shortlist(list) => self.check_shortlist(list),
            Way::Search(plan) => self.check_search(plan),
            Way::Sieve(sieve) => self.check_sieve(sieve),
            Way::Schedule(schedule) => self.check_schedule(schedule),
        }?;
        self.check_rule()
    }

    fn check_sieve(&self, sieve: &Sieve) -> Result<(), String> {
        need(
            !self.baselines,
            "baselines are not for a [sieve], which compares likelihoods",
        )?;
        if let Some(why) = sieve.wrong(MOST_UPDATES) {
            return Err(why);
        }
        for method in &self.methods {
            let built = |case: &Case| case.witness.is_some() && *method == Method::Loop;
            if !self.cases.iter().all(built) {
                let name = format!("sieve.{}", method.key());
                check_candidates(&name, sieve.candidates(*method), *method)?;
            }
        }
        Ok(())
    }

    fn check_rule(&self) -> Result<(), String> {
        let same = |case: &Case| self.cases.iter().filter(|c| c.data == case.data).count();
        need(
            self.rule.is_none() || self.cases.iter().all(|case| same(case) > 1),
            "rule chooses among cases on the same data, and some are alone",
        )?;
        need(
            self.rule != Some(CaseRule::LeastGain)
                || Method::ALL
                    .iter()
                    .all(|method| self.methods.contains(method)),
            "rule = \"least-gain\" compares Loop with Single and Untied, which must be there",
        )
    }

    fn check_search(&self, search: &SearchPlan) -> Result<(), String> {
        need(
            (loopfit_search::plan::LEAST_UPDATES..=MOST_UPDATES).contains(&search.updates),
            "search.updates must be at least 32 and at most 1000000000",
        )?;
        need(
            !search.fan || self.methods.contains(&Method::Loop),
            "search.fan is about Loop, which must be one of the methods",
        )?;
        let protocols = [Some(&search.protocol), search.looped.as_ref()];
        for protocol in protocols.into_iter().flatten() {
            protocol.check().map_err(|e| e.to_string())?;
        }
        Ok(())
    }

    fn check_schedule(&self, schedule: &Schedule) -> Result<(), String> {
        let ascending = |list: &[usize]| list.windows(2).all(|pair| pair[0] < pair[1]);
        let sizes = &schedule.sizes;
        need(
            !sizes.is_empty() && sizes[0] >= 32 && ascending(sizes),
            "schedule.sizes must be ascending numbers, the first at least 32",
        )?;
        let ladder = &schedule.ladder;
        need(
            !ladder.is_empty()
                && ladder[0] > 0
                && ascending(ladder)
                && ladder.iter().all(|t| *t <= 4096),
            "schedule.ladder must be ascending numbers from 1 to 4096",
        )?;
        need(
            (loopfit_search::plan::LEAST_UPDATES..=MOST_UPDATES).contains(&schedule.updates),
            "schedule.updates must be at least 32 and at most 1000000000",
        )?;
        need(
            schedule.folds == 0 || (2..=20).contains(&schedule.folds),
            "schedule.folds must be from 2 to 20, or 0 for no choice by held-out rows",
        )?;
        need(
            is_positive(schedule.lepski),
            "schedule.lepski must be a positive number",
        )?;
        need(
            self.methods == Method::ALL,
            "a schedule compares all methods: leave methods out",
        )?;
        need(
            !self.baselines,
            "a schedule has baselines of its own: leave baselines out",
        )?;
        let all = [&schedule.protocol, schedule.of_others()];
        let mut all = all.into_iter();
        all.try_for_each(|own| own.check().map_err(|e| e.to_string()))
    }

    fn check_quick(&self) -> Result<(), String> {
        let known = |name: &String| self.cases.iter().any(|case| case.name == *name);
        if let Some(name) = self.quick.cases.iter().find(|name| !known(name)) {
            return Err(format!("quick.cases names `{name}`, which is not a case"));
        }
        let stages = self.way.stages().iter();
        let places: Vec<f64> = stages
            .filter_map(|stage| stage.at)
            .chain(self.cases.iter().filter_map(|case| case.at))
            .collect();
        match self.quick.at.iter().find(|at| !places.contains(at)) {
            Some(at) => Err(format!("quick.at names {at}, where nothing lies")),
            None => Ok(()),
        }
    }

    fn check_continuation(&self, continuation: &Continuation) -> Result<(), String> {
        need(
            !self.baselines,
            "baselines are for one training size, and the stages of a continuation have several",
        )?;
        check_grid("continuation.grid", &continuation.grid)?;
        need(
            continuation.stages.iter().any(|stage| stage.at.is_some()),
            "no stage of the continuation has a place (`at`), so nothing would be reported",
        )?;
        let places = continuation.stages.iter().filter_map(|stage| stage.at);
        need(
            distinct(places.map(f64::to_bits)),
            "no two stages of the continuation may have the same place (`at`)",
        )?;
        for pair in continuation.stages.windows(2) {
            need(
                pair[0].budget <= pair[1].budget,
                "caps must not fall from one stage of the continuation to the next",
            )?;
        }
        for (i, stage) in continuation.stages.iter().enumerate() {
            let of = |what: &str| format!("stage {} of the continuation: {what}", i + 1);
            need(
                (1..=MOST_UPDATES).contains(&stage.updates),
                of("updates must be at least 1 and at most 1000000000"),
            )?;
            let rows = |n| (1..=MOST_ROWS).contains(&n);
            need(
                rows(stage.train) && rows(stage.valid),
                of("train and valid must be at least 1 and at most 10000000"),
            )?;
            need(
                stage.iterations != Some(0),
                of("iterations must be at least 1"),
            )?;
            need(
                stage.at.is_none_or(is_positive),
                of("`at` must be a positive number"),
            )?;
        }
        Ok(())
    }

    fn check_shortlist(&self, shortlist: &Shortlist) -> Result<(), String> {
        check_grid("shortlist.grid", &shortlist.grid)?;
        let development = &shortlist.development;
        check_seeds("shortlist.development.seeds", development.seeds)?;
        let meets = |case: &Case| development.seeds.meets(self.seeds_of(case));
        need(
            !self.cases.iter().any(meets),
            "development and confirmation must not share a seed",
        )?;
        check_rounds("shortlist.development", development.rounds())?;
        check_rounds("shortlist.confirmation", shortlist.confirmation)?;
        need(
            development.keep > 0,
            "shortlist.development.keep must be at least 1",
        )?;
        need(
            development.starts != Some(0),
            "shortlist.development.starts must be at least 1",
        )?;
        for method in &self.methods {
            let (name, candidates) = match method {
                Method::Single => ("shortlist.single", &shortlist.single),
                Method::Loop => ("shortlist.loop", &shortlist.looped),
                Method::Untied => ("shortlist.untied", &shortlist.untied),
            };
            check_candidates(name, candidates, *method)?;
        }
        if let Some(screen) = &shortlist.screen {
            need(
                !screen.budgets.is_empty() && !screen.trains.is_empty(),
                "shortlist.screen needs at least one cap and one training size",
            )?;
            need(
                self.methods.contains(&Method::Loop) && self.methods.len() > 1,
                "shortlist.screen compares Loop with other methods, which must be there",
            )?;
            // Development errors of a table would be those of the test rows that confirmation uses.
            need(
                self.cases.iter().all(|case| case.data.starts_with("sim:")),
                "shortlist.screen is for simulations: a table has no test rows that only development sees",
            )?;
            let crossed = |[budget, train]: [usize; 2]| {
                screen.budgets.contains(&budget) && screen.trains.contains(&train)
            };
            need(
                screen.also.is_none_or(crossed),
                "shortlist.screen.also must be a cap and a training size of the screen",
            )?;
        }
        Ok(())
    }

    fn check_cases(&self) -> Result<(), String> {
        need(
            !self.cases.is_empty(),
            "there must be at least one of [[cases]]",
        )?;
        need(
            distinct(self.cases.iter().map(|case| &case.name)),
            "every case needs its own name",
        )?;
        for case in &self.cases {
            let of = |what: &str| format!("case `{}`: {what}", case.name.escape_debug());
            check_name(&case.name).map_err(of)?;
            check_line(&of("title"), case.title.as_ref())?;
            check_line(&of("curve"), case.curve.as_ref())?;
            if let Err(error) = case.architecture() {
                return Err(of(&error.to_string()));
            }
            if let Some(seeds) = case.seeds {
                check_seeds(&of("seeds"), seeds)?;
            }
            let path = matches!(self.way, Way::Continuation(_));
            let schedule = matches!(self.way, Way::Schedule(_));
            need(
                schedule == case.follow.is_some(),
                of("follow = { ... } is for a [schedule], whose cases all have it"),
            )?;
            let ffn = case.architecture.as_deref().unwrap_or("ffn") == "ffn";
            need(
                !schedule || (ffn && case.valid.is_none()),
                of("a schedule has feed-forward networks and no validation sample"),
            )?;
            need(
                path || case.budget.is_some_and(|b| b > 0),
                of("it needs a cap (budget = ...)"),
            )?;
            let simulated = case.data.starts_with("sim:");
            need(
                simulated || (case.train.is_none() && case.valid.is_none()),
                of("train and valid are for simulations; a table is split 60/20/20 by groups"),
            )?;
            let described = case.target.is_some() || case.task.is_some() || case.block.is_some();
            let grouped = case.group.is_some() || !case.ignore.is_empty();
            need(
                !simulated || !(described || grouped),
                of("target, task, block, group and ignore are for tables"),
            )?;
            need(
                !case.data.starts_with("data:") || !described,
                of("target, task and block come with data:NAME"),
            )?;
            need(
                case.updates.is_none() || matches!(self.way, Way::Search(_) | Way::Schedule(_)),
                of("updates are for a [search] or a [schedule]"),
            )?;
            need(
                case.witness.is_none() || matches!(self.way, Way::Sieve(_)),
                of("a witness is for a [sieve]"),
            )?;
            if let Some(witness) = &case.witness {
                need(
                    (1..=MOST_RESOLUTION).contains(&witness.resolution),
                    of("the resolution of its witness must be at least 1 and at most 8"),
                )?;
            }
            need(
                case.shapes.is_none() || path,
                of("shapes are for a [continuation]"),
            )?;
            need(
                !path || (case.budget, case.train, case.valid) == (None, None, None),
                of("the stages of a continuation have budget, train and valid"),
            )?;
            need(
                !simulated || path || (case.train.is_some() && (schedule || case.valid.is_some())),
                of("a simulation needs train = ... and valid = ..."),
            )?;
            for n in [case.train, case.valid].into_iter().flatten() {
                need(
                    (1..=MOST_ROWS).contains(&n),
                    of("train and valid must be at least 1 and at most 10000000"),
                )?;
            }
            need(
                case.at.is_none_or(is_positive),
                of("`at` must be a positive number"),
            )?;
            need(
                case.bound.is_none_or(is_positive),
                of("bound must be a positive number"),
            )?;
            need(
                case.updates
                    .is_none_or(|u| (32..=MOST_UPDATES).contains(&u)),
                of("updates must be at least 32 and at most 1000000000"),
            )?;
            if path {
                need(
                    simulated,
                    of("a continuation needs a simulation (sim:NAME)"),
                )?;
                let given = |method: &Method| case.path_shape(*method).is_some();
                need(
                    self.methods.iter().all(given),
                    of(
                        "a continuation needs shapes = { single = q, loop = [q, T], untied = [q, T] }",
                    ),
                )?;
            }
        }
        Ok(())
    }
}

fn need(good: bool, otherwise: impl Into<String>) -> Result<(), String> {
    if good { Ok(()) } else { Err(otherwise.into()) }
}

fn is_positive(v: f64) -> bool {
    v.is_finite() && v > 0.0
}

fn distinct<T: Ord>(mut items: impl Iterator<Item = T>) -> bool {
    let mut seen = BTreeSet::new();
    items.all(|item| seen.insert(item))
}

/// Names become parts of file names, links and tables: they are plain.
pub(crate) fn check_name(name: &str) -> Result<(), &'static str> {
    let simple = |c: char| c.is_alphanumeric() || "-_.+".contains(c);
    // Some readers of Markdown make a link of `www.` by itself.
    let begins = name.starts_with(char::is_alphanumeric) && !name.starts_with("www.");
    // The page over all reports has this one.
    let taken = name.eq_ignore_ascii_case("index");
    if begins && !taken && name.chars().all(simple) && name.len() <= LONGEST_NAME {
        Ok(())
    } else {
        Err(
            "a name has up to 100 bytes, letters, digits and -_.+ alone, begins with a letter or digit, and is not `index`",
        )
    }
}

/// Titles stand in headings, figures and tables: they are one line.
fn check_line(name: &str, text: Option<&String>) -> Result<(), String> {
    need(
        text.is_none_or(|text| !text.contains(char::is_control)),
        format!("{name} must be one line without control characters"),
    )
}

fn check_seeds(name: &str, seeds: Seeds) -> Result<(), String> {
    need(
        (1..=MOST_SEEDS).contains(&seeds.count)
            && seeds.first.checked_add(seeds.count).is_some()
            && i64::try_from(seeds.last()).is_ok(),
        format!("{name} must be 1 to {MOST_SEEDS} numbers below 2^63"),
    )
}

fn check_rounds(name: &str, rounds: Rounds) -> Result<(), String> {
    let good = |updates| (1..=MOST_UPDATES).contains(&updates);
    need(
        good(rounds.warm) && good(rounds.refine),
        format!("{name}: warm and refine must be at least 1 and at most 1000000000"),
    )
}

fn check_candidates(name: &str, candidates: &Candidates, method: Method) -> Result<(), String> {
    let positive =
        |list: &[usize]| !list.is_empty() && list.iter().all(|v| *v > 0) && distinct(list.iter());
    need(
        positive(&candidates.q),
        format!("{name}.q must be different positive numbers"),
    )?;
    match method {
        Method::Single => need(
            candidates.t.is_empty(),
            format!("{name}.t must not be there: Single has one iteration"),
        ),
        _ => need(
            positive(&candidates.t),
            format!("{name}.t must be different positive numbers"),
        ),
    }
}

fn check_grid(name: &str, grid: &Grid) -> Result<(), String> {
    let of = |what: &str| format!("{name}.{what}");
    need(grid.starts > 0, of("starts must be at least 1"))?;
    let different = |list: &[f64]| !list.is_empty() && distinct(list.iter().map(|v| v.to_bits()));
    need(
        different(&grid.learning_rates) && grid.learning_rates.iter().all(|v| is_positive(*v)),
        of("learning_rates must be different positive numbers"),
    )?;
    let decays = &grid.weight_decays;
    need(
        different(decays) && decays.iter().all(|v| v.is_finite() && *v >= 0.0),
        of("weight_decays must be different numbers from zero up"),
    )?;
    need(
        (0.0..=1.0).contains(&grid.final_rate),
        of("final_rate must be between 0 and 1"),
    )?;
    need(grid.batch > 0, of("batch must be at least 1"))?;
    need(
        grid.validate_every > 0,
        of("validate_every must be at least 1"),
    )?;
    need(
        is_positive(grid.gradient_cap),
        of("gradient_cap must be positive"),
    )?;
    for (what, per) in [
        ("outgoing_rate", grid.outgoing_rate),
        ("outgoing_multiplier", grid.outgoing_multiplier),
    ] {
        need(
            is_positive(per.factor) && per.power.is_finite(),
            of(&format!(
                "{what} needs a positive factor and a finite power"
            )),
        )?;
    }
    Ok(())
}
