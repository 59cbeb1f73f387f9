//! Python's ways of writing values, which chat templates were written against: template values
//! come in; `str`, `json.dumps` and the string methods' results go out.
//!
//! All of them stop where the text gets bigger than the rendering may make any value.

use super::guard::{Guard, MAX_DEPTH, Stopped, TOO_BIG};
use minijinja::value::{Rest, ValueKind};
use minijinja::{Error, ErrorKind, State, Value, filters};
use minijinja_contrib::pycompat;
use std::fmt::Write;

/// Digits of a number within a format string: widths beyond are not meant.
const MAX_WIDTH_DIGITS: usize = 3;
/// Spaces of an indent.
const MAX_INDENT: usize = 256;

/// A text with a bound.
pub(super) struct Text {
    text: String,
    most: usize,
}

impl Text {
    pub(super) fn new(most: usize) -> Self {
        Self {
            text: String::new(),
            most,
        }
    }

    fn push(&mut self, text: &str) -> Result<(), Stopped> {
        if text.len() > self.most.saturating_sub(self.text.len()) {
            return Err(TOO_BIG);
        }
        self.text.push_str(text);
        Ok(())
    }
}

/// What `str` gives of a value.
pub(super) fn string(value: &Value, guard: &Guard) -> Result<String, Stopped> {
    if let Some(text) = value.as_str() {
        return Ok(text.to_owned());
    }
    let mut text = Text::new(guard.most());
    write_repr(&mut text, value, 0)?;
    Ok(text.text)
}

/// What `repr` gives of a value; nothing of an undefined one, as Jinja's `Undefined` prints.
fn write_repr(text: &mut Text, value: &Value, depth: usize) -> Result<(), Stopped> {
    if depth > MAX_DEPTH {
        return Err(TOO_BIG);
    }
    match value.kind() {
        ValueKind::Undefined => Ok(()),
        ValueKind::None => text.push("None"),
        ValueKind::Bool if value.is_true() => text.push("True"),
        ValueKind::Bool => text.push("False"),
        ValueKind::Number => text.push(&number(value)),
        ValueKind::String => write_quoted(text, value.as_str().unwrap_or_default()),
        ValueKind::Map => {
            text.push("{")?;
            let object = value.as_object();
            let pairs = object.and_then(|object| object.try_iter_pairs());
            for (index, (key, value)) in pairs.into_iter().flatten().enumerate() {
                if index > 0 {
                    text.push(", ")?;
                }
                write_repr(text, &key, depth + 1)?;
                text.push(": ")?;
                write_repr(text, &value, depth + 1)?;
            }
            text.push("}")
        }
        ValueKind::Seq | ValueKind::Iterable => {
            text.push("[")?;
            for (index, value) in value.try_iter().into_iter().flatten().enumerate() {
                if index > 0 {
                    text.push(", ")?;
                }
                write_repr(text, &value, depth + 1)?;
            }
            text.push("]")
        }
        _ => text.push(&value.to_string()),
    }
}

fn write_quoted(text: &mut Text, value: &str) -> Result<(), Stopped> {
    let quote = match value.contains('\'') && !value.contains('"') {
        true => '"',
        false => '\'',
    };
    let mut quoted = String::with_capacity(value.len() + 2);
    quoted.push(quote);
    for character in value.chars() {
        match character {
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            character if character == quote => quoted.extend(['\\', quote]),
            character if character.is_ascii_control() => {
                // Writing to a string does not fail.
                let _ = write!(quoted, "\\x{:02x}", u32::from(character));
            }
            character => quoted.push(character),
        }
    }
    quoted.push(quote);
    text.push(&quoted)
}

/// A number; a float as Python's shortest form.
fn number(value: &Value) -> String {
    match value.is_integer() {
        true => value.to_string(),
        false => f64::try_from(value.clone()).map_or_else(|_| value.to_string(), float),
    }
}

fn float(value: f64) -> String {
    if value.is_nan() {
        return "nan".to_owned();
    }
    if value.is_infinite() {
        return (if value > 0.0 { "inf" } else { "-inf" }).to_owned();
    }
    let scientific = format!("{value:e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    match exponent.parse::<i32>() {
        Ok(exponent) if !(-4..16).contains(&exponent) => {
            let sign = if exponent < 0 { '-' } else { '+' };
            format!("{digits}e{sign}{:02}", exponent.abs())
        }
        _ => format!("{value:?}"),
    }
}

