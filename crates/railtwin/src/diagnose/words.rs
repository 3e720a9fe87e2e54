//! What was seen, in the field's words and with its figure: `Xid 79 (GPU has fallen off the bus)`, `loses 20 % of probes`.
//!
//! They are taken from evidence: what a finding rests on says what it is. Where its lines tell nothing better, the kind of
//! fault does, and last the syndrome.
use railtwin_records::{Evidence, FaultKind, Finding, Syndrome};

use super::{logs, slow_job, slower, tests_between};

/// Shares from which nothing comes back.
const NOTHING: f64 = 0.995;

/// Longest end of a process in a first line, in characters.
const ENDED_CHARS: usize = 90;

/// What a syndrome is, in the words of a first line.
pub fn of_syndrome(syndrome: Syndrome) -> &'static str {
    match syndrome {
        Syndrome::CommunicationHang => "does not go on",
        Syndrome::NonCommunicationHang => "the others wait for it",
        Syndrome::CommunicationSlow => "communication is slow",
        Syndrome::NonCommunicationSlow => "comes late again and again",
        Syndrome::Collision => "traffic meets on a link, no fault",
        Syndrome::Crash => "died",
        Syndrome::Latency => "packets take longer than before",
        Syndrome::Unreachable => "does not answer",
        Syndrome::Mismatch => "ranks do not run the same operations",
        Syndrome::Wiring => "is not plugged in where it should be",
        _ => "its counters say so",
    }
}

/// What was seen of a finding, in words.
pub fn of_finding(finding: &Finding) -> String {
    let known = of_syndrome(finding.syndrome);
    let (xid, link) = (xid(finding), link(finding));
    let told = match finding.syndrome {
        Syndrome::Counter => {
            return xid
                .or(link)
                .or_else(|| wrong(finding))
                .or_else(|| of_fault(finding))
                .unwrap_or(known.into());
        }
        Syndrome::Unreachable => lost(finding),
        Syndrome::NonCommunicationSlow => steps(finding).or_else(|| alone(finding)),
        Syndrome::CommunicationSlow => bandwidth(finding).or_else(|| delay(finding)),
        Syndrome::Latency => longer(finding),
        Syndrome::Crash | Syndrome::NonCommunicationHang => reported(finding).or_else(|| ended(finding)),
        Syndrome::Mismatch => circle(finding),
        _ => None,
    };
    let told = told.unwrap_or_else(|| known.to_owned());
    // What of a GPU or a link keeps others waiting.
    [xid, link].into_iter().flatten().fold(told, |told, why| format!("{told}: {why}"))
}

/// The Xid that a finding rests on: `Xid 79 (GPU has fallen off the bus)`.
pub fn xid(finding: &Finding) -> Option<String> {
    let line = finding.evidence.iter().find(|line| line.what.starts_with("Xid of "))?;
    // Names of GPUs have colons, but none before a space.
    let meaning = line.what.split_once(": ").map_or("", |(_, meaning)| meaning);
    Some(format!("Xid {:.0} ({meaning})", line.value))
}

/// Tests whose data came out wrong: `data came out wrong (42 wrong elements)`.
pub fn wrong(finding: &Finding) -> Option<String> {
    let wrong = finding.evidence.iter().filter(|line| line.what.starts_with(tests_between::WRONG));
    let elements: f64 = wrong.map(|line| line.value).sum();
    let unit = if elements == 1.0 { "element" } else { "elements" };
    (elements > 0.0).then(|| format!("data came out wrong ({elements:.0} wrong {unit})"))
}

/// The SXid of an NVSwitch in a line of a log: `SXid 24007 of an NVSwitch, fatal`. Findings rest on fatal ones alone.
fn switch_xid(finding: &Finding) -> Option<String> {
    let number = |line: &Evidence| -> Option<u32> {
        let (_, rest) = line.what.split_once("SXid (")?.1.split_once(')')?;
        let digits = rest.trim_start_matches([':', ' ']);
        digits[..digits.find(|one: char| !one.is_ascii_digit()).unwrap_or(digits.len())].parse().ok()
    };
    let number = finding.evidence.iter().find_map(number)?;
    Some(format!("SXid {number} of an NVSwitch, fatal"))
}

