//! What a server makes of a schema, said in JSON Schema: the schema that it was sent comes in, the
//! one that it really enforces goes out. Written from the server's side, not from the compiler's.

use isogloss_core::schema::Profile;
use isogloss_core::schema::profile::{
    Additional, AllOf, Bounds, Counts, IntegerBounds, Lengths, NamePatterns, OneOf, Optional,
    OtherFormats, PatternReading, References, Siblings, Syntax, Tuples, Types, Untyped,
};
use serde_json::{Map, Value, json};

const DECIDERS: [&str; 6] = ["$ref", "const", "enum", "anyOf", "oneOf", "allOf"];
const NOTES: [&str; 7] = [
    "$defs",
    "definitions",
    "$schema",
    "$id",
    "$anchor",
    "$dynamicAnchor",
    "id",
];

/// `None` where the server refuses the schema.
///
/// That a server closes objects which say nothing of further properties is left out: all that it
/// then writes is what the client allows.
pub(crate) fn read(schema: &Value, profile: &Profile) -> Option<Value> {
    let Value::Object(map) = schema else {
        return Some(schema.clone());
    };
    let mut read = Map::new();
    if profile.counts == Counts::RequiredOnly && counts_optional(map) {
        return None;
    }
    if profile.optional == Optional::Refused && has_optional(map)
        || profile.types == Types::One && map.get("type").is_some_and(Value::is_array)
    {
        return None;
    }
    let typed = guess(map, profile)?;
    let map = &typed;
    for (keyword, value) in map {
        if is_refused(keyword, value, profile) || is_refused_beside(keyword, value, map, profile) {
            return None;
        }
        if profile.ignored.contains(keyword) || is_idle(keyword, value, map, profile) {
            continue;
        }
        read.insert(keyword.clone(), inside(keyword, value, profile)?);
    }
    if profile.siblings == Siblings::Dropped
        && let Some(first) = DECIDERS.iter().find(|keyword| read.contains_key(**keyword))
    {
        read.retain(|keyword, _| keyword == first || NOTES.contains(&keyword.as_str()));
    }
    if let Some(Value::Array(branches)) = read.get("allOf") {
        match profile.all_of {
            AllOf::Enforced => {}
            AllOf::AnyJson if branches.len() > 1 => {
                read.shift_remove("allOf");
            }
            AllOf::AnyJson => {}
            AllOf::Merged | AllOf::Refused => return None,
        }
    }
    if let Some(branches) = read.get("oneOf").cloned() {
        match profile.one_of {
            OneOf::Enforced => {}
            OneOf::AnyOf => {
                read.shift_remove("oneOf");
                read.insert("allOf".to_owned(), json!([{ "anyOf": branches }]));
            }
            OneOf::Refused => return None,
        }
    }
    numbers(&mut read, profile)?;
    text(&mut read, profile)?;
    array(&mut read, profile)?;
    object(&mut read, profile);
    Some(Value::Object(read))
}

