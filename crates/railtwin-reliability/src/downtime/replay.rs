//! A recorded history of faults replayed: hosts out of service over time, spares, mean time between failures.
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use railtwin_units::probability::binomial_above;
use railtwin_units::robust::median;
use serde::Serialize;

use crate::downtime::spares::spares_for;

/// The begin or end of a fault.
#[derive(Clone, PartialEq, Debug)]
pub struct FaultEvent {
    /// The host.
    pub host: String,
    /// Days from the start.
    pub day: f64,
    /// Whether the fault begins.
    pub begins: bool,
    /// Its class, such as GPU.
    pub class: String,
    /// What it is, within the class.
    pub description: String,
}

/// A fault of a history, from its begin to its end.
#[derive(Clone, PartialEq, Debug)]
pub struct Episode {
    /// Row of the event that begins it; of one that lasted when the history began, of the event that ends it.
    pub event: usize,
    /// The host, numbered in the order in which hosts have their first fault.
    pub host: u32,
    /// Days from the start of the history.
    pub from_day: f64,
    /// When it ended; none where it did not.
    pub until_day: Option<f64>,
}

/// Faults of one class.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct ClassFaults {
    /// The class.
    pub class: String,
    /// How many began.
    pub faults: u32,
    /// Days between two of them on the whole cluster; null where none began.
    pub mtbf_days: Option<f64>,
    /// Host-days between two of them; null where none began.
    pub mtbf_host_days: Option<f64>,
    /// Median days that one lasted, of those that ended; null where none did.
    pub repair_days_median: Option<f64>,
    /// The mean of them.
    pub repair_days_mean: Option<f64>,
}

/// What a history comes to.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Replay {
    /// Hosts of the cluster.
    pub hosts: u32,
    /// Hosts that had a fault.
    pub hosts_with_faults: u32,
    /// Days from the start to the last event.
    pub days: f64,
    /// Faults that began.
    pub faults: u32,
    /// Faults that end and did not begin: they are taken to last from the start of the history. When they began, and so
    /// for how long they lasted, is not known: they count neither among those that began nor in the times of repair.
    pub carried: u32,
    /// Of all, how many did not end; they last until the last event.
    pub open: u32,
    /// Begins of faults that had begun and not ended, and that no end of their own follows: taken for the same fault.
    pub repeated: u32,
    /// Events that stood behind a later one; they are put in order.
    pub unordered: u32,
    /// By class, most faults first.
    pub classes: Vec<ClassFaults>,
    /// Hosts out of service: when it changed, days, and to how many.
    pub out: Vec<(f64, u32)>,
    /// Their mean over time.
    pub out_mean: f64,
    /// The most at once.
    pub out_most: u32,
    /// Share of host-days in service.
    pub availability: f64,
    /// Share of the time with as many hosts out as the index says.
    pub time_at: Vec<f64>,
    /// Every fault, in the order in which they began.
    #[serde(skip)]
    pub episodes: Vec<Episode>,
}

/// An event that does not fit the ones before.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
#[error("event {index}: {problem}")]
pub struct ReplayError {
    /// Index of the event.
    pub index: usize,
    /// What is wrong.
    pub problem: String,
}

/// A fault: host, class, description.
type Key<'a> = (&'a str, &'a str, &'a str);

