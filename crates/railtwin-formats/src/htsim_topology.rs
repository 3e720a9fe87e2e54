//! Fat-trees of htsim (`.topo`): two or three tiers of switches, as a fabric of one-GPU hosts.
use railtwin_fabric::HostModel;
use railtwin_fabric::clos::{Chip, ClosSpec, Peers, SpineGroups};
use railtwin_units::{Rate, SimTime};

use crate::error::FormatError;
use crate::htsim_lines::{Line, Lines, keep};

/// Name of this format in errors.
const FORMAT: &str = "htsim topology";
/// Bound of nodes, as of GPUs in a scenario.
const NODES: (u64, u64) = (1, 1 << 24);
/// Bound of ports of one switch.
const PORTS: (u64, u64) = (1, 1 << 16);
/// Bound of capacities: 1,000 Tbps, the bound of a scenario.
const GBPS: (u64, u64) = (1, 1_000_000);
/// Bound of delays: one second.
const NANOSECONDS: (u64, u64) = (0, 1_000_000_000);
/// Bound of lengths of queues.
const QUEUE: (u64, u64) = (0, 1 << 40);

/// Cables of the largest tree: what the memory of a normal machine holds.
const MOST_CABLES: u128 = 1 << 26;

/// A fat-tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HtsimTopology {
    /// Nodes: hosts of one GPU and one NIC port.
    pub nodes: u32,
    /// Nodes of a pod.
    pub pod_size: u32,
    /// Tiers from the leaves up, two or three.
    pub tiers: Vec<HtsimTier>,
    source_name: Box<str>,
}

/// The switches of a tier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HtsimTier {
    /// Line of its heading, counted from 1.
    pub line: u64,
    /// Capacity of a cable downwards, Gbps (10^9).
    pub downlink_gbps: u32,
    /// Ports downwards.
    pub radix_down: u32,
    /// Ports upwards; none where the file has none, as at the top.
    pub radix_up: Option<u32>,
    /// Delay of a cable downwards, ns.
    pub downlink_latency_ns: u32,
    /// Delay of a switch, ns; 0 where the file has none.
    pub switch_latency_ns: u32,
    /// Parallel cables to each switch below; 1 where the file has none.
    pub bundle: u32,
    /// Capacity downwards over capacity upwards; 1 where the file has none.
    pub oversubscribed: u32,
    /// Length of queues upwards, in the unit of the file; htsim's switches do not read it and no fabric has it.
    pub queue_up: Option<u64>,
    /// As `queue_up`, downwards.
    pub queue_down: Option<u64>,
}

/// The line and the value of a key; none where the file does not have it.
type Given = Option<(u64, u64)>;

/// A tier while it is read: the line and the value of each key.
#[derive(Clone, Copy, Default)]
struct Block {
    line: u64,
    speed: Given,
    radix_down: Given,
    radix_up: Given,
    latency: Given,
    switch_latency: Given,
    bundle: Given,
    oversubscribed: Given,
    queue_up: Given,
    queue_down: Given,
}

impl Block {
    /// Where the value of `key`, in lower case, goes, and its bounds.
    fn slot(&mut self, key: &str) -> Option<(&mut Given, (u64, u64))> {
        Some(match key {
            "downlink_speed_gbps" => (&mut self.speed, GBPS),
            "radix_down" => (&mut self.radix_down, PORTS),
            "radix_up" => (&mut self.radix_up, PORTS),
            "downlink_latency_ns" => (&mut self.latency, NANOSECONDS),
            "switch_latency_ns" => (&mut self.switch_latency, NANOSECONDS),
            "bundle" => (&mut self.bundle, PORTS),
            "oversubscribed" => (&mut self.oversubscribed, PORTS),
            "queue_up" => (&mut self.queue_up, QUEUE),
            "queue_down" => (&mut self.queue_down, QUEUE),
            _ => return None,
        })
    }

