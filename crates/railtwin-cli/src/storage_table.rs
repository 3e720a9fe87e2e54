//! What jobs exchange with storage, as a table under the figures of a run.
use railtwin_store::RunInfo;

use crate::table::TextTable;
use crate::units::shown;

/// What is exchanged, as the first word of its figures, and the word for one time of it.
const KINDS: [(&str, &str); 3] =
    [("checkpoint", "checkpoint"), ("read", "step"), ("inference", "beat or step")];

/// The table; none where no job exchanges anything.
pub(crate) fn table(info: &RunInfo) -> Option<TextTable> {
    let mut table = TextTable::default();
    let head = ["storage", "for each", "bytes", "takes", "rate", "steps lose"];
    table.row(head.map(str::to_owned));
    let mut rows = 0;
    for figure in &info.figures {
        let (job, bare) = railtwin::figures::parts_of(&figure.name);
        let Some((kind, each)) = KINDS.iter().find(|(kind, _)| bare == format!("{kind}_lost")) else {
            continue;
        };
        let name = |what: &str| job.map_or(format!("{kind}_{what}"), |job| format!("{job}.{kind}_{what}"));
        let value = |what: &str| info.figure(&name(what)).and_then(|figure| figure.value);
        let rate = value("bytes").zip(value("time")).filter(|(_, time)| *time > 0.0);
        table.row([
            job.map_or((*kind).to_owned(), |job| format!("{job} {kind}")),
            (*each).to_owned(),
            shown(value("bytes"), "bytes"),
            shown(value("time"), "s"),
            shown(rate.map(|(bytes, time)| 8.0 * bytes / time), "bits_per_s"),
            shown(figure.value, "s"),
        ]);
        rows += 1;
    }
    (rows > 0).then_some(table)
}