/// What RAS tells of a rank: `does not answer RAS`, `reports error 5 of NCCL (invalid usage)`.
fn reported(finding: &Finding) -> Option<String> {
    let line = finding.evidence.first().filter(|line| line.table == "ras")?;
    let (what, _) = line.what.strip_prefix("ranks that ")?.split_once(": ")?;
    match what.split_once(' ')? {
        ("report", error) => Some(format!("reports {error}")),
        ("do", what) => Some(format!("does {what}")),
        // Who is behind is waited for.
        ("have", state) if !state.starts_with("launched") => Some(format!("has {state}")),
        _ => None,
    }
}

/// How a process ended, as its log says: `ended with ValueError: sample 5 cannot be decoded`.
fn ended(finding: &Finding) -> Option<String> {
    let is_end = |line: &&Evidence| line.table == logs::TABLE && line.what.starts_with(logs::ENDED);
    let line = finding.evidence.iter().find(is_end)?;
    let (told, _) = line.what.rsplit_once(" (")?;
    let short: String = told.chars().take(ENDED_CHARS).collect();
    Some(if short.len() < told.len() { format!("{short}…") } else { short })
}

/// Ranks of dumps that wait for each other, which other things than what they call can be behind.
fn circle(finding: &Finding) -> Option<String> {
    let is_circle = |line: &&Evidence| line.what.starts_with("ranks that wait for each other in a circle");
    finding.evidence.first().filter(is_circle).map(|_| "wait for each other in a circle".to_owned())
}

/// Links of ports: down now, or lost and back.
fn link(finding: &Finding) -> Option<String> {
    let at_ports = |start: &'static str| {
        finding.evidence.iter().filter(move |line| line.what.starts_with(start) && line.table == "counters")
    };
    let down = at_ports("link of the port at ").any(|line| line.value == 0.0 && line.expected > 0.0);
    let losses: f64 = at_ports("losses of link of the port at ").map(|line| line.value).sum();
    match (down, losses) {
        (true, _) => Some("link down".into()),
        (false, 1.0) => Some("link went down once and came back".into()),
        (false, losses) if losses > 0.0 => Some(format!("link went down {losses:.0} times and came back")),
        _ => None,
    }
}

/// What a kind of fault is called; what a counter tells, and how much of it, stands below.
fn of_fault(finding: &Finding) -> Option<String> {
    use railtwin_records::Component::{Gpu, Rank};
    if !finding.evidence.is_empty() && finding.evidence.iter().all(|line| line.table == logs::TABLE) {
        return Some(switch_xid(finding).unwrap_or_else(|| "an error in its log".into()));
    }
    let at_gpu = finding.suspects.iter().all(|suspect| matches!(suspect.component, Gpu(_) | Rank(_)));
    let words = match finding.faults.first()? {
        FaultKind::Down => "link down",
        FaultKind::Flap => "link goes down and comes back",
        FaultKind::Lossy => "loses or spoils packets",
        FaultKind::PauseStorm => "sends pauses without end",
        FaultKind::GpuError if at_gpu => "GPU error",
        FaultKind::Slow => "carries less than it should",
        _ => return None,
    };
    Some(words.to_owned())
}

/// Shares of probes that were lost: `loses 20 % of probes`, `loses 18 to 22 % of probes`.
fn lost(finding: &Finding) -> Option<String> {
    let is_share =
        |line: &&Evidence| line.what.starts_with("share of ") && line.what.contains(" probes lost ");
    let shares = finding.evidence.iter().filter(is_share).map(|line| line.value).filter(|share| *share > 0.0);
    let (least, most) =
        shares.fold((1.0_f64, 0.0_f64), |(least, most), share| (least.min(share), most.max(share)));
    (most > 0.0 && least < NOTHING).then(|| format!("loses {} of probes", percent(least, most)))
}

fn percent(least: f64, most: f64) -> String {
    let figure = |share: f64| match 100.0 * share {
        small if small < 1.0 => format!("{small:.2}"),
        share => format!("{share:.0}"),
    };
    let (least, most) = (figure(least), figure(most));
    if least == most { format!("{least} %") } else { format!("{least} to {most} %") }
}

