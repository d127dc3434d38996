//! The data of a task, in two parts: what selection sees, and what only the judge of frozen
//! choices sees.

use crate::StudyError;
use crate::baseline;
use crate::contender::Contender;
use crate::protocol::{Case, Follow, Named, PathStage, Study, Way};
use crate::schedule::smoother;
use crate::store::{Choice, Frozen, Store, StoredFit, check_regular};
use loopfit_data::catalog::DataSet;
use loopfit_data::preprocess::Target;
use loopfit_data::{Table, TaskKind};
use loopfit_fitted::{ApplyError, FittedModel, Provenance};
use loopfit_model::growth::Normalisation;
use loopfit_model::{ArchitectureChoice, Budget, Parameters};
use loopfit_search::SearchError;
use loopfit_search::replication::{
    HELLINGER, Problem, Replication, Source, TableOptions, TableSource,
};
use loopfit_search::truth::Truth;
use serde_json::json;
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

/// The data of a study's cases, each read once.
#[derive(Debug)]
pub(crate) struct Sources {
    /// Where the protocol's own files are.
    folder: PathBuf,
    data_dir: Option<PathBuf>,
    first_split: Option<u64>,
    tables: Mutex<Tables>,
}

/// Tables by case and test split.
type Tables = HashMap<(String, Option<u64>), Arc<Source>>;

impl Sources {
    /// Checks that the data of every case are there; files of `data:NAME` are looked for in
    /// `data_dir`.
    pub(crate) fn new(named: &Named, data_dir: Option<PathBuf>) -> Result<Self, StudyError> {
        let study = &named.study;
        let sources = Self::unchecked(named, data_dir);
        for case in &study.cases {
            for split in study.splits(case) {
                let source = sources.source(case, split, (1, 1))?;
                if let (Source::Simulation { simulation, .. }, Way::Continuation(_)) =
                    (&*source, &study.way)
                    && simulation.is_density()
                {
                    return Err(StudyError::Data {
                        case: case.name.clone(),
                        why: "a continuation is for regression, not for densities".to_string(),
                    });
                }
            }
        }
        Ok(sources)
    }

    /// The same without looking whether they are there.
    pub(crate) fn unchecked(named: &Named, data_dir: Option<PathBuf>) -> Self {
        Self {
            folder: named.folder.clone(),
            data_dir,
            first_split: named.study.test_splits.first().copied(),
            tables: Mutex::default(),
        }
    }

    /// Checks that a file which the protocol names is an ordinary one: a protocol of others may name anything.
    pub(crate) fn check_file(&self, case: &Case) -> Result<(), StudyError> {
        match case.data.starts_with("sim:") || case.data.starts_with("data:") {
            true => Ok(()),
            false => check_regular(&self.folder.join(&case.data)),
        }
    }

    /// What the table of a case is, as JSON: its hash, its size and what a person should know;
    /// none for a simulation.
    pub(crate) fn describe(
        &self,
        study: &Study,
        case: &Case,
    ) -> Result<Option<String>, StudyError> {
        let split = study.splits(case).first().copied().flatten();
        let source = self.source(case, split, (1, 1))?;
        let Source::Table(source) = &*source else {
            return Ok(None);
        };
        let content = json!({
            "sha256": source.table().hash(),
            "rows": source.table().rows(),
            "notes": source.notes,
        });
        Ok(Some(content.to_string()))
    }