impl Replay {
    /// Replays a history on a cluster of `hosts` hosts. A host is out while any of its faults lasts. A record may begin and
    /// end amid faults: see [`Replay::carried`], [`Replay::open`], [`Replay::repeated`], [`Replay::unordered`].
    ///
    /// # Errors
    /// [`ReplayError`] for a time that is none, and where more hosts fail than there are.
    pub fn of(events: &[FaultEvent], hosts: u32) -> Result<Self, ReplayError> {
        if let Some(index) = events.iter().position(|event| !event.day.is_finite() || event.day < 0.0) {
            let problem = format!("day {} is no time; write days from 0 up", events[index].day);
            return Err(ReplayError { index, problem });
        }
        let Fitted { rows, carried, repeated, unordered } = fitted(events);
        let mut history = FaultHistory::default();
        for (index, day, begins) in rows {
            history.take(index, &events[index], (day, begins), hosts)?;
        }
        let FaultHistory { open, episodes, seen, lasted, mut out, last, .. } = history;
        let faults = lasted.values().map(|(count, _)| count).sum();
        let mut classes: Vec<ClassFaults> = lasted
            .into_iter()
            .map(|(class, (count, days))| class_faults(class, count, days, last, hosts))
            .collect();
        classes.sort_by_key(|class| std::cmp::Reverse(class.faults));
        out.dedup_by_key(|step| step.1);
        let time_at = time_at(&out, last);
        let out_mean = time_at.iter().enumerate().map(|(count, share)| count as f64 * share).sum();
        Ok(Self {
            hosts,
            hosts_with_faults: seen.len() as u32,
            days: last,
            faults,
            carried,
            repeated,
            unordered,
            open: open.values().map(|begun| begun.len() as u32).sum(),
            classes,
            out_mean,
            out_most: out.iter().map(|step| step.1).max().unwrap_or(0),
            availability: 1.0 - out_mean / f64::from(hosts.max(1)),
            out,
            time_at,
            episodes,
        })
    }

    /// The least number of spares with which, for this share of the time, no more hosts are out: as recorded, and
    /// by a Poisson law of the same mean.
    pub fn spares(&self, availability: f64) -> [u32; 2] {
        let mut within = 0.0;
        let recorded = self.time_at.iter().position(|share| {
            within += share;
            within >= availability - 1e-12
        });
        [recorded.map_or(self.out_most, |spares| spares as u32), spares_for(self.out_mean, availability)]
    }

    /// Chance that of `active + spares` hosts like these more than `spares` are out (binomial).
    pub fn run_out(&self, active: u32, spares: u32) -> f64 {
        binomial_above(active + spares, 1.0 - self.availability, spares)
    }
}

/// A history up to one of its events.
struct FaultHistory<'a> {
    /// Rows of the episodes of each fault that have not ended.
    open: BTreeMap<Key<'a>, VecDeque<usize>>,
    episodes: Vec<Episode>,
    /// How many faults hosts have that are out.
    faulty: BTreeMap<&'a str, u32>,
    /// Numbers of all hosts that had a fault.
    seen: BTreeMap<&'a str, u32>,
    /// By class, how many faults began and how many days those lasted that ended.
    lasted: BTreeMap<&'a str, (u32, Vec<f64>)>,
    /// Days at which the number of hosts out changed, and to how many.
    out: Vec<(f64, u32)>,
    /// Day of the last event.
    last: f64,
}

impl Default for FaultHistory<'_> {
    fn default() -> Self {
        Self {
            open: BTreeMap::new(),
            episodes: Vec::new(),
            faulty: BTreeMap::new(),
            seen: BTreeMap::new(),
            lasted: BTreeMap::new(),
            out: vec![(0.0, 0)],
            last: 0.0,
        }
    }
}

impl<'a> FaultHistory<'a> {
    /// Takes the begin or end of a fault in, as it is fitted: event `index` of those of a cluster of `hosts` hosts.
    fn take(
        &mut self,
        index: usize,
        event: &'a FaultEvent,
        (day, begins): (f64, bool),
        hosts: u32,
    ) -> Result<(), ReplayError> {
        let wrong = |problem: String| ReplayError { index, problem };
        let FaultEvent { host, class, description, .. } = event;
        self.last = day;
        let key = (host.as_str(), class.as_str(), description.as_str());
        let of_class = self.lasted.entry(class).or_default();
        let of_host = self.faulty.entry(host).or_insert(0);
        // What began before the history has its begin with the row of its end.
        let is_carried = !event.begins;
        if begins {
            let next = self.seen.len() as u32;
            let host = *self.seen.entry(host.as_str()).or_insert(next);
            of_class.0 += u32::from(!is_carried);
            *of_host += 1;
            self.open.entry(key).or_default().push_back(self.episodes.len());
            self.episodes.push(Episode { event: index, host, from_day: day, until_day: None });
        } else {
            let Some(begun) = self.open.get_mut(&key).and_then(VecDeque::pop_front) else {
                return Err(wrong(format!("{class} ({description}) of host {host} ends and did not begin")));
            };
            self.episodes[begun].until_day = Some(day);
            if self.episodes[begun].event != index {
                of_class.1.push(day - self.episodes[begun].from_day);
            }
            *of_host -= 1;
        }
        if *of_host == 0 {
            self.faulty.remove(host.as_str());
        }
        let count = self.faulty.len() as u32;
        if self.seen.len() as u64 > u64::from(hosts) {
            return Err(wrong(format!("has more than the {hosts} hosts of the cluster")));
        }
        match self.out.last_mut() {
            Some(step) if step.0 == day => step.1 = count,
            _ => self.out.push((day, count)),
        }
        Ok(())
    }
}

