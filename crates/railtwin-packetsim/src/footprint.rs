//! What a run takes before it runs: bytes by the rows of a case.
use std::mem::size_of;

use railtwin_engine::Extent;
use railtwin_units::SimTime;

use crate::program::Leg;
use crate::receiver::Receiver;
use crate::sender::{Message, Sender};
use crate::worker;

/// Bytes of the state of congestion control that a sender holds, of the largest.
const CONTROL: usize = 72;
/// Bytes of an operation at a host that takes part in it, in a tree that is two thirds full.
const TIMES: f64 = 1.5 * (size_of::<u32>() + 2 * size_of::<u64>()) as f64;

/// Numbers of a queue pair in tables beside these.
const OF_QUEUE_PAIR: usize = 8;

/// Most bytes that one replicate holds at once beside fabric and plan, without packets under way; `hosts` take part.
pub fn bytes(extent: &Extent, hosts: u64) -> f64 {
    let legs = (extent.edges + extent.in_switch) as f64;
    // A leg begins at one host and ends at one, waits for another, and is posted as a message at least.
    let leg = size_of::<Leg>() + worker::BYTES_OF_LEG + 6 * size_of::<u32>();
    let queue_pair = size_of::<Sender<[u8; CONTROL]>>()
        + size_of::<Receiver>()
        + size_of::<Message>()
        + OF_QUEUE_PAIR * size_of::<u32>();
    let hops = 2.0 * extent.links_each * size_of::<u16>() as f64;
    let times = extent.operations as f64 * (2 * size_of::<SimTime>()) as f64
        + extent.operations as f64 * hosts as f64 * TIMES;
    let running = extent.lowering_bytes()
        + extent.path_bytes()
        + legs * leg as f64
        + extent.queue_pairs as f64 * (queue_pair as f64 + hops)
        + times;
    running.max(extent.lowered_bytes(false))
}
