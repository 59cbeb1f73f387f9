//! `rules/thoughts.toml`: how models mark their thoughts in their text, and which model does it how.

use crate::datafile::{File, Keys, RuleFault, Source};
use crate::ir::{Begin, Thoughts};
use std::sync::Arc;

/// One way of marking thoughts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThoughtForm {
    /// Its name, for configuration.
    pub name: String,
    /// The marks.
    pub thoughts: Arc<Thoughts>,
    /// Pieces of the names of models that mark them so, in small letters.
    models: Vec<String>,
    /// Pieces of names that these are not of.
    except: Vec<String>,
}

/// All of them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ThoughtForms(Vec<ThoughtForm>);

impl ThoughtForms {
    /// The form of this name.
    #[must_use]
    pub fn by_name(&self, name: &str) -> Option<&ThoughtForm> {
        self.0.iter().find(|form| form.name == name)
    }

    /// The names.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|form| form.name.as_str())
    }

    /// The form of a model, by its name.
    #[must_use]
    pub fn of_model(&self, model: &str) -> Option<&ThoughtForm> {
        let has = |pieces: &[String]| pieces.iter().any(|piece| contains(model, piece));
        let fits = |form: &&ThoughtForm| has(&form.models) && !has(&form.except);
        self.0.iter().find(fits)
    }

    /// The form of a model of which nothing is known: the first.
    #[must_use]
    pub fn usual(&self) -> Option<&ThoughtForm> {
        self.0.first()
    }
}

/// Whether a name has a piece in it, in whatever letters. Asked of every request: nothing is copied.
fn contains(name: &str, piece: &str) -> bool {
    let (name, piece) = (name.as_bytes(), piece.as_bytes());
    let mut places = name.windows(piece.len().max(1));
    places.any(|place| place.eq_ignore_ascii_case(piece))
}

/// Reads the file.
pub(super) fn read(source: Source<'_>) -> Result<ThoughtForms, Vec<RuleFault>> {
    let mut file = File::new(source);
    let Some(document) = file.document() else {
        return Err(file.faults);
    };
    let mut keys = Keys::new(0..0, document.get_ref());
    let mut forms: Vec<ThoughtForm> = Vec::new();
    for mut keys in keys.tables(&mut file, "thoughts") {
        let at = keys.span.clone();
        let form = form(&mut file, &mut keys);
        keys.finish(&mut file);
        match form {
            Some(form) if forms.iter().any(|known| known.name == form.name) => {
                file.fault(&at, "this name is given twice", "give each form its own");
            }
            form => forms.extend(form),
        }
    }
    keys.finish(&mut file);
    if forms.is_empty() && file.faults.is_empty() {
        file.fault(&(0..0), "there is no [[thoughts]]", "write at least one");
    }
    match file.faults.is_empty() {
        true => Ok(ThoughtForms(forms)),
        false => Err(file.faults),
    }
}

fn form(file: &mut File<'_>, keys: &mut Keys<'_, '_>) -> Option<ThoughtForm> {
    let text = |list: Vec<toml::Spanned<String>>| -> Vec<String> {
        list.into_iter().map(toml::Spanned::into_inner).collect()
    };
    let name = keys.required(file, "name", "what configuration calls it");
    let open = keys.required(file, "open", "what a thought begins with");
    let close = keys.required(file, "close", "what it ends with");
    let after = text(keys.strings(file, "after"));
    let is_inside = keys.boolean(file, "inside");
    let is_several = keys.boolean(file, "several");
    let models = text(keys.strings(file, "models"));
    let except = text(keys.strings(file, "except"));
    if let Some(name) = &name
        && [BY_MODEL, APART].contains(&name.get_ref().as_str())
    {
        file.fault(
            &name.span(),
            "this name has another meaning",
            "choose another",
        );
    }
    let (open, close) = (open?.into_inner(), close?.into_inner());
    Some(ThoughtForm {
        name: name?.into_inner(),
        thoughts: Arc::new(Thoughts {
            open,
            close,
            after,
            is_several,
            begin: match is_inside {
                true => Begin::Inside,
                false => Begin::Before,
            },
        }),
        models,
        except,
    })
}

