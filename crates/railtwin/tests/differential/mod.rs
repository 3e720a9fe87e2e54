//! Both engines on random small scenarios: who halts, how long queue pairs wait, how long a step takes.
#![allow(clippy::unwrap_used, reason = "a test may fail")]
mod known;
mod trial;

use std::fmt::Write;
use std::path::Path;

use known::{KNOWN, Known};
use railtwin::{Question, Run};
use railtwin_scenario::EngineName;
use rayon::prelude::*;
use trial::Trial;

/// Trials of `cargo test`; `DIFFERENTIAL_CASES` asks for more.
const CASES: u64 = 200;
/// What packets may say over what flows say.
const TOLERANCE: (f64, f64) = (0.75, 1.35);

/// Share of a run without faults for which a queue pair may wait longer, or shorter, because of what is in queues.
const QUEUES: f64 = 0.25;

/// What a run says of a job.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Outcome {
    halted: bool,
    /// Time in which a queue pair waited, seconds.
    stall: f64,
    /// Step that a fault hits, else the mean step, seconds; none where the job halted.
    step: Option<f64>,
    /// From the start of the job to its end over its steps, seconds.
    pace: f64,
}

/// What a run says of everything.
struct Outcomes {
    jobs: Vec<Outcome>,
    /// When the last operation ended, seconds.
    end: f64,
    /// Share of the time in flight that goes into latency.
    latency_share: f64,
    /// ACK timers that ran out; none in flows.
    timeouts: f64,
    /// Packets that were sent again; none in flows.
    sent_again: f64,
}

impl Outcomes {
    fn of(trial: &Trial, text: &str, name: EngineName) -> Self {
        let question = Question::of_text("trial.toml", text, Path::new(".")).with_engine(Some(name));
        let points = question.points().unwrap_or_else(|error| panic!("{error}\n{text}"));
        let resolved =
            question.resolve(&points[0].scenario).unwrap_or_else(|error| panic!("{error}\n{text}"));
        let run = Run::of(resolved, &|| ());
        let log = &run.simulation.as_ref().unwrap().log;
        let jobs = trial.jobs.len();
        let figure = |job: usize, name: &str| {
            let name = if jobs == 1 { name.to_owned() } else { format!("job-{job}.{name}") };
            run.figure(&name)
        };
        let work = &run.resolved.case.work;
        let of = |(job, drawn): (usize, &trial::Job)| {
            let ends = &log.times.end[work.jobs[job].operations()];
            Outcome {
                halted: figure(job, "halted").is_some_and(|value| value > 0.0),
                stall: figure(job, "stall_time").unwrap_or(0.0),
                step: figure(job, "step_time_hit").or_else(|| figure(job, "step_time")),
                pace: ends.iter().max().map_or(0.0, |end| end.seconds()) / drawn.steps as f64,
            }
        };
        Self {
            latency_share: run.figure("latency_share_in_flight").unwrap_or(0.0),
            timeouts: run.figure("ack_timeouts").unwrap_or(0.0),
            sent_again: run.figure("packets_sent_again").unwrap_or(0.0),
            jobs: trial.jobs.iter().enumerate().map(of).collect(),
            end: log.end.seconds(),
        }
    }
}

/// A trial through both engines, with and without its faults.
struct Facts {
    trial: Trial,
    /// Flows without faults.
    whole: Outcomes,
    /// Packets without faults.
    whole_packets: Outcomes,
    /// Flows, with faults a little earlier and later than drawn.
    flows: Vec<Outcomes>,
    packets: Outcomes,
}

/// A job on which the engines disagree.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Disagreement {
    number: u64,
    job: usize,
    /// The figure.
    what: &'static str,
    /// Why they may; none where nobody knows.
    known: Option<&'static str>,
}

/// Whether a value is within the tolerance of some others, `slack` added.
fn is_near(value: f64, others: impl Iterator<Item = f64>, slack: f64) -> bool {
    let (least, most) =
        others.fold((f64::INFINITY, 0.0_f64), |(least, most), one| (least.min(one), most.max(one)));
    value >= TOLERANCE.0 * least - slack && value <= TOLERANCE.1 * most + slack
}

