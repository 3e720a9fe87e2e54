//! Times and hosts that stand before what a log line says: kernel ring, syslog, journal, glog, NCCL, launchers.

/// Nanoseconds in a second.
const SECOND: i128 = 1_000_000_000;
/// Names of months as C prints them.
const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// When a line was written, as far as it says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LogTime {
    /// Nanoseconds since 1970, in UTC where the line has no zone.
    At(u64),
    /// Nanoseconds since the kernel began.
    Up(u64),
    /// Nanoseconds since 1970 if the year were 1970: syslog and glog leave the year out.
    InYear(u64),
}

/// What stands before what a line says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Before<'a> {
    /// When it was written.
    pub(crate) time: Option<LogTime>,
    /// Host that syslog, the journal or a launcher names.
    pub(crate) host: Option<&'a str>,
}

/// Days from 1970-01-01 to a day of the Gregorian calendar (Hinnant, «chrono-compatible low-level date algorithms»,
/// `days_from_civil`).
pub(crate) fn days(year: i64, month: u32, day: u32) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * (i64::from(month) + if month > 2 { -3 } else { 9 }) + 2) / 5 + i64::from(day) - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// The year of a time since 1970 in nanoseconds.
fn year_of(ns: u64) -> i64 {
    let day = (ns / 86_400_000_000_000) as i64;
    let mut year = 1970 + day / 366;
    while days(year + 1, 1, 1) <= day {
        year += 1;
    }
    year
}

/// A time of a year that is not told, no later than a day after `written_ns`, when its file was written.
pub(crate) fn in_year(of_1970_ns: u64, written_ns: u64) -> u64 {
    let day_ns = 86_400_000_000_000_u64;
    let in_year = |year: i64| {
        // Behind February a leap year is a day longer than 1970.
        let day = (of_1970_ns / day_ns) as i64;
        let leap = i64::from(days(year, 3, 1) - days(year, 1, 1) == 60 && day >= 59);
        let days = (days(year, 1, 1) + day + leap).max(0) as u64;
        days * day_ns + of_1970_ns % day_ns
    };
    let year = year_of(written_ns);
    let same = in_year(year);
    if same > written_ns.saturating_add(day_ns) && year > 1970 { in_year(year - 1) } else { same }
}

fn number(text: &str) -> Option<u32> {
    (!text.is_empty() && text.len() <= 9 && text.bytes().all(|byte| byte.is_ascii_digit()))
        .then(|| text.parse().ok())
        .flatten()
}

/// `10:11:12`, with `.345` or `,345` behind it, in nanoseconds.
fn clock(text: &str) -> Option<u64> {
    let (whole, part) = text.split_once(['.', ',']).unwrap_or((text, ""));
    let mut parts = whole.split(':');
    let (hours, minutes, seconds) = (number(parts.next()?)?, number(parts.next()?)?, number(parts.next()?)?);
    if parts.next().is_some() || hours > 23 || minutes > 59 || seconds > 60 {
        return None;
    }
    let digits: String = part.chars().take_while(char::is_ascii_digit).take(9).collect();
    let part = number(&format!("{digits:0<9}")).unwrap_or(0);
    Some(u64::from(hours * 3600 + minutes * 60 + seconds) * 1_000_000_000 + u64::from(part))
}

fn at(year: i64, month: u32, day: u32, clock_ns: u64, zone_s: i64) -> Option<u64> {
    if !(1..=12).contains(&month) || !(1..=31).contains(&day) || !(1970..=2500).contains(&year) {
        return None;
    }
    let seconds = i128::from(days(year, month, day)) * 86_400 - i128::from(zone_s);
    u64::try_from(seconds * SECOND + i128::from(clock_ns)).ok()
}

