//! File descriptors: how many the process may have is raised as far as it goes, and what clients may take of them is
//! kept below that, so that operators, the worker and servers can be reached however many clients there are.

use crate::config::Limits;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// For operators (64 at once), the worker, the store, standard streams and the runtime's own.
const RESERVE: usize = 128;
/// More than anybody has; some systems do not take what they tell as the most.
const MOST: u64 = 1 << 20;

/// Raises the soft limit to the hard one, and says what it is then; `None` for no limit.
pub(super) fn raise() -> Option<usize> {
    let limit = getrlimit(Resource::Nofile);
    let current = limit.current?;
    let wanted = limit.maximum.unwrap_or(MOST).min(MOST).max(current);
    let raised = Rlimit {
        current: Some(wanted),
        maximum: limit.maximum,
    };
    let reached = match setrlimit(Resource::Nofile, raised) {
        Ok(()) => wanted,
        Err(error) => {
            tracing::warn!(%error, current, "the limit of open files cannot be raised");
            current
        }
    };
    Some(usize::try_from(reached).unwrap_or(usize::MAX))
}

/// Lowers what would need more file descriptors than there are: one for each connection of a client, one for each
/// WebSocket, and one to a server for each request, whole or streamed.
pub(super) fn fit(limits: &mut Limits, files: usize) {
    let free = files.saturating_sub(RESERVE).max(files / 2);
    let lower = |limit: &mut usize, most: usize, name: &str| {
        let most = most.max(1);
        if *limit > most {
            tracing::warn!(
                limit = name,
                from = *limit,
                to = most,
                files,
                "the limit is lowered: the process may not open more files (ulimit -n)"
            );
            *limit = most;
        }
    };
    lower(&mut limits.concurrency, free / 6, "limits.concurrency");
    let for_requests = limits.concurrency.saturating_mul(3);
    let most = free.saturating_sub(for_requests);
    lower(&mut limits.connections, most, "limits.connections");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fitted(files: usize) -> (usize, usize) {
        let mut limits = Limits::default();
        fit(&mut limits, files);
        (limits.connections, limits.concurrency)
    }

    #[test]
    fn with_enough_files_nothing_is_lowered() {
        let limits = Limits::default();
        assert_eq!(fitted(1 << 20), (limits.connections, limits.concurrency));
        assert_eq!(fitted(24_000), (limits.connections, limits.concurrency));
    }

    #[test]
    fn all_that_may_be_open_at_once_fits_beside_the_reserve() {
        for files in [16, 64, 256, 1024, 4096, 10_000, 20_000] {
            let (connections, requests) = fitted(files);
            let open = connections + 3 * requests;
            assert!(
                open <= files - files.min(2 * RESERVE) / 2,
                "{files}: {open}"
            );
            assert!(connections >= requests && requests >= 1, "{files}");
        }
    }
}
