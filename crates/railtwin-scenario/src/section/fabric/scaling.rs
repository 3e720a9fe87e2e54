//! `[[scaling]]` of a file of caps: what a collective takes over any number of hosts.
use railtwin_fabric::HostModel;
use railtwin_units::keys::{Kind, whole};
use railtwin_units::{Bytes, Rate, SimTime};
use railtwin_workload::Collective;
use railtwin_workload::scaling::{
    BandRow, LargeTrees, LevelPoint, NetworkPart, PRIOR_DISTANCE, ScalingModel, StepPoint, Switch,
};

static HOSTS: Kind = whole(1..=1_000_000);
/// What stands in `priors`.
const PRIORS: [&str; 2] = ["distance", "share"];
static PRIOR: Kind = Kind::Choice(&PRIORS);

railtwin_units::section! {
    /// A serial step by the bytes of its chunk.
    #[derive(Clone, Debug, PartialEq)]
    pub struct ScalingStepSpec "[[scaling.step]]" {
        /// Bytes of a chunk: of a ring or an all-to-all the bytes of the operation over all ranks.
        pub chunk: Bytes,
        /// Time of a step.
        pub time: SimTime [Kind::Time],
    }
}

railtwin_units::section! {
    /// A tree of one size.
    #[derive(Clone, Debug, PartialEq)]
    pub struct ScalingTreeSpec "[[scaling.tree]]" {
        /// Bytes of the operation.
        pub bytes: Bytes,
        /// Time over one host.
        pub first: SimTime [Kind::Time],
        /// Time of each double of the hosts.
        pub level: SimTime [Kind::Time],
    }
}

railtwin_units::section! {
    /// Trees of larger operations.
    #[derive(Clone, Debug, PartialEq)]
    pub struct LargeTreeSpec "[scaling.large]" {
        /// Time over one host beside that of the bytes.
        pub first: SimTime [Kind::Time],
        /// Time of each double of the hosts.
        pub level: SimTime [Kind::Time],
        /// Rate at which a level takes longer with the size; default not at all.
        #[key(sparse)]
        pub level_rate: Option<Rate> = None,
        /// Bytes beyond which a level takes no longer.
        pub level_bytes: Bytes,
        /// Bytes of the operation per time.
        pub rate: Rate,
    }
}

railtwin_units::section! {
    /// Size from which rings were seen.
    #[derive(Clone, Debug, PartialEq)]
    pub struct SwitchSpec "[[scaling.switch]]" {
        /// Hosts.
        pub hosts: u32 [whole(1..=1_000_000)],
        /// Bytes.
        pub bytes: Bytes,
    }
}

railtwin_units::section! {
    /// 80 % of the measurements of sizes of a class.
    #[derive(Clone, Debug, PartialEq)]
    pub struct BandSpec "[[scaling.band]]" {
        /// Class of sizes: 0 up to 32 KiB, 1 up to 1 MiB, 2 up to 32 MiB, 3 above.
        pub class: u32 [whole(0..=3)],
        /// Holds up to so many times the ranks that were fitted.
        pub beyond: u32 [whole(1..=1_000_000)],
        /// 10th percentile of measured over predicted.
        pub low: f64 [Kind::Share(0.0, 1e3)],
        /// 90th percentile.
        pub high: f64 [Kind::Share(0.0, 1e3)],
    }
}

railtwin_units::section! {
    /// What a collective takes over any number of hosts, fitted on some: [models](../models/collectives.md#any-number-of-hosts).
    #[derive(Clone, Debug, PartialEq)]
    pub struct ScalingSpec "[[scaling]]" {
        /// The collective.
        pub collective: Collective,
        /// The host model; default every host.
        pub host: Option<String> [Kind::Choice(&HostModel::NAMES)] = None,
        /// Ranks of a host.
        pub gpus: u32 [whole(1..=1024)],
        /// Hosts that it was fitted on.
        pub hosts: Vec<u32> [Kind::List(&HOSTS)],
        /// Growth for each double of the ranks beyond those that were fitted.
        pub distance: f64 [Kind::UpTo(1.0)] = PRIOR_DISTANCE,
        /// Which of its constants were not measured but taken from other clusters.
        #[key(sparse)]
        pub priors: Vec<String> [Kind::AnyList(&PRIOR)] = Vec::<String>::new(),
        /// Bus bandwidth of the largest chunks.
        pub busbw: Rate,
        /// Bus bandwidth of the fastest tree; default no trees.
        #[key(sparse)]
        pub tree_busbw: Option<Rate> = None,
        /// Whether the measured network held `busbw`, so that hosts have no limit of it; default no.
        #[key(sparse)]
        pub network_limits: Option<bool> = None,
        /// What the measured network has of a serial step.
        pub network_step: SimTime [Kind::Time] = SimTime::ZERO,
        /// What the measured network has of a tree over one host.
        pub network_first: SimTime [Kind::Time] = SimTime::ZERO,
        /// What the measured network has of each double of the hosts.
        pub network_level: SimTime [Kind::Time] = SimTime::ZERO,
        /// Larger trees than those that were measured; default none.
        pub large: Option<LargeTreeSpec> = None,
        /// Serial steps by ascending chunk.
        pub steps as "step": Vec<ScalingStepSpec> = Vec::new(),
        /// Trees by ascending size.
        pub trees as "tree": Vec<ScalingTreeSpec> = Vec::new(),
        /// Where rings begin.
        pub switches as "switch": Vec<SwitchSpec> = Vec::new(),
        /// How far measurements of larger clusters were off.
        pub band: Vec<BandSpec> = Vec::new(),
    }
}

