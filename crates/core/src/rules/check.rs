//! What one entry of a rule file cannot tell: whether every version is spoken for, whether every
//! entry is ever reached, and whether templates carry what they must.

use super::dialect::{Dialect, Ranged};
use super::words::{ChoiceWord, KindWord, REMOVE, placeholders as known};
use super::{ChoiceHow, ComposeHow, Range, Route, Rule, ShowTools, Template, ToolsSent, Version};
use crate::datafile::{File, RawTemplate, Span, Word, unknown};
use toml::Spanned;

/// Notes every fault of a file that was read.
pub(super) fn check(file: &mut File<'_>, dialect: &Dialect) {
    let edges = dialect.edges();
    group(file, &edges, "render", &dialect.render);
    group(file, &edges, "count", &dialect.count);
    group(file, &edges, "constraint", &dialect.constraints);
    group(file, &edges, "tool_choice", &dialect.choices);
    group(file, &edges, "show_tools", &dialect.show_tools);
    group(file, &edges, "compose", &dialect.compose);
    group(file, &edges, "one_call", &dialect.one_call);
    group(file, &edges, "field", &dialect.fields);
    group(file, &edges, "allow", &dialect.allow);
    group(file, &edges, "schema", &dialect.schema);
    group(file, &edges, "compact", &dialect.compact);
    group(file, &edges, "context", &dialect.context);
    group(file, &edges, "prefill", &dialect.prefill);
    group(file, &edges, "counts_first", &dialect.counts_first);
    for (kind, _) in KindWord::WORDS {
        covered(file, &edges, "constraint", kind, &dialect.constraints);
    }
    for (choice, _) in ChoiceWord::WORDS {
        covered(file, &edges, "tool_choice", choice, &dialect.choices);
    }
    covered(file, &edges, "show_tools", "", &dialect.show_tools);
    covered(file, &edges, "compose", "", &dialect.compose);
    covered(file, &edges, "one_call", "", &dialect.one_call);
    if dialect.server.takes_prompt() == dialect.render.is_empty() {
        let message = "`render` goes with a wire that takes a prompt, and such a wire needs it";
        let remedy = "say in `[[render]]` where the server renders a conversation, or take it out";
        file.fault(&(0..0), message, remedy);
    }
    constrainable(file, &edges, dialect);
    allowed(file, &edges, dialect);
}

/// Notes what no request can do without.
pub(super) fn indispensable(file: &mut File<'_>, at: &Span, fields: &[Spanned<String>]) {
    for name in ["model", "messages", "stream"] {
        if !fields.iter().any(|field| field.get_ref() == name) {
            let message = format!("`{name}` is not among the allowed fields");
            file.fault(at, message, "add it: no request is without it");
        }
    }
}

/// Notes allowed fields that leave out what the rules themselves send or leave in: those entries
/// would have no effect.
fn allowed(file: &mut File<'_>, edges: &[Version], dialect: &Dialect) {
    if ["allow", "constraint", "tool_choice", "show_tools"]
        .iter()
        .any(|group| file.broken.contains(group))
    {
        return;
    }
    for entry in &dialect.allow {
        let mut missing: Vec<String> = edges
            .iter()
            .filter(|version| entry.versions.contains(Some(**version)))
            .filter_map(|version| dialect.resolve(Some(*version)))
            .flat_map(|rule| used(&rule))
            .filter(|name| !entry.says.fields.contains(name))
            .collect();
        missing.sort();
        missing.dedup();
        for name in missing {
            let message = format!("`{name}` is sent, but it is not among the allowed fields");
            file.fault(&entry.at, message, "add it, or send something else");
        }
    }
}

/// The top-level fields that a rule sends, or counts on.
fn used(rule: &Rule) -> Vec<String> {
    let sent = |template: &Template| {
        let kept = template.0.iter().filter(|(_, value)| *value != REMOVE);
        kept.map(|(name, _)| name.clone()).collect::<Vec<_>>()
    };
    let mut names = Vec::new();
    for constraint in rule.constraints.values() {
        names.extend(constraint.send.iter().flat_map(sent));
        let native = constraint.native.iter();
        names.extend(native.filter_map(|spelling| Some(spelling.split('.').next()?.to_owned())));
    }
    for choice in rule.choices.values() {
        names.extend(choice.send.iter().flat_map(sent));
        if choice.how == ChoiceHow::Native && choice.tools != ToolsSent::None {
            names.extend(["tools".to_owned(), "tool_choice".to_owned()]);
        }
    }
    match rule.show_tools {
        ShowTools::ToolChoiceNone | ShowTools::ToolChoiceAuto => {
            names.extend(["tools".to_owned(), "tool_choice".to_owned()]);
        }
        ShowTools::ChatTemplateKwargs => names.push("chat_template_kwargs".to_owned()),
        ShowTools::SystemMessage => {}
    }
    names
}

/// Notes entries of a group that never win.
fn group<T>(file: &mut File<'_>, edges: &[Version], name: &'static str, entries: &[Ranged<T>]) {
    if file.broken.contains(&name) {
        return;
    }
    for (at, entry) in entries.iter().enumerate() {
        let held: Vec<_> = edges
            .iter()
            .filter(|version| entry.versions.contains(Some(**version)))
            .collect();
        if held.is_empty() {
            let message = format!("no version lies in `{}`", entry.versions);
            file.fault(&entry.at, message, "mend the range");
            continue;
        }
        let wins = held.iter().any(|version| {
            entries[..at]
                .iter()
                .filter(|other| other.key == entry.key)
                .all(|other| !other.versions.contains(Some(**version)))
        });
        if !wins {
            file.fault(
                &entry.at,
                format!(
                    "this entry is never reached: earlier ones hold for all of `{}`",
                    entry.versions
                ),
                "the first entry that holds wins: move it up, or take it out",
            );
        }
    }
}

