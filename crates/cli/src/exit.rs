//! Exit codes, the same for every command.

use crate::{hints, interrupt, output};
use loopfit_search::SearchError;
use loopfit_study::StudyError;
use std::io;
use std::process::ExitCode;

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// 0: done.
    Done,
    /// 1: what was checked is not as it should be.
    CheckFailed,
    /// 2: the command line asks for something that does not exist.
    WrongUsage,
    /// 3: a file, its content or what was asked of it cannot be used.
    BadInput,
    /// 4: done, but a method had no fit with a finite validation loss.
    FitsFailed,
    /// 130 after Ctrl-C, 143 after SIGTERM, 129 after SIGHUP.
    Interrupted,
}

/// Options that contradict each other, beyond what the argument parser sees.
#[derive(Debug)]
struct Usage(String);

impl std::fmt::Display for Usage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Usage {}

/// An error of usage.
pub(crate) fn usage(sentence: String) -> anyhow::Error {
    Usage(sentence).into()
}

impl Exit {
    /// Prints an error as one sentence and says how the process ends.
    pub(crate) fn of_error(error: &anyhow::Error) -> Self {
        if let Some(SearchError::Interrupted) = error.downcast_ref() {
            if interrupt::was_interrupted() {
                output::say("interrupted before there was a result: nothing was written");
                return Self::Interrupted;
            }
            output::say(
                "error: the time was over before there was a result: give more with --time",
            );
            return Self::BadInput;
        }
        // A reader that closes the pipe has what it wanted.
        if error
            .downcast_ref::<io::Error>()
            .is_some_and(|e| e.kind() == io::ErrorKind::BrokenPipe)
        {
            return Self::Done;
        }
        output::say(&format!("error: {}", hints::sentence(error)));
        let unknown = matches!(error.downcast_ref(), Some(StudyError::Unknown { .. }));
        if error.is::<Usage>() || unknown {
            Self::WrongUsage
        } else {
            Self::BadInput
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(match exit {
            Exit::Done => 0,
            Exit::CheckFailed => 1,
            Exit::WrongUsage => 2,
            Exit::BadInput => 3,
            Exit::FitsFailed => 4,
            Exit::Interrupted => interrupt::exit_code(),
        })
    }
}
