//! Paths of queue pairs as a run hands them on: a large step has millions.
use std::ops::Deref;

use railtwin_fabric::{DeviceId, LinkId};

use crate::choose::ChosenPaths;
use crate::connection::Connection;

/// One queue pair's path.
#[derive(Clone, PartialEq, Debug)]
pub struct FlowPath {
    /// Pattern over the whole case.
    pub pattern: u32,
    /// Bundle, counted over the case before rank classes join them.
    pub bundle: u32,
    /// Source NIC.
    pub source: DeviceId,
    /// Target NIC.
    pub target: DeviceId,
    /// UDP source port.
    pub source_port: u16,
    /// Index of the queue pair in its connection.
    pub queue_pair: u32,
    /// Port of the target NIC that the flow landed on.
    pub landed_port: u32,
    /// Bytes of the queue pair for each byte of the operation, under a static split.
    pub share: f64,
    /// Links from NIC to NIC in the order in which packets cross them; where packets are spread, all links of a hop
    /// side by side.
    pub links: PathLinks,
}

/// Links that a [`PathLinks`] holds without memory of its own: up and down three tiers, and one more.
const FEW: usize = 7;

/// The links of a path, read as a slice.
#[derive(Clone)]
pub struct PathLinks(Held);

#[derive(Clone)]
enum Held {
    Few { count: u8, links: [LinkId; FEW] },
    Many(Box<[LinkId]>),
}

impl PathLinks {
    /// Bytes outside itself that a path of `links` links takes from the allocator, about.
    pub(crate) fn bytes_outside(links: f64) -> f64 {
        // The allocator adds a header of 16 bytes, and rounds up to 16: 8 more on average.
        if links > FEW as f64 { 24.0 + links * size_of::<LinkId>() as f64 } else { 0.0 }
    }
}

impl Default for PathLinks {
    /// No links.
    fn default() -> Self {
        Self::from(&[][..])
    }
}

impl From<&[LinkId]> for PathLinks {
    fn from(all: &[LinkId]) -> Self {
        if all.len() > FEW {
            return Self(Held::Many(all.into()));
        }
        let mut links = [LinkId(0); FEW];
        links[..all.len()].copy_from_slice(all);
        Self(Held::Few { count: all.len() as u8, links })
    }
}

impl Deref for PathLinks {
    type Target = [LinkId];

    #[inline]
    fn deref(&self) -> &[LinkId] {
        match &self.0 {
            Held::Few { count, links } => &links[..usize::from(*count)],
            Held::Many(links) => links,
        }
    }
}

impl PartialEq for PathLinks {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl std::fmt::Debug for PathLinks {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        (**self).fmt(out)
    }
}

impl<'a> IntoIterator for &'a PathLinks {
    type Item = &'a LinkId;
    type IntoIter = std::slice::Iter<'a, LinkId>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// The queue pairs of a connection up to the first that has no route; whose bytes they carry is left open.
pub(crate) fn flow_paths<'a>(
    connection: &Connection,
    chosen: &'a ChosenPaths,
) -> impl Iterator<Item = FlowPath> + use<'a> {
    let Connection { source, target, first, count, .. } = *connection;
    let paths = (0..count).map(move |queue_pair| (queue_pair, chosen.path(first + queue_pair)));
    paths.take_while(|(_, path)| !path.links.is_empty()).map(move |(queue_pair, path)| FlowPath {
        pattern: 0,
        bundle: 0,
        source,
        target,
        source_port: path.source_port,
        queue_pair,
        landed_port: path.landed_port,
        share: 0.0,
        links: path.links.into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_of_any_number_read_as_they_were() {
        for count in [0, 1, FEW as u32, FEW as u32 + 1, 40] {
            let links: Vec<LinkId> = (0..count).map(|row| LinkId(3 * row)).collect();
            let held = PathLinks::from(&links[..]);
            assert_eq!(*held, links[..]);
            assert_eq!((&held).into_iter().count(), links.len());
            assert_eq!(held, held.clone());
        }
        assert!(size_of::<PathLinks>() <= 32, "{}", size_of::<PathLinks>());
    }
}