/// Numbers that are errors, or read otherwise.
fn numbers(read: &mut Map<String, Value>, profile: &Profile) -> Option<()> {
    let number = |keyword: &str| read.get(keyword).and_then(Value::as_f64);
    if let Some(most) = profile.most_repeats {
        for (lower, upper) in [("minLength", "maxLength"), ("minItems", "maxItems")] {
            let (least, upto) = (number(lower), number(upper));
            #[expect(clippy::cast_precision_loss, reason = "some thousands")]
            let is_over = |count: Option<f64>| count.is_some_and(|count| count > most as f64);
            if is_over(least) || is_over(upto) || least.zip(upto).is_some_and(|(a, b)| a > b) {
                return None;
            }
        }
    }
    if profile.ref_words && has_ref_word(read) {
        return None;
    }
    if profile.ascii_names
        && let Some(Value::Object(named)) = read.get("properties")
        && named.len() > 1
        && !named.keys().all(|name| name.is_ascii())
        && let Some(rest) = read.get("additionalProperties")
        && *rest != json!(false)
    {
        return None;
    }
    if profile.plain_names
        && let Some(Value::Object(named)) = read.get("properties")
        && named
            .keys()
            .any(|name| json!(name).to_string().contains('\\'))
    {
        return None;
    }
    let is_whole = match read.get("type") {
        Some(Value::Array(types)) => types.contains(&json!("integer")),
        Some(kind) => kind == "integer",
        None => false,
    };
    if profile.integer_bounds == IntegerBounds::Any || !is_whole {
        return Some(());
    }
    let bits = i32::try_from(profile.bound_bits.unwrap_or(63)).unwrap_or(63);
    let is_error = |bound: Option<f64>| {
        bound.is_some_and(|bound| bound.fract() != 0.0 || bound.abs() > 2_f64.powi(bits))
    };
    let bounds = ["minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum"].map(number);
    let [least, above, most, below] = bounds;
    if bounds.into_iter().any(is_error)
        || least
            .or(above)
            .zip(most.or(below))
            .is_some_and(|(a, b)| a > b)
    {
        return None;
    }
    // Alone, what has several digits is not what it says.
    if profile.integer_bounds == IntegerBounds::Paired {
        let alone = (least.or(above), most.or(below));
        if matches!(alone, (Some(lower), None) if lower > 9.0)
            || matches!(alone, (None, Some(upper)) if upper < 0.0)
        {
            return None;
        }
    }
    Some(())
}

/// Whether what is no reference is called like one: a property, or something in a value or in a note. Subschemas have been
/// read by now.
fn has_ref_word(read: &Map<String, Value>) -> bool {
    const SCHEMAS: [&str; 9] = [
        "properties",
        "items",
        "anyOf",
        "allOf",
        "oneOf",
        "additionalProperties",
        "$defs",
        "definitions",
        "prefixItems",
    ];
    fn says(value: &Value) -> bool {
        match value {
            Value::Array(items) => items.iter().any(says),
            Value::Object(map) => map.contains_key("$ref") || map.values().any(says),
            _ => false,
        }
    }
    let named = read.get("properties").and_then(|named| named.get("$ref"));
    let is_word =
        |(keyword, value): (&String, &Value)| !SCHEMAS.contains(&keyword.as_str()) && says(value);
    named.is_some() || read.iter().any(is_word)
}

/// Whether a pattern lets a quote through, which ends the string that it stands in.
fn lets_quotes_through(pattern: &str) -> bool {
    let mut chars = pattern.chars().peekable();
    let (mut class, mut is_negated) = (None::<String>, false);
    while let Some(c) = chars.next() {
        match (c, &mut class) {
            ('\\', Some(class)) => class.extend(['\\', chars.next().unwrap_or_default()]),
            ('\\', None) => {
                let escaped = chars.next().unwrap_or_default();
                if "SDWsn\\\"".contains(escaped) {
                    return true;
                }
            }
            ('[', None) => {
                is_negated = chars.next_if_eq(&'^').is_some();
                class = Some(String::new());
            }
            (']', Some(text)) => {
                let has_quote = text.contains('"');
                if is_negated != has_quote {
                    return true;
                }
                class = None;
            }
            (c, Some(class)) => class.push(c),
            ('.' | '"', None) => return true,
            _ => {}
        }
    }
    false
}

/// How often anything repeats in a pattern at most.
fn repeats(pattern: &str) -> u64 {
    let counts = pattern.split('{').skip(1);
    let counts = counts.filter_map(|rest| rest.split('}').next());
    let counts = counts.flat_map(|bounds| bounds.split(',').filter_map(|it| it.parse().ok()));
    counts.max().unwrap_or(0)
}

