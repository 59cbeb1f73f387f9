//! The binary: flags to a running process; the only exit codes.

use isogloss::cli::{self, Failure};
use std::process::ExitCode;

/// `EX_USAGE` and `EX_CONFIG` of sysexits.h; a unit file can stop restarting on them.
const USAGE: u8 = 64;
const CONFIG: u8 = 78;

/// musl's own allocator has one lock for all threads.
#[cfg(target_env = "musl")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    match cli::run(std::env::args_os()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            let text = failure.to_string();
            if !text.is_empty() {
                eprintln!("{}", text.trim_end());
            }
            ExitCode::from(match failure {
                Failure::Runtime(_) => 1,
                Failure::Usage(_) => USAGE,
                Failure::Config(_) => CONFIG,
            })
        }
    }
}
