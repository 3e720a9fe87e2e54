//! Headlines of whole runs: trouble first, then the result, then what binds; and every number is found in the run.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test may fail, and reads files")]
use std::path::{Path, PathBuf};

use railtwin::headline::of_two;
use railtwin::{Question, Run};
use railtwin_engine::IncidentKind;
use railtwin_engine::balancer::Balancer;
use railtwin_store::RunInfo;

pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// All points of a scenario of the repository.
pub fn points(scenario: &str) -> Vec<Run> {
    let question = Question::read(&root().join("scenarios").join(scenario)).unwrap();
    let points = question.points().unwrap();
    points.iter().map(|point| Run::of(question.resolve(&point.scenario).unwrap(), &|| ())).collect()
}

/// The first point of a text.
pub fn run(text: &str) -> Run {
    let question = Question::of_text("a.toml", text, Path::new("."));
    Run::of(question.resolve(&question.points().unwrap()[0].scenario).unwrap(), &|| ())
}

/// The headline and its evidence lines in one line.
fn all_of(info: &RunInfo) -> String {
    std::iter::once(&info.headline).chain(&info.evidence).cloned().collect::<Vec<_>>().join(" ")
}

/// Two leaves with `uplinks` each and one host under each, 1 MB from one to the other.
fn pair(name: &str, rest: &str) -> String {
    format!(
        "schema = 1\nname = \"{name}\"\n[fabric]\npreset = \"leaf-spine\"\nleaves = 2\nhosts_per_leaf = 1\n\
         uplinks = 1\nhost = {{ model = \"plain\" }}\n[[job]]\nname = \"train\"\nhosts = 2\n\
         collective = {{ kind = \"send-receive\", bytes = \"1 MB\" }}\n{rest}"
    )
}

#[test]
fn a_hung_job_has_no_step_time() {
    let runs = points("regressions/fault-hang.toml");
    assert_eq!(
        runs[0].info.headline,
        "fault-hang: The job never ends: rank train/1 hangs from 15.00 ms on; 3 operations stand unfinished."
    );
    let gone = &points("regressions/fault-gpu-error.toml")[0].info.headline;
    assert!(
        gone.starts_with("fault-gpu-error: The job never ends: rank train/1 is gone from 15.00 ms on; "),
        "{gone}"
    );
    // Here the steps that the engine ran end before the fault; diagnosis watches on.
    let info = &points("regressions/find-hang.toml")[0].info;
    let step = info.figure("step_time").unwrap();
    assert_eq!((step.value, step.reason.as_str()), (None, "hung from 3 s on"));
    let found = &info.headline;
    let begin =
        "find-hang: Rank train/6 never arrives, and the job stands still (diagnosis, confidence 0.95)";
    assert!(found.starts_with(begin), "{found}");
    assert!(!found.contains("a step") && !found.contains("bandwidth"), "{found}");
}

#[test]
fn a_job_that_halts_says_when_and_after_what() {
    let down = "[[fault]]\nat = \"1 us\"\ncable = \"leaf-0:uplink-0\"\nkind = \"down\"\n";
    for engine in ["flow", "packet"] {
        let text = format!("engine = \"{engine}\"\n{}", pair("halts", down));
        let run = run(&text);
        let log = &run.simulation.as_ref().unwrap().log;
        assert!(log.incidents.iter().any(|incident| matches!(incident.kind, IncidentKind::Halted(0))));
        let headline = &run.info.headline;
        assert!(headline.starts_with("halts: The job halted at "), "{headline}");
        assert!(headline.contains("a queue pair died after leaf-0:uplink-0"), "{headline}");
        assert!(headline.contains(" went down at 1.000 us; 1 operation stands unfinished"), "{headline}");
    }
}

#[test]
fn pauses_come_before_the_bandwidth() {
    let runs = points("peers/pw2.toml");
    assert!(runs[0].info.headline.contains("pw2: 6.14 Gbps of bus bandwidth"), "{}", runs[0].info.headline);
    let headline = &runs[1].info.headline;
    let begin = "pw2: 44 pause frames: links from spine to leaf stood still for up to 23.6 % of the run. \
                 6.14 Gbps of bus bandwidth";
    assert!(headline.starts_with(begin), "{headline}");
}

