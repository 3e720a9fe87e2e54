//! Traces that hold all operations of a slow job, replayed: who is to blame, and what is nobody's fault.
use std::collections::{BTreeMap, BTreeSet};

use railtwin_diagnosis::Settings;
use railtwin_diagnosis::what_if::{
    Blame, Graph, LongStep, Operation, Role, SlowAlone, SlowGroup, SlowPair, SlowRank, Way, WhatIf, Work,
    belief, blame, slowdown, what_if,
};
use railtwin_formats::telemetry::{MegatronOperation, MegatronRole};
use railtwin_records::seen::{ComputationSeen, OperationSeen};
use railtwin_records::{Component, Evidence, FaultKind, Finding, Since, Suspect, Syndrome};

/// Share of the job's time, or of a stage's, from which a note is worth its line.
const WORTH: f64 = 0.01;
/// Confidence, with slowness that is no chance ([`belief`]), where the other stages, which work on the same microbatches, acquit
/// the data; where nothing does; and of a pair of which nothing tells which end it is.
const SURE: f64 = 0.95;
const ALONE: f64 = 0.8;
const PAIR: f64 = 0.7;
/// Confidence in a set of ranks of which none is proved, and share of the job's time from which it is told.
const SET: f64 = 0.45;
const DEAR: f64 = 0.05;

/// A trace, ready to be replayed.
#[derive(Debug)]
pub struct JobReplay {
    /// The file.
    pub file: String,
    /// Operations of the trace.
    pub operations: usize,
    /// What waits for what.
    pub graph: Graph,
}

/// A Megatron trace as work: `kinds` and `operations` as the reader gives them.
pub fn work_of(kinds: Vec<String>, operations: &[MegatronOperation]) -> Work {
    let role = |role: MegatronRole| match role {
        MegatronRole::Forward => Role::Compute(Way::Forward),
        MegatronRole::Backward => Role::Compute(Way::Backward),
        MegatronRole::ForwardSend => Role::Send(Way::Forward),
        MegatronRole::ForwardReceive => Role::Receive(Way::Forward),
        MegatronRole::BackwardSend => Role::Send(Way::Backward),
        MegatronRole::BackwardReceive => Role::Receive(Way::Backward),
        MegatronRole::Collective => Role::Collective,
        MegatronRole::Alone => Role::Alone,
        MegatronRole::Pause => Role::Pause,
    };
    let operation = |one: &MegatronOperation| Operation {
        rank: one.rank,
        replica: one.replica,
        stage: one.stage,
        place: one.place,
        chunk: one.chunk,
        step: one.step,
        kind: one.kind,
        role: role(one.role),
        group: one.group,
        number: one.number,
        start_ns: one.start_ns,
        duration_ns: one.duration_ns,
    };
    Work { kinds, operations: operations.iter().map(operation).collect() }
}

impl JobReplay {
    /// Finds out what waits for what in a trace.
    pub fn of(file: String, work: &Work) -> Self {
        Self { file, operations: work.operations.len(), graph: Graph::of(work) }
    }

    /// The job with ideal operations, part by part; none where no step can be replayed.
    pub fn what_if(&self) -> Option<WhatIf> {
        what_if(&self.graph, self.operations)
    }

