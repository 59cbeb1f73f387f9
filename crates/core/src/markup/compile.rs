//! A data file in, a checked [`Format`] out, or every fault with its line.

use super::elements::Tokens;
use super::format::{
    AnswerHead, At, EnvelopeKeys, Example, Form, Format, Opening, Parameter, ParameterValue, Shape,
    Thinking,
};
use super::held::can_hold;
use super::pattern::Pattern;
use crate::datafile::{File, Keys, RuleFault, Source, Word};
use toml::Spanned;
use toml::de::DeTable;

impl Word for At {
    const NOUN: &'static str = "place of a call";
    const WORDS: &'static [(&'static str, Self)] = &[
        ("anywhere", Self::Anywhere),
        ("line", Self::Line),
        ("start", Self::Start),
    ];
}

impl Word for Shape {
    const NOUN: &'static str = "shape of arguments";
    const WORDS: &'static [(&'static str, Self)] = &[
        ("envelope", Self::Envelope),
        ("json", Self::Json),
        ("parameters", Self::Parameters),
        ("python", Self::Python),
        ("bare_keys", Self::BareKeys),
    ];
}

impl Word for ParameterValue {
    const NOUN: &'static str = "kind of value";
    const WORDS: &'static [(&'static str, Self)] = &[
        ("schema", Self::Schema),
        ("text", Self::Text),
        ("json", Self::Json),
        ("elements", Self::Elements),
    ];
}

/// One data file.
///
/// # Errors
/// Every fault in it.
pub(super) fn compile(source: Source<'_>) -> Result<Format, Vec<RuleFault>> {
    let mut file = File::new(source);
    let table = match DeTable::parse(source.text) {
        Ok(table) => table,
        Err(wrong) => {
            let span = wrong.span().unwrap_or(0..0);
            let remedy = "write TOML: https://toml.io";
            return Err(vec![source.fault(&span, wrong.message(), remedy)]);
        }
    };
    let span = 0..0;
    let mut keys = Keys::new(span, table.get_ref());
    let remedy = "the file's name, without `.toml`";
    let name = keys.required(&mut file, "name", remedy);
    let sources = plain(keys.strings(&mut file, "sources"));
    let models = plain(keys.strings(&mut file, "models"));
    let template = plain(keys.strings(&mut file, "template"));
    let result = keys.string(&mut file, "result").map(Spanned::into_inner);
    let drop = tokens(&mut file, &mut keys, "drop");
    let stray = plain(keys.strings(&mut file, "stray")).into_iter();
    let stray: Vec<Pattern> = stray.map(|text| Pattern::new(&text)).collect();
    let answer = keys.table(&mut file, "answer");
    let answer = answer.map(|table| read_answer(&mut file, table));
    let thinking = keys.table(&mut file, "thinking");
    let thinking = thinking.map(|table| read_thinking(&mut file, table));
    let mut forms = Vec::new();
    for table in keys.tables(&mut file, "form") {
        let form = read_form(&mut file, table, forms.len());
        forms.push(form);
    }
    let examples = keys.tables(&mut file, "example").into_iter();
    let examples = examples.map(|table| read_example(&mut file, table));
    let examples = examples.collect();
    if forms.is_empty() {
        let remedy = "say how calls are written, under [[form]]";
        file.fault(&(0..0), "there is no form", remedy);
    }
    keys.finish(&mut file);
    if let Some(name) = &name {
        let stem = source.name.rsplit(['/', '\\']).next().unwrap_or_default();
        if stem.strip_suffix(".toml") != Some(name.get_ref()) {
            let remedy = format!("name the file `{}.toml`", name.get_ref());
            file.fault(&name.span(), "the file has another name", remedy);
        }
    }
    if !file.faults.is_empty() {
        return Err(file.faults);
    }
    let openings: Vec<Opening> = forms.iter().enumerate().flat_map(openings).collect();
    let thinking = thinking.map(|(thinking, has_calls)| {
        let has_token = |opening: &&Opening| {
            let is_anywhere = forms[opening.form].at == At::Anywhere;
            has_calls && is_anywhere && opening.pattern.first_byte().is_some()
        };
        let calls = openings.iter().filter(has_token).cloned().collect();
        Thinking { calls, ..thinking }
    });
    let starts = starts(&openings, &drop, &stray, thinking.as_ref());
    Ok(Format {
        name: name.map(Spanned::into_inner).unwrap_or_default(),
        sources,
        models: models.iter().map(|model| model.to_lowercase()).collect(),
        template,
        result,
        drop,
        stray,
        answer,
        thinking,
        forms,
        openings,
        starts,
        examples,
    })
}

