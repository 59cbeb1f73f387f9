//! Reads `[[count]]`: where a server counts the tokens of a prompt.

use super::check;
use crate::datafile::{File, Keys};
use crate::dialect::server::{Counting, Rendering};

pub(super) fn read(file: &mut File<'_>, keys: &mut Keys<'_, '_>) -> Option<(String, Counting)> {
    let path = keys.required(file, "path", "the path that counts");
    let at = keys.required(file, "at", "the place of the count, a JSON Pointer");
    let fields = keys.strings(file, "fields");
    let send = keys.template(file, "send");
    let render = keys.string(file, "render");
    let prompt = keys.string(file, "prompt");
    let into = keys.string(file, "into");
    for (value, is_method, remedy) in [
        (&path, true, "for example \"/tokenize\""),
        (&at, false, "for example \"/count\""),
        (&render, false, "for example \"/apply-template\""),
        (&prompt, false, "a JSON Pointer"),
    ] {
        if let Some(value) = value
            && !value.get_ref().starts_with('/')
            && !(is_method && value.get_ref().starts_with("*:"))
        {
            file.fault(&value.span(), "this begins with a slash", remedy);
        }
    }
    if fields.is_empty() {
        let remedy = "name the fields that make a prompt: messages, tools";
        file.fault(&keys.span, "`fields` is missing", remedy);
    }
    if let Some(send) = &send {
        check::no_placeholders(file, send);
    }
    let render = match (render, prompt, into) {
        (None, None, None) => None,
        (Some(path), Some(prompt), Some(into)) => Some(Rendering {
            path: path.into_inner(),
            prompt: prompt.into_inner(),
            into: into.into_inner(),
        }),
        _ => {
            let remedy = "write all three, or none of them";
            file.fault(
                &keys.span,
                "`render`, `prompt` and `into` go together",
                remedy,
            );
            None
        }
    };
    let counting = Counting {
        path: path?.into_inner(),
        fields: fields.into_iter().map(toml::Spanned::into_inner).collect(),
        send: send.map(|template| template.json).unwrap_or_default(),
        at: at?.into_inner(),
        render,
    };
    Some((String::new(), counting))
}
