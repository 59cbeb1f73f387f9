//! A chat template's source, before it is compiled: Jinja comes in; the same template with its
//! bounds written into it, and what it knows of, goes out.
//!
//! minijinja counts instructions and nesting, but a template of a few lines can double a text or
//! a list at each step, and so fill any memory within a thousand instructions. So each place that
//! binds a value (`set`, `for`, `with`, the parameters of a macro) is followed by a call that
//! weighs what was bound (see `guard`), and operators that make big values out of small ones are
//! counted. What lies between two such calls is straight-line code, whose cost the source's own
//! size bounds.
//!
//! `{% generation %}` marks what a model is trained on: without meaning here, its body is kept.

#[cfg(test)]
mod tests;
mod words;

use std::collections::HashSet;
use words::{Kind, Tag, Word, basic_tag, opening, raw_end, read_tag};

/// Bytes of a template. The longest known ones have 20,000.
const MAX_SOURCE: usize = 256 << 10;
/// `+`, `~` and `*` in one tag. The known templates have at most a dozen.
const MAX_OPERATORS: usize = 200;
/// `*` in one template: each can make up to 100 MB of one character.
const MAX_PRODUCTS: usize = 16;
/// Names that a template cannot define: those of the calls that are written into it.
const RESERVED: &str = "isogloss_";

/// A template ready to be compiled.
#[derive(Debug, Clone, Default)]
pub(super) struct Prepared {
    pub(super) source: String,
    /// Bytes outside of tags.
    pub(super) raw: usize,
    /// A tag names the variable `tools`.
    pub(super) names_tools: bool,
    /// A tag has the text `'tool'`, as one that compares roles with it has.
    pub(super) names_tool_role: bool,
    /// A loop goes through the parts of a message's content.
    pub(super) reads_parts: bool,
}

/// Why a template is refused before it is compiled.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum Refused {
    #[error("it has {0} bytes, more than {MAX_SOURCE}")]
    Long(usize),
    #[error("the tag in line {0} has more than {MAX_OPERATORS} of the operators `+`, `~` and `*`")]
    Operators(usize),
    #[error("it has more than {MAX_PRODUCTS} times the operator `*` (line {0})")]
    Products(usize),
    #[error("line {0} multiplies something that is neither a literal nor a variable")]
    Product(usize),
    #[error("line {0} uses a name that begins with `{RESERVED}`")]
    Reserved(usize),
}

/// Writes the bounds into a template. What cannot be read is left for the compiler to report.
pub(super) fn prepare(source: &str) -> Result<Prepared, Refused> {
    if source.len() > MAX_SOURCE {
        return Err(Refused::Long(source.len()));
    }
    let mut scan = Scan::new(source);
    scan.tags()?;
    Ok(scan.finish())
}

struct Scan<'s> {
    source: &'s str,
    prepared: Prepared,
    /// What is already in the prepared source.
    copied: usize,
    products: usize,
    /// The targets of the `{% set x %}…{% endset %}` that are open.
    captures: Vec<String>,
    /// Names that stand for a message's content.
    contents: HashSet<&'s str>,
}

impl<'s> Scan<'s> {
    fn new(source: &'s str) -> Self {
        Self {
            source,
            prepared: Prepared {
                source: String::with_capacity(source.len() * 2),
                ..Prepared::default()
            },
            copied: 0,
            products: 0,
            captures: Vec::new(),
            contents: HashSet::from(["content"]),
        }
    }

    fn finish(mut self) -> Prepared {
        self.copy_to(self.source.len());
        self.prepared
    }

    fn copy_to(&mut self, end: usize) {
        self.prepared
            .source
            .push_str(&self.source[self.copied..end]);
        self.copied = end;
    }

    fn insert(&mut self, at: usize, text: &str) {
        self.copy_to(at);
        self.prepared.source.push_str(text);
    }

    fn line(&self, at: usize) -> usize {
        1 + self.source.as_bytes()[..at]
            .iter()
            .filter(|byte| **byte == b'\n')
            .count()
    }

