//! Packets of one flow over all links that routing permits, evenly at every switch: packet spraying.

use std::collections::BTreeMap;

use railtwin_fabric::{DeviceId, LinkId};

use crate::route::{NicPort, NoRoute, Routing};

impl Routing<'_> {
    /// The share of a flow's packets on each link, hop by hop and ascending by link within a hop, when every
    /// switch sends each packet to a member of the group by turn. Access links included; the source's comes first
    /// and has all, those of the target come last and sum to 1.
    ///
    /// # Errors
    /// [`NoRoute`] if the source port or the target is down or out of reach.
    pub fn spread(&self, source: NicPort, target_nic: DeviceId) -> Result<Vec<(LinkId, f64)>, NoRoute> {
        let (leaf, access) = self.enter(source, target_nic)?;
        let mut shares = vec![(access, 1.0)];
        // Paths are as short as can be, so a wave of switches holds each switch once and none returns.
        let mut wave = BTreeMap::from([(leaf, 1.0)]);
        while !wave.is_empty() {
            let (mut hop, mut next) = (BTreeMap::new(), BTreeMap::new());
            for (switch, share) in wave {
                let group = self.forwarding.next_links(switch, target_nic);
                if group.is_empty() {
                    return Err(self.unreachable(switch, target_nic));
                }
                for &link in group {
                    let part = share / group.len() as f64;
                    *hop.entry(link).or_insert(0.0) += part;
                    if let Some(row) = self.fabric.switch_row(self.fabric.target(link)) {
                        *next.entry(row).or_insert(0.0) += part;
                    }
                }
            }
            shares.extend(hop);
            wave = next;
        }
        Ok(shares)
    }
}
