//! `loopfit export`.

mod integers;
mod size;

use crate::data::DataName;
use crate::exit::{Exit, usage};
use crate::json::object;
use crate::named::named;
use crate::rows::RowsArguments;
use crate::{Global, output};
use anyhow::{Result, ensure};
use loopfit_export::{
    Content, Export, ExportError, Format, Loss, Options, Width, export, export_integers,
};
use loopfit_fitted::FittedModel;
use loopfit_numerics::named::Named;
use serde_json::{Value, json};
use size::Compiled;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};

#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  loopfit export model.safetensors --to c -o model.c\n  loopfit export model.safetensors --to c --name pump --every-iteration -o pump.c\n  loopfit export model.safetensors --to c --size > model_in_one_file.c\n  loopfit export model.safetensors --to c --int 8 --calibrate train.csv -o model.c\n  loopfit export model.safetensors --to rust -o model.rs\n  loopfit export model.safetensors --to js -o model.js\n  loopfit export model.safetensors --to onnx -o model.onnx\n  loopfit export model.safetensors --to onnx --loop -o model.onnx\n  loopfit export model.safetensors --to html -o model.html"
)]
pub(crate) struct Arguments {
    /// The model file.
    model: PathBuf,
    /// The format. All of them hold the whole model, from named columns to predictions.
    #[arg(long, value_name = "FORMAT", value_parser = named::<Format>())]
    to: Format,
    /// Write a file instead of printing; of C, a header of the same name as well.
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// What names in a C file begin with, `model` by default.
    #[arg(long, value_name = "PREFIX")]
    name: Option<String>,
    /// Add a function for what the model says after iteration t = 1, ..., T.
    #[arg(long)]
    every_iteration: bool,
    /// Repeat one update by the operator Loop of ONNX, instead of writing all iterations out.
    #[arg(long = "loop")]
    loop_operator: bool,
    /// Make the network of the C file one of integers, with weights of this many bits, and tell what that costs.
    #[arg(long, value_name = "BITS", value_parser = named::<Width>())]
    int: Option<Width>,
    /// Rows to choose scales and rounding of integers by, best those that the model was fitted to; otherwise rows are
    /// drawn from what the model knows of them.
    #[arg(long, value_name = "DATA", requires = "int")]
    calibrate: Option<DataName>,
    #[command(flatten)]
    rows: RowsArguments,
    /// Compile the C file with `cc`, or the compiler that CC names, by -std=c99 -Os, and tell how many bytes that gives.
    #[arg(long)]
    size: bool,
}

pub(crate) fn run(a: &Arguments, global: &Global) -> Result<Exit> {
    for (given, option, own) in [
        (a.name.is_some(), "--name", Format::C),
        (a.size, "--size", Format::C),
        (a.int.is_some(), "--int", Format::C),
        (a.loop_operator, "--loop", Format::Onnx),
    ] {
        let (format, own_name) = (a.to.name(), own.name());
        ensure!(
            !given || a.to == own,
            usage(format!(
                "{option} is for --to {own_name}, not for --to {format}"
            ))
        );
    }
    if let (None, Some(option)) = (&a.calibrate, a.rows.given()) {
        return Err(usage(format!(
            "{option} says how the rows of --calibrate are read: give both, or leave it out"
        )));
    }
    let model = FittedModel::load(&a.model)?;
    let mut options = Options {
        every_iteration: a.every_iteration,
        loop_operator: a.loop_operator,
        ..Options::default()
    };
    options.prefix = a.name.clone().unwrap_or(options.prefix);
    let (export, loss) = match a.int {
        Some(width) => a.integers(&model, width, &options, global)?,
        None => (export(&model, a.to, &options).map_err(of_usage)?, None),
    };
    let files = match &a.output {
        Some(path) => export.files(path).map_err(of_usage)?,
        None => {
            let shown = global.json || std::io::stdout().is_terminal();
            ensure!(
                !shown || export.body.text().is_some(),
                usage(format!(
                    "--to {} makes a binary file: name it with -o",
                    a.to.name()
                ))
            );
            Vec::new()
        }
    };
    for (path, _) in &files {
        let rows = a.calibrate.as_ref().and_then(DataName::file);
        let read: Vec<&Path> = [a.model.as_path()].into_iter().chain(rows).collect();
        output::check_writable(path, &read)?;
    }
    let without = loss.is_some().then(|| options.prefix.to_ascii_uppercase());
    let compiled = a.size.then(|| Compiled::new(&export, without.as_deref()));
    let compiled = compiled.transpose()?;
    for (path, content) in &files {
        output::write_file(path, content)?;
    }
    let paths: Vec<&Path> = files.iter().map(|(path, _)| path.as_path()).collect();
    tell(a, &export, loss.as_ref(), &paths, compiled.as_ref(), global)
}

