//! A tool's name as a model wrote it in, the tool that it can only mean out.

/// The one of `known` that `name` means, where it differs in letter case or in dashes, underscores
/// and spaces alone, or has what Harmony puts around it (`functions.`, `<|channel|>commentary`). `None` where it is one of them, none, or could be several.
#[must_use]
pub fn repair<'k>(name: &str, known: impl Iterator<Item = &'k str> + Clone) -> Option<&'k str> {
    if known.clone().any(|tool| tool == name) {
        return None;
    }
    let bare = name.split("<|").next().unwrap_or_default();
    let bare = bare.strip_prefix("functions.").unwrap_or(bare);
    let folded = fold(bare);
    let mut alike = known.filter(|tool| fold(tool) == folded);
    let only = alike.next()?;
    (alike.next().is_none() && !folded.is_empty()).then_some(only)
}

fn fold(name: &str) -> String {
    let letters = name.chars().filter(|c| !matches!(c, '-' | '_' | ' '));
    letters.flat_map(char::to_lowercase).collect()
}
