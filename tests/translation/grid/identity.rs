//! What a client face writes, the server face of the same wire reads back: the same events, whole and streamed.

use isogloss_core::dialect::client::Terms;
use isogloss_core::dialect::server::{self, About};
use isogloss_core::ir::{
    CallKind, Delta, Event, FinishReason, Ids, Reply, Seal, Start, Usage, Wire,
};
use isogloss_testing::adversary::clients::Dialect;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::Value;

/// The dialects that have both faces.
const BOTH: [(Dialect, Wire); 7] = [
    (Dialect::Chat, Wire::Chat),
    (Dialect::Completions, Wire::Completions),
    (Dialect::Responses, Wire::Responses),
    (Dialect::Messages, Wire::Messages),
    (Dialect::Gemini, Wire::Gemini),
    (Dialect::OllamaChat, Wire::OllamaChat),
    (Dialect::OllamaGenerate, Wire::OllamaGenerate),
];

/// What a reply says, in what every wire can say.
#[derive(Debug, Clone, Default, PartialEq)]
struct Said {
    thoughts: String,
    text: String,
    calls: Vec<(String, Value)>,
    finish: Option<String>,
    tokens: (u64, u64),
}

impl Said {
    fn events(&self) -> Vec<Event> {
        let delta = |delta: Delta| Event::Delta { choice: 0, delta };
        let start = Start {
            id: Some("r1".to_owned()),
            model: Some("m".to_owned()),
            created: Some(1_750_000_000),
        };
        let mut events = vec![
            Event::Start(start),
            Event::Choice {
                choice: 0,
                role: true,
            },
        ];
        for letter in self.thoughts.chars() {
            events.push(Event::Reasoning {
                choice: 0,
                text: letter.to_string(),
                is_own: false,
            });
        }
        let letters: Vec<char> = self.text.chars().collect();
        events.extend(
            letters
                .chunks(3)
                .map(|piece| delta(Delta::Text(piece.iter().collect()))),
        );
        for (place, (name, input)) in self.calls.iter().enumerate() {
            let call = u32::try_from(place).unwrap();
            let (id, name, kind) = (format!("call_{place}"), name.clone(), CallKind::Function);
            events.push(delta(Delta::CallStart {
                call,
                id,
                name,
                kind,
            }));
            for letter in input.to_string().chars() {
                let text = letter.to_string();
                events.push(delta(Delta::CallInput { call, text, kind }));
            }
        }
        let finish = FinishReason::read(self.finish.as_deref().unwrap());
        events.push(delta(Delta::Finish(finish)));
        let (prompt, completion) = self.tokens;
        events.push(Event::Usage(Usage {
            prompt,
            completion,
            ..Usage::default()
        }));
        events
    }

    fn of(events: &[Event]) -> Self {
        let mut said = Self::default();
        let mut inputs: Vec<String> = Vec::new();
        for event in events {
            match event {
                Event::Reasoning { text, .. } => said.thoughts.push_str(text),
                Event::Usage(usage) => said.tokens = (usage.prompt, usage.completion),
                Event::Delta { delta, .. } => match delta {
                    Delta::Text(more) | Delta::Refusal(more) => said.text.push_str(more),
                    Delta::Reasoning(more) => said.thoughts.push_str(more),
                    Delta::CallStart { name, .. } => {
                        said.calls.push((name.clone(), Value::Null));
                        inputs.push(String::new());
                    }
                    Delta::CallInput { text, .. } => inputs.last_mut().unwrap().push_str(text),
                    Delta::Finish(reason) => said.finish = Some(reason.as_str().to_owned()),
                },
                _ => {}
            }
        }
        for (call, input) in said.calls.iter_mut().zip(&inputs) {
            call.1 = serde_json::from_str(input).unwrap();
        }
        said
    }
}

fn terms() -> Terms {
    Terms {
        ids: Ids::new(7).at(1_750_000_000),
        model: "m".to_owned(),
        legacy_functions: false,
        include_usage: true,
        keeps_counts: false,
        counts_first: false,
        keeps_bytes: false,
        seal: Seal::default(),
        echo: None,
    }
}

fn about() -> About {
    About {
        reasoning: vec!["reasoning_content".to_owned(), "reasoning".to_owned()],
        ..About::default()
    }
}

fn read_whole(wire: Wire, bytes: &[u8]) -> Said {
    let face = server::of(wire).unwrap();
    let frame = face.whole(bytes, &about(), &mut Ids::new(1));
    let frame =
        frame.unwrap_or_else(|fault| panic!("{fault:?}: {}", String::from_utf8_lossy(bytes)));
    Said::of(&frame.events)
}

fn read_stream(wire: Wire, bytes: &[u8]) -> Said {
    let mut stream = server::of(wire).unwrap().stream(about(), 1 << 20);
    let mut ids = Ids::new(1);
    let mut data = Vec::new();
    stream.push(bytes, &mut data).unwrap();
    stream.finish(&mut data);
    let mut events: Vec<Event> = Vec::new();
    for data in &data {
        events.extend(stream.read(data, &mut ids).events);
    }
    events.extend(stream.end(&mut ids).events);
    Said::of(&events)
}

fn said() -> impl Strategy<Value = Said> {
    let text = select(vec![
        "",
        "hi",
        "é😀 \"\\\n",
        "{\"a\": 1}",
        "data: [DONE]\n\n",
        "\u{2028}",
    ]);
    let input = select(vec![
        "{}",
        "{\"a\":1}",
        "{\"a\":\"}\\\"é\",\"b\":[null,1.5]}",
    ]);
    let call = (select(vec!["f", "g"]), input)
        .prop_map(|(name, input)| (name.to_owned(), serde_json::from_str(input).unwrap()));
    let calls = prop::collection::vec(call, 0..3);
    let finish = select(vec!["stop", "length"]);
    (
        select(vec!["", "hm\n"]),
        text,
        calls,
        finish,
        0..99_u64,
        0..99_u64,
    )
        .prop_map(|(thoughts, text, calls, finish, prompt, completion)| Said {
            thoughts: thoughts.to_owned(),
            text: text.to_owned(),
            finish: Some(
                if finish == "stop" && !calls.is_empty() {
                    "tool_calls"
                } else {
                    finish
                }
                .to_owned(),
            ),
            calls,
            tokens: (prompt, completion),
        })
}

/// What the dialect has words for.
fn sayable(mut said: Said, dialect: Dialect) -> Said {
    if matches!(dialect, Dialect::Completions | Dialect::OllamaGenerate) {
        said.calls.clear();
        if said.finish.as_deref() == Some("tool_calls") {
            said.finish = Some("stop".to_owned());
        }
    }
    if dialect == Dialect::Completions {
        said.thoughts.clear();
        // Its only servers are of its wire, whose counts go along as they came.
        said.tokens = (0, 0);
    }
    said
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn what_a_client_face_writes_its_server_face_reads(said in said()) {
        for (dialect, wire) in BOTH {
            let said = sayable(said.clone(), dialect);
            let (_, client) = dialect.route(false);
            let whole = client.whole(&terms(), &Reply::fold(said.events()));
            prop_assert_eq!(&read_whole(wire, &whole), &said, "{:?}: {}", dialect, String::from_utf8_lossy(&whole));
            let (_, client) = dialect.route(true);
            let mut writer = client.writer(terms());
            let mut out = Vec::new();
            for event in said.events() {
                writer.write(&mut vec![event], None, &mut out);
            }
            writer.end(None, &mut out);
            prop_assert_eq!(&read_stream(wire, &out), &said, "{:?}: {}", dialect, String::from_utf8_lossy(&out));
        }
    }
}
