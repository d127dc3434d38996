//! `loopfit study verify`.

use super::fits;
use crate::exit::Exit;
use crate::{Global, output};
use anyhow::Result;
use loopfit_study::{status, store};
use serde_json::json;
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
                1 => format!("{path}: 1 fault\n"),
                n => format!("{path}: {n} faults\n"),
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
        output::print_json(&json!({ "sound": sound, "stores": rows }))?;
    }
    if sound {
        return Ok(Exit::Done);
    }
    if !global.quiet {
        output::say(
            "`loopfit study run` with the same name and --out keeps what is sound and runs the rest again",
        );
    }
    Ok(Exit::CheckFailed)
}
