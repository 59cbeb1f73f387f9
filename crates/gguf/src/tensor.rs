//! The tensor infos of a GGUF header: how many bytes each tensor takes, and where the file must
//! end.

use super::{ALIGNMENT, DEFAULT_ALIGNMENT, Header, HeaderError, Reader, Value};
use std::io::BufRead;

/// Dimensions of a tensor.
const MAX_DIMENSIONS: u32 = 4;
/// Bytes of a tensor's name, its end excluded: llama.cpp's `GGML_MAX_NAME`.
const MAX_NAME_BYTES: u64 = 63;

/// How a tensor type lays out its elements: so many elements take so many bytes.
struct Layout {
    elements: u64,
    bytes: u64,
}

/// The types of `ggml.h` with the block sizes of `ggml-common.h` (llama-cpp-sys-2 0.1.161).
fn layout(kind: u32) -> Option<Layout> {
    let (elements, bytes) = match kind {
        24 => (1, 1),          // I8
        1 | 25 | 30 => (1, 2), // F16, I16, BF16
        0 | 26 => (1, 4),      // F32, I32
        27 | 28 => (1, 8),     // I64, F64
        2 | 20 => (32, 18),    // Q4_0, IQ4_NL
        3 => (32, 20),         // Q4_1
        6 => (32, 22),         // Q5_0
        7 => (32, 24),         // Q5_1
        8 => (32, 34),         // Q8_0
        9 => (32, 36),         // Q8_1
        10 => (256, 84),       // Q2_K
        11 => (256, 110),      // Q3_K
        12 => (256, 144),      // Q4_K
        13 => (256, 176),      // Q5_K
        14 => (256, 210),      // Q6_K
        15 => (256, 292),      // Q8_K
        16 | 35 => (256, 66),  // IQ2_XXS, TQ2_0
        17 => (256, 74),       // IQ2_XS
        18 => (256, 98),       // IQ3_XXS
        19 => (256, 50),       // IQ1_S
        21 => (256, 110),      // IQ3_S
        22 => (256, 82),       // IQ2_S
        23 => (256, 136),      // IQ4_XS
        29 => (256, 56),       // IQ1_M
        34 => (256, 54),       // TQ1_0
        39 => (32, 17),        // MXFP4
        40 => (64, 36),        // NVFP4
        41 => (128, 18),       // Q1_0
        42 => (64, 18),        // Q2_0
        _ => return None,
    };
    Some(Layout { elements, bytes })
}

/// One tensor.
struct Info {
    elements: u64,
    bytes: u64,
    offset: u64,
}

impl<R: BufRead> Reader<R> {
    /// Reads the tensor infos, and says in the header what they add up to.
    pub(super) fn tensors(&mut self, header: &mut Header) -> Result<(), HeaderError> {
        let alignment = match header.values.get(ALIGNMENT) {
            None => DEFAULT_ALIGNMENT,
            Some(Value::Unsigned(number)) if number.is_power_of_two() => *number,
            Some(_) => return Err(self.invalid("the alignment is no power of two")),
        };
        let mut end = 0_u64;
        for _ in 0..header.tensors {
            let info = self.tensor()?;
            let sum = |a: u64, b: u64| a.checked_add(b);
            let sums = (
                sum(header.tensor_bytes, info.bytes),
                sum(header.elements, info.elements),
                sum(info.offset, info.bytes),
            );
            let (Some(bytes), Some(elements), Some(ends)) = sums else {
                return Err(self.invalid("the tensors' sizes overflow"));
            };
            header.tensor_bytes = bytes;
            header.elements = elements;
            end = end.max(ends);
        }
        let begin = match header.tensors {
            0 => Some(self.at),
            _ => self.at.checked_next_multiple_of(alignment),
        };
        header.end = begin
            .and_then(|begin| begin.checked_add(end))
            .ok_or_else(|| self.invalid("the tensors' sizes overflow"))?;
        Ok(())
    }

    fn tensor(&mut self) -> Result<Info, HeaderError> {
        let length = self.count("bytes of a tensor's name", MAX_NAME_BYTES)?;
        self.bytes(length, |_| ())?;
        let dimensions = self.u32()?;
        if dimensions > MAX_DIMENSIONS {
            return Err(self.invalid("a tensor has more than four dimensions"));
        }
        let mut elements = 1_u64;
        let mut row = 1;
        for dimension in 0..dimensions {
            let size = self.u64()?;
            if dimension == 0 {
                row = size;
            }
            elements = elements
                .checked_mul(size)
                .filter(|elements| i64::try_from(*elements).is_ok())
                .ok_or_else(|| self.invalid("a tensor's size overflows"))?;
        }
        let kind = self.u32()?;
        let layout = layout(kind).ok_or(HeaderError::TensorType(kind))?;
        if row % layout.elements != 0 {
            return Err(self.invalid("a tensor's rows are no whole blocks"));
        }
        let bytes = (elements / layout.elements)
            .checked_mul(layout.bytes)
            .ok_or_else(|| self.invalid("a tensor's size overflows"))?;
        let offset = self.u64()?;
        Ok(Info {
            elements,
            bytes,
            offset,
        })
    }

    fn invalid(&self, what: &'static str) -> HeaderError {
        HeaderError::Invalid { what, at: self.at }
    }
}
