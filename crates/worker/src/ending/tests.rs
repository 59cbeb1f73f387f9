//! What is promised of ends: where there ever was a way, there is one to the last token.

use super::{Ending, Leads, TooLong};
use crate::backend::{Matcher, Stuck, TokenMask};
use crate::toy::{END, vocabulary};
use crate::vocabulary::Token;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// The toy's.
const TOKENS: usize = END as usize + 1;

/// Lists of letters and lists, each of at least so many: `[a[b]c]`. A token is a byte.
#[derive(Debug, Clone)]
struct Lists {
    least: usize,
    /// How many stand in each open list.
    open: Vec<usize>,
    is_over: bool,
    /// Whether it tells the shortest way; then how often it was asked.
    told: Option<Arc<AtomicU32>>,
}

impl Lists {
    fn new(least: usize) -> Self {
        Self {
            least,
            open: Vec::new(),
            is_over: false,
            told: None,
        }
    }

    fn told(least: usize) -> Self {
        Self {
            told: Some(Arc::default()),
            ..Self::new(least)
        }
    }

    fn shortest(&self) -> String {
        let list = |count: usize| format!("{}]", "a".repeat(self.least.saturating_sub(count)));
        match self.open.is_empty() {
            true if self.is_over => String::new(),
            true => format!("[{}", list(0)),
            false => self.open.iter().rev().map(|&count| list(count)).collect(),
        }
    }

    fn allowed(&self) -> Vec<u8> {
        match self.open.last() {
            None if self.is_over => Vec::new(),
            None => vec![b'['],
            Some(count) if *count < self.least => vec![b'a', b'b', b'['],
            Some(_) => vec![b'a', b'b', b'[', b']'],
        }
    }
}

impl Matcher for Lists {
    fn mask(&mut self) -> Result<TokenMask, Stuck> {
        let mut mask = TokenMask::alloc(TOKENS);
        for byte in self.allowed() {
            mask.allow_token(Token::from(byte));
        }
        if self.is_over {
            mask.allow_token(END);
        }
        Ok(mask)
    }

    fn consume(&mut self, token: Token) -> Result<(), Stuck> {
        let byte = u8::try_from(token).map_err(|_| Stuck::Refused)?;
        if !self.allowed().contains(&byte) {
            return Err(Stuck::Refused);
        }
        if byte == b']' {
            self.open.pop();
            self.is_over = self.open.is_empty();
            return Ok(());
        }
        if let Some(count) = self.open.last_mut() {
            *count += 1;
        }
        if byte == b'[' {
            self.open.push(0);
        }
        Ok(())
    }

    fn forced(&mut self) -> Vec<Token> {
        Vec::new()
    }

    fn is_accepting(&mut self) -> bool {
        self.is_over
    }

    fn is_finished(&self) -> bool {
        self.is_over
    }

    fn fork(&self) -> Option<Box<dyn Matcher>> {
        Some(Box::new(self.clone()))
    }

    fn way(&mut self, after: Option<Token>) -> Option<Vec<Token>> {
        let asked = self.told.as_ref()?;
        asked.fetch_add(1, Ordering::Relaxed);
        let mut ahead = self.clone();
        if let Some(token) = after {
            ahead.consume(token).ok()?;
        }
        self.spell(ahead.shortest().as_bytes())
    }

    fn growth(&self) -> Option<u32> {
        self.told.as_ref().map(|_| self.least as u32 + 2)
    }

    fn spell(&self, text: &[u8]) -> Option<Vec<Token>> {
        Some(text.iter().copied().map(Token::from).collect())
    }
}

fn ending() -> Ending {
    Ending::new(Leads::of(&vocabulary(None)))
}

/// What comes of an answer of at most so many tokens that takes one of these wherever it may.
fn written(mut lists: Lists, most: u32, likes: &[u8]) -> Option<String> {
    let mut ending = ending();
    ending.begin(&lists, most).ok()?;
    let mut text = String::new();
    for left in (0..most).rev() {
        let near = ending.is_near(&mut lists, left + 1);
        let liked = likes
            .iter()
            .copied()
            .cycle()
            .skip(text.len())
            .take(likes.len());
        let mut liked = liked.filter(|byte| lists.allowed().contains(byte));
        let admitted = liked.find(|byte| !near || ending.admits(Token::from(*byte), left));
        let token = match admitted {
            Some(byte) => Token::from(byte),
            None if near => ending.plan().unwrap()[0],
            None => Token::from(lists.allowed()[0]),
        };
        lists.consume(token).unwrap();
        ending.push(token);
        text.push(char::from(u8::try_from(token).unwrap()));
        if lists.is_over {
            return Some(text);
        }
    }
    None
}

