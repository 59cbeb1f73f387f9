//! Recorded requests and replies of real servers come in, and the model that they ran; what the
//! worker answers to the same requests goes out, beside what they did.

use super::process::{Worker, split};
use isogloss_core::ir::Constraint;
use isogloss_worker::request::{read_chat, read_completion};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

const NAME: &str = "tiny-chat-f32";

/// A request, and all answers to it.
pub struct Question {
    /// The case, as the recordings name it.
    pub name: String,
    pub is_chat: bool,
    pub body: Value,
    /// What the worker reads as constraint.
    pub constraint: Option<Constraint>,
    /// The worker's answer; else its status and error.
    pub ours: Result<Reply, (u16, Value)>,
    /// By server.
    pub recorded: Vec<(String, Reply)>,
}

impl Question {
    pub fn has(&self, field: &str) -> bool {
        self.body[field]
            .as_array()
            .is_some_and(|items| !items.is_empty())
    }

    /// Whether the client says if the model is to think.
    pub fn says_thinking(&self) -> bool {
        self.body["chat_template_kwargs"]
            .get("enable_thinking")
            .is_some()
    }

    /// Whether all tokens were used that the request allows.
    pub fn is_at_its_limit(&self) -> bool {
        let limit = self.body["max_tokens"].as_u64();
        let used = self
            .ours
            .as_ref()
            .ok()
            .and_then(|ours| ours.completion_tokens);
        limit
            .zip(used)
            .is_some_and(|(limit, used)| used == limit * self.choices())
    }

    fn choices(&self) -> u64 {
        self.ours
            .as_ref()
            .map_or(0, |ours| ours.choices.len() as u64)
    }

    /// Whether the worker tells the template that the model does not think.
    pub fn answers_at_once(&self) -> bool {
        let Ok(mut asked) = read_chat(self.body.to_string().as_bytes()) else {
            return false;
        };
        asked.answer_at_once()
    }
}

/// What is compared of an answer.
#[derive(Debug, Default)]
pub struct Reply {
    pub prompt_tokens: Option<u64>,
    pub completion_tokens: Option<u64>,
    pub choices: Vec<Choice>,
}

#[derive(Debug, Default)]
pub struct Choice {
    pub text: String,
    pub reasoning: String,
    pub calls: Vec<(String, Value)>,
    pub finish: String,
    pub logprobs: Vec<Value>,
}

/// All of them, asked once; `None` where something is missing, which is printed.
pub fn questions() -> Option<&'static [Question]> {
    static ALL: OnceLock<Option<Vec<Question>>> = OnceLock::new();
    ALL.get_or_init(ask_all).as_deref()
}

fn folder(variable: &str, default: &str, inner: &str) -> Option<PathBuf> {
    let folder = std::env::var_os(variable)
        .map_or_else(|| isogloss_testing::root().join(default), PathBuf::from);
    let path = folder.join(inner);
    if path.exists() {
        return Some(path);
    }
    println!("skipped: {} is not there (set {variable})", path.display());
    None
}

fn ask_all() -> Option<Vec<Question>> {
    let servers = folder("ISOGLOSS_CAPTURES", "../shared/captures", "servers")?;
    let model = format!("tiny-chat/{NAME}.gguf");
    let model = folder("ISOGLOSS_MODELS", "../shared/models", &model)?;
    let worker = Worker::ready(tempfile::tempdir().unwrap(), &model, &[]);
    let mut all: BTreeMap<(String, String), Question> = BTreeMap::new();
    for server in std::fs::read_dir(servers).unwrap() {
        let server = server.unwrap().path();
        if server.is_dir() {
            let label = server.file_name().unwrap().to_str().unwrap();
            read_server(&server, |name, path, body, reply| {
                let key = (path.to_owned(), body.to_string());
                let question = all
                    .entry(key)
                    .or_insert_with(|| worker.question(name, path, body));
                question.recorded.push((label.to_owned(), reply));
            });
        }
    }
    Some(all.into_values().collect())
}

/// Finds the requests that were answered well, and what they were answered.
fn read_server(folder: &Path, mut found: impl FnMut(&str, &str, Value, Reply)) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let file = entry.unwrap().path();
        let file = file.to_str().unwrap();
        let Some(stem) = file.strip_suffix(".request.json") else {
            continue;
        };
        let request = std::fs::read(file).unwrap();
        let Ok(mut request) = serde_json::from_slice::<Value>(&request) else {
            continue;
        };
        let path = request["path"].as_str().unwrap_or_default().to_owned();
        let is_generation = matches!(&*path, "/v1/chat/completions" | "/v1/completions");
        let Ok(response) = std::fs::read(format!("{stem}.response.txt")) else {
            continue;
        };
        if !is_generation || !request["body"].is_object() {
            continue;
        }
        let mut body = request["body"].take();
        body["model"] = json!(NAME);
        if let Some(reply) = read_reply(&String::from_utf8_lossy(&response)) {
            let name = Path::new(stem).file_name().unwrap().to_str().unwrap();
            found(name, &path, body, reply);
        }
    }
}

