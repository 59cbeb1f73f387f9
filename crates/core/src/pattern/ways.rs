//! Ways through a regex: a language comes in; whether a reader that follows all ways at once is overrun by their number, and the
//! same language with one way for each text, go out.
//!
//! llama.cpp follows each way through a grammar by itself while it looks whether a token may come, so that of `(([a-z]+)*\d)+` a
//! token of sixty letters has 2^60 of them, and the server never answers anybody again.

mod automaton;
mod eliminate;

pub use automaton::{Dfa, State};

use regex_syntax::hir::{Class, Hir, HirKind};
use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};

/// Letters of the longest tokens that vocabularies have many of.
const LETTERS: usize = 64;
/// Ways of one text between two places, on average over where they begin, that a reader follows in a moment: the third power of
/// [`LETTERS`], as three `.*` have them, is below.
const MOST_WAYS: f64 = 16_384.0;
/// Next letters that are tried of each text, and texts that are followed.
const TRIED: usize = 3;
const FOLLOWED: usize = 4;
/// Places of a language that is looked at, and steps between them.
const MAX_NODES: usize = 20_000;
const MAX_STEPS: usize = 200_000;
/// Kinds of letters that a language tells apart.
const MAX_LETTERS: usize = 2_000;

/// Whether a reader that follows all ways through the language at once may be overrun by them.
#[must_use]
pub fn overrun(hir: &Hir) -> bool {
    // Without a repetition there are no more ways than the pattern spells out.
    let Some(nfa) = repeats(hir).then(|| Nfa::of(hir)).flatten() else {
        return false;
    };
    nfa.overrun().unwrap_or(true)
}

/// The same language with one way for each text; `None` where that would be too large.
#[must_use]
pub fn one_way(hir: &Hir) -> Option<Hir> {
    let one = eliminate::regex(&Dfa::of(hir)?)?;
    (!overrun(&one)).then_some(one)
}

fn repeats(hir: &Hir) -> bool {
    match hir.kind() {
        HirKind::Repetition(_) => true,
        HirKind::Capture(capture) => repeats(&capture.sub),
        HirKind::Concat(parts) | HirKind::Alternation(parts) => parts.iter().any(repeats),
        HirKind::Empty | HirKind::Literal(_) | HirKind::Class(_) | HirKind::Look(_) => false,
    }
}

/// A place in the language.
#[derive(Debug, Default)]
struct Node {
    /// Where one gets without a letter.
    free: Vec<usize>,
    /// Where one gets with a letter of a class.
    on: Option<(usize, usize)>,
}

/// Thompson's construction, with repetitions spelled out as llama.cpp does; the start is 0.
#[derive(Debug)]
struct Nfa {
    nodes: Vec<Node>,
    end: usize,
    /// By number: the letters of each class, as their numbers.
    classes: Vec<Vec<usize>>,
    /// The kinds of letters: first and last.
    letters: Vec<(char, char)>,
}

impl Nfa {
    /// `None` for what is too large, and for what is no language of texts.
    fn of(hir: &Hir) -> Option<Self> {
        let mut builder = Builder::default();
        builder.node()?;
        let end = builder.add(hir, 0)?;
        let (letters, classes) = letters(builder.classes)?;
        Some(Self {
            nodes: builder.nodes,
            end,
            classes,
            letters,
        })
    }

    /// The place itself, or the one that it leads to alone.
    fn resolved(&self, mut node: usize) -> usize {
        while let ([only], None) = (self.nodes[node].free.as_slice(), self.nodes[node].on) {
            node = *only;
        }
        node
    }

    /// The places with a letter that are reached from one without any, and the end.
    fn reached(&self, from: usize, steps: &mut usize) -> Option<Vec<usize>> {
        let mut seen = std::collections::BTreeSet::new();
        let mut pending = vec![from];
        while let Some(node) = pending.pop() {
            *steps = steps.checked_sub(1)?;
            if seen.insert(node) {
                pending.extend(&self.nodes[node].free);
            }
        }
        let is_place = |node: &usize| *node == self.end || self.nodes[*node].on.is_some();
        Some(seen.into_iter().filter(is_place).collect())
    }