/// Events in an order in which every fault begins before it ends.
struct Fitted {
    /// Index of the event, day, whether the fault begins.
    rows: Vec<(usize, f64, bool)>,
    carried: u32,
    repeated: u32,
    unordered: u32,
}

/// Puts events in order of time, gives faults that only end their begin at the start, and leaves out begins of faults that
/// had begun where fewer ends follow than begins: of a fault whose last event is an end nothing is left, of one whose last
/// is a begin one is.
fn fitted(events: &[FaultEvent]) -> Fitted {
    let mut order: Vec<usize> = (0..events.len()).collect();
    order.sort_by(|&a, &b| events[a].day.total_cmp(&events[b].day));
    // Begins that are open, those of them that were told while another was, and whether the last event is a begin.
    #[derive(Default)]
    struct Known {
        open: usize,
        again: Vec<usize>,
        begins: bool,
    }
    let mut faults: BTreeMap<Key<'_>, Known> = BTreeMap::new();
    let mut carried = Vec::new();
    for &index in &order {
        let FaultEvent { host, begins, class, description, .. } = &events[index];
        let known = faults.entry((host, class, description)).or_default();
        known.begins = *begins;
        match (*begins, known.open) {
            (true, 0) => known.open = 1,
            (true, _) => {
                known.open += 1;
                known.again.push(index);
            }
            (false, 0) => carried.push(index),
            (false, _) => known.open -= 1,
        }
    }
    let mut left_out = BTreeSet::new();
    for known in faults.into_values() {
        let surplus = known.open - usize::from(known.begins).min(known.open);
        left_out.extend(known.again.into_iter().take(surplus));
    }
    let rows = carried.iter().map(|&index| (index, 0.0, true));
    let kept = order.iter().filter(|index| !left_out.contains(index));
    Fitted {
        rows: rows.chain(kept.map(|&index| (index, events[index].day, events[index].begins))).collect(),
        carried: carried.len() as u32,
        repeated: left_out.len() as u32,
        unordered: events.windows(2).filter(|two| two[1].day < two[0].day).count() as u32,
    }
}

fn class_faults(class: &str, faults: u32, mut days: Vec<f64>, last: f64, hosts: u32) -> ClassFaults {
    let mtbf_days = (faults > 0).then(|| last / f64::from(faults));
    let mean = days.iter().sum::<f64>() / days.len() as f64;
    ClassFaults {
        class: class.to_owned(),
        faults,
        mtbf_days,
        mtbf_host_days: mtbf_days.map(|days| days * f64::from(hosts)),
        repair_days_mean: Some(mean).filter(|mean| mean.is_finite()),
        repair_days_median: median(&mut days),
    }
}

