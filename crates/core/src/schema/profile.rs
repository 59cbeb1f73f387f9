//! What a server makes of JSON Schema: the closed vocabulary in which rule files say it. Data in,
//! nothing out: [`super::lower()`] reads it.

use super::number::{BOUNDS, count_of};
use super::position::{Holds, holds};
use serde_json::{Map, Value};

/// Texts of models are seldom shorter than this, in characters.
const SHORT: u64 = 8;
/// Texts that may be so long have line breaks and quotes, and seldom end for their length.
const LONG: u64 = 1000;

/// Whether `type` says this type, alone or among others.
fn names_type(says: &Value, name: &str) -> bool {
    match says {
        Value::Array(names) => names.iter().any(|it| it == name),
        one => one == name,
    }
}

/// Keywords beside `$ref`, `const`, `enum`, `anyOf`, `oneOf` or `allOf`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Siblings {
    /// They hold too, as JSON Schema says.
    #[default]
    Enforced,
    /// The first of those decides, the others and all that is beside them count for nothing.
    Dropped,
}

/// Properties that a schema does not name, where it says nothing of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Additional {
    /// Allowed, as JSON Schema says.
    #[default]
    Open,
    /// Not allowed where the schema names others.
    Closed,
    /// Never allowed: `additionalProperties` must be there and `false`.
    ClosedOnly,
}

/// How a `pattern` without anchors is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PatternReading {
    /// It may match anywhere in the text, as JSON Schema says.
    #[default]
    Search,
    /// It must match the whole text, or is not taken at all.
    Whole,
    /// Anchors are refused, and what looks around; how it is read without them is not known.
    Bare,
}

/// `minLength` and `maxLength` beside `pattern` or `format`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Lengths {
    /// All of them hold.
    #[default]
    Enforced,
    /// The lengths count for nothing.
    Ignored,
    /// The schema is refused.
    Refused,
}

/// `oneOf`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OneOf {
    /// Exactly one branch holds.
    #[default]
    Enforced,
    /// Read as `anyOf`.
    AnyOf,
    /// The schema is refused.
    Refused,
}

/// `allOf`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AllOf {
    /// Every branch holds.
    #[default]
    Enforced,
    /// One branch holds; several let any JSON pass.
    AnyJson,
    /// The branches are put together, but not to what they mean.
    Merged,
    /// The schema is refused.
    Refused,
}

/// `minProperties` and `maxProperties`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Counts {
    /// They hold.
    #[default]
    Enforced,
    /// The schema is refused where it names properties that may be left out; unless no others are
    /// allowed, and it is at most one of them, at least one, or both.
    RequiredOnly,
}

/// Formats that a server does not know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OtherFormats {
    /// The schema is refused.
    #[default]
    Refused,
    /// They count for nothing.
    Ignored,
}

/// Bounds of numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Bounds {
    /// They hold.
    #[default]
    Enforced,
    /// They hold where the type is `integer` alone, and count for nothing else.
    Integers,
    /// They hold for whole numbers, but for a lower one below zero that stands alone; those of others are read wrongly.
    Wrong,
}

/// `type` with a list of types.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Types {
    /// Any of them.
    #[default]
    Many,
    /// The schema is refused: one type is all that may stand there.
    One,
}

/// Properties that may be left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Optional {
    /// They may.
    #[default]
    Allowed,
    /// The schema is refused where it names one.
    Refused,
}

/// A schema that refers to itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Recursion {
    /// As deep as it goes.
    #[default]
    Enforced,
    /// To some depth, without a word.
    Bounded,
    /// A schema that refers to itself is an error.
    Refused,
}

/// Keywords where the schema says no type: they hold for the types that they speak of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Untyped {
    /// They hold, as JSON Schema says.
    #[default]
    Enforced,
    /// They count for nothing, but for those from which the server guesses a type.
    Ignored,
    /// The schema is refused, but for the empty one, and those from which the server guesses a type.
    Refused,
}

/// What `$ref` may lead to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum References {
    /// Any schema within the schema, by place, `$id` or `$anchor`. No server knows `$dynamicRef`.
    #[default]
    Enforced,
    /// The root (`#`), or a place below it whose name needs no escapes: other references let
    /// everything pass, or are refused.
    Plain,
    /// Such a place, but not the root.
    Below,
    /// A definition at the root.
    Definitions,
}

