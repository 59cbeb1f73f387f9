use super::*;
use crate::media::audio::Clip;
use crate::media::image::Picture;
use crate::prompt::{Prepared, Prompter};
use crate::request::{Chat, Source};
use crate::template::ChatTemplate;
use crate::toy::vocabulary;
use ::image::{ImageFormat, Rgb, RgbImage};
use std::io::Cursor;

/// A projector for tests: a token for each row of an image, and for each second of audio.
#[derive(Debug)]
struct Rows(Modalities);

impl Rows {
    fn media(modality: Modality, tokens: u32, key: u128, room: &Room) -> Result<Media, Refusal> {
        Ok(Media {
            modality,
            tokens,
            positions: tokens,
            key,
            content: Box::new(()),
            held: room.hold(0)?,
        })
    }
}

impl Projector for Rows {
    fn modalities(&self) -> Modalities {
        self.0
    }

    fn image(&self, picture: Picture, room: &Room) -> Result<Media, Refusal> {
        Self::media(Modality::Image, picture.height, picture.key(), room)
    }

    fn audio(&self, clip: Clip, room: &Room) -> Result<Media, Refusal> {
        Self::media(
            Modality::Audio,
            clip.seconds.ceil() as u32,
            clip.key(),
            room,
        )
    }
}

/// One that joins texts, and one that loops over parts.
const JOINING: &str = "{% for m in messages %}<|im_start|>{{ m.content | trim }}<|im_end|>\
    {% endfor %}<|im_start|>assistant:";
const LOOPING: &str = "{% for m in messages %}<|im_start|>{% if m.content is string %}\
    {{ m.content }}{% else %}{% for part in m.content %}{% if part.type == 'image' %}<image>\
    {% else %}{{ part.text }}{% endif %}{% endfor %}{% endif %}<|im_end|>{% endfor %}\
    <|im_start|>assistant:";

fn prompter(template: &str, takes: Option<Modalities>) -> Prompter {
    let template = ChatTemplate::new(template, "", "").unwrap();
    let projector = takes.map(|takes| Arc::new(Rows(takes)) as Arc<dyn Projector>);
    Prompter::new(vocabulary(None), Some(Ok(template))).with_projector(projector)
}

const BOTH: Option<Modalities> = Some(Modalities {
    image: true,
    audio: true,
});

fn prepared(prompter: &Prompter, content: &Value) -> Result<Prepared, Error> {
    let source = Source::Chat(Chat {
        messages: vec![json!({"role": "user", "content": content})],
        ..Chat::default()
    });
    Ok(prompter.prepare(&source, 0)?.remove(0))
}

fn refused(content: &Value) -> Error {
    prepared(&prompter(JOINING, BOTH), content).unwrap_err()
}

fn png(rows: u32) -> String {
    let mut file = Cursor::new(Vec::new());
    let image = RgbImage::from_pixel(2, rows, Rgb([9, 9, 9]));
    image.write_to(&mut file, ImageFormat::Png).unwrap();
    BASE64.encode(file.into_inner())
}

fn image(rows: u32) -> Value {
    let url = format!("data:image/png;base64,{}", png(rows));
    json!({"type": "image_url", "image_url": {"url": url, "detail": "auto"}})
}

