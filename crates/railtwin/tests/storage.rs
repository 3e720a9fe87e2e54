//! Storage: closed forms, conservation of bytes, what costs and what does not, and what is refused.
#![allow(clippy::unwrap_used, reason = "a test may fail")]
use std::path::Path;

use railtwin::{Question, Run};
use railtwin_fabric::{CableClass, HostId, LinkId};

/// A fabric of hosts of one GPU and one NIC of 400 Gbps, a job of four that computes for 10 ms and reduces.
const PLAIN: &str = "[fabric]\npreset = \"leaf-spine\"\nleaves = 2\nhosts_per_leaf = 4\nuplinks = 4\n\
                     host = { model = \"plain\" }\n";
const TRAIN: &str = "[[job]]\nname = \"train\"\ngpus = 4\n\
                     collective = { kind = \"all-reduce\", bytes = \"50 MB\", compute = \"10 ms\" }\n";
/// Hosts of eight GPUs with a frontend NIC.
const HPN: &str = "[fabric]\npreset = \"hpn\"\nsegments = 2\nhosts = 4\nspare_hosts = 1\nspines = 4\n";

fn text(parts: &[&str]) -> String {
    format!("schema = 1\nname = \"s\"\n{}", parts.concat())
}

fn run(parts: &[&str]) -> Run {
    let question = Question::of_text("s.toml", &text(parts), Path::new("."));
    let point = question.points().unwrap().remove(0);
    Run::of(question.resolve(&point.scenario).unwrap(), &|| ())
}

fn refused(parts: &[&str]) -> String {
    let question = Question::of_text("s.toml", &text(parts), Path::new("."));
    match question.points() {
        Err(error) => error.to_string(),
        Ok(mut points) => question.resolve(&points.remove(0).scenario).unwrap_err().to_string(),
    }
}

fn close(ours: f64, expected: f64, what: &str) {
    assert!((ours / expected - 1.0).abs() < 1e-3, "{what}: {ours} is not {expected}");
}

fn value(run: &Run, figure: &str) -> f64 {
    run.figure(figure).unwrap_or_else(|| panic!("no {figure} in {:?}", run.info.figures))
}

#[test]
fn a_checkpoint_takes_its_bytes_over_the_narrowest_link() {
    let checkpoint = "checkpoint = { bytes_per_gpu = \"1 GB\" }\n";
    // Four ranks share two storage NICs of 50 GB/s of which a part is headers.
    let run = run(&[PLAIN, "[storage]\nhosts = 2\non = \"backend\"\n", TRAIN, checkpoint]);
    let share = run.resolved.case.wire_share;
    close(value(&run, "checkpoint_time"), 2e9 / (50e9 * share), "two ranks a storage host");
    close(value(&run, "checkpoint_lost"), value(&run, "checkpoint_time"), "it blocks");
    close(value(&run, "checkpoint_bytes"), 4e9, "all ranks");
    // Eight ranks of a host share its frontend NIC; each has a storage host of its own.
    let job = "[[job]]\nname = \"train\"\nhosts = 1\n\
               collective = { kind = \"all-reduce\", bytes = \"50 MB\", compute = \"10 ms\" }\n";
    let run = self::run(&[HPN, "[storage]\nhosts = 8\n", job, checkpoint]);
    close(value(&run, "checkpoint_time"), 8e9 / (50e9 * share), "one frontend NIC");
    // On the backend each of them has a NIC of its own, and a storage host on its rail.
    let run = self::run(&[HPN, "[storage]\nhosts = 8\non = \"backend\"\n", job, checkpoint]);
    close(value(&run, "checkpoint_time"), 1e9 / (50e9 * share), "eight backend NICs");
}

