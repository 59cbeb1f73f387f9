//! A FLAC file comes in; its samples as those of a WAV file go out: one channel, the mean of all, of 16 bits. Models
//! hear one channel, and a few bytes of a file may stand for hours: memory is held while samples come, and what is
//! longer or has more of them than is read ends the reading.

use super::{Format, MAX_SECONDS, Refusal, Room, rewritten};
use crate::media::Held;
use claxon::frame::Block;
use claxon::{FlacReader, FlacReaderOptions};
use std::io::Cursor;
use std::time::Duration;

/// Samples of all channels together: decoding more takes seconds. Half an hour of six channels has no more at 48,000 a
/// second, nor has one of two at 96,000.
const MAX_SAMPLES: u64 = 1 << 29;
/// Memory is held for so many bytes at once.
const PIECE_BYTES: usize = 8 << 20;
const BITS: u32 = 16;

/// The WAV file, and how long it takes.
pub(super) fn flac(file: &[u8], room: &Room) -> Result<(Vec<u8>, f64), Refusal> {
    decode(file, room, MAX_SAMPLES)
}

fn decode(file: &[u8], room: &Room, most_samples: u64) -> Result<(Vec<u8>, f64), Refusal> {
    let cut = || Refusal::Invalid("the FLAC file is damaged or cut short".to_owned());
    let damaged = |_error| cut();
    let options = FlacReaderOptions {
        metadata_only: false,
        read_vorbis_comment: false,
    };
    let mut reader = FlacReader::new_ext(Cursor::new(file), options).map_err(damaged)?;
    let info = reader.streaminfo();
    let format = Format {
        is_float: false,
        channels: u16::try_from(info.channels).unwrap_or(u16::MAX),
        rate: info.sample_rate,
        bits: 16,
    };
    format.check("FLAC")?;
    // An encoder that wrote to a pipe did not know.
    let declared = info.samples.filter(|samples| *samples > 0);
    let most = Duration::from_secs_f64(MAX_SECONDS).as_secs() * u64::from(info.sample_rate);
    let mut held: Vec<Held> = Vec::new();
    let mut samples: Vec<u8> = Vec::new();
    let (mut heard, mut decoded) = (0, 0);
    let mut blocks = reader.blocks();
    let mut buffer = Vec::new();
    // Tags may stand behind the last frame.
    while declared.is_none_or(|declared| heard < declared) {
        let Some(block) = blocks.read_next_or_eof(buffer).map_err(damaged)? else {
            break;
        };
        heard += u64::from(block.duration());
        decoded += u64::from(block.duration()) * u64::from(block.channels());
        if heard > most {
            let message =
                format!("the audio is too many seconds long: send at most {MAX_SECONDS:.0}");
            return Err(Refusal::Invalid(message));
        }
        if decoded > most_samples {
            let message = "the FLAC file has more samples than are read: send fewer channels, or fewer samples a second";
            return Err(Refusal::Invalid(message.to_owned()));
        }
        let needed = samples.len() + block.duration() as usize * 2;
        if needed > held.len() * PIECE_BYTES {
            held.push(room.hold(PIECE_BYTES as u64)?);
        }
        mix(&block, info.bits_per_sample, &mut samples);
        buffer = block.into_buffer();
    }
    if declared.is_some_and(|declared| heard < declared) {
        return Err(cut());
    }
    let one = Format {
        channels: 1,
        ..format
    };
    Ok(rewritten(one, &samples))
}

/// The mean of all channels, brought to 16 bits.
fn mix(block: &Block, bits: u32, samples: &mut Vec<u8>) {
    let channels = block.channels().max(1);
    for at in 0..block.duration() {
        let sum: i64 = (0..block.channels())
            .map(|channel| i64::from(block.sample(channel, at)))
            .sum();
        let mean = sum / i64::from(channels);
        let scaled = if bits > BITS {
            mean >> (bits - BITS)
        } else {
            mean << (BITS - bits)
        };
        let range = i64::from(i16::MIN)..=i64::from(i16::MAX);
        let scaled = scaled.clamp(*range.start(), *range.end());
        samples.extend(i16::try_from(scaled).unwrap_or(0).to_le_bytes());
    }
}

#[cfg(test)]
#[expect(
    clippy::unwrap_used,
    clippy::cast_possible_truncation,
    reason = "a test may panic"
)]
mod tests {
    use super::super::read;
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::{any, prop_assert, proptest};

    /// Bits, the first one first.
    fn crc(bytes: &[u8], polynomial: u32, bits: u32) -> u32 {
        bytes.iter().fold(0, |crc, byte| {
            (0..8).fold(crc ^ u32::from(*byte) << (bits - 8), |crc, _| {
                let carries = crc >> (bits - 1) & 1 == 1;
                let crc = crc << 1 & ((1 << bits) - 1);
                if carries { crc ^ polynomial } else { crc }
            })
        })
    }

    fn head(channels: u8, rate: u32, bits: u8, samples: u64) -> Vec<u8> {
        let mut file = b"fLaC\x80\0\0\x22".to_vec();
        file.extend([0, 16, 0xff, 0xff, 0, 0, 0, 0, 0, 0]);
        let fields = u64::from(rate) << 44
            | u64::from(channels - 1) << 41
            | u64::from(bits - 1) << 36
            | samples;
        file.extend(fields.to_be_bytes());
        file.extend([0; 16]);
        file
    }

