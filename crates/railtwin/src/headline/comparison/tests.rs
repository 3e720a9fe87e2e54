//! Comparisons of runs made of figures: every kind of figure proposes a difference, and the largest leads.
use railtwin_store::Figure;

use super::*;

fn info(name: &str, values: &[(&str, f64)]) -> RunInfo {
    let mut info = RunInfo::starting("", "", name, "flow", 1);
    let unit = |name: &str| crate::figures::declared(name).map_or("s", |of| of.unit.name());
    info.figures = values.iter().map(|(name, value)| Figure::new(name, *value, unit(name))).collect();
    info.facts.insert("job train".to_owned(), "64 GPUs".to_owned());
    info.facts.insert(DRAWS.to_owned(), "20".to_owned());
    info
}

fn one_draw(name: &str, values: &[(&str, f64)]) -> RunInfo {
    let mut info = info(name, values);
    info.facts.insert(DRAWS.to_owned(), "1".to_owned());
    info
}

fn steps(name: &str, [low, median, high]: [f64; 3]) -> RunInfo {
    info(name, &[("step_time", median), ("step_time_p5", low), ("step_time_p95", high)])
}

fn all_of(a: &RunInfo, b: &RunInfo) -> String {
    let Headline { text, evidence } = of_two(a, b).unwrap();
    assert!(count_words(&text) <= MOST_WORDS, "{text}");
    std::iter::once(text).chain(evidence).collect::<Vec<_>>().join(" ")
}

#[test]
fn percentages_are_of_the_first_run() {
    let mut a = steps("dcn", [9.84, 9.852, 9.86]);
    let mut b = steps("hpn", [8.45, 8.46, 8.47]);
    a.figures.push(Figure::new("exposed_dp_ep", 2.243, "s"));
    b.figures.push(Figure::new("exposed_dp_ep", 1.113, "s"));
    assert_eq!(
        all_of(&a, &b),
        "hpn takes 14.1 % less time a step than dcn: 8.460 s instead of 9.852 s. 1.130 s of the 1.392 s between them is \
         exposed dp-ep. Step time over draws of the hashes: 8.450 s to 8.470 s instead of 9.840 s to 9.860 s."
    );
    let back = all_of(&b, &a);
    assert!(
        back.starts_with("dcn takes 16.5 % more time a step than hpn: 9.852 s instead of 8.460 s."),
        "{back}"
    );
}

#[test]
fn waiting_for_storage_explains_a_step() {
    let [mut a, mut b] = [("a", 3.0), ("b", 2.0)].map(|(name, step)| steps(name, [step; 3]));
    a.figures.push(Figure::new("exposed_storage", 1.5, "s"));
    b.figures.push(Figure::new("exposed_storage", 0.5, "s"));
    let text = all_of(&a, &b);
    assert!(text.ends_with("1.000 s of the 1.000 s between them is exposed storage."), "{text}");
}

#[test]
fn ties_are_no_difference() {
    let a = steps("a", [1.0, 1.1, 1.2]);
    assert_eq!(all_of(&a, &a), "a and a (2) come to the same: 1.100 s a step.");
    let mut b = steps("b", [1.05, 1.12, 1.3]);
    let noise = "No difference between a and b beyond the noise of 20 draws: 1.100 s and 1.120 s a step.";
    assert_eq!(all_of(&a, &b), noise);
    // What one of the draws shows is no difference where the draws say that there is none.
    let mut other = a.clone();
    other.figures.push(Figure::new("worst_link_utilization", 0.5, "ratio"));
    b.figures.push(Figure::new("worst_link_utilization", 0.9, "ratio"));
    assert_eq!(all_of(&other, &b), noise);
    // One draw of each: what page and table call the same.
    let [x, y, z] = [2.0, 2.0005, 2.002].map(|step| steps("x", [step; 3]));
    assert!(all_of(&x, &y).contains("come to the same"), "{}", all_of(&x, &y));
    assert!(all_of(&x, &z).contains("0.10 % more time"), "{}", all_of(&x, &z));
    // A median within the other's band is no tie where the other's is not.
    let narrow = steps("n", [1.15, 1.16, 1.17]);
    assert!(all_of(&a, &narrow).contains("5.5 % more"), "{}", all_of(&a, &narrow));
}

