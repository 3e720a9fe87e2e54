//! The same scenario gives the same run, whatever the threads; another seed gives another; both paces agree
//! where they have to.
#![allow(clippy::unwrap_used, reason = "a test may fail")]
use std::path::Path;

use railtwin::{Question, Run};
use railtwin_store::content_hash;

fn run(text: &str) -> Run {
    let question = Question::of_text("test.toml", text, Path::new("."));
    let point = question.points().unwrap().remove(0);
    Run::of(question.resolve(&point.scenario).unwrap(), &|| ())
}

/// What a run is known by: the content of its tables and its figures, bit by bit.
fn print_of(run: &Run) -> Vec<(String, String)> {
    let tables = run.tables().into_iter().map(|table| (table.name.clone(), content_hash(&table)));
    let figures = run.info.figures.iter().map(|figure| {
        let bits = |value: Option<f64>| value.map(f64::to_bits);
        let all = [figure.value, figure.low, figure.high].map(bits);
        (figure.name.clone(), format!("{all:?}"))
    });
    tables.chain(figures).collect()
}

/// Two jobs that meet on few spines, several draws, a fault: work for every part.
fn crowded(seed: u64, split: &str) -> String {
    format!(
        r#"
        schema = 1
        name = "crowded"
        seed = {seed}
        [run]
        replicates = 3
        [fabric]
        preset = "dcn-plus"
        pods = 2
        spines = 2
        cores = 8
        parallel = 2
        [routing]
        queue_pairs = 2
        split = "{split}"
        [reaction]
        detection = "100 us"
        lag_failover = "500 us"
        withdrawal = "300 us"
        convergence = "1 ms"
        lacp = "1 ms"
        arp = "1 ms"
        [[job]]
        hosts = 5
        placement = "spread"
        collective = {{ kind = "all-reduce", bytes = "400 MB", repeat = 2 }}
        [[job]]
        hosts = 3
        placement = "random"
        collective = {{ kind = "all-to-all", bytes = "100 MB" }}
        [[fault]]
        at = "3 ms"
        cable = "host-3/nic-2:port-1"
        kind = "down"
        until = "9 ms"
        "#
    )
}

fn training(pace: &str, split: &str) -> String {
    format!(
        r#"
        schema = 1
        name = "training"
        [run]
        replicates = 3
        pace = "{pace}"
        [fabric]
        preset = "dcn-plus"
        pods = 2
        spines = 2
        parallel = 2
        cores = 8
        [routing]
        queue_pairs = 2
        split = "{split}"
        [[job]]
        placement = "spread"
        workload = {{ recipe = "gpt3-175b", tp = 8, pp = 4, dp = 8, micro_batches = 6, memory = "allow" }}
        "#
    )
}

#[test]
fn the_same_scenario_gives_the_same_run_on_any_number_of_threads() {
    for text in [
        crowded(7, "static"),
        crowded(7, "dynamic"),
        training("class", "static"),
        training("class", "dynamic"),
    ] {
        let first = print_of(&run(&text));
        assert!(first.len() > 20, "tables and figures are there to be compared");
        assert_eq!(first, print_of(&run(&text)));
        for threads in [1, 4] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            assert_eq!(first, pool.install(|| print_of(&run(&text))), "{threads} threads");
        }
    }
}

#[test]
fn another_seed_gives_another_run() {
    let tables =
        |seed| -> Vec<String> { run(&crowded(seed, "static")).tables().iter().map(content_hash).collect() };
    assert_ne!(tables(7), tables(8));
}

/// A collective alone on two pods of DCN+ under a pace; its step time in seconds.
fn alone(collective: &str, pace: &str) -> f64 {
    let text = format!(
        r#"
        schema = 1
        name = "alone"
        [run]
        pace = "{pace}"
        [fabric]
        preset = "dcn-plus"
        pods = 2
        spines = 2
        parallel = 2
        cores = 8
        [routing]
        queue_pairs = 2
        [[job]]
        hosts = 12
        placement = "spread"
        collective = {{ bytes = "200 MB", {collective} }}
        "#
    );
    run(&text).figure("step_time").unwrap()
}

#[test]
fn a_lone_collective_whose_bundles_are_equal_takes_the_same_time_at_both_paces() {
    for collective in [
        r#"kind = "all-reduce""#,
        r#"kind = "all-gather""#,
        r#"kind = "reduce-scatter""#,
        r#"kind = "broadcast""#,
        r#"kind = "all-reduce", algorithm = "nvls-ring""#,
        r#"kind = "all-reduce", per = "rail""#,
        r#"kind = "all-gather", per = "rail""#,
    ] {
        let (bundle, class) = (alone(collective, "bundle"), alone(collective, "class"));
        assert!(
            (class / bundle - 1.0).abs() < 1e-9,
            "{collective}: {bundle} s by bundle, {class} s by class"
        );
    }
}