fn text(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

/// The prompt's text, with `[3]` for an image of three tokens.
fn shown(prepared: &Prepared) -> String {
    let tokens = &prepared.tokens;
    let vocabulary = vocabulary(None);
    let (mut shown, mut at) = (Vec::new(), 0);
    while at < tokens.len() {
        if let Some(media) = tokens.media_at(at) {
            shown.extend(format!("[{}]", media.tokens).into_bytes());
            at += media.tokens;
        } else {
            let token = tokens.tokens()[at as usize];
            shown.extend(vocabulary.pieces()[token as usize].bytes.clone());
            at += 1;
        }
    }
    String::from_utf8(shown).unwrap()
}

#[test]
fn images_stand_where_their_parts_stood_whatever_the_template_knows() {
    let content = json!([text("one"), image(3), text("two"), image(5)]);
    for (template, between) in [(JOINING, "\n"), (LOOPING, "")] {
        let prepared = prepared(&prompter(template, BOTH), &content).unwrap();
        let parts = ["one", "[3]", "two", "[5]"].join(between);
        let whole = format!("<|im_start|>{parts}<|im_end|><|im_start|>assistant:");
        assert_eq!(shown(&prepared), whole);
    }
}

#[test]
fn what_a_client_writes_never_becomes_an_image() {
    let words = "<__media__> <image> \u{F0000}0\u{F0000} \u{F0001}0\u{F0001} <|im_end|>";
    let content = json!([text(words), image(3), text("\u{F0002}0\u{F0002}")]);
    let prepared = prepared(&prompter(JOINING, BOTH), &content).unwrap();
    let whole =
        format!("<|im_start|>{words}\n[3]\n\u{F0002}0\u{F0002}<|im_end|><|im_start|>assistant:");
    assert_eq!(shown(&prepared), whole);
    assert_eq!(prepared.tokens.media().len(), 1);
}

#[test]
fn audio_comes_as_openai_s_part_or_as_a_data_url() {
    let mut wav = b"RIFF\0\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0".to_vec();
    wav.extend([0x40, 0x1f, 0, 0, 0x80, 0x3e, 0, 0, 2, 0, 16, 0]);
    wav.extend(b"data\xff\xff\xff\xff");
    wav.extend([0; 24_000]);
    let data = BASE64.encode(&wav);
    let url = format!("DATA:audio/wav;BASE64,{data}");
    for part in [
        json!({"type": "input_audio", "input_audio": {"data": data, "format": "wav"}}),
        json!({"type": "input_audio", "input_audio": {"data": url, "format": "wav"}}),
        json!({"type": "audio_url", "audio_url": {"url": url}}),
        json!({"type": "audio_url", "audio_url": url}),
    ] {
        let prepared = prepared(&prompter(JOINING, BOTH), &json!([part])).unwrap();
        assert!(shown(&prepared).contains("[2]"), "{part}");
    }
}

#[test]
fn a_part_that_the_model_cannot_take_is_refused_with_what_is_missing() {
    let audio = json!({"type": "input_audio", "input_audio": {"data": "", "format": "wav"}});
    let one = |image, audio| Some(Modalities { image, audio });
    for (takes, part, why) in [
        (None, image(1), "takes no images: it has no projector"),
        (None, audio.clone(), "takes no audio: it has no projector"),
        (
            one(true, false),
            audio,
            "takes no audio: its projector is for images alone",
        ),
        (
            one(false, true),
            image(1),
            "takes no images: its projector is for audio alone",
        ),
    ] {
        let content = json!([text("x"), part]);
        let error = prepared(&prompter(JOINING, takes), &content).unwrap_err();
        assert_eq!(error.status(), 400);
        assert_eq!(error.param.as_deref(), Some("messages[0].content[1]"));
        assert!(error.message.contains(why), "{error}");
    }
}

#[test]
fn what_is_wrong_with_a_part_is_told_with_its_place() {
    const URL: &str = "messages[0].content[1].image_url.url";
    let url = |url: &str| json!({"type": "image_url", "image_url": {"url": url}});
    let wrong = BASE64.encode("hello, this is text");
    for (part, place, why) in [
        (
            url("https://example.com/a.png"),
            URL,
            "send the file itself, as a data: URL",
        ),
        (url("HTTP://example.com/a.png"), URL, "fetches nothing"),
        (url("file:///etc/passwd"), URL, "must be a data: URL"),
        (url(""), URL, "must be a data: URL"),
        (url("data:image/png;base64"), URL, "no comma"),
        (url("data:image/png,x"), URL, "of base64"),
        (url("data:image/png;base64,???"), URL, "not base64"),
        (
            url(&format!("data:image/png;base64,{wrong}")),
            URL,
            "no image",
        ),
        (json!({"type": "image_url"}), URL, "must be a text"),
        (
            json!({"type": "image_url", "image_url": {"url": 3}}),
            URL,
            "must be a text",
        ),
        (
            json!({"type": "image_url", "image_url": "x"}),
            "messages[0].content[1].image_url",
            "must be a data: URL",
        ),
        (
            json!({"type": "input_audio", "input_audio": {"data": wrong}}),
            "messages[0].content[1].input_audio.data",
            "no audio",
        ),
        (
            json!({"type": "image", "image": "x"}),
            "messages[0].content[1]",
            "image_url",
        ),
        (
            json!({"type": "video_url"}),
            "messages[0].content[1]",
            "no video",
        ),
        (json!(null), "messages[0].content[1]", "`text`"),
    ] {
        let error = refused(&json!([text("x"), part]));
        assert_eq!(error.status(), 400);
        assert_eq!(error.param.as_deref(), Some(place), "{part}: {error}");
        assert!(error.message.contains(why), "{part}: {error}");
    }
}

#[test]
fn more_images_than_one_request_may_have_are_refused_at_the_first_too_many() {
    let images = |count: usize| Value::from(vec![image(1); count]);
    assert!(prepared(&prompter(JOINING, BOTH), &images(MAX_PARTS)).is_ok());
    let error = refused(&images(MAX_PARTS + 1));
    let place = format!("messages[0].content[{MAX_PARTS}].image_url.url");
    assert_eq!(error.param.as_deref(), Some(place.as_str()));
}

#[test]
fn a_template_that_leaves_an_image_out_or_takes_it_apart_is_told() {
    let cutting = "{{ messages[0].content[:2] }}<|im_start|>assistant:";
    for template in ["{{ messages | length }}", cutting] {
        let content = json!([image(3), text("x")]);
        let error = prepared(&prompter(template, BOTH), &content).unwrap_err();
        assert!(
            error.message.contains("chat template"),
            "{template}: {error}"
        );
    }
}

#[test]
fn a_conversation_with_an_image_is_not_of_tokens_alone() {
    let source = Source::Chat(Chat {
        messages: vec![json!({"role": "user", "content": [image(3)]})],
        ..Chat::default()
    });
    let error = prompter(JOINING, BOTH).tokens(&source, 0).unwrap_err();
    assert_eq!(error.status(), 400);
}
