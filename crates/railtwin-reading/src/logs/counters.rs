//! Lines of kernels and NCCL as readings of counters.
//!
//! A counter of a log is read where it changes, and once a second before: then it stood at 0, or the link was up. So rules
//! know when it happened. Of what a log has of days ago only that stands which lasts until a start of the host.
use std::collections::BTreeMap;

use railtwin_diagnosis::rules::xid_meaning;
use railtwin_formats::telemetry::{KernelEvent, LogSays, NcclEvent};
use railtwin_records::{Batch, Component, Counter, Directory, EntityInfo};

use super::who::Who;
use super::{RECENT_NS, Said};

/// How long before a change its counter is read.
const BEFORE_NS: u64 = 1_000_000_000;
/// How near before the start of a host a link may go down with it.
const SHUTDOWN_NS: u64 = 600_000_000_000;

/// What a port says, in order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Says {
    Up,
    Down,
    /// Its driver or its host begins anew: what was is no matter.
    Anew,
}

struct Taker<'a> {
    directory: &'a mut Directory,
    batch: &'a mut Batch,
}

impl Taker<'_> {
    fn read(&mut self, component: &Component, counter: Counter, time_ns: u64, value: f64) {
        let entities = &mut self.directory.entities;
        let row = entities.iter().position(|info| info.component == *component).unwrap_or_else(|| {
            entities.push(EntityInfo { component: component.clone(), device: None, link: None });
            entities.len() - 1
        });
        self.batch.counters.push(time_ns, row as u32, counter, value);
        self.batch.until_ns = self.batch.until_ns.max(time_ns);
    }

    fn grows(
        &mut self,
        component: &Component,
        counter: Counter,
        (first_ns, last_ns): (u64, u64),
        value: f64,
    ) {
        self.read(component, counter, first_ns.saturating_sub(BEFORE_NS), 0.0);
        self.read(component, counter, last_ns, value);
    }
}

