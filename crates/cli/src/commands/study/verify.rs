//! `loopfit study verify`.

use super::fits;
use crate::exit::Exit;
use crate::json::object;
use crate::{Global, output};
use anyhow::Result;
use loopfit_report::number;
use loopfit_study::{status, store};
use serde_json::json;
use std::collections::BTreeSet;
use std::path::Path;

pub(super) fn run(path: &Path, global: &Global) -> Result<Exit> {
    let stores = store::verify(path)?;
    let sound = stores.iter().all(|s| s.damage.is_empty());
    let mut rows = Vec::new();
    for found in &stores {
        let faults = &found.damage.faults;
        let states = match faults.is_empty() {
            true => status::status(&found.store)?,
            false => Vec::new(),
        };
        let path = found.path.display();
        if !global.json {
            let mut text = match faults.len() {
                0 => format!("{path}: every record is as it was written\n"),
                n => format!("{path}: {}\n", number::count(n, "fault")),
            };
            for fault in faults {
                text += &format!("  {}\n", fault.to_string().escape_debug());
            }
            for state in &states {
                let (done, all) = state.results.tasks;
                let (name, fits) = (&state.name, fits(state.fits));
                text += &format!("  {name}: {fits}, {done} of {all} replications\n");
            }
            output::print(&text)?;
        }
        let faults = faults
            .iter()
            .map(|f| json!({ "study": f.study, "task": f.task, "record": f.record, "why": f.why }));
        let studies = states.iter().map(|s| {
            let (done, all) = s.results.tasks;
            json!({
                "study": s.name, "hash": s.hash, "fits": s.fits,
                "replications": done, "total_replications": all, "complete": s.complete,
            })
        });
        rows.push(json!({
            "store": path.to_string(),
            "faults": faults.collect::<Vec<_>>(),
            "studies": studies.collect::<Vec<_>>(),
        }));
    }
    if global.json {
        output::print_json(&object!({ "sound": sound, "stores": rows }))?;
    }
    if sound {
        return Ok(Exit::Done);
    }
    if !global.quiet {
        let faults = stores.iter().flat_map(|found| &found.damage.faults);
        output::say(&remedy(faults.map(|fault| fault.study.as_str())));
    }
    Ok(Exit::CheckFailed)
}

/// What to do about faults of these studies.
fn remedy<'a>(studies: impl Iterator<Item = &'a str>) -> String {
    let studies: BTreeSet<&str> = studies.filter(|name| !name.is_empty()).collect();
    let studies: Vec<&str> = studies.into_iter().collect();
    let each = match studies.len() {
        0 | 1 => String::new(),
        _ => format!(
            "; what is damaged of a study stays missing until that study is run: {}",
            studies.join(", ")
        ),
    };
    format!(
        "`loopfit study run` with the same name and --out keeps what is sound and runs the rest again, unless the fits have other bits than this program's{each}"
    )
}

#[cfg(test)]
mod tests {
    use super::remedy;

    #[test]
    fn each_study_is_to_be_run() {
        let one = remedy(["", "ebm", "ebm"].into_iter());
        assert!(one.ends_with("than this program's"), "{one}");
        let two = remedy(["real", "ebm", "real"].into_iter());
        assert!(two.ends_with("until that study is run: ebm, real"), "{two}");
    }
}