/// Steps that take longer: `steps 5.1 % longer from step 101 on`.
fn steps(finding: &Finding) -> Option<String> {
    let line = finding.evidence.iter().find(|line| line.table == slower::TABLE)?;
    let share = 100.0 * (line.value / line.expected - 1.0);
    let when = match line.what.strip_prefix("steps take longer ") {
        Some(when) => when.split(',').next().unwrap_or(when),
        None => line.what.strip_prefix("drift: steps take longer ")?,
    };
    share.is_finite().then(|| format!("steps {share:.1} % longer {when}"))
}

/// What a rank takes longer for by itself: `its optimizer takes 8.1 times as long as others'`.
fn alone(finding: &Finding) -> Option<String> {
    let line = finding.evidence.first().filter(|line| line.table == "computation")?;
    let (kind, _) = line.what.split_once(slow_job::OF_PEERS)?;
    (kind != "computation").then(|| format!("its {kind} takes {:.1} times as long as others'", line.value))
}

/// How bandwidth is less than usual: `communication is slow: half of what is usual, and falling with size (50 %)`.
fn bandwidth(finding: &Finding) -> Option<String> {
    let told = finding.evidence.iter().find_map(|line| {
        let (_, of) = line.what.split_once(" as a share of ")?;
        Some((of.split_once(": ")?.1, line.value))
    });
    let (how, share) = told?;
    Some(format!("communication is slow: {how} ({})", percent(share, share)))
}

/// How many times as long as usual packets take.
fn delay(finding: &Finding) -> Option<String> {
    let line =
        finding.evidence.iter().find(|line| line.unit == "times" && line.what.starts_with("delay "))?;
    let than = if line.table == "baseline" { "that of its baseline" } else { "what is usual" };
    Some(format!("delay {:.1} times {than}", line.value))
}

