//! The answer in one sentence, and what was not read.
use railtwin_diagnosis::hang::dumps::Dumps;
use railtwin_records::seen::{LogSeen, StepSeen};
use railtwin_records::{Column, Finding, Seen, Syndrome, Table};

use super::answer::who;
use super::{Diagnosed, words};

impl Diagnosed {
    /// Whether nobody is accused, nothing hangs, died or became slower for good, no data came out wrong, no test failed and
    /// nothing that is telemetry went unread. A hang of
    /// which nobody is proved to be the cause is a hang.
    pub fn is_well(&self) -> bool {
        use Syndrome::{CommunicationHang, Crash, Mismatch, NonCommunicationHang};
        let stands = |finding: &Finding| {
            matches!(finding.syndrome, CommunicationHang | NonCommunicationHang | Mismatch | Crash)
                || words::wrong(finding).is_some()
                || finding.evidence.iter().any(|line| [StepSeen::TABLE, LogSeen::TABLE].contains(&line.table))
        };
        let stands = self.findings.iter().any(stands);
        self.accusations() == 0
            && !stands
            && self.failed_tests == 0
            && !self.unread.iter().any(|file| file.known)
    }

    /// Whether dumps of one moment have open operations, which a job that runs and one that stands both have.
    fn is_undecided(&self) -> bool {
        let is_open = |dumps: &Dumps| {
            let operations = dumps.dumps.iter().flat_map(|dump| &dump.operations);
            dumps.again.is_empty() && operations.into_iter().any(|operation| !operation.completed)
        };
        self.dumps.as_ref().is_some_and(is_open)
    }

    /// Records that were skipped in files that were read.
    pub fn skipped(&self) -> u64 {
        self.files.iter().map(|file| file.skipped.count()).sum()
    }

    /// The answer in one sentence, with what was not read.
    pub fn sentence(&self) -> String {
        let mut text = self.answer();
        for part in self.not_read() {
            text.push_str("; ");
            text.push_str(&part);
        }
        text
    }

    fn answer(&self) -> String {
        let causes = self.causes();
        match causes.iter().find(|cause| self.findings[cause.findings[0]].accuses()) {
            Some(worst) => {
                let findings: Vec<&Finding> = worst.findings.iter().map(|&row| &self.findings[row]).collect();
                let first = &findings[0].suspects[0].component;
                let who = match (findings.len(), findings[0].suspects.len()) {
                    (1, 1) => format!("{} {}", first.kind(), first.name()),
                    (1, 2) => who(&findings),
                    (1, count) => format!("{} {} or one of {} others", first.kind(), first.name(), count - 1),
                    _ => who(&findings),
                };
                let follow = worst.follows.iter().filter(|row| self.findings[**row].accuses()).count();
                let more = match self.accusations() - findings.len() - follow {
                    0 => String::new(),
                    1 => ", and 1 more finding".to_owned(),
                    count => format!(", and {count} more findings"),
                };
                let (what, share) = (words::of_finding(findings[0]), worst.confidence);
                format!("{who}: {what}, confidence {share:.2}{more}")
            }
            None => {
                if let (Some(slower), 0) = (self.slower(), self.failed_tests) {
                    return format!(
                        "{slower}, by what is not told, in {}{}",
                        self.looked_at(),
                        self.waited_for()
                    );
                }
                if let Some(cause) = self.named_cause() {
                    return format!("{cause}; nobody is accused, in {}", self.looked_at());
                }
                let what = match (self.findings.len(), self.failed_tests) {
                    (0, _) if self.is_undecided() => {
                        "the dumps do not show whether the job runs or stands still".to_owned()
                    }
                    (0, _) => "nothing found".to_owned(),
                    (_, 0) => "not enough evidence to accuse anybody".to_owned(),
                    (_, 1) => "a test failed, not enough evidence to accuse anybody".to_owned(),
                    (_, count) => format!("{count} tests failed, not enough evidence to accuse anybody"),
                };
                format!("{what} in {}{}", self.looked_at(), self.waited_for())
            }
        }
    }

    /// The cause that lines name where nobody is accused of it.
    fn named_cause(&self) -> Option<String> {
        let causes = self.causes();
        let finding = &self.findings[*causes.first()?.findings.first()?];
        let is_named = matches!(finding.evidence.first().map(|line| &line.seen), Some(Seen::Cause(_)));
        (is_named && finding.suspects.is_empty()).then(|| words::of_finding(finding))
    }

