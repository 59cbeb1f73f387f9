//! Values that a model wrote as bare text, or in Python's literals, in JSON.

use serde_json::Value;

/// Deeper schemas and values are not looked into.
const MAX_DEPTH: usize = 64;

/// What types a schema lets a value have.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Types {
    text: bool,
    number: bool,
    integer: bool,
    boolean: bool,
    null: bool,
    object: bool,
    array: bool,
}

impl Types {
    fn add(&mut self, name: &str) {
        match name {
            "string" => self.text = true,
            "number" => self.number = true,
            "integer" => self.integer = true,
            "boolean" => self.boolean = true,
            "null" => self.null = true,
            "object" => self.object = true,
            "array" => self.array = true,
            _ => {}
        }
    }

    fn merge(&mut self, other: Self) {
        self.text |= other.text;
        self.number |= other.number;
        self.integer |= other.integer;
        self.boolean |= other.boolean;
        self.null |= other.null;
        self.object |= other.object;
        self.array |= other.array;
    }

    fn of_value(value: &Value) -> Self {
        let mut types = Self::default();
        types.add(match value {
            Value::Null => "null",
            Value::Bool(_) => "boolean",
            Value::Number(number) if number.is_f64() => "number",
            Value::Number(_) => "integer",
            Value::String(_) => "string",
            Value::Array(_) => "array",
            Value::Object(_) => "object",
        });
        types
    }

    /// Whether a value of the one type is one of these.
    fn has(self, one: Self) -> bool {
        one.text && self.text
            || one.number && self.number
            || one.integer && (self.integer || self.number)
            || one.boolean && self.boolean
            || one.null && self.null
            || one.object && self.object
            || one.array && self.array
    }
}

/// The value of one parameter in JSON, by the schema of all: what may be a string and nothing else
/// is one as it stands; what may be something else is that, if it is JSON of it.
///
/// A parameter of which the schema says nothing is a string. One that may be anything is what it
/// looks like.
pub(super) fn by_schema(raw: &str, parameters: Option<&Value>, key: &str) -> String {
    let Some(root) = parameters else {
        return Value::from(raw).to_string();
    };
    of_schema(raw, property(root, key), root)
}

/// The same for a value with this schema, which stands in another.
pub(super) fn of_schema(raw: &str, schema: Option<&Value>, root: &Value) -> String {
    let text = || Value::from(raw).to_string();
    let Some(schema) = schema else {
        return text();
    };
    let Some(types) = types(schema, root, 0) else {
        return json(raw)
            .filter(|json| !json.starts_with('"'))
            .unwrap_or_else(text);
    };
    let is_fit = |json: &String| {
        let value: Result<Value, _> = crate::json::value(json);
        value.is_ok_and(|value| types.has(Types::of_value(&value)))
    };
    let others = Types {
        text: false,
        ..types
    };
    if types.text {
        let value = json(raw).filter(|json| !json.starts_with('"'));
        return value.filter(is_fit).unwrap_or_else(text);
    }
    if others == Types::default() {
        return text();
    }
    // What fits nothing stays what it is: the tool's schema is verified later.
    as_json(raw).unwrap_or_else(text)
}

/// What a schema lets a value be.
#[derive(Debug, Clone, Copy)]
pub(super) struct Lets {
    /// The schema says it.
    pub(super) is_told: bool,
    pub(super) text: bool,
    pub(super) array: bool,
    pub(super) object: bool,
}

pub(super) fn lets(schema: Option<&Value>, root: &Value) -> Lets {
    let types = schema.and_then(|schema| types(schema, root, 0));
    let own = types.unwrap_or_default();
    Lets {
        is_told: types.is_some(),
        text: own.text,
        array: own.array,
        object: own.object,
    }
}

/// The schema of a list's items.
pub(super) fn items<'s>(schema: &'s Value, root: &'s Value) -> Option<&'s Value> {
    find(schema, root, 0, &|schema| {
        schema.get("items").filter(|own| own.is_object())
    })
}

/// Whether the schema names this property.
pub(super) fn is_property(parameters: Option<&Value>, key: &str) -> bool {
    let own = parameters.and_then(|all| all.get("properties"));
    own.is_some_and(|own| own.get(key).is_some())
}

/// How a parameter's value is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Taken {
    /// A string, as it stands.
    Text,
    /// JSON.
    Json,
    /// What it looks like.
    Either,
}

