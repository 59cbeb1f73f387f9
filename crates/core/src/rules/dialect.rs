//! One checked rule file: every version's entries in, the [`Rule`] of one version out.

use super::recognise::Recognise;
use super::thoughts::InText;
use super::{
    AllowRule, ChoiceRule, Compact, ComposeHow, ConstraintRule, ContextRule, FieldRule, Http,
    KnownFormats, LaunchRule, Markups, PromptOpens, Range, Rule, ShowTools, Template, TextUnion,
    ThinkingRule, ThinkingWords, Unstreamed, Version,
};
use crate::datafile::Span;
use crate::dialect::server::{Counting, Ends, Render, Server};
use crate::ir::{History, Prefill, Refusal};
use crate::schema::Profile;
use std::collections::BTreeSet;
use std::sync::Arc;

/// What one entry says for a range of versions.
#[derive(Debug, Clone)]
pub(super) struct Ranged<T> {
    /// Where the entry stands.
    pub(super) at: Span,
    /// What it is about (a kind, a choice, a field), where there are several.
    pub(super) key: String,
    /// The versions it holds for.
    pub(super) versions: Range,
    /// What it says.
    pub(super) says: T,
}

impl<T> Ranged<T> {
    fn holds(&self, version: Option<Version>) -> bool {
        self.versions.contains(version)
    }
}

/// A known bug that is tolerated: documentation for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bug {
    /// The versions that have it.
    pub versions: Range,
    /// Where it is written about.
    pub issue: String,
    /// What happens.
    pub what: String,
}

/// A rule file that has been read and checked.
#[derive(Debug, Clone)]
pub(super) struct Dialect {
    pub(super) name: String,
    pub(super) title: String,
    pub(super) sources: Vec<String>,
    pub(super) server: &'static dyn Server,
    pub(super) render: Vec<Ranged<Render>>,
    pub(super) count: Vec<Ranged<Counting>>,
    pub(super) http: Http,
    pub(super) recognise: Recognise,
    pub(super) constraints: Vec<Ranged<ConstraintRule>>,
    pub(super) choices: Vec<Ranged<ChoiceRule>>,
    pub(super) show_tools: Vec<Ranged<ShowTools>>,
    pub(super) compose: Vec<Ranged<(ComposeHow, Vec<TextUnion>)>>,
    pub(super) one_call: Vec<Ranged<bool>>,
    pub(super) fields: Vec<Ranged<FieldRule>>,
    pub(super) allow: Vec<Ranged<AllowRule>>,
    pub(super) schema: Vec<Ranged<Profile>>,
    pub(super) compact: Vec<Ranged<Compact>>,
    pub(super) launch: Vec<LaunchRule>,
    pub(super) reasoning: Vec<String>,
    pub(super) stopped: Vec<String>,
    pub(super) ends: Arc<Ends>,
    pub(super) counts_first: Vec<Ranged<Template>>,
    pub(super) history: History,
    pub(super) conversation: Vec<Ranged<Vec<Refusal>>>,
    pub(super) prefill: Vec<Ranged<Arc<Prefill>>>,
    pub(super) templates: bool,
    pub(super) too_long: Arc<[String]>,
    pub(super) refused: Arc<[String]>,
    pub(super) garbled: Arc<[String]>,
    pub(super) context: Vec<Ranged<ContextRule>>,
    pub(super) thinking: Vec<Ranged<ThinkingWords>>,
    pub(super) custom_tools: bool,
    pub(super) hosted_tools: bool,
    pub(super) refuses_nulls: bool,
    pub(super) one_choice: bool,
    pub(super) bare_models: bool,
    pub(super) stops: Option<usize>,
    pub(super) completions: bool,
    pub(super) completions_behind: Option<String>,
    pub(super) completions_unread: Vec<String>,
    pub(super) beside: Vec<String>,
    pub(super) responses: bool,
    pub(super) bugs: Vec<Bug>,
}

