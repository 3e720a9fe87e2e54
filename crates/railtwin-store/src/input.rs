//! Files that a person names, read: regular files, up to a size that can be set.
//!
//! What a call is given may be anything: a device that never ends, a pipe that nobody writes to, a few megabytes that
//! unpack to gigabytes. [`read`] and [`unpacked`] are the one way in for files that railtwin did not write just now.
use std::borrow::Cow;
use std::fs::{self, File};
use std::io::{self, Error, ErrorKind, Read};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use flate2::bufread::MultiGzDecoder;
use railtwin_units::Bytes;

/// Most bytes of a text that a person writes, such as a scenario, where nothing else is set.
pub const TEXT_MAX: u64 = 16 << 20;
/// Most bytes of a trace, a table or a page, packed and unpacked, where nothing else is set.
pub const DATA_MAX: u64 = 1 << 30;
/// Variable that sets both, as text such as `4 GiB`; the command's `--input-limit` wins over it.
pub const LIMIT_VARIABLE: &str = "RAILTWIN_INPUT_LIMIT";

/// First two bytes of a gzip stream (RFC 1952, section 2.3.1).
const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];

/// The limit of this process in bytes; 0 where the defaults hold.
static LIMIT: AtomicU64 = AtomicU64::new(0);

/// What a file is read as.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A text that a person writes: a scenario, a list of demands, a plan.
    Text,
    /// What programs write: traces, tables, pages.
    Data,
}

/// Sets how many bytes of a file are read and unpacked in this process; none = the defaults.
pub fn set_limit(bytes: Option<u64>) {
    LIMIT.store(bytes.map_or(0, |bytes| bytes.max(1)), Ordering::Relaxed);
}

/// What was set.
pub fn limit_set() -> Option<u64> {
    Some(LIMIT.load(Ordering::Relaxed)).filter(|&set| set > 0)
}

/// What [`LIMIT_VARIABLE`] says; none where it is not there or empty.
///
/// # Errors
/// The variable, its value and what is accepted, in words.
pub fn limit_of_environment() -> Result<Option<u64>, String> {
    match std::env::var_os(LIMIT_VARIABLE).filter(|text| !text.is_empty()) {
        None => Ok(None),
        Some(text) => {
            let text = text.to_string_lossy();
            size(&text)
                .map(Some)
                .map_err(|accepted| format!("{LIMIT_VARIABLE} cannot be {text:?}; {accepted}"))
        }
    }
}

/// A limit as people write it.
///
/// # Errors
/// What would be accepted, in words.
pub fn size(text: &str) -> Result<u64, String> {
    let bytes = text.parse::<Bytes>().ok().map(|bytes| bytes.0).filter(|&bytes| bytes > 0);
    bytes.ok_or_else(|| "write a size of 1 B or more with its unit, such as 4 GiB".to_owned())
}

/// Most bytes that are read of a file.
pub fn limit(kind: Kind) -> u64 {
    match (LIMIT.load(Ordering::Relaxed), kind) {
        (0, Kind::Text) => TEXT_MAX,
        (0, Kind::Data) => DATA_MAX,
        (set, _) => set,
    }
}

/// The bytes of a regular file.
///
/// # Errors
/// What the system says; [`ErrorKind::InvalidInput`] for what is no regular file, [`ErrorKind::FileTooLarge`] for
/// one above [`limit`].
pub fn read(path: &Path, kind: Kind) -> io::Result<Vec<u8>> {
    read_up_to(path, limit(kind))
}

/// The text of a regular file.
///
/// # Errors
/// Those of [`read`], and [`ErrorKind::InvalidData`] for what is no UTF-8 text.
pub fn read_text(path: &Path) -> io::Result<String> {
    let bytes = read(path, Kind::Text)?;
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        Error::new(ErrorKind::InvalidData, format!("it is no UTF-8 text: see byte {at}"))
    })
}

/// The bytes of a regular file without gzip.
///
/// # Errors
/// Those of [`read`] and of [`unpacked`].
pub fn read_unpacked(path: &Path) -> io::Result<Vec<u8>> {
    let bytes = read(path, Kind::Data)?;
    unpacked(&bytes)
        .map(|plain| match plain {
            Cow::Owned(plain) => Some(plain),
            Cow::Borrowed(_) => None,
        })
        .map(|plain| plain.unwrap_or(bytes))
}

/// Bytes without gzip, where they are packed.
///
/// # Errors
/// [`ErrorKind::InvalidData`] for a broken stream and for gzip within gzip, [`ErrorKind::FileTooLarge`] for one that
/// unpacks to more than [`limit`].
pub fn unpacked(bytes: &[u8]) -> io::Result<Cow<'_, [u8]>> {
    unpacked_up_to(bytes, limit(Kind::Data))
}

fn read_up_to(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    // Opening a pipe would wait for who writes to it.
    regular(&fs::metadata(path)?)?;
    let file = File::open(path)?;
    // What was opened may be another file than what was looked at.
    let metadata = file.metadata()?;
    regular(&metadata)?;
    if metadata.len() > limit {
        return Err(too_large("is", limit));
    }
    let mut bytes = Vec::with_capacity(usize::try_from(metadata.len()).unwrap_or(0));
    // It may grow, and files of /proc say 0 of themselves.
    file.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit { Err(too_large("is", limit)) } else { Ok(bytes) }
}