#[test]
fn equal_runs_are_said_to_be_the_same() {
    let [a, b] = ["a", "b"].map(|name| run(&pair(name, "")).info);
    let text = of_two(&a, &b).unwrap().text;
    assert!(text.starts_with("a and b come to the same: "), "{text}");
    assert!(!text.contains(" 0.0 %") && !text.contains("slower") && !text.contains("faster"), "{text}");
}

/// Two stages of a pipeline and two micro-batches: each stage waits for a good part of the step.
#[test]
fn the_bubble_is_told_and_one_draw_is_not() {
    let text = "schema = 1\nname = \"bubble\"\n[fabric]\npreset = \"hpn\"\nsegments = 1\nhosts = 4\nspare_hosts = 0\n\
                [[job]]\nworkload = { recipe = \"gpt3-175b\", tp = 8, pp = 4, dp = 1, micro_batches = 4, memory = \"allow\" }\n";
    let run = run(text);
    let idle = run.figure("exposed_idle").unwrap();
    assert!(idle > 0.2 * run.figure("step_time").unwrap(), "{idle}");
    let headline = &all_of(&run.info);
    let words = format!("computing, {} idle", railtwin::headline::numbers::time(idle));
    assert!(headline.contains(&words), "{headline}");
    assert!(!headline.contains("draw"), "{headline}");
}

/// A fault that stalls nothing is told all the same, and no balancer is blamed for it.
#[test]
fn a_fault_comes_before_the_result() {
    let link = &points("regressions/fault-slow-link.toml")[0].info.headline;
    assert!(link.starts_with("fault-slow-link: Fault: slow at "), "{link}");
    assert!(link.contains(" on. 267 Gbps of bus bandwidth"), "{link}");
    let gpu = &points("regressions/fault-slow-gpu.toml")[0].info.headline;
    assert!(gpu.starts_with("fault-slow-gpu: Fault: slow-gpu at GPU "), "{gpu}");
    let port = &points("smallest/nic-port-down.toml")[0].info.headline;
    assert!(!port.contains("chooses ports"), "{port}");
}

/// A ring between two leaves: the NIC ports are full all the time, and four uplinks carry what one could.
#[test]
fn where_ports_are_full_no_choice_of_paths_saves_time() {
    let text = pair("full", "").replace("uplinks = 1", "uplinks = 1\nuplink_capacity = \"1600 Gbps\"");
    let headline = all_of(&run(&text.replace("1 MB", "10 GB")).info);
    assert!(headline.contains("NIC ports are the limit at 100.0 %; leaf uplinks reach 25.0 %"), "{headline}");
    assert!(
        headline.ends_with("No choice of paths saves the job more than 2.0 % of its time."),
        "{headline}"
    );
    // A kilobyte spends its time on the way.
    let short = all_of(&run(&text.replace("1 MB", "1 kB")).info);
    assert!(short.contains("Latency is the limit: hops take "), "{short}");
    // Uplinks of a quarter of the NIC.
    let thin = all_of(&run(&text.replace("1600 Gbps", "100 Gbps").replace("1 MB", "10 GB")).info);
    assert!(thin.contains("Leaf uplinks are the limit at 100.0 %; NIC ports reach 25.0 %"), "{thin}");
}

#[test]
fn the_payload_and_a_second_run_have_the_same_headline() {
    let text = pair("again", "").replace("[fabric]", "[run]\nreplicates = 3\n[fabric]");
    let [first, second] = [run(&text), run(&text)];
    assert_eq!(first.info.headline, second.info.headline);
    assert_eq!(first.payload().unwrap()["headline"], first.info.headline.as_str());
    assert!(first.info.headline.contains("(the same in 3 draws of the hashes)"), "{}", first.info.headline);
}

