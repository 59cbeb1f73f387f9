//! Words of closed sets, and the one that was meant.

/// A value of a closed set that a rule file names by a word.
pub(crate) trait Word: Copy + 'static {
    /// What the words are, for messages.
    const NOUN: &'static str;
    /// Each word and its value.
    const WORDS: &'static [(&'static str, Self)];
}

/// The word nearest to a misspelt one, if it is near.
pub(crate) fn nearest<'a>(
    wrong: &str,
    words: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let limit = 2.max(wrong.chars().count() / 3);
    words
        .into_iter()
        .map(|word| (strsim::levenshtein(wrong, word), word))
        .filter(|(distance, _)| *distance <= limit)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, word)| word)
}
