//! What collectives cost hosts, as scenarios ask for it: measured, from a file, by NCCL's model, or nothing.
use railtwin_engine::Case;
use railtwin_scenario::{CapsFile, Source, expand, host_caps};
use railtwin_units::{Rate, SimTime};
use railtwin_workload::{Algorithm, Pattern, Protocol};

const H100: &str = "[fabric]\npreset = \"leaf-spine\"\nleaves = 2\nhosts_per_leaf = 10\n[fabric.host]\nmodel = \"hgx-h100\"\n";

fn case(text: &str, file: &str) -> Result<Case, String> {
    let text = format!("schema = 1\nname = \"caps\"\n{text}");
    let points = expand("caps.toml", &text).map_err(|error| error.to_string())?;
    let source = Source { file: "caps.toml", text: &text };
    let read = |path: &str| match path {
        "caps/own.toml" => Ok(file.as_bytes().to_vec()),
        other => Err(format!("no {other}")),
    };
    points[0].scenario.resolve(source, &read).map_err(|error| error.to_string())
}

/// The pattern of a job of one collective.
fn pattern(hosts: u32, host: &str, collective: &str, more: &str) -> Result<Pattern, String> {
    let job = format!("[[job]]\nhosts = {hosts}\ncollective = {{ {collective} }}\n");
    let case = case(&format!("{H100}{host}{job}{more}"), OWN)?;
    Ok(case.work.jobs[0].plan.patterns[0].clone())
}

const OWN: &str = "schema = 1\n[[cap]]\ncollective = \"all-reduce\"\nalgorithm = \"tree\"\nhosts = 2\nfrom = \"1 MiB\"\n\
                   step = \"10 us\"\nbusbw = \"100 GB/s\"\n";
const AR: &str = "kind = \"all-reduce\", bytes = \"1 GiB\"";

/// NCCL went by trees up to 2 GiB over ten hosts of the cluster that was measured, and by rings beyond.
#[test]
fn the_default_is_what_was_measured_to_run() {
    let small = pattern(10, "", AR, "").unwrap();
    assert_eq!((small.algorithm, small.open), (Algorithm::Tree, true));
    // 22 steps of 26.7 us and more.
    assert!(small.cost.latency > SimTime::from_ns(580_000) && small.cost.latency < SimTime::from_ns(600_000));
    let large = pattern(10, "", "kind = \"all-reduce\", bytes = \"16 GiB\"", "").unwrap();
    assert_eq!(large.algorithm, Algorithm::Ring);
    let reached = large.cost.busbw.unwrap().bytes_per_s() / 1e9;
    assert!((reached - 322.5).abs() < 1.0, "{reached}");
    assert_eq!(pattern(1, "", AR, "").unwrap().algorithm, Algorithm::Nvls);
}

/// Latency falls with the message below what was measured, down to NCCL's own figure, and never rises.
#[test]
fn small_messages_wait_less() {
    let mut before = SimTime::ZERO;
    for bytes in ["1 KiB", "1 MiB", "8 MiB", "16 MiB", "32 MiB"] {
        let cost = pattern(10, "", &format!("kind = \"all-reduce\", bytes = \"{bytes}\""), "").unwrap().cost;
        assert!(cost.latency >= before, "{bytes}: {} after {before}", cost.latency);
        before = cost.latency;
    }
    let least = pattern(10, "", "kind = \"all-reduce\", bytes = \"64 B\"", "").unwrap().cost.latency;
    assert!(least < SimTime::from_ns(100_000), "{least}");
}

#[test]
fn links_alone_cost_nothing() {
    let none = pattern(10, "caps = \"none\"\n", AR, "").unwrap();
    assert_eq!((none.algorithm, none.cost.latency, none.cost.busbw), (Algorithm::Ring, SimTime::ZERO, None));
}

#[test]
fn a_cap_of_the_scenario_comes_before_all_else() {
    let own = "[[cap]]\ncollective = \"all-reduce\"\nalgorithm = \"tree\"\nbusbw = \"50 GB/s\"\n";
    let capped = pattern(10, "", AR, own).unwrap();
    assert_eq!(capped.cost.busbw, Some(Rate::from_gbps(400)));
    assert!(capped.cost.latency > SimTime::from_ns(500_000), "its steps are those of the model");
    let steps = format!("{own}step = \"1 us\"\n");
    assert_eq!(pattern(10, "", AR, &steps).unwrap().cost.latency, SimTime::from_ns(22_000));
}