/// The type that a schema is taken to be of, and what then counts.
fn guess(map: &Map<String, Value>, profile: &Profile) -> Option<Map<String, Value>> {
    let mut map = map.clone();
    let decides = DECIDERS.iter().any(|keyword| map.contains_key(*keyword));
    if profile.untyped == Untyped::Enforced || map.contains_key("type") || decides {
        return Some(map);
    }
    let spoken = |keyword: &String| kind(keyword).filter(|_| !profile.ignored.contains(keyword));
    let guessed = map.keys().find(|keyword| {
        profile.guessed.contains(keyword) && !is_idle(keyword, &map[*keyword], &map, profile)
    });
    if let Some(kind) = guessed.and_then(spoken) {
        map.insert("type".to_owned(), json!(kind));
    } else if profile.untyped == Untyped::Refused && !map.is_empty() {
        return None;
    } else {
        map.retain(|keyword, _| kind(keyword).is_none());
    }
    Some(map)
}

fn kind(keyword: &str) -> Option<&'static str> {
    const OF: [(&str, &[&str]); 4] = [
        (
            "object",
            &[
                "properties",
                "required",
                "additionalProperties",
                "patternProperties",
                "propertyNames",
                "minProperties",
                "maxProperties",
            ],
        ),
        ("array", &["items", "prefixItems", "minItems", "maxItems"]),
        ("string", &["pattern", "format", "minLength", "maxLength"]),
        (
            "number",
            &[
                "minimum",
                "maximum",
                "exclusiveMinimum",
                "exclusiveMaximum",
                "multipleOf",
            ],
        ),
    ];
    let found = OF.iter().find(|(_, keywords)| keywords.contains(&keyword));
    found.map(|(kind, _)| *kind)
}

fn is_refused_beside(
    keyword: &str,
    value: &Value,
    map: &Map<String, Value>,
    profile: &Profile,
) -> bool {
    let is_boolean = |value: &Value| value.is_boolean();
    let holds_boolean = match (keyword, value) {
        ("properties" | "patternProperties", Value::Object(named)) => {
            named.values().any(is_boolean)
        }
        ("anyOf" | "oneOf" | "allOf" | "prefixItems", Value::Array(all)) => {
            all.iter().any(is_boolean)
        }
        ("items" | "additionalProperties" | "contains" | "propertyNames" | "not", value) => {
            value.is_boolean()
        }
        _ => false,
    };
    let is_ignored = profile.ignored.iter().any(|known| known == keyword);
    let takes = profile.booleans.as_ref();
    if holds_boolean && !is_ignored && takes.is_some_and(|it| !it.iter().any(|it| it == keyword)) {
        return true;
    }
    let has = |keyword: &str| map.contains_key(keyword);
    match keyword {
        "$ref" => value.as_str().is_some_and(|text| match profile.references {
            References::Enforced => false,
            References::Plain => !(text == "#" || text.starts_with("#/") && !text.contains('~')),
            References::Below => !text.starts_with("#/") || text.contains('~'),
            References::Definitions => {
                !text.starts_with("#/$defs/") && !text.starts_with("#/definitions/")
            }
        }),
        "$dynamicRef" | "$recursiveRef" => true,
        "patternProperties" if profile.name_patterns == NamePatterns::Alone => {
            has("properties") || value.as_object().is_some_and(|all| all.len() > 1)
        }
        "propertyNames" if profile.name_patterns == NamePatterns::Alone => {
            has("properties")
                || has("patternProperties")
                || map
                    .get("additionalProperties")
                    .is_some_and(Value::is_object)
        }
        "items" if profile.tuples == Tuples::Whole => has("prefixItems"),
        _ => false,
    }
}

fn array(read: &mut Map<String, Value>, profile: &Profile) -> Option<()> {
    if profile.tuples == Tuples::Whole
        && let Some(Value::Array(all)) = read.get("prefixItems")
    {
        let count = all.len();
        read.insert("minItems".to_owned(), json!(count));
        read.insert("maxItems".to_owned(), json!(count));
    }
    let is = |kind: &str| match read.get("type") {
        Some(Value::Array(kinds)) => kinds.iter().any(|it| it == kind),
        Some(one) => one == kind,
        None => false,
    };
    let has = |keyword: &str| read.contains_key(keyword);
    if profile.only_bare_is_open && is("array") && !has("items") && read.len() > 1 {
        let most = read
            .get("prefixItems")
            .and_then(Value::as_array)
            .map_or(0, Vec::len);
        let least = read.get("minItems").and_then(Value::as_u64).unwrap_or(0);
        let notes = ["type", "title", "description"];
        if read.keys().all(|it| notes.contains(&it.as_str())) {
            return Some(());
        }
        if least > most as u64 {
            return None;
        }
        // That a tuple ends with its last named item is left out, as with objects.
        if most == 0 {
            read.insert("maxItems".to_owned(), json!(0));
        }
    }
    Some(())
}