/// How `json.dumps` lays out.
struct Layout {
    indent: Option<String>,
    items: String,
    key: String,
    ascii: bool,
    sorted: bool,
}

/// `json.dumps` with `ensure_ascii=False`: models were trained on prompts with its spaces.
pub(super) fn dumps(value: &serde_json::Value) -> String {
    let layout = Layout {
        indent: None,
        items: ", ".to_owned(),
        key: ": ".to_owned(),
        ascii: false,
        sorted: false,
    };
    let mut text = Text::new(usize::MAX);
    match write_json(&mut text, &Value::from_serialize(value), &layout, 0) {
        Ok(()) => text.text,
        // Deeper than requests can be.
        Err(_) => value.to_string(),
    }
}

/// `tojson` as chat templates know it: `json.dumps` with `ensure_ascii=False`, and nothing
/// escaped for HTML.
pub(super) fn tojson(value: &Value, arguments: Rest<Value>, most: usize) -> Result<Value, Error> {
    let names = ["ensure_ascii", "indent", "separators", "sort_keys"];
    let [ascii, indent, separators, sorted] = given(arguments, names)?;
    let indent = match indent {
        Some(indent) if indent.as_str().is_some() => indent.as_str().map(str::to_owned),
        Some(indent) => Some(" ".repeat(indent_width(&indent)?)),
        None => None,
    };
    let separator = |index: usize, default: &str| {
        let given = separators.as_ref()?.get_item_by_index(index).ok()?;
        Some(given.as_str().unwrap_or(default).to_owned())
    };
    let items = match indent.is_some() {
        true => ",",
        false => ", ",
    };
    let layout = Layout {
        items: separator(0, items).unwrap_or_else(|| items.to_owned()),
        key: separator(1, ": ").unwrap_or_else(|| ": ".to_owned()),
        indent,
        ascii: ascii.is_some_and(|ascii| ascii.is_true()),
        sorted: sorted.is_some_and(|sorted| sorted.is_true()),
    };
    let mut text = Text::new(most);
    write_json(&mut text, value, &layout, 0)?;
    Ok(Value::from(text.text))
}

fn write_json(text: &mut Text, value: &Value, layout: &Layout, depth: usize) -> Result<(), Error> {
    if depth > MAX_DEPTH {
        return Err(TOO_BIG.into());
    }
    match value.kind() {
        ValueKind::None => text.push("null")?,
        ValueKind::Bool if value.is_true() => text.push("true")?,
        ValueKind::Bool => text.push("false")?,
        ValueKind::Number => text.push(&json_number(value))?,
        ValueKind::String => write_json_text(text, value.as_str().unwrap_or_default(), layout)?,
        ValueKind::Map => {
            let object = value.as_object();
            let pairs = object.and_then(|object| object.try_iter_pairs());
            let mut pairs: Vec<_> = pairs.into_iter().flatten().collect();
            if layout.sorted {
                pairs.sort_by(|(a, _), (b, _)| a.cmp(b));
            }
            write_items(text, ['{', '}'], pairs, layout, depth, |text, pair| {
                let (key, value) = pair;
                write_json_text(text, &json_key(&key)?, layout)?;
                text.push(&layout.key)?;
                write_json(text, &value, layout, depth + 1)
            })?;
        }
        ValueKind::Seq | ValueKind::Iterable => {
            let values: Vec<_> = value.try_iter()?.collect();
            write_items(text, ['[', ']'], values, layout, depth, |text, value| {
                write_json(text, &value, layout, depth + 1)
            })?;
        }
        kind => {
            let what = format!("{kind} is not JSON serializable");
            return Err(Error::new(ErrorKind::BadSerialization, what));
        }
    }
    Ok(())
}

fn write_items<T>(
    text: &mut Text,
    [open, close]: [char; 2],
    items: Vec<T>,
    layout: &Layout,
    depth: usize,
    write: impl Fn(&mut Text, T) -> Result<(), Error>,
) -> Result<(), Error> {
    let is_empty = items.is_empty();
    let line = |text: &mut Text, depth: usize| match &layout.indent {
        Some(indent) if !is_empty => {
            text.push("\n")?;
            (0..depth).try_for_each(|_| text.push(indent))
        }
        _ => Ok(()),
    };
    text.push(open.encode_utf8(&mut [0; 4]))?;
    for (index, item) in items.into_iter().enumerate() {
        if index > 0 {
            text.push(&layout.items)?;
        }
        line(text, depth + 1)?;
        write(text, item)?;
    }
    line(text, depth)?;
    text.push(close.encode_utf8(&mut [0; 4]))?;
    Ok(())
}