#[test]
fn a_file_holds_for_the_nearest_hosts() {
    let host = "caps = \"caps/own.toml\"\n";
    let own = pattern(4, host, AR, "").unwrap();
    assert_eq!((own.algorithm, own.cost.busbw), (Algorithm::Tree, Some(Rate::from_gbps(800))));
    // Two edges between hosts and seven inside, up and down.
    assert_eq!(own.cost.latency, SimTime::from_ns(180_000));
    // What was measured over several hosts says nothing of one.
    assert_ne!(pattern(1, host, AR, "").unwrap().cost.busbw, Some(Rate::from_gbps(800)));
    let error = pattern(4, "caps = \"caps/other.toml\"\n", AR, "").unwrap_err();
    assert!(error.contains("caps/other.toml"), "{error}");
}

#[test]
fn operations_of_other_sizes_go_their_own_way() {
    let job = "[[job]]\nhosts = 2\nworkload = { recipe = \"llama-7b\", tp = 8, dp = 2, zero = 0 }\n";
    let case = case(&format!("{H100}{job}"), OWN).unwrap();
    let plan = &case.work.jobs[0].plan;
    assert_eq!(case.work.patterns, plan.patterns.len());
    // Tensor-parallel all-reduces stay in a host and reduce in its switch, data-parallel ones leave it.
    assert!(plan.patterns.iter().any(|pattern| pattern.algorithm == Algorithm::Nvls));
    assert!(plan.patterns.iter().all(|pattern| pattern.cost.latency > SimTime::ZERO));
}

#[test]
fn nvls_over_several_hosts_is_refused() {
    let error = pattern(2, "", &format!("{AR}, algorithm = \"nvls\""), "").unwrap_err();
    assert!(error.contains("CollNet") && error.contains("nvls-tree"), "{error}");
    assert_eq!(
        pattern(1, "", &format!("{AR}, algorithm = \"nvls\""), "").unwrap().algorithm,
        Algorithm::Nvls
    );
}

const AG: &str = "kind = \"all-gather\"";

/// NCCL 2.29, which ran on the hosts that were measured, gathers little over single ranks of hosts by aggregated trees;
/// 2.18 on H800 does not.
#[test]
fn small_gathers_over_rails_go_by_aggregated_trees() {
    let rail =
        |bytes: &str| pattern(10, "", &format!("{AG}, bytes = \"{bytes}\", per = \"rail\""), "").unwrap();
    let small = rail("1 MiB");
    assert_eq!((small.algorithm, small.cost.latency), (Algorithm::Pat, SimTime::from_ns(48_000)));
    // Measured from 32 MiB on.
    assert_eq!(rail("64 MiB").algorithm, Algorithm::Ring);
    let all = pattern(10, "", &format!("{AG}, bytes = \"1 MiB\""), "").unwrap();
    assert_eq!(all.algorithm, Algorithm::Ring);
    let job = format!("[[job]]\nhosts = 10\ncollective = {{ {AG}, bytes = \"1 MiB\", per = \"rail\" }}\n");
    let h800 = case(&format!("{}{job}", H100.replace("h100", "h800")), "").unwrap();
    assert_eq!(h800.work.jobs[0].plan.patterns[0].algorithm, Algorithm::Ring);
}

#[test]
fn aggregated_trees_are_for_one_rank_on_each_host() {
    let asked = |kind: &str, more: &str| {
        let collective = format!("kind = \"{kind}\", bytes = \"1 GiB\", algorithm = \"pat\"{more}");
        pattern(10, "", &collective, "").map(|pattern| pattern.algorithm)
    };
    assert_eq!(asked("reduce-scatter", ", per = \"rail\"").unwrap(), Algorithm::Pat);
    let error = asked("all-gather", "").unwrap_err();
    assert!(error.contains("one rank on each host") && error.contains("caps.toml:11"), "{error}");
    let error = asked("all-reduce", ", per = \"rail\"").unwrap_err();
    assert!(error.contains("all-gather and reduce-scatter"), "{error}");
}

/// Five of eight GPUs of one host and all of another: NCCL takes rings, and a ring's steps are paid.
#[test]
fn nvls_trees_over_uneven_hosts_cost_rings() {
    let cost = |gpus: u32, algorithm: &str| {
        let job = format!("[[job]]\ngpus = {gpus}\ncollective = {{ {AR}, algorithm = \"{algorithm}\" }}\n");
        case(&format!("{H100}{job}"), OWN).unwrap().work.jobs[0].plan.patterns[0].cost
    };
    assert_eq!(cost(13, "nvls-tree"), cost(13, "ring"));
    assert_eq!(cost(13, "nvls-ring"), cost(13, "ring"));
    assert_ne!(cost(16, "nvls-tree"), cost(16, "ring"));
}

