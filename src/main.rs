//! The binary: flags to a running process; the only exit codes.

use isogloss::cli::{self, Failure};
use std::io::Write as _;
use std::process::ExitCode;

/// `EX_USAGE` and `EX_CONFIG` of sysexits.h; a unit file can stop restarting on them.
const USAGE: u8 = 64;
const CONFIG: u8 = 78;

/// Translating is many small allocations: a fifth of a request's time with glibc's allocator, which also keeps what was
/// free after a peak; and musl's has one lock for all threads.
#[cfg(all(unix, feature = "jemalloc"))]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    match cli::run(std::env::args_os()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            let text = cli::drawn(&failure.to_string()).into_owned();
            if !text.is_empty() {
                // Nobody may read it.
                let _unread = writeln!(std::io::stderr(), "{}", text.trim_end());
            }
            ExitCode::from(match failure {
                Failure::Runtime(_) => 1,
                Failure::Usage(_) => USAGE,
                Failure::Config(_) => CONFIG,
            })
        }
    }
}
