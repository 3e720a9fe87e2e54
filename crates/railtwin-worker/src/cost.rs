//! Cost of recording in a rank: the CPU time of an event and of a reading of the clock, calibrated on this machine, times
//! their number. The thread's CPU clock around each event would cost more than the event.
use crate::clock;
use crate::events::{Channel, Event};

/// Events and readings of a calibration.
const COUNT: u64 = 20_000;

/// CPU time of one event and of one reading of the clock, ns.
#[derive(Clone, Copy, Debug)]
pub(crate) struct UnitCost {
    pub(crate) event_ns: f64,
    pub(crate) clock_ns: f64,
}

/// Measures both in a ring of its own. Zero where the kernel has no memory for one.
pub(crate) fn calibrate() -> UnitCost {
    let Ok(channel) = Channel::create() else { return UnitCost { event_ns: 0.0, clock_ns: 0.0 } };
    let mut events_ns = 0;
    for _ in 0..COUNT / 10_000 {
        let from_ns = clock::thread_cpu_ns();
        for at in 0..10_000 {
            channel.write(Event::Stage { waits: [at, at + 1, at + 2] });
        }
        events_ns += clock::thread_cpu_ns() - from_ns;
        channel.drain(|_| {});
    }
    let from_ns = clock::thread_cpu_ns();
    for _ in 0..COUNT {
        std::hint::black_box(clock::monotonic_ns());
    }
    let clocks_ns = clock::thread_cpu_ns() - from_ns;
    UnitCost { event_ns: events_ns as f64 / COUNT as f64, clock_ns: clocks_ns as f64 / COUNT as f64 }
}