#[test]
fn a_run_without_an_end_has_no_percentage() {
    let a = steps("a", [9.9, 9.93, 10.0]);
    let mut b = info("b", &[("halted", 1.0), ("operations_unfinished", 278_984.0)]);
    b.figures.push(Figure::missing("step_time", "s", ""));
    assert_eq!(
        all_of(&a, &b),
        "b does not end, so no percentage: halted (278,984 operations unfinished), a takes 9.930 s a step."
    );
    b.figures[2] = Figure::missing("step_time", "s", "halted at 12.5 s");
    let text = all_of(&b, &a);
    assert!(
        text.starts_with("b does not end, so no percentage: halted at 12.5 s, a takes 9.930 s a step."),
        "{text}"
    );
    // Neither ends: they are compared by what they have.
    let mut c = b.clone();
    c.name = "c".to_owned();
    c.figures[2].reason = "halted at 3 s".to_owned();
    c.figures[1].value = Some(4.0);
    assert_eq!(
        all_of(&b, &c),
        "Neither run ends: b halted at 12.5 s, c halted at 3 s. Unfinished operations: 4 instead of 278,984."
    );
}

/// A life: downtime with its bounds, parts, counts and times.
fn life(name: &str, downtime: [f64; 3], values: &[(&str, f64)]) -> RunInfo {
    let [least, median, most] = downtime;
    let bounds = [("downtime", median), ("downtime_least", least), ("downtime_most", most)];
    one_draw(
        name,
        &[&[("step_time", 2.086), ("step_time_p5", 2.086), ("step_time_p95", 2.086)], &bounds[..], values]
            .concat(),
    )
}

#[test]
fn lives_are_compared_by_their_downtime() {
    let parts = |detection: f64, again: f64| {
        [("downtime_detection", detection), ("running_again_after", again), ("crashes", 21.0)]
    };
    let a = life("people", [0.104, 0.2232, 0.347], &parts(0.012, 14_880.0));
    let b = life("c4d", [0.0011, 0.0091, 0.0287], &parts(0.0001, 1_230.0));
    assert_eq!(
        all_of(&a, &b),
        "c4d is down for 0.91 % of the time, people for 22.3 %. Downtime over lives: 0.11 % to 2.9 % instead of 10.4 % \
         to 34.7 %. Downtime until detection: 0.01 % instead of 1.2 %. Median time until steps run again: 1230 s instead \
         of 14,880 s (91.7 % less)."
    );
    // Each band holds the other's median.
    let c = life("c", [0.15, 0.21, 0.3], &[]);
    let text = all_of(&life("a", [0.104, 0.2232, 0.347], &[]), &c);
    assert_eq!(text, "No difference between a and c beyond the noise of lives: 22.3 % and 21.0 % downtime.");
    // Of a life that was followed a halt is no end, and restarts are no other question.
    let mut halted = life("halted", [0.30, 0.30, 0.30], &[("halted", 1.0)]);
    halted.facts.insert("job train-again-1".to_owned(), "restart of job train".to_owned());
    let other = life("other", [0.77, 0.77, 0.77], &[("halted", 1.0)]);
    assert_eq!(all_of(&halted, &other), "other is down for 77.0 % of the time, halted for 30.0 %.");
}

