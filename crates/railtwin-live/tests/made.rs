//! The judge on made records: what the recordings do not hold, faults that are removed above all.
use railtwin_live::record::{
    Body, Broken, Ended, Entered, Heartbeat, Left, Observer, ProcessState, Record, Step, TcpReading,
};
use railtwin_live::{LiveIncident, LiveKind, SuspectPlace};

use crate::score::judged;

const RANKS: u32 = 8;
const MS: u64 = 1_000_000;
const TICK: u64 = 10;

/// What is wrong at a moment.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Fault {
    Stopped(u32),
    /// The same without the observer: heartbeats come from a process that lives.
    Hung(u32),
    Silent(u32),
    Slow(u32),
    Computes(u32),
    Loads(u32),
    /// Packets from this rank to the next are lost at the NIC of the other.
    Loses(u32, u32),
    Late,
    /// Every connection is resent alike: congestion, not one link.
    Congested,
}

/// A ring of eight ranks that steps: 20 ms of loading, 100 ms of computation, two operations of 40 ms.
struct Made {
    records: Vec<Record>,
    counters: Vec<TcpReading>,
    /// Ranks that have entered the operation of now, and how much of it is done, 0 to 1.
    entered: Vec<bool>,
    alone_ms: u64,
    done: f64,
    operation: u64,
}

fn made(seconds: u64, fault: impl Fn(f64) -> Option<Fault>) -> Vec<Record> {
    let ranks = RANKS as usize;
    let mut job = Made {
        records: Vec::new(),
        counters: vec![TcpReading::default(); ranks],
        entered: vec![false; ranks],
        alone_ms: 0,
        done: 0.0,
        operation: 0,
    };
    for tick in 0..seconds * 1_000 / TICK {
        let now_ms = 1_000 + tick * TICK;
        let fault = fault(now_ms as f64 / 1e3 - 1.0);
        job.step(now_ms, fault);
        let every = if fault == Some(Fault::Late) { 1_000 } else { 200 };
        if now_ms.is_multiple_of(every) {
            (0..RANKS).for_each(|rank| job.beat(rank, now_ms, fault));
        }
    }
    job.records
}

impl Made {
    fn put(&mut self, rank: u32, now_ms: u64, body: Body) {
        self.records.push(Record { rank, time_ns: now_ms * MS, body });
    }

    fn step(&mut self, now_ms: u64, fault: Option<Fault>) {
        let holds = match fault {
            Some(Fault::Stopped(rank) | Fault::Hung(rank)) => Some(rank),
            _ => None,
        };
        self.alone_ms += TICK;
        for rank in (0..RANKS).filter(|rank| Some(*rank) != holds) {
            let (mut data, mut comp) = (20_000 + u64::from(rank) * 13, 100_000 + u64::from(rank) * 57);
            match fault {
                Some(Fault::Computes(slow)) if slow == rank => comp *= 2,
                Some(Fault::Loads(slow)) if slow == rank => data += 100_000,
                _ => {}
            }
            let is_second = self.operation % 2 == 1;
            if !self.entered[rank as usize] && (is_second || self.alone_ms * 1_000 >= data + comp) {
                if !is_second {
                    self.put(rank, now_ms, Body::Step(Step { step: self.operation / 2, data, comp }));
                }
                self.put(rank, now_ms, Body::Entered(Entered { seq: self.operation, b: 1 << 20 }));
                self.entered[rank as usize] = true;
            }
        }
        if self.entered.iter().all(|entered| *entered) {
            self.carry(now_ms, fault);
        }
    }

    fn carry(&mut self, now_ms: u64, fault: Option<Fault>) {
        let rate = match fault {
            Some(Fault::Silent(nic)) => {
                let before = (nic + RANKS - 1) % RANKS;
                for rank in [nic, before] {
                    let connection = &mut self.counters[rank as usize];
                    connection.busy += TICK * 1_000;
                    (connection.una, connection.bko) = (80, 1 + now_ms / 1_000 % 3);
                }
                return;
            }
            Some(Fault::Slow(_)) => 0.1,
            _ => 1.0,
        };
        self.done += rate * TICK as f64 / 40.0;
        for rank in 0..RANKS {
            let near = matches!(fault, Some(Fault::Slow(nic)) if rank == nic || (rank + 1) % RANKS == nic);
            let connection = &mut self.counters[rank as usize];
            (connection.una, connection.bko) = (0, 0);
            connection.ba += (rate * TICK as f64 * 50_000.0) as u64;
            connection.busy += if rate == 1.0 || near { TICK * 1_000 } else { 100 };
        }
        if self.done >= 0.999 {
            for rank in 0..RANKS {
                let (succ, pred) = (Some((rank + 1) % RANKS), Some((rank + RANKS - 1) % RANKS));
                self.put(
                    rank,
                    now_ms,
                    Body::Ended(Ended { seq: self.operation, en: None, succ, pred, w: Vec::new() }),
                );
            }
            self.operation += 1;
            (self.done, self.alone_ms) = (0.0, 0);
            self.entered.fill(false);
        }
    }

