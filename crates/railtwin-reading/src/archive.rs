//! Archives (`.tar`, `.tar.gz`) and standard input: evidence that does not lie in files of its own.
use std::io::Read;
use std::path::{Path, PathBuf};

use railtwin_store::input::{self, Kind};

use crate::error::Error;

/// The name for standard input on the command line.
pub(crate) const STANDARD_INPUT: &str = "-";
/// Most bytes that an archive may unpack to: 8 GiB. Larger ones are no evidence of one job.
const BYTES_MAX: u64 = 8 << 30;
/// Where the magic of a tar header stands, and the magic.
const MAGIC_AT: usize = 257;
const MAGIC: &[u8] = b"ustar";
/// The first bytes of gzip.
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// A file of an archive.
pub(crate) struct Member {
    /// Its path behind the name of the archive.
    pub(crate) path: PathBuf,
    pub(crate) bytes: Vec<u8>,
    /// Its last change, in nanoseconds since 1970.
    pub(crate) time_ns: u64,
}

/// Whether a path has the name of an archive.
pub(crate) fn is_named(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    [".tar", ".tar.gz", ".tgz"].iter().any(|ending| name.ends_with(ending))
}

/// Whether bytes are a tar archive, plain or in gzip.
pub(crate) fn is_archive(bytes: &[u8]) -> bool {
    let has_magic = |bytes: &[u8]| bytes.get(MAGIC_AT..).is_some_and(|rest| rest.starts_with(MAGIC));
    if !bytes.starts_with(&GZIP) {
        return has_magic(bytes);
    }
    let mut head = Vec::new();
    let read = flate2::read::MultiGzDecoder::new(bytes).take(512).read_to_end(&mut head);
    read.is_ok() && has_magic(&head)
}

/// All of standard input.
///
/// # Errors
/// [`Error::File`] where it cannot be read or is longer than a file may be.
pub(crate) fn standard_input() -> Result<Vec<u8>, Error> {
    let (mut bytes, limit) = (Vec::new(), input::limit(Kind::Data));
    let read = std::io::stdin().lock().take(limit.saturating_add(1)).read_to_end(&mut bytes);
    let failed =
        |error: std::io::Error| Error::File { path: STANDARD_INPUT.into(), problem: error.to_string() };
    read.map_err(failed)?;
    if bytes.len() as u64 > limit {
        let problem = format!("has more than {limit} bytes: give files, or less of it");
        return Err(Error::File { path: STANDARD_INPUT.into(), problem });
    }
    Ok(bytes)
}

/// Files of an archive in order of their paths; folders, links and hidden files are left out.
///
/// # Errors
/// [`Error::File`] for an archive that is damaged or unpacks to more than 8 GiB.
pub(crate) fn members(archive: &Path, bytes: &[u8]) -> Result<Vec<Member>, Error> {
    let failed = |problem: String| Error::File { path: archive.display().to_string(), problem };
    let plain: Box<dyn Read + '_> = match bytes.starts_with(&GZIP) {
        true => Box::new(flate2::read::MultiGzDecoder::new(bytes)),
        false => Box::new(bytes),
    };
    let mut tar = tar::Archive::new(plain);
    let damaged = |error: std::io::Error| failed(format!("is a damaged archive: {error}"));
    let (mut members, mut total) = (Vec::new(), 0_u64);
    for entry in tar.entries().map_err(damaged)? {
        let mut entry = entry.map_err(damaged)?;
        let inner = entry.path().map_err(damaged)?.into_owned();
        let is_hidden = inner.components().any(|part| {
            let name = part.as_os_str().to_string_lossy();
            name.starts_with('.') && name.len() > 1
        });
        if !entry.header().entry_type().is_file() || is_hidden {
            continue;
        }
        total = total.saturating_add(entry.size());
        if total > BYTES_MAX {
            return Err(failed("unpacks to more than 8 GiB: give the files of one job".into()));
        }
        let time_ns = entry.header().mtime().unwrap_or(0).saturating_mul(1_000_000_000);
        let mut bytes = Vec::new();
        entry.read_to_end(&mut bytes).map_err(damaged)?;
        members.push(Member { path: archive.join(inner), bytes, time_ns });
    }
    members.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(members)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn archive(files: &[(&str, &str)]) -> Vec<u8> {
        let mut builder = tar::Builder::new(Vec::new());
        for (name, text) in files {
            let mut header = tar::Header::new_ustar();
            header.set_size(text.len() as u64);
            header.set_mtime(7);
            builder.append_data(&mut header, name, text.as_bytes()).expect("memory takes all");
        }
        builder.into_inner().expect("memory takes all")
    }

    #[test]
    fn files_come_in_order_and_hidden_ones_do_not() {
        let bytes = archive(&[("job/b.log", "two"), ("job/a.log", "one"), ("job/.hidden", "x")]);
        assert!(is_archive(&bytes) && is_named(Path::new("x.TGZ")) && !is_named(Path::new("x.gz")));
        let members = members(Path::new("x.tar"), &bytes).expect("an archive");
        let names: Vec<String> = members.iter().map(|one| one.path.display().to_string()).collect();
        assert_eq!(names, ["x.tar/job/a.log", "x.tar/job/b.log"]);
        assert_eq!((members[0].bytes.as_slice(), members[0].time_ns), (&b"one"[..], 7_000_000_000));
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..600), cut in 0_usize..1024) {
            let _ = (is_archive(&bytes), members(Path::new("x"), &bytes));
            let mut damaged = archive(&[("a", "some text")]);
            damaged.truncate(cut);
            let _ = members(Path::new("x"), &damaged);
        }
    }
}
