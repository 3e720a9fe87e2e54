//! Moments and durations as Slurm prints them.
use railtwin_units::SimTime;
use railtwin_units::decimal::{self, DecimalError};

use super::PS;
use super::columns::plain_seconds;

/// A moment of a job.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Moment {
    /// Seconds since 1970, of the cluster's clock: Slurm prints local time without its zone.
    At(i64),
    /// `Unknown`, `None` or nothing: it has not come.
    Unknown,
}

/// `2024-01-31T13:05:22`, seconds since 1970, or that it is not known.
pub(super) fn moment(text: &str) -> Option<Moment> {
    if text.is_empty() || ["unknown", "none", "n/a"].iter().any(|word| text.eq_ignore_ascii_case(word)) {
        return Some(Moment::Unknown);
    }
    if text.len() <= 11 && text.bytes().all(|byte| byte.is_ascii_digit()) {
        return text.parse().ok().map(Moment::At);
    }
    let (date, clock) = text.split_once('T')?;
    let [year, month, day] = numbers(date, '-', [4, 2, 2])?;
    let [hour, minute, second] = numbers(clock, ':', [2, 2, 2])?;
    // A leap second is printed as 60.
    if !(1..=12).contains(&month)
        || day == 0
        || day > days_of(year, month)
        || hour > 23
        || minute > 59
        || second > 60
    {
        return None;
    }
    Some(Moment::At(days_since_1970(year, month, day) * 86_400 + hour * 3_600 + minute * 60 + second))
}

/// `[days-]hours:minutes:seconds[.microseconds]`, `minutes:seconds`, or plain seconds (`ElapsedRaw`); up to 213 days.
pub(super) fn elapsed(text: &str) -> Result<SimTime, DecimalError> {
    let count = |text: &str| {
        if text.contains('.') { Err(DecimalError::Malformed) } else { decimal::scaled(text, 1) }
    };
    let sum = |one: u64, scale: u64, other: u64| {
        one.checked_mul(scale).and_then(|sum| sum.checked_add(other)).ok_or(DecimalError::TooLarge)
    };
    let (days, clock) = match text.split_once('-') {
        Some((days, clock)) => (count(days)?, clock),
        None => (0, text),
    };
    let mut parts: Vec<&str> = clock.split(':').collect();
    let seconds = plain_seconds(parts.pop().unwrap_or_default())?;
    if parts.len() > 2 || (days > 0 && parts.is_empty()) {
        return Err(DecimalError::Malformed);
    }
    let mut minutes = 0_u64;
    for part in parts {
        minutes = sum(minutes, 60, count(part)?)?;
    }
    let whole = sum(days, 86_400, sum(minutes, 60, 0)?)?;
    match sum(whole, PS, seconds.ps())? {
        u64::MAX => Err(DecimalError::TooLarge),
        ps => Ok(SimTime::from_ps(ps)),
    }
}

fn digits(text: &str) -> Option<u64> {
    let only = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    only.then(|| text.parse().ok())?
}

/// Three numbers of so many digits between separators.
fn numbers(text: &str, separator: char, lengths: [usize; 3]) -> Option<[i64; 3]> {
    let mut parts = text.split(separator);
    let mut found = [0; 3];
    for (number, length) in found.iter_mut().zip(lengths) {
        let part = parts.next().filter(|part| part.len() == length)?;
        *number = i64::try_from(digits(part)?).ok()?;
    }
    parts.next().is_none().then_some(found)
}

fn days_of(year: i64, month: i64) -> i64 {
    match month {
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days from 1970-01-01 to a day of the Gregorian calendar.
fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    let years = year - 1;
    let leap_days = years / 4 - years / 100 + years / 400 - (1969 / 4 - 1969 / 100 + 1969 / 400);
    let before: i64 = (1..month).map(|month| days_of(year, month)).sum();
    (year - 1970) * 365 + leap_days + before + day - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_seconds_since_1970() {
        // `date --utc --date=... +%s` of each.
        for (text, seconds) in [
            ("1970-01-01T00:00:00", 0),
            ("2000-02-29T12:00:00", 951_825_600),
            ("2024-01-31T13:05:22", 1_706_706_322),
            ("2024-12-31T23:59:59", 1_735_689_599),
            ("2100-03-01T00:00:00", 4_107_542_400),
            ("1706706322", 1_706_706_322),
        ] {
            assert_eq!(moment(text), Some(Moment::At(seconds)), "{text}");
        }
        for text in ["Unknown", "None", "", "unknown"] {
            assert_eq!(moment(text), Some(Moment::Unknown));
        }
        for text in [
            "2024-02-30T00:00:00",
            "2023-02-29T00:00:00",
            "2024-13-01T00:00:00",
            "31 Jan",
            "2024-01-31",
            "T",
            "2024-1-31T00:00:00",
        ] {
            assert_eq!(moment(text), None, "{text}");
        }
    }

    #[test]
    fn durations_have_days_and_fractions() {
        for (text, seconds) in [
            ("00:00:00", 0.0),
            ("01:02:03", 3_723.0),
            ("2-00:00:01", 172_801.0),
            ("05:07", 307.0),
            ("10:00:00.5", 36_000.5),
            ("86400", 86_400.0),
        ] {
            assert_eq!(elapsed(text).map(SimTime::seconds), Ok(seconds), "{text}");
        }
        for text in ["", "-", "1:2:3:4", "2-", "2-30", "-1:00", "x"] {
            assert_eq!(elapsed(text), Err(DecimalError::Malformed), "{text}");
        }
        for text in ["999999999999-00:00:00", "1-99999999999999999999:0", "18446744.073709551615"] {
            assert_eq!(elapsed(text), Err(DecimalError::TooLarge), "{text}");
        }
        assert_eq!(elapsed("00:00:00.0000000000001"), Err(DecimalError::BelowOne));
        assert_eq!(elapsed("00:00:01.0000000000000"), Ok(SimTime::from_seconds(1.0)));
    }
}
