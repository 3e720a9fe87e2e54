//! Traffic engineering in time: what leaves hold lags what happens, and the lag is bounded.
use proptest::prelude::*;
use railtwin_control::controller::{Action, Controller, Decision, Event, Opening, Replan};
use railtwin_control::paths::JobId;
use railtwin_control::te::controller::RETRY;
use railtwin_control::te::{
    Engine, EngineOptions, LeafEntries, LinkReport, Subject, TrafficEngineering, WriteError,
};
use railtwin_fabric::{Fabric, HostId, LinkId};
use railtwin_routing::Prefixes;
use railtwin_testkit::fabrics;
use railtwin_units::SimTime;

const PERIOD: Replan = Replan::Every(SimTime::from_ns(30_000_000_000));

fn fabric() -> Fabric {
    fabrics::leaves(fabrics::host(8, 1, 200), 4, 1, 8).build().expect("valid")
}

fn at(seconds: f64) -> SimTime {
    SimTime::from_seconds(seconds)
}

/// Host 0 to host 1, NIC by NIC.
fn openings(fabric: &Fabric) -> Vec<Opening<'static>> {
    let opening = |nic| Opening {
        job: JobId(0),
        source: fabric.nic(HostId(0), nic),
        target: fabric.nic(HostId(1), nic),
        ports: 1,
        first: nic,
        numbers: &[7],
        bytes: 1e6,
        inside: None,
    };
    (0..8).map(opening).collect()
}

/// A controller with leaves that take what it decides at once.
struct Driven<'a> {
    te: TrafficEngineering<'a>,
    leaves: LeafEntries,
    fabric: &'a Fabric,
    silent: bool,
}

impl<'a> Driven<'a> {
    fn new(fabric: &'a Fabric) -> Self {
        Self::planning(fabric, PERIOD)
    }

    fn planning(fabric: &'a Fabric, replan: Replan) -> Self {
        let prefixes = Prefixes::by_leaf_set(fabric);
        let leaves = LeafEntries::new(prefixes.clone(), 100);
        let engine = Engine::new(prefixes, EngineOptions::default());
        let mut te = TrafficEngineering::new(fabric, engine, replan);
        te.on_event(SimTime::ZERO, &Event::Opened(&openings(fabric)));
        Self { te, leaves, fabric, silent: false }
    }

    /// Asks at `now` and carries out; how many writes were decided.
    fn ask(&mut self, now: SimTime) -> usize {
        let mut decisions = Vec::new();
        self.te.decide(now, &mut decisions);
        for Decision { action, .. } in &decisions {
            let Action::Entry(change) = *action else { panic!("{action:?}") };
            let leaf = self.fabric.target(change.entry().ingress);
            let error = match self.silent {
                true => Some(WriteError::NoAnswer { leaf }),
                false => self.leaves.write(leaf, &change).err(),
            };
            self.te.on_event(now, &Event::Written { change, error: error.as_ref() });
        }
        decisions.len()
    }

    fn uses(&self, link: LinkId) -> usize {
        self.leaves.table().iter().filter(|entry| entry.next == link).count()
    }

    fn report(&mut self, now: SimTime, link: LinkId, up: bool, version: u64) {
        let report = LinkReport { time: now, subject: Subject::Cable(link.cable()), up, version };
        self.te.on_event(now, &Event::Link(report));
    }
}