    /// What the models of a case are judged by, before further metrics.
    pub(crate) fn metric(&self, study: &Study, case: &Case) -> Result<&'static str, StudyError> {
        let split = study.splits(case).first().copied().flatten();
        Ok(self.source(case, split, (1, 1))?.metric(None))
    }

    /// Where the replications of a case come from. Simulations have the sizes that are given.
    fn source(
        &self,
        case: &Case,
        split: Option<u64>,
        sizes: (usize, usize),
    ) -> Result<Arc<Source>, StudyError> {
        let wrong = |why: String| StudyError::Data {
            case: case.name.clone(),
            why,
        };
        if let Some(name) = case.data.strip_prefix("sim:") {
            let simulation = name
                .parse()
                .map_err(|e: loopfit_data::simulation::SimulationError| wrong(e.to_string()))?;
            let (train, valid) = sizes;
            return Ok(Arc::new(Source::Simulation {
                simulation,
                train,
                valid,
            }));
        }
        let key = (case.name.clone(), split);
        let mut tables = self.tables.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(source) = tables.get(&key) {
            return Ok(source.clone());
        }
        let mut options = TableOptions {
            target: case.target.clone(),
            task: None,
            group: case.group.clone(),
            block: case.block,
            ignore: case.ignore.clone(),
            test_seed: split.unwrap_or(0),
            ..TableOptions::default()
        };
        let table = match case.data.strip_prefix("data:") {
            Some(name) => {
                let named = || case.name.clone();
                let refused = |why| StudyError::DataSet { case: named(), why };
                let set = DataSet::find(name).map_err(refused)?;
                let folder = self.data_dir.as_deref().ok_or_else(|| {
                    let set = set.name;
                    StudyError::NoFolder { case: named(), set }
                })?;
                let loaded = set.load(folder).map_err(refused)?;
                options.target = Some(set.target.to_string());
                options.task = Some(set.task);
                options.block = set.block;
                // Official test rows are the first split; the others are drawn.
                options.test_rows = loaded.official_test.filter(|_| split == self.first_split);
                options.notes = loaded.notes;
                loaded.table
            }
            None => Table::read(self.folder.join(&case.data)).map_err(|e| wrong(e.to_string()))?,
        };
        if let Some(task) = &case.task {
            options.task = Some(task_kind(task).map_err(wrong)?);
        }
        let source = TableSource::new(table, &options).map_err(|why| StudyError::Search {
            of: format!("case `{}`", case.name),
            why: Box::new(why),
        })?;
        let source = Arc::new(Source::Table(Box::new(source)));
        tables.insert(key, source.clone());
        Ok(source)
    }
}

fn task_kind(name: &str) -> Result<TaskKind, String> {
    Ok(match name {
        "regression" => TaskKind::Regression,
        "binary" => TaskKind::Binary,
        "multiclass" => TaskKind::Multiclass,
        "density" => TaskKind::Density,
        _ => {
            return Err(format!(
                "`{name}` is not a task: write regression, binary, multiclass or density"
            ));
        }
    })
}

/// What selection may see of a replication.
#[derive(Clone, Debug)]
pub(crate) struct Visible {
    pub(crate) problem: Arc<Problem>,
    /// How the target was standardised.
    pub(crate) normalisation: Option<Normalisation>,
}

/// The data of one task. Test samples are behind [`Trial::judge`], which asks for the proof that
/// the choices are frozen.
pub(crate) struct Trial<'a> {
    sources: &'a Sources,
    pub(crate) case: &'a Case,
    split: Option<u64>,
    pub(crate) seed: u64,
    /// The stages of a path.
    stages: &'a [PathStage],
    sealed: Mutex<Replications>,
}

/// Replications by their training and validation sizes.
type Replications = Vec<((usize, usize), Arc<Sealed>)>;

/// A replication whose test samples nobody has asked for yet.
struct Sealed {
    replication: Replication,
    problem: Arc<Problem>,
}

impl Sealed {
    /// Coefficients as a model that can be judged.
    fn model(&self, parameters: Parameters) -> FittedModel {
        FittedModel {
            bounds: self.problem.bounds,
            likelihood: self.problem.likelihood,
            preprocessing: self.replication.preprocessing.clone(),
            provenance: Provenance::nothing(),
            assessment: None,
            parameters,
        }
    }
}

impl<'a> Trial<'a> {
    pub(crate) fn new(
        sources: &'a Sources,
        study: &'a Study,
        case: &'a Case,
        split: Option<u64>,
        seed: u64,
    ) -> Self {
        Self {
            sources,
            case,
            split,
            seed,
            stages: study.way.stages(),
            sealed: Mutex::default(),
        }
    }

    pub(crate) fn wrong(&self, error: SearchError) -> StudyError {
        StudyError::Search {
            of: format!("case `{}`", self.case.name),
            why: Box::new(error),
        }
    }

    /// The architecture of the case's networks, which [`Study::check`] makes sure of.
    pub(crate) fn architecture(&self) -> Result<ArchitectureChoice, StudyError> {
        self.case.architecture().map_err(|e| StudyError::Data {
            case: self.case.name.clone(),
            why: e.to_string(),
        })
    }

    /// A cap for the case's networks on a problem.
    pub(crate) fn cap(&self, b: usize, problem: &Problem) -> Result<Budget, StudyError> {
        let (d, outputs) = (problem.train.d(), problem.likelihood.outputs());
        let architecture = self.architecture()?.at(d);
        let architecture = architecture.map_err(|e| self.wrong(e.into()))?;
        Budget::new(b, architecture, d, outputs).map_err(|e| self.wrong(e.into()))
    }

