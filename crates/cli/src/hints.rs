//! Which option or command is meant where a library says what to do: libraries know neither, so that hints are added here alone, for
//! people. JSON holds the sentences of the libraries.

use loopfit_data::TableError;
use loopfit_data::catalog::{CatalogError, FetchError};
use loopfit_data::preprocess::PreprocessError;
use loopfit_data::roles::RolesError;
use loopfit_data::table::Suspicion;
use loopfit_data::task::TaskError;
use loopfit_engine::SpecError;
use loopfit_export::ExportError;
use loopfit_fitted::{ApplyError, ModelError};
use loopfit_search::SearchError;
use loopfit_search::curve::Curve;
use loopfit_study::StudyError;
use std::error::Error;

/// Notes by words of theirs, and the option that each means.
const NOTES: [(&str, &str); 6] = [
    ("read with a decimal point", "--decimal point"),
    ("read the file with decimal commas", "--decimal comma"),
    ("numbers the rows: leave it out", "--ignore"),
    ("fit with a larger bound", "--bound"),
    ("keeps a sign: try", "--tokens"),
    ("ask for multiclass", "--task multiclass"),
];

/// An error with all its causes as one sentence, and its hint.
pub(crate) fn sentence(error: &anyhow::Error) -> String {
    with(format!("{error:#}"), hint(error))
}

