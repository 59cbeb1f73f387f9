//! The tables, and all that is asked of them.

use super::{Owner, StoreError};
use crate::config::{ResponsesConfig, StorePlace};
use isogloss_core::dialect::keeper::Kept;
use rusqlite::{Connection, OptionalExtension, Transaction, params};
use std::time::Duration;

/// "iglo", in the file's head.
const APPLICATION: i32 = 0x6967_6c6f;
const VERSION: i32 = 1;
/// Another process may be writing.
const BUSY: Duration = Duration::from_secs(5);
/// Longer conversations are none that a request could hold.
const MAX_CHAIN: usize = 100_000;

/// `used` of a reply is never before that of one that goes on from it, so that the beginning of a conversation is not
/// the first to go; `depth` decides where they are the same.
const TABLES: &str = "
CREATE TABLE responses (
    owner BLOB NOT NULL, id TEXT NOT NULL, previous TEXT, depth INTEGER NOT NULL, used INTEGER NOT NULL,
    bytes INTEGER NOT NULL, input BLOB NOT NULL, reply BLOB NOT NULL, UNIQUE (owner, id));
CREATE INDEX responses_used ON responses (used, depth DESC);
CREATE TABLE totals (entries INTEGER NOT NULL, bytes INTEGER NOT NULL);
INSERT INTO totals VALUES (0, 0);
CREATE TRIGGER came AFTER INSERT ON responses BEGIN
    UPDATE totals SET entries = entries + 1, bytes = bytes + new.bytes; END;
CREATE TRIGGER went AFTER DELETE ON responses BEGIN
    UPDATE totals SET entries = entries - 1, bytes = bytes - old.bytes; END;
CREATE TABLE salt (value BLOB NOT NULL);
";

/// A reply, as it is written.
pub(super) struct Row {
    pub(super) owner: Owner,
    pub(super) id: String,
    pub(super) previous: Option<String>,
    pub(super) kept: Kept,
}

/// How many bytes are kept at most where nobody asked for a store.
const MOST_UNASKED: usize = 32 << 20;

/// The database.
pub(super) struct Database {
    connection: Connection,
    limits: ResponsesConfig,
}

impl Database {
    pub(super) fn open(place: &StorePlace, limits: &ResponsesConfig) -> Result<Self, StoreError> {
        let connection = match place {
            StorePlace::Auto | StorePlace::Nowhere | StorePlace::Memory => {
                Connection::open_in_memory()?
            }
            StorePlace::File(path) => {
                private(path)?;
                Connection::open(path)?
            }
        };
        connection.busy_timeout(BUSY)?;
        // Before there is any table, or it has no effect.
        connection.pragma_update(None, "auto_vacuum", "INCREMENTAL")?;
        // What was told is not lost with the process; with the machine, the last moments may be.
        connection.pragma_update(None, "journal_mode", "WAL")?;
        connection.pragma_update(None, "synchronous", "NORMAL")?;
        connection.pragma_update(None, "secure_delete", "ON")?;
        let mut limits = limits.clone();
        if *place == StorePlace::Auto {
            limits.bytes = limits.bytes.min(MOST_UNASKED);
        }
        let mut database = Self { connection, limits };
        database.prepare()?;
        Ok(database)
    }

    fn prepare(&mut self) -> Result<(), StoreError> {
        let text = |name| {
            let get = |row: &rusqlite::Row<'_>| row.get::<_, i32>(0);
            self.connection.pragma_query_value(None, name, get)
        };
        match (text("application_id")?, text("user_version")?) {
            (APPLICATION, VERSION) => return Ok(()),
            (0, 0) => {}
            _ => return Err(StoreError::NotOurs),
        }
        let change = self.connection.transaction()?;
        let count = "SELECT count(*) FROM sqlite_schema";
        if change.query_row(count, [], |row| row.get::<_, i64>(0))? > 0 {
            return Err(StoreError::NotOurs);
        }
        change.execute_batch(TABLES)?;
        change.execute("INSERT INTO salt VALUES (randomblob(32))", [])?;
        change.pragma_update(None, "application_id", APPLICATION)?;
        change.pragma_update(None, "user_version", VERSION)?;
        Ok(change.commit()?)
    }

    pub(super) fn salt(&self) -> Result<Vec<u8>, StoreError> {
        let salt = "SELECT value FROM salt";
        Ok(self.connection.query_row(salt, [], |row| row.get(0))?)
    }

    pub(super) fn keep(&mut self, row: &Row, now: u64) -> Result<(), StoreError> {
        let Row {
            owner,
            id,
            previous,
            kept,
        } = row;
        let bytes = kept.input.len() + kept.reply.len();
        let limits = self.limits.clone();
        if bytes > limits.bytes {
            return Err(StoreError::TooLarge);
        }
        let change = self.connection.transaction()?;
        let depth = match previous {
            None => 0,
            Some(previous) => touch(&change, *owner, previous, now)?,
        };
        let insert = "INSERT OR IGNORE INTO responses (owner, id, previous, depth, used, bytes, input, reply)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";
        change.prepare(insert)?.execute(params![
            owner.0,
            id,
            previous,
            depth,
            seconds(now),
            size(bytes),
            kept.input,
            kept.reply
        ])?;
        shrink(&change, &limits, now)?;
        change.commit()?;
        self.give_back()
    }

    pub(super) fn find(
        &mut self,
        owner: Owner,
        id: &str,
        now: u64,
    ) -> Result<Option<Kept>, StoreError> {
        let find = "SELECT input, reply FROM responses WHERE owner = ?1 AND id = ?2 AND used > ?3";
        let mut find = self.connection.prepare(find)?;
        let found = find.query_row(params![owner.0, id, self.oldest(now)], |row| {
            Ok(Kept {
                input: row.get(0)?,
                reply: row.get(1)?,
            })
        });
        Ok(found.optional()?)
    }

