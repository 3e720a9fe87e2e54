//! Runs a schedule over connections: sends and receives side by side, with the waits of each stage.
use std::io::ErrorKind;

use crate::clock;
use crate::connections::{Break, Connections, Interruption};
use crate::events::{Channel, Word};
use crate::lane::{LANES_MAX, lane_part};
use crate::links::Links;
use crate::schedule::{ELEMENT, Schedule};
use crate::wait::{UnderWay, serve_what_came, wait_for};

/// Executes schedules; its buffers are made once.
#[derive(Debug)]
pub(crate) struct Exchange {
    scratch: Vec<u8>,
    /// Waits of each stage of the newest run, us: to receive; until the piece to send has come; to send.
    pub(crate) waits: Vec<[u64; 3]>,
    /// Readings of the clock that only serve the records.
    pub(crate) clock_reads: u64,
}

/// Where a run stands.
struct Progress {
    received: usize,
    sent: usize,
    /// Bytes of the piece that is on its way, by lane.
    receiving: [usize; LANES_MAX],
    sending: [usize; LANES_MAX],
}

impl Exchange {
    pub(crate) fn for_schedules<'a>(schedules: impl Iterator<Item = &'a Schedule> + Clone) -> Self {
        let longest = |of: &Schedule| of.receives.iter().map(|one| one.end - one.begin).max().unwrap_or(0);
        let scratch = schedules.clone().map(longest).max().unwrap_or(0);
        let stages = schedules.map(Schedule::stages).max().unwrap_or(0);
        Self { scratch: vec![0; scratch], waits: Vec::with_capacity(stages), clock_reads: 0 }
    }

    /// Runs a schedule on a buffer.
    ///
    /// # Errors
    /// A connection broke, or the path master ended the job.
    pub(crate) fn run(
        &mut self,
        schedule: &Schedule,
        links: &mut Links,
        buffer: &mut [u8],
        channel: &Channel,
    ) -> Result<(), Interruption> {
        self.waits.clear();
        self.waits.resize(schedule.stages(), [0; 3]);
        let Some(place) = links.place(schedule.algorithm) else { return Ok(()) };
        serve_what_came(links, channel)?;
        let mut at = Progress { received: 0, sent: 0, receiving: [0; LANES_MAX], sending: [0; LANES_MAX] };
        loop {
            let connections = &mut links.all[place].1;
            let has_received = self.receive(schedule, connections, buffer, &mut at)?;
            if has_received {
                channel.set(Word::Received, at.received as u64);
            }
            let has_sent = send(schedule, connections, buffer, &mut at)?;
            if has_sent {
                channel.set(Word::Sent, at.sent as u64);
            }
            if at.received == schedule.receives.len() && at.sent == schedule.sends.len() {
                // A rank that computes sends nothing again: all peers have what they wait for before it leaves.
                if links.service.as_ref().is_none_or(|service| !service.is_behind(&links.all)) {
                    return Ok(());
                }
            } else if has_received || has_sent {
                continue;
            }
            self.wait(schedule, links, place, &at, channel)?;
        }
    }

    /// Receives what has come; returns whether anything has.
    fn receive(
        &mut self,
        schedule: &Schedule,
        connections: &mut Connections,
        buffer: &mut [u8],
        at: &mut Progress,
    ) -> Result<bool, Break> {
        let mut has_moved = false;
        while let Some(one) = schedule.receives.get(at.received) {
            let lanes = connections.incoming_mut(one.peer);
            let count = lanes.len();
            let mut is_whole = true;
            for (lane, done) in lanes.iter_mut().zip(&mut at.receiving) {
                let (begin, end) = lane_part(one, count, lane.lane);
                while begin + *done < end {
                    let from = begin + *done;
                    let into = if one.adds {
                        &mut self.scratch[from - one.begin..end - one.begin]
                    } else {
                        &mut buffer[from..end]
                    };
                    match lane.read(into) {
                        Ok(0) => return Err(Break { peer: one.peer, sends: false, errno: 0 }),
                        Ok(count) => *done += count,
                        Err(error) if error.kind() == ErrorKind::WouldBlock => {
                            is_whole = false;
                            break;
                        }
                        Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                        Err(error) => return Err(Break::of(false, one.peer, &error)),
                    }
                    has_moved = true;
                }
            }
            if !is_whole {
                return Ok(has_moved);
            }
            if one.adds {
                add(&mut buffer[one.begin..one.end], &self.scratch[..one.end - one.begin]);
            }
            at.received += 1;
            at.receiving[..count].fill(0);
            has_moved = true;
        }
        Ok(has_moved)
    }

    /// Waits until something can go on, and books the wait to the stages that it held.
    fn wait(
        &mut self,
        schedule: &Schedule,
        links: &mut Links,
        place: usize,
        at: &Progress,
        channel: &Channel,
    ) -> Result<(), Interruption> {
        let receive = schedule.receives.get(at.received);
        let send = schedule.sends.get(at.sent);
        let is_ready = send.is_some_and(|one| at.received >= one.needs);
        let from_ns = clock::monotonic_ns();
        let receiving = receive.map(|transfer| UnderWay { transfer, done: &at.receiving });
        let sending = send.map(|transfer| UnderWay { transfer, done: &at.sending });
        let outcome = wait_for(links, place, receiving, sending, is_ready, channel);
        let waited_us = (clock::monotonic_ns() - from_ns) / 1_000;
        self.clock_reads += 2;
        if receive.is_some() {
            self.waits[at.received][0] += waited_us;
        }
        if send.is_some() {
            self.waits[at.sent][1 + usize::from(is_ready)] += waited_us;
        }
        outcome
    }
}

