//! Models in each dialect's words, with the fields that its SDKs and programs read. What a server does not tell is
//! left out, or said to be nothing where a field must be there.

use super::read::Model;
use super::{Page, Speaks};
use crate::dialect::time::rfc3339;
use serde_json::{Value, json};
use siphasher::sip128::SipHasher24;

/// Such a page of a list.
pub(super) fn list(speaks: Speaks, models: &[Model], page: &Page) -> Value {
    let written =
        |models: &[Model]| -> Value { models.iter().map(|model| one_of(speaks, model)).collect() };
    match speaks {
        Speaks::OpenAi => json!({"object": "list", "data": written(models)}),
        Speaks::Ollama => json!({"models": written(models)}),
        Speaks::Anthropic => {
            let (found, has_more) = around(models, page);
            let id = |model: Option<&Model>| model.map(|model| model.id.clone());
            json!({
                "data": written(found), "has_more": has_more,
                "first_id": id(found.first()), "last_id": id(found.last()),
            })
        }
        Speaks::Gemini => {
            let rest = models.get(page.skip..).unwrap_or_default();
            let size = page.size.unwrap_or(rest.len()).clamp(1, 1000);
            let found = rest.get(..size).unwrap_or(rest);
            let mut list = json!({"models": written(found)});
            if found.len() < rest.len() {
                list["nextPageToken"] = json!((page.skip + found.len()).to_string());
            }
            list
        }
    }
}

/// Anthropic's page: behind a model, or before one; whether there are more that way.
fn around<'m>(models: &'m [Model], page: &Page) -> (&'m [Model], bool) {
    let place = |name: &Option<String>| {
        let name = name.as_ref()?;
        models.iter().position(|model| model.id == *name)
    };
    let size = page.size.unwrap_or(models.len()).max(1);
    if let Some(end) = place(&page.before) {
        let start = end.saturating_sub(size);
        return (models.get(start..end).unwrap_or_default(), start > 0);
    }
    let start = place(&page.after).map_or(0, |place| place + 1);
    let rest = models.get(start..).unwrap_or_default();
    let found = rest.get(..size).unwrap_or(rest);
    (found, found.len() < rest.len())
}

/// One model as its own route shows it.
pub(super) fn one(speaks: Speaks, model: &Model) -> Value {
    match speaks {
        Speaks::Ollama => shown(model),
        speaks => one_of(speaks, model),
    }
}

/// Ollama's models that are loaded: whatever the server lists can be asked at once.
pub(super) fn running(models: &[Model]) -> Value {
    let entries: Vec<Value> = (models.iter())
        .map(|model| {
            let mut entry = tag(model);
            entry["size_vram"] = json!(0);
            // It does not expire.
            entry["expires_at"] = json!("9999-12-31T23:59:59Z");
            if let Some(context) = model.context {
                entry["context_length"] = json!(context);
            }
            entry
        })
        .collect();
    json!({"models": entries})
}

fn one_of(speaks: Speaks, model: &Model) -> Value {
    let title = model.title.as_ref().unwrap_or(&model.id);
    match speaks {
        Speaks::OpenAi => {
            let mut entry = json!({
                "id": model.id, "object": "model", "created": model.created.unwrap_or_default(),
                "owned_by": model.owner.as_deref().unwrap_or("server"),
            });
            if model.entry.is_empty() {
                // In vLLM's word, which programs read.
                if let Some(context) = model.context {
                    entry["max_model_len"] = json!(context);
                }
            } else if let Some(entry) = entry.as_object_mut() {
                let is_said = |name: &str| ["id", "object", "created", "owned_by"].contains(&name);
                let beside = model.entry.iter().filter(|(name, _)| !is_said(name));
                entry.extend(beside.map(|(name, value)| (name.clone(), value.clone())));
            }
            entry
        }
        Speaks::Anthropic => {
            // Its reference: the beginning of time where the date is not known.
            let created = rfc3339(model.created.unwrap_or_default());
            let mut entry = json!({
                "type": "model", "id": model.id, "display_name": title, "created_at": created,
            });
            for (name, count) in [
                ("max_input_tokens", model.context),
                ("max_tokens", model.output),
            ] {
                if let Some(count) = count {
                    entry[name] = json!(count);
                }
            }
            entry
        }
        Speaks::Gemini => {
            let mut entry = json!({
                "name": format!("models/{}", model.id), "version": "1", "displayName": title,
                "supportedGenerationMethods": ["generateContent", "streamGenerateContent", "countTokens"],
            });
            for (name, count) in [
                ("inputTokenLimit", model.context),
                ("outputTokenLimit", model.output.or(model.context)),
            ] {
                if let Some(count) = count {
                    entry[name] = json!(count);
                }
            }
            entry
        }
        Speaks::Ollama => tag(model),
    }
}

fn details() -> Value {
    json!({
        "parent_model": "", "format": "", "family": "", "families": [], "parameter_size": "",
        "quantization_level": "",
    })
}

/// Who a model is to clients of Ollama's: llm-ollama takes models of one digest for other names of the first.
fn digest(id: &str) -> String {
    let half = |key| {
        SipHasher24::new_with_keys(key, 0)
            .hash(id.as_bytes())
            .as_u128()
    };
    format!("{:032x}{:032x}", half(0), half(1))
}

fn tag(model: &Model) -> Value {
    json!({
        "name": model.id, "model": model.id, "modified_at": rfc3339(model.created.unwrap_or_default()),
        "size": 0, "digest": digest(&model.id), "details": details(),
    })
}

/// `/api/show`: agent programs read what the model can do, and how long a conversation may be.
fn shown(model: &Model) -> Value {
    // Tools are read out of any model's text here.
    let mut capabilities = vec!["completion", "tools"];
    if model.sees_images {
        capabilities.push("vision");
    }
    // The length stands under the name of an architecture, which clients take from the first of these.
    let mut info = json!({"general.architecture": "unknown", "general.basename": model.id});
    if let Some(context) = model.context {
        info["unknown.context_length"] = json!(context);
    }
    json!({
        "modelfile": "", "parameters": "", "template": "", "details": details(), "model_info": info,
        "capabilities": capabilities, "modified_at": rfc3339(model.created.unwrap_or_default()),
    })
}