    /// The tier; `number` counts from 0 at the leaves, `top` says that there is none above.
    fn finish(self, lines: &Lines<'_>, number: usize, top: bool) -> Result<HtsimTier, FormatError> {
        let refuse = |line: u64, key: &str, problem: &str, accepted: &str| {
            lines.error(problem, accepted).at_line(line).field(format!("Tier {number}, {key}"))
        };
        let need = |slot: Given, key: &str| {
            let missing = || refuse(self.line, key, "is missing", "write it with a whole number");
            slot.map(|(_, value)| value as u32).ok_or_else(missing)
        };
        if let (true, Some((line, _))) = (top, self.radix_up) {
            let problem = "belongs to tiers below the top";
            return Err(refuse(line, "Radix_Up", problem, "leave it away: nothing is above"));
        }
        if !top {
            need(self.radix_up, "Radix_Up")?;
        }
        if let (0, Some((line, 2..))) = (number, self.bundle) {
            let accepted = "write 1: a host has one NIC port";
            return Err(refuse(line, "Bundle", "is more than one cable to a host", accepted));
        }
        let or = |slot: Given, default: u32| slot.map_or(default, |(_, value)| value as u32);
        Ok(HtsimTier {
            line: self.line,
            downlink_gbps: need(self.speed, "Downlink_speed_Gbps")?,
            radix_down: need(self.radix_down, "Radix_Down")?,
            radix_up: self.radix_up.map(|(_, value)| value as u32),
            downlink_latency_ns: need(self.latency, "Downlink_Latency_ns")?,
            switch_latency_ns: or(self.switch_latency, 0),
            bundle: or(self.bundle, 1),
            oversubscribed: or(self.oversubscribed, 1),
            queue_up: self.queue_up.map(|(_, value)| value),
            queue_down: self.queue_down.map(|(_, value)| value),
        })
    }
}

impl HtsimTopology {
    /// Reads a `.topo` file; `source_name` appears in errors. Keys may be in any case.
    ///
    /// # Errors
    /// A key that is not known, missing, out of place or written twice, and a value that is no whole number in its
    /// bounds: each names its line.
    pub fn parse(source_name: &str, bytes: &[u8]) -> Result<Self, FormatError> {
        let lines = Lines::new(FORMAT, source_name, bytes)?;
        let is_known = lines.begin_with(&["nodes", "tiers", "podsize", "tier"]);
        Self::of(&lines).map_err(|error| if is_known { error } else { error.without_found() })
    }

    fn of(lines: &Lines<'_>) -> Result<Self, FormatError> {
        let (mut nodes, mut tiers, mut pod_size) = (None, None, None);
        let mut blocks: [Option<Block>; 3] = [None; 3];
        let mut current: Option<usize> = None;
        for line in lines.iter() {
            let key = line.words[0].to_ascii_lowercase();
            match (key.as_str(), current) {
                ("nodes", _) => keep(lines, &line, &mut nodes, lines.only_number(&line, NODES)?)?,
                ("tiers", _) => keep(lines, &line, &mut tiers, lines.only_number(&line, (2, 3))?)?,
                ("podsize", _) => keep(lines, &line, &mut pod_size, lines.only_number(&line, NODES)?)?,
                ("tier", _) => current = Some(heading(lines, &line, &mut blocks)?),
                (key, Some(tier)) => {
                    let slot = blocks[tier].as_mut().and_then(|block| block.slot(key));
                    let (slot, bounds) = slot.ok_or_else(|| unknown(lines, &line))?;
                    keep(lines, &line, slot, lines.only_number(&line, bounds)?)?;
                }
                _ => return Err(unknown(lines, &line)),
            }
        }
        let need = |slot: Given, key: &str, accepted: &str| {
            slot.map(|(_, value)| value).ok_or_else(|| lines.error("is missing", accepted).field(key))
        };
        let nodes = need(nodes, "Nodes", "write a line such as \"Nodes 16\"")? as u32;
        let count = need(tiers, "Tiers", "write a line \"Tiers 2\" or \"Tiers 3\"")? as usize;
        let pod_size = need(pod_size, "Podsize", "write the number of nodes in a pod")? as u32;
        let mut tiers = Vec::new();
        for (number, block) in blocks.into_iter().enumerate() {
            match block {
                Some(block) if number < count => {
                    tiers.push(block.finish(lines, number, number + 1 == count)?)
                }
                Some(block) => {
                    let problem = format!("is a tier above the {count} that the file says");
                    let error = lines.error(problem, "write a larger Tiers, or leave it away");
                    return Err(error.at_line(block.line).field(format!("Tier {number}")));
                }
                None if number < count => {
                    let accepted = format!("write a block that begins with \"Tier {number}\"");
                    return Err(lines.error("is missing", accepted).field(format!("Tier {number}")));
                }
                None => {}
            }
        }
        Ok(Self { nodes, pod_size, tiers, source_name: lines.source_name.into() })
    }

