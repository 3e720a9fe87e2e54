use railtwin_clustersim::plant::Plant;
use railtwin_clustersim::{Ask, ClusterJob, QueuePolicy, live};
use railtwin_control::PlacementPolicy;
use railtwin_control::crux::plan::SharingPolicy;
use railtwin_fabric::preset::*;
use railtwin_fabric::*;
use railtwin_units::SimTime;
use railtwin_workload::JobStream;
use railtwin_workload::job_class::JobClass;

#[test]
fn probe() {
    let days: f64 = std::env::var("DAYS").unwrap_or("1".into()).parse().unwrap();
    let load: f64 = std::env::var("LOAD").unwrap_or("0.9".into()).parse().unwrap();
    let which = std::env::var("PLANT").unwrap_or("clos".into());
    let sharings: Vec<SharingPolicy> = std::env::var("POLICY").unwrap_or("ecmp,crux".into()).split(',').map(|n| SharingPolicy::named(n).unwrap()).collect();
    let fabric = match which.as_str() {
        "clos" => LeafSpine { leaves: 172, hosts_per_leaf: 2, uplinks: 16, uplink_capacity: railtwin_units::Rate::from_gbps(100), host: HostSpec::named("hgx-a100"), ..LeafSpine::default() }.build().unwrap(),
        "dcn" => DcnPlus { pods: 3, segments: 1, hosts: 86, spines: 4, parallel: 1, cores: 32, ..DcnPlus::default() }.build().unwrap(),
        _ => Hpn { ..Hpn::default() }.build().unwrap(),
    };
    let plant = Plant::new(&fabric, 16);
    let gpus: u32 = fabric.hosts().iter().filter(|h| !h.spare).count() as u32 * 8;
    let flops = fabric.host_model(HostId(0)).gpu_flops.unwrap();
    let stream = JobStream::new(gpus, SimTime::from_seconds(days * 86400.0), load, 1);
    let jobs: Vec<ClusterJob> = stream.jobs().unwrap().into_iter().map(|job| ClusterJob {
        name: job.name.clone(), class: job.class.unwrap().name.to_owned(), submitted: job.submitted.seconds(), gpus: job.gpus, duration: job.duration.seconds(),
        step: job.class.unwrap_or(JobClass::named("bert-large").unwrap()).step(job.gpus, flops),
    }).collect();
    eprintln!("{which}: {gpus} GPUs {} jobs links {}", jobs.len(), fabric.link_count());
    for sharing in sharings {
        let time = std::time::Instant::now();
        let ask = Ask { span: days * 86400.0, queue: QueuePolicy::Backfill, placement: PlacementPolicy::Packed, sharing, levels: 8, replan: 30.0, queue_pairs: 1, jitter: 0.01, steady: 0.01, seed: 1 };
        let lived = live(&jobs, &plant, &ask);
        let mean = |of: &dyn Fn(&railtwin_clustersim::JobLife) -> Option<f64>| { let v: Vec<f64> = lived.jobs.iter().filter_map(|j| of(j)).collect(); v.iter().sum::<f64>() / v.len() as f64 };
        eprintln!("{} {:.1}s util {:.4} occ {:.4} slow {:.4} contended {:?} shared {:?} {:?} peak {} MiB", sharing.name(), time.elapsed().as_secs_f64(), lived.gpu_utilization(), lived.occupancy(), mean(&|j| j.slowdown()), lived.share_of(|j| j.contended), lived.share_of(|j| j.shared_a_link), lived.effort,
          std::fs::read_to_string("/proc/self/status").unwrap().lines().find(|l| l.starts_with("VmHWM")).unwrap().split_whitespace().nth(1).unwrap().parse::<u64>().unwrap()/1024);
    }
}