fn unpacked_up_to(bytes: &[u8], limit: u64) -> io::Result<Cow<'_, [u8]>> {
    if !bytes.starts_with(&GZIP_MAGIC) {
        return Ok(Cow::Borrowed(bytes));
    }
    let wrong = |what: String| Error::new(ErrorKind::InvalidData, what);
    let mut plain = Vec::new();
    MultiGzDecoder::new(bytes)
        .take(limit.saturating_add(1))
        .read_to_end(&mut plain)
        .map_err(|error| wrong(format!("its gzip stream is broken: {error}")))?;
    if plain.len() as u64 > limit {
        return Err(too_large("unpacks to", limit));
    }
    if plain.starts_with(&GZIP_MAGIC) {
        return Err(wrong("it is gzip within gzip".to_owned()));
    }
    Ok(Cow::Owned(plain))
}

fn regular(metadata: &fs::Metadata) -> io::Result<()> {
    let found = match metadata.file_type() {
        kind if kind.is_file() => return Ok(()),
        kind if kind.is_dir() => "a folder",
        kind => special(kind),
    };
    Err(Error::new(ErrorKind::InvalidInput, format!("it is {found}, and only regular files are read")))
}

#[cfg(unix)]
fn special(kind: fs::FileType) -> &'static str {
    use std::os::unix::fs::FileTypeExt;
    match kind {
        kind if kind.is_fifo() => "a pipe",
        kind if kind.is_socket() => "a socket",
        _ => "a device",
    }
}

#[cfg(not(unix))]
fn special(_kind: fs::FileType) -> &'static str {
    "a device"
}

fn too_large(what: &str, limit: u64) -> Error {
    let message = format!(
        "it {what} more than {}, the most that is read (--input-limit or {LIMIT_VARIABLE} sets another)",
        shown(limit)
    );
    Error::new(ErrorKind::FileTooLarge, message)
}

/// A size as people write it, in the largest unit that it is a whole number of.
fn shown(bytes: u64) -> String {
    let units = [("GiB", 30), ("MiB", 20), ("KiB", 10)];
    let unit = units.into_iter().find(|(_, bits)| bytes >= 1 << bits && bytes.is_multiple_of(1 << bits));
    unit.map_or_else(|| format!("{bytes} B"), |(name, bits)| format!("{} {name}", bytes >> bits))
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;
    use tempfile::tempdir;

    use super::*;

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(bytes).expect("memory");
        encoder.finish().expect("memory")
    }

    #[test]
    fn regular_files_up_to_the_limit_are_read() {
        let place = tempdir().expect("a place for tests");
        let path = place.path().join("a");
        fs::write(&path, b"0123456789").expect("writable");
        assert_eq!(read_up_to(&path, 10).expect("fits"), b"0123456789");
        let error = read_up_to(&path, 9).expect_err("too large");
        assert_eq!(error.kind(), ErrorKind::FileTooLarge);
        assert!(error.to_string().contains("more than 9 B"), "{error}");
        let error = read_up_to(place.path(), 9).expect_err("a folder");
        assert!(error.to_string().contains("it is a folder"), "{error}");
        assert_eq!(read_up_to(&place.path().join("b"), 9).expect_err("absent").kind(), ErrorKind::NotFound);
    }

    #[cfg(unix)]
    #[test]
    fn devices_and_what_lies_about_its_size_come_to_an_end() {
        let error = read_up_to(Path::new("/dev/zero"), DATA_MAX).expect_err("endless");
        assert!(error.to_string().contains("it is a device"), "{error}");
        if Path::new("/proc/self/maps").exists() {
            assert_eq!(
                read_up_to(Path::new("/proc/self/maps"), 16).expect_err("more").kind(),
                ErrorKind::FileTooLarge
            );
        }
    }

    #[test]
    fn packed_bytes_are_bounded_by_what_they_unpack_to() {
        let zeros = gzip(&vec![0; 1 << 20]);
        assert!(zeros.len() < 4096);
        assert_eq!(unpacked_up_to(&zeros, 1 << 20).expect("fits").len(), 1 << 20);
        let error = unpacked_up_to(&zeros, (1 << 20) - 1).expect_err("one byte too many");
        assert!(error.to_string().contains("unpacks to more than"), "{error}");
        let error = unpacked_up_to(&gzip(&zeros), 1 << 20).expect_err("gzip within gzip");
        assert!(error.to_string().contains("gzip within gzip"), "{error}");
        assert_eq!(unpacked_up_to(b"plain", 1).expect("as it is"), &b"plain"[..]);
        assert_eq!(shown(DATA_MAX), "1 GiB");
        assert_eq!(shown(1500), "1500 B");
        assert_eq!((size("2 GiB"), size("1 kB")), (Ok(2 << 30), Ok(1000)));
        assert!([size("0 B"), size("12"), size("-1 B"), size("")].iter().all(Result::is_err));
    }
}
