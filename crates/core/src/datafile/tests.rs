#![expect(clippy::unwrap_used, reason = "tests")]

use super::*;
use proptest::prelude::*;

#[test]
fn the_leading_numbers_of_a_version_count() {
    let read = |text: &str| Version::parse(text).map(|version| version.parts);
    assert_eq!(read("0.10.2.post2"), Some([0, 10, 2]));
    assert_eq!(read("0.11.0rc2+cu128"), Some([0, 11, 0]));
    assert_eq!(read("b7786-0c1e570"), Some([7786, 0, 0]));
    assert_eq!(read("v0.12"), Some([0, 12, 0]));
    assert_eq!(read("dev"), None);
    assert_eq!(read(""), None);
}

#[test]
fn a_range_says_itself_as_it_is_written() {
    for text in ["*", ">=0.11.0, <0.12.0", ">0.1.0", "<=3.0.0", "=1.2.3"] {
        assert_eq!(Range::parse(text).unwrap().to_string(), text);
    }
    assert!(Range::parse("0.12").is_err());
    assert!(Range::parse(">=new").is_err());
}

proptest! {
    /// The checks of rule files try one version between two edges for all that lie there.
    #[test]
    fn no_range_changes_between_two_of_its_edges(
        comparisons in prop::collection::vec(
            (prop::sample::select(vec![">=", ">", "<", "<=", "="]), 0u32..3, 0u32..3, 0u32..3),
            0..3,
        ),
        parts in [0u32..4, 0..4, 0..4],
    ) {
        let text: Vec<String> = comparisons
            .iter()
            .map(|(sign, a, b, c)| format!("{sign}{a}.{b}.{c}"))
            .collect();
        let text = if text.is_empty() { "*".to_owned() } else { text.join(",") };
        let range = Range::parse(&text).unwrap();
        let version = Version { parts };
        let edge = range.edges().filter(|edge| *edge <= version).max();
        let stands_for = edge.unwrap_or(Version::FIRST);
        prop_assert_eq!(range.contains(Some(version)), range.contains(Some(stands_for)));
    }
}