impl Dialect {
    /// The rule of one version; an unknown version is taken for the newest. In each group the first
    /// entry that holds wins. `None` only where an entry is missing, which the checks exclude.
    pub(super) fn resolve(&self, version: Option<Version>) -> Option<Rule> {
        Some(Rule {
            dialect: self.name.clone(),
            title: self.title.clone(),
            version,
            server: self.server,
            render: first(&self.render, version).cloned(),
            count: first(&self.count, version).cloned(),
            http: self.http.clone(),
            constraints: by_key(&self.constraints, version).collect(),
            choices: by_key(&self.choices, version).collect(),
            show_tools: *first(&self.show_tools, version)?,
            compose: first(&self.compose, version)?.0,
            text_unions: first(&self.compose, version)?.1.clone(),
            one_call: *first(&self.one_call, version)?,
            says_one_call: true,
            custom_tools: self.custom_tools,
            hosted_tools: self.hosted_tools,
            refuses_nulls: self.refuses_nulls,
            one_choice: self.one_choice,
            bare_models: self.bare_models,
            stops: self.stops,
            completions: self.completions,
            completions_behind: self.completions_behind.clone(),
            completions_unread: self.completions_unread.clone(),
            holds_behind_thoughts: false,
            // The set knows the others.
            beside: Vec::new(),
            is_alone: false,
            moved: None,
            responses: self.responses,
            fields: by_key(&self.fields, version)
                .map(|(_, field)| field)
                .collect(),
            allow: first(&self.allow, version).cloned(),
            schema: by_key(&self.schema, version)
                .find(|(backend, _)| backend.is_empty())
                .map(|(_, profile)| profile)
                .unwrap_or_default(),
            backends: by_key(&self.schema, version)
                .filter(|(backend, _)| !backend.is_empty())
                .collect(),
            compact: first(&self.compact, version).cloned(),
            reasoning: self.reasoning.clone(),
            stopped: self.stopped.clone(),
            ends: Arc::clone(&self.ends),
            counts_first: first(&self.counts_first, version).cloned(),
            history: self.history_at(version),
            thinking: self.thinking(version),
            answers_as_thoughts: false,
            answers_in_fences: false,
            calls_unthinking: false,
            most_tokens: None,
            unstreamed: Unstreamed::default(),
            prompt_opens: PromptOpens::default(),
            markup: Markups::Unknown,
            in_text: InText::default(),
            // The set knows them.
            formats: KnownFormats::default(),
            forms: Arc::default(),
            calls_in_text: false,
            launch: self.launch.clone(),
            too_long: Arc::clone(&self.too_long),
            refused: Arc::clone(&self.refused),
            garbled: Arc::clone(&self.garbled),
            context: first(&self.context, version).cloned().unwrap_or_default(),
        })
    }

    /// How conversations are taken: all entries that hold count.
    fn history_at(&self, version: Option<Version>) -> History {
        let mut history = self.history.clone();
        let entries = self.conversation.iter();
        for entry in entries.filter(|entry| entry.holds(version)) {
            entry.says.iter().for_each(|what| history.refuse(*what));
        }
        if !self.custom_tools {
            history.refuse(Refusal::CustomCalls);
        }
        if self.templates {
            // gpt-oss' names a result after the last call, Mistral's raise where the user speaks between.
            history.refuse(Refusal::Unordered);
        }
        history.prefill = first(&self.prefill, version).cloned();
        history
    }

    fn thinking(&self, version: Option<Version>) -> ThinkingRule {
        let mut rule = ThinkingRule::default();
        for (key, words) in by_key(&self.thinking, version) {
            match key.split_once(' ') {
                Some((amount, fact)) => {
                    let known = (fact.to_owned(), amount.to_owned(), words);
                    rule.by_fact.push(known);
                }
                None => rule.set(&key, words),
            }
        }
        rule
    }

    /// The versions at which anything may change, from the very first on.
    pub(super) fn edges(&self) -> Vec<Version> {
        let mut edges = BTreeSet::from([Version::FIRST]);
        collect(&mut edges, &self.render);
        collect(&mut edges, &self.count);
        collect(&mut edges, &self.constraints);
        collect(&mut edges, &self.choices);
        collect(&mut edges, &self.show_tools);
        collect(&mut edges, &self.compose);
        collect(&mut edges, &self.one_call);
        collect(&mut edges, &self.fields);
        collect(&mut edges, &self.allow);
        collect(&mut edges, &self.schema);
        collect(&mut edges, &self.compact);
        collect(&mut edges, &self.conversation);
        collect(&mut edges, &self.context);
        collect(&mut edges, &self.prefill);
        collect(&mut edges, &self.counts_first);
        collect(&mut edges, &self.thinking);
        edges.into_iter().collect()
    }
}

fn collect<T>(edges: &mut BTreeSet<Version>, entries: &[Ranged<T>]) {
    edges.extend(entries.iter().flat_map(|entry| entry.versions.edges()));
}

fn first<T>(entries: &[Ranged<T>], version: Option<Version>) -> Option<&T> {
    entries
        .iter()
        .find(|entry| entry.holds(version))
        .map(|entry| &entry.says)
}

/// The first entry that holds for each key.
fn by_key<T: Clone>(
    entries: &[Ranged<T>],
    version: Option<Version>,
) -> impl Iterator<Item = (String, T)> {
    entries.iter().enumerate().filter_map(move |(at, entry)| {
        let earlier = &entries[..at];
        let wins = entry.holds(version)
            && !earlier
                .iter()
                .any(|other| other.key == entry.key && other.holds(version));
        wins.then(|| (entry.key.clone(), entry.says.clone()))
    })
}