fn json_number(value: &Value) -> String {
    match number(value).as_str() {
        "nan" => "NaN".to_owned(),
        "inf" => "Infinity".to_owned(),
        "-inf" => "-Infinity".to_owned(),
        number => number.to_owned(),
    }
}

fn json_key(key: &Value) -> Result<String, Error> {
    match key.kind() {
        ValueKind::String => Ok(key.as_str().unwrap_or_default().to_owned()),
        ValueKind::None => Ok("null".to_owned()),
        ValueKind::Bool => Ok(key.is_true().to_string()),
        ValueKind::Number => Ok(json_number(key)),
        _ => Err(Error::new(ErrorKind::NonKey, "keys must be text")),
    }
}

fn write_json_text(text: &mut Text, value: &str, layout: &Layout) -> Result<(), Stopped> {
    let quoted = serde_json::Value::from(value).to_string();
    if !layout.ascii {
        return text.push(&quoted);
    }
    let mut ascii = String::with_capacity(quoted.len());
    for character in quoted.chars() {
        match character.is_ascii() {
            true => ascii.push(character),
            false => {
                for unit in character.encode_utf16(&mut [0; 2]) {
                    let _ = write!(ascii, "\\u{unit:04x}");
                }
            }
        }
    }
    text.push(&ascii)
}

/// A function's arguments by their Python names, however they were passed. `None` is as if it had
/// not been passed.
fn given<const N: usize>(
    arguments: Rest<Value>,
    names: [&str; N],
) -> Result<[Option<Value>; N], Error> {
    let mut given = [const { None }; N];
    let mut place = 0;
    for argument in arguments.0 {
        if argument.is_kwargs() {
            for (name, slot) in names.iter().zip(&mut given) {
                let value = argument.get_attr(name)?;
                if !value.is_undefined() && !value.is_none() {
                    *slot = Some(value);
                }
            }
            continue;
        }
        let Some(slot) = given.get_mut(place) else {
            return Err(Error::from(ErrorKind::TooManyArguments));
        };
        place += 1;
        if !argument.is_none() {
            *slot = Some(argument);
        }
    }
    Ok(given)
}

fn indent_width(indent: &Value) -> Result<usize, Error> {
    match indent.as_usize() {
        Some(width) if width <= MAX_INDENT => Ok(width),
        Some(_) => Err(TOO_BIG.into()),
        None => Err(Error::new(
            ErrorKind::InvalidOperation,
            "an indent is a number from 0, or a text",
        )),
    }
}

/// Jinja's `indent`.
pub(super) fn indent(text: &str, arguments: Rest<Value>, most: usize) -> Result<Value, Error> {
    let [width, first, blank] = given(arguments, ["width", "first", "blank"])?;
    let indent = match &width {
        Some(width) => match width.as_str() {
            Some(indent) => indent.to_owned(),
            None => " ".repeat(indent_width(width)?),
        },
        None => " ".repeat(4),
    };
    let is_set = |value: Option<Value>| value.is_some_and(|value| value.is_true());
    let (first, blank) = (is_set(first), is_set(blank));
    let mut indented = Text::new(most);
    // Jinja adds a newline and splits, so that one at the end leaves an empty last line.
    for (index, line) in text.split('\n').enumerate() {
        let line = line.strip_suffix('\r').unwrap_or(line);
        let is_indented = match index {
            0 => first,
            _ => blank || !line.is_empty(),
        };
        if index > 0 {
            indented.push("\n")?;
        }
        if is_indented {
            indented.push(&indent)?;
        }
        indented.push(line)?;
    }
    Ok(Value::from(indented.text))
}

/// Jinja's `join`.
pub(super) fn join(value: &Value, arguments: Rest<Value>, guard: &Guard) -> Result<Value, Error> {
    let [separator, attribute] = given(arguments, ["d", "attribute"])?;
    let separator = match &separator {
        Some(separator) => string(separator, guard)?,
        None => String::new(),
    };
    let attribute = attribute.as_ref().and_then(Value::as_str);
    joined(value, &separator, attribute, guard)
}