    /// Training and validation samples of the case's own size.
    pub(crate) fn visible(&self) -> Result<Visible, StudyError> {
        let (train, valid) = self.own_size();
        self.visible_at(train, valid)
    }

    /// Training and validation samples of a size; smaller ones are the first of larger ones.
    pub(crate) fn visible_at(&self, train: usize, valid: usize) -> Result<Visible, StudyError> {
        let sealed = self.sealed(train, valid)?;
        let normalisation = match sealed.replication.preprocessing.target() {
            Some(Target::Response { mean, sd, .. }) => Some(Normalisation {
                mean: *mean,
                sd: *sd,
            }),
            _ => None,
        };
        Ok(Visible {
            problem: sealed.problem.clone(),
            normalisation,
        })
    }

    fn sealed(&self, train: usize, valid: usize) -> Result<Arc<Sealed>, StudyError> {
        let mut all = self.sealed.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, sealed)) = all.iter().find(|(sizes, _)| *sizes == (train, valid)) {
            return Ok(sealed.clone());
        }
        let source = self.sources.source(self.case, self.split, (train, valid))?;
        let replication = source
            .replication(self.seed, None)
            .map_err(|e| self.wrong(e))?;
        let mut problem = (*replication.problem).clone();
        if let Some(bound) = self.case.bound {
            problem.bounds.output = bound as f32;
        }
        let sealed = Arc::new(Sealed {
            replication,
            problem: Arc::new(problem),
        });
        all.push(((train, valid), sealed.clone()));
        Ok(sealed)
    }

    /// The test metrics of every frozen choice: (choice, metric, value). The only way to the
    /// test samples.
    pub(crate) fn judge(
        &self,
        frozen: &Frozen,
        store: &Store,
        study: &str,
        task: &str,
    ) -> Result<Vec<(String, String, f64)>, StudyError> {
        let mut scores = Vec::new();
        if self.case.follow.is_some() {
            return self.judge_by_truth(frozen, store, study, task);
        }
        for choice in frozen.choices() {
            for (metric, value) in self.judge_one(choice, store, study, task)? {
                scores.push((choice.name.clone(), metric.to_string(), value));
            }
        }
        Ok(scores)
    }

    /// The same for a schedule, whose models are compared with the law that they were drawn from.
    fn judge_by_truth(
        &self,
        frozen: &Frozen,
        store: &Store,
        study: &str,
        task: &str,
    ) -> Result<Vec<(String, String, f64)>, StudyError> {
        let wrong = |e: SearchError| self.wrong(e);
        let (sealed, follow) = (self.at_place(None)?, self.follow()?);
        let source = self
            .sources
            .source(self.case, self.split, self.own_size())?;
        let Source::Simulation { simulation, .. } = &*source else {
            return Err(self.no_schedule());
        };
        let truth = Truth::new(*simulation, self.seed).map_err(wrong)?;
        let mut known: HashMap<&str, f64> = HashMap::new();
        let mut scores = Vec::new();
        for choice in frozen.choices() {
            // Several rules may have chosen one fit.
            let seen = choice
                .fit
                .as_deref()
                .and_then(|fit| known.get(fit).copied());
            let value = match (seen, Contender::of_choice(&choice.name, choice.at)) {
                (Some(value), _) => value,
                (None, Some(Contender::Smoother)) => {
                    let unit = self.visible()?.normalisation;
                    let unit = unit.map_or((0.0, 1.0), |n| (n.mean, n.sd));
                    let train = &sealed.problem.train;
                    let risk = smoother::oracle_risk(train, unit, follow.smoothness, &truth);
                    risk.map_err(wrong)?
                }
                _ => match self.chosen(choice, &sealed, store, study, task)? {
                    (parameters, true) => {
                        let model = sealed.model(parameters);
                        truth.of_model(&model).map_err(wrong)?
                    }
                    (_, false) => f64::NAN,
                },
            };
            if let Some(fit) = &choice.fit {
                known.insert(fit, value);
            }
            scores.push((choice.name.clone(), HELLINGER.to_string(), value));
        }
        Ok(scores)
    }

    fn judge_one(
        &self,
        choice: &Choice,
        store: &Store,
        study: &str,
        task: &str,
    ) -> Result<Vec<(&'static str, f64)>, StudyError> {
        let sealed = self.at_place(choice.at)?;
        let (parameters, good) = self.chosen(choice, &sealed, store, study, task)?;
        let model = sealed.model(parameters);
        let none = vec![(sealed.replication.metric(), f64::NAN)];
        if !good {
            return Ok(none);
        }
        match sealed.replication.judge_all(&model) {
            // A fit that is finite at the training samples need not be so at every other input: then it has no score.
            Err(SearchError::Apply(ApplyError::Overflow { .. })) => Ok(none),
            measured => measured.map_err(|e| self.wrong(e)),
        }
    }

    /// The coefficients of a choice, and whether they had a finite validation loss.
    fn chosen(
        &self,
        choice: &Choice,
        sealed: &Sealed,
        store: &Store,
        study: &str,
        task: &str,
    ) -> Result<(Parameters, bool), StudyError> {
        Ok(match &choice.fit {
            None => {
                let parameters = match Contender::of_choice(&choice.name, choice.at) {
                    Some(Contender::Linear) => baseline::linear(&sealed.problem),
                    _ => baseline::constant(&sealed.problem),
                };
                (parameters, true)
            }
            Some(fit) => {
                let missing = || StudyError::Broken {
                    path: store.path().display().to_string(),
                    what: format!("choice {} of task {task}", choice.name),
                    why: format!("its fit {fit} is not there"),
                };
                let outcome = store.fit(study, task, fit)?.ok_or_else(missing)?.outcome;
                let good = outcome.validation.is_finite();
                (outcome.parameters, good)
            }
        })
    }

    /// What the loop follows, which [`Study::check`] makes sure of in a schedule.
    pub(crate) fn follow(&self) -> Result<&Follow, StudyError> {
        self.case.follow.as_ref().ok_or_else(|| self.no_schedule())
    }

    fn no_schedule(&self) -> StudyError {
        StudyError::Data {
            case: self.case.name.clone(),
            why: "it is not of a schedule over a simulation".to_string(),
        }
    }

    /// Standard deviation of the response noise of a simulation, where there is one.
    pub(crate) fn noise_sd(&self) -> Result<Option<f64>, StudyError> {
        let source = self
            .sources
            .source(self.case, self.split, self.own_size())?;
        Ok(match &*source {
            Source::Simulation { simulation, .. } => simulation.noise_sd(),
            Source::Table(_) => None,
        })
    }

    fn own_size(&self) -> (usize, usize) {
        let (train, valid) = (self.case.train, self.case.valid);
        // A schedule needs no validation sample, and a simulation draws one.
        let least = usize::from(self.case.follow.is_some());
        (train.unwrap_or_default(), valid.unwrap_or(least))
    }

    /// A fit that was chosen at a place of the axis as a model that says where it came from; none if it was fitted to other samples.
    pub(crate) fn model(
        &self,
        at: Option<f64>,
        stored: StoredFit,
        budget: usize,
    ) -> Result<Option<FittedModel>, StudyError> {
        let sealed = self.at_place(at)?;
        let Problem { train, valid, .. } = &*sealed.problem;
        let spec: serde_json::Value = serde_json::from_str(&stored.spec).unwrap_or_default();
        let training_samples = spec["train"].as_str().unwrap_or_default().to_string();
        let refitted = training_samples != train.hash();
        if refitted {
            let all = train.followed_by(valid).map_err(SearchError::from);
            if training_samples != all.map_err(|e| self.wrong(e))?.hash() {
                return Ok(None);
            }
        }
        let outcome = stored.outcome;
        let mut model = sealed.model(outcome.parameters);
        model.provenance = Provenance {
            version: format!("with the bits {}", stored.bits),
            source: sealed.replication.source.clone(),
            training_samples,
            budget,
            seed: self.seed,
            validation: outcome.validation,
            updates: outcome.updates,
        };
        // A refit has seen its validation samples.
        if refitted {
            model.provenance.validation = f64::NAN;
        } else {
            let reported = model.reported_nll(valid.x()).map_err(SearchError::from);
            let reported = reported.map_err(|e| self.wrong(e))?;
            model.provenance.validation = reported.unwrap_or(outcome.validation);
        }
        Ok(Some(model))
    }

    /// The replication at a place of the axis: of a path, that of the stage there.
    fn at_place(&self, at: Option<f64>) -> Result<Arc<Sealed>, StudyError> {
        let stage = self.stages.iter().find(|stage| stage.at == at);
        let (train, valid) = stage.map_or_else(|| self.own_size(), |s| (s.train, s.valid));
        self.sealed(train, valid)
    }
}
