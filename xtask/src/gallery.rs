//! `cargo xtask gallery`: docs/gallery.md with its pages and C files.
//!
//! The program is Python with scikit-learn, in `xtask/peers/gallery`; here are its environment and its start.

use std::process::Command;

use anyhow::Result;
use clap::Args;

use crate::{python, release, succeed, workspace};

#[derive(Args)]
pub(crate) struct Gallery {
    /// Options of the program; --help lists them
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    options: Vec<String>,
}

impl Gallery {
    pub(crate) fn run(&self) -> Result<()> {
        let loopfit = release()?;
        let python = python::with_packages("quality-venv", &["numpy", "scipy", "scikit-learn"])?;
        let mut program = Command::new(python);
        program.arg(workspace().join("xtask/peers/gallery/run.py"));
        program.arg("--loopfit").arg(loopfit);
        program.args(&self.options);
        // No compiled files outside target/.
        program.env("PYTHONDONTWRITEBYTECODE", "1");
        succeed(&mut program, "the gallery")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// The page links to files that are there, and the C files among them compile without a warning.
    #[test]
    fn links_of_the_gallery_lead_somewhere_and_its_c_compiles() {
        let docs = workspace().join("docs");
        let page = fs::read_to_string(docs.join("gallery.md")).unwrap();
        let links = page.split("](").skip(1);
        let links: Vec<&str> = links
            .filter_map(|rest| Some(rest.split_once(')')?.0))
            .collect();
        for link in &links {
            assert!(docs.join(link).is_file(), "{link}");
        }
        let sources: Vec<&str> = links.into_iter().filter(|l| l.ends_with(".c")).collect();
        assert!(sources.len() >= 5, "{sources:?}");
        let compiler = |arguments: &[&str]| {
            let mut compiler = Command::new("cc");
            compiler.current_dir(&docs).args(arguments).output()
        };
        if !compiler(&["--version"]).is_ok_and(|o| o.status.success()) {
            eprintln!("cc is not there: nothing was compiled");
            return;
        }
        for source in sources {
            let flags = [
                "-std=c99",
                "-Wall",
                "-Wextra",
                "-Wpedantic",
                "-Werror",
                "-fsyntax-only",
            ];
            let output = compiler(&[&flags[..], &[source]].concat()).unwrap();
            let told = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{source}: {told}");
        }
    }
}