    fn beat(&mut self, rank: u32, now_ms: u64, fault: Option<Fault>) {
        if fault == Some(Fault::Stopped(rank)) {
            return;
        }
        let at = rank as usize;
        let connection = &mut self.counters[at];
        match fault {
            Some(Fault::Loses(from, _)) if from == rank => connection.rtx += 11,
            Some(Fault::Congested) => connection.rtx += 11,
            // Reordered: resent, and the receiver tells that it had arrived.
            _ if now_ms.is_multiple_of(1_400) => {
                (connection.rtx, connection.dsk) = (connection.rtx + 11, connection.dsk + 11)
            }
            _ => {}
        }
        let is_lost = |to: u32| match fault {
            Some(Fault::Silent(nic)) => nic == rank || nic == to,
            Some(Fault::Loses(_, nic)) => {
                now_ms.is_multiple_of(1_000) && (nic == rank) != (nic == to) && (rank + to) % 5 == 2
            }
            Some(Fault::Late) => to.is_multiple_of(2),
            _ => false,
        };
        let ping = (0..RANKS).map(|to| if to == rank || is_lost(to) { -1 } else { 50 + i64::from(to) * 7 });
        let stages = (14.0 * self.done) as u64;
        let heartbeat = Heartbeat {
            seq: self.operation,
            inside: u64::from(self.entered[at]),
            rs: stages,
            ss: stages,
            s: Some(self.counters[at]),
            r: Some(TcpReading { lds: 5, ldr: 5, ..TcpReading::default() }),
            ping: ping.collect(),
            to: Vec::new(),
        };
        self.put(rank, now_ms, Body::Heartbeat(Box::new(heartbeat)));
    }
}

/// A fault between two seconds.
fn between(from: f64, to: f64, fault: Fault) -> impl Fn(f64) -> Option<Fault> {
    move |second| (from..to).contains(&second).then_some(fault)
}

fn opened_s(one: &LiveIncident) -> f64 {
    one.opened_ns as f64 / 1e9 - 1.0
}

#[test]
fn a_sound_job_has_no_incident() {
    assert_eq!(judged(&made(60, |_| None)), []);
}

#[test]
fn each_fault_is_one_incident_that_is_confirmed_and_closed_when_it_is_removed() {
    let cases = [
        (Fault::Stopped(5), LiveKind::StoppedProcess, SuspectPlace::Rank(5), 2.0),
        (Fault::Silent(3), LiveKind::SilentLink, SuspectPlace::Nic(3), 2.0),
        (Fault::Slow(0), LiveKind::SlowLink, SuspectPlace::Nic(0), 3.0),
        (Fault::Computes(2), LiveKind::SlowCompute, SuspectPlace::Rank(2), 3.0),
        (Fault::Loads(7), LiveKind::SlowData, SuspectPlace::Rank(7), 3.0),
        (Fault::Loses(4, 4), LiveKind::LossyLink, SuspectPlace::Nic(4), 3.0),
        (Fault::Loses(4, 5), LiveKind::LossyLink, SuspectPlace::Nic(5), 3.0),
    ];
    for (fault, kind, place, within_s) in cases {
        let incidents = judged(&made(30, between(8.0, 16.0, fault)));
        let [one] = incidents.as_slice() else { panic!("{fault:?}: {incidents:#?}") };
        assert_eq!((one.kind, one.suspects[0].place), (kind, place), "{fault:?}");
        let after = opened_s(one) - 8.0;
        assert!((0.0..within_s).contains(&after), "{fault:?}: opened after {after} s");
        assert!(one.confirmed_ns.is_some(), "{fault:?}: not confirmed");
        let closed = one.closed_ns.map(|ns| ns as f64 / 1e9 - 1.0);
        assert!(closed.is_some_and(|closed| (16.0..22.0).contains(&closed)), "{fault:?}: closed {closed:?}");
    }
}

#[test]
fn a_fault_that_comes_back_reopens_its_incident() {
    let twice = |second: f64| {
        [8.0..14.0, 20.0..26.0].iter().any(|when| when.contains(&second)).then_some(Fault::Slow(1))
    };
    let incidents = judged(&made(27, twice));
    assert_eq!(incidents.len(), 1, "{incidents:#?}");
    assert_eq!(incidents[0].closed_ns, None);
}

