//! The matrix of `docs/servers.md`: a rule set in, a Markdown table out.

use super::dialect::Dialect;
use super::facts::FREE;
use super::{ChoiceHow, ComposeHow, ConstraintRule, Route, Rule, RuleSet, Version};
use serde_json::{Map, Value};

const KINDS: [(&str, &str); 7] = [
    ("json_schema", "JSON Schema"),
    ("json_object", "JSON object"),
    ("regex", "regex"),
    ("choice", "choice"),
    ("grammar:gbnf", "GBNF"),
    ("grammar:lark", "Lark"),
    ("structural_tag", "structural tag"),
];

const CHOICES: [(&str, &str); 4] = [
    ("required", "required"),
    ("named", "named"),
    ("allowed_required", "allowed_tools"),
    ("auto", "auto"),
];

/// What each server is sent for each demand, newest versions first.
#[must_use]
pub fn matrix_markdown(set: &RuleSet) -> String {
    let titles = KINDS.iter().chain(&CHOICES).map(|(_, title)| *title);
    let titles: Vec<_> = ["server"]
        .into_iter()
        .chain(titles)
        .chain(["auto + schema"])
        .collect();
    let mut table = line(&titles);
    table += &line(&vec!["---"; titles.len()]);
    for dialect in set.dialects() {
        for (name, cells) in generations(dialect).into_iter().rev() {
            let cells: Vec<_> = std::iter::once(name.as_str())
                .chain(cells.iter().map(String::as_str))
                .collect();
            table += &line(&cells);
        }
    }
    table
}

fn line(cells: &[&str]) -> String {
    format!("| {} |\n", cells.join(" | "))
}

/// The runs of versions with equal cells, oldest first.
fn generations(dialect: &Dialect) -> Vec<(String, Vec<String>)> {
    let mut runs: Vec<(Version, Vec<String>)> = Vec::new();
    for version in dialect.edges() {
        let Some(rule) = dialect.resolve(Some(version)) else {
            continue;
        };
        let cells = cells(&rule);
        if runs.last().is_none_or(|(_, last)| *last != cells) {
            runs.push((version, cells));
        }
    }
    let starts: Vec<Version> = runs.iter().map(|(start, _)| *start).collect();
    runs.into_iter()
        .enumerate()
        .map(|(at, (start, cells))| {
            let end = starts.get(at + 1);
            (name(&dialect.title, (at > 0).then_some(start), end), cells)
        })
        .collect()
}

fn name(title: &str, start: Option<Version>, end: Option<&Version>) -> String {
    match (start, end) {
        (None, None) => title.to_owned(),
        (None, Some(end)) => format!("{title} before {end}"),
        (Some(start), None) => format!("{title} from {start}"),
        (Some(start), Some(end)) => format!("{title} from {start}, before {end}"),
    }
}

fn cells(rule: &Rule) -> Vec<String> {
    let kinds = KINDS.iter().map(|(kind, _)| constraint(rule, kind));
    let choices = CHOICES.iter().map(|(choice, _)| {
        let how = rule.choices.get(*choice).map(|choice| choice.how);
        match how {
            Some(ChoiceHow::Native) => "native",
            Some(ChoiceHow::Tags) if FREE.contains(choice) => "compose",
            Some(ChoiceHow::Tags) => "tags",
            Some(ChoiceHow::Constrain) => "constrain",
            Some(ChoiceHow::Instruct) | None => "instruct",
        }
        .to_owned()
    });
    let compose = match rule.compose {
        ComposeHow::Native => "native",
        ComposeHow::Union => "compose",
        ComposeHow::Instruct => "instruct",
    };
    kinds.chain(choices).chain([compose.to_owned()]).collect()
}

fn constraint(rule: &Rule, kind: &str) -> String {
    match rule.route(kind, None) {
        Route::Native => "native".to_owned(),
        Route::Send => {
            let field = rule.constraints.get(kind).map(field).unwrap_or_default();
            format!("native `{field}`")
        }
        Route::Convert(target) => {
            let title = KINDS.iter().find(|(kind, _)| *kind == target);
            format!("convert to {}", title.map_or(target, |(_, title)| *title))
        }
        Route::Instruct => "instruct".to_owned(),
        Route::Refuse => "refuse".to_owned(),
    }
}

/// Where the constraint goes: the native spelling below the template's field, else the path to
/// the template's first branching, or to the `type` that it names there.
fn field(rule: &ConstraintRule) -> String {
    let Some(send) = &rule.send else {
        return String::new();
    };
    let path = path(&send.0);
    let top = path.split('.').next().unwrap_or_default();
    rule.native
        .iter()
        .find(|spelling| {
            // Where the kind is in another member, the template's word for it says more.
            spelling.split('.').next() == Some(top) && !spelling.ends_with(".value")
        })
        .cloned()
        .unwrap_or(path)
}

fn path(template: &Map<String, Value>) -> String {
    let Some((key, value)) = template.iter().next() else {
        return String::new();
    };
    match value {
        Value::Object(inner) if inner.len() == 1 && inner.values().any(is_inner) => {
            format!("{key}.{}", path(inner))
        }
        Value::Object(inner) => match inner.get("type").and_then(Value::as_str) {
            Some(kind) if !kind.starts_with('$') => format!("{key}.{kind}"),
            _ => key.clone(),
        },
        _ => key.clone(),
    }
}

/// A placeholder or a further object; a literal is no place that a constraint goes to.
fn is_inner(value: &Value) -> bool {
    value.is_object() || value.as_str().is_some_and(|text| text.starts_with('$'))
}
