//! What a host works on: its part in each pattern, legs that begin and end there; [`operations`] follows them in time.
mod crossing;
mod handing_on;
mod operations;
mod piece;

use std::cmp::Ordering;
use std::collections::VecDeque;

use railtwin_engine::Beside;
use railtwin_units::{SimTime, stream};
use railtwin_workload::{Cut, Wait, Work};

use crate::agenda::Agenda;
use crate::host::Shared;
use crate::host_task::{BEGIN, QUIT};
use crate::network::Speed;
use crate::program::{Pieces, Way};

pub(crate) use piece::Crossing;

/// Of a leg before its first operation.
const WHOLE: Pieces = Pieces { rounds: 1, of_stage: 1 };

/// A leg that begins here.
#[derive(Clone, Debug)]
pub(crate) struct Out {
    leg: u32,
    seat: u32,
    /// What it waits for: row among the legs that end here, lag, stages.
    waits: Vec<(u32, i32, u32)>,
    /// Items of all operations before the current one.
    base: u64,
    /// Items of the current operation: all, posted, acknowledged.
    total: u64,
    pieces: Pieces,
    posted: u64,
    acked: u64,
    /// Stages of a round.
    stages: u32,
    /// What a cap allows, and from when on.
    cap: Option<Speed>,
    free: u64,
    /// Whether a task lets it go on at that time.
    waits_for_cap: bool,
    /// Whether it has few pieces under way at a time, and how many there are.
    metered: bool,
    under_way: u32,
    /// Items that may leave before the receiver has handed on any, and how many it has handed on of all operations.
    slots: u64,
    handed_on: u64,
}

/// A leg that ends here.
#[derive(Clone, Debug)]
pub(crate) struct In {
    leg: u32,
    seat: u32,
    /// Legs that wait for it.
    dependents: Vec<u32>,
    base: u64,
    total: u64,
    pieces: Pieces,
    /// Items that have arrived without a gap, of all operations.
    arrived: u64,
    /// Parts of items beyond them.
    ahead: VecDeque<u32>,
    /// Parts of an item.
    parts: u32,
    /// Items of which the sender knows that they were handed on; none where it does not ask.
    told: Option<u64>,
    /// When the last of them arrived.
    last: u64,
    over: bool,
}

impl In {
    /// Stages of the operation at work that have arrived whole, of all rounds.
    fn stages_here(&self) -> u64 {
        self.arrived.saturating_sub(self.base).min(self.total) / self.pieces.of_stage
    }
}

/// Bytes of a leg at the hosts where it begins and ends, with what it waits for.
pub(crate) const BYTES_OF_LEG: usize =
    size_of::<Out>() + size_of::<In>() + size_of::<(u32, i32, u32)>() + 3 * size_of::<u32>();

/// The part of a host in one pattern: its operations follow each other in the order of the plan.
#[derive(Clone, Debug)]
pub(crate) struct Seat {
    role: u32,
    outs: Vec<u32>,
    ins: Vec<u32>,
    /// Rows of the role's operations on this pattern, and which of them are ready.
    order: Vec<u32>,
    ready: Vec<bool>,
    turn: usize,
    /// The operation at work, over the whole case, with its bytes.
    active: Option<(u32, u64)>,
    /// The one that began last, at work or not.
    latest: Option<u32>,
    /// Legs that are not over.
    left: u32,
    /// What hosts add to the latency of an operation, and until when that of the one at work lasts. It is paid once, before
    /// the first byte: what was measured is the sum over all steps, of which later chunks hide their own.
    latency: u64,
    idle_until: u64,
}

impl Seat {
    /// Whether nothing arrives here: the operation ends elsewhere.
    fn only_sends(&self) -> bool {
        self.ins.is_empty() && !self.outs.is_empty()
    }
}

