//! Moves lanes to other source ports while data flow, at both ends.
//!
//! The sender opens a new connection from the new port and greets; meanwhile it goes on over the present one. The receiver
//! answers the greeting with the number of bytes that it has read of the lane, and drops the connection before. The sender
//! goes back to that byte. No byte is lost or read twice, even where the old path drops everything.
use std::io::Write;
use std::net::TcpListener;
use std::os::fd::{AsFd, BorrowedFd};

use nix::poll::{PollFd, PollFlags};

use crate::attempt::{Attempt, AttemptOutcome, LaneEnds};
use crate::connections::{Connections, Interruption};
use crate::events::Channel;
use crate::greeting::Greeting;
use crate::job::{Algorithm, Job};
use crate::lane::SendLane;
use crate::newcomer::Newcomers;
use crate::path_lines::{MasterLine, RankLine};
use crate::path_master::{LaneGroup, PathMaster};
use crate::tcp_options::close_at_once;

/// Most connections of a lane that may have been greeted and have not answered.
const GREETED_MAX: usize = 8;

/// A lane to send over: the place of its group, and its number.
type LaneName = (usize, usize);

/// What a rank needs for moves.
#[derive(Debug)]
pub(crate) struct PathService {
    job: Job,
    rank: usize,
    listener: TcpListener,
    master: PathMaster,
    groups: Vec<LaneGroup>,
    /// Lanes with attempts, or with bytes to be sent again.
    active: Vec<LaneName>,
    newcomers: Newcomers,
    /// Whether this rank has read all that it ever reads.
    pub(crate) is_closing: bool,
}

fn lane_of<'a>(
    all: &'a mut [(Algorithm, Connections)],
    groups: &[LaneGroup],
    (group, lane): LaneName,
) -> Option<&'a mut SendLane> {
    let group = groups.get(group)?;
    let (_, connections) = all.iter_mut().find(|one| one.0 == group.algorithm)?;
    connections.outgoing_mut(group.to).get_mut(lane)
}

impl PathService {
    pub(crate) fn new(
        job: Job,
        rank: usize,
        listener: TcpListener,
        master: PathMaster,
        groups: Vec<LaneGroup>,
    ) -> Self {
        let newcomers = Newcomers::default();
        Self { job, rank, listener, master, groups, active: Vec::new(), newcomers, is_closing: false }
    }

    /// Whether nothing but its listener and the master is to be waited for.
    pub(crate) const fn is_quiet(&self) -> bool {
        self.active.is_empty() && self.newcomers.is_empty() && !self.master.has_early()
    }

