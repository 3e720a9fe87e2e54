//! Times and shares of `railtwin downtime`, read and written.
use crate::CliError;

/// Units of times, in hours.
const UNITS: [(&str, f64); 5] =
    [("s", 1.0 / 3600.0), ("min", 1.0 / 60.0), ("h", 1.0), ("d", 24.0), ("ms", 1.0 / 3.6e6)];
/// What a time may be, for errors.
pub(crate) const TIME: &str = "a time such as \"30 s\", \"10 min\", \"3 h\" or \"2 d\", up to 1,000,000 h";
/// Most hours of any time.
const MOST_HOURS: f64 = 1e6;

/// A time with its unit, in hours.
pub(crate) fn time(text: &str) -> Option<f64> {
    let text = text.trim();
    let at = text.find(|c: char| c.is_ascii_alphabetic() && !matches!(c, 'e' | 'E'))?;
    let (number, unit) = text.split_at(at);
    let number: f64 = number.trim().parse().ok()?;
    let (_, hours) = UNITS.into_iter().find(|(name, _)| *name == unit.trim())?;
    Some(number * hours).filter(|hours| (0.0..=MOST_HOURS).contains(hours))
}

/// `--hours`: a number of hours, or a time.
pub(crate) fn hours_of(text: &str) -> Result<f64, CliError> {
    let hours = text.trim().parse().ok().or_else(|| time(text));
    hours.filter(|hours| *hours > 0.0 && *hours <= MOST_HOURS).ok_or_else(|| {
        CliError::input(
            format!("--hours cannot be {text:?}"),
            "write hours above 0, such as 720, or \"30 d\"",
        )
    })
}

/// A share as percent; small ones with more digits.
pub(crate) fn percent(share: f64) -> String {
    match share * 100.0 {
        small if small != 0.0 && small.abs() < 0.1 => format!("{small:.4} %"),
        other => format!("{other:.2} %"),
    }
}

/// Hours in the unit that reads best.
pub(crate) fn duration(hours: f64) -> String {
    match hours {
        _ if !hours.is_finite() => "never".to_owned(),
        0.0 => "0".to_owned(),
        _ if hours < 1.0 / 60.0 => format!("{:.1} s", hours * 3600.0),
        _ if hours < 1.0 => format!("{:.1} min", hours * 60.0),
        _ if hours < 240.0 => format!("{hours:.2} h"),
        _ => format!("{:.1} d", hours / 24.0),
    }
}

/// A moment in hours: from any zero where it is a number, from 1970 where it is a date.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Moment {
    /// A number of hours.
    Hours(f64),
    /// A date with its time of day.
    Date(f64),
}

/// What a moment may be, for errors.
pub(crate) const MOMENT: &str = "hours from any zero, such as 12.5, or a date such as 2023-06-01T12:30:00Z; \
     one kind in the whole file";

impl Moment {
    pub(crate) fn hours(self) -> f64 {
        match self {
            Self::Hours(hours) | Self::Date(hours) => hours,
        }
    }

    pub(crate) fn parse(text: &str) -> Option<Self> {
        match text.parse::<f64>() {
            Ok(hours) => Some(Self::Hours(hours)).filter(|_| hours.is_finite()),
            Err(_) => date(text).map(Self::Date),
        }
    }
}

/// Hours since 1970 of `2023-06-01`, `2023-06-01 12:30` or `2023-06-01T12:30:15.5+08:00`; without an offset, UTC.
fn date(text: &str) -> Option<f64> {
    let day = text.get(..10)?;
    let mut numbers = day.split('-').map(whole);
    let (year, month, day) = (numbers.next()??, numbers.next()??, numbers.next()??);
    if numbers.next().is_some() || !(1..=12).contains(&month) || !(1..=31).contains(&day) || year < 1900 {
        return None;
    }
    // A day that its month lacks would come out as another one.
    let days = days_from_civil(year, month, day);
    let next = if month == 12 { (year + 1, 1) } else { (year, month + 1) };
    if days >= days_from_civil(next.0, next.1, 1) {
        return None;
    }
    let hours = days as f64 * 24.0;
    let rest = text.get(10..)?;
    if rest.is_empty() {
        return Some(hours);
    }
    let rest = rest.strip_prefix(['T', ' '])?;
    let at = rest.find(['Z', '+', '-']).unwrap_or(rest.len());
    let (clock, zone) = rest.split_at(at);
    let zone = match zone {
        "" | "Z" => 0.0,
        _ => of_clock(zone.get(1..)?)? * if zone.starts_with('-') { -1.0 } else { 1.0 },
    };
    Some(hours + of_clock(clock)? - zone)
}

fn whole(text: &str) -> Option<i64> {
    text.parse().ok().filter(|_| text.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Hours of `12:30` or `12:30:15.5`.
fn of_clock(text: &str) -> Option<f64> {
    let mut parts = text.split(':');
    let (hours, minutes) = (whole(parts.next()?)?, whole(parts.next()?)?);
    let seconds: f64 = parts.next().map_or(Some(0.0), |seconds| seconds.parse().ok())?;
    let fits = (0..24).contains(&hours) && (0..60).contains(&minutes) && (0.0..61.0).contains(&seconds);
    (fits && parts.next().is_none()).then(|| hours as f64 + minutes as f64 / 60.0 + seconds / 3600.0)
}

/// Days from 1970-01-01 of a day of the Gregorian calendar: years that begin in March have their odd day last.
fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn times_have_units() {
        assert_eq!((time("90 min"), time("2d"), time("1e2 h")), (Some(1.5), Some(48.0), Some(100.0)));
        assert_eq!((time("3"), time("-1 h"), time("3 weeks"), time("")), (None, None, None, None));
        assert_eq!((hours_of("720").unwrap(), hours_of("30 d").unwrap()), (720.0, 720.0));
        assert!(hours_of("0").is_err() && hours_of("NaN").is_err());
    }

    #[test]
    fn dates_are_those_of_the_calendar() {
        let hours = |text| Moment::parse(text).map(Moment::hours);
        assert_eq!(hours("1970-01-01"), Some(0.0));
        assert_eq!(hours("2023-06-01T00:00:00Z"), Some(1_685_577_600.0 / 3600.0));
        assert_eq!(hours("2024-02-29 12:30"), Some(1_709_209_800.0 / 3600.0));
        assert_eq!(hours("2023-06-01T08:00+08:00"), hours("2023-06-01T00:00Z"));
        for wrong in
            ["2023-02-29", "2023-13-01", "2023-06-01T25:00", "06/01/2023", "2023-06-01 noon", "é023-06-011"]
        {
            assert_eq!(hours(wrong), None, "{wrong}");
        }
        assert_eq!(Moment::parse("12.5"), Some(Moment::Hours(12.5)));
        assert_eq!(Moment::parse("inf"), None);
    }

    #[test]
    fn numbers_read_well() {
        assert_eq!(
            [0.0, 0.005, 0.5, 3.0, 480.0].map(duration),
            ["0", "18.0 s", "30.0 min", "3.00 h", "20.0 d"]
        );
        assert_eq!(
            (percent(0.0753), percent(0.0005), percent(0.0)),
            ("7.53 %".into(), "0.0500 %".into(), "0.00 %".into())
        );
    }

    proptest! {
        #[test]
        fn any_text_is_a_moment_or_none(text in ".{0,30}") {
            let _ = (Moment::parse(&text), time(&text));
        }
    }
}
