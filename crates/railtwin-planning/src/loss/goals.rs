//! The goals of HPN (Qian et al., SIGCOMM 2024, section 2.4) as rules, each with the number behind its answer.
use railtwin_fabric::clos::{Chip, ClosSpec};
use serde::Serialize;

use super::{LossReport, LostPart};
use crate::intent::{Counts, counted, grouped};
use crate::numbers::percent;

/// GPUs that a pod carries: the primary goal of section 2.4.
const GPUS_NOW: u64 = 15_000;
/// GPUs that the design reaches with more pods later.
const GPUS_LATER: u64 = 100_000;
/// GPUs of a segment, which hold 96.3 % of training jobs (section 1): their traffic crosses one switch.
const GPUS_DIRECT: u64 = 1_000;
/// Switches of a path across two tiers.
const HOPS_OF_TWO_TIERS: u32 = 3;

/// Demand of G2.
const G2: &str =
    "15,000 GPUs meet over 3 switches and 1 stage of hashing, 1,000 GPUs over 1 switch of their rail";

/// A goal and whether a design meets it.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Goal {
    /// `G1`, `G2` or `G3`.
    pub name: &'static str,
    /// What it demands.
    pub demand: &'static str,
    /// Whether the design meets it.
    pub passes: bool,
    /// The numbers behind the answer.
    pub because: String,
}

/// The three goals.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Goals {
    /// G1, G2, G3.
    pub goals: Vec<Goal>,
}

impl Goals {
    /// Checks a design.
    pub fn of(spec: &ClosSpec) -> Self {
        let (counts, loss) = (Counts::of(spec), LossReport::of(spec));
        Self { goals: vec![scale(spec, &counts), performance(spec, &counts), fault_tolerance(&loss)] }
    }

    /// Whether the design meets all.
    pub fn pass(&self) -> bool {
        self.goals.iter().all(|goal| goal.passes)
    }
}

/// G1: 15K GPUs in a pod, 100K by pods.
fn scale(spec: &ClosSpec, counts: &Counts) -> Goal {
    let most = u64::from(most_pods(spec)) * counts.gpus_per_pod;
    Goal {
        name: "G1",
        demand: "a pod of 15,000 GPUs now, 100,000 GPUs in more pods later",
        passes: counts.gpus_per_pod >= GPUS_NOW && most >= GPUS_LATER,
        because: format!(
            "{} GPUs in a pod, {} in all pods that its cores can join",
            grouped(counts.gpus_per_pod),
            grouped(most)
        ),
    }
}

/// Pods that the ports of a core can join with the cables that it has to each.
fn most_pods(spec: &ClosSpec) -> u32 {
    let Chip::Of(chip) = spec.chip else { return spec.pods };
    let to_pod = (spec.spines * spec.spine_up).checked_div(spec.cores).unwrap_or(0);
    let ports = chip.bits_per_s() / spec.core_link.bits_per_s().max(1);
    (ports as u32).checked_div(to_pod).unwrap_or(1).max(spec.pods)
}

/// G2: 15K GPUs meet over two tiers and one stage of hashing, most jobs within a segment.
fn performance(spec: &ClosSpec, counts: &Counts) -> Goal {
    let in_pod = Counts::of(&ClosSpec { pods: 1, ..spec.clone() });
    let seen = if in_pod.gpus >= GPUS_NOW { &in_pod } else { counts };
    let segment = counts.gpus_per_segment;
    if seen.pairs_joined < 1.0 {
        let share = percent(seen.pairs_joined);
        let because = format!("the switches join {share} of the pairs of GPUs of different hosts");
        return Goal { name: "G2", demand: G2, passes: false, because };
    }
    Goal {
        name: "G2",
        demand: G2,
        passes: seen.gpus >= GPUS_NOW
            && seen.hops_worst <= HOPS_OF_TWO_TIERS
            && seen.hash_stages <= 1
            && segment >= GPUS_DIRECT,
        because: format!(
            "{} GPUs meet over {} at worst and {:.2} on average, with {} of hashing; a segment has {} GPUs",
            grouped(seen.gpus),
            counted(seen.hops_worst, "switch", "switches"),
            seen.hops_mean,
            counted(seen.hash_stages, "stage", "stages"),
            grouped(segment)
        ),
    }
}

/// G3: no lost leaf cuts a GPU off.
fn fault_tolerance(loss: &LossReport) -> Goal {
    let leaf = loss.of_part(LostPart::Leaf);
    Goal {
        name: "G3",
        demand: "a lost leaf cuts no GPU off",
        passes: leaf.is_some_and(|leaf| leaf.gpus_cut == 0),
        because: match leaf {
            Some(leaf) => format!(
                "a lost leaf cuts {} GPUs off; its GPUs keep {:.0} % of their bandwidth",
                leaf.gpus_cut,
                100.0 * leaf.worst()
            ),
            None => "what a lost leaf takes is not computed for this design".to_owned(),
        },
    }
}
