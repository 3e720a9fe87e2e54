//! What only the resolved scenario shows: ranks against GPUs asked for, switches against chips that there are.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, clippy::result_large_err, reason = "a test")]

use railtwin_engine::Case;
use railtwin_scenario::{Scenario, ScenarioError, Source};

/// Resolves a scenario whose paths are relative to the repository.
fn resolve(text: &str) -> Result<Case, ScenarioError> {
    let scenario = Scenario::parse("s.toml", text)?;
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let read = |path: &str| std::fs::read(root.join(path)).map_err(|error| error.to_string());
    scenario.resolve(Source { file: "s.toml", text }, &read)
}

fn error(text: &str) -> String {
    resolve(text).unwrap_err().to_string()
}

/// A job on eight segments of a small HPN; `job` is a line each.
fn on_hpn(job: &str) -> String {
    format!(
        "schema = 1\nname = \"s\"\nfabric = {{ preset = \"hpn\", segments = 8, hosts = 8 }}\n[[job]]\n{job}\n"
    )
}

const GPT: &str = "workload = { recipe = \"gpt3-175b\", tp = 8, pp = 8, dp = 8 }";

#[test]
fn a_size_that_is_not_that_of_the_ranks_is_told_with_both_numbers() {
    for gpus in [511, 513] {
        let text = error(&on_hpn(&format!("gpus = {gpus}\n{GPT}")));
        assert_eq!(
            text,
            format!(
                "s.toml:5:8: gpus = {gpus}, but the job has 512 ranks, tp × pp × dp = 8 × 8 × 8; \
                 write gpus = 512, or change what the job runs"
            )
        );
    }
    let text = error(&on_hpn(&format!("hosts = 63\n{GPT}")));
    assert!(
        text.starts_with("s.toml:5:9: hosts = 63, which have 504 GPUs, but the job has 512 ranks"),
        "{text}"
    );
    assert!(text.contains("write hosts = 64"), "{text}");
    for right in ["gpus = 512", "hosts = 64", ""] {
        assert_eq!(resolve(&on_hpn(&format!("{right}\n{GPT}"))).unwrap().placements[0].len(), 512);
    }
}

#[test]
fn hosts_that_are_named_and_not_filled_are_told() {
    let job = "gpus = 9\ncollective = { kind = \"all-reduce\", bytes = \"1 MB\" }\nplacement = { hosts = [0, 1, 2] }";
    let text = error(&on_hpn(job));
    assert!(
        text.contains("s.toml:7:13: the placement has 3 hosts, but the job has 9 ranks, which fill 2"),
        "{text}"
    );
    assert!(resolve(&on_hpn(&job.replace(", 2]", "]"))).is_ok(), "the last host may be filled in part");
    let recipe = on_hpn("workload = { recipe = \"llama-7b\", tp = 8 }\nplacement = { hosts = [3, 4] }");
    assert!(
        error(&recipe)
            .contains("the placement has 2 hosts, but the job has 8 ranks, tp × pp × dp = 8 × 1 × 1")
    );
}

#[test]
fn a_job_may_take_some_gpus_of_each_of_its_hosts() {
    let job = "gpus_per_host = 4\nworkload = { recipe = \"bert-large\", dp = 16 }\nplacement = { hosts = [0, 1, 16, 17] }";
    let places = resolve(&on_hpn(job)).unwrap().placements.remove(0);
    let wanted: Vec<(u32, u32)> =
        [0, 1, 16, 17].into_iter().flat_map(|host| (0..4).map(move |gpu| (host, gpu))).collect();
    assert_eq!(places.iter().map(|place| (place.host.0, place.gpu)).collect::<Vec<_>>(), wanted);
    // One communicator for each GPU that it takes of a host.
    let rails = "hosts = 3\ngpus_per_host = 2\ncollective = { kind = \"all-reduce\", bytes = \"1 MB\", per = \"rail\" }";
    let case = resolve(&on_hpn(rails)).unwrap();
    assert_eq!(case.placements[0].len(), 6);
    assert_eq!(case.work.jobs[0].plan.patterns[0].communicators, [[0, 2, 4], [1, 3, 5]]);
    let text = error(&on_hpn(&job.replace("host = 4", "host = 8")));
    assert!(text.contains("the placement has 4 hosts, but the job has 16 ranks"), "{text}");
    let text = error(&on_hpn(&job.replace("host = 4", "host = 9")));
    assert!(text.starts_with("s.toml:5:17: gpus_per_host = 9, but a host has 8 GPUs"), "{text}");
}