    /// Follows the texts with the most ways; `None` where one place leads to too many others.
    fn overrun(&self) -> Option<bool> {
        let mut steps = MAX_STEPS;
        let mut reached = HashMap::new();
        for node in &self.nodes {
            if let Some((_, next)) = node.on {
                let next = self.resolved(next);
                if let Entry::Vacant(free) = reached.entry(next) {
                    free.insert(self.reached(next, &mut steps)?);
                }
            }
        }
        // A token begins wherever the last one ended.
        let places = self.nodes.iter().filter(|node| node.on.is_some()).count();
        let most = MOST_WAYS * places.max(1) as f64;
        let start: Vec<f64> = self
            .nodes
            .iter()
            .map(|node| f64::from(u8::from(node.on.is_some())))
            .collect();
        let classes = self.told_apart();
        let mut texts = vec![start];
        for _ in 0..LETTERS {
            let mut next: Vec<(f64, Vec<f64>)> = Vec::new();
            for text in &texts {
                for letter in self.likely(text, &classes, &reached) {
                    let ways = self.follow(text, letter, &classes, &reached);
                    let largest = ways.iter().copied().fold(0.0, f64::max);
                    if largest > most {
                        return Some(true);
                    }
                    if largest > 0.0 {
                        next.push((largest, ways));
                    }
                }
            }
            next.sort_by(|(one, _), (other, _)| other.total_cmp(one));
            next.dedup_by(|one, other| one == other);
            next.truncate(FOLLOWED);
            texts = next.into_iter().map(|(_, ways)| ways).collect();
        }
        Some(false)
    }

    /// Of each class one kind of letter for all that are in the same classes: `\p{L}` has hundreds, of which each leads where the
    /// others do.
    fn told_apart(&self) -> Vec<Vec<usize>> {
        let mut classes_of = vec![Vec::new(); self.letters.len()];
        for (class, letters) in self.classes.iter().enumerate() {
            letters
                .iter()
                .for_each(|letter| classes_of[*letter].push(class));
        }
        let mut seen = std::collections::HashSet::new();
        let mut told_apart = vec![Vec::new(); self.classes.len()];
        for (letter, classes) in classes_of.iter().enumerate() {
            if seen.insert(classes) {
                classes
                    .iter()
                    .for_each(|class| told_apart[*class].push(letter));
            }
        }
        told_apart
    }

    /// The letters with which most ways go on.
    fn likely(
        &self,
        ways: &[f64],
        classes: &[Vec<usize>],
        reached: &HashMap<usize, Vec<usize>>,
    ) -> Vec<usize> {
        let mut gains: BTreeMap<usize, f64> = BTreeMap::new();
        for (node, ways) in self.nodes.iter().zip(ways) {
            if let (Some((class, next)), true) = (node.on, *ways > 0.0) {
                let gain = ways * reached[&self.resolved(next)].len() as f64;
                for &letter in &classes[class] {
                    *gains.entry(letter).or_default() += gain;
                }
            }
        }
        let mut gains: Vec<(usize, f64)> = gains.into_iter().collect();
        gains.sort_by(|(_, one), (_, other)| other.total_cmp(one));
        gains.truncate(TRIED);
        gains.into_iter().map(|(letter, _)| letter).collect()
    }

    /// How many ways lead to each place with one letter more.
    fn follow(
        &self,
        ways: &[f64],
        letter: usize,
        classes: &[Vec<usize>],
        reached: &HashMap<usize, Vec<usize>>,
    ) -> Vec<f64> {
        let mut arrived = vec![0.0; ways.len()];
        for (node, ways) in self.nodes.iter().zip(ways) {
            if let (Some((class, next)), true) = (node.on, *ways > 0.0)
                && classes[class].binary_search(&letter).is_ok()
            {
                arrived[self.resolved(next)] += ways;
            }
        }
        let mut next = vec![0.0; ways.len()];
        for (place, ways) in arrived
            .into_iter()
            .enumerate()
            .filter(|(_, ways)| *ways > 0.0)
        {
            for &place in &reached[&place] {
                next[place] += ways;
            }
        }
        next
    }
}

