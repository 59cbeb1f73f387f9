//! What was written for servers before: a client's schema or grammar and what is to become of it
//! come in; what it became goes out, worked out once as long as it is asked for again.
//!
//! Clients send the same tools and schemas with every request. The same kind of cache as that of
//! checks, with the same bounds; nothing waits in it: two who ask for the same at once both work.

use super::cache::{Cache, Lookup};
use super::fingerprint::{Fingerprint, Fingerprints, same_order};
use super::store::{Build, Outcome};
use super::{Observer, Stats, Unobserved};
use isogloss_core::grammar::{self, Converted, GrammarFault, TaggedCall, Union};
use isogloss_core::ir::Constraint;
use isogloss_core::rewrite::{Around, ForServer, Memo, unite};
use isogloss_core::schema::{Profile, SchemaLimits};
use serde_json::Value;
use std::sync::Arc;

/// A [`Memo`] that remembers, within bounds. Cloning shares it.
#[derive(Clone)]
pub struct MemoCache {
    shared: Arc<Shared>,
}

struct Shared {
    prints: Fingerprints,
    cache: Cache<Works>,
    observer: Arc<dyn Observer>,
}

/// What is to be written.
#[derive(Debug, Clone)]
enum Work {
    Lower {
        schema: Value,
        profile: Box<Profile>,
    },
    Convert {
        constraint: Constraint,
        kind: String,
    },
    Union {
        calls: Vec<Call>,
        is_one: bool,
        around: Around<String, Constraint>,
        kind: String,
    },
}

/// A [`TaggedCall`] that is kept.
#[derive(Debug, Clone)]
struct Call {
    begin: String,
    numbered: Option<String>,
    schema: Value,
    content: Option<Value>,
    end: String,
}

impl Call {
    fn of(call: &TaggedCall<'_>) -> Self {
        Self {
            begin: call.begin.to_owned(),
            numbered: call.numbered.map(str::to_owned),
            schema: call.schema.clone(),
            content: call.content.cloned(),
            end: call.end.to_owned(),
        }
    }

    fn borrowed(&self) -> TaggedCall<'_> {
        TaggedCall {
            begin: &self.begin,
            numbered: self.numbered.as_deref(),
            schema: &self.schema,
            content: self.content.as_ref(),
            end: &self.end,
        }
    }

    fn is(&self, call: &TaggedCall<'_>) -> bool {
        let own = self.borrowed();
        own.begin == call.begin
            && own.numbered == call.numbered
            && own.end == call.end
            && same_order(own.schema, call.schema)
            && match (own.content, call.content) {
                (Some(own), Some(other)) => same_order(own, other),
                (own, other) => own.is_none() && other.is_none(),
            }
    }
}

/// What was written.
#[derive(Debug, Clone)]
enum Done {
    Lowered(Arc<ForServer>),
    Converted(Result<Arc<Converted>, GrammarFault>),
    Union(Result<Arc<Union>, GrammarFault>),
}

/// Works to what was written.
struct Works;

impl Build for Works {
    type Source = Work;
    type Built = Done;