#[test]
fn what_ranks_write_arrives_at_storage_hosts_and_nowhere_else() {
    for on in ["frontend", "backend"] {
        let storage = format!("[storage]\nhosts = 6\non = \"{on}\"\n");
        let job = "[run]\nsteps = 6\n[[job]]\nname = \"train\"\nhosts = 3\n\
                   collective = { kind = \"all-reduce\", bytes = \"5 MB\", compute = \"1 ms\" }\n\
                   checkpoint = { bytes_per_gpu = \"300 MB\", every = 2, blocking = false }\n\
                   read = { bytes_per_gpu = \"40 MB\" }\n";
        let run = run(&[HPN, &storage, job]);
        let (case, log) = (&run.resolved.case, &run.simulation.as_ref().unwrap().log);
        let fabric = &*case.fabric;
        let (mut into, mut out, mut frontend) = (0.0, 0.0, 0.0);
        for link in (0..fabric.link_count() as u32).map(LinkId) {
            let bytes = log.link_bytes[link.index()] * case.wire_share;
            let is_storage = |device| fabric.host_of(device).is_some_and(|host| fabric.is_service(host));
            into += if is_storage(fabric.target(link)) { bytes } else { 0.0 };
            out += if is_storage(fabric.source(link)) { bytes } else { 0.0 };
            let of_frontend = fabric.cable_class(link.cable()) >= CableClass::FrontendAccess;
            frontend += if of_frontend { bytes } else { 0.0 };
        }
        // Three checkpoints and six reads of 24 ranks.
        close(into, 3.0 * 24.0 * 300e6, "written");
        close(out, 6.0 * 24.0 * 40e6, "read");
        assert_eq!(frontend > 0.0, on == "frontend", "{on}");
        let named = |host: HostId| fabric.host_name(host);
        assert_eq!(fabric.storage_hosts().map(named).last().unwrap(), "storage-5");
    }
}

#[test]
fn beside_the_backend_an_asynchronous_checkpoint_costs_nothing_and_on_it_the_step_waits() {
    let lost = |on: &str, blocking: bool| {
        let storage = format!("[run]\nsteps = 4\n[storage]\nhosts = 4\non = \"{on}\"\n");
        let job = format!(
            "[[job]]\nname = \"train\"\nhosts = 2\nplacement = \"spread\"\n\
             collective = {{ kind = \"all-reduce\", bytes = \"2 GB\", compute = \"5 ms\", per = \"rail\" }}\n\
             checkpoint = {{ bytes_per_gpu = \"2 GB\", every = 2, blocking = {blocking} }}\n"
        );
        value(&run(&[HPN, &storage, &job]), "checkpoint_lost")
    };
    assert_eq!(lost("frontend", false), 0.0);
    let beside = lost("backend", false);
    assert!(beside > 1e-3, "{beside}");
    assert!(lost("frontend", true) > beside && lost("backend", true) > beside);
}

#[test]
fn a_read_that_fits_beside_a_step_costs_nothing_and_a_longer_one_is_the_step() {
    let read = |bytes: &str| {
        let job = format!("{TRAIN}read = {{ bytes_per_gpu = \"{bytes}\" }}\n");
        run(&[PLAIN, "[storage]\nhosts = 2\non = \"backend\"\n", &job])
    };
    let short = read("1 MB");
    assert!(value(&short, "read_lost") < 1e-4, "{}", value(&short, "read_lost"));
    let long = read("2 GB");
    close(value(&long, "step_time"), value(&long, "read_time"), "the step is the read");
    close(value(&long, "read_time"), 4e9 / (50e9 * long.resolved.case.wire_share), "two readers a NIC");
}

/// A job that answers requests, with a tide over the hours of a day.
fn serving(gpus: u32, hour: u32) -> String {
    format!(
        "[[job]]\nname = \"serve\"\ngpus = {gpus}\nsteps = 20\nworkload = {{ requests_per_s = 4000, request = \"20 kB\", \
         response = \"1 MB\", beat = \"2 ms\", tide = 1.0, hour = {hour} }}\n"
    )
}

