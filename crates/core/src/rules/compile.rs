//! A rule file's text in, a checked [`Dialect`] out, or every fault of the file.

use super::check;
use super::dialect::{Bug, Dialect, Ranged};
use super::facts::FREE;
use super::profile::{self, Profiles};
use super::words::{ActionWord, ChoiceWord, CompactWord, KindWord, OneCallWord, SPELLINGS};
use super::{
    AllowRule, Asks, ChoiceHow, ChoiceRule, Compact, ComposeHow, ConstraintRule, FieldAction,
    FieldRule, LaunchRule, ShowTools, StrictTools, TagShape, Template, TextUnion, ToolsSent,
};
use super::{conversation, count, http, recognise, thinking};
use crate::datafile::{File, Keys, RuleFault, Source, unknown};
use crate::dialect::server;
use crate::dialect::server::Render;
use crate::ir::Wire;
use std::sync::Arc;

/// Reads and checks one file.
pub(super) fn compile(source: Source<'_>, profiles: &Profiles) -> Result<Dialect, Vec<RuleFault>> {
    let mut file = File::new(source);
    let Some(document) = file.document() else {
        return Err(file.faults);
    };
    // The document's own span is the whole text; a fault of the whole is shown at its first line.
    let keys = Keys::new(0..0, document.get_ref());
    let dialect = read(&mut file, keys, profiles);
    check::check(&mut file, &dialect);
    if file.faults.is_empty() {
        return Ok(dialect);
    }
    file.faults.sort_by_key(|fault| (fault.line, fault.column));
    Err(file.faults)
}

fn read(file: &mut File<'_>, mut keys: Keys<'_, '_>, profiles: &Profiles) -> Dialect {
    let name = keys.required(file, "dialect", "the file's own name without `.toml`");
    let title = keys.required(file, "title", "the server's name, for people");
    if let Some(name) = &name
        && format!("{}.toml", name.get_ref()) != base_name(file.source.name)
    {
        let wanted = format!("name the file `{}.toml`", name.get_ref());
        file.fault(&name.span(), "the file has another name", wanted);
    }
    let sources = keys.strings(file, "sources");
    let server = keys.word::<Wire>(file, "wire").and_then(server::of);
    let http = keys.table(file, "http");
    let http = http.map(|keys| http::read(file, keys)).unwrap_or_default();
    let recognise = keys.table(file, "recognise");
    let recognise = recognise.map(|keys| recognise::read(file, keys));
    let (reasoning, stopped, ends) = conversation::reply(file, &mut keys);
    let dialect = Dialect {
        name: name.map(toml::Spanned::into_inner).unwrap_or_default(),
        title: title.map(toml::Spanned::into_inner).unwrap_or_default(),
        sources: plain(sources),
        server: server.unwrap_or(server::CHAT),
        render: each(file, &mut keys, "render", render),
        count: each(file, &mut keys, "count", count::read),
        http,
        recognise: recognise.unwrap_or_default(),
        constraints: each(file, &mut keys, "constraint", constraint),
        choices: each(file, &mut keys, "tool_choice", choice),
        show_tools: each(file, &mut keys, "show_tools", show_tools),
        compose: each(file, &mut keys, "compose", compose),
        one_call: each(file, &mut keys, "one_call", one_call),
        fields: each(file, &mut keys, "field", field),
        allow: each(file, &mut keys, "allow", allow),
        schema: each(file, &mut keys, "schema", |file, keys| {
            profile::entry(file, keys, profiles)
        }),
        compact: each(file, &mut keys, "compact", compact),
        launch: launch(file, &mut keys),
        reasoning,
        stopped,
        ends: Arc::new(ends),
        counts_first: each(file, &mut keys, "counts_first", conversation::counts_first),
        history: conversation::history(file, &mut keys),
        conversation: each(file, &mut keys, "conversation", conversation::conversation),
        prefill: each(file, &mut keys, "prefill", conversation::prefill),
        thinking: each(file, &mut keys, "thinking", thinking::read),
        templates: keys.boolean(file, "templates"),
        // The set knows them.
        too_long: Arc::default(),
        refused: Arc::default(),
        garbled: Arc::default(),
        context: each(file, &mut keys, "context", conversation::context),
        custom_tools: keys.boolean(file, "custom_tools"),
        hosted_tools: keys.boolean(file, "hosted_tools"),
        refuses_nulls: keys.boolean(file, "refuses_nulls"),
        one_choice: keys.boolean(file, "one_choice"),
        bare_models: keys.boolean(file, "bare_models"),
        stops: keys
            .count(file, "stops")
            .and_then(|most| usize::try_from(most).ok()),
        completions: keys.boolean(file, "completions"),
        completions_behind: keys
            .string(file, "completions_behind")
            .map(toml::Spanned::into_inner),
        completions_unread: plain(keys.strings(file, "completions_unread")),
        beside: plain(keys.strings(file, "beside")),
        responses: keys.boolean(file, "responses"),
        bugs: each(file, &mut keys, "bug", bug)
            .into_iter()
            .map(|entry| Bug {
                versions: entry.versions,
                ..entry.says
            })
            .collect(),
    };
    keys.finish(file);
    dialect
}