#[test]
fn a_rank_that_lives_and_does_not_enter_is_named_at_the_hang_limit() {
    let incidents = judged(&made(20, between(8.0, 30.0, Fault::Hung(6))));
    let [one] = incidents.as_slice() else { panic!("{incidents:#?}") };
    assert_eq!((one.kind, one.suspects[0].place), (LiveKind::Standstill, SuspectPlace::Rank(6)));
    assert!((13.0..13.5).contains(&opened_s(one)), "{}", opened_s(one));
}

#[test]
fn a_starved_observer_accuses_nobody() {
    let incidents = judged(&made(40, between(8.0, 30.0, Fault::Late)));
    let [one] = incidents.as_slice() else { panic!("{incidents:#?}") };
    assert_eq!((one.kind, one.accuses()), (LiveKind::ObserverStarved, false));
}

#[test]
fn an_observer_that_says_it_is_late_on_a_busy_host_is_believed() {
    let kinds = |late_us: u64| -> Vec<LiveKind> {
        let mut records = made(20, between(8.0, 16.0, Fault::Stopped(5)));
        let told = |second: u64| Record {
            rank: 0,
            time_ns: second * 1_000 * MS,
            body: Body::Observer(Observer { late_us, stall: 95.0 }),
        };
        records.extend((2..20).map(told));
        records.sort_by_key(|record| record.time_ns);
        judged(&records).iter().map(|one| one.kind).collect()
    };
    assert_eq!(kinds(210_000), [LiveKind::ObserverStarved]);
    assert_eq!(kinds(5_000), [LiveKind::StoppedProcess], "a busy host with an observer in time");
}

#[test]
fn what_all_connections_resend_is_no_lossy_link() {
    assert_eq!(judged(&made(30, between(8.0, 16.0, Fault::Congested))), []);
}

#[test]
fn a_closed_window_is_no_silent_link() {
    let mut records = made(20, between(8.0, 30.0, Fault::Hung(6)));
    for record in records.iter_mut().filter(|record| record.time_ns > 9_200 * MS && record.rank == 5) {
        if let Body::Heartbeat(heartbeat) = &mut record.body {
            // The timer of a window that the receiver keeps shut doubles, too; nothing is unacknowledged.
            heartbeat.s = heartbeat.s.map(|connection| TcpReading { bko: 4, una: 0, ..connection });
        }
    }
    let kinds: Vec<LiveKind> = judged(&records).iter().map(|one| one.kind).collect();
    assert_eq!(kinds, [LiveKind::Standstill]);
}

#[test]
fn the_first_to_close_is_named_whatever_order_its_neighbors_report_in() {
    let mut records: Vec<Record> =
        made(8, |_| None).into_iter().filter(|record| record.time_ns < 8_950 * MS).collect();
    let broken = |rank: u32, ms: u64, side: &str, peer: u32, errno: i64| Record {
        rank,
        time_ns: (8_960 + ms) * MS,
        body: Body::Broken(Broken { seq: 80, side: side.into(), peer, errno }),
    };
    // Rank 0 reports its neighbor before that reports its own: clocks of hosts are apart.
    records.extend([
        broken(0, 0, "r", 7, 0),
        broken(7, 3, "r", 6, 0),
        broken(5, 5, "s", 6, 32),
        broken(4, 9, "s", 5, 104),
    ]);
    records.sort_by_key(|record| record.time_ns);
    let incidents = judged(&records);
    let [one] = incidents.as_slice() else { panic!("{incidents:#?}") };
    let named: Vec<SuspectPlace> = one.suspects.iter().map(|suspect| suspect.place).collect();
    assert_eq!((one.kind, named), (LiveKind::KilledProcess, vec![SuspectPlace::Rank(6)]));
}

#[test]
fn a_killed_process_ends_a_job_whose_others_say_no_more() {
    let mut records = made(8, |_| None);
    let broken = Broken { seq: 80, side: "s".into(), peer: 3, errno: 104 };
    records.push(Record { rank: 2, time_ns: 9_000 * MS, body: Body::Broken(broken) });
    let incidents = judged(&records);
    assert_eq!(incidents.len(), 1);
    assert_eq!(incidents[0].kind, LiveKind::KilledProcess);
    assert_eq!(incidents[0].confirmed_ns, None, "one neighbor alone is not sure");
}

