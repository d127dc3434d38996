//! The binary. All of it is in the library, which the smallest build optimises for size while this file's level is that of linking.

#![forbid(unsafe_code)]

fn main() -> std::process::ExitCode {
    loopfit_cli::main()
}