#[test]
fn a_lone_exchange_takes_the_same_time_at_both_paces_where_spines_decide() {
    for collective in [r#"kind = "all-to-all""#, r#"kind = "send-receive""#] {
        let (bundle, class) = (alone(collective, "bundle"), alone(collective, "class"));
        assert!(
            (class / bundle - 1.0).abs() < 1e-9,
            "{collective}: {bundle} s by bundle, {class} s by class"
        );
    }
}

/// Bundles inside a host and between hosts differ in volume and weight. By bundle they share NVLink by
/// queue pairs, and the NIC waits for the messages inside (scenarios/smallest/all-to-all-pxn.toml); by class
/// all move in proportion to their bytes and end with the most loaded link.
#[test]
fn an_exchange_held_by_nvlink_is_faster_by_class() {
    let step = |pace: &str| {
        let text = format!(
            r#"
            schema = 1
            name = "inside"
            [run]
            pace = "{pace}"
            [fabric]
            preset = "hpn"
            segments = 1
            hosts = 2
            host = {{ caps = "none" }}
            [[job]]
            hosts = 2
            collective = {{ kind = "all-to-all", bytes = "1 GB" }}
            [packet]
            header = "0 B"
            "#
        );
        run(&text).figure("step_time").unwrap()
    };
    assert!((step("bundle") / 10.235705e-3 - 1.0).abs() < 1e-9, "{} s by bundle", step("bundle"));
    assert!((step("class") / 10.00133e-3 - 1.0).abs() < 1e-9, "{} s by class", step("class"));
}

/// The band of the class pace on a fabric whose spines are crowded four to one: by bundle, communicators
/// that end early leave their links to others; by class all wait for the slowest of their axis. Wider than
/// the 1.1 % seen, so that another draw of the hashes stays inside. Under a dynamic split queue pairs take what others
/// leave at once, so ending early is worth more: 4.3 % over the 24 draws of scenarios/reference/pace-crowded.toml.
#[test]
fn a_crowded_training_step_is_a_few_percent_slower_by_class() {
    for (split, most) in [("static", 1.03), ("dynamic", 1.08)] {
        let step = |pace: &str| run(&training(pace, split)).figure("step_time").unwrap();
        let (bundle, class) = (step("bundle"), step("class"));
        let ratio = class / bundle;
        println!("training, {split}: by class {ratio:.6} of the time by bundle");
        assert!((0.99..most).contains(&ratio), "{split}: {bundle} s by bundle, {class} s by class");
    }
}

/// What a queue pair of a dynamic split has left to send after its path died is that of its own edge, whatever moves in
/// lock step: a link that is back before it was sent shows the gap at once, later a timer does.
#[test]
fn a_flap_costs_the_same_at_both_paces_under_a_dynamic_split() {
    let stall = |kind: &str, pace: &str, flap_us: u32| {
        let text = format!(
            r#"
            schema = 1
            name = "flap"
            seed = 3
            [run]
            pace = "{pace}"
            [fabric]
            preset = "hpn"
            segments = 1
            hosts = 8
            spare_hosts = 0
            spines = 4
            host = {{ caps = "none", nic_ports = 1, nic_port_capacity = "400 Gbps" }}
            [routing]
            queue_pairs = 2
            split = "dynamic"
            [transport]
            timeout = 14
            resume = "window"
            [packet]
            window = "4 MiB"
            [[job]]
            hosts = 8
            collective = {{ kind = "{kind}", bytes = "8 MB" }}
            [[fault]]
            at = "20 us"
            cable = "host-0/nic-0:port-0"
            kind = "flap"
            length = "{flap_us} us"
            "#
        );
        run(&text).figure("stall_time").unwrap()
    };
    let mut timers = 0;
    for kind in ["all-reduce", "all-to-all"] {
        for flap_us in [10, 20, 40, 60, 80, 150] {
            let (bundle, class) = (stall(kind, "bundle", flap_us), stall(kind, "class", flap_us));
            assert!((class / bundle - 1.0).abs() < 1e-6, "{kind}, {flap_us} us: {bundle} {class}");
            timers += u32::from(bundle > 0.05);
        }
    }
    assert!((1..12).contains(&timers), "{timers} of 12 wait for a timer");
}
