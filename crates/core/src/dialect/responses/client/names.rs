//! Tools of a namespace have two names; servers know one. It is made of both, and put back in the reply.

use super::own::Own;
use crate::ir::{Fields, raw};
use std::collections::HashMap;

/// Longer names are cut: OpenAI's limit, which other servers have taken over.
const MAX_CHARS: usize = 64;

/// What stands between the two.
const BETWEEN: &str = "__";

/// Where the names are kept among what is noted for the writer; no field of a reply is called so.
const NOTED: &str = "namespaces";

/// Where the names of OpenAI's own tools are kept there.
const OWN: &str = "own_tools";

/// The tools of namespaces: the name that servers know, and the two that the client does.
#[derive(Debug, Default, Clone)]
pub(super) struct Names {
    known: HashMap<String, (String, String)>,
    /// Tools of OpenAI's own, which have no names, by their types: what servers know them by.
    own: HashMap<String, String>,
}

impl Names {
    /// Names a tool of a namespace, as no other is named.
    pub(super) fn add(
        &mut self,
        namespace: &str,
        name: &str,
        is_taken: impl Fn(&str) -> bool,
    ) -> String {
        let joined = joined(namespace, name);
        let mut flat = joined.clone();
        let mut count = 2_u32;
        while is_taken(&flat) || self.known.contains_key(&flat) {
            let end = format!("_{count}");
            flat = cut(&joined, MAX_CHARS - end.len()) + &end;
            count += 1;
        }
        let both = (namespace.to_owned(), name.to_owned());
        self.known.insert(flat.clone(), both);
        flat
    }

    /// Names a tool of OpenAI's own.
    pub(super) fn add_own(&mut self, own: Own, is_taken: impl Fn(&str) -> bool) -> String {
        let mut name = own.kind().to_owned();
        while is_taken(&name) || self.known.contains_key(&name) {
            name.push('_');
        }
        self.own.insert(own.kind().to_owned(), name.clone());
        name
    }

    /// What servers know such a tool by. One that is no longer there has a name all the same.
    pub(super) fn own(&self, own: Own) -> &str {
        self.own.get(own.kind()).map_or(own.kind(), String::as_str)
    }

    /// The tool of OpenAI's own that servers know by this name.
    pub(super) fn own_of(&self, flat: &str) -> Option<Own> {
        let mut named = self.own.iter();
        let (kind, _) = named.find(|(_, name)| *name == flat)?;
        Own::of(kind)
    }

    /// The namespace and the name of a tool that servers know by this name.
    pub(super) fn both(&self, flat: &str) -> Option<(&str, &str)> {
        let (namespace, name) = self.known.get(flat)?;
        Some((namespace, name))
    }

    /// What servers know a tool by. One that is no longer there has a name all the same: the conversation speaks of it.
    pub(super) fn flat(&self, namespace: Option<&str>, name: &str) -> String {
        let Some(namespace) = namespace.filter(|namespace| !namespace.is_empty()) else {
            return name.to_owned();
        };
        let mut known = self.known.iter();
        match known.find(|(_, both)| both.0 == namespace && both.1 == name) {
            Some((flat, _)) => flat.clone(),
            None => joined(namespace, name),
        }
    }

    /// The one tool of any namespace that has this name.
    pub(super) fn only(&self, name: &str) -> Option<&str> {
        let mut found = self.known.iter().filter(|(_, (_, known))| known == name);
        let (flat, _) = found.next()?;
        found.next().is_none().then_some(flat)
    }

    /// Whether tools of this namespace are there: what servers know them by.
    pub(super) fn within(&self, namespace: &str) -> Vec<String> {
        let known = self
            .known
            .iter()
            .filter(|(_, (known, _))| known == namespace);
        let mut flat: Vec<String> = known.map(|(flat, _)| flat.clone()).collect();
        flat.sort_unstable();
        flat
    }

    /// Notes them for the writer.
    pub(super) fn note(&self, fields: &mut Fields) {
        if !self.known.is_empty() {
            fields.set(NOTED, raw(&self.known));
        }
        if !self.own.is_empty() {
            fields.set(OWN, raw(&self.own));
        }
    }

    /// Takes them out of what was noted.
    pub(super) fn take(fields: &mut Fields) -> Self {
        let names = Self::noted(fields);
        fields.remove(NOTED);
        fields.remove(OWN);
        names
    }

    /// The names that were noted, where the rest is not wanted.
    pub(super) fn noted(fields: &Fields) -> Self {
        let known = fields.raw(NOTED);
        let known = known.and_then(|noted| serde_json::from_str(noted).ok());
        let own = fields.raw(OWN);
        let own = own.and_then(|noted| serde_json::from_str(noted).ok());
        Self {
            known: known.unwrap_or_default(),
            own: own.unwrap_or_default(),
        }
    }
}

/// What servers know a tool of a namespace by, where no other has that name.
pub(in crate::dialect::responses) fn joined(namespace: &str, name: &str) -> String {
    // Codex names the tools of a server `mcp__server__` and `tool`.
    let between = if namespace.ends_with(BETWEEN) {
        ""
    } else {
        BETWEEN
    };
    cut(&format!("{namespace}{between}{name}"), MAX_CHARS)
}

fn cut(name: &str, chars: usize) -> String {
    name.chars().take(chars).collect()
}
