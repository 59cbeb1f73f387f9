//! A signature of ours on thoughts: clients send thinking back only with one, and whoever reads it later
//! must know that it is what the model said and not what somebody wrote.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use siphasher::sip128::{Hasher128, SipHasher24};
use std::borrow::Cow;
use std::fmt;
use std::hash::Hasher;

/// What ours begin with; servers' own are base64.
const MARK: &str = "isogloss-";
/// The same in base64.
const MARK_IN_BASE64: &str = "aXNvZ2xvc3Mt";
/// What is kept in the place of a signature begins with.
const KEPT: &str = "isogloss-kept-";

/// What is signed, so that a key that is used for something else gives nothing away.
const PURPOSE: &[u8] = b"thoughts\0";

/// The same for what a model of the client's own wire said on the way to an answer, which is told as a thought.
const REMARKS: &[u8] = b"remarks\0";

/// What those begin with.
const REMARK: &str = "isogloss-said-";

/// The key of such signatures: the same wherever one is made and read again. Without one of its own
/// (`Default`) anybody can sign, which is for tests.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct Seal([u8; 16]);

/// A signature in the making, as the thought comes in pieces.
#[derive(Clone)]
pub struct Signer {
    hasher: SipHasher24,
    /// What was taken so far, in bytes, of a remark.
    remark: Option<usize>,
}

impl Seal {
    /// A seal with this key, which nobody may guess.
    #[must_use]
    pub const fn new(key: [u8; 16]) -> Self {
        Self(key)
    }

    /// A seal with the key that a secret text stands for.
    #[must_use]
    pub fn of_secret(secret: &str) -> Self {
        let mut hasher = SipHasher24::new();
        hasher.write(secret.as_bytes());
        Self(hasher.finish128().as_bytes())
    }

    /// Begins to sign.
    #[must_use]
    pub fn signer(&self) -> Signer {
        let mut hasher = SipHasher24::new_with_key(&self.0);
        hasher.write(PURPOSE);
        Signer {
            hasher,
            remark: None,
        }
    }

    /// Begins to sign a remark, which the server that made it takes back as a text.
    #[must_use]
    pub fn remark_signer(&self) -> Signer {
        let mut hasher = SipHasher24::new_with_key(&self.0);
        hasher.write(REMARKS);
        Signer {
            hasher,
            remark: Some(0),
        }
    }

    /// The signature of a thought that is all there.
    #[must_use]
    pub fn sign(&self, thought: &str) -> String {
        let mut signer = self.signer();
        signer.take(thought);
        signer.signature()
    }

    /// The signature of a remark that is all there.
    #[must_use]
    pub fn sign_remark(&self, remark: &str) -> String {
        let mut signer = self.remark_signer();
        signer.take(remark);
        signer.signature()
    }

    /// Whether it is the signature of this thought, or remark.
    #[must_use]
    pub fn proves(&self, thought: &str, signature: &str) -> bool {
        let wanted = match Self::is_remark(signature) {
            true => self.sign_remark(thought),
            false => self.sign(thought),
        };
        let bytes = wanted.bytes().zip(signature.bytes());
        // All of it is compared whatever differs, so that the time tells nothing.
        let differs = bytes.fold(0, |differs, (a, b)| differs | (a ^ b));
        wanted.len() == signature.len() && differs == 0
    }

    /// Whether it is a signature of a remark, whatever its key.
    #[must_use]
    pub fn is_remark(signature: &str) -> bool {
        signature.starts_with(REMARK)
    }

    /// How long the remark of such a signature is, in bytes: some clients make one thought of all that a reply has.
    #[must_use]
    pub fn remark_bytes(signature: &str) -> Option<usize> {
        let (bytes, _tag) = signature.strip_prefix(REMARK)?.split_once('-')?;
        usize::from_str_radix(bytes, 16).ok()
    }

