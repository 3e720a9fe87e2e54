//! The flow engine on paths that somebody else found: those that the emulated switches hash connections to.
use std::sync::Arc;

use railtwin_control::controller::{Action, Controller, Decision, Event, Opening};
use railtwin_control::paths::load_balance::WHOLE;
use railtwin_engine::lower::Lowering;
use railtwin_engine::own::{Own, QueuePair, Site, Ways, halt};
use railtwin_engine::{Balancer, Case, Connection};
use railtwin_fabric::{DeviceId, Fabric, LinkId};
use railtwin_routing::source_port::{FIRST_PORT, LAST_PORT};
use railtwin_units::SimTime;

use super::draws::{DrawOutcome, outcome};
use crate::host::LabError;

/// Name of the controller, in errors and in the table `actions`.
const NAME: &str = "given-paths";

/// A directed connection of a job, and the paths of its streams.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GivenConnection {
    /// Row of the job.
    pub job: u32,
    /// The NIC that sends.
    pub source: DeviceId,
    /// The NIC that receives.
    pub target: DeviceId,
    /// Links of each stream, from NIC to NIC: the first leaves the source by the port that the host chose. Each stream
    /// carries an even share of the connection's bytes.
    pub paths: Vec<Vec<LinkId>>,
}

/// Runs the jobs of a case on given paths: one draw of the lab in the flow engine.
///
/// Every connection that the jobs open needs its paths. A queue pair of the model leaves by the port with its number
/// modulo the ports, so each connection opens as many on every port as it has streams, and those beyond carry nothing:
/// a host whose hash sends three of four streams to one port is followed.
///
/// # Errors
/// [`LabError`]: a connection has no paths, its path begins at no port of its NIC, or no source port leads there.
pub fn on_paths(case: &Case, given: &[GivenConnection]) -> Result<DrawOutcome, LabError> {
    let streams = given.iter().map(|one| one.paths.len()).max().unwrap_or(0);
    let mut case = case.clone();
    case.routing.balancer = Balancer::Ecmp;
    case.routing.queue_pairs =
        u32::try_from(streams.max(1)).map_err(|_| LabError("too many paths".into()))?;
    check_ends(&case, given)?;
    let given: Arc<[GivenConnection]> = given.into();
    case.own = Some(Own::new(&[NAME], move |site: &Site| {
        let (ways, given) = (Ways::new(site), Arc::clone(&given));
        vec![Box::new(GivenPaths { fabric: Arc::clone(&site.fabric), ways, given, due: Vec::new() })]
    }));
    outcome(&case, 0)
}

/// Whether connections are those that the jobs open, each once.
///
/// # Errors
/// The first that is not.
fn check_ends(case: &Case, given: &[GivenConnection]) -> Result<(), LabError> {
    let fabric = &case.fabric;
    let opened = Lowering::new(case, 0);
    let ends = |job: u32, source, target| {
        format!("job {job}, {} to {}", fabric.device_name(source), fabric.device_name(target))
    };
    for one in opened.connections() {
        let of = |other: &&GivenConnection| {
            (other.job, other.source, other.target) == (one.job, one.source, one.target)
        };
        match given.iter().filter(of).count() {
            1 => {}
            count => {
                let ends = ends(one.job, one.source, one.target);
                return Err(LabError(format!("{ends}: {count} lists of paths are given; give one")));
            }
        }
    }
    for one in given {
        let of = |other: &&Connection| {
            (other.job, other.source, other.target) == (one.job, one.source, one.target)
        };
        if opened.connections().iter().filter(of).count() != 1 || one.paths.is_empty() {
            let ends = ends(one.job, one.source, one.target);
            let count = one.paths.len();
            return Err(LabError(format!(
                "{ends}: {count} paths for a connection that the job does not open once"
            )));
        }
    }
    Ok(())
}

/// Gives each queue pair that carries a stream the source port that leads along the stream's path.
#[derive(Debug)]
struct GivenPaths {
    fabric: Arc<Fabric>,
    ways: Ways,
    given: Arc<[GivenConnection]>,
    due: Vec<Decision>,
}