/// A job at this host.
#[derive(Clone, Debug)]
pub(crate) struct RoleState {
    role: u32,
    step: u32,
    waits: Vec<u32>,
    left: u32,
    /// Ends of its operations here that are to come, without those in which the host only sends.
    ends_left: u64,
    /// Whether its job has started here.
    begun: bool,
    halted: bool,
}

/// Numbers that are used again.
#[derive(Debug)]
pub(crate) struct Slots<T> {
    slots: Vec<T>,
    free: Vec<u32>,
}

impl<T> Default for Slots<T> {
    fn default() -> Self {
        Self { slots: Vec::new(), free: Vec::new() }
    }
}

impl<T: Copy> Slots<T> {
    pub(crate) fn add(&mut self, what: T) -> u32 {
        if let Some(slot) = self.free.pop() {
            self.slots[slot as usize] = what;
            return slot;
        }
        self.slots.push(what);
        self.slots.len() as u32 - 1
    }

    pub(crate) fn take(&mut self, slot: u32) -> T {
        self.free.push(slot);
        self.slots[slot as usize]
    }
}

/// How much later than the job a host begins it, ps: evenly up to `start_jitter` where a collective library runs it. Each
/// host and job have a number of their own.
fn lateness(shared: &Shared<'_>, job: u32, name: &str, host: u32) -> u64 {
    let most = shared.packets.start_jitter.ps();
    if most == 0 || !shared.network.case.packets.has_library(job) {
        return 0;
    }
    let draw = stream::number(shared.draw, &format!("start of {name} at host {host}"));
    ((u128::from(draw) * u128::from(most)) >> 64) as u64
}

/// The work of a host.
#[derive(Debug, Default)]
pub(crate) struct Worker {
    roles: Vec<RoleState>,
    seats: Vec<Seat>,
    outs: Vec<Out>,
    ins: Vec<In>,
    /// Seat of each row of each role's operations; none for computations.
    seat_of: Vec<Vec<Option<u32>>>,
    /// Links inside the host that legs cross, with the time from which each is free.
    inside: Vec<(u32, u64)>,
    /// Messages on their way into GPU memory.
    pub(crate) deliveries: Slots<(u32, u32)>,
    /// Pieces that are to enter a link inside the host.
    pub(crate) crossings: Slots<Crossing>,
    /// Messages that were acknowledged a moment ago, all of one queue pair: leg and slot.
    pub(crate) done: Vec<(u32, u32)>,
    /// What computes beside collectives, by role and lane.
    beside: Beside,
    /// Operations that became ready, and seats whose operation is over.
    ready: VecDeque<(u32, u32)>,
    over: VecDeque<u32>,
    /// Words about steps that have not begun here: job, step, row in the plan.
    early: Vec<(u32, u32, u32)>,
    /// Legs that may go on.
    stirred: VecDeque<u32>,
    pub(crate) receive_buffer: u64,
    /// Operations that began here in which it only sends, ascending.
    pub(crate) only_sent: Vec<u32>,
    /// Ends of operations here that are to come, without those in which it only sends.
    pub(crate) ends_left: u64,
    /// How many came that nobody has heard of, and when the last one came.
    pub(crate) fresh_ends: u64,
    pub(crate) last_end: u64,
    /// Start and end here of operations, by operation; never where they did not run.
    pub(crate) times: std::collections::BTreeMap<u32, (u64, u64)>,
}

