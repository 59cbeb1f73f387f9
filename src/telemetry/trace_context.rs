//! W3C Trace Context: the header `traceparent` in and out. Pure.

/// Where a request belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TraceContext {
    /// The whole trace.
    pub trace: u128,
    /// The span that sent the request.
    pub span: u64,
    /// Whether the sender records it.
    pub sampled: bool,
}

impl TraceContext {
    /// Reads the header; `None` where it is not valid, which then counts as absent.
    #[must_use]
    pub fn read(text: &str) -> Option<Self> {
        let mut parts = text.split('-');
        let version = hex(parts.next()?, 2)?;
        let trace = hex(parts.next()?, 32)?;
        let span = hex(parts.next()?, 16)?;
        let flags = hex(parts.next()?, 2)?;
        // Later versions may have more parts, this one has none; 255 is no version.
        let has_more = parts.next().is_some();
        let is_valid = version != 255 && (version != 0 || !has_more) && trace != 0 && span != 0;
        is_valid.then_some(Self {
            trace,
            span: span as u64,
            sampled: flags & 1 == 1,
        })
    }

    /// The header's text.
    #[must_use]
    pub fn write(&self) -> String {
        let (trace, span, flags) = (self.trace, self.span, u8::from(self.sampled));
        format!("00-{trace:032x}-{span:016x}-{flags:02x}")
    }
}

/// Small letters alone, and so many.
fn hex(text: &str, digits: usize) -> Option<u128> {
    let is_hex = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    let is_good = text.len() == digits && text.bytes().all(is_hex);
    is_good.then(|| u128::from_str_radix(text, 16).ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    #[test]
    fn the_header_is_written_as_it_was_read() {
        let context = TraceContext::read(GOOD);
        assert_eq!(context.map(|found| found.write()).as_deref(), Some(GOOD));
        let unsampled = GOOD.replace("-01", "-00");
        assert_eq!(
            TraceContext::read(&unsampled).map(|found| found.sampled),
            Some(false)
        );
        let later = GOOD.replace("00-4b", "cc-4b") + "-more";
        assert_eq!(TraceContext::read(&later), context);
    }

    #[test]
    fn what_is_not_valid_counts_as_absent() {
        for bad in [
            "".to_owned(),
            "00".to_owned(),
            GOOD.to_uppercase(),
            GOOD.replace("00-4b", "ff-4b"),
            format!("{GOOD}-more"),
            GOOD.replace("00f067aa0ba902b7", "0000000000000000"),
            GOOD.replace("4bf92f3577b34da6a3ce929d0e0e4736", &"0".repeat(32)),
            GOOD.replace("4bf9", "+bf9"),
            GOOD.replace("-01", "-1"),
        ] {
            assert_eq!(TraceContext::read(&bad), None, "{bad}");
        }
    }
}