/// Adds readings to a batch; gives notes on what is of long ago, or of which nothing is known.
pub(super) fn take(
    events: &[Said<'_>],
    who: &Who<'_>,
    now_ns: u64,
    directory: &mut Directory,
    batch: &mut Batch,
) -> Vec<String> {
    let mut taker = Taker { directory, batch };
    let mut notes = Vec::new();
    let mut boots: BTreeMap<String, u64> = BTreeMap::new();
    for (_, event) in events {
        if let (LogSays::Kernel(KernelEvent::Boot), Some(time)) = (&event.what, event.time_ns) {
            let last = boots.entry(who.host_of(event)).or_default();
            *last = time.max(*last);
        }
    }
    let recent = |time: u64| time.saturating_add(RECENT_NS) >= now_ns;
    // When, the number, alone where the line says that nothing is to be done, and whether it still stands.
    type Said = (u64, Result<u32, u32>, bool);
    let mut xids: BTreeMap<Component, Vec<Said>> = BTreeMap::new();
    let (mut kills, mut ecc): (BTreeMap<Component, Vec<u64>>, BTreeMap<Component, Vec<u64>>) =
        Default::default();
    let mut old = 0_usize;
    for (_, event) in events {
        let time = event.time_ns.unwrap_or(now_ns);
        let host = who.host_of(event);
        let of_this_start = boots.get(&host).is_none_or(|boot| time >= *boot);
        match &event.what {
            // What is fatal has a judge of its own.
            LogSays::Kernel(KernelEvent::Xid { fatal_link: Some(_), .. }) => {}
            LogSays::Kernel(KernelEvent::Xid { bus, number, harmless, .. }) => {
                let stands = of_this_start || recent(time);
                let number = if *harmless { Err(*number) } else { Ok(*number) };
                xids.entry(who.gpu(&host, bus)).or_default().push((time, number, stands));
            }
            LogSays::Kernel(KernelEvent::OutOfMemory { .. }) if recent(time) => {
                kills.entry(Component::Host(host)).or_default().push(time);
            }
            LogSays::Cuda(error) | LogSays::Nccl(NcclEvent::Cuda { error })
                if error.to_ascii_lowercase().contains("ecc error") =>
            {
                if let Some(gpu) = who.gpu_of(event) {
                    ecc.entry(gpu).or_default().push(time);
                }
            }
            LogSays::Kernel(KernelEvent::OutOfMemory { .. }) => old += 1,
            _ => {}
        }
    }
    for (gpu, said) in xids {
        // One that lasts beside what follows from it: the gauge has room for one.
        let worst = said
            .iter()
            .filter_map(|&(time, number, stands)| {
                let number = number.ok()?;
                let hardware = xid_meaning(number)?.hardware();
                let lasts = hardware >= 0.8;
                (stands && lasts || recent(time)).then_some((hardware, time, number))
            })
            .min_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        match worst {
            Some((_, time, number)) => taker.grows(&gpu, Counter::Xid, (time, time), f64::from(number)),
            None => {
                let numbers: Vec<String> =
                    said.iter().take(4).map(|(_, Ok(number) | Err(number), _)| number.to_string()).collect();
                notes.push(format!(
                    "gpu {}: Xid {}: of long ago, harmless by its own words, or of no known meaning",
                    gpu.name(),
                    numbers.join(", ")
                ));
            }
        }
    }
    for (counter, told) in [(Counter::OutOfMemoryKills, kills), (Counter::EccErrors, ecc)] {
        for (component, times) in told {
            let ends = times.iter().min().copied().zip(times.iter().max().copied());
            if let Some(ends) = ends {
                taker.grows(&component, counter, ends, times.len() as f64);
            }
        }
    }
    old += links(events, who, now_ns, &boots, &mut taker);
    if old > 0 {
        notes.push(format!(
            "{old} lines on links and memory are of more than an hour before the end and passed"
        ));
    }
    notes
}

/// Ports that go up and down. Gives how many losses are of long ago and healed.
fn links(
    events: &[Said<'_>],
    who: &Who<'_>,
    now_ns: u64,
    boots: &BTreeMap<String, u64>,
    taker: &mut Taker<'_>,
) -> usize {
    let mut ports: BTreeMap<Component, Vec<(u64, Says, bool)>> = BTreeMap::new();
    let mut anew: BTreeMap<String, Vec<u64>> = BTreeMap::new();
    for (_, event) in events {
        let (time, host) = (event.time_ns.unwrap_or(now_ns), who.host_of(event));
        let mut say = |name: &str, says: Says, used: bool| {
            ports.entry(Component::Nic(format!("{host}/{name}"))).or_default().push((time, says, used));
        };
        let of = |up: bool| if up { Says::Up } else { Says::Down };
        match &event.what {
            LogSays::Kernel(KernelEvent::Link { bus, name, up }) => {
                say(who.nic(&host, bus.as_deref(), name.as_deref()), of(*up), false);
            }
            LogSays::Kernel(KernelEvent::DriverStarted { bus }) => {
                say(who.nic(&host, Some(bus), None), Says::Anew, false)
            }
            LogSays::Kernel(KernelEvent::Boot) => anew.entry(host).or_default().push(time),
            // What NCCL says of a port is of one that it uses.
            LogSays::Nccl(NcclEvent::Port { device, up }) => say(device, of(*up), true),
            LogSays::Nccl(NcclEvent::Uses(device)) => say(device, Says::Up, true),
            _ => {}
        }
    }
    let mut old = 0;
    for (port, mut said) in ports {
        let host = port.name().split('/').next().unwrap_or_default().to_owned();
        said.extend(anew.get(&host).into_iter().flatten().map(|time| (*time, Says::Anew, false)));
        said.sort_by_key(|(time, ..)| *time);
        let has_start = said.iter().any(|(_, says, _)| *says == Says::Anew);
        // Where a log begins later than the driver, a port that goes down was up: one without a cable says so at the start.
        let (mut up, mut losses): (Option<bool>, Vec<(u64, Option<u64>)>) =
            ((!has_start).then_some(true), Vec::new());
        for (time, says, used) in said {
            match says {
                Says::Up => {
                    if let Some((_, healed @ None)) = losses.last_mut().filter(|_| up == Some(false)) {
                        *healed = Some(time);
                    }
                    up = Some(true);
                }
                Says::Down => {
                    if up == Some(true) || used {
                        losses.push((time, None));
                    }
                    up = Some(false);
                }
                Says::Anew => {
                    // A link goes down with its host.
                    let shut = losses.last().is_some_and(|(down, healed)| {
                        healed.is_none() && down.saturating_add(SHUTDOWN_NS) >= time
                    });
                    if shut {
                        losses.pop();
                    }
                    up = None;
                }
            }
        }
        let boot = boots.get(&host).copied().unwrap_or(0);
        let is_of_now = |(down, healed): &(u64, Option<u64>)| match healed {
            Some(time) => time.saturating_add(RECENT_NS) >= now_ns,
            None => *down >= boot,
        };
        let before = losses.len();
        losses.retain(is_of_now);
        old += before - losses.len();
        let (Some(&(first, _)), Some(&(last, healed))) = (losses.first(), losses.last()) else { continue };
        taker.grows(&port, Counter::LinkDowns, (first, last), losses.len() as f64);
        // A loss that healed is counted, and is no state any more.
        taker.read(&port, Counter::LinkUp, first.saturating_sub(BEFORE_NS), 1.0);
        taker.read(&port, Counter::LinkUp, last, if healed.is_none() { 0.0 } else { 1.0 });
    }
    old
}