fn joined(
    values: &Value,
    separator: &str,
    attribute: Option<&str>,
    guard: &Guard,
) -> Result<Value, Error> {
    let mut text = Text::new(guard.most());
    for (index, value) in values.try_iter()?.enumerate() {
        if index > 0 {
            text.push(separator)?;
        }
        let value = match attribute {
            Some(attribute) => value.get_attr(attribute)?,
            None => value,
        };
        text.push(&string(&value, guard)?)?;
    }
    Ok(Value::from(text.text))
}

/// `str.replace`, and Jinja's `replace`.
pub(super) fn replace(text: &str, arguments: Rest<Value>, most: usize) -> Result<Value, Error> {
    let [old, new, count] = given(arguments, ["old", "new", "count"])?;
    let needs = || Error::new(ErrorKind::InvalidOperation, "replace takes two texts");
    let old = old.as_ref().and_then(Value::as_str).ok_or_else(needs)?;
    let new = new.as_ref().and_then(Value::as_str).ok_or_else(needs)?;
    let count = count
        .and_then(|count| count.as_usize())
        .unwrap_or(usize::MAX);
    let mut replaced = Text::new(most);
    let mut copied = 0;
    for (at, found) in text.match_indices(old).take(count) {
        replaced.push(&text[copied..at])?;
        replaced.push(new)?;
        copied = at + found.len();
    }
    replaced.push(&text[copied..])?;
    Ok(Value::from(replaced.text))
}

/// Refuses formats that would write runs of padding without end.
fn check_format(format: &str) -> Result<(), Error> {
    let mut digits = 0;
    for byte in format.bytes() {
        digits = match byte.is_ascii_digit() {
            true => digits + 1,
            false => 0,
        };
        if digits > MAX_WIDTH_DIGITS {
            return Err(TOO_BIG.into());
        }
    }
    match format.contains('*') {
        true => Err(Stopped::Bound("it formats with a width of its own").into()),
        false => Ok(()),
    }
}

/// Jinja's `format`: `"%s" | format(x)`.
pub(super) fn format(state: &State, text: &Value, arguments: &[Value]) -> Result<Value, Error> {
    check_format(text.as_str().unwrap_or_default())?;
    let filter = Value::from_function(filters::format);
    let arguments: Vec<Value> = [text].into_iter().chain(arguments).cloned().collect();
    filter.call(state, &arguments)
}

/// Methods of Python's texts, lists and dicts that minijinja does not know.
pub(super) fn method(
    state: &State,
    value: &Value,
    name: &str,
    arguments: &[Value],
    guard: &Guard,
) -> Result<Value, Error> {
    let Some(text) = value.as_str() else {
        return match (value.kind(), name) {
            (ValueKind::Map | ValueKind::Seq, "copy") => Ok(value.clone()),
            _ => pycompat::unknown_method_callback(state, value, name, arguments),
        };
    };
    match (name, arguments.first().and_then(Value::as_str)) {
        ("replace", _) => replace(text, Rest(arguments.to_vec()), guard.most()),
        ("join", _) => match arguments {
            [values] => joined(values, text, None, guard),
            _ => Err(Error::from(ErrorKind::MissingArgument)),
        },
        ("removeprefix", Some(prefix)) => {
            Ok(Value::from(text.strip_prefix(prefix).unwrap_or(text)))
        }
        ("removesuffix", Some(suffix)) => {
            Ok(Value::from(text.strip_suffix(suffix).unwrap_or(text)))
        }
        ("rsplit", Some(separator)) if !separator.is_empty() => {
            let splits = arguments.get(1).and_then(Value::as_usize);
            let mut parts: Vec<&str> = match splits {
                Some(splits) => text.rsplitn(splits.saturating_add(1), separator).collect(),
                None => text.rsplit(separator).collect(),
            };
            parts.reverse();
            Ok(parts.into_iter().map(Value::from).collect())
        }
        ("partition", Some(separator)) if !separator.is_empty() => {
            let parts = match text.split_once(separator) {
                Some((before, after)) => [before, separator, after],
                None => [text, "", ""],
            };
            Ok(parts.into_iter().map(Value::from).collect())
        }
        ("format", _) => {
            check_format(text)?;
            pycompat::unknown_method_callback(state, value, name, arguments)
        }
        _ => pycompat::unknown_method_callback(state, value, name, arguments),
    }
}