impl GivenPaths {
    /// Finds source ports for the streams of a connection.
    ///
    /// # Errors
    /// Why a stream has none.
    fn plan(&mut self, opening: &Opening<'_>) -> Result<(), String> {
        let all = Arc::clone(&self.given);
        let of = |one: &&GivenConnection| {
            (one.job, one.source, one.target) == (opening.job.0, opening.source, opening.target)
        };
        let given = all.iter().find(of).ok_or("a connection has no paths")?;
        let queue_pairs: Vec<QueuePair> = QueuePair::of(opening).collect();
        let mut carries = vec![false; queue_pairs.len()];
        for (number, path) in given.paths.iter().enumerate() {
            let shown = || format!("stream {number} of {}", self.shown(path));
            let port = (0..opening.ports)
                .find(|&port| self.fabric.access_link(opening.source, port).as_ref() == path.first());
            let port = port.ok_or_else(|| format!("{}: it leaves by no port of its NIC", shown()))?;
            let free = queue_pairs
                .iter()
                .position(|one| one.port == port && !carries[(one.row - opening.first) as usize]);
            let row = free.ok_or_else(|| format!("{}: its NIC port has no queue pair left", shown()))?;
            let mut links = Vec::new();
            let source_port = (FIRST_PORT..=LAST_PORT).find(|&source_port| {
                links.clear();
                self.ways.route(&queue_pairs[row], source_port, &mut links) && links == *path
            });
            let source_port =
                source_port.ok_or_else(|| format!("{}: no source port leads there", shown()))?;
            carries[row] = true;
            let queue_pair = queue_pairs[row].row;
            let action = Action::Path { queue_pair, source_port: Some(source_port) };
            self.due.push(Decision { action, reason: "given" });
        }
        let share = WHOLE / given.paths.len() as u32;
        self.due.extend(queue_pairs.iter().zip(carries).map(|(one, carries)| Decision {
            action: Action::Weight { queue_pair: one.row, share: if carries { share } else { 0 } },
            reason: "given",
        }));
        Ok(())
    }

    /// A path by the names of its devices.
    fn shown(&self, path: &[LinkId]) -> String {
        let first = path.first().map(|&link| self.fabric.device_name(self.fabric.source(link)));
        let rest = path.iter().map(|&link| self.fabric.device_name(self.fabric.target(link)));
        first.into_iter().chain(rest).collect::<Vec<_>>().join(" > ")
    }
}

impl Controller for GivenPaths {
    fn name(&self) -> &'static str {
        NAME
    }

    fn on_event(&mut self, _now: SimTime, event: &Event<'_>) {
        if let Event::Opened(openings) = event {
            for opening in *openings {
                if let Err(why) = self.plan(opening) {
                    halt(NAME, why);
                }
            }
        }
    }

    fn decide(&mut self, _now: SimTime, decisions: &mut Vec<Decision>) {
        decisions.append(&mut self.due);
    }
}

/// The links from device to device along a path by names, such as `host-0/nic-0`, `leaf-1`, `spine-2`, `leaf-3`,
/// `host-2/nic-0`; of parallel cables the first.
///
/// # Errors
/// [`LabError`] with a name that the fabric lacks, or two devices that no cable joins.
pub fn path_through(fabric: &Fabric, devices: &[&str]) -> Result<Vec<LinkId>, LabError> {
    let named = |name: &str| {
        let device = fabric.devices().find(|&device| fabric.device_name(device) == name);
        device.ok_or_else(|| LabError(format!("{name:?} is no device of fabric {}", fabric.name())))
    };
    let stops: Vec<DeviceId> = devices.iter().map(|name| named(name)).collect::<Result<_, _>>()?;
    let hop = |pair: &[DeviceId]| {
        let link = fabric.neighbors(pair[0]).iter().find(|(_, far)| *far == pair[1]).map(|(link, _)| *link);
        link.ok_or_else(|| {
            let [from, to] = [pair[0], pair[1]].map(|device| fabric.device_name(device));
            LabError(format!("no cable joins {from} and {to}"))
        })
    };
    stops.windows(2).map(hop).collect()
}