    /// What all signatures of ours begin with, whatever their key.
    #[must_use]
    pub const fn mark() -> &'static str {
        MARK
    }

    /// What a signature begins with that is none, but what another server is to have back.
    #[must_use]
    pub const fn kept_mark() -> &'static str {
        KEPT
    }

    /// A signature of ours, whatever its key, as it was made: clients that keep signatures as bytes bring it back in base64 (google-adk).
    #[must_use]
    pub fn own(signature: &str) -> Option<Cow<'_, str>> {
        if signature.starts_with(MARK) {
            return Some(Cow::Borrowed(signature));
        }
        let bytes = signature.starts_with(MARK_IN_BASE64);
        let bytes = bytes.then(|| BASE64_STANDARD.decode(signature).ok())??;
        String::from_utf8(bytes).ok().map(Cow::Owned)
    }

    /// Whether a signature of ours may stand in it, in either spelling.
    #[must_use]
    pub fn may_stand_in(text: &[u8]) -> bool {
        let has = |mark: &str| memchr::memmem::find(text, mark.as_bytes()).is_some();
        has(MARK) || has(MARK_IN_BASE64)
    }
}

impl Signer {
    /// More of the thought.
    pub fn take(&mut self, thought: &str) {
        self.hasher.write(thought.as_bytes());
        if let Some(bytes) = &mut self.remark {
            *bytes += thought.len();
        }
    }

    /// The signature.
    #[must_use]
    pub fn signature(&self) -> String {
        let tag = u128::from_be_bytes(self.hasher.finish128().as_bytes());
        match self.remark {
            Some(bytes) => format!("{REMARK}{bytes:x}-{tag:032x}"),
            None => format!("{MARK}{tag:032x}"),
        }
    }
}

impl fmt::Debug for Seal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Seal(…)")
    }
}

impl fmt::Debug for Signer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Signer(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::Seal;

    #[test]
    fn a_signature_proves_its_thought_under_its_key_and_nothing_else() {
        let (ours, theirs) = (Seal::of_secret("a key"), Seal::of_secret("a kez"));
        let signature = ours.sign("Who is it?");
        assert!(signature.starts_with(Seal::mark()));
        assert!(ours.proves("Who is it?", &signature));
        assert!(!ours.proves("Who is it!", &signature));
        assert!(!theirs.proves("Who is it?", &signature));
        let remark = ours.sign_remark("Who is it?");
        assert!(remark.starts_with(Seal::mark()) && Seal::is_remark(&remark));
        assert!(ours.proves("Who is it?", &remark) && !ours.proves("Who is it!", &remark));
        assert!(!Seal::is_remark(&signature));
        let shorter = signature.get(..40).unwrap_or_default();
        for other in ["", "c2ln", "isogloss-", shorter, &format!("{signature}0")] {
            assert!(!ours.proves("Who is it?", other), "{other}");
        }
    }

    #[test]
    fn a_signature_of_ours_is_known_in_base64_as_well() {
        use base64::Engine as _;
        let seal = Seal::new([7; 16]);
        for signature in [seal.sign("a"), seal.sign_remark("a")] {
            let encoded = base64::prelude::BASE64_STANDARD.encode(&signature);
            for spelled in [&signature, &encoded] {
                assert_eq!(Seal::own(spelled).as_deref(), Some(&*signature));
                assert!(Seal::may_stand_in(spelled.as_bytes()));
            }
        }
        for other in ["", "EqQBCgIYAhIM", "aXNvZ2xvc3M6e30=", "aXNvZ2xvc3Mt!!"] {
            assert_eq!(Seal::own(other), None, "{other}");
        }
    }

    #[test]
    fn pieces_have_the_signature_of_the_whole() {
        let seal = Seal::new([7; 16]);
        for split in 0..=10 {
            let (first, rest) = "0123456789".split_at(split);
            let mut signer = seal.signer();
            signer.take(first);
            signer.take(rest);
            assert_eq!(signer.signature(), seal.sign("0123456789"));
        }
    }

    #[test]
    fn a_key_is_not_shown() {
        assert_eq!(format!("{:?}", Seal::of_secret("a key")), "Seal(…)");
    }
}
