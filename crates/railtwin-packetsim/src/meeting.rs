//! Where threads meet between windows: the last to arrive looks what comes next while the others wait.
//!
//! A window in which few devices have anything to do is not worth a meeting. So the last one works such windows off by
//! itself, device after device, until more of them have something to do.
use std::collections::BTreeMap;
use std::ops::DerefMut;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard};

use railtwin_engine::IncidentKind;

use crate::agenda::NEVER;
use crate::changes::Changes;
use crate::closing::Closed;
use crate::congestion::Control;
use crate::host::{Shared, Word};
use crate::packet::{Arrival, Kind, Packet};
use crate::post::Parcel;
use crate::window::{Part, Words};

/// What all hosts together have said and ended.
#[derive(Debug, Default)]
pub struct Account {
    /// Hosts that ended an operation which others wait for, and when the last of them did: job, step, row in the plan.
    elsewhere: BTreeMap<(u32, u32, u32), (u32, u64)>,
    /// Jobs that stopped.
    halted: Vec<u32>,
    /// Words of one window; used again.
    words: Words,
    /// Links as they were when all operations had ended.
    pub closed: Option<Closed>,
}

impl Account {
    /// Works off windows until more than `few` devices had something to do in the last one, or all up to `until` is
    /// done; gives the start of the next, [`NEVER`] where nothing is left to do.
    pub fn alone<C: Control, P: DerefMut<Target = Part<C>>>(
        &mut self,
        parts: &mut [P],
        few: usize,
        until: u64,
        shared: &Shared<'_>,
        changes: &Changes,
    ) -> u64 {
        loop {
            exchange(parts);
            let told = self.hear(parts, shared);
            self.close(parts, shared);
            let soonest = parts.iter().map(|part| part.soonest()).min().unwrap_or(NEVER).min(told);
            if soonest >= until || parts.iter().map(|part| part.busy).sum::<usize>() > few {
                return soonest;
            }
            let end = soonest.saturating_add(shared.network.lookahead).min(until);
            parts.iter_mut().for_each(|part| part.window(soonest, end, shared, changes));
        }
    }

    /// Notes what links have carried once all operations have ended.
    fn close<C: Control, P: DerefMut<Target = Part<C>>>(&mut self, parts: &[P], shared: &Shared<'_>) {
        if self.closed.is_none() && parts.iter().all(|part| part.ends.0 == 0) {
            let at = parts.iter().map(|part| part.ends.1).max().unwrap_or(0);
            let mut closed = Closed::new(at);
            parts.iter().for_each(|part| closed.add(&part.devices, &part.mail, shared.network));
            self.closed = Some(closed);
        }
    }

    /// Tells hosts what all hosts together have said: a lookahead after the last word that it needs. Gives the soonest
    /// time at which one hears.
    fn hear<C: Control, P: DerefMut<Target = Part<C>>>(
        &mut self,
        parts: &mut [P],
        shared: &Shared<'_>,
    ) -> u64 {
        self.words.clear();
        for part in parts.iter_mut() {
            self.words.append(&mut part.words);
        }
        self.words.sort_unstable();
        let network = shared.network;
        let mut soonest = NEVER;
        let mut tell = |host: u32, time: u64, packet: Packet| {
            let number = network.host_at[host as usize];
            let part = network.parts.partition_point(|&first| first <= number) - 1;
            parts[part].mail.put(number, Arrival { time, packet });
            soonest = soonest.min(time);
        };
        for &(at, _, word) in &self.words {
            match word {
                Word::Ended(job, step, operation) => {
                    let Some(elsewhere) = shared.program.elsewhere.get(&(job, operation)) else { continue };
                    let account = self.elsewhere.entry((job, step, operation)).or_insert((0, 0));
                    account.0 += 1;
                    account.1 = account.1.max(at);
                    if account.0 < elsewhere.takes {
                        continue;
                    }
                    let time = account.1.saturating_add(network.lookahead);
                    self.elsewhere.remove(&(job, step, operation));
                    let packet = Packet {
                        queue_pair: job,
                        item: step,
                        leg: operation,
                        ..Packet::new(Kind::Elsewhere)
                    };
                    elsewhere.told.iter().for_each(|&host| tell(host, time, packet));
                }
                Word::Incident(IncidentKind::Halted(job)) if !self.halted.contains(&job) => {
                    self.halted.push(job);
                    let packet = Packet { queue_pair: job, ..Packet::new(Kind::Halt) };
                    (0..network.host_at.len() as u32)
                        .for_each(|host| tell(host, at.saturating_add(network.lookahead), packet));
                }
                Word::Incident(_) | Word::Waited(..) => {}
            }
        }
        soonest
    }
}

/// Gives each part what others have sent to it.
fn exchange<C: Control, P: DerefMut<Target = Part<C>>>(parts: &mut [P]) {
    for from in 0..parts.len() {
        for to in 0..parts.len() {
            if !parts[from].mail.away[to].is_empty() {
                let mut parcel = std::mem::take(&mut parts[from].mail.away[to]);
                parts[to].mail.take(&mut parcel);
                parts[from].mail.away[to] = parcel;
            }
        }
    }
}

/// What a thread says of its part when it comes to the meeting.
#[derive(Debug, Default)]
struct Said {
    soonest: AtomicU64,
    busy: AtomicUsize,
    /// Whether hosts have said something, or all its operations have ended.
    news: AtomicBool,
    left: AtomicU64,
}