/// Notes versions that no entry speaks for.
fn covered<T>(
    file: &mut File<'_>,
    edges: &[Version],
    name: &'static str,
    key: &str,
    entries: &[Ranged<T>],
) {
    if file.broken.contains(&name) {
        return;
    }
    let of_key = || entries.iter().filter(|entry| entry.key == key);
    let holds = |version: &Version| of_key().any(|entry| entry.versions.contains(Some(*version)));
    let Some(gap) = edges.iter().find(|version| !holds(version)) else {
        return;
    };
    let end = edges
        .iter()
        .find(|version| *version > gap && holds(version));
    let versions = match end {
        _ if of_key().next().is_none() => String::new(),
        None => format!(" holds for versions from {gap} on"),
        Some(end) => format!(" holds for versions from {gap} and below {end}"),
    };
    let what = if key.is_empty() {
        format!("no [[{name}]]")
    } else {
        format!("no [[{name}]] for `{key}`")
    };
    let at = of_key().last().map_or(0..0, |entry| entry.at.clone());
    file.fault(
        &at,
        what + &versions,
        "add an entry; one that can do nothing says so in its `reason`",
    );
}

/// Notes tool choices and compositions that count on a constraint that cannot be sent.
fn constrainable(file: &mut File<'_>, edges: &[Version], dialect: &Dialect) {
    if ["constraint", "tool_choice", "compose"]
        .iter()
        .any(|group| file.broken.contains(group))
    {
        return;
    }
    let counts_on = |how: ChoiceHow| match how {
        ChoiceHow::Constrain => Some("json_schema"),
        ChoiceHow::Tags | ChoiceHow::Native | ChoiceHow::Instruct => None,
    };
    let mut at = Vec::new();
    for version in edges {
        let Some(rule) = dialect.resolve(Some(*version)) else {
            continue;
        };
        // A schema may go as a grammar.
        let can_be_sent =
            |kind: &str| rule.sends(kind) || matches!(rule.route(kind, None), Route::Convert(_));
        let mut note = |entry: Span, versions: &Range, kind: &'static str| {
            if versions.contains(Some(*version)) && !can_be_sent(kind) {
                at.push((entry, kind));
            }
        };
        for entry in &dialect.choices {
            if let Some(kind) = counts_on(entry.says.how) {
                note(entry.at.clone(), &entry.versions, kind);
            }
            if entry.says.how == ChoiceHow::Tags && rule.tags().is_none() {
                note(entry.at.clone(), &entry.versions, "structural_tag");
            }
        }
        for entry in &dialect.compose {
            if entry.says.0 == ComposeHow::Union {
                note(entry.at.clone(), &entry.versions, "json_schema");
            }
            for form in &entry.says.1 {
                note(entry.at.clone(), &entry.versions, form.kind());
            }
        }
    }
    at.sort_by_key(|(span, _)| span.start);
    at.dedup();
    for (span, kind) in at {
        file.fault(
            &span,
            format!("this counts on a `{kind}`, which some of its versions cannot be sent"),
            format!("narrow the versions, or give `{kind}` a `send`"),
        );
    }
}

/// Notes what is wrong with a constraint's template: unknown placeholders, or none that carries it.
pub(super) fn placeholders(file: &mut File<'_>, kind: &str, template: &RawTemplate) {
    let (carriers, others) = known(kind);
    words(file, template, &[carriers, others, &[REMOVE]].concat());
    let carried = template
        .placeholders
        .iter()
        .any(|found| carriers.contains(&found.get_ref().as_str()));
    // A placeholder that is not known was most likely meant to carry it.
    let known_only = template.placeholders.iter().all(|found| {
        let found = found.get_ref().as_str();
        carriers.contains(&found) || others.contains(&found) || found == REMOVE
    });
    if !carriers.is_empty() && !carried && known_only {
        file.fault(
            &template.span,
            format!("this does not carry the `{kind}`"),
            format!("put \"{}\" where it goes", carriers.join("\" or \"")),
        );
    }
}

/// Notes unknown placeholders in a tool choice's template.
pub(super) fn choice_template(file: &mut File<'_>, choice: &str, template: &RawTemplate) {
    for name in ["tools", "tool_choice", "parallel_tool_calls"] {
        if template.json.contains_key(name) {
            let message = format!("`{name}` is said in other words on other wires");
            let remedy = "say with `asks`, `tools` and `one` what the server is asked for: its wire has the words";
            file.fault(&template.span, message, remedy);
        }
    }
    if choice == "named" {
        words(file, template, &["$tool", REMOVE]);
    } else {
        words(file, template, &[REMOVE]);
    }
}

/// Notes unknown placeholders in a template for an amount of thinking.
pub(super) fn thinking_template(file: &mut File<'_>, amount: &str, template: &RawTemplate) {
    match amount {
        "effort" => words(file, template, &["$effort", "$tokens", REMOVE]),
        "tokens" => words(file, template, &["$tokens", REMOVE]),
        _ => no_placeholders(file, template),
    }
}

/// Notes placeholders in a template that nothing is put into.
pub(super) fn no_placeholders(file: &mut File<'_>, template: &RawTemplate) {
    words(file, template, &[REMOVE]);
}

fn words(file: &mut File<'_>, template: &RawTemplate, allowed: &[&'static str]) {
    for found in &template.placeholders {
        if !allowed.contains(&found.get_ref().as_str()) {
            unknown(file, found, "placeholder", allowed.iter().copied());
        }
    }
}
