//! An image file comes in; its pixels go out, or what is wrong with it.
//!
//! llama.cpp could read the file itself, but its reader is C code that hands what it does not know
//! to an `ffmpeg` on the machine's path: whatever that opens, a client's bytes would open. The
//! reader here is Rust, knows five formats, and looks at the size that a file declares before it
//! makes room for that.

use super::{Held, Refusal, Room, key};
use ::image::{DynamicImage, ImageDecoder, ImageFormat, ImageReader, Limits};
use std::fmt;
use std::io::Cursor;

/// Pixels of an image: the sensors of phones have 50 million. Models scale down to a few.
pub const MAX_PIXELS: u64 = 50_000_000;
/// Pixels of one side.
const MAX_SIDE: u32 = 16_384;
/// How much longer one side may be than the other: what models cut or scale an image to is as
/// long, and some refuse the longer ones.
const MAX_RATIO: u32 = 200;
/// What a decoder may use beside the pixels.
const MAX_DECODER_BYTES: u64 = 1 << 29;

/// The pixels of an image.
pub struct Picture {
    /// Pixels of a row.
    pub width: u32,
    /// Rows.
    pub height: u32,
    /// Red, green and blue of each pixel, row by row.
    pub rgb: Vec<u8>,
    _held: Held,
}

impl fmt::Debug for Picture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Picture")
            .field("width", &self.width)
            .field("height", &self.height)
            .finish_non_exhaustive()
    }
}

impl Picture {
    /// The same for the same pixels.
    #[must_use]
    pub fn key(&self) -> u128 {
        let [width, height] = [self.width, self.height].map(u32::to_le_bytes);
        key(&[b"image", &width, &height, &self.rgb])
    }
}

/// Reads an image file. A transparent image is what it would be without its transparency, and one
/// that moves its first frame.
///
/// # Errors
/// It is no image, a damaged one, or too big a one.
pub fn read(file: &[u8], room: &Room) -> Result<Picture, Refusal> {
    const REMEDY: &str = "send a PNG, JPEG, WebP, GIF or BMP file";
    let format = match ::image::guess_format(file) {
        Ok(
            format @ (ImageFormat::Png
            | ImageFormat::Jpeg
            | ImageFormat::WebP
            | ImageFormat::Gif
            | ImageFormat::Bmp),
        ) => format,
        Ok(_) => return Refusal::invalid(format!("this image's format is not read: {REMEDY}")),
        Err(_) => return Refusal::invalid(format!("this is no image: {REMEDY}")),
    };
    let damaged = |_| {
        Refusal::Invalid(format!(
            "the image is damaged, or of a kind of its format that is not read: {REMEDY}"
        ))
    };
    let mut reader = ImageReader::with_format(Cursor::new(file), format);
    let mut limits = Limits::default();
    limits.max_image_width = Some(u32::MAX);
    limits.max_image_height = Some(u32::MAX);
    limits.max_alloc = Some(MAX_DECODER_BYTES);
    reader.limits(limits);
    let mut decoder = reader.into_decoder().map_err(damaged)?;
    let (width, height) = decoder.dimensions();
    check(width, height)?;
    let pixels = u64::from(width) * u64::from(height);
    let held = room.hold(decoder.total_bytes().saturating_add(pixels * 3))?;
    let orientation = decoder.orientation().map_err(damaged)?;
    let mut image = DynamicImage::from_decoder(decoder).map_err(damaged)?;
    // Cameras say which side is up instead of turning the image.
    image.apply_orientation(orientation);
    let rgb = image.into_rgb8();
    Ok(Picture {
        width: rgb.width(),
        height: rgb.height(),
        rgb: rgb.into_raw(),
        _held: held,
    })
}