impl Facts {
    fn breaks(&self) -> bool {
        !self.trial.faults.is_empty()
    }

    fn of(number: u64) -> Self {
        let trial = Trial::draw(number);
        let whole = Outcomes::of(&trial, &trial.whole(), EngineName::Flow);
        let whole_packets = Outcomes::of(&trial, &trial.whole(), EngineName::Packet);
        let run = whole.end;
        let breaks = !trial.faults.is_empty();
        // Runs may be as much shorter or longer as the tolerance says, and so a fault comes earlier or later in them;
        // and in flows all bytes have been handed over when a packet run still has its last ones on their way.
        let early = 1.0 - whole.latency_share;
        let stretches: &[f64] =
            if breaks { &[TOLERANCE.0, 0.85, 1.0, 1.15, TOLERANCE.1, early, 0.5 * early] } else { &[1.0] };
        let flows = stretches.iter().map(|&s| Outcomes::of(&trial, &trial.text(run, s), EngineName::Flow));
        let flows = flows.collect();
        let packets = Outcomes::of(&trial, &trial.text(run, 1.0), EngineName::Packet);
        Self { trial, whole, whole_packets, flows, packets }
    }

    /// Whether a job waits less in packets than in flows, or lives where it dies in those.
    fn waits_less(&self, job: usize, what: &str) -> bool {
        let packets = self.packets.jobs[job];
        let is_less = self.flows.iter().all(|flows| flows.jobs[job].stall > packets.stall);
        what != "step_time" && !packets.halted && (is_less || what == "halted")
    }

    /// The run of flows with faults as drawn.
    fn middle(&self) -> usize {
        self.flows.len().min(3) - 1
    }

    fn disagreements(&self, number: u64) -> Vec<Disagreement> {
        let whats = (0..self.trial.jobs.len()).filter_map(|job| Some((job, self.differs(job)?)));
        whats
            .map(|(job, what)| {
                let known = KNOWN.iter().find(|known| (known.holds)(self, job, what));
                Disagreement { number, job, what, known: known.map(|known| known.name) }
            })
            .collect()
    }

    /// The first figure of a job on which the engines disagree.
    fn differs(&self, job: usize) -> Option<&'static str> {
        let flows: Vec<Outcome> = self.flows.iter().map(|all| all.jobs[job]).collect();
        let packets = self.packets.jobs[job];
        let slack = self.trial.store_and_forward(job);
        if flows.iter().all(|one| one.halted != packets.halted) {
            return Some("halted");
        }
        if !is_near(packets.stall, flows.iter().map(|one| one.stall), QUEUES * self.whole.end) {
            return Some("stall_time");
        }
        let step = packets.step?;
        let is_off = !is_near(step, flows.iter().filter_map(|one| one.step), slack);
        (is_off && flows.iter().any(|one| one.step.is_some())).then_some("step_time")
    }
}

fn say(facts: &Facts, one: &Disagreement) {
    let told = |outcome: &Outcome| {
        let [stall, pace] = [outcome.stall, outcome.pace].map(|seconds| seconds * 1e6);
        let step = outcome.step.map_or("none".to_owned(), |step| format!("{:.1} us", step * 1e6));
        format!("halted {} stall {stall:.1} us step {step} pace {pace:.1} us", outcome.halted)
    };
    let Disagreement { number, job, what, known } = one;
    println!("trial {number} job {job} {what}: {}", known.unwrap_or("not known"));
    println!("  flows   {}", told(&facts.flows[facts.middle()].jobs[*job]));
    println!("  packets {}", told(&facts.packets.jobs[*job]));
    println!("  latency {:.2} timeouts {}", facts.whole.latency_share, facts.whole_packets.timeouts);
    if known.is_none() {
        println!("{}", facts.trial.text(facts.whole.end, 1.0));
    }
}

