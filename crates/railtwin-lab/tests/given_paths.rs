//! The flow engine on paths that somebody else found.
use railtwin_engine::Case;
use railtwin_fabric::{DeviceId, HostId, LinkId};
use railtwin_lab::simulated::{
    GivenConnection, by_balancer, four_jobs, most_on_a_link, on_paths, path_through,
};

fn case() -> Case {
    four_jobs("ecmp").unwrap().case
}

/// NICs of the two hosts of each job.
const HOSTS: [(u32, u32); 4] = [(0, 2), (0, 2), (1, 3), (1, 3)];

/// A path by leaf of the sender, spine, and leaf of the receiver.
fn path(case: &Case, (from, to): (u32, u32), (leaf, spine, far): (u32, u32, u32)) -> Vec<LinkId> {
    let (from, to) = (format!("host-{from}/nic-0"), format!("host-{to}/nic-0"));
    let [leaf, spine, far] = [format!("leaf-{leaf}"), format!("spine-{spine}"), format!("leaf-{far}")];
    path_through(&case.fabric, &[&from, &leaf, &spine, &far, &to]).unwrap()
}

/// Both directions of all jobs, whose streams `of` places: job, stream, to (port of the sender, spine, port of the receiver).
fn given(case: &Case, of: impl Fn(u32, u32) -> (u32, u32, u32)) -> Vec<GivenConnection> {
    let nic = |host: u32| -> DeviceId { case.fabric.nic(HostId(host), 0) };
    let connection = |job: u32, from: u32, to: u32| {
        // Leaf of a port: hosts 0 and 1 are under leaves 0 and 1, hosts 2 and 3 under leaves 2 and 3.
        let leaf = |host: u32, port: u32| 2 * (host / 2) + port;
        let stream = |number| {
            let (port, spine, far) = of(job, number);
            path(case, (from, to), (leaf(from, port), spine, leaf(to, far)))
        };
        GivenConnection { job, source: nic(from), target: nic(to), paths: (0..4).map(stream).collect() }
    };
    let jobs = (0..4).zip(HOSTS);
    jobs.flat_map(|(job, (a, b))| [connection(job, a, b), connection(job, b, a)]).collect()
}

/// Jobs on links of their own share have the rate of their links: two queue pairs on each uplink of 100 Mbit/s.
#[test]
fn planned_paths_give_every_job_its_share() {
    let case = case();
    // Two jobs on a host and two hosts: each takes the spines that the other job of its host leaves.
    let planned = given(&case, |job, stream| (stream % 2, 2 * (job % 2) + stream / 2, stream % 2));
    let outcome = on_paths(&case, &planned).unwrap();
    assert_eq!(outcome.most_on_a_link, 2);
    let share = 4.0 * 50e6 * 1448.0 / 1514.0;
    for job in &outcome.jobs {
        assert!((job.bit_per_s / share - 1.0).abs() < 2e-3, "{job:?}");
        assert!((job.operation_s * job.bit_per_s / (8.0 * 4_194_304.0) - 1.0).abs() < 1e-6, "{job:?}");
    }
    assert_eq!(outcome, on_paths(&case, &planned).unwrap());
}

/// One job on one spine with all its streams, leaving by one port: its four share a link of 100 Mbit/s.
#[test]
fn a_crowded_link_slows_its_job_alone() {
    let case = case();
    let crowded = given(&case, |job, stream| match job {
        0 => (0, 0, 0),
        job => (stream % 2, 1 + (job % 3 + stream / 2) % 3, stream % 2),
    });
    let links: Vec<&[LinkId]> = crowded[..2].iter().flat_map(|one| &one.paths).map(Vec::as_slice).collect();
    assert_eq!(most_on_a_link(&case.fabric, links), 4);
    let outcome = on_paths(&case, &crowded).unwrap();
    assert!((outcome.jobs[0].bit_per_s / (100e6 * 1448.0 / 1514.0) - 1.0).abs() < 2e-3, "{outcome:?}");
    assert!(
        outcome.jobs[1..].iter().all(|job| job.bit_per_s > 1.2 * outcome.jobs[0].bit_per_s),
        "{outcome:?}"
    );
}

/// The model's own draw, read back from its paths and given again, is the same draw.
#[test]
fn paths_of_a_draw_given_again_are_that_draw() {
    use railtwin_engine::choose::View;
    use railtwin_engine::lower::Lowering;
    use railtwin_routing::LinkMask;
    let case = case();
    for replicate in [0, 3] {
        let lowering = Lowering::new(&case, replicate);
        let none = LinkMask::none(&case.fabric);
        let paths = lowering.paths(View { mask: &none, planned: &none });
        let connection = |one: &railtwin_engine::Connection| GivenConnection {
            job: one.job,
            source: one.source,
            target: one.target,
            paths: (one.first..one.first + one.count).map(|row| paths.path(row).links.to_vec()).collect(),
        };
        let given: Vec<GivenConnection> = lowering.connections().iter().map(connection).collect();
        let again = on_paths(&case, &given).unwrap();
        let drawn = by_balancer(&case, replicate + 1).unwrap().pop().unwrap();
        assert_eq!(again.most_on_a_link, drawn.most_on_a_link);
        for (again, drawn) in again.jobs.iter().zip(&drawn.jobs) {
            assert!((again.bit_per_s / drawn.bit_per_s - 1.0).abs() < 1e-3, "{again:?} {drawn:?}");
        }
    }
}

#[test]
fn what_cannot_be_given_is_refused_with_its_place() {
    let case = case();
    let whole = given(&case, |_, stream| (stream % 2, stream / 2, 0));
    let said = |given: &[GivenConnection]| on_paths(&case, given).unwrap_err().to_string();
    let missing = said(&whole[1..]);
    assert!(missing.contains("job 0, host-0/nic-0 to host-2/nic-0: 0 lists of paths"), "{missing}");
    let mut twice = whole.clone();
    twice.push(whole[0].clone());
    assert!(said(&twice).contains("2 lists of paths"), "{}", said(&twice));
    let mut empty = whole.clone();
    empty[0].paths.clear();
    assert!(said(&empty).contains("0 paths for a connection"), "{}", said(&empty));
    // The last hop of another host: no source port leads there.
    let mut wrong = whole.clone();
    wrong[0].paths[0] = path(&case, (0, 3), (0, 0, 2));
    let wrong = said(&wrong);
    assert!(
        wrong.contains("stream 0 of host-0/nic-0 > leaf-0 > spine-0 > leaf-2 > host-3/nic-0: no source port"),
        "{wrong}"
    );
    let mut cut = whole;
    cut[0].paths[1].remove(0);
    assert!(said(&cut).contains("it leaves by no port of its NIC"), "{}", said(&cut));
    let names = path_through(&case.fabric, &["host-0/nic-0", "spine-0"]).unwrap_err().to_string();
    assert!(names.contains("no cable joins host-0/nic-0 and spine-0"), "{names}");
    assert!(path_through(&case.fabric, &["host-9/nic-0"]).unwrap_err().to_string().contains("is no device"));
}