/// How a value with this schema is taken by [`of_schema`]; `None` where no value is of the types that the schema names.
pub(super) fn taken(schema: &Value, root: &Value) -> Option<Taken> {
    let Some(types) = types(schema, root, 0) else {
        return Some(Taken::Either);
    };
    let others = Types {
        text: false,
        ..types
    };
    match (types.text, others == Types::default()) {
        (true, true) => Some(Taken::Text),
        (true, false) => Some(Taken::Either),
        (false, true) => None,
        (false, false) => Some(Taken::Json),
    }
}

/// The one type, as JSON's values have them, that all values with this schema have.
pub(super) fn only_kind(schema: &Value, root: &Value) -> Option<&'static str> {
    let own = types(schema, root, 0)?;
    let kinds = [
        ("string", own.text),
        ("number", own.number || own.integer),
        ("boolean", own.boolean),
        ("null", own.null),
        ("object", own.object),
        ("array", own.array),
    ];
    let mut kinds = kinds.into_iter().filter(|(_, is_let)| *is_let);
    let (kind, _) = kinds.next()?;
    kinds.next().is_none().then_some(kind)
}

/// Whether a value is of the type, or one of the types, that a schema's `type` names.
pub(super) fn is_of_type(value: &Value, kind: &Value) -> bool {
    let own = types(&serde_json::json!({"type": kind}), &Value::Null, 0);
    let is_whole = value.as_f64().is_some_and(|number| number.fract() == 0.0);
    own.is_some_and(|own| own.has(Types::of_value(value)) || is_whole && own.integer)
}

/// Whether a parameter is JSON whatever it holds: the schema tells its types, and a string is none of them.
pub(super) fn is_json(parameters: Option<&Value>, key: &str) -> bool {
    let told = parameters.and_then(|root| types(property(root, key)?, root, 0));
    told.is_some_and(|types| !types.text && types != Types::default())
}

/// A value that the markup says is text: a string, unless the schema lets it be none.
pub(super) fn as_text(raw: &str, parameters: Option<&Value>, key: &str) -> String {
    let property = parameters.and_then(|root| property(root, key));
    let types = parameters
        .zip(property)
        .and_then(|(root, schema)| types(schema, root, 0));
    match types {
        Some(types) if !types.text => by_schema(raw, parameters, key),
        _ => Value::from(raw).to_string(),
    }
}

/// A value that the markup says is JSON, unless the schema lets it be a string alone and it is none.
pub(super) fn as_value(raw: &str, parameters: Option<&Value>, key: &str) -> String {
    let property = parameters.and_then(|root| property(root, key));
    let types = parameters
        .zip(property)
        .and_then(|(root, schema)| types(schema, root, 0));
    let only_text = Types {
        text: true,
        ..Types::default()
    };
    let json = as_json(raw).filter(|json| types != Some(only_text) || json.starts_with('"'));
    json.unwrap_or_else(|| Value::from(raw).to_string())
}

/// The type of a JSON value, by its first byte.
pub(super) fn type_of(json: &str) -> &'static str {
    match json.trim_start().as_bytes().first() {
        Some(b'{') => "object",
        Some(b'[') => "array",
        Some(b'"') => "string",
        Some(b't' | b'f') => "boolean",
        Some(b'n') => "null",
        _ => "number",
    }
}

/// The text as JSON, if it is JSON, or a literal of Python's.
pub(super) fn as_json(raw: &str) -> Option<String> {
    json(raw).or_else(|| python_json(raw))
}

/// Whether a text is JSON, and nothing that only looks like it.
pub(super) fn is_strict(raw: &str) -> bool {
    json(raw).is_some()
}

fn json(raw: &str) -> Option<String> {
    let raw = raw.trim();
    let value: Result<serde::de::IgnoredAny, _> = serde_json::from_str(raw);
    value.is_ok().then(|| raw.to_owned())
}

/// The schema of a parameter, wherever the schema of all says it.
pub(super) fn property<'s>(root: &'s Value, key: &str) -> Option<&'s Value> {
    property_in(root, root, key)
}

/// The schema of a member of an object with this schema.
pub(super) fn property_in<'s>(schema: &'s Value, root: &'s Value, key: &str) -> Option<&'s Value> {
    let own = |schema: &'s Value| schema.get("properties").and_then(|all| all.get(key));
    let rest = |schema: &'s Value| {
        schema
            .get("additionalProperties")
            .filter(|all| all.is_object())
    };
    find(schema, root, 0, &own).or_else(|| find(schema, root, 0, &rest))
}