#[test]
fn engines_agree_on_random_scenarios_or_differ_as_is_known() {
    let cases = std::env::var("DIFFERENTIAL_CASES").ok().map_or(CASES, |count| count.parse().unwrap());
    let judge = |number| {
        let facts = Facts::of(number);
        let found = facts.disagreements(number);
        (found, facts)
    };
    let found = (0..cases).into_par_iter().map(judge).filter(|(found, _)| !found.is_empty());
    let found: Vec<_> = found.collect();
    for (found, facts) in &found {
        found.iter().for_each(|one| say(facts, one));
    }
    let all = || found.iter().flat_map(|(found, _)| found);
    for Known { name, .. } in KNOWN {
        println!("{:5} {name}", all().filter(|one| one.known == Some(name)).count());
    }
    let unknown: Vec<_> = all().filter(|one| one.known.is_none()).collect();
    println!("{} of {cases} trials agree; unknown: {}", cases - found.len() as u64, unknown.len());
    assert!(unknown.is_empty(), "the engines disagree, and no known difference tells why: {unknown:?}");
}

/// The page of known differences.
fn page() -> String {
    let mut page = String::from(
        "# Where flows and packets differ\n\n\
         `cargo test -p railtwin --test all differential` runs random small scenarios through both engines: NICs of one or two\n\
         ports, messages of 16 kB to 16 MB, one job or two, six balancers, faults, retry counts of 0 to 7.\n\
         It compares whether a job halts, how long its queue pairs wait, and how long a step takes.\n\
         Packets are to say 0.75 to 1.35 of what flows say, of which the closed form of storing and forwarding is no part; and\n\
         flows count with faults as much earlier or later as that.\n\
         What is beyond it has one of these reasons, or the test fails.\n\
         `make test` runs 200 scenarios, `make reproduce` 10,000.\n\
         This page is written by `UPDATE_DOCS=1 cargo test -p railtwin --test all differential`.\n\n\
         | difference | reason | case |\n| --- | --- | --- |\n",
    );
    for Known { name, reason, case, .. } in KNOWN {
        writeln!(page, "| {name} | {reason} | [{case}](#trial-{case}) |").unwrap();
    }
    for Known { name, case, .. } in KNOWN {
        let facts = Facts::of(*case);
        let found = facts.disagreements(*case);
        let one = found.iter().find(|one| one.known == Some(name)).unwrap();
        let us = |seconds: f64| format!("{:.1} µs", seconds * 1e6);
        writeln!(page, "\n## Trial {case}\n\n{}: `{}` of job {}.\n", capital(name), one.what, one.job)
            .unwrap();
        writeln!(
            page,
            "| engine | halted | stall | step | from start to end, a step |\n| --- | --- | --- | --- | --- |"
        )
        .unwrap();
        for (engine, outcome) in [("flows", &facts.flows[facts.middle()]), ("packets", &facts.packets)] {
            let Outcome { halted, stall, step, pace } = outcome.jobs[one.job];
            let halts = if halted { "yes" } else { "no" };
            let step = step.map_or("–".to_owned(), us);
            let pace = if halted { "–".to_owned() } else { us(pace) };
            writeln!(page, "| {engine} | {halts} | {} | {step} | {pace} |", us(stall)).unwrap();
        }
        writeln!(page, "\n```toml\n{}```", facts.trial.text(facts.whole.end, 1.0)).unwrap();
    }
    page
}

/// A name as a sentence begins.
fn capital(name: &str) -> String {
    name[..1].to_uppercase() + &name[1..]
}

#[test]
#[allow(clippy::disallowed_methods, reason = "a test reads and writes its page")]
fn the_page_of_known_differences_is_new() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/engine-differences.md");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, page()).unwrap();
    }
    let old = "docs/reference/engine-differences.md is old: UPDATE_DOCS=1 cargo test -p railtwin --test all differential";
    assert_eq!(std::fs::read_to_string(path).unwrap_or_default(), page(), "{old}");
}

#[test]
fn every_known_difference_has_a_case() {
    for Known { name, reason, case, .. } in KNOWN {
        let found = Facts::of(*case).disagreements(*case);
        let names: Vec<_> = found.iter().filter_map(|one| one.known).collect();
        assert!(names.contains(name), "trial {case} is to show {name} ({reason}): {found:?}");
    }
}