/// A number of a headline with its unit, as it is written.
pub fn numbers(text: &str) -> Vec<(String, String)> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let trim =
        |word: &str| word.trim_matches(|c: char| !c.is_alphanumeric() && c != '%' && c != '-').to_owned();
    let number = |word: &str| {
        word.starts_with(|c: char| c.is_ascii_digit())
            && word.chars().all(|c| c.is_ascii_digit() || ",.".contains(c))
    };
    let units =
        ["s", "ms", "us", "ns", "ps", "Tbps", "Gbps", "Mbps", "kbps", "bps", "%", "KiB", "MiB", "GiB", "TiB"];
    let next =
        |at: usize| words.get(at + 1).map(|word| trim(word)).filter(|word| units.contains(&word.as_str()));
    let all = words.iter().enumerate().map(|(at, word)| (trim(word), next(at).unwrap_or_default()));
    all.filter(|(word, _)| number(word)).collect()
}

/// What a number with a unit stands for, and by how much it may be off for its digits.
pub fn value(number: &str, unit: &str) -> (f64, f64) {
    let scales = [
        ("ms", 1e-3),
        ("us", 1e-6),
        ("ns", 1e-9),
        ("ps", 1e-12),
        ("Tbps", 1e12),
        ("Gbps", 1e9),
        ("Mbps", 1e6),
        ("kbps", 1e3),
        ("%", 1e-2),
        ("KiB", 1024.0),
        ("MiB", 1048576.0),
        ("GiB", 1073741824.0),
        ("TiB", 1099511627776.0),
    ];
    let scale = scales.iter().find(|(name, _)| *name == unit).map_or(1.0, |(_, scale)| *scale);
    let digits = number.replace(',', "");
    let decimals = digits.split_once('.').map_or(0, |(_, fraction)| fraction.len() as i32);
    (digits.parse::<f64>().unwrap() * scale, 0.5001 * 10_f64.powi(-decimals) * scale)
}

/// What a reader can find: values of figures, times of incidents and faults, counts and confidences in tables.
fn findable(run: &Run) -> Vec<f64> {
    let figures =
        run.info.figures.iter().flat_map(|figure| [figure.value, figure.low, figure.high]).flatten();
    let mut all: Vec<f64> = figures.collect();
    let simulation = run.simulation.as_ref().unwrap();
    all.extend(simulation.log.incidents.iter().map(|incident| incident.at.seconds()));
    all.extend(run.resolved.case.truths.iter().map(|truth| truth.from_ns as f64 / 1e9));
    let end = railtwin::headline::trouble::last(&simulation.log).seconds() * 1e9;
    let acted = run.resolved.case.truths.iter().filter(|truth| (truth.from_ns as f64) < end).count();
    all.push(acted as f64);
    all.push(end / 1e9);
    let count = |wanted: fn(&IncidentKind) -> bool| {
        simulation.log.incidents.iter().filter(|i| wanted(&i.kind)).count() as f64
    };
    all.extend([
        count(|kind| matches!(kind, IncidentKind::Paused(_))),
        count(|kind| matches!(kind, IncidentKind::Filled(_))),
    ]);
    all.extend([
        simulation.log.unfinished as f64,
        simulation.replicates.len() as f64,
        run.resolved.case.work.jobs.len() as f64,
    ]);
    all.extend(run.telemetry.iter().flat_map(|told| told.findings.iter().map(|finding| finding.confidence)));
    all
}

