//! Reads what servers make of schemas: `[[schema]]` of a rule file, and the profiles in `rules/profiles.toml` that it may name.

use super::compile::plain;
use crate::datafile::{File, Keys, RuleFault, Source, unknown};
use crate::schema::Profile;
use indexmap::IndexMap;

/// What compilers of schemas make of them, by their names.
pub(super) type Profiles = IndexMap<String, Profile>;

/// An entry of `[[schema]]`: a profile of its own, or a known one with changes.
pub(super) fn entry(
    file: &mut File<'_>,
    keys: &mut Keys<'_, '_>,
    profiles: &Profiles,
) -> Option<(String, Profile)> {
    let backend = keys.string(file, "backend");
    let base = match keys.string(file, "like") {
        None => Profile::default(),
        Some(name) => match profiles.get(name.get_ref()) {
            Some(profile) => profile.clone(),
            None => {
                unknown(file, &name, "profile", profiles.keys().map(String::as_str));
                return None;
            }
        },
    };
    let profile = profile(file, keys, base);
    let backend = backend.map(toml::Spanned::into_inner).unwrap_or_default();
    Some((backend, profile))
}

/// A profile: what the keys say, and what this one says where they say nothing.
fn profile(file: &mut File<'_>, keys: &mut Keys<'_, '_>, base: Profile) -> Profile {
    let list = |file: &mut File<'_>, keys: &mut Keys<'_, '_>, key| {
        let known = keys.has(key);
        known.then(|| plain(keys.strings(file, key)))
    };
    Profile {
        removed: list(file, keys, "removed").unwrap_or(base.removed),
        formats: list(file, keys, "formats").or(base.formats),
        ignored: list(file, keys, "ignored").unwrap_or(base.ignored),
        known: list(file, keys, "known").or(base.known),
        siblings: keys.word(file, "siblings").unwrap_or(base.siblings),
        additional: keys
            .word(file, "additional_properties")
            .unwrap_or(base.additional),
        pattern: keys.word(file, "pattern").unwrap_or(base.pattern),
        lengths: keys.word(file, "lengths").unwrap_or(base.lengths),
        one_of: keys.word(file, "one_of").unwrap_or(base.one_of),
        all_of: keys.word(file, "all_of").unwrap_or(base.all_of),
        counts: keys.word(file, "counts").unwrap_or(base.counts),
        other_formats: keys
            .word(file, "other_formats")
            .unwrap_or(base.other_formats),
        bounds: keys.word(file, "bounds").unwrap_or(base.bounds),
        types: keys.word(file, "types").unwrap_or(base.types),
        optional: keys.word(file, "optional").unwrap_or(base.optional),
        recursion: keys.word(file, "recursion").unwrap_or(base.recursion),
        untyped: keys.word(file, "untyped").unwrap_or(base.untyped),
        guessed: list(file, keys, "guessed").unwrap_or(base.guessed),
        references: keys.word(file, "references").unwrap_or(base.references),
        tuples: keys.word(file, "tuples").unwrap_or(base.tuples),
        name_patterns: keys
            .word(file, "pattern_properties")
            .unwrap_or(base.name_patterns),
        syntax: keys.word(file, "regexes").unwrap_or(base.syntax),
        booleans: list(file, keys, "booleans").or(base.booleans),
        only_bare_is_open: keys.boolean(file, "only_bare_is_open") || base.only_bare_is_open,
        max_min_items: keys.count(file, "min_items").or(base.max_min_items),
        integer_bounds: keys
            .word(file, "integer_bounds")
            .unwrap_or(base.integer_bounds),
        bound_bits: keys.count(file, "bound_bits").or(base.bound_bits),
        float_numbers: keys.boolean(file, "float_numbers") || base.float_numbers,
        most_repeats: keys.count(file, "most_repeats").or(base.most_repeats),
        repeats_in_all: keys.count(file, "repeats_in_all").or(base.repeats_in_all),
        pattern_repeats: keys.count(file, "pattern_repeats").or(base.pattern_repeats),
        raw_patterns: keys.boolean(file, "raw_patterns") || base.raw_patterns,
        odd_escapes: keys.boolean(file, "odd_escapes") || base.odd_escapes,
        plain_lengths: keys.boolean(file, "plain_lengths") || base.plain_lengths,
        one_way: keys.boolean(file, "one_way") || base.one_way,
        plain_grammars: keys.boolean(file, "plain_grammars") || base.plain_grammars,
        ascii_classes: keys.boolean(file, "ascii_classes") || base.ascii_classes,
        plain_names: keys.boolean(file, "plain_names") || base.plain_names,
        ascii_names: keys.boolean(file, "ascii_names") || base.ascii_names,
        ref_words: keys.boolean(file, "ref_words") || base.ref_words,
        any_in_words: keys.boolean(file, "any_in_words") || base.any_in_words,
        any_as_object: keys.boolean(file, "any_as_object") || base.any_as_object,
        plain_root: keys.boolean(file, "plain_root") || base.plain_root,
        needs: list(file, keys, "needs").unwrap_or(base.needs),
        strict_only: keys.boolean(file, "strict_only") || base.strict_only,
        strict_stated: keys.boolean(file, "strict_stated") || base.strict_stated,
        says_strict: keys.boolean(file, "says_strict") || base.says_strict,
        plain_tools: keys.boolean(file, "plain_tools") || base.plain_tools,
        object_tools: keys.boolean(file, "object_tools") || base.object_tools,
        plain_patterns: keys.boolean(file, "plain_patterns") || base.plain_patterns,
        listed_tools: keys.boolean(file, "listed_tools") || base.listed_tools,
        defined_tools: keys.boolean(file, "defined_tools") || base.defined_tools,
        describes: keys.boolean(file, "describes") || base.describes,
        strict_tools: keys.boolean(file, "strict_tools") || base.strict_tools,
        needs_within: list(file, keys, "needs_within").unwrap_or(base.needs_within),
        stands_alone: keys.boolean(file, "stands_alone") || base.stands_alone,
    }
}

/// Reads the profiles that `[[schema]]` may name.
pub(super) fn profiles(source: Source<'_>) -> Result<Profiles, Vec<RuleFault>> {
    let mut file = File::new(source);
    let Some(document) = file.document() else {
        return Err(file.faults);
    };
    let mut keys = Keys::new(0..0, document.get_ref());
    let mut profiles = Profiles::new();
    for mut keys in keys.tables(&mut file, "profile") {
        let name = keys.required(&mut file, "name", "what `like` of a [[schema]] calls it");
        let found = profile(&mut file, &mut keys, Profile::default());
        keys.finish(&mut file);
        let Some(name) = name else { continue };
        let (span, name) = (name.span(), name.into_inner());
        if profiles.insert(name, found).is_some() {
            file.fault(&span, "this profile is given twice", "give each one table");
        }
    }
    keys.finish(&mut file);
    match file.faults.is_empty() {
        true => Ok(profiles),
        false => Err(file.faults),
    }
}