    /// A frame of these channels: each all of its samples, or one for all of so many.
    fn frame(number: u32, length: usize, channels: &[&[i32]], bits: u8) -> Vec<u8> {
        let sizes = match bits {
            8 => 1,
            16 => 4,
            _ => 6,
        };
        let mut frame = vec![
            0xff,
            0xf8,
            0x70,
            (channels.len() as u8 - 1) << 4 | sizes << 1,
        ];
        let number = char::from_u32(number).unwrap();
        frame.extend(number.encode_utf8(&mut [0; 4]).bytes());
        frame.extend((length as u16 - 1).to_be_bytes());
        frame.push(crc(&frame, 0x07, 8) as u8);
        for samples in channels {
            frame.push(if samples.len() == 1 { 0 } else { 2 });
            for sample in *samples {
                let bytes = sample.to_be_bytes();
                frame.extend(&bytes[4 - usize::from(bits / 8)..]);
            }
        }
        let sum = crc(&frame, 0x8005, 16) as u16;
        frame.extend(sum.to_be_bytes());
        frame
    }

    fn sound(samples: &[&[i32]], bits: u8) -> Vec<u8> {
        let length = samples[0].len();
        let mut file = head(samples.len() as u8, 8_000, bits, length as u64);
        file.extend(frame(0, length, samples, bits));
        file
    }

    fn wave(length: i32, loud: i32) -> Vec<i32> {
        (0..length).map(|at| at % 40 * loud - 20 * loud).collect()
    }

    fn heard(file: &[u8]) -> Vec<i32> {
        let clip = read(file, &Room::default()).unwrap();
        let samples = clip.file[44..].as_chunks::<2>().0;
        assert_eq!(clip.seconds, samples.len() as f64 / 8_000.0);
        samples
            .iter()
            .map(|bytes| i32::from(i16::from_le_bytes(*bytes)))
            .collect()
    }

    fn refused(file: &[u8]) -> String {
        match read(file, &Room::default()).unwrap_err() {
            Refusal::Invalid(message) => message,
            Refusal::Busy => "busy".to_owned(),
        }
    }

    #[test]
    fn its_samples_are_those_of_a_wav_file_of_one_channel() {
        let (loud, low) = (wave(4_000, 100), wave(4_000, 20));
        assert_eq!(heard(&sound(&[&loud], 16)), loud);
        let mean = wave(4_000, 60);
        assert_eq!(heard(&sound(&[&loud, &low], 16)), mean);
        let fine: Vec<i32> = loud.iter().map(|sample| sample * 256).collect();
        assert_eq!(heard(&sound(&[&fine], 24)), loud);
        let coarse: Vec<i32> = wave(4_000, 1);
        let expected: Vec<i32> = coarse.iter().map(|sample| sample * 256).collect();
        assert_eq!(heard(&sound(&[&coarse], 8)), expected);
    }

    #[test]
    fn a_length_that_is_not_declared_and_tags_on_both_sides_are_no_matter() {
        let loud = wave(4_000, 100);
        let mut unknown = head(1, 8_000, 16, 0);
        unknown.extend(frame(0, 4_000, &[&loud], 16));
        assert_eq!(heard(&unknown), loud);
        let tagged = [
            &b"ID3\x04\0\0\0\0\0\x04\xff\xfb\x90\x00"[..],
            &sound(&[&loud], 16),
            b"TAGtitle",
        ];
        assert_eq!(heard(&tagged.concat()), loud);
    }

    #[test]
    fn what_is_damaged_cut_short_or_of_an_unusual_rate_is_told() {
        let whole = sound(&[&wave(4_000, 100)], 16);
        for cut in [8, 20, 42, 60, whole.len() - 1] {
            let told = refused(&whole[..cut]);
            assert!(told.contains("damaged"), "{cut}: {told}");
        }
        let mut flipped = whole.clone();
        flipped[900] ^= 1;
        assert!(refused(&flipped).contains("damaged"));
        let mut fast = head(1, 300_000, 16, 0);
        fast.extend(frame(0, 4_000, &[&wave(4_000, 1)], 16));
        assert!(refused(&fast).contains("300000"));
    }

    #[test]
    fn a_tiny_file_that_lasts_for_hours_is_refused_before_it_takes_memory() {
        let mut file = head(1, 8_000, 16, 0);
        for number in 0..300 {
            file.extend(frame(number, 65_535, &[&[7]], 16));
        }
        assert!(file.len() < 8_000);
        assert!(refused(&file).contains("seconds long"));
        let small = Room::new(9 << 20);
        assert_eq!(read(&file, &small).unwrap_err(), Refusal::Busy);
        let eight: [&[i32]; 8] = [&[7]; 8];
        let mut wide = head(8, 192_000, 16, 0);
        for number in 0..9 {
            wide.extend(frame(number, 65_535, &eight, 16));
        }
        let Err(Refusal::Invalid(told)) = decode(&wide, &Room::default(), 1 << 22) else {
            unreachable!("it is read");
        };
        assert!(told.contains("more samples"), "{told}");
    }

    proptest! {
        #[test]
        fn whatever_comes_what_goes_out_is_as_long_as_it_says(
            noise in vec(any::<u8>(), 0..60),
            place in 0..400_usize,
        ) {
            let mut file = sound(&[&wave(900, 50), &wave(900, 9)], 16);
            for (at, byte) in noise.iter().enumerate() {
                if let Some(place) = file.get_mut(place + at) {
                    *place ^= byte;
                }
            }
            if let Ok((file, seconds)) = flac(&file, &Room::default()) {
                prop_assert!(seconds <= MAX_SECONDS && file.len() >= 44);
            }
        }
    }
}