/// Channels of point-to-point messages are a cap like any other, also of the scenario itself.
#[test]
fn own_channels_are_heard() {
    let own = "[[cap]]\ncollective = \"send-receive\"\nalgorithm = \"direct\"\nchannel = \"8 Gbps\"\nchannel_bytes = \"64 MiB\"\n";
    let cost = pattern(2, "", "kind = \"send-receive\", bytes = \"1 MiB\"", own).unwrap().cost;
    assert_eq!(cost.busbw, Some(Rate::from_gbps(8)));
}

/// Transfers know no collective library, but a cap that the scenario writes for them holds.
#[test]
fn plain_transfers_are_held_by_own_caps_only() {
    let job = "[[job]]\ngpus = 16\nworkload = { traffic = \"shift\", bytes = \"1 MB\" }\n";
    let cost =
        |more: &str| case(&format!("{H100}{job}{more}"), OWN).unwrap().work.jobs[0].plan.patterns[0].cost;
    assert_eq!((cost("").latency, cost("").busbw), (SimTime::ZERO, None));
    let own = "[[cap]]\ncollective = \"send-receive\"\nalgorithm = \"direct\"\nbusbw = \"8 Gbps\"\nstep = \"3 us\"\n";
    assert_eq!((cost(own).latency, cost(own).busbw), (SimTime::from_ns(3_000), Some(Rate::from_gbps(8))));
}

/// What was measured without a collective library holds transfers from a file too, and no collective.
#[test]
fn a_cap_that_is_plain_holds_transfers_alone() {
    let plain = "[[cap]]\ncollective = \"send-receive\"\nalgorithm = \"direct\"\nbusbw = \"8 Gbps\"\nstep = \"3 us\"\nplain = true\n";
    let file = format!("schema = 1\n{plain}");
    let fabric = format!("{H100}caps = \"caps/own.toml\"\n");
    let job = |work: &str| format!("[[job]]\ngpus = 16\n{work}\n");
    let transfers = job("workload = { traffic = \"shift\", bytes = \"1 MB\" }");
    let collective = job("collective = { kind = \"send-receive\", bytes = \"1 MB\" }");
    let cost = |text: &str| case(text, &file).unwrap().work.jobs[0].plan.patterns[0].cost;
    let held = (SimTime::from_ns(3_000), Some(Rate::from_gbps(8)));
    let of = |text: &str| (cost(text).latency, cost(text).busbw);
    assert_eq!(of(&format!("{fabric}{transfers}")), held);
    assert_ne!(of(&format!("{fabric}{collective}")), held);
    assert_eq!(of(&format!("{H100}{transfers}{plain}")), held);
    assert_ne!(of(&format!("{H100}{collective}{plain}")), held);
    let wrong = plain.replace("send-receive", "all-reduce").replace("direct", "ring");
    let error = CapsFile::parse("c.toml", &format!("schema = 1\n{wrong}")).unwrap_err().to_string();
    assert!(error.contains("without a collective library"), "{error}");
}

#[test]
fn a_protocol_beside_a_step_alone_is_heard() {
    let step =
        "[[cap]]\ncollective = \"all-reduce\"\nalgorithm = \"ring\"\nstep = \"1 us\"\nprotocol = \"ll128\"\n";
    let ring = format!("{AR}, algorithm = \"ring\"");
    assert_eq!(pattern(10, "", &ring, step).unwrap().cost.protocol, Protocol::Ll128);
}

/// What is known of a host model can be written to a file and taken from there.
#[test]
fn known_caps_are_files_like_any_other() {
    for model in host_caps::models() {
        let text = host_caps::text_of_model(model).unwrap();
        let caps = CapsFile::parse(model, text).unwrap();
        assert_eq!(CapsFile::parse(model, &caps.to_toml()).unwrap(), caps);
    }
    let wrong = CapsFile::parse(
        "own.toml",
        "schema = 1\n[[cap]]\ncollective = \"all-reduce\"\nalgorithm = \"trie\"\n",
    );
    let error = wrong.unwrap_err().to_string();
    assert!(error.contains("own.toml:4") && error.contains("tree"), "{error}");
}

/// Trees of 10 us and 20 us a level, rings of 40 us a step, fitted on 2 to 8 hosts.
const SCALING: &str = "schema = 1\n[[cap]]\ncollective = \"all-reduce\"\nalgorithm = \"tree\"\nhosts = 8\ngpus = 8\nfrom = \"1 KiB\"\n\
                       step = \"10 us\"\nbusbw = \"100 GB/s\"\n[[scaling]]\ncollective = \"all-reduce\"\ngpus = 8\nhosts = [2, 4, 8]\n\
                       distance = 0.0\nbusbw = \"300 GB/s\"\ntree_busbw = \"200 GB/s\"\n\
                       step = [{ chunk = \"1 KiB\", time = \"40 us\" }, { chunk = \"64 MiB\", time = \"300 us\" }]\n\
                       tree = [{ bytes = \"1 KiB\", first = \"10 us\", level = \"20 us\" }, \
                       { bytes = \"1 GiB\", first = \"11 ms\", level = \"2 ms\" }]\n";

