#![expect(clippy::unwrap_used, reason = "a test that cannot go on must fail")]
use super::*;

fn summary(id: &str) -> Summary {
    Summary {
        id: id.to_owned(),
        outcome: "ok",
        strategy: Some("constrain"),
        client: Some("chat"),
        server: Some("vllm@0.12.0".to_owned()),
        model: Some("qwen3-8b".to_owned()),
        ..Summary::default()
    }
}

fn all() -> Filter {
    Filter {
        limit: usize::MAX,
        ..Filter::default()
    }
}

#[test]
fn the_newest_are_remembered_and_the_oldest_forgotten() {
    let journal = Journal::new(Recording::Shapes);
    for index in 0..MAX_ENTRIES + 5 {
        let way = journal.begin().unwrap();
        journal.keep(*way, summary(&index.to_string()));
    }
    let listed = journal.list(&all());
    assert_eq!(listed.len(), MAX_ENTRIES);
    assert_eq!(listed[0].summary.id, (MAX_ENTRIES + 4).to_string());
    assert!(journal.find("4").is_none());
    assert!(journal.find("5").is_some());
}

#[test]
fn bodies_take_no_more_than_their_room() {
    let journal = Journal::new(Recording::Bodies);
    let long = "x".repeat(MAX_BODY_BYTES + 1);
    for index in 0..3 * MAX_BYTES / MAX_BODY_BYTES {
        let mut way = journal.begin().unwrap();
        way.asked(long.as_bytes());
        journal.keep(*way, summary(&index.to_string()));
        assert!(journal.size().1 <= MAX_BYTES);
    }
    let newest = &journal.list(&all())[0];
    assert!(newest.request.cut);
    assert_eq!(newest.request.bytes, long.len() as u64);
    let length = newest.request.text.as_ref().unwrap().len();
    assert_eq!(length, MAX_BODY_BYTES - MAX_TORN_BYTES);
    assert!(journal.list(&all()).len() < MAX_ENTRIES);
}

#[test]
fn of_a_key_at_the_cut_nothing_is_left() {
    let journal = Journal::new(Recording::Bodies);
    let key = format!("sk-proj-{}", "abcdefghij".repeat(14));
    for left in 1..key.len() {
        let body = " ".repeat(MAX_BODY_BYTES - left) + &key;
        let mut way = journal.begin().unwrap();
        way.asked(body.as_bytes());
        journal.keep(*way, summary("a"));
        let text = journal.list(&all())[0].request.text.clone().unwrap();
        assert!(!text.contains("sk"), "{left}");
    }
}

#[test]
fn a_body_is_recorded_only_where_bodies_are() {
    let body = br#"{"messages": "a secret of the client's"}"#;
    for (recording, is_there) in [(Recording::Shapes, false), (Recording::Bodies, true)] {
        let journal = Journal::new(recording);
        let mut way = journal.begin().unwrap();
        way.asked(body);
        way.sending("http://one", "/v1/x", [&body[..]].into_iter());
        way.came(body);
        way.replied(body);
        journal.keep(*way, summary("a"));
        let said = serde_json::to_string(&*journal.find("a").unwrap()).unwrap();
        assert_eq!(
            said.contains("a secret of the client's"),
            is_there,
            "{said}"
        );
        assert!(
            said.contains(&format!("\"bytes\":{}", body.len())),
            "{said}"
        );
    }
    assert!(Journal::new(Recording::Off).begin().is_none());
}

#[test]
fn each_filter_leaves_out_what_it_does_not_name() {
    let journal = Journal::new(Recording::Shapes);
    journal.keep(*journal.begin().unwrap(), summary("a"));
    let other = Summary {
        outcome: "violated",
        strategy: None,
        client: Some("messages"),
        server: None,
        model: None,
        ..summary("b")
    };
    journal.keep(*journal.begin().unwrap(), other);
    let one = |change: fn(&mut Filter)| {
        let mut filter = all();
        change(&mut filter);
        let listed = journal.list(&filter);
        let ids = listed.iter().map(|entry| entry.summary.id.clone());
        ids.collect::<Vec<_>>().join(" ")
    };
    let text = |text: &str| Some(text.to_owned());
    assert_eq!(one(|_| {}), "b a");
    assert_eq!(one(|filter| filter.limit = 1), "b");
    assert_eq!(one(|filter| filter.since = 1), "b");
    let mut filter = all();
    for (outcome, strategy, model, dialect, ids) in [
        (text("ok"), None, None, None, 1),
        (None, text("constrain"), None, None, 1),
        (None, None, text("qwen3"), None, 1),
        (None, None, None, text("vllm"), 1),
        (None, None, None, text("vllm@0.12.0"), 1),
        (None, None, None, text("messages"), 1),
        (text("ok"), None, None, text("messages"), 0),
    ] {
        (filter.outcome, filter.strategy) = (outcome, strategy);
        (filter.model, filter.dialect) = (model, dialect);
        assert_eq!(journal.list(&filter).len(), ids, "{filter:?}");
    }
}

#[test]
fn what_a_server_said_stands_with_what_it_was_sent() {
    let journal = Journal::new(Recording::Shapes);
    let mut way = journal.begin().unwrap();
    for status in [200, 502] {
        way.sending("http://one", "/v1/x", [&b"12"[..], b"3"].into_iter());
        way.answered(status);
        way.came(b"1234");
        way.broke(Broken {
            place: "content".to_owned(),
            pointer: "/age".to_owned(),
            rule: "type".to_owned(),
        });
        way.retried("violation");
    }
    journal.keep(*way, summary("a"));
    let entry = journal.find("a").unwrap();
    let statuses: Vec<_> = entry.attempts.iter().map(|one| one.status).collect();
    assert_eq!(statuses, [Some(200), Some(502)]);
    assert_eq!(entry.attempts[1].sent.bytes, 3);
    assert_eq!(entry.attempts[1].came.bytes, 4);
    assert_eq!(entry.summary.retries, 2);
}

#[test]
fn a_name_is_cut_between_letters() {
    let journal = Journal::new(Recording::Shapes);
    let mut way = journal.begin().unwrap();
    way.sending("http://one", &"ä".repeat(1000), std::iter::empty());
    journal.keep(*way, summary("a"));
    let path = &journal.find("a").unwrap().attempts[0].path;
    assert_eq!(path.len(), MAX_WORD_BYTES);
}
