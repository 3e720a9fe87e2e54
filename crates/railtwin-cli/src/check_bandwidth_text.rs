//! What `railtwin check bandwidth` prints for people: the answer, a line for each kind of tests, what is low.
use std::collections::BTreeMap;

use railtwin_calibration::bandwidth::{Assumed, Checked, Group, LowTest, Verdict};
use railtwin_store::one_line;

use crate::check_bandwidth_answer::Answer;
use crate::table::TextTable;

/// Most low tests, tests without result and files that are shown; `--json` has all.
const LINES: usize = 12;
/// Most hosts in common that are shown.
const COMMON: usize = 4;
/// Most hosts that a line names.
const HOSTS: usize = 3;
/// Most sizes that are shown without being asked for.
const SIZES: usize = 12;

/// All of it. `all_sizes` asks for the table by size also where it is long.
pub(crate) fn shown(answer: &Answer, all_sizes: bool) -> String {
    let checked = &answer.checked;
    let mut text = format!("{}\n", sentence(answer));
    for cause in &answer.causes {
        line(&mut text, &format!("cause: {cause}"));
    }
    for one in &checked.assumed {
        line(&mut text, &assumed(one, answer.fabric.as_deref()));
    }
    text.push('\n');
    text.push_str(&summary(&checked.groups));
    for run in answer.whole.iter().filter(|run| run.is_slow()) {
        line(&mut text, &format!("slow: {}", run.sentence()));
    }
    show_low(&mut text, answer);
    show_ended(&mut text, answer);
    show_hosts(&mut text, checked);
    let rows: usize = checked.groups.iter().map(|group| group.sizes.len()).sum();
    match rows {
        0 => {}
        _ if all_sizes || rows <= SIZES => {
            text.push('\n');
            text.push_str(&by_size(&checked.groups));
        }
        _ => line(&mut text, &format!("\n{rows} rows by size: --sizes prints them")),
    }
    show_files(&mut text, answer);
    if checked.groups.iter().any(|group| group.verdict == Verdict::Low) {
        line(
            &mut text,
            "next: railtwin explain, with the same logs: causes that it may have, each simulated",
        );
    }
    text
}

fn line(text: &mut String, words: &str) {
    text.push_str(words);
    text.push('\n');
}

fn count(number: usize, one: &str, many: &str) -> String {
    if number == 1 { format!("1 {one}") } else { format!("{number} {many}") }
}