/// `2026-11-24T10:11:12.345+00:00`, `…Z`, or the day and the time as two words.
fn iso(day: &str, time: Option<&str>) -> Option<u64> {
    let (day, time) = match day.split_once('T') {
        Some((day, time)) => (day, time),
        None => (day, time?),
    };
    let mut parts = day.split('-');
    let (year, month, day) = (parts.next()?, number(parts.next()?)?, number(parts.next()?)?);
    if parts.next().is_some() || year.len() != 4 {
        return None;
    }
    let (time, zone) = match time.find(['+', '-']) {
        Some(at) => (time.get(..at)?, time.get(at..)?),
        None => (time.trim_end_matches('Z'), ""),
    };
    let digits: String = zone.chars().filter(char::is_ascii_digit).collect();
    let zone_s = match (digits.len(), number(&digits)) {
        (4, Some(value)) => i64::from(value / 100 * 3600 + value % 100 * 60),
        (2, Some(value)) => i64::from(value * 3600),
        _ => 0,
    };
    let zone_s = if zone.starts_with('-') { -zone_s } else { zone_s };
    at(i64::from(number(year)?), month, day, clock(time)?, zone_s)
}

fn month(name: &str) -> Option<u32> {
    MONTHS.iter().position(|month| *month == name).map(|at| at as u32 + 1)
}

/// Time and host of what stands before the words that tell something.
pub(crate) fn before(text: &str) -> Before<'_> {
    let mut found = Before::default();
    let words: Vec<&str> = text.split_whitespace().take(24).collect();
    let bare = |word: &str| word.trim_matches(['[', ']', '(', ')']).trim_start_matches(['<', '>']).to_owned();
    let mut up = None;
    let mut at_time = None;
    for (row, word) in words.iter().enumerate() {
        let plain = bare(word);
        let next = |ahead: usize| words.get(row + ahead).map(|word| bare(word));
        if let Some(ns) = iso(&plain, next(1).as_deref()) {
            found.time.get_or_insert(LogTime::At(ns));
            at_time.get_or_insert(row + usize::from(!plain.contains('T')));
        } else if let Some(month) = month(&plain)
            && let (Some(day), Some(clock)) =
                (next(1).and_then(|day| number(&day)), next(2).and_then(|time| clock(&time)))
        {
            // `dmesg -T` and `date` have the year behind the time, syslog has none.
            let year = next(3).and_then(|year| number(&year)).filter(|year| (1970..2500).contains(year));
            let is_dated = year.is_some() && words.get(row + 3).is_some_and(|word| word.ends_with(']'));
            let time = match year.filter(|_| is_dated) {
                Some(year) => at(i64::from(year), month, day, clock, 0).map(LogTime::At),
                None => {
                    at(1970, month, day.min(if month == 2 { 28 } else { 31 }), clock, 0).map(LogTime::InYear)
                }
            };
            if found.time.is_none() {
                found.time = time;
            }
            at_time.get_or_insert(row + 2 + usize::from(is_dated));
        } else if let Some((seconds, part)) = plain.split_once('.')
            && (word.ends_with(']') || word.starts_with('['))
            && part.len() == 6
            && let (Some(seconds), Some(part)) = (number(seconds), number(part))
        {
            up.get_or_insert(LogTime::Up(u64::from(seconds) * 1_000_000_000 + u64::from(part) * 1000));
        }
    }
    found.time = found.time.or(up);
    found.host = host(text, &words, at_time);
    found
}

/// Whether a word may be the name of a host.
pub(crate) fn is_host(word: &str) -> bool {
    !word.is_empty()
        && word.len() <= 64
        && word.starts_with(|letter: char| letter.is_ascii_alphanumeric())
        && word.chars().any(|letter| letter.is_ascii_alphabetic())
        && word.chars().all(|letter| letter.is_ascii_alphanumeric() || "-._".contains(letter))
}

