//! Gaps of faults beside the bands of the simulation.
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Child;

use crate::faults::{LabFault, fault, repair, start_watcher};
use crate::gap::{GapPlan, GapSummary, first_flows, measure, summary};
use crate::host::{LabError, LabRefusal};
use crate::page::{FaultGap, GapLength};
use crate::plant::{Frr, Plant, wait_for_routes};
use crate::predict::Predictor;
use crate::probe::ends;
use crate::simulated::{SimulatedFault, gap_of};

use super::LabFinding;

/// Draws of a simulated gap.
const DRAWS: u32 = 100;
/// Time by which TCP may take longer than twice the gap of UDP, s: its shortest retransmission timer is 0.2 s.
const TCP_MORE_S: f64 = 0.4;
/// Gap that this machine may add, s: what flows without a fault feel, LAB's 2 to 7 ms with a margin.
const NOISE_S: f64 = 0.02;

/// Faults that are made: what is broken, and the directions that are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    HostLink,
    SpineLink,
    SpineDaemon,
    LeafDaemon,
    LeafDaemonWatched,
    Silent,
    SilentBfd,
}

/// The kinds for a lab with or without BFD.
pub(super) fn kinds(has_bfd: bool) -> &'static [Kind] {
    match has_bfd {
        true => &[Kind::SilentBfd],
        false => &[
            Kind::HostLink,
            Kind::SpineLink,
            Kind::SpineDaemon,
            Kind::LeafDaemon,
            Kind::LeafDaemonWatched,
            Kind::Silent,
        ],
    }
}

/// A watcher that ends with the measurement.
struct Watcher(Option<Child>);