/// The answer in one sentence.
pub(crate) fn sentence(answer: &Answer) -> String {
    let checked = &answer.checked;
    let mut parts = Vec::new();
    let of_line = |group: &&Group| group.verdict == Verdict::Low;
    let low: Vec<&Group> = checked.groups.iter().filter(of_line).collect();
    let lowest = low.iter().min_by(|a, b| a.share().unwrap_or(0.0).total_cmp(&b.share().unwrap_or(0.0)));
    if let Some(group) = lowest {
        let share = percent(group.share().unwrap_or(0.0));
        let (name, shape) = (&group.kind.collective, group.kind.shape());
        let who = match low.len() - 1 {
            0 => format!("{name} {shape} is"),
            others => format!(
                "{name} {shape} and {} are",
                count(others, "more kind of tests", "more kinds of tests")
            ),
        };
        parts.push(format!("{who} below half of line rate ({share})"));
    }
    let below = checked.low.iter().filter(|test| test.below_peers).count();
    let fall = checked.low.len() - below;
    if below > 0 {
        parts.push(format!("{} below 90 % of {} peers", count(below, "test is", "tests are"), its(below)));
    }
    if fall > 0 {
        parts.push(format!("{} with size", count(fall, "test falls", "tests fall")));
    }
    parts.extend(slow_runs(answer));
    if !checked.ended.is_empty() {
        parts.push(format!("{} without result", count(checked.ended.len(), "test ended", "tests ended")));
    }
    if !checked.wrong.is_empty() {
        parts.push(format!("{} wrong results", count(checked.wrong.len(), "test has", "tests have")));
    }
    let of = count(checked.tests, "test", "tests");
    let mut text = match parts.is_empty() {
        false => format!("low: {}; of {of}", parts.join(", ")),
        true if checked.groups.iter().all(|group| group.verdict == Verdict::Unknown) => {
            format!("nothing low beside its peers in {of}; line rate is not known")
        }
        true => format!("normal: {of}, none below half of line rate or below its peers"),
    };
    let unknown = checked.groups.iter().filter(|group| group.verdict == Verdict::Unknown).count();
    if unknown > 0 && unknown < checked.groups.len() {
        text.push_str(&format!("; of {} line rate is not known", count(unknown, "kind", "kinds")));
    }
    let small = checked.groups.iter().filter(|group| group.verdict == Verdict::TooSmall).count();
    if small > 0 {
        let kinds = count(small, "kind", "kinds");
        text.push_str(&format!("; of {kinds} the sizes are too small to tell latency from bandwidth"));
    }
    let above = checked.groups.iter().filter(|group| group.verdict == Verdict::AboveBound).count();
    if above > 0 {
        let kinds = count(above, "kind of tests exceeds its", "kinds of tests exceed their");
        let than = match &answer.fabric {
            Some(fabric) => format!("{fabric} says"),
            None => "is assumed, --fabric says what".to_owned(),
        };
        text.push_str(&format!("; {kinds} bound: the hosts have more than {than}"));
    }
    let known = answer.unread.iter().filter(|file| file.known).count();
    if known > 0 {
        text.push_str(&format!("; {} not be read", count(known, "file could", "files could")));
    }
    let skipped: u64 = answer.files.iter().map(|file| file.skipped.count()).sum();
    if skipped > 0 {
        text.push_str(&format!("; {skipped} wrong records skipped"));
    }
    one_line(&text).into_owned()
}

/// Runs that are slow as a whole.
fn slow_runs(answer: &Answer) -> Option<String> {
    let slow = answer.whole.iter().filter(|run| run.is_slow()).count();
    (slow > 0).then(|| format!("{} slow as a whole", count(slow, "large run is", "large runs are")))
}

fn its(number: usize) -> &'static str {
    if number == 1 { "its" } else { "their" }
}

/// What hosts were taken for, in one line.
fn assumed(one: &Assumed, fabric: Option<&str>) -> String {
    let product = if one.product.is_empty() { "hosts without a product name" } else { &one.product };
    let Some(host) = &one.host else {
        return one_line(&format!("{product}: no host is known for it; --fabric says what it is"))
            .into_owned();
    };
    let nvlink = host
        .nvlink_gb_per_s
        .map_or("no NVLink".to_owned(), |rate| format!("NVLink of {} GB/s a GPU", gb(rate)));
    let why = match fabric {
        Some(fabric) => match one.told.as_ref().filter(|told| **told != host.model) {
            Some(told) => format!("as {fabric} says; the GPU's name says {told}"),
            None => format!("as {fabric} says"),
        },
        None => "assumed by the GPU's name, --fabric says otherwise".to_owned(),
    };
    let (model, nics, nic) = (&host.model, host.nics, gb(host.nic_gb_per_s));
    let nics = count(nics as usize, "NIC", "NICs");
    one_line(&format!("{product}: host {model}, {nics} of {nic} GB/s of payload, {nvlink} ({why})"))
        .into_owned()
}

fn percent(share: f64) -> String {
    format!("{:.0} %", 100.0 * share)
}

/// GB/s for people: three or four figures.
fn gb(value: f64) -> String {
    if value < 10.0 { format!("{value:.2}") } else { format!("{value:.1}") }
}