/// How much longer than before packets take.
fn longer(finding: &Finding) -> Option<String> {
    let line =
        finding.evidence.iter().find(|line| line.unit == "ns" && line.what.starts_with("delay that "))?;
    Some(format!("packets take {:.1} us longer than before", line.value / 1e3))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(
        syndrome: Syndrome,
        faults: &[FaultKind],
        lines: &[(&'static str, &str, f64, f64, &'static str)],
    ) -> String {
        let evidence = lines.iter().map(|&(table, what, value, expected, unit)| Evidence {
            table,
            what: what.into(),
            value,
            expected,
            unit,
        });
        of_finding(&Finding {
            at_ns: 0,
            since: railtwin_records::Since::default(),
            syndrome,
            faults: faults.to_vec(),
            suspects: Vec::new(),
            confidence: 0.9,
            severity: 0.0,
            cost: None,
            evidence: evidence.collect(),
            advice: String::new(),
        })
    }

    #[test]
    fn what_was_seen_is_said_with_its_figure() {
        use Syndrome::{
            CommunicationSlow, Counter, Latency, NonCommunicationHang, NonCommunicationSlow, Unreachable,
        };
        let xid = ("counters", "Xid of a/0000:9d:00: GPU has fallen off the bus", 79.0, 0.0, "");
        assert_eq!(words(Counter, &[FaultKind::GpuError], &[xid]), "Xid 79 (GPU has fallen off the bus)");
        assert_eq!(
            words(NonCommunicationHang, &[], &[xid]),
            "the others wait for it: Xid 79 (GPU has fallen off the bus)"
        );
        let down = ("counters", "link of the port at a/mlx5_0 up", 0.0, 1.0, "");
        let up = ("counters", "link of the port at a/mlx5_0 up", 1.0, 1.0, "");
        let losses = |count: f64| {
            (
                "counters",
                "losses of link of the port at a/mlx5_0 over its last two windows",
                count,
                0.0,
                "losses",
            )
        };
        assert_eq!(words(Counter, &[FaultKind::Down], &[down, losses(2.0)]), "link down");
        assert_eq!(
            words(Counter, &[FaultKind::Flap], &[up, losses(1.0)]),
            "link went down once and came back"
        );
        assert_eq!(
            words(Counter, &[FaultKind::Flap], &[losses(3.0)]),
            "link went down 3 times and came back"
        );
        assert_eq!(words(Counter, &[FaultKind::PauseStorm], &[]), "sends pauses without end");
        let log = "a.log:7: node1 kernel: nvidia-nvswitch3: SXid (PCI:0000:c4:00.0): 24007, Fatal, Link 36";
        assert_eq!(
            words(Counter, &[FaultKind::Crash], &[(logs::TABLE, log, 1.0, 0.0, "")]),
            "SXid 24007 of an NVSwitch, fatal"
        );
        assert_eq!(
            words(
                Counter,
                &[FaultKind::Crash],
                &[(logs::TABLE, "a.log:7: mce: [Hardware Error]", 1.0, 0.0, "")]
            ),
            "an error in its log"
        );
        let ras = |what: &'static str| ("ras", what, 1.0, 0.0, "ranks");
        assert_eq!(
            words(Syndrome::Crash, &[], &[ras("ranks that report error 5 of NCCL (invalid usage): job/6")]),
            "reports error 5 of NCCL (invalid usage)"
        );
        assert_eq!(words(Syndrome::Crash, &[], &[ras("ranks that RAS holds for dead: job/6")]), "died");
        assert_eq!(
            words(NonCommunicationHang, &[], &[ras("ranks that do not answer RAS: job/6")]),
            "does not answer RAS"
        );
        assert_eq!(
            words(Syndrome::Crash, &[], &[ras("ranks that have aborted a communicator: job/6")]),
            "has aborted a communicator"
        );
        let circle =
            ("dumps", "ranks that wait for each other in a circle: each is in what …", 2.0, 0.0, "ranks");
        assert_eq!(words(Syndrome::Mismatch, &[], &[circle]), "wait for each other in a circle");
        assert_eq!(
            words(NonCommunicationHang, &[], &[ras("ranks that have launched fewer all-reduces: job/6")]),
            "the others wait for it"
        );
        let share = |share: f64| ("probes", "share of 100 probes lost from a to b", share, 0.0, "");
        assert_eq!(
            words(Unreachable, &[FaultKind::Lossy], &[share(0.2), share(0.2)]),
            "loses 20 % of probes"
        );
        assert_eq!(
            words(Unreachable, &[FaultKind::Lossy], &[share(0.18), share(0.22)]),
            "loses 18 to 22 % of probes"
        );
        assert_eq!(words(Unreachable, &[FaultKind::Lossy], &[share(0.002)]), "loses 0.20 % of probes");
        assert_eq!(words(Unreachable, &[FaultKind::Down], &[share(1.0)]), "does not answer");
        let steps = |what: &'static str| (slower::TABLE, what, 10.5, 10.0, "s");
        assert_eq!(
            words(
                NonCommunicationSlow,
                &[],
                &[steps("steps take longer from step 101 on, told after step 103")]
            ),
            "steps 5.0 % longer from step 101 on"
        );
        assert_eq!(
            words(
                NonCommunicationSlow,
                &[],
                &[steps("drift: steps take longer little by little from step 1 to step 9")]
            ),
            "steps 5.0 % longer little by little from step 1 to step 9"
        );
        let slow = (
            "nccl-tests",
            "bandwidth of these pairs, as a share of what is usual: half, and falling with size",
            0.5,
            1.0,
            "",
        );
        assert_eq!(
            words(CommunicationSlow, &[], &[slow]),
            "communication is slow: half, and falling with size (50 %)"
        );
        let delay = ("perftest", "delay of all 14 ways of a in x, times what is usual", 5.1, 1.0, "times");
        assert_eq!(words(CommunicationSlow, &[], &[delay]), "delay 5.1 times what is usual");
        let added = (
            "probes",
            "delay that 22 unloaded paths share, added to their baselines: median",
            4527.5,
            0.0,
            "ns",
        );
        assert_eq!(words(Latency, &[], &[added]), "packets take 4.5 us longer than before");
        assert_eq!(words(Counter, &[], &[]), "its counters say so");
    }
}
