//! A progress bar on a terminal, with the time left; silence elsewhere.

use indicatif::{ProgressBar, ProgressStyle};
use loopfit_engine::Control;
use loopfit_report::number::{Exponent, integer, value};
use loopfit_study::progress::Progress;
use loopfit_study::{Store, status};
use std::io::IsTerminal;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Time between lines where there is no terminal for a bar.
const LINES: Duration = Duration::from_secs(60);

/// Runs `work` beside a bar that follows the updates made.
pub(crate) fn with_bar<T>(
    total_updates: u64,
    quiet: bool,
    control: &Control,
    work: impl FnOnce() -> T,
) -> T {
    if quiet || !std::io::stderr().is_terminal() {
        return work();
    }
    let bar = ProgressBar::new(total_updates);
    if let Ok(style) = ProgressStyle::with_template(
        "{bar:40} {percent:>3}%  {human_pos} of {human_len} updates, {per_sec}, {eta} left",
    ) {
        bar.set_style(style);
    }
    watched(&bar, |bar| bar.set_position(control.updates()), work)
}

/// Runs `work` beside a bar that follows which part of it is done, as `work` tells.
pub(crate) fn with_percent<T>(quiet: bool, work: impl FnOnce(&(dyn Fn(f64) + Sync)) -> T) -> T {
    const WHOLE: f64 = 1e6;
    let done = AtomicU64::new(0);
    let advance = |part: f64| {
        done.fetch_add((part * WHOLE) as u64, Ordering::Relaxed);
    };
    if quiet || !std::io::stderr().is_terminal() {
        return work(&advance);
    }
    let bar = ProgressBar::new(WHOLE as u64);
    if let Ok(style) = ProgressStyle::with_template("{bar:40} {percent:>3}%  {elapsed} so far") {
        bar.set_style(style);
    }
    let show = |bar: &ProgressBar| bar.set_position(done.load(Ordering::Relaxed));
    watched(&bar, show, || work(&advance))
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
    let bar = if terminal {
        ProgressBar::new(0)
    } else {
        ProgressBar::hidden()
    };
    if let Ok(style) = ProgressStyle::with_template("{bar:30} {percent:>3}%  {msg}") {
        bar.set_style(style);
    }
    let (begin, before) = (Instant::now(), counts.counts());
    let mut so_far = (Instant::now(), String::new());
    // A log gets a line now and then.
    let mut last_line = Instant::now();
    let show = |bar: &ProgressBar| {
        let now = counts.counts();
        let elapsed = begin.elapsed().as_secs_f64();
        if so_far.0.elapsed() > Duration::from_secs(5) {
            so_far = (Instant::now(), reached(store, study));
        }
        let speed = (now.updates - before.updates) as f64 / elapsed.max(1e-3);
        let left = now.seconds_left(elapsed).map_or(String::new(), |s| {
            format!(", {} left", crate::effort::about(s))
        });
        bar.set_length(now.total_updates);
        bar.set_position(now.updates + now.found_updates);
        let message = format!(
            "{study}: {} of {} fits, {} updates/s{left}{}",
            integer(now.fits),
            integer(now.total),
            integer(speed as u64),
            so_far.1
        );
        if !terminal && last_line.elapsed() > LINES {
            crate::output::say(&message);
            last_line = Instant::now();
        }
        bar.set_message(message);
    };
    watched(&bar, show, work)
}

/// The last finished case: means of its methods so far.
fn reached(store: &Store, study: &str) -> String {
    let states = status::status(store).unwrap_or_default();
    let state = states.into_iter().find(|s| s.name == study);
    let Some(point) = state.and_then(|s| s.results.points.last().cloned()) else {
        return String::new();
    };
    let methods = point
        .methods()
        .map(|(method, entry)| format!("{method} {}", value(entry.mean(), 3, Exponent::Own)));
    let methods: Vec<String> = methods.collect();
    format!("; {}: {}", point.case.name, methods.join(", "))
}

/// Runs `work` while another thread shows how far it is.
fn watched<T>(
    bar: &ProgressBar,
    mut show: impl FnMut(&ProgressBar) + Send,
    work: impl FnOnce() -> T,
) -> T {
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
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
    })
}