    /// Findings where a component is to blame, and notes on what else makes the job slow.
    pub fn judge(&self, job: &str, settings: &Settings) -> (Vec<Finding>, Vec<String>) {
        let told = blame(&self.graph, settings);
        let mut findings: Vec<Finding> = told.ranks.iter().map(|slow| of_rank(job, slow)).collect();
        findings.extend(told.alone.iter().map(|slow| of_alone(job, slow)));
        findings.extend(of_pairs(job, &told.pairs));
        findings
            .extend(told.groups.iter().filter(|group| group.cost >= DEAR).map(|group| of_group(job, group)));
        let communication = match told.communication {
            cost if cost >= WORTH => format!("; slow communication costs {:.0} % of its time", 100.0 * cost),
            _ => String::new(),
        };
        let slowdown = slowdown(&self.graph)
            .map(|slow| format!("{}{communication}; --what-if shows by what", summary(slow)));
        let mut notes: Vec<String> = slowdown.into_iter().chain(notes_of(&told, settings)).collect();
        if self.graph.circular > 0 {
            notes.push(format!(
                "{} steps of {} are not replayed: their operations wait for each other in a circle",
                self.graph.circular, self.file
            ));
        }
        if self.graph.one_ended > 0 {
            notes.push(format!(
                "{} transfers between stages have one end in {}: their wait cannot be told from their transfer",
                self.graph.one_ended, self.file
            ));
        }
        (findings, notes)
    }
}

fn of_rank(job: &str, slow: &SlowRank) -> Finding {
    let confidence = belief(slow.chance) * if slow.apart { SURE } else { ALONE };
    let share = confidence / slow.ranks.len() as f64;
    let suspect = |rank: &u32| Suspect { component: Component::Rank(format!("{job}/{rank}")), share };
    Finding {
        at_ns: 0,
        since: Since::default(),
        syndrome: Syndrome::NonCommunicationSlow,
        faults: vec![FaultKind::SlowGpu],
        suspects: slow.ranks.iter().map(suspect).collect(),
        confidence,
        severity: slow.cost.clamp(0.0, 1.0),
        cost: None,
        evidence: vec![
            Evidence::new(
                ComputationSeen::StepComputation { steps: slow.steps, is_apart: slow.apart },
                1.0 + slow.excess,
                1.0,
            ),
            Evidence::new(ComputationSeen::ComputationCost {}, slow.cost, 0.0),
        ],
        advice: "clocks and temperature of its GPU tell whether it is throttled; if they are well, its host's processes"
            .into(),
    }
}

/// A rank that takes longer than its peers for what it does alone.
fn of_alone(job: &str, slow: &SlowAlone) -> Finding {
    let confidence = belief(slow.chance) * ALONE;
    Finding {
        at_ns: 0,
        since: Since::default(),
        syndrome: Syndrome::NonCommunicationSlow,
        faults: vec![FaultKind::SlowGpu],
        suspects: vec![Suspect {
            component: Component::Rank(format!("{job}/{}", slow.rank)),
            share: confidence,
        }],
        confidence,
        severity: slow.cost.clamp(0.0, 1.0),
        cost: None,
        evidence: vec![
            Evidence::new(
                ComputationSeen::StepAlone { operation: slow.kind.clone(), steps: slow.steps },
                slow.times,
                1.0,
            ),
            Evidence::new(ComputationSeen::AloneCost { operation: slow.kind.clone() }, slow.cost, 0.0),
        ],
        advice: format!(
            "its {} alone is long: what is offloaded to its host's processors and memory, and clocks of its GPU then, tell why",
            slow.kind
        ),
    }
}

/// Steps that took longer than the others, in words: the longest, and how many more.
fn of_long_steps(steps: &[LongStep]) -> Option<String> {
    let first = steps.first()?;
    let [took, usual] = first.took_ns.map(|ns| ns / 1e9);
    let ranks: Vec<String> = first
        .ranks
        .iter()
        .map(|(rank, times)| format!("rank {rank} computed {times:.1} times as long"))
        .collect();
    let why = match (&ranks[..], first.computation) {
        ([one], _) => format!("{one} as others that do the same in it"),
        (_, share) if share > 1.0 + WORTH => {
            format!("computation of all ranks took {:.1} % longer in it at the median", 100.0 * (share - 1.0))
        }
        _ => "computation took in it what it always does".to_owned(),
    };
    let more = match steps.len() - 1 {
        0 => String::new(),
        1 => "; 1 more step stands out".to_owned(),
        more => format!("; {more} more steps stand out"),
    };
    Some(format!(
        "step {} alone was {:.1} % longer than steps are ({took:.3} s beside {usual:.3} s): {why}; what happens once is no \
         component that is slow{more}",
        first.step,
        100.0 * (took / usual - 1.0)
    ))
}

