//! A body in; the first field out that states a constraint, in the words of whatever dialect.

use super::BodyDemand;
use super::json::{Json, Value, is_key, values};
use super::path::{Way, way};
use super::words::{Counts, MAX_WRAPPERS, WORDS, WRAPPERS};

/// What cannot be read is no verdict.
type Found<T> = Result<T, serde_json::Error>;

/// Looks at every value of a body.
pub(super) fn find(body: &[u8]) -> BodyDemand {
    for value in values(body) {
        match value.and_then(|value| in_request(value, 0)) {
            Ok(None) => {}
            Ok(Some(field)) => return BodyDemand::Constraint(field),
            Err(_) => return BodyDemand::Unreadable,
        }
    }
    BodyDemand::None
}

/// What holds a request's fields, or a list of such.
fn in_request(value: Json<'_>, wrappers: usize) -> Found<Option<String>> {
    if wrappers > MAX_WRAPPERS {
        return Ok(None);
    }
    match value.read()? {
        Value::List(items) => {
            for item in items {
                if let Some(field) = in_request(item, wrappers + 1)? {
                    return Ok(Some(field));
                }
            }
        }
        Value::Object(entries) => {
            for (key, value) in entries {
                if let Some(field) = in_field(&key, value, wrappers)? {
                    return Ok(Some(field));
                }
            }
        }
        _ => {}
    }
    Ok(None)
}

fn in_field(key: &str, value: Json<'_>, wrappers: usize) -> Found<Option<String>> {
    for word in WORDS {
        let (first, rest) = split(word.path);
        if is_key(key, first) && is_stated(rest, value, word.counts)? {
            return Ok(Some(word.path.to_owned()));
        }
    }
    let Some(wrapper) = WRAPPERS.iter().find(|name| is_key(key, name)) else {
        return Ok(None);
    };
    let inner = in_request(value, wrappers + 1)?;
    Ok(inner.map(|field| format!("{wrapper}.{field}")))
}

/// The first name of a path, and the others.
fn split(path: &str) -> (&str, Option<&str>) {
    match path.split_once('.') {
        Some((first, rest)) => (first, Some(rest)),
        None => (path, None),
    }
}

fn is_stated(path: Option<&str>, value: Json<'_>, counts: Counts) -> Found<bool> {
    let Some((first, rest)) = path.map(split) else {
        return counts_as(counts, value);
    };
    match value.read()? {
        Value::List(items) => some(items, |item| is_stated(path, item, counts)),
        Value::Object(entries) => some(entries, |(key, value)| {
            Ok(is_key(&key, first) && is_stated(rest, value, counts)?)
        }),
        _ => Ok(false),
    }
}

fn some<T>(items: Vec<T>, mut test: impl FnMut(T) -> Found<bool>) -> Found<bool> {
    for item in items {
        if test(item)? {
            return Ok(true);
        }
    }
    Ok(false)
}

fn counts_as(counts: Counts, value: Json<'_>) -> Found<bool> {
    let value = value.read()?;
    Ok(match counts {
        Counts::Set => says_something(value)?,
        Counts::Schema => matches!(value, Value::Object(_)) || says_something(value)?,
        Counts::Typed => is_typed(value)?,
        Counts::Format => match value {
            Value::Text(text) => text.trim().eq_ignore_ascii_case("json"),
            Value::Object(_) => true,
            _ => false,
        },
        Counts::MediaType => match value {
            Value::Text(text) => !is_word(&text, &["", "text/plain"]),
            value => says_something(value)?,
        },
        Counts::Choice => forces_a_call(value)?,
        Counts::Mode => match value {
            Value::Text(text) => !is_word(&text, &["", "auto", "none", "mode_unspecified"]),
            // MODE_UNSPECIFIED, AUTO and NONE.
            Value::Number(number) => !matches!(number, "0" | "1" | "3"),
            value => says_something(value)?,
        },
        Counts::True => match value {
            Value::Text(text) => !is_word(&text, &["", "0", "f", "false", "n", "no", "off"]),
            value => says_something(value)?,
        },
        Counts::Endpoint => match value {
            Value::Text(text) => text.starts_with('/') && way(&text) != Way::Plain,
            _ => false,
        },
    })
}

fn is_word(text: &str, words: &[&str]) -> bool {
    words.contains(&text.trim().to_lowercase().as_str())
}

/// Whether a value is more than nothing, or an object one of whose members is.
fn says_something(value: Value<'_>) -> Found<bool> {
    Ok(match value {
        Value::Null => false,
        Value::Bool(is_on) => is_on,
        Value::Number(number) => number != "0",
        Value::Text(text) => !text.is_empty(),
        Value::List(items) => !items.is_empty(),
        // An empty schema is still one.
        Value::Object(entries) => some(entries, |(_, member)| {
            let member = member.read()?;
            Ok(matches!(member, Value::Object(_)) || says_something(member)?)
        })?,
    })
}

fn is_typed(value: Value<'_>) -> Found<bool> {
    match value {
        Value::List(items) => some(items, |item| is_typed(item.read()?)),
        Value::Object(entries) => {
            let mut types = of_key(&entries, "type");
            if types.clone().next().is_none() {
                return Ok(!entries.is_empty());
            }
            types.try_fold(false, |is_typed, kind| {
                Ok(is_typed
                    || match kind.read()? {
                        Value::Text(kind) => !is_word(&kind, &["", "text"]),
                        kind => says_something(kind)?,
                    })
            })
        }
        _ => Ok(false),
    }
}

fn forces_a_call(value: Value<'_>) -> Found<bool> {
    const FREE: &[&str] = &["", "auto", "none"];
    let entries = match value {
        Value::Text(text) => return Ok(!is_word(&text, FREE)),
        Value::Object(entries) => entries,
        value => return says_something(value),
    };
    let types: Vec<_> = of_key(&entries, "type").collect();
    if types.is_empty() {
        // Bedrock writes `{"auto": {}}`, and Chat's named choice has had no type too.
        return Ok(entries.iter().any(|(key, _)| !is_word(key, FREE)));
    }
    some(types, |kind| {
        Ok(match kind.read()? {
            Value::Text(kind) if is_word(&kind, &["allowed_tools"]) => !allows_none(&entries)?,
            Value::Text(kind) => !is_word(&kind, FREE),
            kind => says_something(kind)?,
        })
    })
}

/// Whether a choice among allowed tools is free: `mode` stands in it, or in `allowed_tools`.
fn allows_none(choice: &[(String, Json<'_>)]) -> Found<bool> {
    let mut modes: Vec<_> = of_key(choice, "mode").collect();
    for inner in of_key(choice, "allowedtools") {
        if let Value::Object(entries) = inner.read()? {
            modes.extend(of_key(&entries, "mode"));
        }
    }
    let is_forced = some(modes, |mode| {
        Ok(match mode.read()? {
            Value::Text(mode) => !is_word(&mode, &["", "auto", "none"]),
            mode => says_something(mode)?,
        })
    })?;
    Ok(!is_forced)
}

/// Every value of a folded key: which of them a server takes is not known.
fn of_key<'e, 'a>(
    entries: &'e [(String, Json<'a>)],
    key: &'e str,
) -> impl Iterator<Item = Json<'a>> + Clone + use<'e, 'a> {
    let found = entries.iter().filter(move |(name, _)| name == key);
    found.map(|(_, value)| *value)
}

#[cfg(test)]
#[path = "constraint_tests.rs"]
mod tests;
