//! A progress bar on a terminal, with the time left and the best error so far; silence elsewhere.

use crate::effort::about;
use crate::interrupt;
use indicatif::{ProgressBar, ProgressStyle};
use loopfit_report::number::{Exponent, integer, value};
use loopfit_study::progress::Progress;
use loopfit_study::{Store, status};
use std::io::IsTerminal;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// Time between lines where there is no terminal for a bar.
const LINES: Duration = Duration::from_secs(60);
/// What matters most comes first in the message; what does not fit is left out.
const TEMPLATE: &str = "{bar:14} {percent:>3}%  {wide_msg}";
/// Columns before the message.
const BEFORE: usize = 14 + 1 + 4 + 2;
/// The part of the work, and the seconds, after which the time left can be told.
const TELLING: (f64, f64) = (0.02, 1.0);

/// The bar on the terminal.
static SHOWN: Mutex<Option<ProgressBar>> = Mutex::new(None);

/// Writes something without running into the bar.
pub(crate) fn aside(write: impl FnOnce()) {
    match &*SHOWN.lock().unwrap_or_else(PoisonError::into_inner) {
        Some(bar) => bar.suspend(write),
        None => write(),
    }
}

/// A bar that follows a fit.
pub(crate) struct Bar {
    quiet: bool,
    /// From the first time that there is something to show.
    shown: OnceLock<(ProgressBar, Instant)>,
    /// What the best error so far is called.
    error: OnceLock<&'static str>,
}

impl Bar {
    const WHOLE: f64 = 1e6;

    /// A bar, if there is someone to see it.
    pub(crate) fn new(quiet: bool) -> Self {
        Self {
            quiet,
            shown: OnceLock::new(),
            error: OnceLock::new(),
        }
    }

    /// Says what the best error so far is called.
    pub(crate) fn call_errors(&self, name: &'static str) {
        let _ = self.error.set(name);
    }