/// 16 hosts are asked of the model, 8 of what was measured, and a run over more than were measured says so.
#[test]
fn a_model_tells_what_other_numbers_of_hosts_take() {
    let of = |hosts: u32, bytes: &str| {
        let job = format!(
            "[[job]]\nhosts = {hosts}\ncollective = {{ kind = \"all-reduce\", bytes = \"{bytes}\" }}\n"
        );
        let fabric = H100.replace("hosts_per_leaf = 10", "hosts_per_leaf = 16");
        let case = case(&format!("{fabric}caps = \"caps/own.toml\"\n{job}"), SCALING).unwrap();
        (case.work.jobs[0].plan.patterns[0].clone(), case.warnings.join("\n"))
    };
    let (measured, said) = of(8, "1 MiB");
    // 2 (3 + 7) steps of a tree.
    assert_eq!((measured.cost.latency, said.contains("fitted on")), (SimTime::from_ns(200_000), false));
    let (small, said) = of(16, "1 KiB");
    assert_eq!(small.algorithm, Algorithm::Tree);
    let time =
        small.cost.latency.seconds() + 1024.0 * 2.0 * 127.0 / 128.0 / small.cost.busbw.unwrap().bytes_per_s();
    assert!((time - 90e-6).abs() < 1e-8, "{time}");
    assert!(said.contains("at most 64 GPUs and is asked for 128, 2 x as many"), "{said}");
    assert!(said.contains("90 us by tree, in 80 % of cases 84.6 us to 97.2 us"), "{said}");
    let (large, _) = of(16, "8 GiB");
    assert_eq!(
        (large.algorithm, large.cost.busbw),
        (Algorithm::Ring, Some(Rate::from_bits_per_s(2_400_000_000_000)))
    );
    // 254 steps of 64 MiB.
    let time = large.cost.latency.seconds() + f64::from(1 << 26) * 254.0 / 300e9;
    assert!((time / (254.0 * 300e-6) - 1.0).abs() < 1e-6, "{time}");
    let wrong = SCALING.replace("hosts = [2, 4, 8]", "hosts = [4, 2]");
    let error = CapsFile::parse("c.toml", &wrong).unwrap_err().to_string();
    assert!(error.contains("do not ascend"), "{error}");
    let file = CapsFile::parse("c.toml", SCALING).unwrap();
    assert_eq!(CapsFile::parse("c.toml", &file.to_toml()).unwrap(), file);
}

/// What `[fabric.host.costs]` asks for stands beside what caps say, and computation has the multiprocessors left.
#[test]
fn hosts_cost_what_is_asked_of_them() {
    let of = |host: &str| {
        let job = "[[job]]\nhosts = 2\ncollective = { kind = \"all-reduce\", bytes = \"64 MiB\", algorithm = \"ring\" }\n";
        case(&format!("{H100}caps = \"none\"\n{host}{job}"), OWN)
    };
    let cost = |host: &str| of(host).unwrap().work.jobs[0].plan.patterns[0].cost;
    let none = cost("");
    assert_eq!((none.latency, none.busbw), (SimTime::ZERO, None));
    let posted = cost("costs = { post = \"1 us\" }\n");
    // 30 steps of a ring of 16, and a message of 512 KiB a microsecond.
    assert_eq!(posted.latency, SimTime::from_ns(30_000));
    assert_eq!(posted.busbw, Some(Rate::from_bits_per_s(8 * (512 << 10) * 1_000_000)));
    let copied = cost("costs = { channels = 16, copy = \"20 GB/s\" }\n");
    assert_eq!(copied.busbw, Some(Rate::from_gbps(16 * 160)));
    assert_eq!(of("").unwrap().work.jobs[0].beside, 1.0);
    assert_eq!(of("costs = { channels = 33 }\n").unwrap().work.jobs[0].beside, 0.75);
    let refused = |host: &str| of(host).unwrap_err();
    assert!(
        refused("costs = { channels = 132 }\n").contains("leave computation none of 132 multiprocessors")
    );
    let unknown = case(
        "[fabric]\npreset = \"leaf-spine\"\n[fabric.host]\nmodel = \"mi300x\"\ncosts = { channels = 8 }\n[[job]]\nhosts = 1\n\
         collective = { kind = \"all-reduce\", bytes = \"1 MiB\" }\n",
        OWN,
    );
    assert!(unknown.unwrap_err().contains("nobody says how many multiprocessors a GPU of mi300x has"));
}
