//! A WAV, MP3 or FLAC file comes in; a file that is what it says it is goes out, or what is wrong with
//! it.
//!
//! llama.cpp decodes it and brings it to the model's rate. What it makes room for is what a file
//! declares, so nothing but what was counted here is handed on: of a WAV file its samples behind a
//! new header, of an MP3 file its frames alone, and of a FLAC file, which is decoded here, a WAV file.

mod flac;

use super::{Held, Refusal, Room, key};
use std::fmt;

/// Seconds of one clip.
pub const MAX_SECONDS: f64 = 1_800.0;
/// Shorter than that, a clip has nothing to be heard, and some models' windows no sample.
const MIN_SECONDS: f64 = 0.1;
/// Memory for each second, as estimated: samples at a model's rate, and their spectra.
const BYTES_A_SECOND: f64 = 160_000.0;

const REMEDY: &str = "send a WAV (PCM), MP3 or FLAC file";

/// A file that can be decoded, or is damaged inside only.
pub struct Clip {
    /// The file.
    pub file: Vec<u8>,
    /// How long it takes to be heard.
    pub seconds: f64,
    _held: Held,
}

impl fmt::Debug for Clip {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Clip")
            .field("seconds", &self.seconds)
            .finish_non_exhaustive()
    }
}

impl Clip {
    /// The same for the same samples.
    #[must_use]
    pub fn key(&self) -> u128 {
        key(&[b"audio", &self.file])
    }
}

/// Reads an audio file.
///
/// # Errors
/// It is none of these formats, damaged, too long or too short.
pub fn read(file: &[u8], room: &Room) -> Result<Clip, Refusal> {
    let (file, seconds) = if file.starts_with(b"RIFF") && file.get(8..12) == Some(b"WAVE") {
        wav(file)?
    } else if let Some(body) = file.get(tag(file)..)
        && body.starts_with(b"fLaC")
    {
        flac::flac(body, room)?
    } else {
        mp3(file)?
    };
    if seconds > MAX_SECONDS {
        return Refusal::invalid(format!(
            "the audio is {seconds:.0} seconds long: send at most {MAX_SECONDS:.0}"
        ));
    }
    if seconds < MIN_SECONDS {
        return Refusal::invalid(format!(
            "the audio is {seconds:.3} seconds long: send at least {MIN_SECONDS}"
        ));
    }
    // Both are in range, so the product is.
    #[expect(
        clippy::cast_sign_loss,
        clippy::cast_possible_truncation,
        reason = "in range"
    )]
    let bytes = (seconds * BYTES_A_SECOND) as u64 + file.len() as u64;
    Ok(Clip {
        file,
        seconds,
        _held: room.hold(bytes)?,
    })
}

/// How a WAV file's samples are written.
#[derive(Debug, Clone, Copy)]
struct Format {
    is_float: bool,
    channels: u16,
    rate: u32,
    bits: u16,
}

/// A WAV file of the same samples, and how long it takes.
fn wav(file: &[u8]) -> Result<(Vec<u8>, f64), Refusal> {
    let mut rest = &file[12..];
    let mut format = None;
    while let Some((head, after)) = rest.split_at_checked(8) {
        // A file that was written to a pipe declares no end: it ends where it ends.
        let declared = u32_at(head, 4).unwrap_or(u32::MAX) as usize;
        let body = &after[..declared.min(after.len())];
        match &head[..4] {
            b"fmt " => format = Some(wav_format(body)?),
            b"data" => {
                let Some(format) = format else { break };
                return Ok(rewritten(format, body));
            }
            _ => {}
        }
        // Bodies begin at even places.
        rest = after
            .get(declared.saturating_add(declared & 1)..)
            .unwrap_or_default();
    }
    Refusal::invalid(format!("the WAV file is cut short: {REMEDY}"))
}

fn wav_format(body: &[u8]) -> Result<Format, Refusal> {
    const PCM: u16 = 1;
    const FLOAT: u16 = 3;
    const EXTENSIBLE: u16 = 0xfffe;
    let field = |at| u16_at(body, at).unwrap_or(0);
    let kind = match field(0) {
        // What it really is stands further behind.
        EXTENSIBLE => field(24),
        kind => kind,
    };
    let format = Format {
        is_float: kind == FLOAT,
        channels: field(2),
        rate: u32_at(body, 4).unwrap_or(0),
        bits: field(14),
    };
    let is_known = match kind {
        PCM => matches!(format.bits, 8 | 16 | 24 | 32),
        FLOAT => matches!(format.bits, 32 | 64),
        _ => false,
    };
    if !is_known {
        return Refusal::invalid(format!(
            "the WAV file's samples are written in a way that is not read: {REMEDY}"
        ));
    }
    format.check("WAV")?;
    Ok(format)
}