/// Of a whole HTTP answer; `None` where it is an error.
fn read_reply(response: &str) -> Option<Reply> {
    let response = response.replace("\r\n", "\n");
    let (head, body) = response.split_once("\n\n")?;
    if !head.contains(" 200 ") {
        return None;
    }
    let mut reply = Reply::default();
    if head.contains("text/event-stream") {
        for line in body.lines() {
            if let Some(data) = line.strip_prefix("data:")
                && let Ok(chunk) = serde_json::from_str(data)
            {
                reply.take(&chunk)?;
            }
        }
    } else {
        reply.take(&serde_json::from_str(body).ok()?)?;
    }
    reply.choices.iter_mut().for_each(Choice::tidy);
    (!reply.choices.is_empty()).then_some(reply)
}

impl Reply {
    fn take(&mut self, chunk: &Value) -> Option<()> {
        if chunk.get("error").is_some() {
            return None;
        }
        let usage = &chunk["usage"];
        let count = |name: &str| usage[name].as_u64();
        self.prompt_tokens = count("prompt_tokens").or(self.prompt_tokens);
        self.completion_tokens = count("completion_tokens").or(self.completion_tokens);
        for choice in chunk["choices"].as_array().into_iter().flatten() {
            let index = usize::try_from(choice["index"].as_u64()?).ok()?;
            while self.choices.len() <= index {
                self.choices.push(Choice::default());
            }
            self.choices[index].take(choice);
        }
        Some(())
    }
}

impl Choice {
    fn take(&mut self, choice: &Value) {
        let message = choice.get("message").or_else(|| choice.get("delta"));
        let message = message.unwrap_or(choice);
        let text = |name: &str| message[name].as_str().unwrap_or_default();
        self.text += text("content");
        self.text += text("text");
        let reasoning = ["reasoning_content", "reasoning"].map(text);
        self.reasoning += reasoning
            .iter()
            .find(|text| !text.is_empty())
            .unwrap_or(&"");
        for (place, call) in message["tool_calls"]
            .as_array()
            .into_iter()
            .flatten()
            .enumerate()
        {
            let place = call["index"].as_u64().map_or(place, |index| index as usize);
            while self.calls.len() <= place {
                self.calls.push((String::new(), json!("")));
            }
            let function = &call["function"];
            let (name, arguments) = &mut self.calls[place];
            *name += function["name"].as_str().unwrap_or_default();
            let more = function["arguments"].as_str().unwrap_or_default();
            *arguments = json!(arguments.as_str().unwrap_or_default().to_owned() + more);
        }
        if let Some(finish) = choice["finish_reason"].as_str() {
            self.finish = finish.to_owned();
        }
        let logprobs = choice["logprobs"]["content"].as_array();
        self.logprobs
            .extend(logprobs.into_iter().flatten().cloned());
    }

    /// Arguments become values; a think block that the server left in the text comes apart.
    fn tidy(&mut self) {
        for (_, arguments) in &mut self.calls {
            if let Ok(value) = serde_json::from_str(arguments.as_str().unwrap_or_default()) {
                *arguments = value;
            }
        }
        if let Some(rest) = self.text.strip_prefix("<think>")
            && let Some((reasoning, text)) = rest.split_once("</think>")
        {
            (self.reasoning, self.text) = (reasoning.to_owned(), text.to_owned());
        }
        if !self.reasoning.is_empty() {
            self.reasoning = self.reasoning.trim_matches('\n').to_owned();
            self.text = self.text.trim_start_matches('\n').to_owned();
        }
    }
}

impl Worker {
    fn question(&self, name: &str, path: &str, body: Value) -> Question {
        let is_chat = path.ends_with("/chat/completions");
        let text = body.to_string();
        let asked = match is_chat {
            true => read_chat(text.as_bytes()),
            false => read_completion(text.as_bytes()),
        };
        let constraint = asked.ok().and_then(|asked| asked.constraint);
        Question {
            name: name.to_owned(),
            is_chat,
            constraint: constraint.map(|stated| stated.constraint),
            ours: self.answer(path, &text),
            recorded: Vec::new(),
            body,
        }
    }

    fn answer(&self, path: &str, body: &str) -> Result<Reply, (u16, Value)> {
        let text = self.text("POST", path, body);
        read_reply(&text).ok_or_else(|| {
            let (status, _, body) = split(&text);
            (status, serde_json::from_str(&body).unwrap_or(Value::Null))
        })
    }
}
