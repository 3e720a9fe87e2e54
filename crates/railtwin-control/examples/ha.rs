use std::hint::black_box;
use std::time::{Duration, Instant};
use railtwin_control::paths::{Demand, JobId, PathAllocator};
use railtwin_fabric::preset::{DcnPlus, Hpn};
use railtwin_fabric::{Fabric, HostId};
use railtwin_routing::{EcmpConfig, HashFunction, HashSpec, LinkMask, NicPort, Seeds, Routing};
const QP: [u32; 4] = [2, 3, 4, 5];
fn ring(fabric: &Fabric, stride: u32) -> Vec<Demand<'static>> {
    let hosts = fabric.hosts().len() as u32;
    let mut demands = Vec::new();
    for host in (0..hosts).filter(|&host| !fabric.hosts()[host as usize].spare) {
        for rail in 0..8 {
            for port in 0..2 {
                let source = NicPort { nic: fabric.nic(HostId(host), rail), port };
                let target = fabric.nic(HostId((host + stride) % hosts), rail);
                demands.push(Demand { source, target, queue_pairs: &QP, weight: 1 });
            }
        }
    }
    demands
}
fn main() {
    let reps: usize = std::env::args().nth(1).map_or(30, |a| a.parse().unwrap());
    let only = std::env::args().nth(2).unwrap_or_default();
    let dcn = |pods| DcnPlus { pods, ..DcnPlus::default() }.build().unwrap();
    for (name, fabric, stride, seeds) in [
        ("one/tier", dcn(1), 16, Seeds::PerTier),
        ("two/tier", dcn(2), 64, Seeds::PerTier),
        ("one/switch", dcn(1), 16, Seeds::PerSwitch),
        ("two/switch", dcn(2), 64, Seeds::PerSwitch),
        ("hpn/switch", Hpn { segments: Some(4), ..Hpn::default() }.build().unwrap(), 136, Seeds::PerSwitch),
        ("hpn/noplanes/tier", Hpn { segments: Some(3), planes: false, ..Hpn::default() }.build().unwrap(), 136, Seeds::PerTier),
        ("hpn/noplanes/switch", Hpn { segments: Some(3), planes: false, ..Hpn::default() }.build().unwrap(), 136, Seeds::PerSwitch),
    ] {
        if !name.contains(&only) { continue; }
        let ecmp = EcmpConfig::new(HashSpec::new(HashFunction::Crc32), seeds);
        let demands = ring(&fabric, stride);
        let count = demands.len() * 4;
        let fresh = PathAllocator::new(&fabric, ecmp, &LinkMask::none(&fabric));
        let mut best = Duration::MAX;
        let mut digest = 0u64;
        let mut most = 0;
        for _ in 0..reps {
            let mut a = fresh.clone();
            let start = Instant::now();
            let given = black_box(a.allocate(JobId(0), &demands));
            best = best.min(start.elapsed());
            digest = 0;
            for g in &given {
                let mut h = u64::from(g.source_port) ^ (g.reason as u64) << 20;
                for l in g.path.links() { h = h.wrapping_mul(0x9E3779B97F4A7C15).rotate_left(17) ^ u64::from(l.0); }
                digest = digest.wrapping_mul(0xD6E8FEB86659FD93).rotate_left(9) ^ h;
            }
            let reached = given.iter().filter(|g| g.reason.name() == "no-port-reaches").count();
            most = reached;
        }
        println!("{name:20} {count:7} qps {:.2} M/s  {:.0} ns/qp  digest {digest:016x} noport {most}", count as f64 / best.as_secs_f64() / 1e6, best.as_nanos() as f64 / count as f64);
        let _ = Routing::new;
        #[cfg(feature = "never")] {}
    }
}