#[test]
fn a_fault_is_answered_at_the_next_run_and_not_before() {
    let fabric = fabric();
    let mut driven = Driven::new(&fabric);
    assert_eq!(driven.ask(SimTime::ZERO), 8);
    assert_eq!(driven.te.next_time(), SimTime::NEVER, "nothing changed");

    // At 7 s an uplink in use dies. Its entry stays until 30 s, and is for the leaf to ignore.
    let uplink = driven.leaves.table().iter().next().expect("eight entries").next;
    driven.report(at(7.0), uplink, false, 1);
    assert_eq!(driven.te.next_time(), at(30.0));
    for seconds in [7.0, 29.9] {
        assert_eq!((driven.ask(at(seconds)), driven.uses(uplink)), (0, 1), "at {seconds} s");
    }
    assert_eq!((driven.ask(at(30.0)), driven.uses(uplink)), (1, 0), "one flow moves");
    assert_eq!(driven.te.next_time(), SimTime::NEVER);

    // A job that ends takes its entries with it.
    driven.te.on_event(at(40.0), &Event::Closed(JobId(0)));
    assert_eq!(driven.ask(at(60.0)), 8);
    assert!(driven.leaves.table().is_empty());
    assert!(driven.te.placement().is_some_and(|placement| placement.flows.is_empty()));
}

#[test]
fn a_write_that_fails_is_due_again_in_the_next_period() {
    let fabric = fabric();
    let mut driven = Driven::new(&fabric);
    driven.silent = true;
    assert_eq!(driven.ask(SimTime::ZERO), 8);
    assert!(driven.leaves.table().is_empty());
    assert_eq!(driven.te.next_time(), at(30.0));
    driven.silent = false;
    assert_eq!(driven.ask(at(30.0)), 8);
    assert_eq!((driven.leaves.table().len(), driven.te.next_time()), (8, SimTime::NEVER));
}

/// Who plans at once does not ask a leaf that never answers without end, and not at one time: each plan waits twice as
/// long as the one before, until something is written.
#[test]
fn a_leaf_that_never_answers_is_asked_ever_more_rarely() {
    let fabric = fabric();
    let mut driven = Driven::planning(&fabric, Replan::AtOnce);
    driven.silent = true;
    let mut now = SimTime::ZERO;
    let mut ask = |driven: &mut Driven<'_>| {
        assert_eq!(driven.ask(now), 8);
        let waits = driven.te.next_time().since(now);
        now = driven.te.next_time();
        waits
    };
    let waits: Vec<SimTime> = (0..4).map(|_| ask(&mut driven)).collect();
    assert_eq!(waits, [RETRY, RETRY * 2, RETRY * 4, RETRY * 8]);
    driven.silent = false;
    assert_eq!((driven.ask(now), driven.te.next_time()), (8, SimTime::NEVER));
    // A link that changes is planned for at once, and who fails then begins with the shortest wait again.
    let uplink = driven.leaves.table().iter().next().expect("eight entries").next;
    driven.silent = true;
    driven.report(at(7.0), uplink, false, 1);
    assert_eq!((driven.ask(at(7.0)), driven.te.next_time()), (1, at(7.0).saturating_add(RETRY)));
}

#[test]
fn who_writes_again_says_so_and_not_that_links_changed() {
    let fabric = fabric();
    let mut driven = Driven::new(&fabric);
    driven.silent = true;
    driven.ask(SimTime::ZERO);
    let reasons = |driven: &mut Driven<'_>, now| {
        let mut decisions = Vec::new();
        driven.te.decide(now, &mut decisions);
        decisions.iter().map(|one| one.reason).collect::<Vec<_>>()
    };
    assert_eq!(reasons(&mut driven, at(30.0)), ["write-failed"; 8]);
}

