//! What a server said, as it puts it on the wire: whole, or as a stream of events.

use super::{JSON, Said, Server};
use isogloss_testing::scripted::{Step, chunk, end, head, reply};
use serde_json::{Value, json};

const EVENTS: &str = "content-type: text/event-stream\r\n";

/// What a server that takes prompts says on the way to one: a template with a first token that it
/// puts before every text as well.
pub(crate) fn rendered(path: &str, body: &Value) -> Option<String> {
    let first = json!({"id": 1, "text": "<s>", "start": 0, "stop": 3});
    match path {
        "/chat_tokenize" => {
            let text = format!("<s>{}", body["messages"]);
            Some(json!({"tokenize_response": [first], "templated_text": text}).to_string())
        }
        "/tokenize" => Some(json!([first, first]).to_string()),
        _ => None,
    }
}

impl Server<'_> {
    pub(super) fn on_the_wire(&mut self, all: &[Said]) -> Vec<Step> {
        if self.notes.is_generate {
            return self.generated(&all[0]);
        }
        match self.body["stream"] == true {
            true => self.stream(all),
            false => vec![reply(200, JSON, &self.whole(all))],
        }
    }

    /// TGI's own route.
    fn generated(&mut self, said: &Said) -> Vec<Step> {
        let text = said.content.clone().unwrap_or_default();
        let reason = if said.is_cut { "length" } else { "eos_token" };
        let details = json!({"finish_reason": reason, "generated_tokens": 9, "seed": null, "input_length": 9});
        if self.body["stream"] != true {
            let body = json!({"generated_text": text, "details": details});
            return vec![reply(200, JSON, &body.to_string())];
        }
        let mut pieces = self.pieces(&text);
        pieces.push(String::new());
        let last = pieces.len() - 1;
        let mut steps = vec![head(EVENTS)];
        for (nth, piece) in pieces.iter().enumerate() {
            let mut event = json!({"index": nth + 1, "token": {"id": 7, "text": piece, "logprob": -1.0, "special": false},
                "generated_text": null, "details": null});
            if nth == last {
                event["generated_text"] = json!(text);
                event["details"] = details.clone();
            }
            steps.push(chunk(&format!("data:{event}\n\n")));
        }
        steps.push(end());
        steps
    }

    fn whole(&self, all: &[Said]) -> String {
        let choices: Vec<Value> = all
            .iter()
            .enumerate()
            .map(|(index, said)| {
                json!({"index": index, "message": self.message(said), "finish_reason": finish(said)})
            })
            .collect();
        let usage = json!({"prompt_tokens": 9, "completion_tokens": 9, "total_tokens": 18});
        json!({"id": "c", "object": "chat.completion", "created": 1, "model": "m", "usage": usage,
            "choices": choices})
        .to_string()
    }

    fn message(&self, said: &Said) -> Value {
        let mut message = json!({"role": "assistant", "content": said.content});
        if let (Some(name), Some(text)) = (self.notes.reasoning, &said.reasoning) {
            message[name] = json!(text);
        }
        if !said.calls.is_empty() {
            let calls = said.calls.iter().enumerate().map(|(nth, call)| {
                let (name, input) = (&call.name, &call.input);
                if call.is_custom {
                    return json!({"id": format!("call_{nth}"), "type": "custom",
                        "custom": {"name": name, "input": input}});
                }
                let parsed = serde_json::from_str(input)
                    .ok()
                    .filter(|_| self.notes.objects);
                let arguments: Value = parsed.unwrap_or_else(|| json!(input));
                json!({"id": format!("call_{nth}"), "type": "function",
                    "function": {"name": name, "arguments": arguments}})
            });
            message["tool_calls"] = calls.collect();
        }
        message
    }

    /// The answers' events, a piece of each in turn.
    fn stream(&mut self, all: &[Said]) -> Vec<Step> {
        let mut left: Vec<std::vec::IntoIter<Value>> = Vec::new();
        for (index, said) in all.iter().enumerate() {
            let choice = |delta: Value, finish: Value| json!({"index": index, "delta": delta, "finish_reason": finish});
            let mut choices: Vec<Value> = self
                .deltas(said)
                .into_iter()
                .map(|delta| choice(delta, Value::Null))
                .collect();
            choices.push(choice(json!({}), json!(finish(said))));
            left.push(choices.into_iter());
        }
        let mut steps = vec![head(EVENTS)];
        while left.iter().any(|events| events.len() > 0) {
            for choice in left.iter_mut().filter_map(Iterator::next) {
                let event = json!({"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m",
                    "choices": [choice]});
                steps.push(chunk(&format!("data: {event}\n\n")));
            }
        }
        steps.push(chunk("data: [DONE]\n\n"));
        steps.push(end());
        steps
    }

    fn deltas(&mut self, said: &Said) -> Vec<Value> {
        let mut deltas = vec![json!({"role": "assistant", "content": ""})];
        if let (Some(name), Some(text)) = (self.notes.reasoning, &said.reasoning) {
            deltas.push(json!({name: text}));
        }
        for piece in self.pieces(said.content.as_deref().unwrap_or_default()) {
            deltas.push(json!({"content": piece}));
        }
        for (nth, call) in said.calls.iter().enumerate() {
            let (kind, input) = match call.is_custom {
                true => ("custom", "input"),
                false => ("function", "arguments"),
            };
            deltas.push(
                json!({"tool_calls": [{"index": nth, "id": format!("call_{nth}"), "type": kind,
                kind: {"name": call.name, input: ""}}]}),
            );
            for piece in self.pieces(&call.input) {
                deltas.push(json!({"tool_calls": [{"index": nth, kind: {input: piece}}]}));
            }
        }
        deltas
    }

    /// As a decoder gives it out: a few letters at a time.
    fn pieces(&mut self, text: &str) -> Vec<String> {
        let letters: Vec<char> = text.chars().collect();
        let mut pieces = Vec::new();
        let mut from = 0;
        while from < letters.len() {
            let to = (from + 1 + self.random.below(12)).min(letters.len());
            pieces.push(letters[from..to].iter().collect());
            from = to;
        }
        pieces
    }
}

fn finish(said: &Said) -> &'static str {
    match (said.is_cut, said.calls.is_empty()) {
        (true, _) => "length",
        (false, true) => "stop",
        (false, false) => "tool_calls",
    }
}