#[test]
fn weeks_are_compared_by_utilization_completion_and_queueing() {
    let weeks = |name: &str, values: [f64; 4]| {
        let names = ["gpu_utilization", "completion_mean", "waiting_mean", "contended_jobs"];
        let figures: Vec<(&str, f64)> = names.into_iter().zip(values).collect();
        let mut info = info(name, &figures);
        info.facts =
            [("days", "7"), ("jobs that come", "90")].map(|(a, b)| (a.to_owned(), b.to_owned())).into();
        info
    };
    let (a, mut b) = (weeks("ecmp", [0.8, 4000.0, 1000.0, 0.5]), weeks("crux", [0.88, 3400.0, 600.0, 0.2]));
    assert_eq!(
        all_of(&a, &b),
        "crux has 15.0 % shorter mean job completion time than ecmp: 3400 s instead of 4000 s. Mean queueing time: 600.0 s \
         instead of 1000 s (40.0 % less). GPU utilization: 88.0 % instead of 80.0 %. Contended jobs: 20.0 % instead of \
         50.0 %."
    );
    let mut steady = weeks("b", [0.8, 4000.0, 1000.0, 0.5]);
    assert_eq!(all_of(&a, &steady), "ecmp and b come to the same: 80.0 % GPU utilization.");
    steady.figures[0].value = Some(0.7);
    let text = all_of(&a, &steady);
    assert_eq!(
        text,
        "GPUs of b compute for 70.0 % of the time that jobs hold them, those of ecmp for 80.0 %."
    );
    // Another seed brings other jobs, and asks the same.
    let mut drawn = weeks("drawn", [0.7, 4000.0, 1000.0, 0.5]);
    drawn.facts.insert("jobs that come".to_owned(), "93".to_owned());
    assert!(all_of(&a, &drawn).starts_with("Different questions"));
    drawn.seed = 2;
    assert!(all_of(&a, &drawn).starts_with("GPUs of drawn compute for 70.0 %"), "{}", all_of(&a, &drawn));
    b.facts.insert("days".to_owned(), "14".to_owned());
    let text = all_of(&a, &b);
    assert!(text.starts_with("Different questions, so no percentage: ecmp asks 90 jobs in 7 days"), "{text}");
    let text = all_of(&a, &steps("s", [1.0; 3]));
    assert_eq!(
        text,
        "Different questions, so no percentage: ecmp asks weeks of jobs, s asks steps of 1 job."
    );
}

#[test]
fn packets_are_causes_below_the_step_and_lead_where_nothing_else_differs() {
    let run = |name: &str, busbw: f64, paused: f64, frames: f64, slowest: f64| {
        let figures = [
            ("step_time", 1.0),
            ("busbw_mean", busbw),
            ("pause_frames", frames),
            ("paused_share_spine_to_leaf_max", paused),
            ("paused_share_nic_to_leaf_max", 0.5 * paused),
            ("fct_p99", slowest),
            ("fct_max", slowest + 0.1),
        ];
        one_draw(name, &figures)
    };
    let (a, b) = (run("a", 1e11, 0.0, 0.0, 1.0), run("b", 0.99e11, 0.236, 44.0, 1.5));
    assert_eq!(
        all_of(&a, &b),
        "b has 1.0 % less bus bandwidth than a: 99.0 Gbps instead of 100 Gbps. Paused share spine to leaf max: 23.6 % \
         instead of 0 %. Fct p99: 1.500 s instead of 1.000 s (50.0 % more). Pause frames: 44 instead of 0."
    );
    let b = run("b", 1e11, 0.236, 44.0, 1.0);
    let text = all_of(&a, &b);
    assert!(
        text.starts_with(
            "b and a differ in paused share spine to leaf max: 23.6 % instead of 0 %. a and b come to the same: 100 Gbps of \
             bus bandwidth."
        ),
        "{text}"
    );
}

#[test]
fn packets_of_one_engine_are_evidence_of_its_run_alone() {
    let flow = one_draw("flow", &[("step_time", 1.0), ("busbw_mean", 6.55e9)]);
    let mut packet =
        one_draw("packet", &[("step_time", 1.0), ("busbw_mean", 6.5e9), ("packets_sent", 9861.0)]);
    packet.engine = "packet".to_owned();
    packet.figures.push(Figure::new("packets_sent_again", 2481.0, "count"));
    assert_eq!(
        all_of(&packet, &flow),
        "flow has 0.77 % more bus bandwidth than packet: 6.55 Gbps instead of 6.50 Gbps. packet: 2481 of 9861 data packets \
         were sent again."
    );
}