/// Where threads meet.
#[derive(Debug)]
pub struct Meeting<C: Control> {
    arrived: AtomicUsize,
    round: AtomicUsize,
    /// A thread panicked: nobody waits for it.
    broken: AtomicBool,
    asleep: Mutex<usize>,
    awake: Condvar,
    /// Start of the next window.
    start: AtomicU64,
    said: Vec<Said>,
    parts: Vec<Mutex<Part<C>>>,
    /// Parcels by sender and receiver.
    parcels: Vec<Mutex<Parcel>>,
    account: Mutex<Account>,
    /// Up to when devices work.
    until: u64,
}

/// Turns that a waiting thread takes before it sleeps.
const SPINS: u32 = 4_000;
/// Devices for each thread up to which a window is worked off without the others: they take as long as a meeting.
const FEW: usize = 4;

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

impl<C: Control> Meeting<C> {
    /// Of a thread for each part, which work up to `until`.
    pub fn new(parts: Vec<Part<C>>, account: Account, until: u64) -> Self {
        let threads = parts.len();
        Self {
            arrived: AtomicUsize::new(0),
            round: AtomicUsize::new(0),
            broken: AtomicBool::new(false),
            asleep: Mutex::new(0),
            awake: Condvar::new(),
            start: AtomicU64::new(0),
            said: (0..threads).map(|_| Said::default()).collect(),
            parts: parts.into_iter().map(Mutex::new).collect(),
            parcels: (0..threads * threads).map(|_| Mutex::new(Parcel::new())).collect(),
            account: Mutex::new(account),
            until,
        }
    }

    /// What is left when all threads are gone.
    pub fn finish(self) -> (Vec<Part<C>>, Account) {
        let mut parts: Vec<Part<C>> = self.parts.into_iter().map(inner).collect();
        let count = parts.len();
        for (number, parcel) in self.parcels.into_iter().enumerate() {
            parts[number % count].mail.take(&mut inner(parcel));
        }
        (parts, inner(self.account))
    }

    /// Works off the windows of one thread.
    pub fn attend(&self, thread: usize, shared: &Shared<'_>, changes: &Changes) {
        let _guard = Guard(self);
        while self.meet(|| self.lead(shared, changes)) {
            let start = self.start.load(Ordering::Acquire);
            if start == NEVER {
                return;
            }
            let mut part = lock(&self.parts[thread]);
            let threads = self.parts.len();
            for other in 0..threads {
                part.mail.take(&mut lock(&self.parcels[other * threads + thread]));
            }
            let end = start.saturating_add(shared.network.lookahead).min(self.until);
            part.window(start, end, shared, changes);
            for (other, parcel) in part.mail.away.iter_mut().enumerate() {
                if !parcel.is_empty() {
                    lock(&self.parcels[thread * threads + other]).append(parcel);
                }
            }
            let said = &self.said[thread];
            said.soonest.store(part.soonest(), Ordering::Release);
            said.busy.store(part.busy, Ordering::Release);
            said.news.store(!part.words.is_empty(), Ordering::Release);
            said.left.store(part.ends.0, Ordering::Release);
        }
    }

    /// What the last to arrive does: looks when the next window begins, and works off what is not worth a meeting.
    fn lead(&self, shared: &Shared<'_>, changes: &Changes) {
        let said = self.said.iter();
        let busy: usize = said.clone().map(|said| said.busy.load(Ordering::Acquire)).sum();
        let news = said.clone().any(|said| said.news.load(Ordering::Acquire));
        let mut account = lock(&self.account);
        let ended =
            account.closed.is_none() && said.clone().all(|said| said.left.load(Ordering::Acquire) == 0);
        let few = FEW * self.parts.len();
        let start = if busy > few && !news && !ended {
            said.map(|said| said.soonest.load(Ordering::Acquire)).min().unwrap_or(NEVER)
        } else {
            let mut parts: Vec<_> = self.parts.iter().map(lock).collect();
            for (number, parcel) in self.parcels.iter().enumerate() {
                parts[number % self.parts.len()].mail.take(&mut lock(parcel));
            }
            account.alone(&mut parts, few, self.until, shared, changes)
        };
        self.start.store(if start >= self.until { NEVER } else { start }, Ordering::Release);
    }

    /// Waits until all threads are here and the last of them has led; false where one of them panicked.
    fn meet(&self, lead: impl FnOnce()) -> bool {
        let round = self.round.load(Ordering::Acquire);
        if self.broken.load(Ordering::Acquire) {
            return false;
        }
        if self.arrived.fetch_add(1, Ordering::AcqRel) + 1 == self.parts.len() {
            lead();
            self.arrived.store(0, Ordering::Release);
            self.go_on();
            return true;
        }
        let waits = || self.round.load(Ordering::Acquire) == round;
        for _ in 0..SPINS {
            if !waits() {
                return !self.broken.load(Ordering::Acquire);
            }
            std::hint::spin_loop();
        }
        let mut asleep = lock(&self.asleep);
        *asleep += 1;
        while waits() {
            asleep = self.awake.wait(asleep).unwrap_or_else(std::sync::PoisonError::into_inner);
        }
        *asleep -= 1;
        !self.broken.load(Ordering::Acquire)
    }

    /// Begins the next round.
    fn go_on(&self) {
        let asleep = lock(&self.asleep);
        self.round.fetch_add(1, Ordering::AcqRel);
        if *asleep > 0 {
            self.awake.notify_all();
        }
    }
}

fn inner<T>(mutex: Mutex<T>) -> T {
    mutex.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Lets the others go when its thread panics.
struct Guard<'a, C: Control>(&'a Meeting<C>);

impl<C: Control> Drop for Guard<'_, C> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.broken.store(true, Ordering::Release);
            self.0.go_on();
        }
    }
}