/// What one of the schemas says that this one is made of.
fn find<'s>(
    schema: &'s Value,
    root: &'s Value,
    depth: usize,
    own: &dyn Fn(&'s Value) -> Option<&'s Value>,
) -> Option<&'s Value> {
    if depth > MAX_DEPTH {
        return None;
    }
    if let Some(found) = own(schema) {
        return Some(found);
    }
    if let Some(target) = reference(schema, root) {
        return find(target, root, depth + 1, own);
    }
    let branches = ["allOf", "anyOf", "oneOf"].into_iter();
    let branches = branches.filter_map(|word| schema.get(word).and_then(Value::as_array));
    let mut branches = branches.flatten();
    branches.find_map(|branch| find(branch, root, depth + 1, own))
}

/// What a schema refers to, in the whole.
pub(super) fn reference<'s>(schema: &Value, root: &'s Value) -> Option<&'s Value> {
    let reference = schema.get("$ref")?.as_str()?;
    root.pointer(reference.strip_prefix('#')?)
}

/// The types that a schema names; `None` where it lets any be.
fn types(schema: &Value, root: &Value, depth: usize) -> Option<Types> {
    if depth > MAX_DEPTH {
        return None;
    }
    let mut types = Types::default();
    match schema.get("type") {
        Some(Value::String(name)) => types.add(name),
        Some(Value::Array(names)) => {
            for name in names.iter().filter_map(Value::as_str) {
                types.add(name);
            }
        }
        _ => {}
    }
    if types != Types::default() {
        return Some(types);
    }
    if let Some(value) = schema.get("const") {
        return Some(Types::of_value(value));
    }
    if let Some(values) = schema.get("enum").and_then(Value::as_array) {
        for value in values {
            types.merge(Types::of_value(value));
        }
        return Some(types);
    }
    if let Some(target) = reference(schema, root) {
        return self::types(target, root, depth + 1);
    }
    for word in ["anyOf", "oneOf"] {
        if let Some(branches) = schema.get(word).and_then(Value::as_array) {
            for branch in branches {
                types.merge(self::types(branch, root, depth + 1)?);
            }
            return Some(types);
        }
    }
    let branches = schema.get("allOf").and_then(Value::as_array)?;
    branches
        .iter()
        .find_map(|branch| self::types(branch, root, depth + 1))
}

/// A literal of Python's (or of JSON's, among them) as JSON; nothing is evaluated.
pub(super) fn python_json(text: &str) -> Option<String> {
    let mut reader = Literal {
        rest: text.trim(),
        out: String::new(),
    };
    reader.value(0)?;
    reader.rest.trim().is_empty().then_some(reader.out)
}

struct Literal<'t> {
    rest: &'t str,
    out: String,
}