impl Format {
    fn check(&self, kind: &str) -> Result<(), Refusal> {
        if (1..=8).contains(&self.channels) && (4_000..=192_000).contains(&self.rate) {
            return Ok(());
        }
        Refusal::invalid(format!(
            "the {kind} file has {} channels of {} samples a second: send 1 to 8 of 4000 to 192000",
            self.channels, self.rate
        ))
    }
}

fn rewritten(format: Format, samples: &[u8]) -> (Vec<u8>, f64) {
    const HEADER: u32 = 36;
    let frame = format.channels * (format.bits / 8);
    let bytes_a_second = format.rate * u32::from(frame);
    // Bodies and requests are limited to less than these 32 bits.
    let whole = samples.len().min(1 << 30) / usize::from(frame) * usize::from(frame);
    let length = u32::try_from(whole).unwrap_or(0);
    let mut file = Vec::with_capacity(whole + 44);
    file.extend(b"RIFF");
    file.extend((length + HEADER).to_le_bytes());
    file.extend(b"WAVEfmt ");
    file.extend(16_u32.to_le_bytes());
    file.extend((if format.is_float { 3_u16 } else { 1 }).to_le_bytes());
    file.extend(format.channels.to_le_bytes());
    file.extend(format.rate.to_le_bytes());
    file.extend(bytes_a_second.to_le_bytes());
    file.extend(frame.to_le_bytes());
    file.extend(format.bits.to_le_bytes());
    file.extend(b"data");
    file.extend(length.to_le_bytes());
    file.extend(&samples[..whole]);
    (file, f64::from(length) / f64::from(bytes_a_second))
}

/// The frames of an MP3 file, and how long they take.
fn mp3(file: &[u8]) -> Result<(Vec<u8>, f64), Refusal> {
    let mut at = tag(file);
    let mut frames: Vec<u8> = Vec::new();
    let mut seconds = 0.0;
    while let Some(rest) = file.get(at..).filter(|rest| rest.len() >= 4) {
        let Some(frame) = Frame::of(rest) else {
            // Tags and rubbish lie between frames.
            at += 1;
            continue;
        };
        let Some(body) = rest.get(..frame.bytes) else {
            break;
        };
        at += frame.bytes;
        // It says how many frames come, and holds no sound.
        let is_index = frames.is_empty()
            && [&b"Xing"[..], b"Info", b"VBRI"].iter().any(|word| {
                let head = &body[..body.len().min(48)];
                head.windows(word.len()).any(|place| place == *word)
            });
        if !is_index {
            frames.extend(body);
            seconds += frame.seconds;
        }
    }
    // A sync word of 11 bits is soon found in anything.
    if frames.is_empty() || frames.len() < file.len() / 4 {
        return Refusal::invalid(format!("this is no audio that is read: {REMEDY}"));
    }
    Ok((frames, seconds))
}

/// Where the frames begin, behind an ID3 tag.
fn tag(file: &[u8]) -> usize {
    let Some([b'I', b'D', b'3', _, _, _, size @ ..]) = file.get(..10) else {
        return 0;
    };
    let size = size
        .iter()
        .fold(0, |size, byte| size << 7 | usize::from(byte & 0x7f));
    size.saturating_add(10)
}

struct Frame {
    bytes: usize,
    seconds: f64,
}

impl Frame {
    /// By the four bytes that it begins with; layer III alone.
    fn of(bytes: &[u8]) -> Option<Self> {
        const KBITS_1: [u32; 15] = [
            0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320,
        ];
        const KBITS_2: [u32; 15] = [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160];
        let &[0xff, second, third, _, ..] = bytes else {
            return None;
        };
        if second & 0xe6 != 0xe2 {
            return None;
        }
        let (divisor, is_first) = match second >> 3 & 3 {
            0 => (4, false),
            2 => (2, false),
            3 => (1, true),
            _ => return None,
        };
        let kbits = if is_first { KBITS_1 } else { KBITS_2 };
        let kbits = *kbits
            .get(usize::from(third >> 4))
            .filter(|kbits| **kbits > 0)?;
        let rate = *[44_100, 48_000, 32_000].get(usize::from(third >> 2 & 3))? / divisor;
        let samples = if is_first { 1_152 } else { 576 };
        let padding = u32::from(third >> 1 & 1);
        Some(Self {
            bytes: (samples / 8 * kbits * 1_000 / rate + padding) as usize,
            seconds: f64::from(samples) / f64::from(rate),
        })
    }
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    let field = bytes.get(at..)?.first_chunk()?;
    Some(u16::from_le_bytes(*field))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    let field = bytes.get(at..)?.first_chunk()?;
    Some(u32::from_le_bytes(*field))
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may panic")]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::{any, prop_assert, proptest};