    fn tags(&mut self) -> Result<(), Refused> {
        let mut at = 0;
        while let Some((open, mark)) = opening(self.source, at) {
            self.prepared.raw += open - at;
            let inner = open + 2;
            let end = match mark {
                b'#' => self.source[inner..].find("#}").map(|end| inner + end + 2),
                b'%' if basic_tag(&self.source[inner..], "raw").is_some() => {
                    let end = raw_end(self.source, inner);
                    self.prepared.raw += end.unwrap_or(inner) - inner;
                    end
                }
                _ => match read_tag(self.source, inner, mark) {
                    Some(tag) => {
                        self.tag(&tag, mark == b'%')?;
                        Some(tag.end)
                    }
                    None => None,
                },
            };
            let Some(end) = end else { return Ok(()) };
            at = end;
        }
        self.prepared.raw += self.source.len() - at;
        Ok(())
    }

    fn tag(&mut self, tag: &Tag<'s>, is_block: bool) -> Result<(), Refused> {
        let words = tag.words.as_slice();
        let Some(first) = words.first() else {
            return Ok(());
        };
        for word in words {
            if word.kind == Kind::Name && word.text.starts_with(RESERVED) {
                return Err(Refused::Reserved(self.line(word.start)));
            }
            self.prepared.names_tools |= word.kind == Kind::Name && word.text == "tools";
            self.prepared.names_tool_role |= word.says("tool");
        }
        self.products(words)?;
        if is_block && first.kind == Kind::Name {
            self.statement(tag, first, &words[1..]);
        }
        Ok(())
    }

    /// Wraps the operands of `*`, so that no list is repeated.
    fn products(&mut self, words: &[Word<'s>]) -> Result<(), Refused> {
        let operators = |word: &&Word<'_>| word.is("+") || word.is("~") || word.is("*");
        let Some(first) = words.first() else {
            return Ok(());
        };
        if words.iter().filter(operators).count() > MAX_OPERATORS {
            return Err(Refused::Operators(self.line(first.start)));
        }
        let mut edits = Vec::new();
        for (index, word) in words.iter().enumerate().filter(|(_, word)| word.is("*")) {
            let is_spread = index == 0 || words[index - 1].is("(") || words[index - 1].is(",");
            if is_spread {
                continue;
            }
            self.products += 1;
            if self.products > MAX_PRODUCTS {
                return Err(Refused::Products(self.line(word.start)));
            }
            let refused = Refused::Product(self.line(word.start));
            edits.extend(left_operand(&words[..index]).ok_or(refused.clone())?);
            edits.extend(right_operand(&words[index + 1..]).ok_or(refused)?);
        }
        // Stable: of two operators with one operand between them, both wrap it.
        edits.sort_by_key(|(at, _)| *at);
        for (at, text) in edits {
            self.insert(at, text);
        }
        Ok(())
    }

    fn statement(&mut self, tag: &Tag<'s>, keyword: &Word<'s>, words: &[Word<'s>]) {
        match keyword.text {
            // With more words it is no such tag, and the compiler says so.
            "generation" | "endgeneration" if words.is_empty() => {
                let same = match keyword.text {
                    "generation" => "if true",
                    _ => "endif",
                };
                self.insert(keyword.start, same);
                self.copied = keyword.end();
            }
            "for" => self.for_loop(tag, words),
            "macro" => self.check(tag, &parameters(words.get(1..).unwrap_or_default())),
            "call" => self.check(tag, &parameters(words)),
            "with" => self.check(tag, &with_targets(words)),
            "set" => self.set(tag, words),
            "endset" => {
                if let Some(target) = self.captures.pop() {
                    self.check(tag, &target);
                }
            }
            _ => {}
        }
    }

    fn for_loop(&mut self, tag: &Tag<'s>, words: &[Word<'s>]) {
        let is_in = |word: &Word<'_>| word.depth == 0 && word.is("in");
        let Some(place) = words.iter().position(is_in) else {
            return;
        };
        let over = &words[place + 1..];
        let is_end = |word: &Word<'_>| {
            word.depth == 0 && (word.is("if") || word.is("recursive") || word.is("|"))
        };
        let end = over.iter().position(is_end).unwrap_or(over.len());
        self.prepared.reads_parts |= self.is_content(&over[..end]);
        self.check(tag, &names(&words[..place]));
    }