fn check(width: u32, height: u32) -> Result<(), Refusal> {
    let pixels = u64::from(width) * u64::from(height);
    let (short, long) = (width.min(height), width.max(height));
    if short == 0 {
        return Refusal::invalid("the image has no pixels: send another");
    }
    if pixels > MAX_PIXELS || long > MAX_SIDE {
        return Refusal::invalid(format!(
            "the image has {width} x {height} pixels: send at most {MAX_PIXELS}, and at most \
             {MAX_SIDE} a side"
        ));
    }
    if long / short > MAX_RATIO {
        return Refusal::invalid(format!(
            "the image has {width} x {height} pixels: one side may be at most {MAX_RATIO} times \
             the other"
        ));
    }
    Ok(())
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may panic")]
mod tests {
    use super::*;
    use ::image::{Rgb, RgbImage, Rgba, RgbaImage};

    fn file(image: &DynamicImage, format: ImageFormat) -> Vec<u8> {
        let mut file = Cursor::new(Vec::new());
        image.write_to(&mut file, format).unwrap();
        file.into_inner()
    }

    fn red(width: u32, height: u32) -> DynamicImage {
        RgbImage::from_pixel(width, height, Rgb([255, 0, 0])).into()
    }

    fn refused(file: &[u8]) -> String {
        match read(file, &Room::default()).unwrap_err() {
            Refusal::Invalid(message) => message,
            Refusal::Busy => "busy".to_owned(),
        }
    }

    #[test]
    fn each_format_is_read_to_its_pixels() {
        for format in [
            ImageFormat::Png,
            ImageFormat::Bmp,
            ImageFormat::Gif,
            ImageFormat::WebP,
        ] {
            let picture = read(&file(&red(3, 2), format), &Room::default()).unwrap();
            assert_eq!((picture.width, picture.height), (3, 2), "{format:?}");
            assert_eq!(picture.rgb, [255, 0, 0].repeat(6), "{format:?}");
        }
        let jpeg = file(&red(3, 2), ImageFormat::Jpeg);
        let picture = read(&jpeg, &Room::default()).unwrap();
        assert!(picture.rgb[0] > 240 && picture.rgb[1] < 16);
    }

    #[test]
    fn transparency_and_depth_leave_the_colours() {
        let clear: DynamicImage = RgbaImage::from_pixel(2, 1, Rgba([1, 2, 3, 0])).into();
        let picture = read(&file(&clear, ImageFormat::Png), &Room::default()).unwrap();
        assert_eq!(picture.rgb, [1, 2, 3, 1, 2, 3]);
        let grey = file(&red(2, 1).to_luma16().into(), ImageFormat::Png);
        let picture = read(&grey, &Room::default()).unwrap();
        assert_eq!(picture.rgb.len(), 6);
    }

    #[test]
    fn what_is_no_image_is_told_apart_from_a_damaged_one() {
        assert!(refused(b"").contains("no image"));
        assert!(refused(b"hello, this is text").contains("no image"));
        assert!(refused(b"RIFF\0\0\0\0WAVEfmt ").contains("image"));
        let whole = file(&red(64, 64), ImageFormat::Png);
        assert!(refused(&whole[..40]).contains("damaged"));
        let mut wrong = whole.clone();
        wrong[50] ^= 0xff;
        assert!(refused(&wrong).contains("damaged"));
    }

    /// A PNG's header that declares a size, with hardly anything behind it.
    fn declared(width: u32, height: u32) -> Vec<u8> {
        let mut bomb = file(&red(1, 1), ImageFormat::Png);
        bomb[16..20].copy_from_slice(&width.to_be_bytes());
        bomb[20..24].copy_from_slice(&height.to_be_bytes());
        let sum = crc(&bomb[12..29]);
        bomb[29..33].copy_from_slice(&sum.to_be_bytes());
        bomb
    }

    fn crc(bytes: &[u8]) -> u32 {
        let round = |sum: u32| (sum >> 1) ^ (0xedb8_8320 & (sum & 1).wrapping_neg());
        let step = |sum: u32, byte: &u8| (0..8).fold(sum ^ u32::from(*byte), |sum, _| round(sum));
        !bytes.iter().fold(u32::MAX, step)
    }

    #[test]
    fn a_size_is_looked_at_before_room_is_made_for_it() {
        for (width, height) in [(60_000, 60_000), (20_000, 10), (8_000, 8_000)] {
            let message = refused(&declared(width, height));
            assert!(
                message.contains(&format!("{width} x {height}")),
                "{message}"
            );
        }
        assert!(refused(&declared(2_000, 5)).contains("200 times"));
        let busy = read(&declared(4_000, 4_000), &Room::new(1 << 20)).unwrap_err();
        assert_eq!(busy, Refusal::Busy);
    }

    #[test]
    fn only_the_same_pixels_have_the_same_key() {
        let key = |width, height| {
            let png = file(&red(width, height), ImageFormat::Png);
            read(&png, &Room::default()).unwrap().key()
        };
        assert_eq!(key(2, 3), key(2, 3));
        assert_ne!(key(2, 3), key(3, 2));
    }
}
