//! Source ports of the real fabric for wanted paths, found by prediction.
use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddrV4};

use railtwin_fabric::LinkId;
use railtwin_routing::source_port::{FIRST_PORT, LAST_PORT};
use railtwin_units::stream;

use crate::host::LabError;
use crate::netlink::LabFlow;
use crate::plant::PlantNic;
use crate::predict::Predictor;

/// Ports that are tried for one path: a fabric with 256 paths between two hosts needs 256 on average, and 2,048 miss a path
/// with a chance of 1 in 3,000.
const TRIES: u32 = 2_048;

/// Ports that were given out. One that was used is not given out again until all others were: its connection may linger.
#[derive(Debug, Default)]
pub(super) struct Ports {
    next: BTreeMap<(Ipv4Addr, SocketAddrV4), u32>,
}

/// Number of the ports of RoCE v2.
const SPAN: u32 = LAST_PORT as u32 - FIRST_PORT as u32 + 1;

impl Ports {
    /// A port from which a flow takes the path that `is_wanted` accepts; none among the next ones. `draw` says where the
    /// first search of a pair of ends begins.
    pub(super) fn find(
        &mut self,
        predictor: &mut Predictor<'_>,
        source: &PlantNic,
        (protocol, to): (u8, SocketAddrV4),
        draw: u64,
        is_wanted: impl Fn(&[LinkId]) -> bool,
    ) -> Result<Option<u16>, LabError> {
        let begin = stream::mix(draw ^ u64::from(u32::from(source.address)) << 16 ^ u64::from(to.port()));
        let next = self.next.entry((source.address, to)).or_insert(begin as u32 % SPAN);
        let mut links = Vec::new();
        for _ in 0..TRIES {
            let port = FIRST_PORT + (*next % SPAN) as u16;
            *next += 1;
            links.clear();
            let flow = LabFlow { protocol, from: SocketAddrV4::new(source.address, port), to };
            if predictor.path(source, &flow, &mut links)? && is_wanted(&links) {
                return Ok(Some(port));
            }
        }
        Ok(None)
    }
}
