//! The private folder that the worker's socket lies in: made, removed again, and swept of what
//! proxies left behind that were killed.

use isogloss_compile::at_work;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

const PREFIX: &str = "isogloss-worker";
const SOCKET: &str = "worker.sock";
/// What `sockaddr_un` holds on every system, with its final zero.
const MAX_SOCKET_BYTES: usize = 104;
const TRIES: usize = 8;

/// A folder that nobody else can enter; removed when dropped.
#[derive(Debug)]
pub(super) struct Folder(PathBuf);

impl Folder {
    /// A new folder below the system's folder for temporary files.
    pub(super) fn new() -> io::Result<Self> {
        Self::below(&std::env::temp_dir())
    }

    fn below(parent: &Path) -> io::Result<Self> {
        let own = std::process::id();
        let born = birth(own).unwrap_or_default();
        for _ in 0..TRIES {
            let random = getrandom::u64()?;
            let path = parent.join(format!("{PREFIX}-{own}-{born}-{random:016x}"));
            if path.join(SOCKET).as_os_str().len() >= MAX_SOCKET_BYTES {
                let message = format!(
                    "the path of a socket in {} would be too long: set TMPDIR to a shorter one",
                    parent.display()
                );
                return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
            }
            match DirBuilder::new().mode(0o700).create(&path) {
                Ok(()) => {
                    let folder = Self(path);
                    folder.sweep(parent);
                    return Ok(folder);
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => {
                    let message = format!(
                        "the folder {} for the worker's socket cannot be made: {error}",
                        path.display()
                    );
                    return Err(io::Error::new(error.kind(), message));
                }
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }

    /// Where the worker listens.
    pub(super) fn socket(&self) -> PathBuf {
        self.0.join(SOCKET)
    }

    /// Takes what a worker that is gone left behind out of the next one's way.
    pub(super) fn clear(&self) {
        let _absent = fs::remove_file(self.socket());
        if let Err(error) = at_work::create(&at_work::beside(&self.socket())) {
            tracing::warn!(%error, "what the worker dies of will not be known");
        }
    }

    /// The constraints that a worker was at work on when it died.
    pub(super) fn at_work(&self) -> Vec<u64> {
        at_work::left(&at_work::beside(&self.socket()))
    }

    /// Removes the folders of our own user's proxies that are gone. What cannot be judged stays.
    fn sweep(&self, parent: &Path) {
        let own = fs::symlink_metadata(&self.0).map(|own| own.uid());
        let (Ok(own), Ok(entries)) = (own, fs::read_dir(parent)) else {
            return;
        };
        for entry in entries.flatten() {
            let name = entry.file_name();
            let is_left = name.to_str().is_some_and(is_of_a_dead_process);
            let path = entry.path();
            let is_ours = || {
                // Of the entry itself: a link to somewhere else is no folder.
                let found = fs::symlink_metadata(&path);
                found.is_ok_and(|found| found.is_dir() && found.uid() == own)
            };
            // Processes of another container are not seen, but their sockets answer.
            if is_left && is_ours() && UnixStream::connect(path.join(SOCKET)).is_err() {
                remove(&path);
            }
        }
    }

    /// Removes it, where it is not removed yet.
    pub(super) fn remove(&self) {
        remove(&self.0);
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        self.remove();
    }
}

/// Nothing but the socket and the worker's notes is ever in it; a folder that has more is left alone.
fn remove(path: &Path) {
    let socket = path.join(SOCKET);
    let _absent = fs::remove_file(at_work::beside(&socket));
    let _absent = fs::remove_file(socket);
    let _kept = fs::remove_dir(path);
}

/// Whether a folder's name is that of a process which is certainly gone.
fn is_of_a_dead_process(name: &str) -> bool {
    let rest = name.strip_prefix(PREFIX);
    let Some(rest) = rest.and_then(|rest| rest.strip_prefix('-')) else {
        return false;
    };
    let mut parts = rest.split('-');
    let (Some(id), Some(born), Some(_random)) = (parts.next(), parts.next(), parts.next()) else {
        return false;
    };
    let Ok(id) = id.parse::<u32>() else {
        return false;
    };
    // Without /proc, or before it is mounted, nothing is known of anybody.
    let can_tell = birth(std::process::id()).is_some() && !born.is_empty();
    can_tell && birth(id).is_none_or(|now| now != born)
}

/// When a process began, in ticks since the machine did: its number alone is used again.
fn birth(id: u32) -> Option<String> {
    let text = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    // proc(5): the name in parentheses may hold anything; the start is the 20th field behind it.
    let (_, fields) = text.rsplit_once(')')?;
    fields.split_whitespace().nth(19).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test may panic")]
    use super::*;
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::net::UnixListener;

    #[test]
    fn nobody_else_can_enter_and_dropping_removes_it() {
        let parent = tempfile::tempdir().unwrap();
        let folder = Folder::below(parent.path()).unwrap();
        let mode = fs::metadata(&folder.0).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
        let _listener = UnixListener::bind(folder.socket()).unwrap();
        folder.clear();
        let _second = UnixListener::bind(folder.socket()).unwrap();
        drop(folder);
        assert_eq!(fs::read_dir(parent.path()).unwrap().count(), 0);
    }

    #[test]
    fn what_a_killed_proxy_left_is_swept_and_nothing_else() {
        let Some(born) = birth(std::process::id()) else {
            return println!("skipped: there is no /proc");
        };
        let parent = tempfile::tempdir().unwrap();
        let id = std::process::id();
        let dead = format!("{PREFIX}-{id}-1-aa");
        let kept = [
            format!("{PREFIX}-{id}-{born}-bb"),
            format!("{PREFIX}-{id}"),
            format!("{PREFIX}ish-{id}-1-cc"),
            format!("{PREFIX}-{id}-1-more"),
            format!("{PREFIX}-{id}-1-answers"),
        ];
        for name in kept.iter().chain([&dead]) {
            fs::create_dir(parent.path().join(name)).unwrap();
        }
        fs::write(parent.path().join(&dead).join(SOCKET), "").unwrap();
        fs::write(parent.path().join(&kept[3]).join("more"), "").unwrap();
        let _alive = UnixListener::bind(parent.path().join(&kept[4]).join(SOCKET)).unwrap();
        let folder = Folder::below(parent.path()).unwrap();
        for name in &kept {
            assert!(parent.path().join(name).exists(), "{name}");
        }
        assert!(!parent.path().join(dead).exists());
        assert!(folder.0.exists());
    }

    #[test]
    fn a_path_that_no_socket_can_have_is_refused_with_the_remedy() {
        let parent = tempfile::tempdir().unwrap();
        let long = parent.path().join("x".repeat(90));
        let error = Folder::below(&long).unwrap_err();
        assert!(error.to_string().contains("TMPDIR"), "{error}");
    }
}