impl Arguments {
    /// The network in integers, by rows of DATA if there are some.
    fn integers(
        &self,
        model: &FittedModel,
        width: Width,
        options: &Options,
        global: &Global,
    ) -> Result<(Export, Option<Loss>)> {
        let rows = self.calibrate.as_ref();
        let rows = rows.map(|data| self.rows.table(data, model, &[]));
        let rows = rows.transpose()?;
        let table = rows.as_ref().map(|rows| &rows.table);
        let found = super::on_threads(global, || export_integers(model, width, table, options))?;
        let found = found.map_err(of_usage)?;
        Ok((found.export, Some(found.loss)))
    }
}

/// What was asked for and cannot be, whatever the model.
fn of_usage(error: ExportError) -> anyhow::Error {
    match error {
        ExportError::Prefix(_) => usage(format!("{error} (--name)")),
        ExportError::Extension { .. } | ExportError::FileName { .. } => {
            usage(format!("{error} (-o)"))
        }
        ExportError::LastIterationOnly => usage(format!("{error} (--to)")),
        other => other.into(),
    }
}

fn tell(
    a: &Arguments,
    export: &Export,
    loss: Option<&Loss>,
    files: &[&Path],
    compiled: Option<&Compiled>,
    global: &Global,
) -> Result<Exit> {
    let sizes = export.sizes;
    let single = export.single();
    if global.json {
        let renamed = export.renamed.iter();
        let renamed: Vec<Value> = renamed
            .map(|(column, identifier)| json!({"column": column, "identifier": identifier}))
            .collect();
        let names: Vec<String> = files
            .iter()
            .map(|path| path.display().to_string())
            .collect();
        output::print_json(&object!({
            "model": a.model.display().to_string(), "format": export.format.name(),
            "files": names, "text": if files.is_empty() { single.text() } else { None },
            "sizes": {
                "tables": sizes.tables, "multiply_adds": sizes.multiply_adds, "stack": sizes.stack,
                "compiled": compiled.map(|c| c.bytes),
            },
            "compiler": compiled.map(|c| &c.command), "renamed": renamed,
            "integers": loss.map(|loss| integers::object(a.int, loss)),
        }))?;
        return Ok(Exit::Done);
    }
    let many = |count: usize, what: &str| match count {
        1 => format!("1 {what}"),
        _ => format!("{count} {what}s"),
    };
    let multiply_adds = many(sizes.multiply_adds, "multiply-add");
    let mut facts = vec![match &single {
        Content::Text(_) => format!(
            "{} of tables, {multiply_adds} for a prediction, whose arrays take {} of stack",
            many(sizes.tables, "byte"),
            many(sizes.stack, "byte")
        ),
        Content::Bytes(bytes) => format!(
            "{}, {multiply_adds} for a prediction",
            many(bytes.len(), "byte")
        ),
    }];
    facts.extend(compiled.map(|c| {
        format!(
            "{} of code and constants ({}; size)",
            many(c.bytes, "byte"),
            c.command
        )
    }));
    facts.extend(loss.map(|loss| integers::sentence(a.int, loss)));
    match files {
        // The content is what was asked for; the rest is talk.
        [] => match &single {
            Content::Text(text) => output::print(text)?,
            Content::Bytes(bytes) => output::print_bytes(bytes)?,
        },
        _ => output::print(&facts.join("\n"))?,
    }
    if !global.quiet {
        if files.is_empty() {
            facts.iter().for_each(|fact| output::say(fact));
        }
        for (column, identifier) in &export.renamed {
            output::say(&format!(
                "the column `{column}` is called {identifier} in the file"
            ));
        }
    }
    files.iter().for_each(|path| output::wrote(path, global));
    Ok(Exit::Done)
}