#[derive(Default)]
struct Builder {
    nodes: Vec<Node>,
    classes: Vec<Vec<(char, char)>>,
    numbers: HashMap<Vec<(char, char)>, usize>,
}

impl Builder {
    fn node(&mut self) -> Option<usize> {
        self.nodes.push(Node::default());
        (self.nodes.len() <= MAX_NODES).then_some(self.nodes.len() - 1)
    }

    fn free(&mut self, from: usize, to: usize) {
        self.nodes[from].free.push(to);
    }

    /// Adds a language from a place on; the place where it ends.
    fn add(&mut self, hir: &Hir, from: usize) -> Option<usize> {
        match hir.kind() {
            HirKind::Empty => Some(from),
            HirKind::Look(_) => None,
            HirKind::Literal(literal) => {
                let mut chars = std::str::from_utf8(&literal.0).ok()?.chars();
                chars.try_fold(from, |from, c| self.on(vec![(c, c)], from))
            }
            HirKind::Class(Class::Unicode(class)) => {
                let ranges = class.iter().map(|range| (range.start(), range.end()));
                self.on(ranges.collect(), from)
            }
            HirKind::Class(Class::Bytes(class)) => {
                let class = class.to_unicode_class()?;
                let ranges = class.iter().map(|range| (range.start(), range.end()));
                self.on(ranges.collect(), from)
            }
            HirKind::Capture(capture) => self.add(&capture.sub, from),
            HirKind::Concat(parts) => parts
                .iter()
                .try_fold(from, |from, part| self.add(part, from)),
            HirKind::Alternation(parts) => {
                let end = self.node()?;
                for part in parts {
                    let begin = self.node()?;
                    self.free(from, begin);
                    let last = self.add(part, begin)?;
                    self.free(last, end);
                }
                Some(end)
            }
            HirKind::Repetition(repeated) => {
                let mut from = from;
                for _ in 0..repeated.min {
                    from = self.add(&repeated.sub, from)?;
                }
                let Some(max) = repeated.max else {
                    let hub = self.node()?;
                    self.free(from, hub);
                    let begin = self.node()?;
                    self.free(hub, begin);
                    let last = self.add(&repeated.sub, begin)?;
                    self.free(last, hub);
                    let end = self.node()?;
                    self.free(hub, end);
                    return Some(end);
                };
                let end = self.node()?;
                for _ in repeated.min..max {
                    self.free(from, end);
                    let begin = self.node()?;
                    self.free(from, begin);
                    from = self.add(&repeated.sub, begin)?;
                }
                self.free(from, end);
                Some(end)
            }
        }
    }

    fn on(&mut self, ranges: Vec<(char, char)>, from: usize) -> Option<usize> {
        let class = match self.numbers.get(&ranges) {
            Some(class) => *class,
            None => {
                self.classes.push(ranges.clone());
                self.numbers.insert(ranges, self.classes.len() - 1);
                self.classes.len() - 1
            }
        };
        // One letter alone leads on from a place.
        let place = self.node()?;
        self.free(from, place);
        let next = self.node()?;
        self.nodes[place].on = Some((class, next));
        Some(next)
    }
}

/// The kinds of letters that no class tells apart, and of which each class consists.
type Letters = (Vec<(char, char)>, Vec<Vec<usize>>);