/// Sends what can be sent; returns whether anything could.
fn send(
    schedule: &Schedule,
    connections: &mut Connections,
    buffer: &[u8],
    at: &mut Progress,
) -> Result<bool, Break> {
    let mut has_moved = false;
    while let Some(one) = schedule.sends.get(at.sent).filter(|one| at.received >= one.needs) {
        let lanes = connections.outgoing_mut(one.peer);
        let count = lanes.len();
        let mut is_whole = true;
        for (number, (lane, done)) in lanes.iter_mut().zip(&mut at.sending).enumerate() {
            let (begin, end) = lane_part(one, count, number);
            while begin + *done < end {
                match lane.write(&buffer[begin + *done..end]) {
                    Ok(count) => *done += count,
                    Err(error) if error.kind() == ErrorKind::WouldBlock => {
                        is_whole = false;
                        break;
                    }
                    Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                    Err(error) => return Err(Break::of(true, one.peer, &error)),
                }
                has_moved = true;
            }
        }
        if !is_whole {
            return Ok(has_moved);
        }
        at.sent += 1;
        at.sending[..count].fill(0);
        has_moved = true;
    }
    Ok(has_moved)
}

/// Adds elements; sums wrap.
fn add(sums: &mut [u8], more: &[u8]) {
    for (sum, one) in sums.chunks_exact_mut(ELEMENT).zip(more.chunks_exact(ELEMENT)) {
        let (Ok(left), Ok(right)) = (<[u8; ELEMENT]>::try_from(&*sum), <[u8; ELEMENT]>::try_from(one)) else {
            continue;
        };
        let total = u32::from_le_bytes(left).wrapping_add(u32::from_le_bytes(right));
        sum.copy_from_slice(&total.to_le_bytes());
    }
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::*;
    use crate::collective::{fill, is_right, stop_votes};
    use crate::job::{Algorithm, CollectiveSpec};
    use crate::lane::{ReceiveLane, SendLane};
    use crate::schedule::neighbors;

    /// Connections between all ranks of an algorithm, within this process; with several lanes, one way each.
    fn connected(algorithm: Algorithm, ranks: usize, lanes: usize) -> Vec<Links> {
        let listener = TcpListener::bind("127.0.0.1:0").expect("loopback is there");
        let address = listener.local_addr().expect("it is bound");
        let mut all: Vec<Connections> = (0..ranks).map(|_| Connections::default()).collect();
        let pair = || {
            let here = TcpStream::connect(address).expect("it listens");
            let (there, _) = listener.accept().expect("it connects");
            for one in [&here, &there] {
                one.set_nonblocking(true).expect("sockets can be nonblocking");
            }
            [here, there]
        };
        let clone = |stream: &TcpStream| stream.try_clone().expect("descriptors are left");
        for rank in 0..ranks {
            for to in neighbors(algorithm, ranks, rank).0 {
                for lane in 0..lanes {
                    let [here, there] = pair();
                    let is_both = algorithm != Algorithm::Ring;
                    if is_both {
                        let [back, forth] = if lanes > 1 { pair() } else { [clone(&there), clone(&here)] };
                        let (back, forth) =
                            (SendLane::new(back, None, None), ReceiveLane::new(lane, forth, None, None));
                        all[to].sends.entry(rank).or_default().push(back);
                        all[rank].receives.entry(to).or_default().push(forth);
                    }
                    all[rank].sends.entry(to).or_default().push(SendLane::new(here, None, None));
                    all[to].receives.entry(rank).or_default().push(ReceiveLane::new(lane, there, None, None));
                }
            }
        }
        all.into_iter().map(|one| Links { all: vec![(algorithm, one)], service: None }).collect()
    }

    fn results(
        algorithm: Algorithm,
        ranks: usize,
        lanes: usize,
        bytes: u64,
        chunk: u64,
    ) -> Vec<(bool, bool)> {
        let spec = CollectiveSpec { algorithm, bytes, chunk };
        let links = connected(algorithm, ranks, lanes);
        std::thread::scope(|scope| {
            let run = |(rank, mut links): (usize, Links)| {
                scope.spawn(move || {
                    let schedule = Schedule::new(&spec, ranks, rank);
                    let channel = Channel::create().expect("the kernel has memory files");
                    let mut exchange = Exchange::for_schedules(std::iter::once(&schedule));
                    let mut buffer = vec![0; schedule.buffer];
                    let mut right = true;
                    let mut votes = Vec::new();
                    for operation in 0..3 {
                        fill(
                            &schedule,
                            ranks,
                            rank,
                            operation,
                            operation == 2 && rank == ranks - 1,
                            &mut buffer,
                        );
                        exchange.run(&schedule, &mut links, &mut buffer, &channel).expect("nobody closes");
                        right &= is_right(&schedule, ranks, rank, operation, &buffer);
                        votes.push(stop_votes(&schedule, ranks, rank, &buffer) > 0);
                    }
                    (right, votes == [false, false, true])
                })
            };
            let threads: Vec<_> = links.into_iter().enumerate().map(run).collect();
            threads.into_iter().map(|thread| thread.join().expect("no rank fails")).collect()
        })
    }

    #[test]
    fn collectives_are_right_for_several_sizes_of_world_and_data() {
        for algorithm in [Algorithm::Ring, Algorithm::Tree, Algorithm::AllToAll] {
            for ranks in [2, 3, 4, 5, 8] {
                for (bytes, chunk) in
                    [(4, 4), (20, 8), (4_000, 1_024), (1 << 20, 128 << 10), (999_996, 64_000)]
                {
                    let all = results(algorithm, ranks, 1, bytes, chunk);
                    let right = vec![(true, true); ranks];
                    assert_eq!(all, right, "{algorithm:?} of {ranks} ranks, {bytes} bytes in {chunk}");
                }
            }
        }
    }

    #[test]
    fn collectives_are_right_over_several_lanes() {
        for algorithm in [Algorithm::Ring, Algorithm::Tree, Algorithm::AllToAll] {
            for (ranks, lanes) in [(2, 2), (2, 3), (3, 4), (4, 3), (5, 2), (3, 16)] {
                for (bytes, chunk) in [(4, 4), (20, 8), (3_996, 1_020), (999_996, 64_000)] {
                    let all = results(algorithm, ranks, lanes, bytes, chunk);
                    let right = vec![(true, true); ranks];
                    assert_eq!(
                        all, right,
                        "{algorithm:?}, {ranks} ranks, {lanes} lanes, {bytes} bytes in {chunk}"
                    );
                }
            }
        }
    }

    #[test]
    fn a_wrong_result_is_found() {
        for algorithm in [Algorithm::Ring, Algorithm::Tree, Algorithm::AllToAll] {
            let spec = CollectiveSpec { algorithm, bytes: 400, chunk: 64 };
            let schedule = Schedule::new(&spec, 2, 0);
            let mut buffer = vec![0; schedule.buffer];
            fill(&schedule, 2, 0, 7, false, &mut buffer);
            assert!(!is_right(&schedule, 2, 0, 7, &buffer), "{algorithm:?}: nothing was exchanged");
        }
    }

    #[test]
    fn a_peer_that_closes_is_found() {
        let mut all = connected(Algorithm::Ring, 2, 1);
        drop(all.pop());
        let spec = CollectiveSpec { algorithm: Algorithm::Ring, bytes: 4_000_000, chunk: 4_000_000 };
        let schedule = Schedule::new(&spec, 2, 0);
        let mut exchange = Exchange::for_schedules(std::iter::once(&schedule));
        let channel = Channel::create().expect("the kernel has memory files");
        let found = exchange.run(&schedule, &mut all[0], &mut vec![0; schedule.buffer], &channel);
        assert!(matches!(found, Err(Interruption::Broken(Break { peer: 1, .. }))), "{found:?}");
    }
}