fn object(read: &mut Map<String, Value>, profile: &Profile) {
    if profile.additional != Additional::Closed {
        return;
    }
    let named = read.get("properties").and_then(Value::as_object);
    let known: Vec<Value> = named
        .into_iter()
        .flatten()
        .map(|(name, _)| json!(name))
        .collect();
    let required = read.get("required").and_then(Value::as_array);
    let read_of: Vec<Value> = required
        .into_iter()
        .flatten()
        .filter(|name| known.contains(name))
        .cloned()
        .collect();
    let is_object = read.get("type") == Some(&json!("object"));
    let bare = ["type", "title", "description"];
    let is_bare = read.keys().all(|it| bare.contains(&it.as_str()));
    let rest = [
        "properties",
        "patternProperties",
        "propertyNames",
        "additionalProperties",
    ];
    if profile.only_bare_is_open
        && is_object
        && !is_bare
        && !rest.iter().any(|it| read.contains_key(*it))
    {
        read.insert("additionalProperties".to_owned(), json!(false));
    }
    if read.contains_key("required") {
        read.insert("required".to_owned(), json!(read_of));
    }
    if profile.name_patterns != NamePatterns::Enforced
        && let Some(Value::Object(patterns)) = read.get("patternProperties")
    {
        let whole: Map<String, Value> = patterns
            .iter()
            .map(|(pattern, schema)| (format!("^(?:{pattern})$"), schema.clone()))
            .collect();
        read.insert("patternProperties".to_owned(), Value::Object(whole));
        if !read.contains_key("properties") && read.contains_key("additionalProperties") {
            read.insert("additionalProperties".to_owned(), json!(false));
        }
    }
}

fn is_refused(keyword: &str, value: &Value, profile: &Profile) -> bool {
    let unknown = |known: &Vec<String>| !known.iter().any(|name| value == name);
    let many = |value: &Value| {
        let most = profile.max_min_items;
        most.is_some_and(|most| value.as_u64().is_some_and(|least| least > most))
    };
    profile.removed.iter().any(|removed| removed == keyword)
        || profile
            .known
            .as_ref()
            .is_some_and(|known| !known.iter().any(|name| name == keyword))
        || keyword == "minItems" && many(value)
        || keyword == "format"
            && profile.other_formats == OtherFormats::Refused
            && profile.formats.as_ref().is_some_and(unknown)
}

/// Keywords that count for nothing here.
fn is_idle(keyword: &str, value: &Value, map: &Map<String, Value>, profile: &Profile) -> bool {
    let bounds = ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"];
    let unknown = |known: &Vec<String>| !known.iter().any(|name| value == name);
    keyword == "format" && profile.formats.as_ref().is_some_and(unknown)
        || bounds.contains(&keyword)
            && profile.bounds == Bounds::Integers
            && map.get("type") != Some(&json!("integer"))
}

/// A named property that is not required, and that does not contain its own kind: no server can
/// require such a one.
fn has_optional(map: &Map<String, Value>) -> bool {
    let named = map.get("properties").and_then(Value::as_object);
    let required = map.get("required").and_then(Value::as_array);
    let is_required = |name: &str| required.is_some_and(|names| names.iter().any(|it| it == name));
    named
        .into_iter()
        .flatten()
        .any(|(name, schema)| !is_required(name) && !schema.to_string().contains("\"$ref\""))
}

