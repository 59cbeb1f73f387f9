//! One checked rule file: every version's entries in, the [`Rule`] of one version out.

use super::raw::Span;
use super::recognise::Recognise;
use super::{
    AllowRule, ChoiceRule, Compact, ComposeHow, ConstraintRule, FieldRule, Http, LaunchRule, Range,
    Rule, ShowTools, Template, TextUnion, Version,
};
use crate::dialect::server::{Render, Server};
use crate::schema::Profile;
use std::collections::BTreeSet;

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
    pub(super) thinking_off: Option<Template>,
    pub(super) custom_tools: bool,
    pub(super) hosted_tools: bool,
    pub(super) refuses_nulls: bool,
    pub(super) one_choice: bool,
    pub(super) completions: bool,
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
            http: self.http.clone(),
            constraints: by_key(&self.constraints, version).collect(),
            choices: by_key(&self.choices, version).collect(),
            show_tools: *first(&self.show_tools, version)?,
            compose: first(&self.compose, version)?.0,
            text_unions: first(&self.compose, version)?.1.clone(),
            one_call: *first(&self.one_call, version)?,
            custom_tools: self.custom_tools,
            hosted_tools: self.hosted_tools,
            refuses_nulls: self.refuses_nulls,
            one_choice: self.one_choice,
            completions: self.completions,
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
            thinking_off: self.thinking_off.clone(),
            answers_as_thoughts: false,
            launch: self.launch.clone(),
        })
    }

    /// The versions at which anything may change, from the very first on.
    pub(super) fn edges(&self) -> Vec<Version> {
        let mut edges = BTreeSet::from([Version::FIRST]);
        collect(&mut edges, &self.render);
        collect(&mut edges, &self.constraints);
        collect(&mut edges, &self.choices);
        collect(&mut edges, &self.show_tools);
        collect(&mut edges, &self.compose);
        collect(&mut edges, &self.one_call);
        collect(&mut edges, &self.fields);
        collect(&mut edges, &self.allow);
        collect(&mut edges, &self.schema);
        collect(&mut edges, &self.compact);
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