impl ScalingSpec {
    /// The same as text has it. `priors` are constants of `distance` and `share` that nothing measured.
    pub fn of(model: &ScalingModel, priors: Vec<String>) -> Self {
        let band =
            |row: &BandRow| BandSpec { class: row.class, beyond: row.beyond, low: row.low, high: row.high };
        let large = |large: LargeTrees| LargeTreeSpec {
            first: SimTime::from_seconds(large.first),
            level: SimTime::from_seconds(large.level),
            level_rate: (large.level_per_byte > 0.0).then(|| rate(1.0 / large.level_per_byte)),
            level_bytes: Bytes(large.level_bytes),
            rate: rate(1.0 / large.per_byte),
        };
        let tree = |point: &LevelPoint| ScalingTreeSpec {
            bytes: Bytes(point.bytes),
            first: SimTime::from_seconds(point.first.max(0.0)),
            level: SimTime::from_seconds(point.level.max(0.0)),
        };
        let step = |point: &StepPoint| ScalingStepSpec {
            chunk: Bytes(point.chunk.max(1)),
            time: SimTime::from_seconds(point.seconds),
        };
        let switch = |one: &Switch| SwitchSpec { hosts: one.hosts, bytes: Bytes(one.bytes) };
        Self {
            collective: model.collective,
            host: None,
            gpus: model.local,
            hosts: model.hosts.clone(),
            distance: model.distance,
            priors,
            busbw: rate(model.busbw[0]),
            tree_busbw: (!model.trees.is_empty()).then(|| rate(model.busbw[1])),
            network_limits: model.network_limits.then_some(true),
            network_step: SimTime::from_seconds(model.network.step),
            network_first: SimTime::from_seconds(model.network.first),
            network_level: SimTime::from_seconds(model.network.level),
            large: model.large.map(large),
            steps: model.steps.iter().map(step).collect(),
            trees: model.trees.iter().map(tree).collect(),
            switches: model.switches.iter().map(switch).collect(),
            band: model.band.iter().map(band).collect(),
        }
    }

    /// The model that it stands for.
    pub fn model(&self) -> ScalingModel {
        let large = |large: &LargeTreeSpec| LargeTrees {
            first: large.first.seconds(),
            level: large.level.seconds(),
            level_per_byte: large.level_rate.map_or(0.0, |rate| 1.0 / rate.bytes_per_s()),
            level_bytes: large.level_bytes.0,
            per_byte: 1.0 / large.rate.bytes_per_s(),
        };
        let tree = |tree: &ScalingTreeSpec| LevelPoint {
            bytes: tree.bytes.0,
            first: tree.first.seconds(),
            level: tree.level.seconds(),
        };
        let step = |step: &ScalingStepSpec| StepPoint { chunk: step.chunk.0, seconds: step.time.seconds() };
        let band =
            |row: &BandSpec| BandRow { class: row.class, beyond: row.beyond, low: row.low, high: row.high };
        ScalingModel {
            collective: self.collective,
            local: self.gpus,
            hosts: self.hosts.clone(),
            steps: self.steps.iter().map(step).collect(),
            trees: self.trees.iter().map(tree).collect(),
            large: self.large.as_ref().map(large),
            distance: self.distance,
            switches: self
                .switches
                .iter()
                .map(|one| Switch { hosts: one.hosts, bytes: one.bytes.0 })
                .collect(),
            network: NetworkPart {
                step: self.network_step.seconds(),
                first: self.network_first.seconds(),
                level: self.network_level.seconds(),
            },
            busbw: [self.busbw.bytes_per_s(), self.tree_busbw.map_or(0.0, Rate::bytes_per_s)],
            network_limits: self.network_limits == Some(true),
            band: self.band.iter().map(band).collect(),
        }
    }
}

/// What contradicts itself in models, with the path of each: `scaling.0.step`.
pub(crate) fn troubles_of_scaling(models: &[ScalingSpec]) -> Vec<(String, (String, &'static str))> {
    let ascends = |values: &mut dyn Iterator<Item = u64>| {
        let values: Vec<u64> = values.collect();
        values.windows(2).all(|pair| pair[0] < pair[1])
    };
    let mut troubles = Vec::new();
    for (row, one) in models.iter().enumerate() {
        let lists = [
            ("hosts", ascends(&mut one.hosts.iter().map(|&hosts| u64::from(hosts)))),
            ("step", ascends(&mut one.steps.iter().map(|step| step.chunk.0))),
            ("tree", ascends(&mut one.trees.iter().map(|tree| tree.bytes.0))),
        ];
        for (key, _) in lists.into_iter().filter(|(_, ascends)| !ascends) {
            let message = format!("{key} of a model do not ascend");
            troubles
                .push((format!("scaling.{row}.{key}"), (message, "write them from the smallest, each once")));
        }
        if one.steps.is_empty() && one.trees.is_empty() {
            let message = "a model without a step and a tree".to_owned();
            troubles
                .push((format!("scaling.{row}"), (message, "write [[scaling.step]] or [[scaling.tree]]")));
        }
        for (at, band) in one.band.iter().enumerate().filter(|(_, band)| band.low > band.high) {
            let message = format!("low {} is above high {}", band.low, band.high);
            troubles
                .push((format!("scaling.{row}.band.{at}.low"), (message, "write the smaller one as low")));
        }
    }
    troubles
}

/// As many digits as measurements bear, and at least one.
fn rate(bytes_per_s: f64) -> Rate {
    Rate::from_bits_per_s((bytes_per_s * 8e-6).round().clamp(1.0, 1e9) as u64 * 1_000_000)
}