/// `prefixItems`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Tuples {
    /// They hold, and what else is said of items holds too.
    #[default]
    Enforced,
    /// An array has exactly these items; `items` beside them decides alone, or is not read, and
    /// counts of items are not read.
    Whole,
}

/// `patternProperties`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum NamePatterns {
    /// They hold.
    #[default]
    Enforced,
    /// They hold, each for whole names. Where no property is named, there are no others, and
    /// `required` counts for nothing.
    Whole,
    /// As [`NamePatterns::Whole`]; beside `properties`, or several of them, they are refused, as is
    /// `propertyNames` beside any of these or a schema of other properties.
    Alone,
}

/// Which regexes of `pattern` the server reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Syntax {
    /// All that are regular.
    #[default]
    Regular,
    /// Those without named classes (`\d`) and lazy repetitions: others count for nothing.
    Plain,
    /// All but those with boundaries of words (`\b`).
    Unbounded,
}

/// Bounds of whole numbers that a server is to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum IntegerBounds {
    /// Any numbers.
    #[default]
    Any,
    /// Whole numbers of at most so many bits, the lower one not above the upper one; others are
    /// refused.
    Whole,
    /// As [`IntegerBounds::Whole`]; and where only one of two is there, it is read wrongly if it has
    /// several digits, and may bring the server down.
    Paired,
}

/// What a server makes of JSON Schema. The default is a server that enforces all of it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Profile {
    /// Keywords that the server refuses: taken out of what it is sent.
    pub removed: Vec<String>,
    /// The string formats that the server knows, where it refuses all others. `None` where it
    /// refuses none.
    pub formats: Option<Vec<String>>,
    /// Keywords that the server accepts and ignores.
    pub ignored: Vec<String>,
    /// Keywords beside those that decide alone.
    pub siblings: Siblings,
    /// Properties that a schema does not name.
    pub additional: Additional,
    /// Patterns without anchors.
    pub pattern: PatternReading,
    /// Lengths beside `pattern` or `format`.
    pub lengths: Lengths,
    /// `oneOf`.
    pub one_of: OneOf,
    /// `allOf`.
    pub all_of: AllOf,
    /// Counts of properties.
    pub counts: Counts,
    /// The only keywords that the server takes, where it refuses all others. `None` where it does
    /// not.
    pub known: Option<Vec<String>>,
    /// Formats that the server does not know, where `formats` are those that it does.
    pub other_formats: OtherFormats,
    /// Bounds of numbers.
    pub bounds: Bounds,
    /// Lists of types.
    pub types: Types,
    /// Properties that may be left out.
    pub optional: Optional,
    /// Schemas that refer to themselves.
    pub recursion: Recursion,
    /// Keywords where the schema says no type.
    pub untyped: Untyped,
    /// Keywords from which the server guesses the type that they speak of, where the schema says
    /// none.
    pub guessed: Vec<String>,
    /// What `$ref` may lead to.
    pub references: References,
    /// `prefixItems`.
    pub tuples: Tuples,
    /// `patternProperties`.
    pub name_patterns: NamePatterns,
    /// Which patterns the server reads.
    pub syntax: Syntax,
    /// The only keywords under which `true` and `false` are taken for schemas. `None` where they
    /// are taken everywhere.
    pub booleans: Option<Vec<String>>,
    /// Whether `object` and `array` are open only where nothing else is said of them.
    pub only_bare_is_open: bool,
    /// The largest `minItems` that the server takes.
    pub max_min_items: Option<u64>,
    /// Bounds of whole numbers.
    pub integer_bounds: IntegerBounds,
    /// How many bits such a bound may have; 63 where nothing is said.
    pub bound_bits: Option<u64>,
    /// Whether numbers are read as 64-bit floats, and ranges of them written as regexes.
    pub float_numbers: bool,
    /// The largest length and count of items that the server takes.
    pub most_repeats: Option<u64>,
    /// How many there may be of all lengths and counts of items together.
    pub repeats_in_all: Option<u64>,
    /// How often something may repeat in a pattern.
    pub pattern_repeats: Option<u64>,
    /// Whether a pattern's characters go into the JSON as they are, where a quote ends the string.
    pub raw_patterns: bool,
    /// Whether a client's own regex is read otherwise where it has `\x2d` before a digit, or a class that begins with an escaped
    /// caret, and not at all with `\p`.
    pub odd_escapes: bool,
    /// Whether a text with a length alone is written without escapes: no quote, backslash or line break can stand in it.
    pub plain_lengths: bool,
    /// Whether all ways of a text through a pattern are followed, each by itself.
    pub one_way: bool,
    /// Whether grammars are read as llama.cpp reads GBNF: few words, and none that begins with itself.
    pub plain_grammars: bool,
    /// Whether classes of patterns are read rightly within ASCII alone.
    pub ascii_classes: bool,
    /// Whether the server takes no names of properties that need an escape.
    pub plain_names: bool,
    /// Whether the server takes names of several properties beside open ones within ASCII alone.
    pub ascii_names: bool,
    /// Whether the server follows `$ref` in every object of the schema, whatever it means there.
    pub ref_words: bool,
    /// Whether the server takes no empty schema at the root.
    pub any_in_words: bool,
    /// Whether it takes none there, and JSON mode is the nearest to it.
    pub any_as_object: bool,
    /// Whether a `$ref` at the root hides the definitions beside it.
    pub plain_root: bool,
    /// Keywords without which, at the root, the server takes no schema.
    pub needs: Vec<String>,
    /// Whether all of this holds only where the client asks for `strict`.
    pub strict_only: bool,
    /// Whether `strict` goes along only where the client says it: not every model of the server's knows it.
    pub strict_stated: bool,
    /// Whether a schema is held only with `strict`, which takes any: it goes along where the client's dialect has no word for it.
    pub says_strict: bool,
    /// Whether no tool may have alternatives at the root of its parameters, nor lists without items.
    pub plain_tools: bool,
    /// Whether a tool's parameters say themselves that they are an object, rather than by a reference at the root.
    pub object_tools: bool,
    /// Whether a tool's patterns are compiled, strict or not, by an engine without look-around.
    pub plain_patterns: bool,
    /// Whether a tool's parameters list their properties, if there are none.
    pub listed_tools: bool,
    /// Whether no tool may require what its `properties` do not name, nor say anything beside a `$ref`.
    pub defined_tools: bool,
    /// Whether the model reads the schema: what is not held is told in its descriptions.
    pub describes: bool,
    /// Whether tools that are `strict` are held to this too.
    pub strict_tools: bool,
    /// Keywords without which the server takes no object within a schema.
    pub needs_within: Vec<String>,
    /// Whether `properties` and `prefixItems` stand alone: a schema of other properties beside the one, and counts of items
    /// beside the other, are refused, as is `required` without `properties`.
    pub stands_alone: bool,
}