    /// The job whose steps take longer, where that is what costs most: `job a: steps 5.0 % longer from step 101 on`.
    fn slower(&self) -> Option<String> {
        let causes = self.causes();
        let finding = &self.findings[*causes.first()?.findings.first()?];
        let of_steps = finding.evidence.iter().any(|line| line.table == StepSeen::TABLE);
        of_steps.then(|| format!("{}: {}", who(&[finding]), words::of_finding(finding)))
    }

    /// For whom a job would wait, where nobody is accused of it.
    fn waited_for(&self) -> String {
        use Syndrome::{CommunicationHang, NonCommunicationHang};
        let hang = |finding: &&Finding| matches!(finding.syndrome, CommunicationHang | NonCommunicationHang);
        let of: Vec<&Finding> =
            self.findings.iter().filter(hang).filter(|one| !one.suspects.is_empty()).collect();
        if of.is_empty() || self.failed_tests > 0 {
            String::new()
        } else {
            format!("; it waits for {}, which is not proved", who(&of))
        }
    }

    /// What went unread, in a few words each.
    fn not_read(&self) -> Vec<String> {
        let of = self.files.len() + self.unread.len();
        let known = self.unread.iter().filter(|file| file.known).count();
        let strange = self.unread.len() - known;
        let mut parts = Vec::new();
        if known > 0 {
            // What a run folder has are tables.
            parts.push(match (self.files.is_empty(), known) {
                (false, _) => format!("{known} of {of} files could not be read"),
                (true, 1) => "1 table could not be read".to_owned(),
                (true, _) => format!("{known} tables could not be read"),
            });
        }
        if strange > 0 {
            parts.push(format!("{strange} of {of} files not recognized"));
        }
        match self.skipped() {
            0 => {}
            1 => parts.push("1 wrong record skipped".to_owned()),
            count => parts.push(format!("{count} wrong records skipped")),
        }
        parts
    }

    /// How much was looked at.
    fn looked_at(&self) -> String {
        let mut parts = Vec::new();
        let (operations, ranks) = (self.batch.operations.len(), self.directory.ranks.len());
        let counters = self.batch.counters.len();
        if operations > 0 {
            parts.push(format!("{operations} operations of {ranks} ranks over {:.1} s", self.seconds));
        } else if ranks > 0 && self.batch.probes.is_empty() && counters == 0 {
            parts.push(format!("{ranks} ranks"));
        }
        if counters > 0 {
            parts.push(format!("{counters} readings of counters"));
        }
        if !self.batch.probes.is_empty() {
            parts.push(format!("{} rounds of probes", self.batch.probes.len()));
        }
        if self.others > 0 {
            parts.push(format!("{} results of tests and snapshots", self.others));
        }
        if !self.directory.neighbors.is_empty() {
            parts.push(format!("neighbors of {} ports", self.directory.neighbors.len()));
        }
        if self.log_lines > 0 {
            parts.push(format!("{} lines of logs", self.log_lines));
        }
        if !self.live.is_empty() {
            parts.push(format!("{} live records of {} ranks", self.live.records, self.live.ranks));
        }
        if parts.is_empty() { "files that hold no records".into() } else { parts.join(", ") }
    }

    /// The table `files`: what each file was, and which could not be read; none where there were none.
    pub(super) fn table_of_files(&self) -> Option<Table> {
        let (files, unread) = (&self.files, &self.unread);
        if files.is_empty() && unread.is_empty() {
            return None;
        }
        let both = |read: fn(&railtwin_formats::telemetry::FileNotes) -> String,
                    not: fn(&super::Unread) -> String| {
            files.iter().map(read).chain(unread.iter().map(not)).collect::<Vec<String>>()
        };
        let text = |name: &str, rows: &[String]| Column::coded(name, rows.iter().map(String::as_str));
        let skipped = files.iter().map(|file| file.skipped.count()).chain(unread.iter().map(|_| 0));
        let columns = vec![
            text("file", &both(|file| file.source.clone(), |file| file.source.clone())),
            text("format", &both(|file| file.format.name().to_owned(), |_| String::new())),
            text("held", &both(|file| file.held.clone(), |_| String::new())),
            Column::u64("skipped", skipped.collect()),
            text("not_read", &both(|_| String::new(), |file| file.reason.clone())),
        ];
        Some(Table::new("files", columns))
    }
}