#[test]
fn inference_on_the_frontend_does_not_touch_training_and_swings_with_the_tide() {
    let served = |hour: u32| {
        let train = "[[job]]\nname = \"train\"\nhosts = 2\nplacement = \"spread\"\nsteps = 2\n\
                     collective = { kind = \"all-reduce\", bytes = \"1 GB\", compute = \"1 ms\" }\n";
        run(&[HPN, "[storage]\nhosts = 1\ngateways = 2\n", &serving(8, hour), train])
    };
    let noon = served(15);
    // 8000 requests of 8 ranks in 2 ms.
    close(value(&noon, "serve.inference_bytes"), 8.0 * 16.0 * 1.02e6, "requests and answers");
    assert_eq!(value(&noon, "train.inference_lost"), 0.0);
    let night = served(3);
    assert_eq!(night.figure("serve.inference_bytes"), None, "nobody asks");
    // On the backend answers to the gateways of another leaf and gradients meet at the one uplink of theirs.
    let beside = |hour: u32| {
        let fabric = PLAIN.replace("uplinks = 4", "uplinks = 1");
        let storage = "[storage]\nhosts = 1\ngateways = 2\non = \"backend\"\n";
        let train = TRAIN.replace("gpus = 4", "gpus = 4\nplacement = \"spread\"\nsteps = 4");
        run(&[&fabric, storage, &serving(1, hour), &train])
    };
    let lost = value(&beside(15), "train.inference_lost");
    assert!(lost > 1e-4, "{lost}");
}

#[test]
fn of_a_job_that_ends_by_time_storage_costs_what_it_costs_otherwise() {
    let checkpoint = |ends: &str| {
        let job = TRAIN.replace("gpus = 4", &format!("gpus = 4\n{ends}"));
        let checkpoint = "checkpoint = { bytes_per_gpu = \"1 GB\", every = 3 }\n";
        run(&[PLAIN, "[storage]\nhosts = 2\non = \"backend\"\n", &job, checkpoint])
    };
    let inference = |ends: &str| {
        let fabric = PLAIN.replace("uplinks = 4", "uplinks = 1");
        let storage = "[storage]\nhosts = 1\ngateways = 2\non = \"backend\"\n";
        let train = TRAIN.replace("gpus = 4", &format!("gpus = 4\nplacement = \"spread\"\n{ends}"));
        run(&[&fabric, storage, &serving(1, 15), &train])
    };
    let alike = |of: &dyn Fn(&str) -> Run, prefix: &str, figures: &[&str]| {
        let ended = of("until = \"130 ms\"");
        let steps = value(&ended, &format!("{prefix}steps_ended"));
        assert!(steps >= 3.0, "{steps}");
        let whole = of(&format!("steps = {steps}"));
        for figure in figures {
            let figure = format!("{prefix}{figure}");
            assert!(value(&ended, &figure) > 0.0, "{figure}");
            close(value(&ended, &figure), value(&whole, &figure), &figure);
        }
    };
    alike(&checkpoint, "", &["checkpoint_lost", "storage_lost_share", "storage_step_worst"]);
    alike(&inference, "train.", &["inference_lost", "storage_lost_share"]);
}

#[test]
fn feedback_is_told_of_jobs_of_rank_classes_that_write_to_storage() {
    let job = "[run]\nsteps = 2\n[control]\nfeedback = \"10 ms\"\n[routing]\nbalancer = \"c4p\"\n\
               [storage]\nhosts = 4\non = \"backend\"\n[[job]]\nname = \"train\"\n\
               workload = { recipe = \"gpt-22b\", tp = 4, pp = 2, dp = 2, micro_batches = 4 }\n\
               checkpoint = { bytes_per_gpu = \"1 GB\" }\n";
    let run = run(&[HPN, job]);
    assert!(value(&run, "checkpoint_time") > 0.0);
}

#[test]
fn storage_may_fill_a_pod() {
    // Of two pods of four hosts the second is storage, and its cores lead there.
    let fabric = "[fabric]\npreset = \"fat-tree\"\nk = 4\n";
    let storage = "[storage]\nhosts = 6\ngateways = 1\non = \"backend\"\n";
    let job = "[[job]]\nname = \"train\"\ngpus = 4\n\
               collective = { kind = \"all-reduce\", bytes = \"5 MB\", compute = \"10 ms\" }\n\
               checkpoint = { bytes_per_gpu = \"1 GB\" }\n";
    for hash in ["", "[routing]\ncore_per_port = true\n"] {
        let run = run(&[fabric, hash, storage, job]);
        assert!(value(&run, "checkpoint_time") > 0.0);
        // The map's pods are those of the backend.
        assert_eq!(run.resolved.case.fabric.pods(), 4);
    }
}