impl Worker {
    /// The work of a host, with the starts of its jobs on its agenda.
    pub(crate) fn new(shared: &Shared<'_>, host: u32, agenda: &mut Agenda) -> Self {
        let (program, case) = (shared.program, shared.network.case);
        let mut this = Self { receive_buffer: shared.packets.nic.receive_buffer.0, ..Self::default() };
        for (slot, &role) in (0..).zip(&program.roles_of[host as usize]) {
            let spec = &program.roles[role as usize];
            let job = &case.work.jobs[spec.job as usize];
            let seats = &mut this.seats;
            let first = seats.len();
            let mut seat_of = Vec::with_capacity(spec.operations.len());
            let mut known = std::collections::BTreeMap::new();
            for (row, &operation) in (0..).zip(&spec.operations) {
                let Work::Communicate { pattern, .. } = job.plan.operations[operation as usize].work else {
                    seat_of.push(None);
                    continue;
                };
                let seat = *known.entry(pattern.0 + job.first_pattern).or_insert(seats.len());
                if seat == seats.len() {
                    seats.push(Seat {
                        role: slot,
                        outs: Vec::new(),
                        ins: Vec::new(),
                        order: Vec::new(),
                        ready: Vec::new(),
                        turn: 0,
                        active: None,
                        latest: None,
                        left: 0,
                        latency: job.plan.patterns[(pattern.0) as usize].cost.latency.ps(),
                        idle_until: 0,
                    });
                }
                seats[seat].order.push(row);
                seats[seat].ready.push(false);
                seat_of.push(Some(seat as u32));
            }
            debug_assert!(first <= seats.len());
            for (pattern, seat) in known {
                this.legs(shared, host, pattern, seat as u32);
            }
            let counts = |seat: &Option<u32>| seat.is_none_or(|seat| !this.seats[seat as usize].only_sends());
            let ends = seat_of.iter().filter(|&seat| counts(seat)).count() as u64 * u64::from(job.steps);
            this.ends_left += ends;
            this.seat_of.push(seat_of);
            this.roles.push(RoleState {
                role,
                step: 0,
                waits: spec.waits.clone(),
                left: spec.operations.len() as u32,
                ends_left: ends,
                begun: false,
                halted: false,
            });
            if job.steps > 0 {
                let late = lateness(shared, spec.job, &job.name, host);
                agenda.push(job.start.ps().saturating_add(late), BEGIN | u64::from(slot));
                if job.until < SimTime::NEVER {
                    agenda.push(job.until.ps(), QUIT | u64::from(slot));
                }
            }
        }
        this
    }

    /// Legs that begin here.
    pub(crate) fn legs_from(&self) -> usize {
        self.outs.len()
    }

    /// The legs of a pattern that begin or end here. Rows are as [`Shared::leg_slots`] counts them.
    fn legs(&mut self, shared: &Shared<'_>, host: u32, pattern: u32, seat: u32) {
        let program = shared.program;
        for &leg in program.of_pattern(&program.legs_to[host as usize], pattern) {
            let parts = match program.legs[leg as usize].way {
                Way::Network(connection) => shared.parts_of(connection),
                Way::Inside(..) | Way::Pcie(_) => 1,
            };
            let spec = &program.legs[leg as usize];
            let asks = matches!(spec.way, Way::Network(_)) && spec.cut.slots(0, 1).is_some();
            self.seats[seat as usize].ins.push(self.ins.len() as u32);
            debug_assert_eq!(shared.leg_slots[leg as usize][1] as usize, self.ins.len());
            self.ins.push(In {
                leg,
                seat,
                dependents: Vec::new(),
                base: 0,
                total: 0,
                pieces: WHOLE,
                arrived: 0,
                ahead: VecDeque::new(),
                parts,
                told: asks.then_some(0),
                last: 0,
                over: false,
            });
        }
        for &leg in program.of_pattern(&program.legs_from[host as usize], pattern) {
            let row = self.outs.len() as u32;
            let waits = program.waits_of(leg).iter().map(|&Wait { leg, lag }| {
                (shared.leg_slots[leg as usize][1], lag, program.legs[leg as usize].stages)
            });
            let waits: Vec<_> = waits.collect();
            for &(before, ..) in &waits {
                self.ins[before as usize].dependents.push(row);
            }
            if let Way::Inside(first, second) = program.legs[leg as usize].way {
                for link in std::iter::once(first).chain(second) {
                    if !self.inside.iter().any(|(known, _)| *known == link.0) {
                        self.inside.push((link.0, 0));
                    }
                }
            }
            self.seats[seat as usize].outs.push(row);
            debug_assert_eq!(shared.leg_slots[leg as usize][0], row);
            let spec = &program.legs[leg as usize];
            self.outs.push(Out {
                leg,
                seat,
                waits,
                base: 0,
                total: 0,
                pieces: WHOLE,
                posted: 0,
                acked: 0,
                stages: spec.stages,
                cap: spec.cap,
                free: 0,
                waits_for_cap: false,
                metered: match spec.way {
                    Way::Network(_) => false,
                    Way::Inside(..) => spec.cap.is_some() || !matches!(spec.cut, Cut::Messages | Cut::Peers),
                    Way::Pcie(_) => true,
                },
                under_way: 0,
                slots: u64::MAX,
                handed_on: 0,
            });
        }
    }

