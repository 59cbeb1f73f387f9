//! Images and audio through `isogloss worker` as a process, with a model and projectors of random
//! weights: whatever they see and hear, answers keep their shapes, and nobody's answer changes
//! somebody else's.

use crate::support::process;
use crate::support::projector;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use gguf::{Tokenizer, random_model};
use image::{ImageFormat, Rgb, RgbImage};
use isogloss_testing::gguf;
use process::Worker;
use projector::{AUDIO, BOTH, IMAGES, Takes, qwen2vl, random_projector};
use serde_json::{Value, json};
use std::io::Cursor;
use std::path::Path;

impl Worker {
    /// A model, and a projector beside it.
    fn with(takes: Option<Takes>, flags: &[&str]) -> Self {
        Self::of(Tokenizer::Bpe, takes, flags)
    }

    fn of(tokenizer: Tokenizer, takes: Option<Takes>, flags: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let model = random_model(folder.path(), tokenizer, 7);
        if let Some(takes) = takes {
            random_projector(folder.path(), "mmproj-f32.gguf", takes);
        }
        Self::ready(folder, &model, flags)
    }

    fn post(&self, body: &Value) -> (u16, Value) {
        let (status, _, body) = self.ask("POST", "/v1/chat/completions", &body.to_string());
        (status, serde_json::from_str(&body).unwrap())
    }

    fn good(&self, body: &Value) -> Value {
        let (status, answer) = self.post(body);
        assert_eq!(status, 200, "{answer}");
        answer
    }

    fn refused(&self, content: Value) -> Value {
        let (status, answer) = self.post(&request(content));
        assert_eq!(status, 400, "{answer}");
        answer["error"].clone()
    }

    /// What it answers to these at once.
    fn together(&self, bodies: &[Value]) -> Vec<Value> {
        std::thread::scope(|scope| {
            let ask = |body| scope.spawn(move || self.good(body));
            let asked: Vec<_> = bodies.iter().map(ask).collect();
            asked
                .into_iter()
                .map(|asked| asked.join().unwrap())
                .collect()
        })
    }
}

fn request(content: Value) -> Value {
    json!({
        "model": "random-bpe-7", "max_tokens": 12, "temperature": 0, "seed": 0,
        "logprobs": true, "messages": [{"role": "user", "content": content}],
    })
}

fn png(width: u32, height: u32, colour: [u8; 3]) -> Value {
    // Not of one colour, so that no patch is like another.
    let image = RgbImage::from_fn(width, height, |x, y| {
        let [red, green, blue] = colour;
        let moved = |colour: u8, by: u32| colour.wrapping_add((by % 256) as u8);
        Rgb([moved(red, x * 5), moved(green, y * 3), blue])
    });
    let mut file = Cursor::new(Vec::new());
    image.write_to(&mut file, ImageFormat::Png).unwrap();
    let url = format!(
        "data:image/png;base64,{}",
        STANDARD.encode(file.into_inner())
    );
    json!({"type": "image_url", "image_url": {"url": url}})
}

fn wav(seconds: u32, pitch: f32) -> Value {
    const RATE: u32 = 16_000;
    let mut file = b"RIFF\xff\xff\xff\xffWAVEfmt \x10\0\0\0\x01\0\x01\0".to_vec();
    file.extend(RATE.to_le_bytes());
    file.extend((RATE * 2).to_le_bytes());
    file.extend([2, 0, 16, 0]);
    file.extend(b"data\xff\xff\xff\xff");
    for at in 0..seconds * RATE {
        let level = (at as f32 * pitch * std::f32::consts::TAU / RATE as f32).sin();
        file.extend(((level * 9_000.0) as i16).to_le_bytes());
    }
    json!({"type": "input_audio", "input_audio": {"data": STANDARD.encode(file), "format": "wav"}})
}