    /// The fabric spelled out: node `n` is host `n`, plain hosts of one GPU behind one NIC port.
    ///
    /// # Errors
    /// Counts that do not fit together, and what no [`ClosSpec`] can say: switches whose delay differs by tier,
    /// several cables from a core to a spine, cores over a single pod. Each names the tier's line, the value and
    /// what would be accepted.
    pub fn spec(&self) -> Result<ClosSpec, FormatError> {
        let (leaf, spine) = (self.tiers[0], self.tiers[1]);
        let core = self.tiers.get(2);
        let pods = self.divided("Nodes", self.nodes, "Podsize", self.pod_size)?;
        let leaves = self.divided("Podsize", self.pod_size, "Radix_Down of tier 0", leaf.radix_down)?;
        self.require_tiers_for(pods)?;
        self.require_one_delay()?;
        let up = leaf.radix_up.unwrap_or(0);
        let spines = self.divided("Radix_Up of tier 0", up, "Bundle of tier 1", spine.bundle)?;
        self.radix_down(1, u64::from(leaves) * u64::from(spine.bundle), "leaves of a pod and their bundles")?;
        self.oversubscription(0, spine)?;
        let spine_up = match core {
            Some(core) => self.spine_up_to(*core, pods)?,
            None => 0,
        };
        let uplinks = u128::from(pods)
            * (u128::from(leaves) * u128::from(up) + u128::from(spines) * u128::from(spine_up));
        if u128::from(self.nodes) + uplinks > MOST_CABLES {
            let problem = format!("nodes and {uplinks} uplinks are too many cables");
            let accepted = format!("write a tree of {MOST_CABLES} cables at most");
            return Err(self.wrong(None, "Nodes", self.nodes, problem, accepted));
        }
        let capacity = |tier: HtsimTier| Rate::from_gbps(u64::from(tier.downlink_gbps));
        let delay = |tier: HtsimTier| SimTime::from_ns(u64::from(tier.downlink_latency_ns));
        let top = core.copied().unwrap_or(spine);
        Ok(ClosSpec {
            name: "htsim".to_owned(),
            host: HostModel::plain(capacity(leaf)),
            pods,
            segments: leaves,
            hosts: leaf.radix_down,
            spare_hosts: 0,
            rails_per_leaf: 1,
            tors: 1,
            groups: SpineGroups::Single,
            spines,
            parallel: spine.bundle,
            uplink: capacity(spine),
            spine_up,
            cores: spines.saturating_mul(spine_up),
            core_link: capacity(top),
            chip: Chip::Unchecked,
            access_delay: delay(leaf),
            leaf_spine_delay: delay(spine),
            spine_core_delay: delay(top),
            switch_latency: SimTime::from_ns(u64::from(leaf.switch_latency_ns)),
            services: 0,
            peers: Peers::None,
            breakout: 1,
        })
    }

    /// Refuses several pods without a tier that joins them.
    fn require_tiers_for(&self, pods: u32) -> Result<(), FormatError> {
        if self.tiers.len() > 2 || pods <= 1 {
            return Ok(());
        }
        let problem = format!("would make {pods} pods that nothing joins");
        Err(self.wrong(None, "Podsize", self.pod_size, problem, format!("write {}", self.nodes)))
    }

    /// Refuses switches of one tier that take longer than those of another.
    fn require_one_delay(&self) -> Result<(), FormatError> {
        let of_leaf = self.tiers[0].switch_latency_ns;
        let mut above = self.tiers.iter().enumerate().skip(1);
        let Some((number, tier)) = above.find(|(_, tier)| tier.switch_latency_ns != of_leaf) else {
            return Ok(());
        };
        let problem = format!("differs from the {of_leaf} of tier 0");
        let accepted = "switches of a fabric have one delay: write the same in every tier";
        Err(self.wrong(Some(number), "Switch_Latency_ns", tier.switch_latency_ns, problem, accepted))
    }

