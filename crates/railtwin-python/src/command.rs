//! The `railtwin` command on Python's streams.
use std::ffi::OsString;
use std::io::{self, Write};

use pyo3::prelude::*;
use railtwin_cli::Streams;

use crate::watch::watch;

/// A Python text stream as bytes. What is written waits until it is whole lines, or is flushed.
struct TextStream {
    stream: Py<PyAny>,
    waiting: Vec<u8>,
}

impl TextStream {
    /// Hands over what waits, up to `end`, and makes the stream flush if asked.
    fn hand_over(&mut self, end: usize, flush: bool) -> io::Result<()> {
        let text = String::from_utf8_lossy(&self.waiting[..end]).into_owned();
        Python::attach(|py| {
            let stream = self.stream.bind(py);
            if !text.is_empty() {
                stream.call_method1("write", (text,))?;
            }
            if flush {
                stream.call_method0("flush")?;
            }
            PyResult::Ok(())
        })?;
        self.waiting.drain(..end);
        Ok(())
    }
}

impl Write for TextStream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.waiting.extend_from_slice(bytes);
        if let Some(end) = bytes.iter().rposition(|&byte| byte == b'\n') {
            // A line break is never inside a character, so what is handed over is whole.
            self.hand_over(self.waiting.len() - bytes.len() + end + 1, false)?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.hand_over(self.waiting.len(), true)
    }
}

/// Runs the command with arguments after the program's name, on `out` and `notes`; returns its exit status. `own` are
/// the words that start it in a process of its own.
#[pyfunction]
pub(crate) fn run_command(
    py: Python<'_>,
    own: Vec<OsString>,
    argv: Vec<OsString>,
    out: Py<PyAny>,
    notes: Py<PyAny>,
) -> PyResult<u8> {
    watch(py, None, move |_| {
        let (mut out, mut notes) = (
            TextStream { stream: out, waiting: Vec::new() },
            TextStream { stream: notes, waiting: Vec::new() },
        );
        let args = std::iter::once(OsString::from("railtwin")).chain(argv);
        let status = railtwin_cli::run_of(&own, args, &mut Streams { out: &mut out, notes: &mut notes });
        // With the stream of notes gone there is nobody left to tell.
        let _ = notes.flush();
        status
    })
}