impl Profile {
    /// Whether the server accepts the keyword and ignores it.
    pub(super) fn ignores(&self, keyword: &str) -> bool {
        self.ignored.iter().any(|ignored| ignored == keyword)
    }

    /// Whether the server refuses the keyword among these: a count of properties.
    pub(super) fn refuses_count(&self, keyword: &str, map: &Map<String, Value>) -> bool {
        const COUNTS: [&str; 2] = ["minProperties", "maxProperties"];
        if self.counts == Counts::Enforced || !COUNTS.contains(&keyword) {
            return false;
        }
        // What other keywords name is not counted out here.
        let applicators = ["$ref", "allOf", "anyOf", "oneOf"];
        if applicators.iter().any(|other| map.contains_key(*other)) {
            return true;
        }
        let required = map.get("required").and_then(Value::as_array);
        let is_required =
            |name: &String| required.is_some_and(|list| list.iter().any(|it| it == name));
        let named = map.get("properties").and_then(Value::as_object);
        let names = || named.into_iter().flat_map(Map::keys);
        let fixed = names().filter(|name| is_required(name)).count() as u64;
        let beyond = |keyword: &str| Some(count_of(map.get(keyword)?)?.saturating_sub(fixed));
        let (least, most) = (beyond(COUNTS[0]).unwrap_or(0), beyond(COUNTS[1]));
        if names().all(is_required) || least == 0 && !map.contains_key(COUNTS[1]) {
            return false;
        }
        let is_one = least <= 1
            && most.unwrap_or(1) == 1
            && !map.contains_key("patternProperties")
            && map.get("additionalProperties") == Some(&Value::Bool(false));
        !is_one
    }