    /// One channel of 16 bits, 8,000 a second.
    fn sound(samples: usize, declared: u32) -> Vec<u8> {
        let format = Format {
            is_float: false,
            channels: 1,
            rate: 8_000,
            bits: 16,
        };
        let (mut file, _) = rewritten(format, &vec![7; samples * 2]);
        file[40..44].copy_from_slice(&declared.to_le_bytes());
        file
    }

    /// Frames of 128 kbit at 44,100 a second.
    fn frames(count: usize) -> Vec<u8> {
        let mut frame = [0; 417];
        frame[..4].copy_from_slice(&[0xff, 0xfb, 0x90, 0x00]);
        frame.repeat(count)
    }

    fn refused(file: &[u8]) -> String {
        match read(file, &Room::default()).unwrap_err() {
            Refusal::Invalid(message) => message,
            Refusal::Busy => "busy".to_owned(),
        }
    }

    #[test]
    fn a_wav_file_s_length_is_that_of_its_samples_whatever_it_declares() {
        for declared in [16_000, 4_000_000_000, u32::MAX] {
            let clip = read(&sound(8_000, declared), &Room::default()).unwrap();
            assert_eq!(clip.seconds, 1.0, "{declared}");
            assert_eq!(clip.file, sound(8_000, 16_000), "{declared}");
        }
        // Half a sample at the end is none.
        let mut odd = sound(8_000, u32::MAX);
        odd.push(1);
        assert_eq!(read(&odd, &Room::default()).unwrap().file.len(), 16_044);
    }

    #[test]
    fn an_mp3_file_is_its_frames_alone() {
        let plain = frames(100);
        let clip = read(&plain, &Room::default()).unwrap();
        assert!((clip.seconds - 2.612).abs() < 0.01, "{}", clip.seconds);
        assert_eq!(clip.file, plain);
        // A tag before, an index that lies about their number, rubbish between and behind.
        let mut index = frames(1);
        index[36..40].copy_from_slice(b"Xing");
        let tag = b"ID3\x04\0\0\0\0\0\x04\xff\xfb\x90\x00";
        let parts = [&tag[..], &index, &plain, b"TAGtitle"];
        let clip = read(&parts.concat(), &Room::default()).unwrap();
        assert_eq!(clip.file, plain);
    }

    #[test]
    fn a_tiny_file_that_lasts_for_hours_is_refused() {
        // 8 kbit at 8,000 a second: 72 bytes for 72 ms.
        let mut frame = [0; 72];
        frame[..4].copy_from_slice(&[0xff, 0xe3, 0x18, 0x00]);
        assert!(refused(&frame.repeat(26_000)).contains("seconds long"));
    }

    #[test]
    fn what_is_no_audio_is_told() {
        for file in [
            &b""[..],
            b"hello",
            b"\x89PNG\r\n\x1a\n",
            &[0xff; 900],
            b"OggS\0\x02",
        ] {
            assert!(refused(file).contains("no audio"), "{file:?}");
        }
        assert!(refused(b"RIFF\0\0\0\0WAVE").contains("cut short"));
        assert!(refused(&sound(8_000, 16_000)[..38]).contains("cut short"));
        assert!(refused(&sound(10, 20)).contains("at least"));
        let mut law = sound(8_000, 16_000);
        law[20] = 7;
        assert!(refused(&law).contains("not read"));
        let mut channels = sound(8_000, 16_000);
        channels[22] = 99;
        assert!(refused(&channels).contains("99 channels"));
    }

    proptest! {
        #[test]
        fn whatever_comes_what_goes_out_is_no_longer_than_it_says(
            noise in vec(any::<u8>(), 0..400),
            place in 0..60_usize,
            sync in any::<bool>(),
        ) {
            let mut wav = sound(400, 800);
            let mut mp3 = frames(8);
            for file in [&mut wav, &mut mp3] {
                for (at, byte) in noise.iter().enumerate() {
                    if let Some(place) = file.get_mut(place + at * if sync { 1 } else { 7 }) {
                        *place ^= byte;
                    }
                }
                if let Ok(clip) = read(file, &Room::default()) {
                    prop_assert!(clip.file.len() <= file.len().max(44));
                    prop_assert!((MIN_SECONDS..=MAX_SECONDS).contains(&clip.seconds));
                }
            }
            let _ = read(&noise, &Room::default());
        }
    }
}