/// The records of a sound job of which each rank leaves a quarter of a second after the one before; and the leaving.
fn left_one_by_one(status: i64) -> (Vec<Record>, Vec<Record>) {
    let end_ms = |rank: u32| 6_000 + 250 * u64::from(rank);
    let mut records = made(12, |_| None);
    for record in &mut records {
        if let Body::Heartbeat(heartbeat) = &mut record.body {
            // A rank that has ended answers no pings.
            for (to, trip) in heartbeat.ping.iter_mut().enumerate() {
                *trip = if record.time_ns > end_ms(to as u32) * MS { -1 } else { *trip };
            }
        }
    }
    records.retain(|record| record.time_ns <= end_ms(record.rank) * MS);
    let left = |rank: u32| Record { rank, time_ns: end_ms(rank) * MS, body: Body::Left(Left { status }) };
    // A job that is judged for some time longer.
    let later = (13..20).map(|second| Record {
        rank: 0,
        time_ns: second * 1_000 * MS,
        body: Body::Observer(Observer { late_us: 0, stall: 0.0 }),
    });
    records.extend(later);
    (records, (0..RANKS).map(left).collect())
}

#[test]
fn ranks_that_left_in_order_are_not_expected_any_more() {
    let (records, left) = left_one_by_one(0);
    assert_ne!(judged(&records), [], "without the leaving there is something to explain");
    let mut records = [records, left].concat();
    records.sort_by_key(|record| record.time_ns);
    assert_eq!(judged(&records), []);
}

#[test]
fn a_rank_that_ends_with_an_error_of_its_own_is_named() {
    let mut records: Vec<Record> =
        made(12, |_| None).into_iter().filter(|one| one.rank != 3 || one.time_ns < 6_000 * MS).collect();
    records.push(Record { rank: 3, time_ns: 6_000 * MS, body: Body::Left(Left { status: 1 }) });
    records.sort_by_key(|record| record.time_ns);
    let incidents = judged(&records);
    assert_eq!(
        (incidents[0].kind, incidents[0].suspects[0].place),
        (LiveKind::KilledProcess, SuspectPlace::Rank(3))
    );
}

#[test]
fn a_process_that_is_gone_was_killed_and_not_stopped() {
    let mut records = made(8, |_| None);
    records.retain(|record| record.time_ns <= 8_000 * MS || record.rank != 5);
    let gone = Body::Process(ProcessState { state: "X".into() });
    records.push(Record { rank: 5, time_ns: 8_001 * MS, body: gone });
    records.sort_by_key(|record| record.time_ns);
    let incidents = judged(&records);
    let [one] = incidents.as_slice() else { panic!("{incidents:#?}") };
    assert_eq!((one.kind, one.suspects[0].place), (LiveKind::KilledProcess, SuspectPlace::Rank(5)));
    assert_eq!(one.confirmed_ns, Some(one.opened_ns), "a process that is gone does not come back");
}

#[test]
fn heartbeats_that_show_another_connection_are_no_loss_and_no_slowness() {
    let mut records = made(30, |_| None);
    for record in &mut records {
        if let (4, Body::Heartbeat(heartbeat)) = (record.rank, &mut record.body) {
            // By turns that to rank 5, and one to rank 2 with a long past.
            let is_other = record.time_ns / (3_000 * MS) % 2 == 1;
            heartbeat.s = heartbeat.s.map(|of| match is_other {
                false => TcpReading { peer: Some(5), ..of },
                true => {
                    TcpReading { peer: Some(2), rtx: of.rtx + 900, ba: of.ba / 9, busy: of.busy + 7, ..of }
                }
            });
        }
    }
    assert_eq!(judged(&records), []);
}

#[test]
fn a_nic_that_pings_named_stays_named_until_timers_have_run_down() {
    let mut records = made(30, between(8.0, 16.0, Fault::Silent(3)));
    for record in &mut records {
        // The link is repaired: pings come back, and one connection waits for its timer.
        if let (true, Body::Heartbeat(heartbeat)) = (record.time_ns > 13_000 * MS, &mut record.body) {
            heartbeat.ping.iter_mut().for_each(|trip| *trip = 60);
            if record.rank != 3 && record.time_ns < 17_000 * MS {
                heartbeat.s = heartbeat.s.map(|connection| TcpReading { bko: 0, una: 0, ..connection });
            }
        }
    }
    let incidents = judged(&records);
    let [one] = incidents.as_slice() else { panic!("{incidents:#?}") };
    let named: Vec<SuspectPlace> = one.suspects.iter().map(|suspect| suspect.place).collect();
    assert_eq!((one.kind, named), (LiveKind::SilentLink, vec![SuspectPlace::Nic(3)]));
}
