//! A progress bar on a terminal, with the time left; silence elsewhere.

use indicatif::{ProgressBar, ProgressStyle};
use loopfit_engine::Control;
use std::io::IsTerminal;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

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
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                bar.set_position(control.updates());
                std::thread::sleep(Duration::from_millis(100));
            }
            bar.finish_and_clear();
        });
        let result = work();
        done.store(true, Ordering::Relaxed);
        result
    })
}