fn text(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

/// What was answered and how likely each token was: what an image changes at the least.
fn said(answer: &Value) -> (String, Vec<f64>) {
    let choice = &answer["choices"][0];
    let tokens = choice["logprobs"]["content"].as_array().unwrap();
    let logprobs = tokens
        .iter()
        .map(|token| token["logprob"].as_f64().unwrap());
    let content = choice["message"]["content"].as_str().unwrap();
    (content.to_owned(), logprobs.collect())
}

fn prompt_tokens(answer: &Value) -> u64 {
    answer["usage"]["prompt_tokens"].as_u64().unwrap()
}

/// The same up to what the order of sums in a batch of another shape changes: the cache has numbers
/// of 16 bits. Of two tokens that are as likely as each other either may be said, and what follows
/// is another answer then.
fn is_close(one: &Value, other: &Value) -> bool {
    let tokens = |answer: &Value| {
        let tokens = answer["choices"][0]["logprobs"]["content"].as_array();
        let tokens = tokens.unwrap().iter();
        let read = |token: &Value| (token["bytes"].clone(), token["logprob"].as_f64().unwrap());
        tokens.map(read).collect::<Vec<_>>()
    };
    let (one, other) = (tokens(one), tokens(other));
    for ((token, likely), (its, as_likely)) in one.iter().zip(&other) {
        if (likely - as_likely).abs() >= 0.03 {
            return false;
        }
        if token != its {
            return true;
        }
    }
    one.len() == other.len()
}

#[test]
fn an_image_takes_tokens_by_its_size_and_changes_what_is_said() {
    let worker = Worker::with(Some(IMAGES), &[]);
    assert_eq!(worker.ready["takes"], json!(["image"]));
    let ask = |image: Value| worker.good(&request(json!([image, text("What is this?")])));
    let red = ask(png(40, 24, [200, 0, 0]));
    let again = ask(png(40, 24, [200, 0, 0]));
    let blue = ask(png(40, 24, [0, 0, 200]));
    let bigger = ask(png(80, 48, [200, 0, 0]));
    assert!(is_close(&red, &again));
    assert!(!is_close(&red, &blue), "the model does not see the image");
    // 5 x 3 patches and 2 ends of rows; 10 x 6 and 5.
    assert_eq!(prompt_tokens(&bigger) - prompt_tokens(&red), 65 - 17);
    // The second found the first's image in its slot, the third did not.
    let cached =
        |answer: &Value| answer["usage"]["prompt_tokens_details"]["cached_tokens"].as_u64();
    assert!(cached(&again).unwrap() > 17, "{again}");
    assert!(cached(&blue).unwrap() < 17, "{blue}");
    let (_, _, models) = worker.ask("GET", "/v1/models", "");
    assert!(
        models.contains(r#""input_modalities":["text","image"]"#),
        "{models}"
    );
}

/// A request whose answer must be an object of this shape.
fn shaped(content: Value) -> Value {
    let schema = json!({
        "type": "object", "required": ["colour", "sure"], "additionalProperties": false,
        "properties": {"colour": {"enum": ["red", "green", "blue"]}, "sure": {"type": "boolean"}},
    });
    let mut body = request(content);
    body["max_tokens"] = json!(200);
    body["response_format"] =
        json!({"type": "json_schema", "json_schema": {"name": "x", "schema": schema}});
    body
}

fn is_shaped(content: &str) -> bool {
    let value: Value = serde_json::from_str(content).unwrap();
    ["red", "green", "blue"].contains(&value["colour"].as_str().unwrap())
        && value["sure"].is_boolean()
}

#[test]
fn an_answer_to_an_image_has_the_shape_asked_for_whole_and_streamed() {
    for tokenizer in [Tokenizer::Bpe, Tokenizer::SentencePiece] {
        let worker = Worker::of(tokenizer, Some(IMAGES), &["--model-name", "random-bpe-7"]);
        let mut body = shaped(json!([text("Which colour?"), png(64, 64, [0, 200, 0])]));
        let whole = said(&worker.good(&body)).0;
        assert!(is_shaped(&whole), "{whole}");
        body["stream"] = json!(true);
        let (status, _, events) = worker.ask("POST", "/v1/chat/completions", &body.to_string());
        assert_eq!(status, 200, "{events}");
        let streamed: String = (events.lines())
            .filter_map(|line| serde_json::from_str(line.strip_prefix("data: ")?).ok())
            .filter_map(|event: Value| {
                let content = &event["choices"][0]["delta"]["content"];
                content.as_str().map(str::to_owned)
            })
            .collect();
        assert_eq!(streamed, whole);
    }
}

#[test]
fn requests_with_images_and_without_do_not_change_each_others_answers() {
    let worker = Worker::with(Some(BOTH), &["--slots", "4"]);
    let image = |at: u8| png(24 + 8 * u32::from(at), 40, [at * 40, 90, 200]);
    let mut bodies = Vec::new();
    for at in 0..4_u8 {
        let mark = text(&format!("Number {at}."));
        bodies.push(request(json!(format!("Only words, {at}."))));
        bodies.push(request(json!([mark, image(at), text("What is it?")])));
        bodies.push(request(json!([image(at), image(3), mark])));
        bodies.push(shaped(json!([mark, image(at)])));
    }
    bodies.push(request(json!([
        text("Listen: "),
        wav(1, 440.0),
        text("What is it?")
    ])));
    let alone: Vec<Value> = bodies.iter().map(|body| worker.good(body)).collect();
    let together = worker.together(&bodies);
    for (alone, together) in alone.iter().zip(&together) {
        assert!(is_close(alone, together), "{alone}\n{together}");
        assert_eq!(prompt_tokens(alone), prompt_tokens(together));
    }
}

#[test]
fn choices_and_later_turns_find_the_image_computed() {
    let worker = Worker::with(Some(IMAGES), &[]);
    let image = png(80, 80, [1, 2, 3]);
    let mut body = request(json!([image, text("What is this?")]));
    body["n"] = json!(3);
    body["temperature"] = json!(1);
    let answer = worker.good(&body);
    assert_eq!(answer["choices"].as_array().unwrap().len(), 3);
    let mut turn = request(json!([image, text("What is this?")]));
    let messages = turn["messages"].as_array_mut().unwrap();
    messages.push(json!({"role": "assistant", "content": "A square."}));
    messages.push(json!({"role": "user", "content": [text("And this?"), png(40, 40, [9, 9, 9])]}));
    let first = worker.good(&turn);
    let cached = &first["usage"]["prompt_tokens_details"]["cached_tokens"];
    assert!(cached.as_u64().unwrap() > 100, "{first}");
    // As one to whom nothing is left of the first turn.
    let fresh = Worker::with(Some(IMAGES), &[]);
    assert!(is_close(&first, &fresh.good(&turn)));
}

#[test]
fn audio_is_heard() {
    let worker = Worker::with(Some(AUDIO), &[]);
    assert_eq!(worker.ready["takes"], json!(["audio"]));
    let ask = |part: Value| worker.good(&request(json!([text("What do you hear?"), part])));
    let low = ask(wav(2, 220.0));
    let again = ask(wav(2, 220.0));
    let high = ask(wav(2, 1_760.0));
    let long = ask(wav(40, 220.0));
    assert!(is_close(&low, &again));
    assert!(!is_close(&low, &high), "the model does not hear the audio");
    // Half a minute at a time.
    assert_eq!(prompt_tokens(&low), prompt_tokens(&high));
    assert!(
        (370..380).contains(&(prompt_tokens(&long) - prompt_tokens(&low))),
        "{long}"
    );
    // Silence: frames of MPEG 1 layer III without any data in them.
    let mut frame = [0; 417];
    frame[..4].copy_from_slice(&[0xff, 0xfb, 0x90, 0x00]);
    let mp3 = STANDARD.encode(frame.repeat(100));
    let silent = json!({"type": "input_audio", "input_audio": {"data": mp3, "format": "mp3"}});
    assert_eq!(prompt_tokens(&ask(silent)), prompt_tokens(&low));
}

#[test]
fn what_a_model_cannot_take_is_refused_with_its_place_and_the_worker_goes_on() {
    let content = |part: Value| json!([text("x"), part]);
    let place = "messages[0].content[1]";
    for (takes, part, why) in [
        (
            None,
            png(8, 8, [0; 3]),
            "this model takes no images: it has no projector",
        ),
        (
            None,
            wav(1, 440.0),
            "this model takes no audio: it has no projector",
        ),
        (Some(IMAGES), wav(1, 440.0), "for images alone"),
        (Some(AUDIO), png(8, 8, [0; 3]), "for audio alone"),
    ] {
        let worker = Worker::with(takes, &[]);
        let error = worker.refused(content(part));
        assert_eq!(error["param"], place);
        assert!(error["message"].as_str().unwrap().contains(why), "{error}");
        worker.good(&request(json!("Only words.")));
    }
}

#[test]
fn hostile_parts_are_refused_with_their_place_and_the_worker_goes_on() {
    let worker = Worker::with(Some(BOTH), &["--context", "256"]);
    let url = |file: &[u8]| {
        let url = format!("data:image/png;base64,{}", STANDARD.encode(file));
        json!({"type": "image_url", "image_url": {"url": url}})
    };
    let audio = |file: &[u8]| {
        let data = STANDARD.encode(file);
        json!({"type": "input_audio", "input_audio": {"data": data, "format": "wav"}})
    };
    let good = png(8, 8, [0; 3]);
    let file = good["image_url"]["url"].as_str().unwrap();
    let file = STANDARD.decode(file.split_once(',').unwrap().1).unwrap();
    // A PNG of 60,000 by 60,000 pixels, by its header; its checksum is wrong, too.
    let mut bomb = file.clone();
    bomb[16..24].copy_from_slice(&[0, 0, 0xea, 0x60, 0, 0, 0xea, 0x60]);
    let silence = b"RIFF\xff\xff\xff\xffWAVEfmt \x10\0\0\0\x01\0\x01\0\x80\x3e\0\0\0\x7d\0\0\x02\0\x10\0data\xff\xff\xff\xff";
    let web = json!({"type": "image_url", "image_url": {"url": "https://example.com/a.png"}});
    for (part, place) in [
        (url(&bomb), "image_url.url"),
        (url(&file[..file.len() / 2]), "image_url.url"),
        // What llama.cpp would hand to a video player.
        (
            url(b"#EXTM3U\n#EXT-X-VERSION:3\nhttp://127.0.0.1:1/"),
            "image_url.url",
        ),
        (url(b"\0\0\0\x18ftypmp42\0\0\0\0mp42isom"), "image_url.url"),
        (url(b"RIFF\x10\0\0\0WEBPVP8 "), "image_url.url"),
        (web, "image_url.url"),
        (audio(silence), "input_audio.data"),
        (audio(b"fLaC\0\0\0\x22"), "input_audio.data"),
        (audio(&[0xff; 4_000]), "input_audio.data"),
    ] {
        let error = worker.refused(json!([good, part]));
        assert_eq!(
            error["param"],
            format!("messages[0].content[1].{place}"),
            "{error}"
        );
    }
    let error = worker.refused(Value::from(vec![good.clone(); 33]));
    assert_eq!(error["param"], "messages[0].content[32].image_url.url");
    // 32 x 32 patches, 31 ends of rows and `[IMG_END]` do not fit 256 tokens.
    let error = worker.refused(json!([text("x"), png(256, 256, [0; 3])]));
    assert_eq!(error["code"], "context_length_exceeded");
    let message = error["message"].as_str().unwrap();
    assert!(
        message.contains("256 tokens") && message.contains("1064 of them for 1 image"),
        "{message}"
    );
    // From one pixel to a long thin one.
    for (width, height) in [(1, 1), (1, 3), (400, 2)] {
        worker.good(&request(json!([png(width, height, [7; 3])])));
    }
}

#[test]
fn a_marker_in_a_text_is_a_text() {
    let worker = Worker::with(Some(IMAGES), &[]);
    let plain = worker.good(&request(json!("<__media__> what is this?")));
    let parts = worker.good(&request(json!([text("<__media__> what is this?")])));
    assert_eq!(said(&plain).0, said(&parts).0);
    let image = png(40, 24, [1; 3]);
    let with = worker.good(&request(json!([text("<__media__> what is this?"), image])));
    // A line feed joins the parts, and `[IMG_END]` is behind an image.
    assert_eq!(prompt_tokens(&with), prompt_tokens(&plain) + 1 + 17 + 9);
}

#[test]
fn a_prompt_that_ends_with_an_image_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let template = folder.path().join("chat.jinja");
    std::fs::write(&template, "{{ messages[0].content }}").unwrap();
    let flags = ["--chat-template", template.to_str().unwrap()];
    let worker = Worker::with(Some(IMAGES), &flags);
    worker.good(&request(json!([
        png(16, 16, [0; 3]),
        text("What is this?")
    ])));
    // The projector puts `[IMG_END]` behind the image: as much a part of it as its patches.
    let error = worker.refused(json!([text("What is this?"), png(16, 16, [0; 3])]));
    assert!(
        error["message"]
            .as_str()
            .unwrap()
            .contains("ends with an image"),
        "{error}"
    );
}

#[test]
fn a_model_that_counts_positions_in_rows_and_columns_sees_images_too() {
    let start = || {
        let folder = tempfile::tempdir().unwrap();
        let model = qwen2vl(folder.path());
        Worker::ready(folder, &model, &["--slots", "3"])
    };
    let worker = start();
    let image = |colour| png(128, 64, [colour, 90, 10]);
    let body = |colour| {
        request(json!([
            text("Look: "),
            image(colour),
            text("What is this?")
        ]))
    };
    let first = worker.good(&body(0));
    let again = worker.good(&body(0));
    let cached = again["usage"]["prompt_tokens_details"]["cached_tokens"]
        .as_u64()
        .unwrap();
    // 8 x 4 tokens, behind which positions go on 8 further.
    assert!(cached > 32 && cached < prompt_tokens(&again), "{again}");
    assert!(is_close(&first, &again));
    assert!(!is_close(&first, &worker.good(&body(200))));
    // Several turns: cut behind the image, shared between slots, and together.
    let mut turn = body(0);
    let messages = turn["messages"].as_array_mut().unwrap();
    messages.push(json!({"role": "assistant", "content": "A picture."}));
    messages.push(json!({"role": "user", "content": [image(50), text("And this one?")]}));
    let bodies = [turn, body(0), body(70), request(json!("Only words."))];
    let together = worker.together(&bodies);
    let fresh = start();
    for (body, together) in bodies.iter().zip(&together) {
        let alone = fresh.good(body);
        assert!(is_close(&alone, together), "{alone}\n{together}");
    }
}

#[test]
fn a_projector_is_found_by_its_name_named_or_turned_off() {
    let folder = tempfile::tempdir().unwrap();
    let model = random_model(folder.path(), Tokenizer::Bpe, 7);
    random_model(folder.path(), Tokenizer::Bpe, 8);
    random_projector(folder.path(), "mmproj-random-bpe-8-F16.gguf", IMAGES);
    let other = tempfile::tempdir().unwrap();
    let audio = random_projector(other.path(), "any-name.gguf", AUDIO);
    let takes = |model: &Path, flags: &[&str]| {
        let place = tempfile::tempdir().unwrap();
        Worker::ready(place, model, flags).ready["takes"].clone()
    };
    let other_model = folder.path().join("random-bpe-8.gguf");
    assert_eq!(takes(&model, &[]), json!([]));
    assert_eq!(takes(&other_model, &[]), json!(["image"]));
    assert_eq!(takes(&other_model, &["--mmproj", "none"]), json!([]));
    let audio = audio.to_str().unwrap();
    assert_eq!(takes(&model, &["--mmproj", audio]), json!(["audio"]));
    // A folder of models, each with its own.
    let worker = Worker::ready(tempfile::tempdir().unwrap(), folder.path(), &[]);
    assert_eq!(
        worker.ready["models"],
        json!(["random-bpe-7", "random-bpe-8"])
    );
    let mut body = request(json!([png(16, 16, [3; 3])]));
    assert_eq!(worker.post(&body).0, 400);
    body["model"] = json!("random-bpe-8");
    worker.good(&body);
}

#[test]
fn a_projector_that_cannot_be_used_is_an_error_that_says_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let model = random_model(folder.path(), Tokenizer::Bpe, 7);
    let wide = folder.path().join("wide.gguf");
    std::fs::write(&wide, projector::projector(IMAGES, 96).bytes()).unwrap();
    let whole = projector::projector(IMAGES, 64).bytes();
    let cut = folder.path().join("cut.gguf");
    std::fs::write(&cut, &whole[..whole.len() / 2]).unwrap();
    let bare = folder.path().join("bare.gguf");
    let mut without = projector::projector(IMAGES, 64);
    without
        .tensors
        .retain(|tensor| tensor.name != "mm.2.weight");
    std::fs::write(&bare, without.bytes()).unwrap();
    let placing = folder.path().join("placing.gguf");
    let kind = gguf::Value::Text("hunyuanvl".to_owned());
    let other = projector::projector(IMAGES, 64).set("clip.vision.projector_type", kind);
    std::fs::write(&placing, other.bytes()).unwrap();
    for (file, why) in [
        (&placing, "places in the prompt (hunyuanvl)"),
        (&wide, "n_embd = 64) and mmproj (n_embd = 96"),
        (&cut, "cut short"),
        (&bare, "mm.2.weight"),
        (&model, "no multimodal projector: give --mmproj"),
    ] {
        let flags = ["--mmproj", file.to_str().unwrap()];
        let mut worker = Worker::start(tempfile::tempdir().unwrap(), &model, &flags);
        let last = std::iter::from_fn(|| worker.event()).last().unwrap();
        let message = last["message"].as_str().unwrap();
        assert_eq!(last["event"], "failed");
        assert!(message.contains(why), "{message}");
        assert!(
            message.contains("--mmproj") || message.contains("download"),
            "{message}"
        );
    }
    let flags = ["--mmproj", wide.to_str().unwrap()];
    random_model(folder.path(), Tokenizer::Bpe, 8);
    let mut worker = Worker::start(tempfile::tempdir().unwrap(), folder.path(), &flags);
    let last = std::iter::from_fn(|| worker.event()).last().unwrap();
    assert!(
        last["message"].as_str().unwrap().contains("for one model"),
        "{last}"
    );
}

#[test]
fn a_client_that_goes_away_leaves_nothing_behind() {
    let worker = Worker::with(Some(BOTH), &["--slots", "2"]);
    let body = request(json!([
        wav(60, 300.0),
        png(200, 200, [5; 3]),
        text("What is this?")
    ]));
    let body = body.to_string();
    for _ in 0..6 {
        drop(worker.send("POST", "/v1/chat/completions", &body));
    }
    worker.good(&request(json!([
        png(40, 24, [1; 3]),
        text("What is this?")
    ])));
}