    /// Whether the server refuses the keyword with this value.
    pub(super) fn refuses(&self, keyword: &str, value: &Value) -> bool {
        self.removed.iter().any(|removed| removed == keyword)
            || self
                .known
                .as_ref()
                .is_some_and(|known| !known.iter().any(|name| name == keyword))
            || self.other_formats == OtherFormats::Refused && self.lacks_format(keyword, value)
    }

    /// Whether the server refuses the keyword among these: names by patterns beside others.
    pub(super) fn refuses_among(&self, keyword: &str, map: &Map<String, Value>) -> bool {
        if self.name_patterns != NamePatterns::Alone {
            return false;
        }
        let has = |other: &str| map.contains_key(other);
        match keyword {
            "patternProperties" => {
                let patterns = map.get(keyword).and_then(Value::as_object);
                has("properties") || patterns.is_some_and(|patterns| patterns.len() > 1)
            }
            "propertyNames" => {
                has("properties")
                    || has("patternProperties")
                    || map
                        .get("additionalProperties")
                        .is_some_and(Value::is_object)
                    || map
                        .get("unevaluatedProperties")
                        .is_some_and(|rest| *rest != Value::Bool(true))
            }
            _ => false,
        }
    }

    /// Whether the server reads the keyword among these wrongly, or writes less for it than texts need that keep to it anyway: it is
    /// left to the proxy.
    pub(super) fn misreads(&self, keyword: &str, map: &Map<String, Value>) -> bool {
        let is_bound = BOUNDS.contains(&keyword);
        if is_bound && self.bounds == Bounds::Wrong {
            let types = map.get("type");
            return types.is_none_or(|it| names_type(it, "number"));
        }
        self.writes_plainly(keyword, map) && {
            let count = |keyword: &str| map.get(keyword).and_then(count_of);
            count("minLength").is_none_or(|least| least <= SHORT)
                && count("maxLength").is_none_or(|most| most >= LONG)
        }
    }

    /// Whether the keyword is a length for which the server writes texts without escapes.
    pub(super) fn writes_plainly(&self, keyword: &str, map: &Map<String, Value>) -> bool {
        const SHAPES: [&str; 4] = ["pattern", "format", "enum", "const"];
        let Some(length) = map.get(keyword).filter(|_| self.plain_lengths) else {
            return false;
        };
        let is_length = match keyword {
            "minLength" => count_of(length) != Some(0),
            keyword => keyword == "maxLength",
        };
        let is_text = || map.get("type").is_some_and(|it| names_type(it, "string"));
        is_length && is_text() && !SHAPES.iter().any(|name| map.contains_key(*name))
    }

    /// Whether a reference leads to a place that the server is not sent: under a keyword that it
    /// does not know.
    pub(super) fn lacks_target(&self, reference: &Value) -> bool {
        let Some(known) = &self.known else {
            return false;
        };
        let pointer = reference.as_str().and_then(|text| text.strip_prefix("#/"));
        let mut steps = pointer.into_iter().flat_map(|pointer| pointer.split('/'));
        while let Some(keyword) = steps.next() {
            if !known.iter().any(|name| name == keyword) {
                return true;
            }
            // A name, or a place in a list.
            if !matches!(holds(keyword), Some((Holds::One, _))) {
                steps.next();
            }
        }
        false
    }

    /// Whether this is a format that the server does not know.
    pub(super) fn lacks_format(&self, keyword: &str, value: &Value) -> bool {
        let is_unknown = |known: &Vec<String>| !known.iter().any(|name| value == name);
        keyword == "format" && self.formats.as_ref().is_some_and(is_unknown)
    }

    /// Whether the server accepts the keyword among these and ignores it.
    pub(super) fn ignores_among(&self, keyword: &str, map: &Map<String, Value>) -> bool {
        let is_loose = self.bounds == Bounds::Integers
            && BOUNDS.contains(&keyword)
            && map.get("type") != Some(&Value::from("integer"));
        self.ignores(keyword)
            || is_loose
            || self.other_formats == OtherFormats::Ignored
                && self.lacks_format(keyword, &map[keyword])
                && super::lower::asserts(&map[keyword])
    }
}