#[test]
fn what_lies_behind_the_last_step_counts_for_no_checkpoint() {
    let lost = |steps: u32| {
        let job = format!(
            "[run]\nsteps = {steps}\n[storage]\nhosts = 4\non = \"backend\"\n[[job]]\nname = \"train\"\nhosts = 2\n\
             placement = \"spread\"\n\
             collective = {{ kind = \"all-reduce\", bytes = \"2 GB\", compute = \"5 ms\", per = \"rail\" }}\n\
             checkpoint = {{ bytes_per_gpu = \"100 MB\", every = 2, blocking = false }}\n"
        );
        run(&[HPN, &job])
    };
    // Two are due; of four steps the second begins as the last one ends.
    let (four, five) = (value(&lost(4), "checkpoint_lost"), value(&lost(5), "checkpoint_lost"));
    close(four, five, "for each checkpoint");
    assert!(four > 5e-4, "{four}");
    let run = lost(2);
    let figure = run.info.figures.iter().find(|figure| figure.name == "checkpoint_lost").unwrap();
    assert!(figure.value.is_none() && figure.reason.contains("give the job more steps"), "{figure:?}");
}

#[test]
fn steps_fluctuate_for_storage_alone_and_not_for_their_jitter() {
    let worst = |on: &str| {
        let job = format!(
            "[run]\nsteps = 6\n[storage]\nhosts = 4\non = \"{on}\"\n[[job]]\nname = \"train\"\nhosts = 2\n\
             placement = \"spread\"\ncompute_jitter = 0.3\n\
             collective = {{ kind = \"all-reduce\", bytes = \"2 GB\", compute = \"50 ms\", per = \"rail\" }}\n\
             checkpoint = {{ bytes_per_gpu = \"1 GB\", every = 3, blocking = false }}\n"
        );
        value(&run(&[HPN, &job]), "storage_step_worst")
    };
    assert_eq!(worst("frontend"), 0.0);
    assert!(worst("backend") > 0.01);
}

#[test]
fn what_is_not_due_counts_as_nothing() {
    let of = |every: u32| {
        let job = format!(
            "[run]\nsteps = 4\n[storage]\nhosts = 2\non = \"backend\"\n{TRAIN}\
             checkpoint = {{ bytes_per_gpu = \"1 GB\", every = {every} }}\n"
        );
        let run = run(&[PLAIN, &job]);
        let simulation = run.simulation.as_ref().unwrap();
        let parts = &simulation.replicates[simulation.chosen as usize].exposed[0];
        let of_storage =
            |part: &&railtwin::exposed::AxisTime| part.axis.is_some_and(|axis| axis.name() == "storage");
        let bytes = parts.iter().find(of_storage).unwrap().bytes;
        let case = &run.resolved.case;
        (bytes, railtwin::tables::operations(case, &simulation.log, 0..case.work.operations).rows())
    };
    let ((each, all), (seldom, fewer)) = (of(1), of(4));
    close(seldom * 4.0, each, "bytes of a step");
    // Three of the four checkpoints are no rows.
    assert_eq!(all - fewer, 3);
}

#[test]
fn without_storage_nothing_is_written_of_it() {
    let question = Question::of_text("s.toml", &text(&[PLAIN, TRAIN]), Path::new("."));
    let canonical = question.points().unwrap().remove(0).scenario.to_toml();
    for word in ["storage", "frontend", "checkpoint", "read ="] {
        assert!(!canonical.contains(word), "{word} in {canonical}");
    }
    let run = run(&[PLAIN, TRAIN]);
    assert!(run.info.figures.iter().all(|figure| !figure.name.contains("checkpoint")));
}