#[test]
fn files_with_other_ranks_than_asked_are_told() {
    let simai = "workload = { simai = \"data/simai/simai_micro_all_reduce.txt\" }";
    let text = error(&on_hpn(&format!("hosts = 2\n{simai}")));
    assert!(
        text.contains("hosts = 2, which have 16 GPUs, but data/simai/simai_micro_all_reduce.txt has 8 ranks")
    );
    assert!(text.contains("write hosts = 1"), "{text}");
    assert!(resolve(&on_hpn(simai)).is_ok());
    let folder = "crates/railtwin-formats/tests/data/chakra_astra_micro/all_reduce_8npus_1MB_all_reduce";
    let chakra = format!("workload = {{ chakra = \"{folder}\" }}");
    let text = error(&on_hpn(&format!("gpus = 7\n{chakra}")));
    assert!(text.contains("s.toml:5:8: the job has 7 GPUs, but there is a trace of rank 7"), "{text}");
    assert!(error(&on_hpn(&format!("gpus = 9\n{chakra}"))).contains(".8.et"));
    assert!(resolve(&on_hpn(&format!("gpus = 8\n{chakra}"))).is_ok());
}

#[test]
fn a_job_that_the_memory_of_a_gpu_does_not_hold_is_refused_or_told() {
    let llama =
        |more: &str| on_hpn(&format!("name = \"a\"\nworkload = {{ recipe = \"llama-7b\", dp = 512{more} }}"));
    let text = error(&llama(""));
    // 6.738e9 parameters of 2, 2 and 12 bytes; 2,048 tokens of 32 layers and the logits.
    assert!(text.starts_with("s.toml:6:12: a GPU of stage 0 needs 10"), "{text}");
    assert!(text.contains(
        "but one of hgx-h800 has 80.0 GiB: weights 12.6, gradients 12.6, optimizer 75.3, activations"
    ));
    assert!(text.contains("; write zero = 1, which needs"), "{text}");
    assert!(text.ends_with("or memory = \"allow\" to run it all the same"), "{text}");
    // 512 ranks are more than costs were measured on, which is told too.
    let of_costs = |line: &String| line.contains("was fitted on at most");
    let notes = |text: &str| {
        let all = resolve(text).unwrap().all_warnings();
        all.into_iter().filter(|line| !of_costs(line)).collect::<Vec<_>>()
    };
    assert!(notes(&llama(", zero = 1")).is_empty());
    let told = notes(&llama(", memory = \"allow\""));
    assert!(told.len() == 1 && told[0].starts_with("job a: a GPU of stage 0 needs 10"), "{told:?}");
    // Micro-batches so large that only what is computed again makes room.
    let batch = ", zero = 1, micro_batch = 32";
    assert!(
        error(&llama(batch)).contains("write recompute = \"full\", which needs"),
        "{}",
        error(&llama(batch))
    );
    assert!(resolve(&llama(&format!("{batch}, recompute = \"full\""))).is_ok());
    // Another GPU, and one of which nothing is known.
    let large = llama("").replace("hosts = 8 }", "hosts = 8, host = { gpu_memory = \"141 GiB\" } }");
    assert!(notes(&large).is_empty());
    let small = llama(", zero = 1").replace("hosts = 8 }", "hosts = 8, host = { gpu_memory = \"16 GiB\" } }");
    assert!(error(&small).contains("has 16.0 GiB"));
    // What 16 bytes of each parameter need on 8 GPUs no stage of ZeRO helps without a second replica.
    let alone = error(&on_hpn("workload = { recipe = \"gpt3-175b\", tp = 8 }"));
    assert!(alone.contains("raise tp or pp"), "{alone}");
    let experts = error(&on_hpn("workload = { recipe = \"dbrx\", dp = 16 }"));
    assert!(experts.contains("raise ep or pp"), "{experts}");
}

#[test]
fn a_leaf_that_no_switch_can_be_is_refused() {
    let fabric = |more: &str| {
        format!(
            "schema = 1\nname = \"s\"\nfabric = {{ preset = \"leaf-spine\", leaves = 2, hosts_per_leaf = 64, \
             uplinks = 32{more} }}\njob = [{{ hosts = 2, collective = {{ kind = \"all-reduce\", bytes = \"1 MB\" }} }}]\n"
        )
    };
    let text = error(&fabric(""));
    assert!(
        text.contains("s.toml:3:10: a leaf switch needs 512 × 200 Gbps down and 32 × 400 Gbps up"),
        "{text}"
    );
    assert!(
        text.contains("115.2 Tbps in all, but the largest such switch that there is has 102.4 Tbps"),
        "{text}"
    );
    let case = resolve(&fabric(", chip = \"115.2 Tbps\"")).unwrap();
    let said = &case.warnings;
    assert!(said.iter().any(|warning| warning.contains("no switch chip has 115.2 Tbps")), "{said:?}");
    let case = resolve(&fabric(", chip = \"102.4 Tbps\"").replace("= 64", "= 56")).unwrap();
    assert!(case.all_warnings().is_empty(), "102.4 Tbps there are");
}
