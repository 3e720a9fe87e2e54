//! State of a process and pressure on the host: `/proc/PID/stat`, `/proc/pressure/cpu`.
use std::fs::File;
use std::os::unix::fs::FileExt;

/// A file of `/proc` that is read again and again.
#[derive(Debug)]
pub(crate) struct ProcFile {
    file: Option<File>,
    bytes: [u8; 512],
}

impl ProcFile {
    /// Opens it; one that is not there says nothing.
    pub(crate) fn open(path: &str) -> Self {
        Self { file: File::open(path).ok(), bytes: [0; 512] }
    }

    fn read(&mut self) -> Option<&str> {
        let length = self.file.as_ref()?.read_at(&mut self.bytes, 0).ok()?;
        std::str::from_utf8(&self.bytes[..length]).ok()
    }

    /// State of a process, the letter of `/proc/PID/stat`; none once it is gone.
    pub(crate) fn state(&mut self) -> Option<char> {
        // The name of the program may hold anything, parentheses too.
        self.read()?.rsplit_once(") ")?.1.chars().next()
    }

    /// Share of the last 10 s in which something waited for a processor, hundredths of a percent.
    pub(crate) fn stall(&mut self) -> Option<u64> {
        let share =
            self.read()?.lines().next()?.split_whitespace().find_map(|word| word.strip_prefix("avg10="))?;
        let (whole, part) = share.split_once('.')?;
        Some(whole.parse::<u64>().ok()? * 100 + part.parse::<u64>().ok()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_own_process_runs() {
        let state = ProcFile::open("/proc/self/stat").state();
        assert!(matches!(state, Some('R' | 'S')), "{state:?}");
        assert_eq!(ProcFile::open("/proc/none").state(), None);
    }
}
