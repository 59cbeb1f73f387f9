//! The text outside of calls: blanks around calls are layout, and go out only between two pieces
//! of text.

/// More blanks are text: they are not held until it is known what follows.
const MAX_BLANK_BYTES: usize = 64 << 10;

/// What is known of the text so far.
#[derive(Debug)]
pub(super) struct Layout {
    /// Blanks that go out if text follows.
    blank: String,
    /// Some text went out.
    said: bool,
    /// A call came.
    has_calls: bool,
    /// No text has come since the last call.
    called: bool,
    /// `blank` is of before that call: what follows it does not count.
    kept: bool,
    /// Nothing but blanks stands before this on its line.
    at_line: bool,
}

impl Default for Layout {
    fn default() -> Self {
        Self {
            blank: String::new(),
            said: false,
            has_calls: false,
            called: false,
            kept: false,
            at_line: true,
        }
    }
}

impl Layout {
    /// More text: what of it goes out now is appended.
    pub(super) fn say(&mut self, text: &str, ready: &mut String) {
        let mut rest = text;
        while !rest.is_empty() {
            let words = rest.trim_start();
            let (blank, more) = rest.split_at(rest.len() - words.len());
            self.space(blank, ready);
            let word = more.find(char::is_whitespace).unwrap_or(more.len());
            if word > 0 {
                self.settle(ready);
                ready.push_str(&more[..word]);
                self.at_line = false;
            }
            rest = &more[word..];
        }
    }

    fn settle(&mut self, ready: &mut String) {
        ready.push_str(&std::mem::take(&mut self.blank));
        self.said = true;
        self.called = false;
        self.kept = false;
    }

    fn space(&mut self, blank: &str, ready: &mut String) {
        self.at_line |= blank.contains('\n');
        if self.called && (self.kept || !self.said) {
            return;
        }
        for c in blank.chars() {
            self.blank.push(c);
            if self.blank.len() >= MAX_BLANK_BYTES {
                self.settle(ready);
            }
        }
    }

    /// A call begins here.
    pub(super) fn called(&mut self) {
        if !self.said {
            self.blank.clear();
        }
        self.kept = !self.blank.is_empty();
        self.called = true;
        self.has_calls = true;
        self.at_line = true;
    }

    /// A thought begins here: blanks before it are nobody's.
    pub(super) fn thought(&mut self) {
        if !self.said {
            self.blank.clear();
        }
        self.at_line = true;
    }

    /// Whether neither text nor a call has come.
    pub(super) const fn is_at_start(&self) -> bool {
        !self.said && !self.has_calls
    }

    /// Whether nothing but blanks stands before this on its line.
    pub(super) const fn is_at_line(&self) -> bool {
        self.at_line
    }

    /// What is still held where the text ends.
    pub(super) fn end(&mut self, ready: &mut String) {
        let blank = std::mem::take(&mut self.blank);
        if !self.called {
            ready.push_str(&blank);
        }
    }
}
