//! A study as it is written in a file or a store.

use super::{
    Case, CaseRule, Continuation, Quick, Schedule, SearchPlan, Seeds, Shortlist, Sieve, Study, Way,
};
use loopfit_model::Method;
use serde::Deserialize;

/// The entries of a protocol. Each way of fitting has a table, of which one must be there.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename = "Study")]
pub(super) struct Written {
    title: String,
    #[serde(default)]
    question: String,
    #[serde(default)]
    caveats: Vec<String>,
    published: Option<String>,
    #[serde(default = "all_methods")]
    methods: Vec<Method>,
    seeds: Seeds,
    #[serde(default = "one_split")]
    test_splits: Vec<u64>,
    #[serde(default)]
    baselines: bool,
    axis: Option<String>,
    cases: Vec<Case>,
    continuation: Option<Continuation>,
    shortlist: Option<Shortlist>,
    search: Option<SearchPlan>,
    sieve: Option<Sieve>,
    rule: Option<CaseRule>,
    schedule: Option<Schedule>,
    #[serde(default)]
    quick: Quick,
}

fn all_methods() -> Vec<Method> {
    Method::ALL.to_vec()
}

fn one_split() -> Vec<u64> {
    vec![1]
}

impl TryFrom<Written> for Study {
    type Error = String;

    fn try_from(written: Written) -> Result<Self, String> {
        let ways = [
            written.continuation.map(Way::Continuation),
            written.shortlist.map(Way::Shortlist),
            written.search.map(Way::Search),
            written.sieve.map(Way::Sieve),
            written.schedule.map(Way::Schedule),
        ];
        let mut ways = ways.into_iter().flatten();
        let (Some(way), None) = (ways.next(), ways.next()) else {
            let one = "exactly one of [continuation], [shortlist], [search], [sieve] and [schedule] must be there";
            return Err(one.to_string());
        };
        Ok(Self {
            title: written.title,
            question: written.question,
            caveats: written.caveats,
            published: written.published,
            methods: written.methods,
            seeds: written.seeds,
            test_splits: written.test_splits,
            baselines: written.baselines,
            axis: written.axis,
            cases: written.cases,
            way,
            rule: written.rule,
            quick: written.quick,
        })
    }
}
