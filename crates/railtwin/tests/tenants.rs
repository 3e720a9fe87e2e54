//! Jobs that come and go in a run: both engines tell controllers of them, and what is decided holds when it must.
#![allow(clippy::unwrap_used, reason = "a test may fail")]
use std::collections::BTreeSet;

use railtwin::engines::engine;
use railtwin_engine::lower::Lowering;
use railtwin_engine::{ActionRow, RunLog};
use railtwin_scenario::EngineName;
use railtwin_units::SimTime;

use crate::control::resolved;

/// Three jobs on the same leaves: the second is gone before the third comes.
pub(crate) fn scene(routing: &str, control: &str, fault: &str) -> String {
    let job = |name: &str, hosts: &str, start: &str, bytes: &str| {
        format!(
            "[[job]]\nname = \"{name}\"\nstart = \"{start}\"\nplacement = {{ hosts = [{hosts}] }}\n\
             collective = {{ kind = \"all-reduce\", bytes = \"{bytes}\", algorithm = \"ring\" }}\n"
        )
    };
    let jobs = [
        job("stays", "0, 3, 6, 9", "0 s", "24 MB"),
        job("goes", "1, 4, 7, 10", "10 us", "2 MB"),
        job("comes", "2, 5, 8, 11", "310 us", "4 MB"),
    ];
    format!(
        "schema = 1\nname = \"tenants\"\nseed = 7\n[fabric]\npreset = \"leaf-spine\"\nleaves = 4\n\
         hosts_per_leaf = 3\nuplinks = 4\nparallel = 1\nrails_per_leaf = 1\nchip = \"51200 Gbps\"\n\
         host = {{ model = \"plain\" }}\n[routing]\nqueue_pairs = 2\n{routing}\n[control]\n{control}\n\
         [reaction]\ndetection = \"1 us\"\nlag_failover = \"5 us\"\necmp_regroup = \"3 us\"\n\
         withdrawal = \"5 us\"\nconvergence = \"20 us\"\n[transport]\ntimeout = 4\n{}{fault}",
        jobs.concat()
    )
}

pub(crate) fn log_of(text: &str, name: EngineName, threads: u32) -> RunLog {
    engine(name, threads).run(&resolved(text, name).case, 0)
}

fn us(us: u64) -> SimTime {
    SimTime::from_ns(us * 1_000)
}

pub(crate) fn until(log: &RunLog, end: SimTime) -> Vec<ActionRow> {
    log.actions.iter().copied().filter(|action| action.decided <= end).collect()
}

pub(crate) const FAULT: &str = "[[fault]]\nat = \"40 us\"\nspine = \"spine-2\"\nkind = \"down\"\n";

#[test]
fn both_engines_tell_of_jobs_that_come_and_go() {
    let (plain, leaf) =
        ("report = \"4 us\"\nprogramming = \"6 us\"", "hosts = \"leaf\"\nprogramming = \"6 us\"");
    for (balancer, control) in [("c4p", plain), ("disjoint", plain), ("disjoint", leaf)] {
        let text = scene(&format!("balancer = \"{balancer}\"\nreplan = \"once\""), control, FAULT);
        let flows = log_of(&text, EngineName::Flow, 1);
        let packets = log_of(&text, EngineName::Packet, 1);
        assert_eq!(packets, log_of(&text, EngineName::Packet, 2), "{balancer}");
        assert_eq!((flows.unfinished, packets.unfinished), (0, 0));
        let work = &resolved(&text, EngineName::Flow).case.work;
        for log in [&flows, &packets] {
            let ends = log.job_ends(work);
            assert!(ends[1] < us(310), "{ends:?}");
        }
        let both = flows.end.min(packets.end);
        assert_eq!(until(&flows, both), until(&packets, both), "{balancer}");
        // Each job has its paths in the moment in which it comes, whatever programming takes; nobody else moves by it.
        for (job, start) in [(0, us(0)), (1, us(10)), (2, us(310))] {
            let own: Vec<&ActionRow> = flows.actions.iter().filter(|one| one.job == Some(job)).collect();
            assert_eq!((own[0].decided, own[0].effective), (start, start), "{balancer}");
            assert!(own[0].moved > 1);
            let others = flows.actions.iter().filter(|one| one.decided == start && one.job != Some(job));
            assert!(others.clone().all(|one| one.job.is_none()), "{:?}", others.collect::<Vec<_>>());
        }
    }
}

