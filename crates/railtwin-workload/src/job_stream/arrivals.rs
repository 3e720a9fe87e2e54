//! Times of submission after those of a list: when people submit, without what they submit.
use railtwin_units::SimTime;
use rand::RngExt;

use super::DAY;

/// Days of a list that are looked at: more than simulated time has.
const DAYS_MOST: u64 = 213;

/// `count` times within `span` that lie as the times of a list do; in order. `list` has one at least, in order.
///
/// Of a list longer than the span it is the part with the most submissions, cut at whole days of the list so that the time
/// of the day stays; a shorter one is repeated from the next whole day on. Job `i` has a place drawn evenly from the `i`-th
/// of `count` equal parts of the list: with fewer jobs than the list has each is at the time of one of its submissions,
/// with more they lie between these, too.
pub(super) fn submissions(
    list: &[SimTime],
    span: SimTime,
    count: usize,
    stream: &mut impl RngExt,
) -> Vec<SimTime> {
    let times = within(list, span);
    let parts = count as f64;
    let time = |job: usize| {
        let lot: f64 = stream.random();
        let place = (job as f64 + lot) / parts * times.len() as f64;
        let first = (place as usize).min(times.len() - 1);
        if count <= times.len() {
            return times[first];
        }
        let next = times.get(first + 1).copied().unwrap_or(span);
        let share = (place - first as f64).clamp(0.0, 1.0);
        let gap = next.ps().saturating_sub(times[first].ps()) as f64;
        SimTime::from_ps(times[first].ps() + (gap * share) as u64)
    };
    (0..count).map(time).collect()
}

/// The times of a list that fall into a span; one at least.
fn within(list: &[SimTime], span: SimTime) -> Vec<SimTime> {
    let day = SimTime::from_seconds(DAY).ps();
    let last = list.last().map_or(0, |time| time.ps());
    if last >= span.ps() {
        // Days that a part may begin with, each with the submissions from there to a span later.
        let part = |first: u64| {
            let (from, until) = (first * day, (first * day).saturating_add(span.ps()));
            let begin = list.partition_point(|time| time.ps() < from);
            (begin, list.partition_point(|time| time.ps() < until), from)
        };
        let mut busiest = part(0);
        for one in (1..=(last / day).min(DAYS_MOST)).map(part) {
            if one.1 - one.0 > busiest.1 - busiest.0 {
                busiest = one;
            }
        }
        let (begin, end, from) = busiest;
        return list[begin..end].iter().map(|time| SimTime::from_ps(time.ps() - from)).collect();
    }
    let period = (last / day + 1) * day;
    let repeats = 0..=span.ps() / period;
    let times = repeats.flat_map(|repeat| list.iter().map(move |time| time.ps() + repeat * period));
    times.take_while(|&time| time < span.ps()).map(SimTime::from_ps).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use railtwin_units::stream;

    fn days(days: f64) -> SimTime {
        SimTime::from_seconds(days * DAY)
    }

    #[test]
    fn the_busiest_days_are_taken_and_short_lists_repeated() {
        let list: Vec<SimTime> = [0.5, 2.25, 3.5, 3.75, 9.5].map(days).into();
        assert_eq!(within(&list, days(2.0)), [0.25, 1.5, 1.75].map(days));
        // Ends where nobody submits at first.
        assert_eq!(within(&[days(0.5), days(1.25)], days(4.0)), [0.5, 1.25, 2.5, 3.25].map(days));
        assert_eq!(within(&[SimTime::ZERO], days(2.0)), [0.0, 1.0].map(days));
    }

    #[test]
    fn times_lie_as_those_of_the_list() {
        let list: Vec<SimTime> = (0..1_000).map(|at| days(f64::from(at * at) / 1e6 * 4.0)).collect();
        for count in [1, 7, 100, 1_000, 4_321] {
            let drawn = submissions(&list, days(4.0), count, &mut stream::named(1, "arrivals"));
            assert_eq!(drawn.len(), count);
            assert!(drawn.is_sorted() && drawn.iter().all(|time| *time <= days(4.0)));
            // Half of the list's lie in the first day.
            let early = drawn.iter().filter(|time| **time < days(1.0)).count();
            assert!((early as f64 - count as f64 / 2.0).abs() <= 1.0, "{early} of {count}");
            assert!(count > 1_000 || drawn.iter().all(|time| list.binary_search(time).is_ok()));
        }
    }
}
