//! Structural tags, written out at once as xgrammar's documents say what each format takes: all of
//! the text, and whether it was cut, is known then.

use super::super::model::{Language, Written, of_regex, write};
use super::{Refusal, Server, refusal};
use serde_json::{Value, json};

/// A model's words: nothing in them begins or ends a tag.
const WORDS: [&str; 6] = ["", "so: ", "I look.\n", "{\"a\": 1}", "1, 2", " "];

impl Server<'_> {
    pub(super) fn tag(&mut self, value: &Value) -> Result<Option<Language>, Refusal> {
        let parsed = value
            .as_str()
            .and_then(|text| serde_json::from_str(text).ok());
        let tag: &Value = parsed.as_ref().unwrap_or(value);
        let mut text = String::new();
        let is_cut = if let Some(all) = tag["structures"].as_array() {
            // The older shape: the newer one's triggered tags.
            let tags = all.iter().map(|one| {
                json!({"type": "tag", "begin": one["begin"], "end": one["end"],
                    "content": {"type": "json_schema", "json_schema": one["schema"]}})
            });
            let format = json!({"type": "triggered_tags", "triggers": tag["triggers"], "tags": tags.collect::<Vec<_>>()});
            self.format(&format, &mut text)?
        } else if self.notes.tag_formats {
            self.format(&tag["format"], &mut text)?
        } else {
            return refusal(400, "Invalid structural tag: structures are missing");
        };
        Ok(Some(Language::Known(Written { text, is_cut })))
    }

    /// Writes what a format takes; says whether the text ended before its time.
    fn format(&mut self, format: &Value, text: &mut String) -> Result<bool, Refusal> {
        let literal = |key: &str| format[key].as_str().unwrap_or_default();
        let all = |key: &str| format[key].as_array().cloned().unwrap_or_default();
        match literal("type") {
            "const_string" => text.push_str(literal("value")),
            "any_text" => text.push_str(self.random.of::<&str>(&WORDS)),
            "regex" => return self.leaf(&of_regex(literal("pattern")), text),
            "json_schema" => {
                // The check of keywords does not look into tags: what xgrammar cannot do is let go.
                let read = self.notes.compiler.read_parameters(&format["json_schema"]);
                let read = read.or_else(|error| refusal(400, error))?;
                return self.leaf(&Language::Json(read.unwrap_or_default()), text);
            }
            "sequence" => {
                for part in all("elements") {
                    if self.format(&part, text)? {
                        return Ok(true);
                    }
                }
            }
            "or" => {
                let part = self.random.of(&all("elements")).clone();
                return self.format(&part, text);
            }
            "optional" => return self.times(&format["content"], 0, 1, text),
            "star" => return self.times(&format["content"], 0, 3, text),
            "plus" => return self.times(&format["content"], 1, 3, text),
            "repeat" => {
                let min = format["min"].as_u64().unwrap_or_default() as usize;
                let max = format["max"].as_u64().map_or(min + 2, |max| max as usize);
                return self.times(&format["content"], min, max, text);
            }
            "tag" => return self.one_tag(format, text),
            "triggered_tags" => return self.triggered(format, text),
            "tags_with_separator" => {
                let least = usize::from(format["at_least_one"] == true);
                let most = if format["stop_after_first"] == true {
                    1
                } else {
                    3
                };
                for nth in 0..least + self.random.below(most + 1 - least) {
                    if nth > 0 {
                        text.push_str(literal("separator"));
                    }
                    let tag = self.random.of(&all("tags")).clone();
                    if self.one_tag(&tag, text)? {
                        return Ok(true);
                    }
                }
            }
            _ => return refusal(400, "Invalid structural tag"),
        }
        Ok(false)
    }

    fn leaf(&mut self, language: &Language, text: &mut String) -> Result<bool, Refusal> {
        let written = write(language, self.random).or_else(|error| refusal(400, error))?;
        text.push_str(&written.text);
        Ok(written.is_cut)
    }

    fn times(
        &mut self,
        content: &Value,
        min: usize,
        max: usize,
        text: &mut String,
    ) -> Result<bool, Refusal> {
        for _ in 0..min + self.random.below(max + 1 - min) {
            if self.format(content, text)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn one_tag(&mut self, tag: &Value, text: &mut String) -> Result<bool, Refusal> {
        text.push_str(tag["begin"].as_str().unwrap_or_default());
        if self.format(&tag["content"], text)? {
            return Ok(true);
        }
        let end = tag["end"].as_str().or(tag["end"][0].as_str());
        text.push_str(end.unwrap_or_default());
        Ok(false)
    }

    /// "`at_least_one: true` requires at least one dispatched tag and therefore disallows leading
    /// free text; `stop_after_first: true` finishes after the first dispatched tag."
    fn triggered(&mut self, format: &Value, text: &mut String) -> Result<bool, Refusal> {
        let tags = format["tags"].as_array().cloned().unwrap_or_default();
        let (least, stops) = (
            format["at_least_one"] == true,
            format["stop_after_first"] == true,
        );
        let most = if stops { 1 } else { 2 };
        let count = usize::from(least) + self.random.below(most + 1 - usize::from(least));
        for nth in 0..count {
            if !(least && nth == 0) {
                text.push_str(self.random.of::<&str>(&WORDS));
            }
            let tag = self.random.of(&tags).clone();
            if self.one_tag(&tag, text)? {
                return Ok(true);
            }
        }
        if count == 0 {
            text.push_str("No tool is needed.");
        } else if !stops {
            text.push_str(self.random.of::<&str>(&WORDS));
        }
        Ok(false)
    }
}