fn letters(classes: Vec<Vec<(char, char)>>) -> Option<Letters> {
    let mut cuts = std::collections::BTreeSet::new();
    for &(first, last) in classes.iter().flatten() {
        cuts.insert(u32::from(first));
        cuts.insert(u32::from(last) + 1);
    }
    let cuts: Vec<u32> = cuts.into_iter().collect();
    let mut letters = Vec::new();
    let mut starts = Vec::new();
    for pair in cuts.windows(2) {
        // Between the cuts there may be the codes that are no characters.
        let first = (pair[0]..pair[1]).find_map(char::from_u32);
        let last = (pair[0]..pair[1]).rev().find_map(char::from_u32);
        if let (Some(first), Some(last)) = (first, last) {
            letters.push((first, last));
            starts.push(u32::from(first));
        }
    }
    if letters.len() > MAX_LETTERS {
        return None;
    }
    let of_class = |ranges: Vec<(char, char)>| {
        let mut of_class = Vec::new();
        for (first, last) in ranges {
            let from = starts.partition_point(|start| *start < u32::from(first));
            let to = starts.partition_point(|start| *start <= u32::from(last));
            of_class.extend(from..to);
        }
        of_class
    };
    let classes = classes.into_iter().map(of_class).collect();
    Some((letters, classes))
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may panic")]
mod tests {
    use super::{Dfa, Nfa, one_way, overrun};
    use crate::pattern::parse;
    use regex::Regex;

    #[test]
    fn many_ways_through_a_language_are_seen() {
        for pattern in [
            "(([a-z]+)*[0-9])+",
            r"(([*+?]?[ -~]+)*[0-9]{2})+\.",
            "([a-z]+ ?)+",
            "(a|b|ab)*c",
            "([a-z]?){50}",
            "([a-z]{0,3}){40}",
            // From 64 letters on there are many.
            "x([a-z]{6,})+",
            "[a-z]*[a-z]*[a-z]*[a-z]*[a-z]*[0-9]",
            // What comes before it is longer than a token.
            "[0-9]{100}(([a-z]+)*[0-9])+",
        ] {
            assert!(overrun(&parse(pattern).unwrap()), "{pattern}");
        }
    }

    #[test]
    fn letters_that_are_in_the_same_classes_are_followed_once() {
        let hir = parse(r"(\p{L}|\p{Greek}\w){1,100}").unwrap();
        let nfa = Nfa::of(&hir).unwrap();
        assert!(nfa.letters.len() > 500);
        let told_apart = nfa.told_apart();
        assert!(told_apart.iter().all(|letters| !letters.is_empty()));
        assert!(told_apart.iter().map(Vec::len).sum::<usize>() < 20);
    }

    #[test]
    fn what_has_few_ways_is_left_alone() {
        for pattern in [
            "abc",
            "[a-z]{0,1999}",
            "([a-z]{0,40}[0-9]){0,40}",
            "([a-z]+ )+",
            "[^@ ]+@[^@ ]+[.][^@ ]+",
            ".*a.*b.*",
            "(?:[a-z]|[0-9]+-)*",
            "(foo|bar|baz)*",
            r#"(?:[^"\\]|\\.)*"#,
            // Each is ambiguous, but in few ways.
            "(a|a)b",
            "([a-z]?){4}",
            r"(\w+\W+){3}\w*",
        ] {
            assert!(!overrun(&parse(pattern).unwrap()), "{pattern}");
        }
    }

    #[test]
    fn one_way_takes_the_same_texts() {
        for (pattern, texts) in [
            (
                "(([a-z]+)*[0-9])+",
                &["a", "1", "a1", "ab12c3", "ab12c", "", "A1"][..],
            ),
            (
                r"(([*+?]?[ -~]+)*[0-9]{2})+\.",
                &["12.", "a12.", "1.", "*12..", "*a12b.", "00.00.", "é12."],
            ),
            ("([a-z]+ ?)+", &["a", "a b", "a  b", " a", "a b ", ""]),
            ("(a|b|ab)*c", &["c", "abc", "babac", "ab", "abcc"]),
            ("([é-ü]+|ß)*x?", &["", "é", "éßüx", "xx", "ßx"]),
        ] {
            let hir = parse(pattern).unwrap();
            let one = one_way(&hir).unwrap();
            assert!(!overrun(&one), "{one}");
            let whole = |text: &str| Regex::new(&format!("^(?:{text})$")).unwrap();
            let (before, after) = (whole(pattern), whole(&one.to_string()));
            for text in texts {
                assert_eq!(
                    before.is_match(text),
                    after.is_match(text),
                    "{pattern} {one} {text}"
                );
            }
        }
    }

    #[test]
    fn what_is_too_large_has_no_one_way() {
        // Which of the last letters was an `a` is 2^20 states.
        let hir = parse("(([ab]+)*a[ab]{20})+c").unwrap();
        assert!(overrun(&hir));
        assert!(Dfa::of(&hir).is_none());
        assert!(one_way(&hir).is_none());
    }
}
