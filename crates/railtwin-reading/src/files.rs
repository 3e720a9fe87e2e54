//! Files of telemetry, read and decoded side by side: no file hangs on another until they are joined.
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use railtwin_formats::Refusal;
use railtwin_formats::telemetry::{
    Content, Format, Hints, Imported, MegatronTrace, decode, detect_format, megatron_trace, ranks_of_path,
};
use railtwin_live::reader::{self, RankFile};
use railtwin_store::{input, parquet_foreign};

use crate::error::Error;
use crate::live;

/// Files that are read and decoded side by side: so many, and so many bytes as they lie there, at most; a larger one alone.
const BATCH_FILES: usize = 256;
const BATCH_BYTES: u64 = 16 << 20;

/// Why a file could not be read, whether its format was known, and of which rank it is.
pub(super) type Refused = (Error, bool, Option<u32>);

/// The bytes of a file, unpacked.
pub(super) struct Loaded {
    pub(super) name: String,
    pub(super) bytes: Vec<u8>,
    pub(super) format: Option<Format>,
    /// Its last change.
    pub(super) time_ns: u64,
}

/// Decoded content of one telemetry file.
pub(super) enum Decoded {
    Trace(Box<MegatronTrace>),
    File(Box<Imported>),
    Live(Box<RankFile>),
}

/// Files in their order, as many at a time as are small.
pub(super) fn batches(files: &[PathBuf]) -> Vec<&[PathBuf]> {
    let mut cut = Vec::new();
    let (mut from, mut bytes) = (0, 0_u64);
    for (at, file) in files.iter().enumerate() {
        let size = file.metadata().map_or(0, |about| about.len());
        if at > from && (bytes.saturating_add(size) > BATCH_BYTES || at - from == BATCH_FILES) {
            cut.push(&files[from..at]);
            (from, bytes) = (at, 0);
        }
        bytes = bytes.saturating_add(size);
    }
    if from < files.len() {
        cut.push(&files[from..]);
    }
    cut
}

/// The bytes of something that is no file of its own, such as a member of an archive.
pub(super) fn load_bytes(name: String, bytes: Vec<u8>, time_ns: u64) -> Result<Loaded, Refused> {
    let failed = |problem: String| (Error::File { path: name.clone(), problem }, true, None);
    let bytes = input::unpacked(&bytes).map_err(|error| failed(error.to_string()))?.into_owned();
    if bytes.is_empty() {
        return Err((
            Error::Argument(format!("{name} is empty; give a file of telemetry")),
            false,
            rank_of(&name),
        ));
    }
    let format = format_of(&bytes);
    let time_ns = if format == Some(Format::Parquet) { 0 } else { time_ns };
    Ok(Loaded { name, bytes, format, time_ns })
}

/// What bytes are. Live records come first: a heartbeat names things that other formats have, too.
fn format_of(bytes: &[u8]) -> Option<Format> {
    if reader::is_live(bytes) { Some(Format::LiveRecords) } else { detect_format(bytes) }
}

/// Reads the bytes of a file and says what it is.
pub(super) fn load(path: &Path) -> Result<Loaded, Refused> {
    let name = path.display().to_string();
    let about = path.metadata();
    // A pipe or a device among files is none of them; what it is stands in the error.
    let is_file = about.as_ref().map_or(true, |about| about.is_file());
    let failed = |error: std::io::Error| {
        (Error::File { path: name.clone(), problem: error.to_string() }, is_file, None)
    };
    let about = about.map_err(failed)?;
    let bytes = input::read_unpacked(path).map_err(failed)?;
    if bytes.is_empty() {
        let error = Error::Argument(format!("{name} is empty; give a file of telemetry"));
        let rank = rank_of(&name);
        return Err((error, false, rank));
    }
    let format = format_of(&bytes);
    let changed =
        if format == Some(Format::Parquet) { UNIX_EPOCH } else { about.modified().map_err(failed)? };
    let since = changed.duration_since(UNIX_EPOCH).unwrap_or_default();
    let time_ns = u64::try_from(since.as_nanos()).unwrap_or(u64::MAX);
    Ok(Loaded { name, bytes, format, time_ns })
}

impl Loaded {
    /// Decodes it; its bytes are kept where others are compared with them.
    pub(super) fn decode(mut self, time_ns: u64, job: &str) -> Result<(Self, Decoded), Refused> {
        if self.format == Some(Format::Parquet) {
            let bytes = std::mem::take(&mut self.bytes);
            let table = parquet_foreign::decode_foreign(Path::new(&self.name), bytes)
                .map_err(|error| (error.into(), true, None))?;
            if let Some(records) = live::records_of(&self.name, &table) {
                self.format = Some(Format::LiveRecords);
                return Ok((self, Decoded::Live(Box::new(records))));
            }
            let trace = megatron_trace(&self.name, job, &table).map_err(|error| {
                // Tables of others, ours among them, are no traces.
                let is_trace = error.refusal != Refusal::Foreign;
                (error.into(), is_trace, None)
            })?;
            return Ok((self, Decoded::Trace(Box::new(trace))));
        }
        if self.format == Some(Format::LiveRecords) {
            let bytes = std::mem::take(&mut self.bytes);
            let records = reader::read(&bytes, reader::rank_of_name(&self.name));
            return Ok((self, Decoded::Live(Box::new(records))));
        }
        let hints = Hints { time_ns, ..Hints::default() };
        let imported = decode(&self.name, &self.bytes, &hints).map_err(|error| {
            let of_rank = matches!(self.format, Some(Format::FlightRecorder | Format::Pickle));
            // A table that numbers steps and tells no time of them, such as one of losses, is no telemetry.
            let of_times = error.refusal != Refusal::Foreign;
            (error.into(), self.format.is_some() && of_times, rank_of(&self.name).filter(|_| of_rank))
        })?;
        let is_compared =
            matches!(imported.content, Content::NcclTests(_) | Content::Ras(_) | Content::FlightRecorder(_));
        if !is_compared {
            self.bytes = Vec::new();
        }
        Ok((self, Decoded::File(Box::new(imported))))
    }
}

/// The rank of a dump that cannot be read, where its path tells one.
fn rank_of(name: &str) -> Option<u32> {
    let ranks = ranks_of_path(name);
    ranks.first().copied().filter(|_| ranks.len() == 1)
}
