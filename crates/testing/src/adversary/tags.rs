//! Structural tags: what a text is to be, how clients state it in both generations of the
//! description, and the demands that do.

use super::demands::{Calls, Demand, Want, function, schema, stated};
use serde_json::{Value, json};

/// What a stretch of text must be.
#[derive(Debug, Clone)]
pub enum Shape {
    /// This text.
    Const(&'static str),
    /// JSON of the schema with this name.
    Json(&'static str),
    /// A text that this pattern matches, and some that it does.
    Pattern(&'static str, &'static [&'static str]),
    /// Any text without these, up to the end of what it stands in.
    Free(&'static [&'static str]),
    Seq(Vec<Self>),
    Or(Vec<Self>),
    Tag(Tag),
    /// So many times, with no end where there is none.
    Repeat(Box<Self>, usize, Option<usize>),
    /// Free text, in which each trigger begins a tag.
    Triggered(Triggered),
    /// Tags, and the same text between them.
    Separated(Vec<Tag>, &'static str, Bounds),
}

/// What stands between two texts.
#[derive(Debug, Clone)]
pub struct Tag {
    pub begin: &'static str,
    pub content: Box<Shape>,
    pub end: &'static str,
}

#[derive(Debug, Clone)]
pub struct Triggered {
    pub triggers: Vec<&'static str>,
    pub tags: Vec<Tag>,
    pub excludes: &'static [&'static str],
    pub bounds: Bounds,
}

/// How many tags there are to be.
#[derive(Debug, Clone, Copy, Default)]
pub struct Bounds {
    pub at_least_one: bool,
    pub stop_after_first: bool,
}

const ANY: Bounds = Bounds {
    at_least_one: false,
    stop_after_first: false,
};
const SOME: Bounds = Bounds {
    at_least_one: true,
    ..ANY
};
const ONE: Bounds = Bounds {
    at_least_one: true,
    stop_after_first: true,
};
const FIRST: Bounds = Bounds {
    stop_after_first: true,
    ..ANY
};

impl Shape {
    /// As the newer generation has it: a `format`.
    fn format(&self) -> Value {
        let all = |parts: &[Self]| parts.iter().map(Self::format).collect::<Value>();
        match self {
            Self::Const(value) => json!({"type": "const_string", "value": value}),
            Self::Json(name) => json!({"type": "json_schema", "json_schema": schema(name)}),
            Self::Pattern(pattern, _) => json!({"type": "regex", "pattern": pattern}),
            Self::Free([]) => json!({"type": "any_text"}),
            Self::Free(excludes) => json!({"type": "any_text", "excludes": excludes}),
            Self::Seq(parts) => json!({"type": "sequence", "elements": all(parts)}),
            Self::Or(parts) => json!({"type": "or", "elements": all(parts)}),
            Self::Tag(tag) => tag.format(),
            Self::Repeat(part, 0, Some(1)) => json!({"type": "optional", "content": part.format()}),
            Self::Repeat(part, 0, None) => json!({"type": "star", "content": part.format()}),
            Self::Repeat(part, 1, None) => json!({"type": "plus", "content": part.format()}),
            Self::Repeat(part, min, max) => {
                let max = max.map_or(json!(-1), |max| json!(max));
                json!({"type": "repeat", "content": part.format(), "min": min, "max": max})
            }
            Self::Triggered(triggered) => {
                let tags: Value = triggered.tags.iter().map(Tag::format).collect();
                let mut format =
                    json!({"type": "triggered_tags", "triggers": triggered.triggers, "tags": tags});
                if !triggered.excludes.is_empty() {
                    format["excludes"] = json!(triggered.excludes);
                }
                triggered.bounds.state(format)
            }
            Self::Separated(tags, separator, bounds) => {
                let tags: Value = tags.iter().map(Tag::format).collect();
                bounds.state(
                    json!({"type": "tags_with_separator", "tags": tags, "separator": separator}),
                )
            }
        }
    }

    /// The schemas in it, by name.
    pub fn schemas(&self) -> Vec<&'static str> {
        let all = |parts: &[Self]| parts.iter().flat_map(Self::schemas).collect();
        let tags = |tags: &[Tag]| tags.iter().flat_map(|tag| tag.content.schemas()).collect();
        match self {
            Self::Json(name) => vec![name],
            Self::Seq(parts) | Self::Or(parts) => all(parts),
            Self::Tag(tag) => tag.content.schemas(),
            Self::Repeat(part, ..) => part.schemas(),
            Self::Triggered(Triggered { tags: its, .. }) | Self::Separated(its, ..) => tags(its),
            Self::Const(_) | Self::Pattern(..) | Self::Free(_) => Vec::new(),
        }
    }

    /// The patterns in it.
    pub fn patterns(&self) -> Vec<&'static str> {
        let all = |parts: &[Self]| parts.iter().flat_map(Self::patterns).collect();
        let tags = |tags: &[Tag]| tags.iter().flat_map(|tag| tag.content.patterns()).collect();
        match self {
            Self::Pattern(pattern, _) => vec![pattern],
            Self::Seq(parts) | Self::Or(parts) => all(parts),
            Self::Tag(tag) => tag.content.patterns(),
            Self::Repeat(part, ..) => part.patterns(),
            Self::Triggered(Triggered { tags: its, .. }) | Self::Separated(its, ..) => tags(its),
            Self::Const(_) | Self::Json(_) | Self::Free(_) => Vec::new(),
        }
    }
}

impl Tag {
    fn format(&self) -> Value {
        json!({"type": "tag", "begin": self.begin, "content": self.content.format(), "end": self.end})
    }
}

impl Bounds {
    fn state(self, mut format: Value) -> Value {
        if self.at_least_one {
            format["at_least_one"] = json!(true);
        }
        if self.stop_after_first {
            format["stop_after_first"] = json!(true);
        }
        format
    }
}

fn tag(begin: &'static str, content: Shape, end: &'static str) -> Tag {
    Tag {
        begin,
        content: Box::new(content),
        end,
    }
}

fn call(begin: &'static str, schema: &'static str) -> Tag {
    tag(begin, Shape::Json(schema), "</function>")
}

fn triggered(tags: Vec<Tag>, bounds: Bounds) -> Triggered {
    Triggered {
        triggers: vec!["<function="],
        tags,
        excludes: &[],
        bounds,
    }
}

/// The older generation: `structures`, and what triggers them.
fn structures(triggered: &Triggered) -> Value {
    let one = |tag: &Tag| {
        let schema = tag.content.schemas().first().map(|name| schema(name));
        json!({"begin": tag.begin, "schema": schema, "end": tag.end})
    };
    let structures: Value = triggered.tags.iter().map(one).collect();
    let tag =
        json!({"type": "structural_tag", "structures": structures, "triggers": triggered.triggers});
    triggered.bounds.state(tag)
}

/// The shapes, each with a name of its own.
fn shapes() -> Vec<(&'static str, Shape)> {
    let age = || call("<function=g>", "age");
    let words = || call("<function=words>", "words");
    let numbers = || call("<function=numbers>", "numbers");
    let day = || {
        let date = Shape::Pattern("[0-9]{4}-[0-9]{2}", &["2026-11", "0001-01"]);
        tag("<day>", date, "</day>")
    };
    let both = |bounds| triggered(vec![age(), words()], bounds);
    let excluding = Triggered {
        excludes: &["<|end|>", "zzz"],
        ..both(ANY)
    };
    let several = Triggered {
        triggers: vec!["<function=", "<day>"],
        ..triggered(vec![age(), numbers(), day()], ANY)
    };
    let thought = tag("<think>", Shape::Free(&[]), "</think>");
    vec![
        ("any", Shape::Triggered(both(ANY))),
        ("some", Shape::Triggered(both(SOME))),
        ("one", Shape::Triggered(both(ONE))),
        ("first", Shape::Triggered(both(FIRST))),
        ("excluding", Shape::Triggered(excluding)),
        ("several", Shape::Triggered(several)),
        ("alone", Shape::Tag(age())),
        ("json", Shape::Json("nested")),
        (
            "separated",
            Shape::Separated(vec![age(), words()], "\n", SOME),
        ),
        (
            "separated one",
            Shape::Separated(vec![age(), day()], "; ", ONE),
        ),
        (
            "thought",
            Shape::Seq(vec![Shape::Tag(thought), Shape::Json("age")]),
        ),
        (
            "answer",
            Shape::Seq(vec![
                Shape::Const("answer: "),
                Shape::Pattern("[a-z]{1,6}", &["a", "ok", "zzzzzz"]),
                Shape::Tag(tag(" <j>", Shape::Json("colour"), "</j>")),
                Shape::Free(&["<j>"]),
            ]),
        ),
        (
            "either",
            Shape::Or(vec![
                Shape::Json("age"),
                Shape::Const("none"),
                Shape::Tag(day()),
            ]),
        ),
        ("plus", Shape::Repeat(Box::new(Shape::Tag(age())), 1, None)),
        (
            "times",
            Shape::Repeat(Box::new(Shape::Tag(day())), 2, Some(3)),
        ),
        (
            "optional",
            Shape::Seq(vec![
                Shape::Const("done"),
                Shape::Repeat(Box::new(Shape::Tag(words())), 0, Some(1)),
            ]),
        ),
    ]
}

/// Demands of both generations, in the spellings of vLLM and SGLang, alone and beside tools.
pub fn demands() -> Vec<Demand> {
    let mut all = Vec::new();
    for (name, shape) in shapes() {
        let description = json!({"type": "structural_tag", "format": shape.format()});
        // vLLM takes the text of it there, and an object here.
        let fields = match all.len() % 3 {
            0 => json!({"structured_outputs": {"structural_tag": description.to_string()}}),
            _ => json!({"response_format": description}),
        };
        all.push(Demand::new(format!("tags {name}"), fields).wanting(Want::Tags(shape.clone())));
        if let ("any" | "some" | "one", Shape::Triggered(triggered)) = (name, &shape) {
            let fields = json!({"response_format": structures(triggered)});
            let demand = Demand::new(format!("structures {name}"), fields);
            all.push(demand.wanting(Want::Tags(shape.clone())));
        }
        if let "any" | "alone" | "either" = name {
            let g = function("look", "person");
            let fields = json!({"tools": stated(&[&g]), "tool_choice": "auto",
                "response_format": {"type": "structural_tag", "format": shape.format()}});
            let demand = Demand::new(format!("auto with tags {name}"), fields);
            all.push(
                demand
                    .calling(Calls::Optional, &[&g])
                    .wanting(Want::Tags(shape)),
            );
        }
    }
    all
}
