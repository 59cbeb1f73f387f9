//! `[[thinking]]`: how a server is told how much the model is to think.

use super::words::AmountWord;
use super::{Template, ThinkingSend, ThinkingWords, check};
use crate::datafile::{File, Keys, RawTemplate};
use crate::ir::Effort;

pub(super) fn read(
    file: &mut File<'_>,
    keys: &mut Keys<'_, '_>,
) -> Option<(String, ThinkingWords)> {
    let amount = keys.required_word::<AmountWord>(file, "says");
    let native = keys.strings(file, "native");
    let send = keys.template(file, "send");
    let efforts = keys.words::<Effort>(file, "efforts");
    let least = keys.count(file, "least");
    let most = keys.count(file, "most");
    let unforced = keys.boolean(file, "unforced");
    let beside = keys.template(file, "beside");
    let fact = keys.string(file, "fact").map(toml::Spanned::into_inner);
    let reason = keys.string(file, "reason").map(toml::Spanned::into_inner);
    let amount = amount?.0;
    if send.is_some() == reason.is_some() {
        file.fault(
            &keys.span,
            "either `send` or `reason` stands here",
            "write what to send, or say in `reason` why there is nothing to send",
        );
    }
    if let Some(template) = &send {
        check::thinking_template(file, amount, template);
    }
    if !efforts.is_empty() && (amount != "effort" || send.is_none()) {
        file.fault(
            &keys.span,
            "`efforts` goes with the `send` of `effort`",
            "take it out",
        );
    }
    if let Some(template) = &beside {
        check::thinking_template(file, amount, template);
        if !unforced && amount != "effort" {
            let text = "`beside` goes with `unforced`, or with an effort";
            file.fault(&keys.span, text, "take it out");
        }
    }
    let is_budget = amount == "tokens" && send.is_some();
    if least.is_some() && !is_budget {
        let text = "`least` goes with the `send` of `tokens`";
        file.fault(&keys.span, text, "take it out");
    }
    let says_tokens = |send: &RawTemplate| {
        serde_json::to_string(&send.json).is_ok_and(|text| text.contains("$tokens"))
    };
    if most.is_some() && !send.as_ref().is_some_and(says_tokens) {
        let text = "`most` goes with a `send` of `$tokens`";
        file.fault(&keys.span, text, "take it out");
    }
    let words = match (send, reason) {
        (Some(send), _) => ThinkingWords::Send(ThinkingSend {
            native: native.into_iter().map(toml::Spanned::into_inner).collect(),
            send: Template(send.json),
            efforts: match efforts.is_empty() {
                true => Effort::ALL.to_vec(),
                false => efforts,
            },
            least: least.unwrap_or(0),
            most: most.unwrap_or(u64::MAX),
            unforced,
            beside: beside.map(|beside| Template(beside.json)),
        }),
        (None, reason) => ThinkingWords::None(reason?),
    };
    // Those of one amount are alternatives; those that hold where a fact is known are others.
    let key = match &fact {
        Some(fact) => format!("{amount} {fact}"),
        None => amount.to_owned(),
    };
    Some((key, words))
}