    /// Legs that end here and whose operation at work is not over: operation, row, leg.
    pub(crate) fn open_legs(&self) -> Vec<(u32, usize, u32)> {
        let at_work = self.seats.iter().filter_map(|seat| Some((seat.active?.0, seat)));
        let legs = at_work.flat_map(|(number, seat)| seat.ins.iter().map(move |&row| (number, row as usize)));
        let open = legs.filter(|&(_, row)| !self.ins[row].over);
        open.map(|(number, row)| (number, row, self.ins[row].leg)).collect()
    }

    /// Legs that end here, each with how much of it has arrived of an operation: a share.
    pub(crate) fn arrivals(&self) -> impl Iterator<Item = (u32, impl Fn(u32) -> f64)> {
        self.ins.iter().map(|one| {
            let latest = self.seats[one.seat as usize].latest;
            let share = one.arrived.saturating_sub(one.base).min(one.total) as f64 / one.total.max(1) as f64;
            let came = move |operation: u32| match latest.cmp(&Some(operation)) {
                Ordering::Less => 0.0,
                Ordering::Equal => share,
                // They follow each other.
                Ordering::Greater => 1.0,
            };
            (one.leg, came)
        })
    }

    /// The legs of a seat may begin.
    pub(crate) fn latency_over(&mut self, seat: usize) {
        let outs = &self.seats[seat].outs;
        self.stirred.extend(outs);
    }

    /// Jobs of which ends are to come here.
    pub(crate) fn jobs_left(&self, shared: &Shared<'_>) -> impl Iterator<Item = u32> {
        let left = self.roles.iter().filter(|role| role.ends_left > 0);
        left.map(|role| shared.program.roles[role.role as usize].job)
    }

    /// An operation that counts has ended here; whether it was the last of its role.
    fn ended(&mut self, now: u64, role: usize, number: u32) -> bool {
        // What arrives after the processes were ended ends nothing.
        if self.roles[role].ends_left == 0 {
            return false;
        }
        if let Some(times) = self.times.get_mut(&number) {
            times.1 = now;
        }
        self.ends_left -= 1;
        self.fresh_ends += 1;
        self.last_end = self.last_end.max(now);
        self.roles[role].ends_left -= 1;
        self.roles[role].ends_left == 0
    }

    /// Whether the next item of a leg may leave.
    fn may_leave(&self, out: &Out) -> bool {
        let (pieces, stages) = (out.pieces.of_stage, u64::from(out.stages));
        let (stage, piece) = (out.posted / pieces, out.posted % pieces);
        let (round, stage) = ((stage / stages) as i64, (stage % stages) as i64);
        out.waits.iter().all(|&(row, lag, stages)| {
            let stages = i64::from(stages);
            let stage = (stage - i64::from(lag)).min(stages - 1);
            let before = &self.ins[row as usize];
            let of_stage = before.pieces.of_stage;
            // The same share of a stage, whatever it is cut into.
            let needed =
                (round * stages + stage) * of_stage as i64 + ((piece + 1) * of_stage).div_ceil(pieces) as i64;
            stage < 0 || before.arrived as i64 - before.base as i64 >= needed
        })
    }
}