/// The last piece of a path.
pub(super) fn base_name(path: &str) -> &str {
    path.rsplit(['/', '\\']).next().unwrap_or_default()
}

pub(super) fn plain(strings: Vec<toml::Spanned<String>>) -> Vec<String> {
    strings.into_iter().map(toml::Spanned::into_inner).collect()
}

/// Every entry of one group. `read` gives the entry's key and what it says.
fn each<T>(
    file: &mut File<'_>,
    keys: &mut Keys<'_, '_>,
    group: &'static str,
    read: impl Fn(&mut File<'_>, &mut Keys<'_, '_>) -> Option<(String, T)>,
) -> Vec<Ranged<T>> {
    let mut entries = Vec::new();
    for mut keys in keys.tables(file, group) {
        let at = keys.span.clone();
        let faults = file.faults.len();
        let versions = keys.versions(file);
        let says = read(file, &mut keys);
        keys.finish(file);
        if file.faults.len() > faults {
            file.broken.push(group);
        }
        if let Some((key, says)) = says {
            entries.push(Ranged {
                at,
                key,
                versions,
                says,
            });
        }
    }
    entries
}

fn constraint(file: &mut File<'_>, keys: &mut Keys<'_, '_>) -> Option<(String, ConstraintRule)> {
    let kind = keys.required_word::<KindWord>(file, "kind");
    let native = keys.strings(file, "native");
    let send = keys.template(file, "send");
    let tell = keys.boolean(file, "tell");
    let from_start = keys.boolean(file, "from_start");
    let shape = keys.word::<TagShape>(file, "shape");
    let reason = keys.string(file, "reason");
    let kind = kind?.0;
    for spelling in &native {
        let known = SPELLINGS
            .iter()
            .find(|(name, _)| name == spelling.get_ref());
        match known {
            None => unknown(
                file,
                spelling,
                "spelling",
                SPELLINGS.iter().map(|(name, _)| *name),
            ),
            Some((_, kinds)) if !kinds.contains(&kind) => {
                file.fault(
                    &spelling.span(),
                    format!("`{}` does not state a `{kind}`", spelling.get_ref()),
                    format!("it states: {}", kinds.join(", ")),
                );
            }
            Some(_) => {}
        }
    }
    if send.is_none() && reason.is_none() {
        file.fault(
            &keys.span,
            format!("`{kind}` has neither `send` nor `reason`"),
            "write what to send, or say in `reason` why there is nothing to send",
        );
    }
    if tell && send.is_none() {
        file.fault(
            &keys.span,
            "`tell` goes with `send`",
            "take it out: without `send` the model is told in any case",
        );
    }
    if from_start && send.is_none() && native.is_empty() {
        file.fault(
            &keys.span,
            "`from_start` goes with a constraint that the server enforces",
            "take it out",
        );
    }
    if shape.is_some() && (kind != "structural_tag" || send.is_none()) {
        file.fault(
            &keys.span,
            "`shape` goes with a `structural_tag` that has a `send`",
            "take it out",
        );
    }
    if let Some(template) = &send {
        check::placeholders(file, kind, template);
    }
    let rule = ConstraintRule {
        native: plain(native),
        send: send.map(|template| Template(template.json)),
        tell,
        from_start,
        shape: shape.unwrap_or_default(),
        reason: reason.map(toml::Spanned::into_inner),
    };
    Some((kind.to_owned(), rule))
}

/// What is said of calls that the server forces itself.
const NATIVE_ALONE: [&str; 3] = ["free_texts", "objects", "stopped"];

fn choice(file: &mut File<'_>, keys: &mut Keys<'_, '_>) -> Option<(String, ChoiceRule)> {
    let choice = keys.required_word::<ChoiceWord>(file, "choice");
    let how = keys.required_word::<ChoiceHow>(file, "how");
    let asks = keys.word::<Asks>(file, "asks");
    let send = keys.template(file, "send");
    let tools = keys.word::<ToolsSent>(file, "tools");
    let tell = keys.boolean(file, "tell");
    let unthinking = keys.boolean(file, "unthinking");
    let lowered = keys.boolean(file, "lowered");
    let one = keys.boolean(file, "one");
    let strict = keys.boolean(file, "strict");
    let bare = keys.boolean(file, "bare");
    let [raw, typed, may_parse] = ["raw", "typed", "may_parse"].map(|key| keys.boolean(file, key));
    let [free_texts, objects, stopped] = NATIVE_ALONE.map(|key| keys.boolean(file, key));
    let otherwise = keys.word::<ChoiceHow>(file, "otherwise");
    let forms = keys.words::<TextUnion>(file, "forms");
    let reason = keys.string(file, "reason");
    let (choice, how) = (choice?.0, how?);
    if let Some(template) = &send {
        check::choice_template(file, choice, template);
    }
    demand_reason(file, keys, how != ChoiceHow::Native, reason.is_some());
    if how == ChoiceHow::Tags && choice == "none" {
        file.fault(
            &keys.span,
            "`tags` are of calls",
            "no call is made under `none`: constrain the content, or instruct",
        );
    }
    match (&otherwise, how) {
        (None | Some(ChoiceHow::Constrain | ChoiceHow::Tags), ChoiceHow::Native) | (None, _) => {}
        _ => {
            file.fault(
                &keys.span,
                "`otherwise` goes with `native`, and says `constrain` or `tags`",
                "take it out, or say one of them",
            );
        }
    }
    check_one_how(file, keys, choice, how, (strict, bare));
    let is_tagged = how == ChoiceHow::Tags || otherwise == Some(ChoiceHow::Tags);
    if !forms.is_empty() && (!is_tagged || FREE.contains(&choice)) {
        file.fault(
            &keys.span,
            "`forms` goes with `tags` of a forced call",
            "take it out",
        );
    }
    if typed && !is_tagged {
        file.fault(&keys.span, "`typed` goes with `tags`", "take it out");
    }
    if may_parse && (!is_tagged || FREE.contains(&choice)) {
        file.fault(
            &keys.span,
            "`may_parse` goes with `tags` of a forced call",
            "take it out",
        );
    }
    for (key, is_there) in NATIVE_ALONE.iter().zip([free_texts, objects, stopped]) {
        if is_there && (how != ChoiceHow::Native || FREE.contains(&choice)) {
            let message = format!("`{key}` goes with `native` of a forced call");
            file.fault(&keys.span, message, "take it out");
        }
    }
    if tell && how != ChoiceHow::Tags {
        file.fault(&keys.span, "`tell` goes with `tags`", "take it out");
    }
    if unthinking && how == ChoiceHow::Native {
        file.fault(
            &keys.span,
            "`unthinking` is of what is not `native` otherwise",
            "take it out",
        );
    }
    let rule = ChoiceRule {
        how,
        tell,
        unthinking,
        lowered,
        one,
        strict: match strict {
            true => StrictTools::All,
            false => StrictTools::Stated,
        },
        bare,
        raw,
        typed,
        may_parse,
        free_texts,
        objects,
        stopped,
        parsed: false,
        otherwise: otherwise.unwrap_or(ChoiceHow::Constrain),
        forms,
        asks,
        send: send.map(|template| Template(template.json)),
        tools: tools.unwrap_or(ToolsSent::All),
        reason: reason.map(toml::Spanned::into_inner),
    };
    Some((choice.to_owned(), rule))
}

/// What is said with one `how` alone: `strict` and `bare`.
fn check_one_how(
    file: &mut File<'_>,
    keys: &Keys<'_, '_>,
    choice: &str,
    how: ChoiceHow,
    (strict, bare): (bool, bool),
) {
    if strict && (how != ChoiceHow::Native || !FREE.contains(&choice)) {
        let message = "`strict` goes with `native` of a free call";
        file.fault(&keys.span, message, "take it out");
    }
    if bare && how != ChoiceHow::Constrain {
        file.fault(&keys.span, "`bare` goes with `constrain`", "take it out");
    }
}

/// Whatever the server does not do itself needs a reason: it is shown to people.
fn demand_reason(file: &mut File<'_>, keys: &Keys<'_, '_>, needed: bool, given: bool) {
    if needed && !given {
        file.fault(
            &keys.span,
            "an entry that is not native needs a `reason`",
            "say what the server does instead",
        );
    }
}

fn show_tools(file: &mut File<'_>, keys: &mut Keys<'_, '_>) -> Option<(String, ShowTools)> {
    let how = keys.required_word(file, "how")?;
    Some((String::new(), how))
}

fn compose(
    file: &mut File<'_>,
    keys: &mut Keys<'_, '_>,
) -> Option<(String, (ComposeHow, Vec<TextUnion>))> {
    let how = keys.required_word::<ComposeHow>(file, "how");
    let text = keys.words::<TextUnion>(file, "text");
    let reason = keys.string(file, "reason");
    let how = how?;
    demand_reason(file, keys, how != ComposeHow::Native, reason.is_some());
    if how != ComposeHow::Union && !text.is_empty() {
        file.fault(&keys.span, "`text` goes with `union`", "take it out");
    }
    Some((String::new(), (how, text)))
}

fn one_call(file: &mut File<'_>, keys: &mut Keys<'_, '_>) -> Option<(String, bool)> {
    let how = keys.required_word::<OneCallWord>(file, "how");
    let reason = keys.string(file, "reason");
    let kept = how?.0;
    demand_reason(file, keys, !kept, reason.is_some());
    Some((String::new(), kept))
}

fn field(file: &mut File<'_>, keys: &mut Keys<'_, '_>) -> Option<(String, FieldRule)> {
    let name = keys.required(file, "name", "a field of the body, as a dotted path");
    let action = keys.required_word::<ActionWord>(file, "action");
    let to = keys.string(file, "to");
    let reason = keys.required(file, "reason", "say why, for the client that sent it");
    match (action, &to) {
        (Some(ActionWord::Rename), None) => {
            file.fault(
                &keys.span,
                "`to` is missing",
                "the name that the server knows",
            );
        }
        (Some(ActionWord::Drop | ActionWord::Refuse), Some(to)) => {
            file.fault(
                &to.span(),
                "`to` is only for `rename`",
                "take it out, or rename",
            );
        }
        _ => {}
    }
    let (name, reason) = (name?.into_inner(), reason?.into_inner());
    let action = match action? {
        ActionWord::Drop => FieldAction::Drop,
        ActionWord::Refuse => FieldAction::Refuse,
        ActionWord::Rename => FieldAction::Rename(to?.into_inner()),
    };
    let rule = FieldRule {
        name: name.clone(),
        action,
        reason,
    };
    Some((name, rule))
}

fn allow(file: &mut File<'_>, keys: &mut Keys<'_, '_>) -> Option<(String, AllowRule)> {
    let fields = keys.strings(file, "fields");
    let reason = keys.required(file, "reason", "say what becomes of other fields");
    check::indispensable(file, &keys.span, &fields);
    let rule = AllowRule {
        fields: plain(fields),
        reason: reason?.into_inner(),
    };
    Some((String::new(), rule))
}

fn compact(file: &mut File<'_>, keys: &mut Keys<'_, '_>) -> Option<(String, Compact)> {
    let how = keys.required_word::<CompactWord>(file, "how");
    let send = keys.template(file, "send");
    let how = how?;
    if send.is_some() != (how == CompactWord::Field) {
        file.fault(
            &keys.span,
            "`send` goes with `field`",
            "the field that says so; the other ways need none",
        );
    }
    let says = match (how, send) {
        (CompactWord::Field, send) => Compact::Field(Template(send?.json)),
        (CompactWord::Tag, _) => Compact::Tag,
        (CompactWord::XGuidance, _) => Compact::XGuidance,
    };
    Some((String::new(), says))
}

fn render(file: &mut File<'_>, keys: &mut Keys<'_, '_>) -> Option<(String, Render)> {
    let path = keys.required(file, "path", "the path that renders a conversation");
    let at = keys.required(file, "at", "the place of the prompt, a JSON Pointer");
    let tokens = keys.string(file, "tokens");
    let tokenize = keys.string(file, "tokenize");
    for (value, remedy) in [
        (&path, "for example \"/chat_tokenize\""),
        (&at, "for example \"/templated_text\""),
        (&tokens, "a JSON Pointer"),
        (&tokenize, "for example \"/tokenize\""),
    ] {
        if let Some(value) = value
            && !value.get_ref().starts_with('/')
        {
            file.fault(&value.span(), "this begins with a slash", remedy);
        }
    }
    if tokenize.is_some() && tokens.is_none() {
        let remedy = "say where the prompt's tokens stand: the first is what is asked about";
        file.fault(&keys.span, "`tokenize` goes with `tokens`", remedy);
    }
    let render = Render {
        path: path?.into_inner(),
        at: at?.into_inner(),
        tokens: tokens.map(toml::Spanned::into_inner),
        tokenize: tokenize.map(toml::Spanned::into_inner),
    };
    Some((String::new(), render))
}

pub(super) fn launch(file: &mut File<'_>, keys: &mut Keys<'_, '_>) -> Vec<LaunchRule> {
    let mut rules = Vec::new();
    for mut keys in keys.tables(file, "launch") {
        let contains = keys.required(file, "contains", "a piece of the server's error message");
        let remedy = keys.required(file, "remedy", "what to change when launching the server");
        let fact = keys.string(file, "fact").map(toml::Spanned::into_inner);
        let unsure = keys.boolean(file, "unsure");
        let sure_of_probe = keys.boolean(file, "sure_of_probe");
        let room = keys.strings(file, "room");
        let room = match room.as_slice() {
            [] => None,
            [most, prompt] => Some([most.get_ref().clone(), prompt.get_ref().clone()]),
            [first, ..] => {
                let remedy = "write what stands before the most that both may have, and before what the prompt has";
                let message = "`room` is two pieces of the error message";
                file.fault(&first.span(), message, remedy);
                None
            }
        };
        if sure_of_probe && !unsure {
            let remedy = "say `unsure = true` too, or take it out";
            file.fault(
                &keys.span,
                "`sure_of_probe` is of errors that are `unsure`",
                remedy,
            );
        }
        if unsure && fact.is_none() {
            let remedy = "say which `fact` is unsure, or take `unsure` out";
            file.fault(&keys.span, "nothing follows from this error", remedy);
        }
        keys.finish(file);
        if let (Some(contains), Some(remedy)) = (contains, remedy) {
            rules.push(LaunchRule {
                contains: contains.into_inner(),
                remedy: remedy.into_inner(),
                fact,
                unsure,
                is_field: false,
                sure_of_probe,
                room,
            });
        }
    }
    rules
}

fn bug(file: &mut File<'_>, keys: &mut Keys<'_, '_>) -> Option<(String, Bug)> {
    let issue = keys.required(file, "issue", "where it is written about");
    let what = keys.required(file, "what", "what happens");
    let bug = Bug {
        versions: super::Range::default(),
        issue: issue?.into_inner(),
        what: what?.into_inner(),
    };
    Some((String::new(), bug))
}