/// Scenarios that run in a moment, of all kinds: collectives and training, both engines, faults, telemetry.
#[test]
fn every_number_of_a_headline_is_found_in_the_run() {
    let mut scenarios = vec![
        "peers/pw1.toml".to_owned(),
        "peers/pw2.toml".into(),
        "peers/htsim-incast.toml".into(),
        "peers/htsim-permutation.toml".into(),
    ];
    for folder in ["smallest", "regressions"] {
        let files = std::fs::read_dir(root().join("scenarios").join(folder)).unwrap();
        let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
        scenarios.extend(names.map(|name| format!("{folder}/{name}")));
    }
    scenarios.sort();
    let (mut headlines, mut seen) = (0, 0);
    for scenario in scenarios {
        let runs = points(&scenario);
        for run in &runs {
            let (all, headline) = (findable(run), all_of(&run.info));
            let text = headline.strip_prefix(&format!("{}: ", run.info.name)).unwrap();
            for (number, unit) in numbers(text) {
                let (value, off) = value(&number, &unit);
                let there = all.iter().any(|known| (known - value).abs() <= off);
                assert!(there, "{scenario}: {number} {unit} of «{headline}» is nowhere in the run");
                seen += 1;
            }
            headlines += 1;
        }
        // Two runs of one scenario: percentages and differences are of figures of both.
        for two in runs.windows(2) {
            let Some(answer) = of_two(&two[0].info, &two[1].info) else { continue };
            let text = std::iter::once(answer.text).chain(answer.evidence).collect::<Vec<_>>().join(" ");
            let mut all = [findable(&two[0]), findable(&two[1])].concat();
            let pairs = two[0]
                .info
                .figures
                .iter()
                .filter_map(|figure| Some((figure.value?, two[1].figure(&figure.name)?)));
            all.extend(pairs.flat_map(|(a, b)| [(b - a).abs(), (b / a - 1.0).abs(), b / a]));
            for job in [&two[0], &two[1]].iter().flat_map(|run| run.info.facts.values()) {
                all.extend(numbers(job).iter().map(|(number, unit)| value(number, unit).0));
            }
            for (number, unit) in numbers(&text.replace(" (2)", "").replace(two[0].info.name.as_str(), "")) {
                let (value, off) = value(&number, &unit);
                assert!(
                    all.iter().any(|known| (known - value).abs() <= off),
                    "{scenario}: {number} {unit} of «{text}»"
                );
            }
        }
    }
    assert!(headlines > 30 && seen > 100, "{headlines} headlines, {seen} numbers");
}

/// What the headline says of other paths is a bound: no balancer saves a job more, and where one saves a twentieth no
/// headline says that none does. Over the shipped scenarios that run in a moment and have no faults.
#[test]
fn no_balancer_saves_a_job_more_than_its_headline_says() {
    let mut scenarios: Vec<String> =
        ["two-tenants", "pix-against-phb"].map(|name| format!("jobs/{name}.toml")).into();
    scenarios
        .extend(["crux-two-jobs", "crux-and-rivals", "te-zones"].map(|name| format!("control/{name}.toml")));
    scenarios.extend(["pw1", "pw2", "htsim-permutation"].map(|name| format!("peers/{name}.toml")));
    let small = std::fs::read_dir(root().join("scenarios/smallest")).unwrap();
    scenarios
        .extend(small.map(|file| format!("smallest/{}", file.unwrap().file_name().into_string().unwrap())));
    scenarios.sort();
    let (mut compared, mut worth) = (0, 0);
    for name in scenarios {
        let question = Question::read(&root().join("scenarios").join(&name)).unwrap();
        for point in question.points().unwrap() {
            let quick = |scenario: &railtwin_scenario::Scenario| {
                let mut scenario = scenario.clone();
                scenario.run.replicates = 1;
                question.resolve(&scenario).ok().map(|resolved| Run::of(resolved, &|| ()))
            };
            if !point.scenario.faults.is_empty() {
                continue;
            }
            let Some(plain) = quick(&point.scenario) else { continue };
            for balancer in [Balancer::C4p, Balancer::Spray] {
                let mut other = point.scenario.clone();
                other.routing.balancer = balancer;
                let Some(other) = quick(&other) else { continue };
                let several = plain.resolved.case.work.jobs.len() > 1;
                for job in &plain.resolved.case.work.jobs {
                    let of = |run: &Run, figure: &str| match several {
                        true => run.figure(&format!("{}.{figure}", job.name)),
                        false => run.figure(figure),
                    };
                    let (Some(old), Some(new)) = (of(&plain, "step_time"), of(&other, "step_time")) else {
                        continue;
                    };
                    let (gain, bound) = (1.0 - new / old, of(&plain, "balancer_saves_most").unwrap());
                    // Steps of unequal length: a share of all steps is one of their mean.
                    assert!(
                        gain <= bound + 1e-3,
                        "{name} {}: {balancer:?} saves {gain}, bound {bound}",
                        job.name
                    );
                    compared += 1;
                    worth += usize::from(gain >= 0.05);
                    let text = all_of(&plain.info);
                    assert!(gain < 0.05 || !text.contains(&format!("saves job {} more", job.name)), "{text}");
                    assert!(gain < 0.05 || !text.contains("saves any job more"), "{text}");
                }
            }
        }
    }
    assert!(compared > 30 && worth > 0, "{compared} compared, {worth} gain a twentieth");
}
