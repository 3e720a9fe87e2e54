//! Bytes as text: gzip taken off, values with their place in errors.

use std::borrow::Cow;
use std::io::Read as _;

use flate2::bufread::MultiGzDecoder;

use crate::error::FormatError;

/// First two bytes of a gzip stream (RFC 1952, section 2.3.1).
pub(crate) const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];

/// Byte-order mark.
const MARK: char = '\u{feff}';

/// Most bytes that a file may have after decompression: 4 GiB.
const BYTES_MAX: u64 = 4 << 30;

/// The bytes without gzip.
pub(crate) fn plain<'a>(
    format: &'static str,
    source_name: &str,
    bytes: &'a [u8],
) -> Result<Cow<'a, [u8]>, FormatError> {
    if !bytes.starts_with(&GZIP_MAGIC) {
        return Ok(Cow::Borrowed(bytes));
    }
    let mut inflated = Vec::new();
    MultiGzDecoder::new(bytes).take(BYTES_MAX + 1).read_to_end(&mut inflated).map_err(|error| {
        FormatError::new(
            format,
            source_name,
            format!("the gzip stream is broken ({error})"),
            "give a whole gzip file or the file without compression",
        )
    })?;
    if inflated.len() as u64 > BYTES_MAX {
        return Err(FormatError::new(
            format,
            source_name,
            "is more than 4 GiB without compression",
            "split the file",
        ));
    }
    Ok(Cow::Owned(inflated))
}

/// The first bytes without gzip, as far as they can be had: for a look at what a file is.
pub(crate) fn head(bytes: &[u8], bytes_max: usize) -> Cow<'_, [u8]> {
    if bytes.starts_with(&GZIP_MAGIC) {
        let mut inflated = Vec::new();
        // A broken stream gives what came before the break, which is all that a look needs.
        let _ = MultiGzDecoder::new(bytes).take(bytes_max as u64).read_to_end(&mut inflated);
        return Cow::Owned(inflated);
    }
    Cow::Borrowed(&bytes[..bytes.len().min(bytes_max)])
}

/// Text of a file of many records, gzip and byte-order mark taken off: what is not UTF-8 becomes `\u{fffd}`, so that the
/// record that it stands in is wrong and not the whole file ([`is_whole`]).
pub(crate) fn lossy<'a>(
    format: &'static str,
    source_name: &str,
    bytes: &'a [u8],
) -> Result<Cow<'a, str>, FormatError> {
    let text = match plain(format, source_name, bytes)? {
        Cow::Borrowed(bytes) => String::from_utf8_lossy(bytes),
        Cow::Owned(bytes) => Cow::Owned(match String::from_utf8(bytes) {
            Ok(text) => text,
            Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
        }),
    };
    Ok(match text {
        Cow::Borrowed(text) => Cow::Borrowed(text.strip_prefix(MARK).unwrap_or(text)),
        Cow::Owned(text) if text.starts_with(MARK) => Cow::Owned(text[MARK.len_utf8()..].to_owned()),
        owned => owned,
    })
}

/// Whether a piece of such text was UTF-8.
pub(crate) fn is_whole(text: &str) -> bool {
    !text.contains('\u{fffd}')
}

/// Microseconds as nanoseconds; what is not a time becomes 0.
pub(crate) fn ns_of_us(us: f64) -> u64 {
    // The cast clamps: negative and NaN become 0, what is too large the largest.
    (us * 1000.0).round() as u64
}