#[test]
fn faults_and_diagnosis_cost_as_steps_do() {
    // The second run has no fault, and hence no figures of what faults cost.
    let a = one_draw(
        "faulty",
        &[("step_time", 1.05), ("time_lost_share", 0.3), ("stall_time", 8.59), ("accusations", 2.0)],
    );
    let b = one_draw("well", &[("step_time", 1.0), ("accusations", 0.0)]);
    assert_eq!(
        all_of(&a, &b),
        "well and faulty differ in share of time lost to faults: 0 % instead of 30.0 %. Step time: 1.000 s instead of \
         1.050 s (4.8 % less). Stall of queue pairs: 0 s instead of 8.590 s. Accusations by diagnosis: 0 \
         instead of 2."
    );
}

#[test]
fn different_jobs_are_different_questions_in_thirty_words() {
    let a = steps("a", [1.0; 3]);
    let mut b = steps("b", [1.0; 3]);
    b.facts.insert("job train".to_owned(), "128 GPUs".to_owned());
    let text = all_of(&a, &b);
    assert_eq!(text, "Different questions, so no percentage: a asks 64 GPUs, b asks 128 GPUs.");
    for job in 0..8 {
        b.facts.insert(format!("job {job}"), "64 GPUs, all-reduce of 8000000000 B a step".to_owned());
    }
    let Headline { text, evidence } = of_two(&a, &b).unwrap();
    assert_eq!(text, "Different questions, so no percentage: a asks steps of 1 job, b asks steps of 9 jobs.");
    assert_eq!(evidence.len(), 10);
}

#[test]
fn of_several_jobs_the_one_with_the_largest_difference_leads() {
    let both = |name: &str, x: f64, y: f64| {
        let mut info =
            one_draw(name, &[("x.step_time", x), ("y.step_time", y), ("x-again-1.step_time", x * y)]);
        info.facts = ["job x", "job y"].map(|job| (job.to_owned(), "8 GPUs".to_owned())).into();
        info
    };
    let (a, b) = (both("a", 9.0, 2.0), both("b", 1.0, 3.0));
    assert_eq!(
        all_of(&a, &b),
        "b takes 88.9 % less time a step than a in job x: 1.000 s instead of 9.000 s. Step time in job y: 3.000 s instead \
         of 2.000 s (50.0 % more)."
    );
}

#[test]
fn two_seeds_differ_by_the_draw_and_scenarios_by_their_keys() {
    let scenario = |text: &str| Scenario::parse("a.toml", text).unwrap();
    let text = "schema = 1\nname = \"a\"\nseed = 1\n[fabric]\npreset = \"leaf-spine\"\n[run]\nsteps = 2\n";
    let first = scenario(text);
    let (a, b) = (one_draw("a", &[("step_time", 1.1)]), one_draw("b", &[("step_time", 1.12)]));
    let compare = |second: &Scenario| of_scenarios(&a, &b, Some([&first, second])).unwrap();
    let seeds = compare(&scenario(&text.replace("seed = 1", "seed = 2")));
    assert_eq!(
        seeds.text,
        "a and b differ in the seed alone (1 and 2). Step time: 1.120 s instead of 1.100 s (1.8 % more), by the luck of \
         the draw."
    );
    let steps = compare(&scenario(&text.replace("steps = 2", "steps = 3")));
    assert_eq!(steps.text, "b takes 1.8 % more time a step than a: 1.120 s instead of 1.100 s.");
    assert_eq!(steps.evidence, ["Scenarios differ in run.steps (3 instead of 2)."]);
    // A section that one of them lacks is one difference.
    let packets = compare(&scenario(&format!("{text}[control]\nlevels = 4\n")));
    assert_eq!(packets.evidence, ["Scenarios differ in control (only in b)."]);
}