    /// Shows how far the work is, and asks it to stop after Ctrl-C.
    pub(crate) fn follow(&self, now: loopfit::Progress) -> ControlFlow<()> {
        let (bar, begin) = self.shown.get_or_init(|| {
            let bar = bar(Self::WHOLE as u64, self.quiet);
            if !bar.is_hidden() {
                shown(Some(bar.clone()));
            }
            (bar, Instant::now())
        });
        if !bar.is_hidden() {
            let elapsed = begin.elapsed().as_secs_f64();
            let best = self.error.get().zip(now.best);
            let best = best.map(|(name, v)| format!("best {name} {}", value(v, 4, Exponent::Own)));
            let speed = now.updates.filter(|updates| *updates > 0);
            let speed = speed.map(|updates| {
                let speed = updates as f64 / elapsed.max(1e-3);
                format!("{} updates/s", integer(speed as u64))
            });
            let parts = [left(now.done, elapsed), best, speed];
            let parts: Vec<String> = parts.into_iter().flatten().collect();
            bar.set_position((now.done * Self::WHOLE) as u64);
            bar.set_message(fitting(&parts, room()));
        }
        match interrupt::was_interrupted() {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    }

    /// Runs the work that it follows, and goes away.
    pub(crate) fn beside<T, E>(&self, work: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
        let result = interrupt::searching(|_| work());
        if let Some((bar, _)) = self.shown.get() {
            bar.finish_and_clear();
            shown(None);
        }
        result
    }
}

fn shown(bar: Option<ProgressBar>) {
    *SHOWN.lock().unwrap_or_else(PoisonError::into_inner) = bar;
}

/// A bar where there is someone to see it.
fn bar(length: u64, quiet: bool) -> ProgressBar {
    if quiet || !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new(length);
    if let Ok(style) = ProgressStyle::with_template(TEMPLATE) {
        bar.set_style(style);
    }
    bar
}

/// The time left when a part of the work took so many seconds; nothing before that can be told.
fn left(part: f64, elapsed: f64) -> Option<String> {
    let telling = part >= TELLING.0 && elapsed >= TELLING.1;
    let seconds = elapsed / part - elapsed;
    let about = about(seconds.max(0.0));
    telling.then(|| format!("{} left", about.trim_start_matches("about ")))
}

/// Runs the fits of a study beside a bar: fits done and to do, speed, time left and what the
/// methods have reached so far.
pub(crate) fn with_counts<T>(
    study: &str,
    counts: &Progress,
    store: &Store,
    quiet: bool,
    work: impl FnOnce() -> T,
) -> T {
    if quiet {
        return work();
    }
    let terminal = std::io::stderr().is_terminal();
    let bar = bar(0, quiet);
    let (begin, before) = (Instant::now(), counts.counts());
    let mut so_far = (Instant::now(), Vec::new());
    // A log gets a line now and then.
    let mut last_line = Instant::now();
    let show = |bar: &ProgressBar| {
        let now = counts.counts();
        let elapsed = begin.elapsed().as_secs_f64();
        if so_far.0.elapsed() > Duration::from_secs(5) {
            so_far = (Instant::now(), reached(store, study));
        }
        let speed = (now.updates - before.updates) as f64 / elapsed.max(1e-3);
        let left = now.seconds_left(elapsed);
        let mut parts = vec![format!(
            "{study}: {} of {} fits",
            integer(now.fits),
            integer(now.total)
        )];
        parts.extend(left.map(|s| format!("{} left", about(s))));
        parts.push(format!("{} updates/s", integer(speed as u64)));
        parts.extend(so_far.1.iter().cloned());
        bar.set_length(now.total_updates);
        bar.set_position(now.updates + now.found_updates);
        if !terminal && last_line.elapsed() > LINES {
            crate::output::say(&parts.join(", "));
            last_line = Instant::now();
        }
        bar.set_message(fitting(&parts, room()));
    };
    watched(&bar, show, work)
}

/// The last finished case: means of its methods so far.
fn reached(store: &Store, study: &str) -> Vec<String> {
    let states = status::status(store).unwrap_or_default();
    let state = states.into_iter().find(|s| s.name == study);
    let Some(point) = state.and_then(|s| s.results.points.last().cloned()) else {
        return Vec::new();
    };
    let case = &point.case.name;
    let methods = point.methods().enumerate().map(|(i, (method, entry))| {
        let before = if i == 0 {
            format!("{case}: ")
        } else {
            String::new()
        };
        format!("{before}{method} {}", value(entry.mean(), 3, Exponent::Own))
    });
    methods.collect()
}

/// Columns of the terminal for a message.
fn room() -> usize {
    let columns = usize::from(console::Term::stderr().size().1);
    columns.saturating_sub(BEFORE)
}

/// As many parts as there is room for, whole: half a number would be another number.
fn fitting(parts: &[String], room: usize) -> String {
    let mut text = String::new();
    for part in parts {
        let comma = if text.is_empty() { "" } else { ", " };
        if text.chars().count() + comma.len() + part.chars().count() > room {
            break;
        }
        text += comma;
        text += part;
    }
    text
}

/// Runs `work` while another thread shows how far it is.
fn watched<T>(
    bar: &ProgressBar,
    mut show: impl FnMut(&ProgressBar) + Send,
    work: impl FnOnce() -> T,
) -> T {
    shown(Some(bar.clone()));
    let done = AtomicBool::new(false);
    let result = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                show(bar);
                std::thread::sleep(Duration::from_millis(100));
            }
            bar.finish_and_clear();
        });
        let result = work();
        done.store(true, Ordering::Relaxed);
        result
    });
    shown(None);
    result
}

#[cfg(test)]
mod tests {
    use super::{fitting, left};

    #[test]
    fn a_message_is_cut_between_its_parts() {
        let parts = ["30 s left", "best MSE 0.0123", "12,345 updates/s"].map(String::from);
        assert_eq!(fitting(&parts, 80), parts.join(", "));
        assert_eq!(fitting(&parts, 43), "30 s left, best MSE 0.0123");
        assert_eq!(fitting(&parts, 25), "30 s left");
        assert_eq!(fitting(&parts, 5), "");
    }

    #[test]
    fn the_time_left_is_told_once_it_can_be() {
        assert_eq!(left(0.0, 0.0), None);
        assert_eq!(left(0.5, 0.2), None);
        assert_eq!(left(0.01, 20.0), None);
        assert_eq!(left(0.25, 10.0).unwrap(), "30 s left");
        assert_eq!(left(1.5, 10.0).unwrap(), "less than a second left");
    }
}
