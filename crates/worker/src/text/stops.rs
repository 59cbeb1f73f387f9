//! Stop texts as one automaton: a byte of the answer comes in; whether one of them ends with it
//! goes out.

use std::collections::{HashMap, VecDeque};

/// A place in the texts: what was read is the beginning of one of them.
#[derive(Debug, Default)]
struct Node {
    /// How much of the text was read.
    depth: usize,
    /// The place of the longest end of what was read that is a beginning, too.
    fallback: usize,
    /// The longest text that ends here.
    ends: Option<usize>,
}

/// The automaton, at a place.
#[derive(Debug, Default)]
pub(super) struct Stops {
    nodes: Vec<Node>,
    /// From a place by a byte to the next one.
    edges: HashMap<(usize, u8), usize>,
    at: usize,
}

impl Stops {
    pub(super) fn new(texts: &[String]) -> Self {
        let mut stops = Self {
            nodes: vec![Node::default()],
            ..Self::default()
        };
        for text in texts.iter().filter(|text| !text.is_empty()) {
            stops.insert(text.as_bytes());
        }
        stops.link();
        stops
    }

    fn insert(&mut self, text: &[u8]) {
        let mut at = 0;
        for (depth, &byte) in (1..).zip(text) {
            let new = self.nodes.len();
            at = *self.edges.entry((at, byte)).or_insert(new);
            if at == new {
                self.nodes.push(Node {
                    depth,
                    ..Node::default()
                });
            }
        }
        self.nodes[at].ends = Some(text.len());
    }

    /// Sets the fallbacks, shorter beginnings first.
    fn link(&mut self) {
        let mut children: Vec<Vec<(u8, usize)>> = Vec::new();
        children.resize_with(self.nodes.len(), Vec::new);
        for (&(from, byte), &to) in &self.edges {
            children[from].push((byte, to));
        }
        let mut queue = VecDeque::from([0]);
        while let Some(from) = queue.pop_front() {
            for &(byte, to) in &children[from] {
                if from != 0 {
                    let fallback = self.step(self.nodes[from].fallback, byte);
                    self.nodes[to].fallback = fallback;
                    let shorter = self.nodes[fallback].ends;
                    self.nodes[to].ends = self.nodes[to].ends.or(shorter);
                }
                queue.push_back(to);
            }
        }
    }

    fn step(&self, mut at: usize, byte: u8) -> usize {
        loop {
            match self.edges.get(&(at, byte)) {
                Some(&to) => return to,
                None if at == 0 => return 0,
                None => at = self.nodes[at].fallback,
            }
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.edges.is_empty()
    }

    /// Bytes at the end of what was read that may be the beginning of a text.
    pub(super) fn depth(&self) -> usize {
        self.nodes.get(self.at).map_or(0, |node| node.depth)
    }

    /// Forgets what was read.
    pub(super) fn restart(&mut self) {
        self.at = 0;
    }

    /// Reads a byte. The length of the longest text that ends with it.
    pub(super) fn next(&mut self, byte: u8) -> Option<usize> {
        self.at = self.step(self.at, byte);
        self.nodes[self.at].ends
    }
}