    fn set(&mut self, tag: &Tag<'s>, words: &[Word<'s>]) {
        let is_assign = |word: &Word<'_>| word.depth == 0 && word.is("=");
        let Some(place) = words.iter().position(is_assign) else {
            let is_filter = |word: &Word<'_>| word.is("|");
            let end = words.iter().position(is_filter).unwrap_or(words.len());
            self.captures.push(self.target(&words[..end]));
            return;
        };
        if let [name] = &words[..place]
            && self.is_content(&words[place + 1..])
        {
            self.contents.insert(name.text);
        }
        let target = self.target(&words[..place]);
        self.check(tag, &target);
    }

    /// What a `set` assigns to: an attribute as it is written, or names.
    fn target(&self, words: &[Word<'s>]) -> String {
        match words {
            [first, .., last] if words.iter().any(|word| word.is(".")) => {
                self.source[first.start..last.end()].to_owned()
            }
            _ => names(words),
        }
    }

    /// Whether an expression is a message's content: `content`, `message.content`,
    /// `messages[0]['content']`, or a name that was set to one of these.
    fn is_content(&self, words: &[Word<'s>]) -> bool {
        match words {
            [.., dot, name] if dot.is(".") => name.is("content"),
            [.., open, key, close] if open.is("[") && close.is("]") => key.says("content"),
            [name] => name.kind == Kind::Name && self.contents.contains(name.text),
            _ => false,
        }
    }

    /// Weighs these after the tag. A namespace's attribute must hold no namespace: that could
    /// make a circle.
    fn check(&mut self, tag: &Tag<'s>, values: &str) {
        let call = match values.contains('.') {
            true => "isogloss_stored",
            false => "isogloss_bound",
        };
        let close = tag.close;
        self.insert(tag.end, &format!("{{% do {call}({values}) {close}"));
    }
}

/// The names among these words, as arguments.
fn names(words: &[Word<'_>]) -> String {
    let names = words.iter().filter(|word| word.kind == Kind::Name);
    let names: Vec<&str> = names.map(|word| word.text).collect();
    names.join(", ")
}

/// The parameters of a macro or a call block, without their defaults.
fn parameters(words: &[Word<'_>]) -> String {
    if !words.first().is_some_and(|word| word.is("(")) {
        return String::new();
    }
    let inner = words[1..].iter().take_while(|word| word.depth > 0);
    let mut is_next = true;
    let mut names = Vec::new();
    for word in inner.filter(|word| word.depth == 1) {
        if is_next && word.kind == Kind::Name {
            names.push(word.text);
        }
        is_next = word.is(",");
    }
    names.join(", ")
}

/// The targets of a `with`.
fn with_targets(words: &[Word<'_>]) -> String {
    let mut targets = Vec::new();
    let mut is_target = true;
    for word in words {
        match word.depth {
            0 if word.is("=") => is_target = false,
            0 if word.is(",") => is_target = true,
            _ if is_target && word.kind == Kind::Name => targets.push(word.text),
            _ => {}
        }
    }
    targets.join(", ")
}

type Edit = (usize, &'static str);

fn wrapped(start: usize, end: usize) -> Vec<Edit> {
    vec![(start, "isogloss_factor("), (end, ")")]
}

/// How the left operand of a product is wrapped. `None`: it is neither a literal nor a variable.
fn left_operand(words: &[Word<'_>]) -> Option<Vec<Edit>> {
    let last = words.last()?;
    if matches!(last.kind, Kind::Number | Kind::Text) {
        return Some(Vec::new());
    }
    let mut start = words.len() - 1;
    while start >= 2 && words[start - 1].is(".") && words[start - 2].kind == Kind::Name {
        start -= 2;
    }
    let before = start.checked_sub(1).map(|before| &words[before]);
    match before {
        _ if last.kind != Kind::Name => None,
        Some(pipe) if pipe.is("|") => {
            matches!(last.text, "length" | "count" | "int" | "float").then(Vec::new)
        }
        Some(word) if word.is(".") || word.is("is") => None,
        _ => Some(wrapped(words[start].start, last.end())),
    }
}

/// How the right operand of a product is wrapped.
fn right_operand(words: &[Word<'_>]) -> Option<Vec<Edit>> {
    let first = words.first()?;
    if matches!(first.kind, Kind::Number | Kind::Text) {
        return Some(Vec::new());
    }
    let mut end = 1;
    while words.get(end).is_some_and(|word| word.is("."))
        && words
            .get(end + 1)
            .is_some_and(|word| word.kind == Kind::Name)
    {
        end += 2;
    }
    let is_longer = words
        .get(end)
        .is_some_and(|word| word.is("(") || word.is("[") || word.is("."));
    match first.kind == Kind::Name && !is_longer {
        true => Some(wrapped(first.start, words[end - 1].end())),
        false => None,
    }
}