#[test]
fn who_comes_takes_the_paths_that_who_went_gave_back() {
    let text = scene("balancer = \"c4p\"", "", "");
    let case = resolved(&text, EngineName::Flow).case;
    for name in [EngineName::Flow, EngineName::Packet] {
        let log = log_of(&text, name, 1);
        let lowering = Lowering::new(&case, 0);
        let uplinks = |lowering: &Lowering<'_>, jobs: &[u32]| -> Vec<usize> {
            let none = railtwin_routing::LinkMask::none(&case.fabric);
            let paths = lowering.paths(railtwin_engine::choose::View { mask: &none, planned: &none });
            let mut uses = vec![0; case.fabric.link_count()];
            for one in lowering.connections().iter().filter(|one| jobs.contains(&one.job)) {
                for pair in one.first..one.first + one.count {
                    uses[paths.path(pair).links[1].index()] += 1;
                }
            }
            uses.into_iter().filter(|&uses| uses > 0).collect()
        };
        // Two queue pairs of each job leave each leaf, by four uplinks: with those of the one that went out of the way the
        // two jobs that meet have one on each.
        let even: BTreeSet<usize> =
            uplinks(&lowering.with_ends(&log.job_ends(&case.work)), &[0, 2]).into_iter().collect();
        assert_eq!(even, BTreeSet::from([1]));
    }
}

#[test]
fn a_job_that_comes_late_is_timed_from_its_start() {
    // Alone on its links it takes what it takes from time zero on.
    let at = |start: &str| {
        let text = scene("balancer = \"c4p\"", "", "")
            .replace("start = \"310 us\"", &format!("start = \"{start}\""));
        let run = railtwin::Run::of(resolved(&text, EngineName::Flow), &|| ());
        let simulation = run.simulation.as_ref().unwrap();
        let steps = &simulation.replicates[0].steps;
        let found = steps.iter().find(|(job, ..)| *job == 2).unwrap();
        (found.2, found.3)
    };
    let (start, time) = at("5 s");
    let (earlier, same) = at("2 s");
    assert_eq!((start, earlier), (SimTime::from_ns(5_000_000_000), SimTime::from_ns(2_000_000_000)));
    assert_eq!(time, same);
    assert!(time < us(400), "{time}");
}

#[test]
fn the_matrix_of_traffic_engineering_follows_jobs() {
    let routing = "balancer = \"te\"\nreplan = \"every\"\nreplan_time = \"50 us\"";
    let text = scene(routing, "programming = \"6 us\"\nzones = \"everywhere\"", "");
    let flows = log_of(&text, EngineName::Flow, 1);
    let packets = log_of(&text, EngineName::Packet, 1);
    assert_eq!(packets, log_of(&text, EngineName::Packet, 2));
    for log in [&flows, &packets] {
        let late: Vec<&ActionRow> = log.actions.iter().filter(|one| one.decided > SimTime::ZERO).collect();
        assert!(late.iter().all(|one| one.reason == "jobs-changed" && one.effective == one.decided + us(6)));
        // In the plan after it came it gets entries; in that after it went they are taken back.
        assert!(late.iter().any(|one| one.decided == us(50) && one.action.name() == "entry-add"));
        let ends = log.job_ends(&resolved(&text, EngineName::Flow).case.work);
        let next = SimTime::from_ps((ends[1].ps() / us(50).ps() + 1) * us(50).ps());
        assert!(late.iter().any(|one| one.decided == next && one.action.name() == "entry-remove"), "{next}");
        assert!(late.iter().any(|one| one.decided == us(350) && one.action.name() == "entry-add"));
    }
}
