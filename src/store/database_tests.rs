#![expect(clippy::unwrap_used, reason = "tests")]

use super::*;

const DAY: u64 = 24 * 3600;
const ME: Owner = Owner([1; 32]);
const YOU: Owner = Owner([2; 32]);

fn limits(entries: usize, bytes: usize) -> ResponsesConfig {
    ResponsesConfig {
        entries,
        bytes,
        ..ResponsesConfig::default()
    }
}

fn memory(limits: &ResponsesConfig) -> Database {
    Database::open(&StorePlace::Memory, limits).unwrap()
}

fn row(id: &str, previous: Option<&str>) -> Row {
    Row {
        owner: ME,
        id: id.to_owned(),
        previous: previous.map(str::to_owned),
        kept: Kept {
            input: format!("[\"{id}\"]").into_bytes(),
            reply: vec![b'x'; 95],
        },
    }
}

fn inputs(chain: Option<Vec<Kept>>) -> Option<Vec<String>> {
    let input = |kept: Kept| String::from_utf8(kept.input).unwrap();
    chain.map(|chain| chain.into_iter().map(input).collect())
}

#[test]
fn what_is_kept_is_found_by_its_owner_alone_until_it_is_deleted() {
    let mut database = memory(&ResponsesConfig::default());
    database.keep(&row("a", None), 1).unwrap();
    assert_eq!(
        database.find(ME, "a", 2).unwrap().unwrap(),
        row("a", None).kept
    );
    assert_eq!(database.find(YOU, "a", 2).unwrap(), None);
    assert_eq!(database.chain(YOU, "a", 1000, 2).unwrap(), None);
    assert!(!database.delete(YOU, "a").unwrap());
    assert!(database.delete(ME, "a").unwrap());
    assert!(!database.delete(ME, "a").unwrap());
    assert_eq!(database.find(ME, "a", 2).unwrap(), None);
}

#[test]
fn a_conversation_is_found_from_its_beginning_on_or_not_at_all() {
    let mut database = memory(&ResponsesConfig::default());
    for (id, previous) in [
        ("a", None),
        ("b", Some("a")),
        ("c", Some("b")),
        ("d", Some("a")),
    ] {
        database.keep(&row(id, previous), 1).unwrap();
    }
    let of = |names: &[&str]| Some(names.iter().map(|name| format!("[\"{name}\"]")).collect());
    let mut chain = |id: &str| inputs(database.chain(ME, id, 10_000, 1).unwrap());
    assert_eq!(chain("c"), of(&["a", "b", "c"]));
    assert_eq!(chain("d"), of(&["a", "d"]));
    assert_eq!(chain("e"), None);
    assert!(matches!(
        database.chain(ME, "c", 200, 1),
        Err(StoreError::TooLong)
    ));
    database.delete(ME, "a").unwrap();
    assert_eq!(database.chain(ME, "c", 10_000, 1).unwrap(), None);
    assert!(database.find(ME, "c", 1).unwrap().is_some());
}

#[test]
fn there_is_never_more_than_the_limits_allow_and_the_longest_unused_goes_first() {
    for limits in [limits(3, 1 << 20), limits(1000, 300)] {
        let mut database = memory(&limits);
        for (now, id) in ["a", "b", "c"].into_iter().enumerate() {
            database.keep(&row(id, None), now as u64).unwrap();
        }
        // It is gone on from, and so younger than `b`.
        database.keep(&row("d", Some("a")), 5).unwrap();
        let mut there = |id: &str| database.find(ME, id, 5).unwrap().is_some();
        assert_eq!(
            ["a", "b", "c", "d"].map(&mut there),
            [true, false, true, true]
        );
        // Of a conversation the end goes first: what is left is whole.
        for id in ["e", "f"] {
            database.keep(&row(id, None), 6).unwrap();
        }
        let mut there = |id: &str| database.find(ME, id, 6).unwrap().is_some();
        assert_eq!(
            ["a", "c", "d", "e", "f"].map(&mut there),
            [true, false, false, true, true]
        );
        let totals = "SELECT entries, bytes FROM totals";
        let sums = "SELECT count(*), sum(bytes) FROM responses";
        let read = |query: &str| {
            let get = |row: &rusqlite::Row<'_>| Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?));
            database.connection.query_row(query, [], get).unwrap()
        };
        assert_eq!(read(totals), read(sums));
        assert_eq!(read(totals), (3, 300));
    }
}

#[test]
fn what_is_larger_than_the_store_is_not_kept_at_its_cost() {
    let mut database = memory(&limits(10, 150));
    database.keep(&row("a", None), 1).unwrap();
    let mut large = row("b", None);
    large.kept.reply = vec![b'x'; 1000];
    assert!(matches!(
        database.keep(&large, 2),
        Err(StoreError::TooLarge)
    ));
    assert!(database.find(ME, "b", 2).unwrap().is_none());
    assert!(database.find(ME, "a", 2).unwrap().is_some());
}

#[test]
fn what_was_not_used_for_long_has_expired_and_is_gone() {
    let mut database = memory(&ResponsesConfig::default());
    for (id, previous, now) in [("a", None, 0), ("b", None, 0), ("c", Some("a"), 20 * DAY)] {
        database.keep(&row(id, previous), DAY + now).unwrap();
    }
    let now = 32 * DAY;
    let mut there = |id: &str| database.find(ME, id, now).unwrap().is_some();
    assert_eq!(["a", "b", "c"].map(&mut there), [true, false, true]);
    database.sweep(now).unwrap();
    let count = "SELECT entries FROM totals";
    let count = |database: &Database| {
        database
            .connection
            .query_row(count, [], |row| row.get::<_, i64>(0))
            .unwrap()
    };
    assert_eq!(count(&database), 2);
    database.sweep(60 * DAY).unwrap();
    assert_eq!(count(&database), 0);
}

#[test]
fn a_file_outlives_the_process_and_is_for_its_user_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("kept.sqlite");
    let place = StorePlace::File(path.clone());
    let limits = ResponsesConfig::default();
    let salt = {
        let mut database = Database::open(&place, &limits).unwrap();
        database.keep(&row("a", None), 1).unwrap();
        database.salt().unwrap()
    };
    let mut database = Database::open(&place, &limits).unwrap();
    assert!(database.find(ME, "a", 2).unwrap().is_some());
    assert_eq!(database.salt().unwrap(), salt);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o077, 0, "{mode:o}");
    }
}

#[test]
fn a_file_of_something_else_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let limits = ResponsesConfig::default();
    let open = |name: &str| Database::open(&StorePlace::File(folder.path().join(name)), &limits);
    let other = Connection::open(folder.path().join("other")).unwrap();
    other.execute_batch("CREATE TABLE t (x)").unwrap();
    drop(other);
    assert!(matches!(open("other"), Err(StoreError::NotOurs)));
    std::fs::write(
        folder.path().join("text"),
        "no database, but rather long for one".repeat(99),
    )
    .unwrap();
    assert!(open("text").is_err());
    let text = std::fs::read_to_string(folder.path().join("text")).unwrap();
    assert!(text.starts_with("no database"));
}