#[test]
fn what_would_go_on_for_ever_is_closed_by_its_last_token() {
    for lists in [Lists::new(0), Lists::told(0)] {
        assert_eq!(written(lists.clone(), 8, b"a").unwrap(), "[aaaaaa]");
        assert_eq!(written(lists.clone(), 8, b"[").unwrap(), "[[[[]]]]");
        for most in [2, 3, 50, 128, 200, 1_000] {
            for likes in [&b"a"[..], b"[", b"[a", b"ab[b"] {
                let text = written(lists.clone(), most, likes).unwrap();
                assert!(text.len() + 1 >= most as usize, "{most}: {text}");
            }
        }
    }
}

#[test]
fn what_one_token_opens_is_closed_in_time_too() {
    for least in [1, 5] {
        for most in [least as u32 + 2, 64, 200] {
            let is_whole = |lists| written(lists, most, b"aa[b").is_some();
            assert!(is_whole(Lists::new(least)), "{least} {most}");
            assert!(is_whole(Lists::told(least)), "{least} {most}");
        }
    }
}

#[test]
fn what_cannot_be_whole_is_told_with_the_shortest_that_can() {
    for (least, room, needs) in [(3, 2, 5), (20, 10, 22), (100, 20, 102)] {
        for lists in [Lists::new(least), Lists::told(least)] {
            let told = ending().begin(&lists, room);
            assert_eq!(told, Err(TooLong { needs }));
            assert_eq!(ending().begin(&lists, needs), Ok(()));
        }
    }
    // By one token only where it is known for certain.
    let told = ending().begin(&Lists::told(20), 21);
    assert_eq!(told, Err(TooLong { needs: 22 }));
}

#[test]
fn what_opens_more_and_more_is_closed_though_it_was_not_looked_at_for_long() {
    for least in [0, 3, 40] {
        for most in [300, 3_000] {
            let text = written(Lists::told(least), most, b"[").unwrap();
            assert!(
                text.len() * 2 > most as usize,
                "{least} {most}: {}",
                text.len()
            );
        }
    }
}

#[test]
fn far_from_the_limit_the_way_is_asked_for_now_and_then() {
    let lists = Lists::told(3);
    let asked = Arc::clone(lists.told.as_ref().unwrap());
    let text = written(lists, 100_000, b"ab").unwrap();
    assert_eq!(text.len(), 100_000);
    assert!(
        (5..400).contains(&asked.load(Ordering::Relaxed)),
        "{asked:?}"
    );
}

#[test]
fn nothing_is_looked_at_far_from_the_limit() {
    let mut ending = ending();
    let mut lists = Lists::new(0);
    ending.begin(&lists, 100_000).unwrap();
    ending.longest = 0;
    for room in 95_000..100_000 {
        assert!(!ending.is_near(&mut lists, room));
    }
    assert_eq!((ending.longest, ending.scout.is_some()), (0, false));
    assert!(ending.is_near(&mut lists, super::NEAR));
    assert!(ending.plan().is_some());
}

#[test]
fn a_matcher_that_cannot_be_copied_is_left_alone() {
    #[derive(Debug)]
    struct Alone(Lists);
    impl Matcher for Alone {
        fn mask(&mut self) -> Result<TokenMask, Stuck> {
            self.0.mask()
        }
        fn consume(&mut self, token: Token) -> Result<(), Stuck> {
            self.0.consume(token)
        }
        fn forced(&mut self) -> Vec<Token> {
            Vec::new()
        }
        fn is_accepting(&mut self) -> bool {
            self.0.is_over
        }
        fn is_finished(&self) -> bool {
            self.0.is_over
        }
    }
    let mut ending = ending();
    let mut alone = Alone(Lists::new(50));
    assert_eq!(ending.begin(&alone, 5), Ok(()));
    assert!(!ending.is_near(&mut alone, 5));
}
