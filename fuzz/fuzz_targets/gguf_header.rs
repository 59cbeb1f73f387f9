//! Any bytes are a GGUF header within the limits, or an error: no panic, and no memory that the
//! input did not bring. What is read is read again the same.

#![no_main]

use isogloss_gguf as gguf;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    let length = input.len() as u64;
    match gguf::read(input, length) {
        Ok(header) => {
            assert!(header.values.len() as u64 <= gguf::MAX_VALUES);
            assert!(header.tensors <= gguf::MAX_TENSORS);
            // By what is shown: a number may be NaN, which equals nothing.
            let again = gguf::read(input, length).ok();
            assert_eq!(format!("{again:?}"), format!("{:?}", Some(header)));
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
});