fn plain(strings: Vec<Spanned<String>>) -> Vec<String> {
    strings.into_iter().map(Spanned::into_inner).collect()
}

/// Tokens, of which none may be empty.
fn tokens(file: &mut File<'_>, keys: &mut Keys<'_, '_>, key: &'static str) -> Vec<String> {
    let tokens = keys.strings(file, key);
    for token in tokens.iter().filter(|token| token.get_ref().is_empty()) {
        file.fault(&token.span(), "this is no token", "write the token's text");
    }
    plain(tokens)
}

/// Patterns; the only one is empty where the key is not there.
fn patterns(file: &mut File<'_>, keys: &mut Keys<'_, '_>, key: &'static str) -> Vec<Pattern> {
    let is_there = keys.has(key);
    let mut patterns = Vec::new();
    for text in keys.strings(file, key) {
        let pattern = Pattern::new(text.get_ref());
        if pattern.has_open_key() {
            let remedy = "write the token that ends it behind `{key}`";
            file.fault(&text.span(), "a parameter's name has no end", remedy);
        }
        patterns.push(pattern);
    }
    if !is_there {
        patterns.push(Pattern::default());
    }
    patterns
}

/// Patterns behind which nothing has to follow: blanks at their end would have to be waited for.
fn ends(file: &mut File<'_>, keys: &mut Keys<'_, '_>, key: &'static str) -> Vec<Pattern> {
    let patterns = patterns(file, keys, key);
    if patterns.iter().any(Pattern::ends_blank) {
        let message = format!("blanks stand at the end of `{key}`");
        let remedy = "leave them out: blanks behind a call are layout";
        file.fault(&keys.span.clone(), message, remedy);
    }
    patterns.into_iter().map(Pattern::after_blanks).collect()
}

fn read_answer(file: &mut File<'_>, mut keys: Keys<'_, '_>) -> AnswerHead {
    let after = keys.required(file, "after", "the end of a prompt");
    let head = keys.required(file, "head", "what stands before an answer");
    keys.finish(file);
    AnswerHead {
        after: after.map(Spanned::into_inner).unwrap_or_default(),
        head: head.map(Spanned::into_inner).unwrap_or_default(),
    }
}

/// A thought's tokens, and whether a call ends one.
fn read_thinking(file: &mut File<'_>, mut keys: Keys<'_, '_>) -> (Thinking, bool) {
    let begin = ends(file, &mut keys, "begin");
    let end = ends(file, &mut keys, "end");
    let at: Option<At> = keys.word(file, "at");
    let has_calls = keys.boolean(file, "calls");
    if begin.iter().chain(&end).any(Pattern::is_empty) {
        let remedy = "write `begin` and `end`: the tokens around a thought";
        file.fault(&keys.span.clone(), "a thought has no tokens", remedy);
    }
    keys.finish(file);
    let thinking = Thinking {
        begin,
        end,
        is_anywhere: at == Some(At::Anywhere),
        calls: Vec::new(),
    };
    (thinking, has_calls)
}

