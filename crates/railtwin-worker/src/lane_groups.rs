//! Readings of lanes as readings of groups: one for each direction, peer and algorithm, as records have them.
use crate::events::ConnectionName;
use crate::tcp_info::TcpReading;

/// Connections of a rank, and the groups that they are lanes of.
#[derive(Debug, Default)]
pub(crate) struct LaneGroups {
    /// Connections, as the rank lists them.
    pub(crate) names: Vec<ConnectionName>,
    /// Group of each connection.
    group_of: Vec<usize>,
    /// Counters of each lane's earlier connections.
    before: Vec<TcpReading>,
    /// The newest reading of each connection.
    newest: Vec<Option<TcpReading>>,
    /// Groups: the name of each group's first connection, and their readings.
    pub(crate) groups: Vec<ConnectionName>,
    /// Lanes of each group.
    sizes: Vec<u64>,
    pub(crate) readings: Vec<Option<TcpReading>>,
}

impl LaneGroups {
    /// Takes the list over. A connection that replaced another one goes on from its counters.
    pub(crate) fn rename(&mut self, names: Vec<ConnectionName>) {
        self.before.resize(names.len(), TcpReading::default());
        self.newest.resize(names.len(), None);
        for (at, (old, new)) in self.names.iter().zip(&names).enumerate() {
            if (old.local, old.remote) != (new.local, new.remote)
                && let Some(reading) = self.newest[at].take()
            {
                self.before[at].add_counters(&reading);
            }
        }
        self.groups.clear();
        self.sizes.clear();
        self.group_of.clear();
        for name in &names {
            let key = |one: &ConnectionName| (one.algorithm, one.peer, one.sends, one.receives);
            let known = self.groups.iter().position(|one| key(one) == key(name));
            let group = known.unwrap_or(self.groups.len());
            if known.is_none() {
                self.groups.push(*name);
                self.sizes.push(0);
            }
            self.group_of.push(group);
            self.sizes[group] += 1;
        }
        self.names = names;
    }

    /// Sums readings of connections up, by group. A group without any connection that is there has none.
    pub(crate) fn take(&mut self, readings: &[Option<TcpReading>]) {
        self.readings.clear();
        self.readings.resize(self.groups.len(), None);
        for (at, reading) in readings.iter().enumerate().take(self.names.len()) {
            let group = self.group_of[at];
            if let Some(reading) = reading {
                self.newest[at] = Some(*reading);
                match &mut self.readings[group] {
                    Some(sum) => sum.add_lane(reading),
                    empty => *empty = Some(*reading),
                }
            }
        }
        for (at, reading) in readings.iter().enumerate().take(self.names.len()) {
            if let Some(sum) = &mut self.readings[self.group_of[at]] {
                sum.add_counters(&self.before[at]);
                if let (None, Some(newest)) = (reading, &self.newest[at]) {
                    sum.add_counters(newest);
                }
            }
        }
        for (sum, lanes) in self.readings.iter_mut().zip(&self.sizes) {
            if let Some(sum) = sum {
                sum.average_times(*lanes);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(port: u16, peer: u32, lane: u8) -> ConnectionName {
        let ends = ((1, port), (2, 47_000));
        ConnectionName {
            local: ends.0,
            remote: ends.1,
            peer,
            sends: true,
            receives: false,
            algorithm: 0,
            lane,
        }
    }

    #[test]
    fn lanes_are_summed_up_and_moves_lose_no_counters() {
        let reading = |scale: u64| Some(TcpReading::sample(scale));
        let mut lanes = LaneGroups::default();
        lanes.rename(vec![name(1, 5, 0), name(2, 5, 1), name(3, 6, 0), name(4, 6, 1)]);
        lanes.take(&[reading(1), reading(3), None, None]);
        assert_eq!(lanes.groups.len(), 2);
        let sum = |lanes: &LaneGroups| lanes.readings[0].map(|one| (one.acked(), one.busy));
        assert_eq!((sum(&lanes), lanes.readings[1]), (Some((400, 20)), None));
        lanes.rename(vec![name(9, 5, 0), name(2, 5, 1), name(3, 6, 0), name(4, 6, 1)]);
        lanes.take(&[None, reading(3), None, None]);
        assert_eq!(sum(&lanes), Some((400, 20)), "a lane that has just moved keeps its counters");
        lanes.take(&[reading(2), reading(3), None, None]);
        assert_eq!(sum(&lanes), Some((600, 30)));
    }
}
