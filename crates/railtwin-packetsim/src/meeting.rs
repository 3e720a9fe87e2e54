//! Where threads meet between windows: the last to arrive looks what comes next while the others wait.
//!
//! A window in which few devices have anything to do is not worth a meeting. So the last one works such windows off by
//! itself, device after device, until more of them have something to do.
use std::ops::DerefMut;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard};

use crate::agenda::NEVER;
use crate::post::Parcel;
use crate::window::Part;
use crate::world::{Accounting, World};

/// Works off all windows on as many threads as there are parts.
pub fn work_off<W: World>(
    mut parts: Vec<Part<W>>,
    mut account: W::Account,
    context: W::Context<'_>,
) -> (Vec<Part<W>>, W::Account) {
    if parts.len() == 1 {
        let mut all: Vec<&mut Part<W>> = parts.iter_mut().collect();
        alone(&mut account, &mut all, usize::MAX, context);
        return (parts, account);
    }
    let threads = 0..parts.len();
    let meeting = Meeting::new(parts, account);
    std::thread::scope(|scope| {
        let workers: Vec<_> = threads
            .map(|thread| {
                let meeting = &meeting;
                scope.spawn(move || meeting.attend(thread, context))
            })
            .collect();
        for worker in workers {
            worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        }
    });
    meeting.finish()
}

/// Works off windows until more than `few` devices had something to do in the last one; gives the start of the next,
/// [`NEVER`] where nothing is left to do before the account's time, or it is over.
fn alone<W: World, P: DerefMut<Target = Part<W>>>(
    account: &mut W::Account,
    parts: &mut [P],
    few: usize,
    context: W::Context<'_>,
) -> u64 {
    loop {
        exchange(parts);
        let told = account.hear(parts, context);
        let soonest = parts.iter().map(|part| part.soonest()).min().unwrap_or(NEVER).min(told);
        if soonest >= account.until() || account.is_over() {
            return NEVER;
        }
        if parts.iter().map(|part| part.busy).sum::<usize>() > few {
            return soonest;
        }
        let end = soonest.saturating_add(W::lookahead(context)).min(account.until());
        parts.iter_mut().for_each(|part| part.window(soonest, end, context));
    }
}

/// Gives each part what others have sent to it.
fn exchange<W: World, P: DerefMut<Target = Part<W>>>(parts: &mut [P]) {
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
    /// Whether devices have said something that is to be heard.
    news: AtomicBool,
    left: AtomicU64,
}

/// Where threads meet.
#[derive(Debug)]
struct Meeting<W: World> {
    arrived: AtomicUsize,
    round: AtomicUsize,
    /// A thread panicked: nobody waits for it.
    broken: AtomicBool,
    asleep: Mutex<usize>,
    awake: Condvar,
    /// Start of the next window.
    start: AtomicU64,
    said: Vec<Said>,
    parts: Vec<Mutex<Part<W>>>,
    /// Parcels by sender and receiver.
    parcels: Vec<Mutex<Parcel<W::Freight>>>,
    account: Mutex<W::Account>,
    until: u64,
}

/// Turns that a waiting thread takes before it sleeps.
const SPINS: u32 = 4_000;
/// Devices for each thread up to which a window is worked off without the others: they take as long as a meeting.
const FEW: usize = 4;

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

impl<W: World> Meeting<W> {
    /// Of a thread for each part.
    fn new(parts: Vec<Part<W>>, account: W::Account) -> Self {
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
            until: account.until(),
            account: Mutex::new(account),
        }
    }

    /// What is left when all threads are gone.
    fn finish(self) -> (Vec<Part<W>>, W::Account) {
        let mut parts: Vec<Part<W>> = self.parts.into_iter().map(inner).collect();
        // Who stops before a time has packets under way to other threads.
        let count = parts.len();
        for (number, parcel) in self.parcels.into_iter().enumerate() {
            parts[number % count].mail.take(&mut inner(parcel));
        }
        (parts, inner(self.account))
    }

    /// Works off the windows of one thread.
    fn attend(&self, thread: usize, context: W::Context<'_>) {
        let _guard = Guard(self);
        while self.meet(|| self.lead(context)) {
            let start = self.start.load(Ordering::Acquire);
            if start == NEVER {
                return;
            }
            let mut part = lock(&self.parts[thread]);
            let threads = self.parts.len();
            for other in 0..threads {
                part.mail.take(&mut lock(&self.parcels[other * threads + thread]));
            }
            let end = start.saturating_add(W::lookahead(context)).min(self.until);
            part.window(start, end, context);
            for (other, parcel) in part.mail.away.iter_mut().enumerate() {
                if !parcel.is_empty() {
                    lock(&self.parcels[thread * threads + other]).append(parcel);
                }
            }
            let said = &self.said[thread];
            said.soonest.store(part.soonest(), Ordering::Release);
            said.busy.store(part.busy, Ordering::Release);
            said.news.store(W::has_news(&part.said), Ordering::Release);
            said.left.store(W::left(&part.said), Ordering::Release);
        }
    }

    /// What the last to arrive does: looks when the next window begins, and works off what is not worth a meeting.
    fn lead(&self, context: W::Context<'_>) {
        let said = self.said.iter();
        let busy: usize = said.clone().map(|said| said.busy.load(Ordering::Acquire)).sum();
        let news = said.clone().any(|said| said.news.load(Ordering::Acquire));
        let mut account = lock(&self.account);
        let ended =
            account.awaits_the_end() && said.clone().all(|said| said.left.load(Ordering::Acquire) == 0);
        let few = FEW * self.parts.len();
        let start = if busy > few && !news && !ended {
            let soonest = said.map(|said| said.soonest.load(Ordering::Acquire)).min().unwrap_or(NEVER);
            if soonest >= self.until { NEVER } else { soonest }
        } else {
            let mut parts: Vec<_> = self.parts.iter().map(lock).collect();
            for (number, parcel) in self.parcels.iter().enumerate() {
                parts[number % self.parts.len()].mail.take(&mut lock(parcel));
            }
            alone(&mut *account, &mut parts, few, context)
        };
        self.start.store(start, Ordering::Release);
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
struct Guard<'a, W: World>(&'a Meeting<W>);

impl<W: World> Drop for Guard<'_, W> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.broken.store(true, Ordering::Release);
            self.0.go_on();
        }
    }
}