fn read_form(file: &mut File<'_>, mut keys: Keys<'_, '_>, index: usize) -> Form {
    let span = keys.span.clone();
    let shape: Option<Shape> = keys.required_word(file, "arguments");
    let shape = shape.unwrap_or(Shape::Envelope);
    let at: Option<At> = keys.word(file, "at");
    let is_several = keys.has("separator");
    let begins_turn = keys.boolean(file, "begins_turn");
    let reply_head = (keys.string(file, "reply_head")).map(|head| Pattern::new(head.get_ref()));
    let begins = patterns(file, &mut keys, "begin");
    let ends_of_block = ends(file, &mut keys, "end");
    let separators = patterns(file, &mut keys, "separator");
    let heads = patterns(file, &mut keys, "head");
    let call_ends = ends(file, &mut keys, "call_end");
    let id = keys.string(file, "id").map(|id| Pattern::new(id.get_ref()));
    let quote = keys.string(file, "quote").map(Spanned::into_inner);
    let typed = keys.boolean(file, "typed");
    let parameters = keys.tables(file, "parameter").into_iter();
    let parameters = parameters.map(|table| read_parameter(file, table, shape));
    let parameters: Vec<Parameter> = parameters.collect();
    let envelope = EnvelopeKeys {
        name: strings_or(file, &mut keys, "name_keys", &["name"]),
        arguments: strings_or(
            file,
            &mut keys,
            "arguments_keys",
            &["arguments", "parameters", "input"],
        ),
        id: strings_or(file, &mut keys, "id_keys", &["id"]),
        first: strings_or(file, &mut keys, "first_keys", &["type"]),
        is_id_last: keys.boolean(file, "id_last"),
    };
    keys.finish(file);
    let mut fault = |message: &str, remedy: &str| file.fault(&span, message, remedy);
    let has_name = |heads: &[Pattern]| heads.iter().all(|head| head.has("{name}"));
    if shape != Shape::Envelope && !has_name(&heads) {
        fault("a call has no name", "write `head`, with `{name}` in it");
    }
    if let Some(head) = &reply_head
        && !(begins_turn && head.has("{name}"))
    {
        fault(
            "no reply begins with this",
            "`reply_head` goes with `begins_turn`, and has `{name}` in it",
        );
    }
    for (is_wrong, message, remedy) in wrong_parameters(shape, &parameters, typed, &call_ends) {
        if is_wrong {
            fault(message, remedy);
        }
    }
    if shape == Shape::BareKeys && quote.as_deref().unwrap_or_default().is_empty() {
        fault(
            "strings have no tokens",
            "write `quote`, the token around them",
        );
    }
    let keep = |patterns: Vec<Pattern>| match &patterns[..] {
        [only] if only.is_empty() => Vec::new(),
        _ => patterns,
    };
    let mut form = Form {
        at: at.unwrap_or(At::Anywhere),
        shape,
        begins_turn,
        reply_head,
        begins,
        ends: ends_of_block,
        separators: separators.clone(),
        heads,
        call_ends: keep(call_ends),
        id,
        nexts: Vec::new(),
        keys: envelope,
        parameters,
        typed,
        quote: quote.unwrap_or_default(),
    };
    let is_open = |opening: &Opening| {
        let is_bare = shape == Shape::Envelope && opening.pattern.is_empty();
        !is_bare && opening.pattern.first_byte().is_none()
    };
    if openings((index, &form)).any(|opening| is_open(&opening)) {
        fault(
            "a call begins with nothing",
            "write `begin`, or a token before the name",
        );
    }
    if is_several {
        form.nexts = nexts(index, &form);
    } else {
        form.separators.clear();
    }
    form
}

/// What may be wrong with a form's parameters: whether it is, what that is, and the remedy.
fn wrong_parameters(
    shape: Shape,
    parameters: &[Parameter],
    typed: bool,
    call_ends: &[Pattern],
) -> [(bool, &'static str, &'static str); 3] {
    let has_parameters = shape == Shape::Parameters;
    [
        (
            has_parameters && parameters.is_empty(),
            "there are no parameters",
            "say them under [[form.parameter]]",
        ),
        (
            typed && !can_hold(shape, parameters),
            "these parameters cannot be held one by one",
            "`typed` goes with one [[form.parameter]], whose value is what the `schema` says or `elements`; with two, `text` and `json`; with `python`; with bare keys",
        ),
        (
            has_parameters && call_ends.iter().any(Pattern::is_empty),
            "nothing ends the parameters",
            "write `call_end`",
        ),
    ]
}

/// The beginnings of a form's blocks, each with its first call's head.
fn openings((index, form): (usize, &Form)) -> impl Iterator<Item = Opening> {
    let begins = form.begins.iter().enumerate();
    begins.flat_map(move |(begin, before)| {
        form.heads.iter().map(move |head| {
            let pattern = before.then(head);
            Opening {
                form: index,
                begin,
                is_bare: pattern.is_empty(),
                pattern,
            }
        })
    })
}

