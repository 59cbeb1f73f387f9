//! Hostile schemas that are too large to keep: how each is made.

use serde_json::Value;

/// Expands a recipe of the hostile files: see the folder's README.
#[must_use]
pub fn recipe(recipe: &Value) -> String {
    let text = |key: &str| recipe.get(key).and_then(Value::as_str).unwrap_or_default();
    let count = recipe
        .get("count")
        .and_then(Value::as_u64)
        .unwrap_or_default();
    let fill = |unit: &str, index: u64| {
        unit.replace("%d", &index.to_string())
            .replace("%e", &(index + 1).to_string())
    };
    let repeat = |unit: &str, sep: &str| {
        let parts: Vec<_> = (0..count).map(|index| fill(unit, index)).collect();
        parts.join(sep)
    };
    let mut out = text("prefix").to_owned();
    out += &repeat(text("unit"), text("sep"));
    out += text("middle");
    if !text("unit2").is_empty() {
        out += &repeat(text("unit2"), text("sep"));
    }
    out += &text("suffix_unit").repeat(usize::try_from(count).unwrap());
    out += &text("suffix").replace("%N", &count.to_string());
    out
}
