//! `loopfit completions`.

use crate::exit::Exit;
use crate::{Cli, output};
use anyhow::Result;
use clap::CommandFactory;
use clap_complete::Shell;

#[derive(clap::Args)]
#[command(
    after_help = "Example:\n  mkdir -p ~/.local/share/bash-completion/completions\n  loopfit completions bash > ~/.local/share/bash-completion/completions/loopfit"
)]
pub(crate) struct Arguments {
    /// The shell.
    shell: Shell,
}

pub(crate) fn run(a: &Arguments) -> Result<Exit> {
    let mut script = Vec::new();
    clap_complete::generate(a.shell, &mut Cli::command(), "loopfit", &mut script);
    output::print(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Done)
}