/// The heads of a block's further calls.
fn nexts(index: usize, form: &Form) -> Vec<Opening> {
    let pairs = form.separators.iter();
    let pairs = pairs.flat_map(|before| form.heads.iter().map(move |head| (before, head)));
    let nexts = pairs.map(|(before, head)| Opening {
        form: index,
        begin: 0,
        pattern: before.then(head).after_blanks(),
        is_bare: false,
    });
    nexts.collect()
}

fn read_parameter(file: &mut File<'_>, mut keys: Keys<'_, '_>, shape: Shape) -> Parameter {
    let value: Option<ParameterValue> = keys.word(file, "value");
    let around = keys.string(file, "around").map(Spanned::into_inner);
    let inside = tokens(file, &mut keys, "inside");
    let begin = keys.string(file, "begin").map(Spanned::into_inner);
    let end = keys.string(file, "end").map(Spanned::into_inner);
    let end = end.unwrap_or_default();
    let parameter = Parameter {
        begin: Pattern::new(&begin.unwrap_or_default()),
        end: end.trim_end().to_owned(),
        after: end[end.trim_end().len()..].to_owned(),
        around: around.unwrap_or_default(),
        inside: match &inside[..] {
            [open, close] => Some((open.clone(), close.clone())),
            _ => None,
        },
        value: value.unwrap_or(ParameterValue::Schema),
    };
    let is_closed = parameter.begin.has("{key}")
        && !parameter.begin.has_open_key()
        && parameter.begin.first_byte().is_some()
        && !parameter.begin.ends_blank()
        && !parameter.end.is_empty();
    if shape == Shape::Parameters && !is_closed {
        let remedy = "write `begin`, with `{key}` between tokens, and `end`; blanks go to `around`";
        file.fault(&keys.span.clone(), "a parameter has no tokens", remedy);
    }
    if parameter.value == ParameterValue::Elements && Tokens::new(&parameter).is_none() {
        let remedy = "write `{key}` between two tokens, in `end` with a solidus before it";
        file.fault(&keys.span.clone(), "elements have no tokens", remedy);
    }
    if !matches!(inside.len(), 0 | 2) {
        let remedy = "write two: the token before the text, and the one behind it";
        file.fault(&keys.span.clone(), "`inside` is no pair of tokens", remedy);
    }
    keys.finish(file);
    parameter
}

fn strings_or(
    file: &mut File<'_>,
    keys: &mut Keys<'_, '_>,
    key: &'static str,
    otherwise: &[&str],
) -> Vec<String> {
    let is_there = keys.has(key);
    let strings = plain(keys.strings(file, key));
    if is_there {
        return strings;
    }
    otherwise.iter().map(|&text| text.to_owned()).collect()
}

fn read_example(file: &mut File<'_>, mut keys: Keys<'_, '_>) -> Example {
    let remedy = "write what the model wrote";
    let text = keys.required(file, "text", remedy);
    let content = keys.string(file, "content").map(Spanned::into_inner);
    let written = keys.string(file, "written").map(Spanned::into_inner);
    let mut calls = Vec::new();
    for mut call in keys.tables(file, "call") {
        let id = call.string(file, "id").map(Spanned::into_inner);
        let name = call.required(file, "name", "write the tool's name");
        let arguments = call.required(file, "arguments", "write the arguments in JSON");
        if let (Some(name), Some(arguments)) = (name, arguments) {
            calls.push((id, name.into_inner(), arguments.into_inner()));
        }
        call.finish(file);
    }
    keys.finish(file);
    Example {
        text: text.map(Spanned::into_inner).unwrap_or_default(),
        content: content.unwrap_or_default(),
        calls,
        written,
    }
}

/// The bytes with which anything but text begins.
fn starts(
    openings: &[Opening],
    drop: &[String],
    stray: &[Pattern],
    thinking: Option<&Thinking>,
) -> Vec<bool> {
    let mut starts = vec![false; 256];
    let patterns = openings.iter().map(|opening| &opening.pattern);
    let thoughts = thinking.into_iter().flat_map(|thinking| &thinking.begin);
    let firsts = patterns.chain(thoughts).chain(stray);
    let firsts = firsts.map(Pattern::first_byte);
    let drops = drop.iter().map(|token| token.bytes().next());
    for first in firsts.chain(drops) {
        // A bare envelope begins with its bracket.
        starts[usize::from(first.unwrap_or(b'{'))] = true;
    }
    starts
}