    /// A descriptor that is open as long as the service.
    pub(crate) fn any_fd(&self) -> BorrowedFd<'_> {
        self.listener.as_fd()
    }

    /// Adds the listener and the master to what is polled: two places.
    pub(crate) fn watch<'a>(&'a self, mut add: impl FnMut(PollFd<'a>)) {
        add(PollFd::new(self.listener.as_fd(), PollFlags::POLLIN));
        if let Some((fd, flags)) = self.master.awaited() {
            add(PollFd::new(fd, flags));
        }
    }

    /// Adds the sockets of moves that are under way. Returns when the next one is due without anything coming, ns.
    pub(crate) fn watch_moves<'a>(
        &'a self,
        all: &'a [(Algorithm, Connections)],
        fds: &mut Vec<PollFd<'a>>,
    ) -> Option<u64> {
        let mut due_ns: Option<u64> = None;
        self.newcomers.watch(fds);
        for lane in self.lanes(all) {
            if lane.is_behind() {
                fds.push(PollFd::new(lane.stream.as_fd(), PollFlags::POLLOUT));
            }
            for attempt in &lane.attempts {
                fds.extend(attempt.awaited().map(|(fd, flags)| PollFd::new(fd, flags)));
                due_ns = due_ns.into_iter().chain(attempt.due_ns()).min();
            }
        }
        due_ns
    }

    /// Lanes with something to do.
    fn lanes<'a>(&'a self, all: &'a [(Algorithm, Connections)]) -> impl Iterator<Item = &'a SendLane> {
        self.active.iter().filter_map(move |(group, lane)| {
            let group = self.groups.get(*group)?;
            let (_, connections) = all.iter().find(|one| one.0 == group.algorithm)?;
            connections.outgoing(group.to).get(*lane)
        })
    }

    /// Whether bytes are to be sent again over a connection that stands.
    pub(crate) fn is_behind(&self, all: &[(Algorithm, Connections)]) -> bool {
        self.lanes(all).any(SendLane::is_behind)
    }

    /// Goes on with all moves as far as they go without blocking.
    ///
    /// # Errors
    /// The master ended the job or sent anything unknown, or a lane lost bytes.
    pub(crate) fn serve(
        &mut self,
        all: &mut [(Algorithm, Connections)],
        channel: &Channel,
        now_ns: u64,
    ) -> Result<(), Interruption> {
        let early = self.master.early();
        let lines = self.master.receive().map_err(Interruption::Ended)?;
        for line in early.into_iter().chain(lines) {
            match line {
                MasterLine::Move { id, lane, port } => self.begin(all, id, lane, port, now_ns),
                MasterLine::Error { message, .. } => {
                    return Err(Interruption::Ended(format!("the path master ends the job: {message}")));
                }
                MasterLine::Ports { id, .. } => {
                    let text = format!("the path master gives ports to id {id}, which has some already");
                    return Err(Interruption::Ended(text));
                }
            }
        }
        self.newcomers.accept(&self.listener);
        self.welcome(all, channel);
        self.go_on(all, channel, now_ns)?;
        self.master.flush();
        Ok(())
    }

    /// Begins a move, or says why not.
    fn begin(&mut self, all: &mut [(Algorithm, Connections)], id: u64, at: usize, port: u16, now_ns: u64) {
        let name = (usize::try_from(id).unwrap_or(usize::MAX), at);
        let outcome = match (lane_of(all, &self.groups, name), self.groups.get(name.0)) {
            (Some(lane), Some(group)) if port > 0 => {
                let ends = LaneEnds { job: &self.job, from: self.rank, to: group.to };
                begin_move(lane, ends, port, now_ns)
            }
            (Some(_), Some(_)) => Err("a source port is 1 or more".to_owned()),
            (None, Some(_)) => Err(format!("lanes are 0 to {}", self.job.lanes - 1)),
            _ => Err(format!("ids are 0 to {}", self.groups.len().saturating_sub(1))),
        };
        match outcome {
            Ok(true) => self.master.send(&RankLine::Moved { id, lane: at, port }),
            Ok(false) if self.active.contains(&name) => {}
            Ok(false) => self.active.push(name),
            Err(message) => {
                self.master.send(&RankLine::Failed { id, lane: at, port, message: &message });
            }
        }
    }

    /// Goes over to the connections whose greetings have come.
    fn welcome(&mut self, all: &mut [(Algorithm, Connections)], channel: &Channel) {
        let (ranks, rank) = (self.job.ranks(), self.rank);
        while let Some((greeting, mut stream)) = self.newcomers.next_greeted() {
            let Greeting { algorithm, from, lane, generation, .. } = greeting;
            let of = all.iter_mut().find(|one| one.0 == algorithm);
            let lane = of.and_then(|(_, connections)| connections.incoming_mut(from).get_mut(lane));
            // An older generation was given up meanwhile; anything else is no rank of this job.
            let Some(lane) = lane.filter(|lane| {
                (greeting.to, greeting.ranks) == (rank, ranks) && generation > lane.generation
            }) else {
                continue;
            };
            close_at_once(&stream);
            // A new connection has room for an answer. One that broke is of no use.
            if stream.write_all(&lane.consumed.to_le_bytes()).is_err() {
                continue;
            }
            let before = lane.go_over(stream, generation);
            // Its source port may be wanted again before a close is acknowledged.
            close_at_once(&before);
            if self.is_closing {
                lane.say_goodbye();
            }
            channel.relist(lane.slot, &lane.stream);
        }
    }

    /// Goes on with attempts, and with bytes to be sent again.
    fn go_on(
        &mut self,
        all: &mut [(Algorithm, Connections)],
        channel: &Channel,
        now_ns: u64,
    ) -> Result<(), Interruption> {
        let mut active = std::mem::take(&mut self.active);
        for name in &active {
            let (Some(lane), Some(group)) = (lane_of(all, &self.groups, *name), self.groups.get(name.0))
            else {
                continue;
            };
            let ends = LaneEnds { job: &self.job, from: self.rank, to: group.to };
            let (id, at) = (name.0 as u64, name.1);
            let mut turn = 0;
            while let Some(attempt) = lane.attempts.get_mut(turn) {
                let newest = &mut lane.generation;
                let greeting = || {
                    *newest += 1;
                    let (algorithm, ranks) = (group.algorithm, ends.job.ranks());
                    Greeting { algorithm, from: ends.from, to: ends.to, ranks, lane: at, generation: *newest }
                };
                let port = attempt.port;
                match attempt.go_on(ends, greeting, now_ns) {
                    AttemptOutcome::Pending => turn += 1,
                    AttemptOutcome::Refused(message) => {
                        lane.attempts.remove(turn);
                        self.master.send(&RankLine::Failed { id, lane: at, port, message: &message });
                    }
                    AttemptOutcome::Answered(stream, consumed) => {
                        lane.attempts.drain(..=turn);
                        turn = 0;
                        lane.go_over(stream, consumed).map_err(Interruption::Ended)?;
                        channel.relist(lane.slot, &lane.stream);
                        self.master.send(&RankLine::Moved { id, lane: at, port });
                    }
                }
            }
            // A connection that breaks here is found when the rank sends over it.
            let _ = lane.catch_up();
        }
        active.retain(|name| lane_of(all, &self.groups, *name).is_some_and(|lane| lane.is_active()));
        self.active = active;
        Ok(())
    }
}

/// Begins to move a lane. Returns whether it is there already.
///
/// # Errors
/// Why it stays.
fn begin_move(lane: &mut SendLane, ends: LaneEnds<'_>, port: u16, now_ns: u64) -> Result<bool, String> {
    if lane.attempts.last().is_some_and(|newest| newest.port == port) {
        return Ok(false);
    }
    // A newer move takes the place of one that the receiver cannot know of.
    if lane.attempts.last().is_some_and(|newest| !newest.has_greeted()) {
        lane.attempts.pop();
    }
    let is_present = lane.stream.local_addr().is_ok_and(|own| own.port() == port);
    if is_present && lane.attempts.is_empty() {
        return Ok(true);
    }
    if is_present || lane.attempts.iter().any(|attempt| attempt.port == port) {
        return Err("an earlier connection of this lane holds the port until a move ends".to_owned());
    }
    if lane.attempts.len() >= GREETED_MAX {
        return Err(format!("{GREETED_MAX} moves of this lane wait for the receiver"));
    }
    let attempt = Attempt::start(ends, port, now_ns).map_err(|error| error.to_string())?;
    lane.attempts.push(attempt);
    Ok(false)
}
