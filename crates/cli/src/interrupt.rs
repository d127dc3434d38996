//! Ctrl-C, SIGTERM and SIGHUP: a running search is asked to stop, a file being written is finished, and
//! anything else ends at once. Nothing half-written is left behind.

use loopfit_engine::Control;
#[cfg(unix)]
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

static SEARCH: OnceLock<Control> = OnceLock::new();
static SEARCHING: AtomicBool = AtomicBool::new(false);
/// Held while a file is written, so that the process cannot end in between.
static WRITING: Mutex<()> = Mutex::new(());
/// When a search was asked to stop.
static ASKED: OnceLock<Instant> = OnceLock::new();

/// Signals that follow the first so soon are the same wish: a key that bounces, or a wrapper that signals the process and
/// its group.
const SAME: Duration = Duration::from_millis(500);

/// The signal that came, as its exit code.
static CODE: AtomicU8 = AtomicU8::new(BY_CTRL_C);
const BY_CTRL_C: u8 = 130;

/// Handles SIGINT and SIGTERM from now on, and SIGHUP, which comes when the terminal is closed, unless `nohup` has it ignored. A file that outgrows its limit (`ulimit -f`) is an error of writing, as on a full disk,
/// where SIGXFSZ would end the process without a word.
pub(crate) fn install() {
    #[cfg(unix)]
    let _ = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, Arc::default());
    // Without a handler a signal still ends the process; only tidiness is lost.
    #[cfg(unix)]
    if let Ok(mut signals) = signal_hook::iterator::Signals::new(handled()) {
        std::thread::spawn(move || {
            for signal in signals.forever() {
                handle(128 + signal as u8);
            }
        });
    }
    #[cfg(not(unix))]
    let _ = ctrlc::set_handler(|| handle(BY_CTRL_C));
}

#[cfg(unix)]
fn handled() -> Vec<i32> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    // Bit n - 1 of the mask stands for signal n; without such a file nobody knows, and SIGHUP stays as it is.
    let ignored = std::fs::read_to_string("/proc/self/status").ok();
    let ignored = ignored.as_deref().and_then(|status| {
        let mask = status.lines().find_map(|l| l.strip_prefix("SigIgn:"))?;
        u64::from_str_radix(mask.trim(), 16).ok()
    });
    let hangup = ignored.is_some_and(|mask| mask >> (SIGHUP - 1) & 1 == 0);
    let signals = [SIGINT, SIGTERM].into_iter();
    signals.chain(hangup.then_some(SIGHUP)).collect()
}

/// 130 after Ctrl-C, 143 after SIGTERM, 129 after SIGHUP.
pub(crate) fn exit_code() -> u8 {
    CODE.load(Ordering::SeqCst)
}

fn handle(code: u8) {
    if ASKED.get().is_some_and(|asked| asked.elapsed() < SAME) {
        return;
    }
    CODE.store(code, Ordering::SeqCst);
    // The second signal does not wait for the search.
    if SEARCHING.load(Ordering::SeqCst) && ASKED.set(Instant::now()).is_ok() {
        control().interrupt();
        crate::output::say(match code {
            BY_CTRL_C => "stopping; press again to quit now",
            _ => "stopping; signal again to quit now",
        });
    } else {
        let _writing = WRITING.lock().unwrap_or_else(PoisonError::into_inner);
        crate::output::say("interrupted");
        std::process::exit(i32::from(code));
    }
}

/// The control that Ctrl-C reaches.
pub(crate) fn control() -> &'static Control {
    SEARCH.get_or_init(Control::default)
}

/// Runs a search that stops at Ctrl-C, at whatever point that comes. What it gives back when
/// it was stopped is the best so far, and [`was_interrupted`] tells.
pub(crate) fn searching<T, E>(work: impl FnOnce(&Control) -> Result<T, E>) -> Result<T, E> {
    SEARCHING.store(true, Ordering::SeqCst);
    let result = work(control());
    SEARCHING.store(false, Ordering::SeqCst);
    result
}

/// Whether Ctrl-C stopped a search.
pub(crate) fn was_interrupted() -> bool {
    control().is_interrupted()
}

/// Runs something that must not be cut short.
pub(crate) fn writing<T>(work: impl FnOnce() -> T) -> T {
    let _writing = WRITING.lock().unwrap_or_else(PoisonError::into_inner);
    work()
}