/// The host: the word before `kernel:`, or behind the time of a syslog line, or a first word with a colon, which `pdsh` and
/// its kin put before lines.
fn host<'a>(text: &'a str, words: &[&'a str], at_time: Option<usize>) -> Option<&'a str> {
    let is_tag = |word: &str| word == "kernel:" || word.starts_with("kernel[") || word == "kernel";
    if let Some(at) = words.iter().position(|word| is_tag(word)) {
        let host = words.get(at.checked_sub(1)?)?;
        return Some(*host).filter(|host| is_host(host) && clock(host).is_none() && Some(at - 1) != at_time);
    }
    let first = words.first()?;
    let tags =
        ["kern", "user", "daemon", "syslog", "NVRM", "INFO", "WARN", "ERROR", "WARNING", "stderr", "stdout"];
    let name = first.strip_suffix(':').filter(|name| is_host(name) && !tags.contains(name));
    // `host:rank:` and `host: ` are launchers' ways; `kern  :err` is `dmesg -x`.
    name.filter(|_| text.trim_start().starts_with(first))
}

/// The time of a line of glog: `[E626 06:24:44.903881913 File.cpp:1]`, `[W1206 …`.
pub(crate) fn glog(line: &str) -> Option<LogTime> {
    let mut from = line;
    while let Some(at) = from.find('[') {
        from = &from[at + 1..];
        let mut words = from.split_whitespace();
        let (Some(day), Some(time)) = (words.next(), words.next()) else { continue };
        let Some(digits) = day.strip_prefix(['E', 'W', 'I', 'F']).filter(|day| (3..=4).contains(&day.len()))
        else {
            continue;
        };
        let split = digits.len() - 2;
        let (Some(month), Some(day)) =
            (digits.get(..split).and_then(number), digits.get(split..).and_then(number))
        else {
            continue;
        };
        let Some(clock) = clock(time) else { continue };
        return at_1970(month, day, clock);
    }
    None
}

fn at_1970(month: u32, day: u32, clock_ns: u64) -> Option<LogTime> {
    at(1970, month, day.min(if month == 2 { 28 } else { 31 }), clock_ns, 0).map(LogTime::InYear)
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: u64 = 86_400_000_000_000;

    #[test]
    fn all_ways_in_which_kernel_lines_begin_tell_time_and_host() {
        let noon = 12 * 3_600_000_000_000_u64;
        let (at, in_1970) = (days(2026, 11, 24) as u64 * DAY + noon, days(1970, 11, 24) as u64 * DAY + noon);
        for (text, time, host) in [
            ("[91169.504389] ", Some(LogTime::Up(91_169_504_389_000)), None),
            ("<4>[   12.000001] ", Some(LogTime::Up(12_000_001_000)), None),
            ("kern  :err   : [   12.000001] ", Some(LogTime::Up(12_000_001_000)), None),
            ("[Tue Nov 24 12:00:00 2026] ", Some(LogTime::At(at)), None),
            ("2026-11-24T12:00:00,000000+00:00 ", Some(LogTime::At(at)), None),
            ("2026-11-24T14:00:00+02:00 gpu-7 kernel: ", Some(LogTime::At(at)), Some("gpu-7")),
            ("2026-11-24T12:00:00+0000 gpu-7 kernel: [  1.000000] ", Some(LogTime::At(at)), Some("gpu-7")),
            (
                "Nov 24 12:00:00 gpu-7.a.b kernel: [  1.000000] ",
                Some(LogTime::InYear(in_1970)),
                Some("gpu-7.a.b"),
            ),
            (
                "Nov 24 12:00:00 000-000-1-gpu-1 kernel: ",
                Some(LogTime::InYear(in_1970)),
                Some("000-000-1-gpu-1"),
            ),
            ("node017: [   12.000001] ", Some(LogTime::Up(12_000_001_000)), Some("node017")),
            ("node017: [Tue Nov 24 12:00:00 2026] ", Some(LogTime::At(at)), Some("node017")),
            ("[2026-11-24 12:00:00] ", Some(LogTime::At(at)), None),
            ("", None, None),
        ] {
            assert_eq!(before(text), Before { time, host }, "{text}");
        }
    }

    #[test]
    fn a_year_that_is_left_out_is_that_of_the_file_or_the_one_before() {
        let of = |year, month, day| days(year, month, day) as u64 * DAY;
        assert_eq!(in_year(of(1970, 11, 24), of(2026, 12, 1)), of(2026, 11, 24));
        assert_eq!(in_year(of(1970, 12, 31), of(2027, 1, 1)), of(2026, 12, 31));
        assert_eq!(in_year(of(1970, 3, 1), of(2028, 4, 1)), of(2028, 3, 1));
        assert_eq!(in_year(5, 0), 5);
        let noon = 12 * 3_600_000_000_000_u64;
        assert_eq!(
            glog("[rank2]:[E1124 12:00:00.5 ProcessGroupNCCL.cpp:607] [Rank 2] x"),
            Some(LogTime::InYear(of(1970, 11, 24) + noon + 500_000_000))
        );
        assert_eq!(glog("[rank2]:[E ProcessGroupNCCL.cpp:607] x"), None);
    }
}
