//! Where fits are kept for all studies: `--cache`.

use crate::output;
use anyhow::{Context, Result};
use loopfit_report::number;
use loopfit_study::cache::Cache;
use std::path::{Path, PathBuf};

/// The word before a folder of files.
const FILES: &str = "files:";

#[derive(clap::Args, Clone, Debug)]
pub(crate) struct CacheArgument {
    /// Keep every fit in DIR too, and take from there what any study has made; the environment's LOOPFIT_CACHE by default.
    /// `files:DIR` keeps a folder of files, for a network file system that several machines share.
    #[arg(long, value_name = "DIR")]
    cache: Option<String>,
}

impl CacheArgument {
    /// The cache as named, if one is.
    pub(crate) fn named(&self) -> Option<String> {
        let from_environment = || {
            let value = std::env::var_os("LOOPFIT_CACHE").filter(|v| !v.is_empty())?;
            Some(value.to_string_lossy().into_owned())
        };
        self.cache.clone().or_else(from_environment)
    }

    /// The same with its folder made absolute, for another working directory.
    pub(crate) fn absolute(&self) -> Result<Option<String>> {
        let absolute = |named: String| {
            let (kind, folder) = split(&named);
            let folder = std::path::absolute(folder).context("--cache names no folder")?;
            Ok(format!("{kind}{}", folder.display()))
        };
        self.named().map(absolute).transpose()
    }

    /// The cache, open.
    pub(crate) fn open(&self) -> Result<Option<Cache>> {
        let Some(named) = self.named() else {
            return Ok(None);
        };
        let (kind, folder) = split(&named);
        Ok(Some(match kind {
            FILES => Cache::files(&folder)?,
            _ => Cache::database(&folder)?,
        }))
    }
}

fn split(named: &str) -> (&'static str, PathBuf) {
    match named.strip_prefix(FILES) {
        Some(folder) => (FILES, Path::new(folder).to_path_buf()),
        None => ("", Path::new(named).to_path_buf()),
    }
}

/// Says what a cache was good for.
pub(crate) fn tell(cache: &Cache, quiet: bool) {
    let fits = |count: u64| number::count(count as usize, "fit");
    if !quiet {
        output::say(&format!(
            "{} came from the cache {}, {} went there",
            fits(cache.found()),
            cache.name(),
            fits(cache.kept())
        ));
    }
    if cache.damaged() > 0 {
        output::say(&format!(
            "{} in the cache {} {} damaged, not used, and made again",
            number::count(cache.damaged() as usize, "record"),
            cache.name(),
            if cache.damaged() == 1 { "was" } else { "were" },
        ));
    }
    if let Some(why) = cache.trouble() {
        output::say(&format!("warning: the cache did not work: {why}"));
    }
}