/// A group whose collectives are slow: its ranks, of which none is proved.
fn of_group(job: &str, group: &SlowGroup) -> Finding {
    let share = SET / group.ranks.len() as f64;
    let suspect = |rank: &u32| Suspect { component: Component::Rank(format!("{job}/{rank}")), share };
    Finding {
        at_ns: 0,
        since: Since::default(),
        syndrome: Syndrome::CommunicationSlow,
        faults: vec![FaultKind::Slow, FaultKind::Lossy],
        suspects: group.ranks.iter().map(suspect).collect(),
        confidence: SET,
        severity: group.cost.clamp(0.0, 1.0),
        cost: None,
        evidence: vec![
            Evidence::new(OperationSeen::GroupCost { group: group.kind.clone(), stages: group.stages.clone() }, group.cost, 0.0),
            Evidence::new(
                OperationSeen::GroupTimes { group: group.kind.clone(), stages: group.stages.clone() },
                group.times,
                1.0,
            ),
        ],
        advice: "counters of the NICs of these ranks, and tests between their hosts, tell which connection it is; if all are \
                 well, this group moves more data than the others"
            .into(),
    }
}

/// Slow pairs: a rank where all pairs with it and several others are slow, else both ends.
fn of_pairs(job: &str, pairs: &[SlowPair]) -> Vec<Finding> {
    let mut left: Vec<&SlowPair> = pairs.iter().collect();
    let mut findings = Vec::new();
    while !left.is_empty() {
        let mut partners: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
        for pair in &left {
            let [a, b] = pair.ranks;
            partners.entry(a).or_default().insert(b);
            partners.entry(b).or_default().insert(a);
        }
        let most = partners.iter().max_by_key(|(rank, others)| (others.len(), std::cmp::Reverse(**rank)));
        let hub = most.filter(|(_, others)| others.len() > 1).map(|(rank, _)| *rank);
        let first = left[0].ranks;
        let of = |pair: &&&SlowPair| match hub {
            Some(rank) => pair.ranks.contains(&rank),
            None => BTreeSet::from(pair.ranks) == BTreeSet::from(first),
        };
        let worst =
            left.iter().filter(of).copied().max_by(|a, b| a.cost.total_cmp(&b.cost)).unwrap_or(left[0]);
        let ranks: Vec<u32> = hub.map_or_else(|| first.to_vec(), |rank| vec![rank]);
        left.retain(|pair| !of(&pair));
        let confidence = belief(worst.chance) * if ranks.len() == 1 { ALONE } else { PAIR };
        let share = confidence / ranks.len() as f64;
        let suspect = |rank: &u32| Suspect { component: Component::Rank(format!("{job}/{rank}")), share };
        findings.push(Finding {
            at_ns: 0,
            since: Since::default(),
            syndrome: Syndrome::CommunicationSlow,
            faults: vec![FaultKind::Slow, FaultKind::Lossy],
            suspects: ranks.iter().map(suspect).collect(),
            confidence,
            severity: worst.cost.clamp(0.0, 1.0),
            cost: None,
            evidence: vec![
                Evidence::new(OperationSeen::TransferTimes { ranks: worst.ranks }, worst.times, 1.0),
                Evidence::new(OperationSeen::TransferCost {}, worst.cost, 0.0),
            ],
            advice: "counters of their NICs, and a test between their hosts, tell which end it is".into(),
        });
    }
    findings
}

