//! Exit codes, the same for every command.

use crate::output;
use loopfit_search::SearchError;
use std::io;
use std::process::ExitCode;

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// 0: done.
    Done,
    /// 3: a file, its content or what was asked of it cannot be used.
    BadInput,
    /// 4: done, but a method had no fit with a finite validation loss.
    FitsFailed,
    /// 130: interrupted.
    Interrupted,
}

impl Exit {
    /// Prints an error as one sentence and says how the process ends. Wrong usage (2) never
    /// comes here: the argument parser handles it.
    pub(crate) fn of_error(error: &anyhow::Error) -> Self {
        if let Some(SearchError::Interrupted) = error.downcast_ref() {
            output::say("interrupted: nothing was written");
            return Self::Interrupted;
        }
        // A reader that closes the pipe has what it wanted.
        if error
            .downcast_ref::<io::Error>()
            .is_some_and(|e| e.kind() == io::ErrorKind::BrokenPipe)
        {
            return Self::Done;
        }
        output::say(&format!("error: {error:#}"));
        Self::BadInput
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(match exit {
            Exit::Done => 0,
            Exit::BadInput => 3,
            Exit::FitsFailed => 4,
            Exit::Interrupted => 130,
        })
    }
}