#[test]
fn what_cannot_be_is_refused_at_its_place() {
    let checkpoint = "checkpoint = { bytes_per_gpu = \"1 GB\" }\n";
    let backend = "[storage]\nhosts = 2\non = \"backend\"\n";
    for (parts, words) in [
        (vec![PLAIN, TRAIN, checkpoint], "there is no storage for the checkpoint of job `train`"),
        (
            vec!["engine = \"packet\"\n", PLAIN, backend, TRAIN, checkpoint],
            "the packet engine does not know the checkpoint",
        ),
        (vec![PLAIN, backend, "[telemetry]\n", TRAIN, checkpoint], "telemetry is not told of the checkpoint"),
        (vec![PLAIN, "[storage]\nhosts = 2\n", TRAIN, checkpoint], "hosts need a frontend NIC"),
        (vec![PLAIN, "[storage]\nhosts = 8\non = \"backend\"\n", TRAIN, checkpoint], "storage.hosts = 8"),
        (vec![PLAIN, "[storage]\nhosts = 0\n", TRAIN], "hosts"),
        (vec![PLAIN, backend, TRAIN, "checkpoint = { every = 2 }\n"], "bytes_per_gpu"),
        (
            vec![
                PLAIN,
                backend,
                "[[job]]\ngpus = 4\nworkload = { traffic = \"shift\", bytes = \"1 MB\" }\n",
                checkpoint,
            ],
            "makes plain transfers",
        ),
        (
            vec![
                PLAIN,
                backend,
                "[[job]]\ngpus = 4\nworkload = { requests_per_s = 10, request = \"1 kB\", response = \"1 kB\" }\n",
            ],
            "there is no gateway",
        ),
        (
            vec![
                HPN,
                "[storage]\nhosts = 2\ngateways = 1\n[cluster]\ndays = 1\ncheckpoint = { bytes_per_gpu = \"1 GB\" }\n",
            ],
            "gateways beside [cluster], to whose GPUs no requests come",
        ),
    ] {
        let message = refused(&parts);
        assert!(message.contains(words), "{words}: {message}");
    }
}

/// Leaves without an ARP proxy bridge what goes to a host whose port died, reads among it: these stand still, and those of
/// no other host, whether or not rank classes are joined and other jobs have more bundles than the class has rows.
#[test]
fn a_black_hole_catches_the_reads_that_cross_it_at_both_paces() {
    let of = |pace: &str, split: &str| {
        let head =
            format!("[run]\npace = \"{pace}\"\nsteps = 2\n[routing]\nqueue_pairs = 2\nsplit = \"{split}\"\n");
        let run = run(&[
            &head,
            "[fabric]\npreset = \"hpn\"\nsegments = 1\nhosts = 20\nspare_hosts = 0\nspines = 4\n",
            "[storage]\nhosts = 4\ngateways = 2\non = \"backend\"\n",
            "[reaction]\ndetection = \"100 us\"\nlag_failover = \"200 us\"\necmp_regroup = \"100 us\"\n",
            "withdrawal = \"200 us\"\nconvergence = \"300 us\"\nlacp = \"1 ms\"\narp = \"1 ms\"\narp_proxy = false\n",
            "mac_aging = \"100 ms\"\n[transport]\ntimeout = 24\n",
            "[[job]]\nname = \"first\"\nhosts = 4\ncollective = { kind = \"all-to-all\", bytes = \"1 MB\" }\n",
            "[[job]]\nname = \"train\"\nhosts = 6\n",
            "collective = { kind = \"all-reduce\", bytes = \"8 MB\", compute = \"20 ms\" }\n",
            "read = { bytes_per_gpu = \"200 MB\" }\n",
            "[[fault]]\nat = \"2 ms\"\nport = \"host-6/nic-0:port-0\"\nkind = \"down\"\n",
        ]);
        assert!(
            value(&run, "train.stall_time") > 0.05,
            "{pace} {split}: {}",
            value(&run, "train.stall_time")
        );
        value(&run, "train.read_time")
    };
    for split in ["static", "dynamic"] {
        close(of("class", split), of("bundle", split), split);
    }
}
