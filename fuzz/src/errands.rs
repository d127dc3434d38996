//! Fits that travel: what a worker is asked for, and what comes home from it.

use loopfit_data::Samples;
use loopfit_engine::{
    Backend, Control, Engine, FitOutcome, FitSpec, Optimiser, Scoring, SpecError, Stage, Start,
    Threads,
};
use loopfit_likelihood::{Gaussian, Likelihood, Multiclass};
use loopfit_model::{Bounds, Network, Tying, init};
use loopfit_numerics::stream::Stream;
use loopfit_study::elsewhere::{Batch, Desk, make};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

/// What a worker would need longer for than a case may take: multiplications of all updates, roughly.
const MOST_WORK: u128 = 1 << 24;

/// A desk that hands out the fits below, and what it handed out.
struct Office {
    /// Held by the case that gives records to the desk.
    desk: Mutex<Desk>,
    specs: Vec<FitSpec>,
    errands: Vec<Vec<u8>>,
    samples: Vec<Vec<u8>>,
    /// What a worker made of each.
    records: Vec<Vec<u8>>,
}

fn office() -> Option<&'static Office> {
    static OFFICE: OnceLock<Option<Office>> = OnceLock::new();
    OFFICE.get_or_init(open).as_ref()
}

fn open() -> Option<Office> {
    let (desk, specs) = (Desk::new(1).ok()?, specs()?);
    let small = Small(Engine::new(1).ok()?);
    let (errands, samples, records) = asking(&desk, &specs, |batch| {
        let own = |hash: &String| desk.samples(hash);
        let samples: Vec<Vec<u8>> = batch.samples.iter().filter_map(own).collect();
        let records = make(&batch.errands, &samples, &small).unwrap_or_default();
        let given = desk.give(batch.number, &records);
        given.is_ok().then_some((batch.errands, samples, records))
    })??;
    Some(Office {
        desk: Mutex::new(desk),
        specs,
        errands,
        samples,
        records,
    })
}

/// Does something with the batch of fits that somebody waits for.
fn asking<T>(desk: &Desk, specs: &[FitSpec], work: impl FnOnce(Batch) -> T) -> Option<T> {
    let control = Control::default();
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| desk.run(specs, &control, &|_, _| ()));
        desk.wait(Duration::from_secs(60));
        let done = desk.take(1).map(work);
        control.interrupt();
        // A panic over there is one here.
        if let Err(panic) = waiting.join() {
            std::panic::resume_unwind(panic);
        }
        done
    })
}

/// Two small fits: one from a fresh start by Adam, one from given coefficients by scoring.
fn specs() -> Option<Vec<FitSpec>> {
    let stage = Stage {
        batch: 4,
        updates: 3,
        validate_every: 2,
        ..Stage::default()
    };
    let scoring = Stage {
        optimiser: Optimiser::Scoring(Scoring::default()),
        ..stage.clone()
    };
    let x: Vec<f32> = (0..16).map(|i| (i * 7 % 16) as f32 / 8.0 - 1.0).collect();
    let regression = Samples::new(2, x.clone(), x.iter().step_by(2).copied().collect());
    let regression = regression.and_then(|samples| samples.weighted(vec![1.0; 8]));
    let classes = (0..8).map(|i| (i % 3) as f32).collect();
    let (regression, classes) = (regression.ok()?, Samples::new(2, x, classes).ok()?);
    let (regression, classes) = (Arc::new(regression), Arc::new(classes));
    let tied = Network::ffn(2, 1, 2, 2, Tying::Loop { t: 2 }).ok()?;
    let untied = Network::ffn(2, 3, 3, 1, Tying::Untied { t: 2 }).ok()?;
    let given = init::fresh(&untied, 1.0, Stream::new(3));
    Some(vec![
        FitSpec {
            network: tied,
            likelihood: Likelihood::Gaussian(Gaussian::squared_error()),
            bounds: Bounds::default(),
            train: Arc::clone(&regression),
            valid: regression,
            start: Start::Fresh {
                outgoing_multiplier: 1.0,
            },
            stages: vec![stage, scoring.clone()],
            stream: Stream::new(1),
        },
        FitSpec {
            network: untied,
            likelihood: Likelihood::Multiclass(Multiclass::new(3).ok()?),
            bounds: Bounds::default(),
            train: Arc::clone(&classes),
            valid: classes,
            start: Start::Given(given),
            stages: vec![scoring],
            stream: Stream::new(2),
        },
    ])
}

/// The processor, for what it makes in no time.
struct Small(Engine);

impl Backend for Small {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn bits(&self) -> &str {
        self.0.bits()
    }

    fn threads(&self) -> &Threads {
        self.0.threads()
    }