impl Literal<'_> {
    fn eat(&mut self, token: &str) -> bool {
        match self.rest.strip_prefix(token) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn skip(&mut self) {
        self.rest = self.rest.trim_start();
    }

    fn value(&mut self, depth: usize) -> Option<()> {
        if depth > MAX_DEPTH {
            return None;
        }
        self.skip();
        match self.rest.bytes().next()? {
            b'{' => self.object(depth),
            b'[' => self.items("]", depth),
            b'(' => self.items(")", depth),
            b'\'' | b'"' | b'r' | b'R' | b'u' | b'U' => {
                let text = self.text()?;
                self.out.push_str(&Value::from(text).to_string());
                Some(())
            }
            b'0'..=b'9' | b'-' | b'+' | b'.' => self.number(),
            _ => self.word(),
        }
    }

    fn object(&mut self, depth: usize) -> Option<()> {
        self.eat("{");
        self.out.push('{');
        let mut is_first = true;
        loop {
            self.skip();
            if self.eat("}") {
                self.out.push('}');
                return Some(());
            }
            if !is_first {
                self.out.push_str(", ");
            }
            is_first = false;
            let key = self.text()?;
            self.out.push_str(&Value::from(key).to_string());
            self.out.push_str(": ");
            self.skip();
            if !self.eat(":") {
                return None;
            }
            self.value(depth + 1)?;
            self.skip();
            if !self.eat(",") && !self.rest.starts_with('}') {
                return None;
            }
        }
    }

    fn items(&mut self, end: &str, depth: usize) -> Option<()> {
        self.rest = &self.rest[1..];
        self.out.push('[');
        let mut is_first = true;
        loop {
            self.skip();
            if self.eat(end) {
                self.out.push(']');
                return Some(());
            }
            if !is_first {
                self.out.push_str(", ");
            }
            is_first = false;
            self.value(depth + 1)?;
            self.skip();
            if !self.eat(",") && !self.rest.starts_with(end) {
                return None;
            }
        }
    }

    fn word(&mut self) -> Option<()> {
        const WORDS: [(&str, &str); 6] = [
            ("True", "true"),
            ("False", "false"),
            ("None", "null"),
            ("true", "true"),
            ("false", "false"),
            ("null", "null"),
        ];
        let (_, json) = WORDS.iter().find(|(word, _)| self.eat(word))?;
        self.out.push_str(json);
        Some(())
    }

    /// A number: Python's has underscores, a plus, and points without a digit on one side.
    fn number(&mut self) -> Option<()> {
        let is_number = |c: char| c.is_ascii_alphanumeric() || "+-._".contains(c);
        let end = self.rest.find(|c| !is_number(c)).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        let is_json: Result<serde_json::Number, _> = serde_json::from_str(word);
        if is_json.is_ok() {
            self.out.push_str(word);
            return Some(());
        }
        let plain = word.replace('_', "");
        let plain = plain.strip_prefix('+').unwrap_or(&plain);
        let mut json = String::new();
        for (at, c) in plain.char_indices() {
            let before = plain[..at].chars().next_back();
            let after = plain[at + c.len_utf8()..].chars().next();
            if c == '.' && !before.is_some_and(|c| c.is_ascii_digit()) {
                json.push('0');
            }
            json.push(c);
            if c == '.' && !after.is_some_and(|c| c.is_ascii_digit()) {
                json.push('0');
            }
        }
        let is_json: Result<serde_json::Number, _> = serde_json::from_str(&json);
        is_json.ok()?;
        self.out.push_str(&json);
        Some(())
    }

    /// One string, or several behind each other, which are one.
    fn text(&mut self) -> Option<String> {
        let mut text = String::new();
        let mut is_first = true;
        loop {
            let is_string = self.rest.trim_start_matches(['r', 'R', 'u', 'U']);
            if !is_first && !is_string.starts_with(['\'', '"']) {
                return Some(text);
            }
            is_first = false;
            self.one_text(&mut text)?;
            self.skip();
        }
    }

    fn one_text(&mut self, text: &mut String) -> Option<()> {
        let is_raw = self.eat("r") || self.eat("R");
        let _ = self.eat("u") || self.eat("U");
        let end = ["'''", "\"\"\"", "'", "\""]
            .into_iter()
            .find(|end| self.eat(end))?;
        loop {
            if self.eat(end) {
                return Some(());
            }
            let c = self.rest.chars().next()?;
            self.rest = &self.rest[c.len_utf8()..];
            if c == '\\' && !is_raw {
                self.escape(text)?;
            } else {
                text.push(c);
                if c == '\\' {
                    let next = self.rest.chars().next()?;
                    self.rest = &self.rest[next.len_utf8()..];
                    text.push(next);
                }
            }
        }
    }

    fn escape(&mut self, text: &mut String) -> Option<()> {
        let c = self.rest.chars().next()?;
        self.rest = &self.rest[c.len_utf8()..];
        match c {
            'n' => text.push('\n'),
            't' => text.push('\t'),
            'r' => text.push('\r'),
            'b' => text.push('\u{8}'),
            'f' => text.push('\u{c}'),
            'v' => text.push('\u{b}'),
            'a' => text.push('\u{7}'),
            '\\' | '\'' | '"' | '/' => text.push(c),
            '\n' => {}
            'x' => text.push(self.code(2)?),
            'u' => text.push(self.code(4)?),
            'U' => text.push(self.code(8)?),
            '0'..='7' => {
                let more = self
                    .rest
                    .bytes()
                    .take(2)
                    .take_while(|b| matches!(b, b'0'..=b'7'));
                let more = more.count();
                let digits = format!("{c}{}", &self.rest[..more]);
                self.rest = &self.rest[more..];
                text.push(char::from_u32(u32::from_str_radix(&digits, 8).ok()?)?);
            }
            // Python leaves what is no escape as it stands.
            _ => {
                text.push('\\');
                text.push(c);
            }
        }
        Some(())
    }

    /// A character by its number; two halves of a pair are one, as JSON has it.
    fn code(&mut self, digits: usize) -> Option<char> {
        let high = self.hex(digits)?;
        if digits == 4 && (0xD800..0xDC00).contains(&high) && self.eat("\\u") {
            let low = self.hex(4)?;
            if !(0xDC00..0xE000).contains(&low) {
                return None;
            }
            return char::from_u32(0x1_0000 + ((high - 0xD800) << 10) + (low - 0xDC00));
        }
        char::from_u32(high)
    }

    fn hex(&mut self, digits: usize) -> Option<u32> {
        let word = self.rest.get(..digits)?;
        self.rest = &self.rest[digits..];
        word.bytes()
            .all(|byte| byte.is_ascii_hexdigit())
            .then_some(())?;
        u32::from_str_radix(word, 16).ok()
    }
}
