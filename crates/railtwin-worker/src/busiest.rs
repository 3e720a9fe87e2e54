//! The connections that a heartbeat shows in `s` and `r`, of a rank that has several.
use crate::events::ConnectionName;
use crate::tcp_info::TcpReading;

/// Another connection takes the place of the one that is shown when it was busy for this many times as long: readings
/// are compared from heartbeat to heartbeat, so that the choice should stay.
const FACTOR: u64 = 2;

/// Keeps the choice over heartbeats.
#[derive(Debug, Default)]
pub(crate) struct Busiest {
    before: Vec<u64>,
    sends: Option<usize>,
}

/// Time with something to send or unacknowledged, less the time in which the receiver did not read, us.
const fn busy_us(reading: &TcpReading) -> u64 {
    reading.busy.saturating_sub(reading.receiver_limited)
}

impl Busiest {
    /// Chooses the connections to send and to receive, by their places: the one that was busy for longest since the heartbeat
    /// before, and the one that has received nothing for longest.
    pub(crate) fn choose(
        &mut self,
        names: &[ConnectionName],
        readings: &[Option<TcpReading>],
    ) -> (Option<usize>, Option<usize>) {
        self.before.resize(names.len(), 0);
        let grown = |at: usize| {
            let reading = readings[at].filter(|_| names[at].sends)?;
            Some(busy_us(&reading).saturating_sub(self.before[at]))
        };
        let most = (0..names.len())
            .filter_map(|at| Some((grown(at)?, at)))
            .max_by_key(|(grown, at)| (*grown, usize::MAX - at));
        if let Some((most, at)) = most {
            let stays = self.sends.and_then(grown).is_some_and(|own| most <= FACTOR * own);
            if !stays {
                self.sends = Some(at);
            }
        }
        for (before, reading) in self.before.iter_mut().zip(readings) {
            *before = reading.as_ref().map_or(*before, busy_us);
        }
        let silent = |at: &usize| readings[*at].map_or(0, |reading| reading.last_received);
        let receives =
            (0..names.len()).filter(|at| names[*at].receives && readings[*at].is_some()).max_by_key(silent);
        (self.sends.filter(|at| readings[*at].is_some()), receives)
    }
}
