//! The seal of a table file: a checksum of the whole file inside its own metadata.
//!
//! Parquet has no checksum over its footer and page headers, and a decoder that follows damaged lengths may
//! fail in any way. So each file carries the SHA-256 of all its bytes, with these 64 digits taken as zeros,
//! as key `railtwin.sha256` of the file's key-value metadata, and is checked before anything else reads it.
use std::io::{Read, Seek, SeekFrom, Write};
use std::ops::Range;

use sha2::{Digest, Sha256};

use crate::content::hex;

/// Key of the checksum in the file's metadata; it must be the last key, so that the last match is the seal.
pub(crate) const KEY: &str = "railtwin.sha256";
/// What stands in place of the digits while they are computed.
pub(crate) const OPEN: &str = "0000000000000000000000000000000000000000000000000000000000000000";
/// Length of the digits.
const DIGITS: usize = OPEN.len();
/// After the key, Thrift's compact protocol writes: field 2 of type binary, length 64.
const AFTER_KEY: [u8; 2] = [0x18, DIGITS as u8];
/// Length of the footer as u32 little endian, then the magic.
const TAIL: usize = 8;
const MAGIC: &[u8; 4] = b"PAR1";

/// Where the digits stand in a file, given its end: `end` holds the last bytes of `length` in all.
///
/// # Errors
/// What is wrong with the file, in words.
fn find(length: u64, end: &[u8]) -> Result<Range<u64>, String> {
    let footer = end.strip_suffix(MAGIC).and_then(|rest| rest.len().checked_sub(4).map(|at| &rest[..at]));
    let footer = footer.ok_or_else(not_whole)?;
    let mut marker = KEY.as_bytes().to_vec();
    marker.extend(AFTER_KEY);
    let at = footer.windows(marker.len()).rposition(|window| window == marker);
    let digits = at.map(|at| at + marker.len()).filter(|digits| digits + DIGITS <= footer.len());
    let digits =
        digits.ok_or_else(|| format!("has no {KEY} in its metadata, so railtwin has not written it"))?;
    let begin = length - end.len() as u64 + digits as u64;
    Ok(begin..begin + DIGITS as u64)
}

fn not_whole() -> String {
    "is not a whole Parquet file: it does not end with its footer".to_owned()
}

/// Length of the footer with its tail, from the last eight bytes of a file of `length` bytes.
fn footer_length(length: u64, tail: &[u8]) -> Result<u64, String> {
    let tail: [u8; TAIL] = tail.try_into().map_err(|_| not_whole())?;
    let [a, b, c, d, magic @ ..] = tail;
    let footer = u64::from(u32::from_le_bytes([a, b, c, d])) + TAIL as u64;
    if &magic != MAGIC || footer > length { Err(not_whole()) } else { Ok(footer) }
}

/// Writes the checksum into a file that has [`OPEN`] in its place.
pub(crate) fn seal<F: Read + Write + Seek>(file: &mut F) -> std::io::Result<()> {
    let length = file.seek(SeekFrom::End(0))?;
    let tail = read_at(file, length.saturating_sub(TAIL as u64), TAIL.min(length as usize))?;
    let footer = footer_length(length, &tail).map_err(std::io::Error::other)?;
    let end = read_at(file, length - footer, footer as usize)?;
    let digits = find(length, &end).map_err(std::io::Error::other)?;
    let mut hash = Sha256::new();
    file.seek(SeekFrom::Start(0))?;
    let mut buffer = vec![0; 1 << 16];
    loop {
        let count = file.read(&mut buffer)?;
        if count == 0 {
            break;
        }
        hash.update(&buffer[..count]);
    }
    file.seek(SeekFrom::Start(digits.start))?;
    file.write_all(hex(&hash.finalize()).as_bytes())?;
    file.seek(SeekFrom::End(0))?;
    Ok(())
}

fn read_at<F: Read + Seek>(file: &mut F, at: u64, count: usize) -> std::io::Result<Vec<u8>> {
    file.seek(SeekFrom::Start(at))?;
    let mut bytes = vec![0; count];
    file.read_exact(&mut bytes)?;
    Ok(bytes)
}

/// Checks the seal of a file's bytes.
///
/// # Errors
/// What is wrong with the file, in words.
pub(crate) fn verify(bytes: &[u8]) -> Result<(), String> {
    let length = bytes.len();
    let footer = footer_length(length as u64, &bytes[length.saturating_sub(TAIL)..])?;
    let digits = find(length as u64, &bytes[length - footer as usize..])?;
    let (begin, end) = (digits.start as usize, digits.end as usize);
    let mut hash = Sha256::new();
    hash.update(&bytes[..begin]);
    hash.update(OPEN);
    hash.update(&bytes[end..]);
    let found = hex(&hash.finalize());
    if found.as_bytes() == &bytes[begin..end] {
        return Ok(());
    }
    let written = String::from_utf8_lossy(&bytes[begin..end]);
    Err(format!("is damaged: its checksum begins {} and it was sealed with {written:.8}", &found[..8]))
}