/// What is worth a word and no component's fault.
fn notes_of(told: &Blame, settings: &Settings) -> Vec<String> {
    let percent = |share: f64| format!("{:.1} %", 100.0 * share);
    let mut notes = Vec::new();
    if let Some(stage) = told.stage.as_ref().filter(|stage| stage.excess > settings.slow_share) {
        notes.push(format!(
            "computation of a step takes longest in pipeline stage {}, by {} over the other stages: that is how layers \
             are split, and no fault of a component",
            stage.stage,
            percent(stage.excess)
        ));
    }
    notes.extend(of_long_steps(&told.long_steps));
    if let Some(lengths) = &told.lengths {
        notes.push(format!(
            "computation of microbatches differs by {} and is long or short both ways at once (correlation {:.2}): \
             sequences are of uneven length, which costs {} of the job's time and is no fault of a component",
            percent(lengths.spread),
            lengths.correlation,
            percent(lengths.cost)
        ));
    }
    if let Some(pauses) = &told.pauses {
        let (count, recorded, ranks) = (pauses.count, pauses.recorded, pauses.ranks);
        let why = match recorded {
            0 => "in forward computation alone, as garbage collection of Python makes them".to_owned(),
            all if all == count => "for garbage collection".to_owned(),
            some => format!("for garbage collection ({some} of them) or in forward computation alone"),
        };
        notes.push(format!(
            "{count} pauses at {ranks} ranks {why} cost {} of the job's time, which is no fault of a component; let all \
             ranks collect in the same step",
            percent(pauses.cost)
        ));
    }
    for (replica, share) in &told.replicas {
        notes.push(format!(
            "all stages of data-parallel rank {replica} compute longer than the others', by {}: what it is given to \
             work on, or a host that they share",
            percent(*share)
        ));
    }
    for slow in &told.harmless {
        let ranks: Vec<String> = slow.ranks.iter().map(u32::to_string).collect();
        notes.push(format!(
            "rank {} computes {} longer than ranks that do the same, and the job loses less than {} by it: others are \
             later",
            ranks.join(", "),
            percent(slow.excess),
            percent(WORTH)
        ));
    }
    notes
}

/// What the replay says of the whole job in one line: how many times as long it takes as by the two ideals.
pub fn summary([mean, like]: [f64; 2]) -> String {
    format!(
        "the job takes {mean:.3} times as long as with operations that take the mean over all, {like:.3} times as long \
         as with the median over like stages"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words;

    #[test]
    fn a_slow_optimizer_and_a_long_step_are_said_in_their_words() {
        let slow =
            SlowAlone { kind: "optimizer".into(), rank: 5, times: 8.873, steps: 32, chance: 0.0, cost: 0.12 };
        let finding = of_alone("job", &slow);
        assert_eq!(words::of_finding(&finding), "its optimizer takes 8.9 times as long as others'");
        assert!(matches!(&finding.suspects[..], [one] if one.component == Component::Rank("job/5".into())));
        let rank = SlowRank { ranks: vec![5], excess: 0.3, steps: 32, chance: 0.0, cost: 0.1, apart: true };
        assert_eq!(words::of_finding(&of_rank("job", &rank)), "comes late again and again");
        let long = |ranks: &[(u32, f64)], computation| LongStep {
            step: 519,
            took_ns: [4.5e9, 2.5e9],
            ranks: ranks.to_vec(),
            computation,
        };
        let told = |steps: &[LongStep]| of_long_steps(steps).expect("a long step");
        let all = told(&[long(&[], 1.8)]);
        assert!(
            all.starts_with("step 519 alone was 80.0 % longer than steps are (4.500 s beside 2.500 s)"),
            "{all}"
        );
        assert!(all.contains("computation of all ranks took 80.0 % longer in it"), "{all}");
        let one = told(&[long(&[(3, 3.0)], 1.0), long(&[], 1.0)]);
        assert!(
            one.contains("rank 3 computed 3.0 times as long as others")
                && one.ends_with("1 more step stands out"),
            "{one}"
        );
        assert!(told(&[long(&[], 1.0)]).contains("computation took in it what it always does"));
        assert_eq!(of_long_steps(&[]), None);
    }
}