/// A size in the binary unit that nccl-tests counts in.
fn bytes(bytes: u64) -> String {
    let units = [("GiB", 1_u64 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];
    match units.into_iter().find(|(_, unit)| bytes >= *unit) {
        Some((name, unit)) if bytes.is_multiple_of(unit) => format!("{} {name}", bytes / unit),
        Some((name, unit)) => format!("{:.1} {name}", bytes as f64 / unit as f64),
        None => format!("{bytes} B"),
    }
}

fn hosts(names: &[String]) -> String {
    match names.len() {
        0 => "hosts unknown".to_owned(),
        few if few <= HOSTS => names.join(", "),
        many => format!("{many} hosts from {} on", names[0]),
    }
}

/// A line for each kind: at the largest size that it reached.
fn summary(groups: &[Group]) -> String {
    let mut table = TextTable::default();
    let names = ["bus bandwidth in GB/s", "hosts x GPUs", "tests", "largest", "median", "worst", "line rate"];
    table.row(names.into_iter().chain(["share", "bound", "bound by", "verdict"]).map(str::to_owned));
    let several = groups.iter().any(|group| group.kind.product != groups[0].kind.product);
    for group in groups {
        let last = group.sizes.last();
        let of_bounds = group.bounds.as_ref().ok();
        let or_dash = |cell: Option<String>| cell.unwrap_or_else(|| "-".to_owned());
        let mut note = group.bounds.as_ref().err().cloned().unwrap_or_default();
        if several && !group.kind.product.is_empty() {
            note = format!("{} {note}", group.kind.product);
        }
        let cells = [
            group.kind.collective.clone(),
            group.kind.shape(),
            group.tests.len().to_string(),
            or_dash(last.map(|row| bytes(row.bytes))),
            or_dash(last.map(|row| gb(row.median))),
            or_dash(last.map(|row| gb(row.worst.gb_per_s))),
            or_dash(of_bounds.map(|bounds| gb(bounds.line_rate.gb_per_s))),
            or_dash(last.and_then(|row| row.share).map(percent)),
            or_dash(of_bounds.map(|bounds| gb(bounds.most.gb_per_s))),
            or_dash(of_bounds.map(|bounds| bounds.most.by.name())),
            group.verdict.name().to_owned(),
        ];
        table.noted_row(cells, &note);
    }
    table.text()
}

/// A line for each set of hosts, with its lowest test; its other tests share what is wrong with it.
fn show_low(text: &mut String, answer: &Answer) {
    let mut sets: Vec<Vec<&LowTest>> = Vec::new();
    for test in &answer.checked.low {
        match sets.iter_mut().find(|set| set[0].hosts == test.hosts) {
            Some(set) => set.push(test),
            None => sets.push(vec![test]),
        }
    }
    if sets.is_empty() {
        return;
    }
    line(text, "\nlow, over the large sizes");
    let mut table = TextTable::default();
    table.row(["hosts", "lowest in", "hosts x GPUs", "GB/s", "peers", "share"].map(str::to_owned));
    for set in sets.iter().take(LINES) {
        let test = set[0];
        let kind = &answer.checked.groups[test.group].kind;
        let or_dash = |cell: Option<String>| cell.unwrap_or_else(|| "-".to_owned());
        let cells = [
            hosts(&test.hosts),
            kind.collective.clone(),
            kind.shape(),
            gb(test.gb_per_s),
            or_dash(test.peers_gb_per_s.map(gb)),
            or_dash(test.share.map(percent)),
        ];
        let others = match set.len() - 1 {
            0 => String::new(),
            others => format!("; {} low too", count(others, "more test is", "more tests are")),
        };
        table.noted_row(cells, &format!(" {}{}{others}", test.file, falls(test)));
    }
    text.push_str(&table.text());
    more(text, sets.len(), "");
}

fn falls(test: &LowTest) -> String {
    match test.falls {
        Some((best, last)) => format!(": falls from {} to {} GB/s with size", gb(best), gb(last)),
        None => String::new(),
    }
}

fn more(text: &mut String, number: usize, what: &str) {
    if number > LINES {
        line(text, &format!("and {} more{what}", number - LINES));
    }
}

fn show_ended(text: &mut String, answer: &Answer) {
    let ended = &answer.checked.ended;
    if ended.is_empty() {
        return;
    }
    line(text, "\nended without result");
    for test in ended.iter().take(LINES) {
        let after = test
            .after_bytes
            .map_or("before its first size".to_owned(), |last| format!("after {}", bytes(last)));
        let (who, what, shape) = (hosts(&test.hosts), &test.kind.collective, test.kind.shape());
        let words = format!("{who}: {what} {shape} {} {after}, {}:{}", test.end.name(), test.file, test.line);
        line(text, &one_line(&words));
    }
    more(text, ended.len(), "");
}

fn show_hosts(text: &mut String, checked: &Checked) {
    let counts = &checked.hosts;
    if counts.is_empty() {
        return;
    }
    let of_low = checked.low.iter().map(|test| &test.hosts);
    let mut sets = of_low.chain(checked.ended.iter().map(|test| &test.hosts));
    let noun = if sets.all(|hosts| hosts.len() == 2) { "pairs" } else { "sets of hosts" };
    text.push('\n');
    for host in counts.iter().take(COMMON) {
        let mut parts = Vec::new();
        if host.low.0 > 0 {
            parts.push(format!("{} of the {} low {noun}", host.low.0, host.low.1));
        }
        if host.ended.0 > 0 {
            parts.push(format!("{} of the {} {noun} without result", host.ended.0, host.ended.1));
        }
        let words = format!("host {} is in {}; {} have it in all", host.host, parts.join(" and "), host.of);
        line(text, &one_line(&words));
    }
    if counts.len() > COMMON {
        line(
            text,
            &format!(
                "and {} in several of them",
                count(counts.len() - COMMON, "more host is", "more hosts are")
            ),
        );
    }
}

fn by_size(groups: &[Group]) -> String {
    let mut table = TextTable::default();
    let names = ["GB/s by size", "hosts x GPUs", "size", "measured", "algbw", "busbw", "share", "worst"];
    table.row(names.map(str::to_owned));
    for group in groups {
        for row in &group.sizes {
            let share = row.share.map_or("-".to_owned(), percent);
            let cells = [
                group.kind.collective.clone(),
                group.kind.shape(),
                bytes(row.bytes),
                row.measurements.to_string(),
                gb(row.algorithm),
                gb(row.median),
                share,
                gb(row.worst.gb_per_s),
            ];
            let latency = if row.latency { "; latency: below half of what large messages reach" } else { "" };
            let note = format!(" {} in {}{latency}", hosts(&row.worst.hosts), row.worst.file);
            table.noted_row(cells, &note);
        }
    }
    table.text()
}

fn show_files(text: &mut String, answer: &Answer) {
    let mut reasons: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for file in &answer.unread {
        let what = if file.known { "not read" } else { "not recognized" };
        reasons.entry(what).or_default().push(format!("{}: {what}: {}", file.source, file.reason));
    }
    let skipped = answer.files.iter().filter(|file| file.skipped.count() > 0).map(|file| {
        let first: Vec<String> = file.skipped.first().collect();
        format!("{}: {} wrong records skipped: {}", file.source, file.skipped.count(), first.join(", "))
    });
    let mut lines: Vec<String> = skipped.take(LINES).collect();
    lines.extend(reasons.remove("not read").into_iter().flatten().take(LINES));
    if let Some(strange) = reasons.remove("not recognized") {
        lines.push(format!("{} not recognized", count(strange.len(), "file is", "files are")));
    }
    if answer.others > 0 {
        lines.push(format!(
            "{} something else than nccl-tests",
            count(answer.others, "file holds", "files hold")
        ));
    }
    if lines.is_empty() {
        return;
    }
    text.push('\n');
    for words in lines {
        line(text, &one_line(&words));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_those_of_nccl_tests() {
        let shown = [8, 1024, 33_554_432, 17_179_869_184, 17_179_869_120].map(bytes);
        assert_eq!(shown, ["8 B", "1 KiB", "32 MiB", "16 GiB", "16.0 GiB"]);
    }

    #[test]
    fn many_hosts_are_counted() {
        let names: Vec<String> = (0..5).map(|number| format!("h{number}")).collect();
        assert_eq!(hosts(&names[..2]), "h0, h1");
        assert_eq!(hosts(&names), "5 hosts from h0 on");
    }
}