/// An error of a library, and its hint.
pub(crate) fn beside(error: &(dyn Error + 'static)) -> String {
    with(error.to_string(), of(error))
}

/// A note of a library, and its hint.
pub(crate) fn note(note: &str) -> String {
    let known = NOTES.iter().find(|(words, _)| note.contains(words));
    with(note.to_string(), known.map(|(_, hint)| hint.to_string()))
}

/// What a curve says, and the caps to try.
pub(crate) fn conclusions(curve: &Curve) -> Vec<String> {
    let mut sentences = curve.conclusions();
    // It is the last sentence that says so.
    if curve.still_falls()
        && let (Some(point), Some(last)) = (curve.points.last(), sentences.pop())
    {
        let caps = format!("--caps {},{}", point.cap, 2 * point.cap);
        sentences.push(with(last, Some(caps)));
    }
    sentences
}

/// The hint in brackets at the end of a sentence.
fn with(sentence: String, hint: Option<String>) -> String {
    match (hint, sentence.strip_suffix('.')) {
        (None, _) => sentence,
        (Some(hint), Some(open)) => format!("{open} ({hint})."),
        (Some(hint), None) => format!("{sentence} ({hint})"),
    }
}

/// What the command line has to add to an error.
fn hint(error: &anyhow::Error) -> Option<String> {
    error.chain().find_map(of)
}

fn of(error: &(dyn Error + 'static)) -> Option<String> {
    None.or_else(|| error.downcast_ref().and_then(table))
        .or_else(|| error.downcast_ref().and_then(roles))
        .or_else(|| error.downcast_ref().and_then(task))
        .or_else(|| error.downcast_ref().and_then(preprocess))
        .or_else(|| error.downcast_ref().and_then(catalog))
        .or_else(|| error.downcast_ref().and_then(fetch))
        .or_else(|| error.downcast_ref().and_then(spec))
        .or_else(|| error.downcast_ref().and_then(model))
        .or_else(|| error.downcast_ref().and_then(apply))
        .or_else(|| error.downcast_ref().and_then(export))
        .or_else(|| error.downcast_ref().and_then(search))
        .or_else(|| error.downcast_ref().and_then(study))
        .or_else(|| error.downcast_ref().and_then(facade))
}

fn say(hint: &str) -> Option<String> {
    Some(hint.to_string())
}

fn table(error: &TableError) -> Option<String> {
    match error {
        TableError::LongLine { .. } => say("--max-line"),
        TableError::TooManyColumns { .. } => say("--max-columns"),
        TableError::TooLarge { .. } => say("--max-bytes"),
        TableError::ParquetOff { .. } => say("`cargo build --release --features parquet`"),
        TableError::Ragged { suspicion, .. } => suspected(*suspicion),
        _ => None,
    }
}

fn suspected(suspicion: Suspicion) -> Option<String> {
    match suspicion {
        Suspicion::DecimalComma => say("--decimal comma"),
        Suspicion::CutNumber => say("--delimiter semicolon --decimal comma"),
        _ => None,
    }
}

fn roles(error: &RolesError) -> Option<String> {
    match error {
        RolesError::TextAmongNumbers { .. } => say("--ignore"),
        RolesError::LikeNumbers { first_text, .. } => suspected(Suspicion::of_cell(first_text)),
        _ => None,
    }
}

fn task(error: &TaskError) -> Option<String> {
    match error {
        TaskError::Roles(error) => roles(error),
        TaskError::NoTarget => say("--target NAME, or --task density"),
        _ => None,
    }
}

fn preprocess(error: &PreprocessError) -> Option<String> {
    match error {
        PreprocessError::Column(error) => roles(error),
        PreprocessError::TextColumn { first_text, .. } => suspected(Suspicion::of_cell(first_text)),
        PreprocessError::TextInDensity { .. } => say("--ignore"),
        _ => None,
    }
}

fn catalog(error: &CatalogError) -> Option<String> {
    match error {
        CatalogError::Missing { set, folder, .. } => Some(format!(
            "`loopfit data fetch {set} --data-dir {folder}`; --data-dir or LOOPFIT_DATA names the folder"
        )),
        _ => None,
    }
}

fn fetch(error: &FetchError) -> Option<String> {
    match error {
        FetchError::Status { .. } | FetchError::Network { .. } => say("--from URL or DIR"),
        _ => None,
    }
}

fn spec(error: &SpecError) -> Option<String> {
    match error {
        SpecError::Threads { .. } => say("--threads N"),
        SpecError::Backend { .. } => say("--device cpu"),
        _ => None,
    }
}

fn model(error: &ModelError) -> Option<String> {
    match error {
        ModelError::NoSection { .. } => say("`loopfit fit`"),
        _ => None,
    }
}

fn apply(error: &ApplyError) -> Option<String> {
    match error {
        ApplyError::Preprocess(error) => preprocess(error),
        ApplyError::Normaliser(_) => say("--bound"),
        ApplyError::NotADensity(_) => say("--task density"),
        ApplyError::NoResiduals => say("`loopfit fit` without --updates, --shape and --protocol"),
        _ => None,
    }
}

fn export(error: &ExportError) -> Option<String> {
    match error {
        ExportError::Apply(error) => apply(error),
        ExportError::Text { .. } => say("--to"),
        ExportError::WrittenOut { .. } => say("--loop"),
        _ => None,
    }
}

fn search(error: &SearchError) -> Option<String> {
    match error {
        SearchError::Roles(error) => roles(error),
        SearchError::Task(error) => task(error),
        SearchError::Preprocess(error) => preprocess(error),
        SearchError::Spec(error) => spec(error),
        SearchError::Apply(error) => apply(error),
        SearchError::LikelihoodForTask { .. } => say("--likelihood"),
        _ => None,
    }
}

fn facade(error: &loopfit::Error) -> Option<String> {
    match error {
        loopfit::Error::Table(error) => table(error),
        loopfit::Error::Search(error) => search(error),
        loopfit::Error::Model(error) => model(error),
        loopfit::Error::Apply(error) => apply(error),
        loopfit::Error::Export(error) => export(error),
        loopfit::Error::Threads(error) => spec(error),
        loopfit::Error::NoTarget => say("--target NAME, or --task density"),
        loopfit::Error::NoBudget => say("--budget B"),
        _ => None,
    }
}

/// What is wrong with the data of a case is mended in the protocol, not by an option.
fn study(error: &StudyError) -> Option<String> {
    match error {
        StudyError::NoFolder { set, .. } => Some(format!(
            "`loopfit data fetch {set} --data-dir DIR`, then --data-dir DIR or LOOPFIT_DATA"
        )),
        StudyError::DataSet { why, .. } => catalog(why),
        StudyError::NoStore { .. } => say("`loopfit study run NAME --out DIR`"),
        StudyError::NoChecksums { path } => Some(format!(
            "`loopfit study merge {path} --out NEW`, or the same `loopfit study run`"
        )),
        StudyError::Damaged { path, .. } => Some(format!(
            "`loopfit study verify {path}`, then the same `loopfit study run`"
        )),
        StudyError::Shards { path, .. } => Some(format!("`loopfit study merge {path} --out DIR`")),
        StudyError::NetworkCache { path, .. } => Some(format!("--cache files:{path}")),
        StudyError::Cache { .. } => say("--cache DIR or LOOPFIT_CACHE"),
        StudyError::Busy { .. }
        | StudyError::Exists { .. }
        | StudyError::OtherProtocol { .. }
        | StudyError::OtherBits { .. }
        | StudyError::Changed { .. }
        | StudyError::OtherData { .. } => say("--out DIR"),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