    /// Ports of a spine up to the cores, once the cores fit the pods.
    fn spine_up_to(&self, core: HtsimTier, pods: u32) -> Result<u32, FormatError> {
        if core.bundle != 1 {
            let problem = "parallel cables from a core to a spine cannot be built";
            return Err(self.wrong(Some(2), "Bundle", core.bundle, problem, "write 1"));
        }
        if pods == 1 {
            let problem = "makes a single pod, which has no use for tier 2";
            let accepted = "write Tiers 2, or more pods";
            return Err(self.wrong(None, "Podsize", self.pod_size, problem, accepted));
        }
        self.radix_down(2, u64::from(pods), "pods")?;
        self.oversubscription(1, core)?;
        Ok(self.tiers[1].radix_up.unwrap_or(0))
    }

    fn wrong(
        &self,
        tier: Option<usize>,
        key: &str,
        value: impl ToString,
        problem: impl Into<String>,
        accepted: impl Into<String>,
    ) -> FormatError {
        let error = FormatError::new(FORMAT, &self.source_name, problem, accepted).found(&value.to_string());
        match tier {
            Some(number) => error.at_line(self.tiers[number].line).field(format!("Tier {number}, {key}")),
            None => error.field(key),
        }
    }

    fn divided(&self, key: &str, whole: u32, by: &str, part: u32) -> Result<u32, FormatError> {
        if part > 0 && whole > 0 && whole.is_multiple_of(part) {
            return Ok(whole / part);
        }
        let problem = format!("is not a multiple of {by}, {part}");
        Err(self.wrong(None, key, whole, problem, format!("write a multiple of {part}")))
    }

    /// A switch of the tier meets every switch below it.
    fn radix_down(&self, tier: usize, wanted: u64, what: &str) -> Result<(), FormatError> {
        let found = self.tiers[tier].radix_down;
        if u64::from(found) == wanted {
            return Ok(());
        }
        let problem = format!("ports do not meet the {what}");
        Err(self.wrong(Some(tier), "Radix_Down", found, problem, format!("write {wanted}")))
    }

    /// What the file says of oversubscription is what its ports make.
    fn oversubscription(&self, number: usize, above: HtsimTier) -> Result<(), FormatError> {
        let tier = self.tiers[number];
        let down = u64::from(tier.radix_down) * u64::from(tier.downlink_gbps);
        let up = u64::from(tier.radix_up.unwrap_or(0)) * u64::from(above.downlink_gbps);
        if down == up * u64::from(tier.oversubscribed) {
            return Ok(());
        }
        let problem = format!("does not fit ports of {down} Gbps down and {up} Gbps up");
        let accepted = match up {
            1.. if down.is_multiple_of(up) => format!("write {}", down / up),
            _ => "write ports whose capacity down is a multiple of that up".to_owned(),
        };
        Err(self.wrong(Some(number), "Oversubscribed", tier.oversubscribed, problem, accepted))
    }
}

/// Begins the block of a tier.
fn heading(
    lines: &Lines<'_>,
    line: &Line<'_>,
    blocks: &mut [Option<Block>; 3],
) -> Result<usize, FormatError> {
    let number = lines.only_number(line, (0, 2))? as usize;
    if let Some(earlier) = blocks[number] {
        let problem = format!("is written on line {} already", earlier.line);
        let error = lines.error(problem, "write each tier once").at_line(line.number);
        return Err(error.field(format!("Tier {number}")));
    }
    blocks[number] = Some(Block { line: line.number, ..Block::default() });
    Ok(number)
}

fn unknown(lines: &Lines<'_>, line: &Line<'_>) -> FormatError {
    let accepted = "write Nodes, Tiers, Podsize, Tier, or under a tier one of Downlink_speed_Gbps, Radix_Down, \
                    Radix_Up, Downlink_Latency_ns, Switch_Latency_ns, Bundle, Oversubscribed, Queue_up, Queue_down";
    lines.error("is not known here", accepted).at_line(line.number).found(line.words[0])
}