    pub(super) fn chain(
        &mut self,
        owner: Owner,
        id: &str,
        most: usize,
        now: u64,
    ) -> Result<Option<Vec<Kept>>, StoreError> {
        let oldest = self.oldest(now);
        let find = "SELECT input, reply, previous FROM responses WHERE owner = ?1 AND id = ?2 AND used > ?3";
        let mut find = self.connection.prepare(find)?;
        let (mut chain, mut bytes) = (Vec::new(), 0);
        let mut next = Some(id.to_owned());
        while let Some(id) = next.take() {
            let found = find.query_row(params![owner.0, id, oldest], |row| {
                let kept = Kept {
                    input: row.get(0)?,
                    reply: row.get(1)?,
                };
                Ok((kept, row.get::<_, Option<String>>(2)?))
            });
            let Some((kept, previous)) = found.optional()? else {
                return Ok(None);
            };
            bytes += kept.input.len() + kept.reply.len();
            chain.push(kept);
            if bytes > most || chain.len() > MAX_CHAIN {
                return Err(StoreError::TooLong);
            }
            next = previous;
        }
        drop(find);
        // It is in use: its beginning must not go while the reply is on its way.
        let change = self.connection.transaction()?;
        touch(&change, owner, id, now)?;
        change.commit()?;
        chain.reverse();
        Ok(Some(chain))
    }

    pub(super) fn delete(&mut self, owner: Owner, id: &str) -> Result<bool, StoreError> {
        let delete = "DELETE FROM responses WHERE owner = ?1 AND id = ?2";
        let gone = self.connection.execute(delete, params![owner.0, id])?;
        self.give_back()?;
        Ok(gone > 0)
    }

    pub(super) fn sweep(&mut self, now: u64) -> Result<(), StoreError> {
        let limits = self.limits.clone();
        let change = self.connection.transaction()?;
        shrink(&change, &limits, now)?;
        change.commit()?;
        self.give_back()
    }

    /// What was used then, or before, has expired.
    fn oldest(&self, now: u64) -> i64 {
        oldest(&self.limits, now)
    }

    /// Gives free pages back to the file system.
    fn give_back(&mut self) -> Result<(), StoreError> {
        let mut free = self.connection.prepare("PRAGMA incremental_vacuum(64)")?;
        let mut rows = free.query([])?;
        while rows.next()?.is_some() {}
        Ok(())
    }
}

fn oldest(limits: &ResponsesConfig, now: u64) -> i64 {
    seconds(now).saturating_sub(seconds(limits.expiry.as_secs()))
}

/// SQLite's numbers have a sign.
fn seconds(seconds: u64) -> i64 {
    i64::try_from(seconds).unwrap_or(i64::MAX)
}

fn size(bytes: usize) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}

/// Marks a conversation as used now; says how many replies it has.
fn touch(change: &Transaction<'_>, owner: Owner, id: &str, now: u64) -> rusqlite::Result<i64> {
    let touch = "WITH RECURSIVE chain(id, previous) AS (
            SELECT id, previous FROM responses WHERE owner = ?1 AND id = ?2
            UNION SELECT r.id, r.previous FROM responses r JOIN chain c ON r.owner = ?1 AND r.id = c.previous)
        UPDATE responses SET used = max(used, ?3) WHERE owner = ?1 AND id IN (SELECT id FROM chain)";
    let length = change
        .prepare(touch)?
        .execute(params![owner.0, id, seconds(now)])?;
    Ok(size(length))
}

/// Takes out what has expired, and what there is no room for: the longest unused first, of a conversation its end.
fn shrink(change: &Transaction<'_>, limits: &ResponsesConfig, now: u64) -> rusqlite::Result<()> {
    let mut expire = change.prepare("DELETE FROM responses WHERE used <= ?1")?;
    expire.execute([oldest(limits, now)])?;
    let sums = "SELECT entries, bytes FROM totals";
    let (count, bytes) = change
        .prepare(sums)?
        .query_row([], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?)))?;
    let (mut entries_over, mut bytes_over) =
        (count - size(limits.entries), bytes - size(limits.bytes));
    if entries_over <= 0 && bytes_over <= 0 {
        return Ok(());
    }
    let first = "SELECT rowid, bytes FROM responses ORDER BY used, depth DESC";
    let mut first = change.prepare(first)?;
    let mut rows = first.query([])?;
    let mut gone = Vec::new();
    while entries_over > 0 || bytes_over > 0 {
        let Some(row) = rows.next()? else {
            break;
        };
        gone.push(row.get::<_, i64>(0)?);
        entries_over -= 1;
        bytes_over -= row.get::<_, i64>(1)?;
    }
    drop(rows);
    let mut delete = change.prepare("DELETE FROM responses WHERE rowid = ?1")?;
    for row in gone {
        delete.execute([row])?;
    }
    Ok(())
}

/// Makes the file, for nobody else to read: conversations are in it.
#[cfg(unix)]
fn private(path: &std::path::Path) -> std::io::Result<()> {
    use std::os::unix::fs::OpenOptionsExt;
    let mut options = std::fs::OpenOptions::new();
    options.read(true).write(true).create(true).mode(0o600);
    options.open(path).map(drop)
}

#[cfg(not(unix))]
fn private(_path: &std::path::Path) -> std::io::Result<()> {
    Ok(())
}

#[cfg(test)]
#[path = "database_tests.rs"]
mod tests;
