//! Inference: GPUs that serve, and what requests and answers take of links, hour by hour.
//!
//! Requests come whatever the network does, so they go before all that jobs send: jobs have what is left of each link. That
//! is what equals on a link get, too, as long as requests ask for less than their fair share of it.
use std::fmt;

use railtwin_control::{ClusterPlacer, Place, PlacementPolicy};
use railtwin_fabric::{Fabric, HostId, LinkId};
use railtwin_units::{Bytes, stream};
use railtwin_workload::tide;

use crate::plant::Plant;
use crate::services::Service;

/// Seconds of an hour, within which as much comes all the time.
const HOUR: f64 = 3_600.0;
/// Hours of a day, after which all comes again.
const HOURS: u32 = 24;
/// What is drawn by lot for jobs is drawn for their numbers; inference has one that no job has.
const NUMBER: u64 = u64::MAX;

/// What is asked of the GPUs that serve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Inference {
    /// Requests that a GPU gets in a second, mean over the day.
    pub requests_per_s: f64,
    /// Bytes of a request.
    pub request: Bytes,
    /// Bytes of an answer.
    pub response: Bytes,
    /// How far requests swing over the day, 0..1.
    pub tide: f64,
}

/// GPUs that serve, and what that takes of links.
#[derive(Clone, Debug, PartialEq)]
pub struct Serving {
    places: Vec<Place>,
    tide: f64,
    /// Links in order, each with the share of it that is taken on the mean of the day.
    shares: Vec<(u32, f64)>,
}

/// Why nobody can serve so.
#[derive(Clone, Debug, PartialEq)]
pub enum NotServed {
    /// The cluster has no such GPUs free.
    NoRoom {
        /// GPUs that jobs could have without inference.
        free: u32,
    },
    /// No switch joins a host and a gateway.
    NoWay {
        /// The host.
        host: HostId,
        /// The gateway.
        gateway: HostId,
    },
    /// A link cannot carry what is asked for.
    TooMuch {
        /// The link.
        link: LinkId,
        /// Hour of the day, the first of the worst.
        hour: u32,
        /// What is asked of it over what it carries, 1 or more.
        share: f64,
    },
}

impl fmt::Display for NotServed {
    fn fmt(&self, text: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoRoom { free } => write!(text, "the cluster has {free} GPUs, and does not hold them so"),
            Self::NoWay { host, gateway } => {
                write!(text, "no switch joins host {} and the gateway that is host {}", host.0, gateway.0)
            }
            Self::TooMuch { link, hour, share } => {
                write!(text, "at {hour} o'clock they ask {share:.2} of what link {} carries", link.0)
            }
        }
    }
}

/// GPUs that serve where `policy` puts so many before any job comes.
///
/// # Errors
/// [`NotServed::NoRoom`] where the cluster does not hold them.
pub fn seats(
    fabric: &Fabric,
    gpus: u32,
    policy: &PlacementPolicy,
    seed: u64,
) -> Result<Vec<Place>, NotServed> {
    let mut placer = ClusterPlacer::new(fabric, seed);
    let free = placer.free_gpus();
    placer.place(NUMBER, gpus, policy).ok_or(NotServed::NoRoom { free })
}

impl Serving {
    /// GPUs at `places` that get what `asked` says: the k-th by the k-th gateway in turn, over all ports of the NICs that send
    /// and so many queue pairs of each, by paths by lot. Hours are those of a span of so many seconds from midnight.
    ///
    /// # Errors
    /// [`NotServed`]; where there is no gateway, nothing comes.
    pub fn new(
        plant: &Plant<'_>,
        places: Vec<Place>,
        asked: &Inference,
        queue_pairs: u32,
        (span, seed): (f64, u64),
    ) -> Result<Self, NotServed> {
        let fabric = plant.fabric;
        let gateways: Vec<Service> = fabric.gateways().map(|host| Service::of(fabric, host)).collect();
        let mut lot = stream::named(seed, "cluster: inference");
        let mut shares = vec![0.0; fabric.link_count()];
        let mut add = |links: &[LinkId], bytes_per_s: f64| {
            for &link in links {
                shares[link.index()] += bytes_per_s / fabric.capacity(link).bytes_per_s();
            }
        };
        for (rank, &place) in places.iter().enumerate() {
            let Some(&gateway) = gateways.get(rank % gateways.len().max(1)) else { break };
            for (bytes, comes) in [(asked.request, true), (asked.response, false)] {
                let ports = if comes { gateway.ports(fabric) } else { gateway.ports_towards(fabric, place) };
                let pieces = ports * queue_pairs;
                let each = asked.requests_per_s * bytes.0 as f64 / f64::from(pieces);
                for piece in (0..pieces).filter(|_| each > 0.0) {
                    let links = match comes {
                        true => gateway.way_from(plant, place, piece % ports, &mut lot),
                        false => gateway.way_to(plant, place, piece % ports, &mut lot),
                    };
                    if links.is_empty() {
                        return Err(NotServed::NoWay { host: place.host, gateway: gateway.host });
                    }
                    add(&links, each);
                }
            }
        }
        let shares = (0..).zip(shares).filter(|(_, share)| *share > 0.0).collect();
        let serving = Self { places, tide: asked.tide, shares };
        serving.check(span)?;
        Ok(serving)
    }

    fn check(&self, span: f64) -> Result<(), NotServed> {
        let hour = self.top_within(span);
        let fullest = self.shares.iter().fold((0, 0.0), |most, &one| if one.1 > most.1 { one } else { most });
        let share = fullest.1 * self.swing(hour);
        if share < 1.0 {
            return Ok(());
        }
        Err(NotServed::TooMuch { link: LinkId(fullest.0), hour, share })
    }

    /// The first hour of the day in which most comes within a span of so many seconds from midnight.
    fn top_within(&self, span: f64) -> u32 {
        let hours = ((span / HOUR).ceil().max(1.0) as u32).min(HOURS);
        (1..hours).fold(0, |top, hour| if self.swing(hour) > self.swing(top) { hour } else { top })
    }

    /// The GPUs that serve.
    pub fn places(&self) -> &[Place] {
        &self.places
    }

    /// Share of the fullest link that is taken in an hour of the day.
    pub fn fullest_at(&self, hour: u32) -> f64 {
        self.shares.iter().map(|share| share.1).fold(0.0, f64::max) * self.swing(hour)
    }

    /// What comes in an hour of the day over the mean of the day: all of it as in its middle.
    fn swing(&self, hour: u32) -> f64 {
        tide::at(f64::from(hour % HOURS) + 0.5, self.tide)
    }

    /// Shares of links that are taken at so many seconds from midnight, by link, into `taken`.
    pub(crate) fn take(&self, now: f64, taken: &mut [f64]) {
        let swing = self.swing(hour_of(now));
        self.shares.iter().for_each(|&(link, share)| taken[link as usize] = share * swing);
    }

    /// When that is next otherwise, after `now`.
    pub(crate) fn turns_at(&self, now: f64) -> f64 {
        let is_even = self.tide == 0.0 || self.shares.is_empty();
        if is_even { f64::INFINITY } else { ((now / HOUR).floor() + 1.0) * HOUR }
    }
}

/// Hour of the day.
fn hour_of(now: f64) -> u32 {
    ((now / HOUR).floor() % f64::from(HOURS)) as u32
}
