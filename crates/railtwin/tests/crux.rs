//! Crux's contention model against the flow engine's solver, where both have an answer: jobs of one priority.
use proptest::prelude::*;
use railtwin_control::crux::contention::{Contention, Start};
use railtwin_control::crux::demand::Demand;
use railtwin_control::crux::tenants::{Candidate, SharedLink, Tenant, Tenants, Transfer};
use railtwin_flowsim::max_min::{Problem, Solver};
use railtwin_units::{Bytes, Rate, SimTime};

/// Jobs with one to three transfers over up to three of five links, some of them twice.
fn tenants() -> impl Strategy<Value = Tenants> {
    let transfer = (1u64..1000, prop::collection::vec(0u32..5, 1..4));
    let jobs = prop::collection::vec(prop::collection::vec(transfer, 1..4), 1..7);
    (jobs, prop::collection::vec(1u64..20, 5)).prop_map(|(jobs, gbps)| {
        let link =
            |(number, gbps): (usize, u64)| SharedLink::new(&number.to_string(), Rate::from_gbps(gbps * 50));
        let transfer = |(mb, links): (u64, Vec<u32>)| Transfer {
            bytes: Bytes(mb * 1_000_000),
            candidates: vec![Candidate { links, source_port: None }],
        };
        let job = |transfers: Vec<(u64, Vec<u32>)>| Tenant {
            transfers: transfers.into_iter().map(transfer).collect(),
            ..Tenant::new("job", 8, SimTime::from_seconds(1.0), 1.0)
        };
        Tenants {
            links: gbps.into_iter().enumerate().map(link).collect(),
            jobs: jobs.into_iter().map(job).collect(),
        }
    })
}

proptest! {
    #[test]
    fn jobs_of_one_level_get_what_the_flow_engine_gives_bundles(tenants in tenants()) {
        let demand = Demand::of(&tenants, &tenants.first_paths());
        // So short that nobody comes to the end of its communication.
        let window = demand.jobs.iter().map(|job| job.seconds).fold(f64::INFINITY, f64::min) / 2.0;
        let levels = vec![0; tenants.jobs.len()];
        let outcome = Contention::new(&demand, &Start::all_ready(&tenants), window).run(&levels);

        // A variable is the rate of a job's largest transfer; a link carries it M / largest times.
        let (mut start, mut links, mut shares) = (vec![0], Vec::new(), Vec::new());
        for job in &demand.jobs {
            for &(link, seconds) in &job.loads {
                let capacity = tenants.links[link as usize].capacity.bytes_per_s();
                links.push(link);
                shares.push(seconds * capacity / job.largest);
            }
            start.push(links.len() as u32);
        }
        let capacities: Vec<f64> = tenants.links.iter().map(|link| link.capacity.bytes_per_s()).collect();
        let (weights, caps) = (vec![1.0; demand.jobs.len()], vec![f64::INFINITY; demand.jobs.len()]);
        let problem = Problem {
            start: &start, links: &links, shares: &shares, weights: &weights, caps: &caps, capacities: &capacities,
        };
        let mut rates = Vec::new();
        Solver::default().solve(&problem, &mut rates);
        for ((served, job), rate) in outcome.jobs.iter().zip(&demand.jobs).zip(&rates) {
            let ours = served.communicating / job.seconds * job.largest / window;
            prop_assert!((ours - rate).abs() <= 1e-9 * rate, "{ours} {rate}");
        }
    }
}