/// Share of the time at each number of hosts out.
fn time_at(out: &[(f64, u32)], end: f64) -> Vec<f64> {
    let most = out.iter().map(|step| step.1).max().unwrap_or(0);
    let mut time = vec![0.0; most as usize + 1];
    for (index, &(from, count)) in out.iter().enumerate() {
        let until = out.get(index + 1).map_or(end, |step| step.0);
        time[count as usize] += if end > 0.0 { (until - from) / end } else { 0.0 };
    }
    time
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(host: &str, day: f64, begins: bool, class: &str) -> FaultEvent {
        FaultEvent { host: host.to_owned(), day, begins, class: class.to_owned(), description: String::new() }
    }

    #[test]
    fn a_host_is_out_while_any_fault_lasts() {
        let events = [
            event("a", 1.0, true, "GPU"),
            event("a", 2.0, true, "NIC"),
            event("b", 3.0, true, "GPU"),
            event("a", 4.0, false, "GPU"),
            event("b", 5.0, false, "GPU"),
            event("a", 6.0, false, "NIC"),
            event("c", 10.0, true, "Fan"),
        ];
        let replay = Replay::of(&events, 10).unwrap();
        assert_eq!(replay.out, [(0.0, 0), (1.0, 1), (3.0, 2), (5.0, 1), (6.0, 0), (10.0, 1)]);
        assert!((replay.out_mean - 0.7).abs() < 1e-12);
        assert_eq!((replay.out_most, replay.faults, replay.open), (2, 4, 1));
        assert_eq!((replay.classes[0].class.as_str(), replay.classes[0].mtbf_host_days), ("GPU", Some(50.0)));
        assert_eq!(replay.classes[0].repair_days_median, Some(2.5));
        let spans = replay.episodes.iter().map(|e| (e.event, e.host, e.from_day, e.until_day));
        let expected =
            [(0, 0, 1.0, Some(4.0)), (1, 0, 2.0, Some(6.0)), (2, 1, 3.0, Some(5.0)), (6, 2, 10.0, None)];
        assert!(spans.eq(expected));
        assert_eq!((replay.spares(0.5)[0], replay.spares(0.8)[0], replay.spares(0.9)[0]), (0, 1, 2));
    }

    #[test]
    fn a_history_that_does_not_fit_is_refused() {
        let problem = |events: &[FaultEvent], hosts| Replay::of(events, hosts).unwrap_err();
        let (a, b) = (event("a", 2.0, true, "GPU"), event("b", 1.0, true, "GPU"));
        assert_eq!(problem(&[a.clone(), event("b", f64::NAN, true, "GPU")], 9).index, 1);
        assert!(problem(&[event("b", -1.0, true, "GPU")], 9).problem.contains("days from 0 up"));
        assert!(problem(&[b, a], 1).problem.contains("more than the 1 hosts"));
        assert_eq!(Replay::of(&[], 4).unwrap().availability, 1.0);
    }

    #[test]
    fn a_history_may_begin_and_end_amid_faults() {
        let events = [
            event("a", 4.0, false, "GPU"),
            event("b", 5.0, true, "NIC"),
            event("b", 6.0, true, "NIC"),
            event("b", 7.0, false, "NIC"),
            event("c", 10.0, true, "NIC"),
        ];
        let replay = Replay::of(&events, 10).unwrap();
        assert_eq!((replay.carried, replay.open, replay.repeated, replay.unordered), (1, 1, 1, 0));
        assert_eq!((replay.faults, replay.hosts_with_faults), (2, 3));
        assert_eq!(replay.out, [(0.0, 1), (4.0, 0), (5.0, 1), (7.0, 0), (10.0, 1)]);
        let spans = replay.episodes.iter().map(|e| (e.event, e.host, e.from_day, e.until_day));
        assert!(spans.eq([(0, 0, 0.0, Some(4.0)), (1, 1, 5.0, Some(7.0)), (4, 2, 10.0, None)]));
        // How long a fault lasted that was there from the start is not known, and neither how often such begin.
        let gpu = replay.classes.iter().find(|class| class.class == "GPU").unwrap();
        assert_eq!((gpu.faults, gpu.mtbf_days, gpu.repair_days_mean), (0, None, None));
    }

    #[test]
    fn rows_in_any_order_are_one_history() {
        let mut events = vec![
            event("a", 1.0, true, "GPU"),
            event("b", 2.0, true, "GPU"),
            event("a", 3.0, false, "GPU"),
            event("b", 9.0, false, "GPU"),
        ];
        let ordered = Replay::of(&events, 10).unwrap();
        events.swap(0, 3);
        let replay = Replay::of(&events, 10).unwrap();
        assert_eq!((replay.unordered, replay.carried), (2, 0));
        assert_eq!((replay.out, replay.classes), (ordered.out, ordered.classes));
        assert_eq!(replay.episodes[0].event, 3, "rows are those of the file");
        // Two faults at once that both end are two.
        let twice = [(1.0, true), (2.0, true), (3.0, false), (4.0, false)];
        let replay = Replay::of(&twice.map(|(day, begins)| event("a", day, begins, "GPU")), 10).unwrap();
        assert_eq!((replay.faults, replay.repeated, replay.open), (2, 0, 0));
    }
}