    fn kind(_: &Work) -> &'static str {
        "translation"
    }

    fn same(one: &Work, other: &Work) -> bool {
        match (one, other) {
            (
                Work::Lower { schema, profile },
                Work::Lower {
                    schema: other,
                    profile: its,
                },
            ) => profile == its && same_order(schema, other),
            (
                Work::Convert { constraint, kind },
                Work::Convert {
                    constraint: other,
                    kind: its,
                },
            ) => kind == its && same_constraint(constraint, other),
            (
                Work::Union {
                    calls,
                    is_one,
                    around,
                    kind,
                },
                other,
            ) => {
                let calls: Vec<_> = calls.iter().map(Call::borrowed).collect();
                is_union(other, &calls, *is_one, &around.borrowed(), kind)
            }
            _ => false,
        }
    }

    fn is_ordered(&self) -> bool {
        true
    }

    fn fingerprint(&self, prints: &Fingerprints, source: &Work) -> Option<Fingerprint> {
        match source {
            Work::Lower { schema, .. } => prints.of_parts(&[schema], None, &0),
            Work::Convert { constraint, kind } => prints.of_parts(&[], Some(constraint), kind),
            Work::Union {
                calls,
                is_one,
                around,
                kind,
            } => {
                let calls: Vec<_> = calls.iter().map(Call::borrowed).collect();
                union_print(prints, &calls, *is_one, &around.borrowed(), kind)
            }
        }
    }

    fn build(&self, source: &Work, _: &SchemaLimits) -> Outcome<Self> {
        Ok(match source {
            Work::Lower { schema, profile } => lowered(schema, profile),
            Work::Convert { constraint, kind } => converted(constraint, kind),
            Work::Union {
                calls,
                is_one,
                around,
                kind,
            } => {
                let calls: Vec<_> = calls.iter().map(Call::borrowed).collect();
                united(&calls, *is_one, &around.borrowed(), kind)
            }
        })
    }

    fn estimated_bytes(done: &Done) -> usize {
        // A JSON value takes up to 16 bytes of memory for each byte of its text.
        let of_constraint = |constraint: &Constraint| match constraint {
            Constraint::Regex(text) | Constraint::Grammar { text, .. } => text.len(),
            Constraint::JsonSchema(value) => 16 * value.to_string().len(),
            _ => 0,
        };
        const DIFFERENCE: usize = 256;
        match done {
            Done::Lowered(lowered) => {
                let schema = lowered.schema.as_ref();
                let bytes = schema.map_or(0, |schema| 16 * schema.to_string().len());
                bytes + DIFFERENCE * lowered.losses.len()
            }
            Done::Converted(Ok(done)) => {
                of_constraint(&done.constraint) + DIFFERENCE * done.differences.len()
            }
            Done::Union(Ok(done)) => {
                of_constraint(&done.constraint) + DIFFERENCE * done.differences.len()
            }
            Done::Converted(Err(_)) | Done::Union(Err(_)) => DIFFERENCE,
        }
    }
}

impl MemoCache {
    /// One that keeps so many entries, of so many bytes as estimated.
    #[must_use]
    pub fn new(entries: usize, bytes: usize) -> Self {
        Self::observed(entries, bytes, Arc::new(Unobserved))
    }

    /// One that tells an observer what it does.
    #[must_use]
    pub fn observed(entries: usize, bytes: usize, observer: Arc<dyn Observer>) -> Self {
        let limits = SchemaLimits::default();
        Self {
            shared: Arc::new(Shared {
                prints: Fingerprints::new(limits.text_bytes).ordered(),
                cache: Cache::new(entries, bytes),
                observer,
            }),
        }
    }

    /// Counts, and what is kept now.
    #[must_use]
    pub fn stats(&self) -> Stats {
        self.shared.cache.stats()
    }

    fn recall(
        &self,
        print: impl FnOnce() -> Option<Fingerprint>,
        is_it: impl Fn(&Work) -> bool,
        work: impl FnOnce() -> Work,
        build: impl FnOnce() -> Done,
    ) -> Done {
        let Shared {
            cache, observer, ..
        } = &*self.shared;
        // What is too large or too deep for a cache is worked out each time.
        let Some(print) = (!cache.keeps_nothing()).then(print).flatten() else {
            return build();
        };
        if let Some(Lookup::Hit(done)) = cache.find_by(print, is_it) {
            observer.recalled();
            return done;
        }
        let done = build();
        let mut forgotten = 0;
        if let Lookup::Miss(flight) = cache.find_or_take_off(print, Arc::new(work())) {
            let (evicted, _) = cache.settle(&flight, Some(&done));
            forgotten = evicted.len();
        }
        observer.written(forgotten);
        let Stats { entries, bytes, .. } = self.stats();
        observer.remembered(entries, bytes);
        done
    }
}

impl Memo for MemoCache {
    fn lower(&self, schema: &Value, profile: &Profile) -> Arc<ForServer> {
        let print = || self.shared.prints.of_parts(&[schema], None, &0);
        let is_it = |work: &Work| {
            matches!(work, Work::Lower { schema: its, profile: known }
                if **known == *profile && same_order(schema, its))
        };
        let work = || Work::Lower {
            schema: schema.clone(),
            profile: Box::new(profile.clone()),
        };
        match self.recall(print, is_it, work, || lowered(schema, profile)) {
            Done::Lowered(done) => done,
            _ => Arc::new(ForServer::of(schema, profile)),
        }
    }