/// Writes take longer than a period: what is on its way is not written again, and what of it is lost is.
#[test]
fn what_is_on_its_way_is_not_written_again() {
    let fabric = fabric();
    let mut driven = Driven::new(&fabric);
    driven.ask(SimTime::ZERO);
    let decide = |driven: &mut Driven<'_>, now| {
        let mut decisions = Vec::new();
        driven.te.decide(now, &mut decisions);
        decisions.into_iter().map(|Decision { action, .. }| action).collect::<Vec<_>>()
    };
    let uplinks: Vec<LinkId> = driven.leaves.table().iter().map(|entry| entry.next).collect();
    driven.report(at(7.0), uplinks[0], false, 1);
    let first = decide(&mut driven, at(30.0));
    assert_eq!(first.len(), 1, "{first:?}");
    // Another uplink dies while that write is on its way, and not the one that it leads to.
    driven.report(at(37.0), uplinks[7], false, 1);
    let second = decide(&mut driven, at(60.0));
    assert_eq!(second.len(), 1, "{second:?}");
    assert_ne!(first, second);
    let land = |driven: &mut Driven<'_>, action: &Action, is_lost: bool| {
        let Action::Entry(change) = *action else { panic!("{action:?}") };
        let leaf = fabric.target(change.entry().ingress);
        let error = is_lost.then_some(WriteError::NoAnswer { leaf });
        driven.te.on_event(at(70.0), &Event::Written { change, error: error.as_ref() });
    };
    land(&mut driven, &first[0], true);
    land(&mut driven, &second[0], false);
    assert_eq!(decide(&mut driven, at(90.0)), first, "it was lost");
    land(&mut driven, &first[0], false);
    assert_eq!((decide(&mut driven, at(120.0)).len(), driven.te.next_time()), (0, SimTime::NEVER));
}

proptest! {
    /// Asking only when told to is as good as asking all the time, and each fault is answered within a period.
    #[test]
    fn asking_between_due_times_changes_nothing(
        calls in prop::collection::vec(0u64..120_000, 0..20),
        faults in prop::collection::vec((1u64..100_000, 0u32..8, any::<bool>()), 0..6),
    ) {
        let fabric = fabric();
        let leaf = fabric.target(fabric.access_link(fabric.nic(HostId(0), 0), 0).expect("cabled"));
        let uplinks: Vec<LinkId> = fabric
            .neighbors(leaf)
            .iter()
            .filter(|(_, far)| fabric.place(*far).is_some())
            .map(|&(link, _)| link)
            .collect();
        let mut faults = faults;
        faults.sort_unstable();
        let run = |calls: &[u64]| {
            let mut driven = Driven::new(&fabric);
            let ms = |ms: u64| SimTime::from_ns(ms * 1_000_000);
            let mut calls: Vec<SimTime> = calls.iter().map(|&call| ms(call)).collect();
            calls.sort_unstable();
            let (mut writes, mut version, mut faults) = (driven.ask(SimTime::ZERO), 0, faults.iter().peekable());
            let mut calls = calls.into_iter().peekable();
            loop {
                let fault = faults.peek().map_or(SimTime::NEVER, |fault| ms(fault.0));
                let call = calls.peek().copied().unwrap_or(SimTime::NEVER);
                let now = fault.min(call).min(driven.te.next_time());
                if now == SimTime::NEVER {
                    break;
                }
                while let Some(&(_, uplink, up)) = faults.next_if(|fault| ms(fault.0) == now) {
                    version += 1;
                    driven.report(now, uplinks[uplink as usize % uplinks.len()], up, version);
                    prop_assert!(driven.te.next_time() <= now + SimTime::from_ns(30_000_000_000)
                        || driven.te.next_time() == SimTime::NEVER);
                }
                while calls.next_if(|&call| call == now).is_some() {}
                writes += driven.ask(now);
                prop_assert!(driven.te.next_time() > now);
            }
            Ok((writes, driven.leaves.table().clone()))
        };
        prop_assert_eq!(run(&calls)?, run(&[])?);
    }

    #[test]
    fn the_next_run_is_later_by_at_most_a_period(period in 1u64..100, now in 0u64..1000) {
        let [period, now] = [period, now].map(SimTime::from_ps);
        let next = Replan::Every(period).time_for(now).unwrap();
        prop_assert!(next > now && next.ps().is_multiple_of(period.ps()) && next.since(now) <= period);
        prop_assert_eq!(Replan::AtOnce.time_for(now), Some(now));
        prop_assert_eq!(Replan::Never.time_for(now), None);
    }
}