/// llguidance: it counts only where all named properties are required, or where one of them, and
/// nothing else, may be there or must.
fn counts_optional(map: &Map<String, Value>) -> bool {
    let count = |keyword: &str| map.get(keyword).and_then(Value::as_u64);
    let (least, most) = (count("minProperties"), count("maxProperties"));
    let named = map.get("properties").and_then(Value::as_object);
    let required = map.get("required").and_then(Value::as_array);
    let is_required =
        |name: &String| required.is_some_and(|names| names.iter().any(|it| it == name));
    let (fixed, optional): (Vec<&String>, Vec<&String>) = named
        .into_iter()
        .flat_map(Map::keys)
        .partition(|name| is_required(name));
    let fixed = fixed.len() as u64;
    if optional.is_empty() || least.unwrap_or(0) <= fixed && most.is_none() {
        return false;
    }
    let is_closed = map.get("additionalProperties") == Some(&json!(false))
        && !map.contains_key("patternProperties");
    let is_one = least.unwrap_or(0) <= fixed + 1 && most.is_none_or(|most| most == fixed + 1);
    !(is_closed && is_one)
}

fn text(read: &mut Map<String, Value>, profile: &Profile) -> Option<()> {
    let is_shaped = read.contains_key("pattern") || read.contains_key("format");
    for keyword in ["minLength", "maxLength"] {
        if is_shaped && read.contains_key(keyword) {
            match profile.lengths {
                Lengths::Enforced => {}
                Lengths::Ignored => {
                    read.shift_remove(keyword);
                }
                Lengths::Refused => return None,
            }
        }
    }
    if let (PatternReading::Whole, Some(Value::String(pattern))) =
        (profile.pattern, read.get_mut("pattern"))
    {
        *pattern = format!("^(?:{pattern})$");
    }
    let is_plain = |pattern: &str| {
        let mut rest = pattern.split('\\').skip(1);
        let named = rest.any(|after| after.starts_with(['d', 'w', 's', 'D', 'W', 'S', 'b', 'p']));
        !named && !["*?", "+?", "}?"].iter().any(|lazy| pattern.contains(lazy))
    };
    let pattern = read.get("pattern").and_then(Value::as_str);
    let most = profile.pattern_repeats;
    if pattern.is_some_and(|pattern| most.is_some_and(|most| repeats(pattern) > most)) {
        return None;
    }
    let is_ended = profile.raw_patterns && pattern.is_some_and(lets_quotes_through);
    if is_ended {
        read.shift_remove("pattern");
    }
    let pattern = read.get("pattern").and_then(Value::as_str);
    if profile.syntax == Syntax::Plain && pattern.is_some_and(|pattern| !is_plain(pattern)) {
        read.shift_remove("pattern");
    }
    Some(())
}

fn inside(keyword: &str, value: &Value, profile: &Profile) -> Option<Value> {
    match (keyword, value) {
        (
            "properties" | "$defs" | "definitions" | "patternProperties" | "dependentSchemas"
            | "dependencies",
            Value::Object(named),
        ) => {
            let read = named
                .iter()
                .map(|(name, schema)| Some((name.clone(), self::read(schema, profile)?)));
            read.collect::<Option<Map<_, _>>>().map(Value::Object)
        }
        ("anyOf" | "oneOf" | "allOf" | "prefixItems" | "items", Value::Array(schemas)) => {
            let read = schemas.iter().map(|schema| self::read(schema, profile));
            read.collect::<Option<Vec<_>>>().map(Value::Array)
        }
        // Names are strings, whether it is said or not.
        ("propertyNames", Value::Object(names)) => {
            let mut names = names.clone();
            names.entry("type").or_insert_with(|| json!("string"));
            read(&Value::Object(names), profile)
        }
        (
            "items"
            | "additionalProperties"
            | "additionalItems"
            | "contains"
            | "not"
            | "if"
            | "then"
            | "else"
            | "unevaluatedProperties"
            | "unevaluatedItems",
            Value::Object(_),
        ) => read(value, profile),
        _ => Some(value.clone()),
    }
}
