//! Reads `[http]`: the paths and headers of servers that are not reached as OpenAI is.

use super::Http;
use crate::datafile::{File, Keys};

pub(super) fn read(file: &mut File<'_>, mut keys: Keys<'_, '_>) -> Http {
    let v1 = keys.string(file, "v1");
    let key_header = keys.string(file, "key_header");
    let headers = keys.pairs(file, "headers");
    if let Some(path) = &v1
        && (!path.get_ref().starts_with('/') || path.get_ref().ends_with('/'))
    {
        let remedy = "for example \"/v1beta/openai\"";
        file.fault(
            &path.span(),
            "a path begins with `/` and ends without",
            remedy,
        );
    }
    let names = key_header.iter().map(|name| (name.get_ref(), name.span()));
    let names = names.chain(headers.iter().map(|(name, value)| (name, value.span())));
    for (name, span) in names {
        if name.is_empty() || !name.bytes().all(is_token) {
            let message = format!("`{name}` is no header's name");
            file.fault(&span, message, "lower-case letters, digits and `-`");
        }
    }
    for (_, value) in &headers {
        if !value
            .get_ref()
            .bytes()
            .all(|byte| matches!(byte, b' '..=b'~'))
        {
            file.fault(&value.span(), "no header can say this", "plain ASCII");
        }
    }
    keys.finish(file);
    Http {
        v1: v1.map(toml::Spanned::into_inner),
        key_header: key_header.map(toml::Spanned::into_inner),
        headers: headers
            .into_iter()
            .map(|(name, value)| (name, value.into_inner()))
            .collect(),
    }
}

const fn is_token(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-'
}