    fn run(
        &self,
        specs: &[FitSpec],
        control: &Control,
        finished: &(dyn Fn(usize, &FitOutcome) + Sync),
    ) -> Result<Vec<FitOutcome>, SpecError> {
        specs.iter().try_for_each(FitSpec::check)?;
        if specs.iter().any(|spec| work(spec) > MOST_WORK) {
            return Err(SpecError::Backend {
                backend: self.name().to_string(),
                why: "that takes long".to_string(),
            });
        }
        self.0.run(specs, control, finished)
    }
}

fn work(spec: &FitSpec) -> u128 {
    let count = spec.network.count() as u128;
    let pass = count.saturating_mul(spec.network.tying().iterations() as u128);
    let updates = spec.stages.iter().map(|stage| {
        let each = match stage.optimiser {
            Optimiser::Adam(_) => pass,
            Optimiser::Scoring(_) => pass.saturating_mul(count).saturating_mul(count),
        };
        let rows = stage.batch.max(spec.valid.n()) as u128;
        each.saturating_mul(rows)
            .saturating_mul(stage.updates as u128)
    });
    updates.fold(pass, u128::saturating_add)
}

/// What a worker is sent: fits, and samples.
pub(crate) fn sent() -> Vec<Vec<u8>> {
    let office = office().into_iter();
    let sent = office.flat_map(|office| office.errands.iter().chain(&office.samples));
    sent.cloned().collect()
}

/// As a worker does: a fit beside good samples, or samples alone.
pub(crate) fn read_sent(bytes: &[u8]) -> bool {
    let Some((office, engine)) = office().zip(Engine::new(1).ok()) else {
        return false;
    };
    let small = Small(engine);
    let samples = make::<Vec<u8>, _>(&[], &[bytes], &small);
    let made = make(&[bytes], &office.samples, &small);
    samples.is_ok() || made.is_ok()
}

/// What workers give back, without what a desk compares: the line of the version, the checksum, the specification and the bits.
pub(crate) fn given() -> Vec<Vec<u8>> {
    let office = office().into_iter();
    let records = office.flat_map(|office| &office.records);
    let bare = |record: &Vec<u8>| {
        let mut record = Record::read(record)?;
        record
            .header
            .retain(|name, _| !COMPARED.contains(&name.as_str()));
        Some(record.content())
    };
    records.filter_map(bare).collect()
}

/// What a desk compares with what it handed out.
const COMPARED: [&str; 2] = ["spec", "bits"];

/// A record (docs/store.md): the line of the version, a checksum, a line of JSON, coefficients.
struct Record<'a> {
    version: &'a [u8],
    header: Map<String, Value>,
    coefficients: &'a [u8],
}

impl<'a> Record<'a> {
    fn read(bytes: &'a [u8]) -> Option<Self> {
        let mut parts = bytes.splitn(4, |b| *b == b'\n');
        let (version, _sum) = (parts.next()?, parts.next()?);
        Some(Self {
            version,
            header: serde_json::from_slice(parts.next()?).ok()?,
            coefficients: parts.next()?,
        })
    }

    fn content(&self) -> Vec<u8> {
        let header = Value::Object(self.header.clone()).to_string();
        [header.as_bytes(), b"\n", self.coefficients].concat()
    }

    /// This record with other content but for what is compared, and the checksum of all; other content as it is, if it is not as it
    /// should be.
    fn with(&self, content: &[u8]) -> Vec<u8> {
        let unsealed = [self.version, b"\n\n", content].concat();
        let content = Record::read(&unsealed).map(|mut other| {
            let own = COMPARED.map(|name| (name.to_string(), self.header[name].clone()));
            other.header.extend(own);
            other.content()
        });
        let content = content.unwrap_or_else(|| unsealed[self.version.len() + 2..].to_vec());
        let sum = Sha256::digest(&content);
        let sum: String = sum.iter().map(|byte| format!("{byte:02x}")).collect();
        [self.version, b"\n", sum.as_bytes(), b"\n", &content].concat()
    }
}

/// As a desk does, for one of its fits, so that changed values reach the readers behind the checksum. What is refused does no harm: the
/// true records are taken after it.
pub(crate) fn read_given(content: &[u8]) -> bool {
    let Some(office) = office() else {
        return false;
    };
    let changed = |record: &Vec<u8>| Some(Record::read(record)?.with(content));
    let changed: Vec<Vec<u8>> = office.records.iter().filter_map(changed).collect();
    let desk = office.desk.lock().unwrap_or_else(PoisonError::into_inner);
    let (taken, whole) = asking(&desk, &office.specs, |batch| {
        let with = |(at, record): (usize, &Vec<u8>)| {
            let mut records = office.records.clone();
            records[at] = record.clone();
            desk.give(batch.number, &records).is_ok()
        };
        let taken = changed.iter().enumerate().any(with);
        (taken, desk.give(batch.number, &office.records).is_ok())
    })
    .unwrap_or_default();
    assert!(whole, "the true records are refused");
    taken
}
