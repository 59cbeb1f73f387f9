//! What is said of texts: a schema object comes in; one with patterns and lengths as the server
//! reads them goes out.

use super::anchor::{self, Whole};
use super::{Lowering, Why};
use crate::schema::profile::{Lengths, PatternReading};
use serde_json::{Map, Value};

/// What parsing a pattern costs, in comparisons. The guard refuses a schema with more patterns than
/// this leaves room for.
const PATTERN_STEPS: usize = 1_000;

impl Lowering<'_> {
    /// Anchors, and lengths beside a pattern or a format.
    pub(super) fn text(&mut self, map: &Map<String, Value>) -> Option<Map<String, Value>> {
        let anchored = self.anchored(map);
        let now = anchored.as_ref().unwrap_or(map);
        let (lengths, lost) = self.lengths(now);
        for keyword in lost {
            self.lose(
                keyword,
                match self.profile.lengths {
                    Lengths::Refused => Why::Refused,
                    Lengths::Ignored | Lengths::Enforced => Why::Ignored,
                },
            );
        }
        lengths.or(anchored)
    }

    fn anchored(&mut self, map: &Map<String, Value>) -> Option<Map<String, Value>> {
        let Some(Value::String(pattern)) = map.get("pattern") else {
            return None;
        };
        if self.profile.pattern == PatternReading::Search || self.profile.ignores("pattern") {
            return None;
        }
        if !self.may_step(PATTERN_STEPS) {
            self.lose("pattern", Why::Inexact);
            return None;
        }
        let (new, why) = match anchor::whole(pattern) {
            Whole::Already => return None,
            Whole::Anything => (None, None),
            Whole::Narrower(whole) => (Some(whole), Some(Why::Narrower)),
            Whole::None => (None, Some(Why::Inexact)),
        };
        if let Some(why) = why {
            self.lose("pattern", why);
        }
        let mut map = map.clone();
        match new {
            Some(whole) => map.insert("pattern".to_owned(), Value::String(whole)),
            None => map.shift_remove("pattern"),
        };
        Some(map)
    }

    /// The schema without lengths that the server refuses, and those of them, or of those that it
    /// ignores, which nothing else implies.
    pub(super) fn lengths(
        &self,
        map: &Map<String, Value>,
    ) -> (Option<Map<String, Value>>, Vec<&'static str>) {
        let (mut new, mut lost) = (None, Vec::new());
        let is_shaped = map.contains_key("pattern") || map.contains_key("format");
        if self.profile.lengths == Lengths::Enforced || !is_shaped {
            return (new, lost);
        }
        let pattern = map.get("pattern").and_then(Value::as_str);
        for keyword in ["minLength", "maxLength"] {
            let Some(limit) = map.get(keyword) else {
                continue;
            };
            let is_implied = match (pattern, limit.as_u64()) {
                (Some(pattern), Some(limit)) => anchor::implies(pattern, keyword, limit),
                _ => false,
            };
            if !is_implied {
                lost.push(keyword);
            }
            if self.profile.lengths == Lengths::Refused {
                new.get_or_insert_with(|| map.clone()).shift_remove(keyword);
            }
        }
        (new, lost)
    }
}
