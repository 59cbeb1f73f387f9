//! Schemas of a request as they are meant, where they are written otherwise.

use super::outline::with;
use crate::ir::{Fields, Origin, Request, raw};
use crate::schema::{blanks, drafts, rooted, tuples};
use serde_json::Value;
use serde_json::value::RawValue;

/// Reads all schemas of a request as they are meant. A tool's that would be refused as it stands is written so into the client's own
/// fields, too: servers of its wire are sent those.
pub(super) fn mend(request: &mut Request) {
    let (mut places, mut restated) = (Vec::new(), false);
    for (tool, schema) in request.schemas_mut() {
        if blanks::mend(schema) {
            restated = true;
            places.extend(tool.map(Origin::pointer));
        }
        restated |= rooted::mend(schema) | rooted::escape(schema);
        restated |= tuples::mend(schema) | drafts::mend(schema);
    }
    request.restated = restated;
    for place in places {
        write(&mut request.fields, &place);
    }
}

/// Writes the schema at this place of the body as it is meant.
fn write(fields: &mut Fields, place: &str) {
    let path: Vec<&str> = place.split('/').skip(1).collect();
    let meant = |said: &RawValue| {
        let mut schema: Value = crate::json::value(said.get()).ok()?;
        blanks::mend(&mut schema);
        Some(raw(&schema))
    };
    if let Some((first, rest)) = path.split_first()
        && let Some(written) = (fields.0.get(*first)).and_then(|said| with(said, rest, &meant))
    {
        fields.set(first, written);
    }
}