    fn convert(&self, constraint: &Constraint, kind: &str) -> Result<Arc<Converted>, GrammarFault> {
        let print = || self.shared.prints.of_parts(&[], Some(constraint), &kind);
        let is_it = |work: &Work| {
            matches!(work, Work::Convert { constraint: its, kind: known }
                if known == kind && same_constraint(constraint, its))
        };
        let work = || Work::Convert {
            constraint: constraint.clone(),
            kind: kind.to_owned(),
        };
        match self.recall(print, is_it, work, || converted(constraint, kind)) {
            Done::Converted(done) => done,
            _ => grammar::convert(constraint, kind).map(Arc::new),
        }
    }

    fn union(
        &self,
        calls: &[TaggedCall<'_>],
        is_one: bool,
        around: &Around<&str, &Constraint>,
        kind: &str,
    ) -> Result<Arc<Union>, GrammarFault> {
        let print = || union_print(&self.shared.prints, calls, is_one, around, kind);
        let work = || Work::Union {
            calls: calls.iter().map(Call::of).collect(),
            is_one,
            around: match around {
                Around::Text(trigger) => Around::Text((*trigger).to_owned()),
                Around::Answer(answer) => Around::Answer((*answer).clone()),
                Around::Block {
                    open,
                    between,
                    close,
                } => Around::Block {
                    open: (*open).to_owned(),
                    between: (*between).to_owned(),
                    close: (*close).to_owned(),
                },
            },
            kind: kind.to_owned(),
        };
        let is_it = |work: &Work| is_union(work, calls, is_one, around, kind);
        match self.recall(print, is_it, work, || united(calls, is_one, around, kind)) {
            Done::Union(done) => done,
            _ => unite(calls, is_one, around, kind).map(Arc::new),
        }
    }
}

impl std::fmt::Debug for MemoCache {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MemoCache")
            .field("stats", &self.stats())
            .finish_non_exhaustive()
    }
}

fn lowered(schema: &Value, profile: &Profile) -> Done {
    Done::Lowered(Arc::new(ForServer::of(schema, profile)))
}

fn converted(constraint: &Constraint, kind: &str) -> Done {
    Done::Converted(grammar::convert(constraint, kind).map(Arc::new))
}

fn united(
    calls: &[TaggedCall<'_>],
    is_one: bool,
    around: &Around<&str, &Constraint>,
    kind: &str,
) -> Done {
    Done::Union(unite(calls, is_one, around, kind).map(Arc::new))
}

fn union_print(
    prints: &Fingerprints,
    calls: &[TaggedCall<'_>],
    is_one: bool,
    around: &Around<&str, &Constraint>,
    kind: &str,
) -> Option<Fingerprint> {
    let schemas: Vec<&Value> = calls.iter().map(|call| call.schema).collect();
    let begins: Vec<&str> = calls.iter().map(|call| call.begin).collect();
    let (answer, texts) = match around {
        Around::Text(trigger) => (None, [*trigger, "", ""]),
        Around::Answer(answer) => (Some(*answer), [""; 3]),
        Around::Block {
            open,
            between,
            close,
        } => (None, [*open, *between, *close]),
    };
    prints.of_parts(&schemas, answer, &(begins, texts, is_one, kind))
}

fn is_union(
    work: &Work,
    calls: &[TaggedCall<'_>],
    is_one: bool,
    around: &Around<&str, &Constraint>,
    kind: &str,
) -> bool {
    let Work::Union {
        calls: known,
        is_one: its_one,
        around: its,
        kind: its_kind,
    } = work
    else {
        return false;
    };
    let is_around = match (around, its.borrowed()) {
        (one @ (Around::Text(_) | Around::Block { .. }), other) => *one == other,
        (Around::Answer(one), Around::Answer(other)) => same_constraint(one, other),
        _ => false,
    };
    is_around
        && is_one == *its_one
        && kind == its_kind
        && calls.len() == known.len()
        && calls.iter().zip(known).all(|(call, known)| known.is(call))
}

fn same_constraint(one: &Constraint, other: &Constraint) -> bool {
    match (one, other) {
        (Constraint::JsonSchema(one), Constraint::JsonSchema(other))
        | (Constraint::StructuralTag(one), Constraint::StructuralTag(other)) => {
            same_order(one, other)
        }
        (one, other) => one == other,
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may panic")]
mod tests;