impl Drop for Watcher {
    fn drop(&mut self) {
        if let Some(child) = &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// The uplink of the first host's leaves that most UDP flows of a measurement take, of those that TCP takes too, by its
/// name.
pub(super) fn busiest_uplink(plant: &Plant) -> Result<String, LabError> {
    let ends = ends(plant, None, None).map_err(|refusal| LabError(refusal.to_string()))?;
    let mut predictor = Predictor::new(plant)?;
    let mut uses: BTreeMap<(String, String), [usize; 2]> = BTreeMap::new();
    for flow in first_flows(ends) {
        let mut links = Vec::new();
        predictor.path(ends[0], &flow, &mut links)?;
        if let Some([end, _]) = links.get(1).and_then(|&link| plant.ends(link)) {
            uses.entry((end.node.clone(), end.interface.clone())).or_default()
                [usize::from(flow.protocol == 6)] += 1;
        }
    }
    let most = uses.into_iter().max_by_key(|(_, [udp, tcp])| (*tcp > 0, *udp));
    let ((node, interface), _) = most.ok_or_else(|| LabError("no flow takes an uplink".into()))?;
    Ok(format!("{node}:{interface}"))
}

impl Kind {
    /// The fault, and the time that is measured behind it, s.
    fn fault(self, plant: &Plant) -> Result<(LabFault, f64), LabError> {
        let uplink = || busiest_uplink(plant);
        let leaf =
            || uplink().map(|name| name.split_once(':').map_or(name.clone(), |(leaf, _)| leaf.to_owned()));
        let spine = || -> Result<String, LabError> {
            let name = uplink()?;
            let (cable, end) = plant.cable_named(&name).map_err(|refusal| LabError(refusal.to_string()))?;
            Ok(cable.ends[1 - end].node.clone())
        };
        Ok(match self {
            Self::HostLink => {
                let nic = &plant.nics[0];
                (LabFault::Link(format!("{}:{}", nic.node, nic.interfaces[0])), 2.0)
            }
            Self::SpineLink => (LabFault::Link(uplink()?), 1.5),
            Self::SpineDaemon => (LabFault::Daemon(spine()?), 2.0),
            Self::LeafDaemon => (LabFault::Daemon(leaf()?), 3.0),
            Self::LeafDaemonWatched => (LabFault::Daemon(leaf()?), 6.0),
            Self::Silent => (LabFault::Silent(uplink()?), 9.0),
            Self::SilentBfd => (LabFault::Silent(uplink()?), 3.0),
        })
    }

    /// Directions: whether the traffic comes from the first host, and the simulated fault.
    const fn directions(self) -> &'static [(bool, SimulatedFault)] {
        match self {
            Self::HostLink => {
                &[(false, SimulatedFault::HostLinkInbound), (true, SimulatedFault::HostLinkOutbound)]
            }
            Self::SpineLink => &[(true, SimulatedFault::SpineLink)],
            Self::SpineDaemon => &[(true, SimulatedFault::SpineDaemon)],
            Self::LeafDaemon => &[(true, SimulatedFault::LeafDaemon)],
            Self::LeafDaemonWatched => &[(true, SimulatedFault::LeafDaemonWatcher)],
            Self::Silent => &[(true, SimulatedFault::SilentHold)],
            Self::SilentBfd => &[(true, SimulatedFault::SilentBfd)],
        }
    }
}

/// Makes a fault, measures, repairs it, and judges each direction.
pub(super) fn measured(
    plant: &Plant,
    (frr, folder): (&Frr, &Path),
    kind: &Kind,
) -> Result<Vec<(LabFinding, FaultGap)>, LabError> {
    let refused = |refusal: LabRefusal| LabError(refusal.to_string());
    let ends = ends(plant, None, None).map_err(refused)?;
    let (asked, after_s) = kind.fault(plant)?;
    let made = fault(plant, &asked).map_err(refused)?;
    let watcher = match kind {
        Kind::LeafDaemonWatched => {
            let child = start_watcher(plant, frr, folder, asked.name())?;
            // It looks once a second, and counts a change from what it saw before.
            std::thread::sleep(std::time::Duration::from_millis(1_500));
            Some(child)
        }
        _ => None,
    };
    let watcher = Watcher(watcher);
    let plan = GapPlan { before_s: 0.5, after_s, ..GapPlan::default() };
    let gaps = measure(plant, ends, plan, Some((&made, frr, folder)));
    drop(watcher);
    repair(plant, asked.name()).map_err(refused)?.carry_out(frr, folder)?;
    wait_for_routes(plant)?;
    let rows = summary(&gaps?, &made.links());
    let first = ends[0].node.as_str();
    kind.directions().iter().map(|&(is_out, simulated)| judged(&rows, (first, is_out), simulated)).collect()
}

/// Judges one direction of a fault.
fn judged(
    rows: &[GapSummary],
    (first, is_out): (&str, bool),
    simulated: SimulatedFault,
) -> Result<(LabFinding, FaultGap), LabError> {
    // TCP feels a fault by its acknowledgements, too: those of both directions are looked at.
    let of = |is_tcp: bool| {
        let own = rows.iter().filter(|row| row.is_tcp == is_tcp && (is_tcp || (row.from == first) == is_out));
        let worst = own.clone().filter_map(|row| row.worst_s).reduce(f64::max);
        match worst {
            None => GapLength::NotMeasured,
            Some(_) if own.map(|row| row.open).sum::<usize>() > 0 => GapLength::Forever,
            Some(seconds) => GapLength::Seconds(seconds),
        }
    };
    let (udp, tcp) = (of(false), of(true));
    let band = gap_of(simulated, DRAWS)?;
    let accepted = simulated.accepted_s();
    let is_ok = match (udp, accepted) {
        (GapLength::Forever, None) => true,
        (GapLength::Seconds(seconds), Some((least, most))) => {
            let tcp_ok = match tcp {
                GapLength::Seconds(tcp) => tcp <= 2.0 * seconds.max(least) + TCP_MORE_S,
                GapLength::Forever => false,
                GapLength::NotMeasured => true,
            };
            (least..=most + NOISE_S).contains(&seconds) && tcp_ok
        }
        _ => false,
    };
    let text = |length: GapLength| match length {
        GapLength::NotMeasured => "no flow".to_owned(),
        GapLength::Forever => "for ever".to_owned(),
        GapLength::Seconds(seconds) => format!("{:.0} ms", seconds * 1e3),
    };
    let expected = match accepted {
        Some((least, most)) => format!(
            "UDP {:.0} to {:.0} ms, TCP up to twice that and 400 ms; simulated {:.0} to {:.0} ms",
            least * 1e3,
            most * 1e3,
            band.least_s * 1e3,
            band.most_s * 1e3
        ),
        None => "for ever, as simulated".to_owned(),
    };
    let seen = format!("UDP {}, TCP {}", text(udp), text(tcp));
    let bounds = |seconds: f64| GapLength::of_seconds(seconds);
    let row = FaultGap {
        fault: simulated.title().to_owned(),
        direction: if is_out { "from the host" } else { "towards the host" }.to_owned(),
        udp,
        tcp,
        simulated: [bounds(band.least_s), bounds(band.most_s)],
        accepted: accepted.map_or([GapLength::Forever; 2], |(least, most)| [bounds(least), bounds(most)]),
        is_ok: Some(is_ok),
    };
    Ok((LabFinding::new(format!("gap: {}", simulated.title()), expected, seen, is_ok), row))
}
