//! Packets of one flow over all links that routing permits, evenly at every switch: packet spraying.

use std::collections::BTreeMap;

use railtwin_fabric::{DeviceId, LinkId};

use crate::route::{NicPort, NoRoute, Routing};

impl Routing<'_> {
    /// The share of a flow's packets on each link, ascending by link, when every switch sends each packet to
    /// a member of the group by turn. Access links included; those of the source sum to 1, and so do those
    /// of the target.
    ///
    /// # Errors
    /// [`NoRoute`] if the source port or the target is down or out of reach.
    pub fn spread(&self, source: NicPort, target_nic: DeviceId) -> Result<Vec<(LinkId, f64)>, NoRoute> {
        let (leaf, access) = self.enter(source, target_nic)?;
        let mut shares = BTreeMap::from([(access, 1.0)]);
        // Paths are as short as can be, so a wave of switches holds each switch once and none returns.
        let mut wave = BTreeMap::from([(leaf, 1.0)]);
        while let Some((switch, share)) = wave.pop_first() {
            let group = self.forwarding.next_links(switch, target_nic);
            if group.is_empty() {
                return Err(self.unreachable(switch, target_nic));
            }
            for &link in group {
                let part = share / group.len() as f64;
                *shares.entry(link).or_insert(0.0) += part;
                if let Some(next) = self.fabric.switch_row(self.fabric.target(link)) {
                    *wave.entry(next).or_insert(0.0) += part;
                }
            }
        }
        Ok(shares.into_iter().collect())
    }
}
