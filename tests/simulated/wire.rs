//! What a server said, as it puts it on the wire: whole, or as a stream of events.

use super::super::scripted::{Step, chunk, end, head, reply};
use super::{JSON, Said, Server};
use serde_json::{Value, json};

const EVENTS: &str = "content-type: text/event-stream\r\n";

impl Server<'_> {
    pub(super) fn on_the_wire(&mut self, said: &Said) -> Vec<Step> {
        let finish = match (said.is_cut, said.calls.is_empty()) {
            (true, _) => "length",
            (false, true) => "stop",
            (false, false) => "tool_calls",
        };
        match self.body["stream"] == true {
            true => self.stream(said, finish),
            false => vec![reply(200, JSON, &self.whole(said, finish))],
        }
    }

    fn whole(&self, said: &Said, finish: &str) -> String {
        let mut message = json!({"role": "assistant", "content": said.content});
        if let (Some(name), Some(text)) = (self.notes.reasoning, &said.reasoning) {
            message[name] = json!(text);
        }
        if !said.calls.is_empty() {
            let calls = said
                .calls
                .iter()
                .enumerate()
                .map(|(nth, (name, arguments))| {
                    let parsed = serde_json::from_str(arguments)
                        .ok()
                        .filter(|_| self.notes.objects);
                    let arguments: Value = parsed.unwrap_or_else(|| json!(arguments));
                    json!({"id": format!("call_{nth}"), "type": "function",
                    "function": {"name": name, "arguments": arguments}})
                });
            message["tool_calls"] = calls.collect();
        }
        let usage = json!({"prompt_tokens": 9, "completion_tokens": 9, "total_tokens": 18});
        json!({"id": "c", "object": "chat.completion", "created": 1, "model": "m", "usage": usage,
            "choices": [{"index": 0, "message": message, "finish_reason": finish}]})
        .to_string()
    }

    fn stream(&mut self, said: &Said, finish: &str) -> Vec<Step> {
        let mut deltas = vec![json!({"role": "assistant", "content": ""})];
        if let (Some(name), Some(text)) = (self.notes.reasoning, &said.reasoning) {
            deltas.push(json!({name: text}));
        }
        for piece in self.pieces(said.content.as_deref().unwrap_or_default()) {
            deltas.push(json!({"content": piece}));
        }
        for (nth, (name, arguments)) in said.calls.iter().enumerate() {
            deltas.push(json!({"tool_calls": [{"index": nth, "id": format!("call_{nth}"), "type": "function",
                "function": {"name": name, "arguments": ""}}]}));
            for piece in self.pieces(arguments) {
                deltas.push(
                    json!({"tool_calls": [{"index": nth, "function": {"arguments": piece}}]}),
                );
            }
        }
        let event = |delta: &Value, finish: Value| {
            let choice = json!({"index": 0, "delta": delta, "finish_reason": finish});
            let event = json!({"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m",
                "choices": [choice]});
            chunk(&format!("data: {event}\n\n"))
        };
        let mut steps = vec![head(EVENTS)];
        steps.extend(deltas.iter().map(|delta| event(delta, Value::Null)));
        steps.push(event(&json!({}), json!(finish)));
        steps.push(chunk("data: [DONE]\n\n"));
        steps.push(end());
        steps
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
