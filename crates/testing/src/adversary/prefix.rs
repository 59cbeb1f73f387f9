//! Of a pattern, the one that matches every beginning of its texts.

use regex_syntax::hir::{Class, Hir, HirKind, Repetition};

/// The beginnings of what the pattern matches, the empty one and whole texts among them.
pub fn prefix(pattern: &str) -> String {
    let hir = regex_syntax::parse(pattern).expect("a pattern of the pool");
    begun(&hir).to_string()
}

fn begun(hir: &Hir) -> Hir {
    match hir.kind() {
        HirKind::Literal(literal) => {
            let text = std::str::from_utf8(&literal.0).expect("patterns are of characters");
            let all = text.char_indices().map(|(at, _)| at).chain([text.len()]);
            Hir::alternation(
                all.map(|end| Hir::literal(&text.as_bytes()[..end]))
                    .collect(),
            )
        }
        HirKind::Class(Class::Unicode(_) | Class::Bytes(_)) => {
            Hir::alternation(vec![Hir::empty(), hir.clone()])
        }
        HirKind::Repetition(repetition) => {
            // Some whole ones, and one that has begun.
            let before = Repetition {
                min: 0,
                max: repetition.max.map(|max| max.saturating_sub(1)),
                ..repetition.clone()
            };
            Hir::concat(vec![Hir::repetition(before), begun(&repetition.sub)])
        }
        HirKind::Capture(capture) => begun(&capture.sub),
        HirKind::Concat(parts) => {
            let all = (0..parts.len()).map(|nth| {
                let mut some = parts[..nth].to_vec();
                some.push(begun(&parts[nth]));
                Hir::concat(some)
            });
            Hir::alternation(all.collect())
        }
        HirKind::Alternation(parts) => Hir::alternation(parts.iter().map(begun).collect()),
        HirKind::Empty | HirKind::Look(_) => Hir::empty(),
    }
}
