//! Routes per second across segments, and the time to build tables.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use railtwin_fabric::preset::{DcnPlus, Hpn};
use railtwin_fabric::{Fabric, HostId};
use railtwin_routing::{
    EcmpConfig, FiveTuple, Forwarding, HashFunction, HashKey, HashSpec, LinkMask, NicPort, Routing, Seeds,
    nic_ip,
};

const FLOWS: u32 = 1024;

fn fabrics() -> [(&'static str, Fabric); 2] {
    [
        ("hpn", Hpn::default().build().expect("default preset")),
        ("dcn-plus", DcnPlus::default().build().expect("default preset")),
    ]
}

fn routes(c: &mut Criterion) {
    let mut group = c.benchmark_group("route");
    group.throughput(Throughput::Elements(u64::from(FLOWS)));
    for (name, fabric) in fabrics() {
        let forwarding = Forwarding::new(&fabric, &LinkMask::none(&fabric));
        let ecmp = EcmpConfig::new(HashSpec::new(HashFunction::Crc32), Seeds::PerTier);
        let routing = Routing::new(&fabric, &forwarding, &ecmp);
        let hosts = fabric.hosts().len() as u32;
        let flows: Vec<_> = (0..FLOWS)
            .map(|flow| {
                // A stride of half the hosts crosses segments, and pods where there are several.
                let source = fabric.nic(HostId(flow * 7 % hosts), flow % 8);
                let target = fabric.nic(HostId((flow * 7 + hosts / 2) % hosts), flow % 8);
                let port = 0xC000 | (flow as u16 * 13);
                let tuple = FiveTuple::roce(nic_ip(source), nic_ip(target), port);
                let source = NicPort { nic: source, port: flow / 8 % 2 };
                (source, target, HashKey::of(tuple))
            })
            .collect();
        forwarding.prepare_all();
        let mut out = Vec::with_capacity(8);
        group.bench_function(name, |b| {
            b.iter(|| {
                for (source, target, key) in &flows {
                    out.clear();
                    routing.route(*source, *target, key, &mut out).expect("a healthy fabric");
                    black_box(&out);
                }
            });
        });
    }
    group.finish();
}

fn tables(c: &mut Criterion) {
    let mut group = c.benchmark_group("tables");
    group.sample_size(10);
    for (name, fabric) in fabrics() {
        let mask = LinkMask::none(&fabric);
        group.bench_function(format!("{name}/new"), |b| {
            b.iter(|| Forwarding::new(&fabric, &mask));
        });
        group.bench_function(format!("{name}/all"), |b| {
            b.iter(|| Forwarding::new(&fabric, &mask).prepare_all());
        });
    }
    group.finish();
}

criterion_group!(benches, routes, tables);
criterion_main!(benches);