/// The form is that of the model that a request names.
const BY_MODEL: &str = "auto";
/// The server tells thoughts apart, or there are none.
const APART: &str = "apart";

/// Whether a server's prompt is known to open the model's thoughts, so that the reply begins within them. What follows counts for more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum PromptOpens {
    /// No.
    #[default]
    Unknown,
    /// Where the model is told to think.
    Asked,
    /// Where nothing is said of thinking, too.
    Silent,
}

/// Where a server's thoughts stand.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum InText {
    /// Nothing is known: the server tells them apart, or leaves them in the text.
    #[default]
    Unknown,
    /// Replies to demands were seen to begin with them.
    Seen {
        /// They began within one.
        is_inside: bool,
    },
    /// In the text: the reply to a request of the proxy's own began with one that was opened there.
    Probed,
    /// In the text, in the form of the model that the request names: the operator says so.
    ByModel,
    /// In the text, in this form: the operator says so.
    Form(Arc<Thoughts>),
    /// Not in the text: the operator says so.
    Apart,
}

impl InText {
    /// What a word of an operator's says; `None` where it says nothing.
    #[must_use]
    pub fn of(word: &str, forms: &ThoughtForms) -> Option<Self> {
        Some(match word {
            BY_MODEL => Self::ByModel,
            APART => Self::Apart,
            name => Self::Form(Arc::clone(&forms.by_name(name)?.thoughts)),
        })
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::super::RuleSet;
    use crate::ir::Begin;

    #[test]
    fn a_model_is_known_by_its_name() {
        let set = RuleSet::builtin();
        for (model, form) in [
            ("Qwen/Qwen3-8B", Some("think")),
            ("Qwen/Qwen3-30B-A3B-Thinking-2507", Some("think-inside")),
            ("deepseek-ai/DeepSeek-R1-0528", Some("think-inside")),
            ("openai/gpt-oss-20b", Some("harmony")),
            ("openai.gpt-oss-20b-1:0", Some("bedrock")),
            ("mistralai/Magistral-Small-2509", Some("mistral")),
            ("mistralai/Magistral-Small-2506", Some("think")),
            ("MiniMaxAI/MiniMax-M3", Some("minimax-m3")),
            ("meta-llama/Llama-3.1-8B", None),
            ("", None),
        ] {
            let found = set.thoughts().of_model(model);
            assert_eq!(found.map(|form| form.name.as_str()), form, "{model}");
        }
        assert_eq!(set.thoughts().usual().unwrap().name, "think");
    }

    #[test]
    fn thoughts_are_read_where_they_are_certain() {
        let rule = RuleSet::builtin().resolve("vllm", None).unwrap();
        let of = |rule: &crate::rules::Rule, is_bound, is_own| {
            rule.thoughts_of("deepseek-r1", is_bound, is_own)
                .map(|thoughts| thoughts.begin)
        };
        // A client of the server's wire has its bytes; another has an opened thought as a thought.
        assert_eq!(of(&rule, true, true), None);
        assert_eq!(of(&rule, false, false), Some(Begin::Before));
        let seen = rule.knowing("begins_inside_thoughts").unwrap();
        assert_eq!(of(&seen, true, true), Some(Begin::Perhaps));
        assert_eq!(of(&seen, false, true), None);
        let stated = rule.clone().with_thoughts("auto");
        assert_eq!(of(&stated, false, true), Some(Begin::Inside));
        assert_eq!(
            stated.knowing("thoughts_in_text"),
            None,
            "who says it is right"
        );
        assert_eq!(of(&rule.clone().with_thoughts("apart"), true, false), None);
        assert_eq!(rule.clone().with_thoughts("nonsense"), rule);
    }
}
