//! The file of records of one rank: events and heartbeats as lines of the schema.
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::events::Event;
use crate::json::Lines;

/// Version of the schema.
const VERSION: u64 = 1;

/// Writes records. Lines wait in a buffer until [`RecordFile::flush`].
#[derive(Debug)]
pub(crate) struct RecordFile {
    file: File,
    pub(crate) lines: Lines,
    /// Waits of stages of the operation that has not ended yet.
    waits: Vec<[u64; 3]>,
}

impl RecordFile {
    /// Creates the file of a rank anew, with its folder.
    ///
    /// # Errors
    /// The folder or the file cannot be made.
    pub(crate) fn create(folder: &Path, rank: usize) -> io::Result<(Self, PathBuf)> {
        fs::create_dir_all(folder)?;
        let path = folder.join(format!("r{rank}.jsonl"));
        let file = File::create(&path)?;
        Ok((Self { file, lines: Lines::default(), waits: Vec::new() }, path))
    }

    /// Writes what waits in one call.
    ///
    /// # Errors
    /// The disk is full, or the file is gone.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        let outcome = self.file.write_all(&self.lines.bytes);
        self.lines.bytes.clear();
        outcome
    }

    /// Writes the header.
    pub(crate) fn header(
        &mut self,
        t: u64,
        rank: usize,
        every_ms: u64,
        host: &str,
        nic: Option<&str>,
        pid: u32,
    ) {
        let line = self.lines.begin("hd", t).number("v", VERSION).number("rank", rank as u64);
        line.number("every_ms", every_ms).text("host", host);
        if let Some(nic) = nic {
            line.text("nic", nic);
        }
        line.number("pid", u64::from(pid)).end();
    }

    /// Writes an event of the rank.
    pub(crate) fn event(&mut self, event: Event) {
        match event {
            Event::Step { t, step, data, comp } => {
                self.lines
                    .begin("st", t)
                    .number("step", step)
                    .number("data", data)
                    .number("comp", comp)
                    .end();
            }
            Event::Entered { t, seq, bytes } => {
                self.lines.begin("en", t).number("seq", seq).number("b", bytes).end();
            }
            Event::Stage { waits } => self.waits.push(waits),
            Event::Ended { t, seq, entered, to, from } => {
                let line = self.lines.begin("op", t).number("seq", seq).number("en", entered);
                for (key, rank) in [("succ", to), ("pred", from)] {
                    if let Some(rank) = rank {
                        line.number(key, u64::from(rank));
                    }
                }
                line.key("w").mark(b'[');
                for waits in self.waits.drain(..) {
                    line.item().mark(b'[');
                    waits.into_iter().for_each(|wait| {
                        line.item().digits(wait);
                    });
                    line.mark(b']');
                }
                line.mark(b']').end();
            }
            Event::Broken { t, seq, sends, peer, errno } => {
                let side = if sends { "s" } else { "r" };
                let line = self.lines.begin("err", t).number("seq", seq).text("side", side);
                line.number("peer", u64::from(peer)).signed("errno", i64::from(errno)).end();
            }
        }
    }
}
