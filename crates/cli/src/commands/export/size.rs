//! How many bytes a compiler makes of a C file.

use anyhow::{Context, Result, ensure};
use loopfit_export::Export;
use std::process::{Command, Output};

/// What became of it.
pub(super) struct Compiled {
    /// Code and constants together.
    pub(super) bytes: usize,
    /// The command, without its files.
    pub(super) command: String,
}

impl Compiled {
    /// Compiles an export in a folder of its own; of one in integers, whose capital prefix is given, what needs no floats.
    pub(super) fn new(export: &Export, integers: Option<&str>) -> Result<Self> {
        let named = std::env::var("CC").ok().filter(|cc| !cc.trim().is_empty());
        let named = named.unwrap_or_else(|| "cc".to_string());
        let mut words = named.split_whitespace();
        let compiler = words.next().unwrap_or("cc");
        let before: Vec<&str> = words.collect();
        let folder = tempfile::tempdir().context("cannot make a folder to compile in")?;
        let source = folder.path().join("model.c");
        for (path, content) in export.files(&source)? {
            std::fs::write(&path, content).context("cannot write a file to compile")?;
        }
        let mut flags = vec!["-std=c99".to_string(), "-Os".to_string()];
        flags.extend(integers.map(|prefix| format!("-D{prefix}_NO_FLOAT")));
        let object = folder.path().join("model.o");
        let mut compile = Command::new(compiler);
        compile.args(&before).args(&flags).arg("-c").arg(&source);
        finished(compile.arg("-o").arg(&object), compiler)?;
        // The compiler of another machine knows its own.
        let asked = Command::new(compiler)
            .args(&before)
            .arg("-print-prog-name=size")
            .output();
        let told = asked.ok().filter(|output| output.status.success());
        let told = told.and_then(|output| String::from_utf8(output.stdout).ok());
        let told = told.map(|name| name.trim().to_string());
        let size = told.filter(|name| !name.is_empty());
        let size = size.unwrap_or_else(|| "size".to_string());
        let output = finished(Command::new(&size).arg(&object), &size)?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        // Under a line of headings: text, data, bss.
        let line = text.lines().nth(1).unwrap_or_default();
        let numbers = line.split_whitespace().take(2).map(str::parse::<usize>);
        let numbers = numbers
            .collect::<Result<Vec<usize>, _>>()
            .unwrap_or_default();
        ensure!(
            numbers.len() == 2,
            "`{size}` does not tell how large the compiled file is"
        );
        Ok(Self {
            bytes: numbers.iter().sum(),
            command: format!("{named} {}", flags.join(" ")),
        })
    }
}

/// What a program prints if all goes well.
fn finished(command: &mut Command, name: &str) -> Result<Output> {
    let output = command.output();
    let output = output.with_context(|| {
        format!("cannot run `{name}`: install a C compiler, name one by CC, or leave out --size")
    })?;
    let told = String::from_utf8_lossy(&output.stderr);
    let first = told.lines().next().unwrap_or_default();
    ensure!(output.status.success(), "`{name}` failed: {first}");
    Ok(output)
}
