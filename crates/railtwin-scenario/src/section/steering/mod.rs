//! `[steering]`: what becomes of a job that fails, over the real time of `[failures]` or in a run: who finds faults,
//! what is done without a person, and how long each part of it takes.
pub(crate) mod rules;

use railtwin_control::SpareScope;
use railtwin_reliability::failure_rates::Cause;
use railtwin_units::SimTime;
use railtwin_units::keys::{Keyed, Kind, whole};

/// A root cause.
const CAUSE: Kind = <Cause as Keyed>::KIND;

/// A time of so many seconds.
const fn seconds(seconds: u64) -> SimTime {
    SimTime::from_ps(seconds * 1_000_000_000_000)
}

/// False alarms in a day: one each minute.
const MOST_FALSE: f64 = 1440.0;

railtwin_units::choice! {
    /// Who isolates hosts and swaps spares in.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub enum SteeredBy {
        /// The policy of this section.
        Policy = "policy",
        /// Controllers of one's own; what they leave of a finding that halts the job a person asks for after `answer`.
        Own = "own",
    }
}

railtwin_units::section! {
    /// What becomes of the job: faults stop it, somebody finds them, a host goes and a spare comes, and it starts again from
    /// its latest checkpoint. With `[failures]` over the real time of these, of which the engine runs a step without them;
    /// without, the run of the first job is followed through `[[fault]]`, step by step.
    #[derive(Clone, Debug, PartialEq)]
    pub struct SteeringSpec "[steering]" {
        /// Whether detectors find faults and a controller isolates hosts, or the watchdog and people do.
        pub c4d: bool = true,
        /// Who isolates hosts, swaps spares in and starts the job again.
        #[key(sparse)]
        pub controller: SteeredBy = SteeredBy::Policy,
        /// Lives by lot, of which figures are medians; with `[failures]`.
        pub lives: u32 [whole(1..=10_000)] = 20,
        /// Work between two checkpoints, rounded up to whole steps; of a run, where the job has no `checkpoint`.
        pub checkpoint: SimTime [Kind::Span] = seconds(10_800),
        /// How long a checkpoint holds the job up; with `[failures]`.
        pub checkpoint_cost: SimTime = seconds(100),
        /// From a fault to what detectors find, in a run that is followed from the moment in which the job stands still,
        /// of a queue pair that dies from when it begins to wait;
        /// default by kind of fault, as the score card has it. Later than `watchdog` nobody waits for it.
        pub detection: Option<SimTime> = None,
        /// Share of the faults that detectors find.
        pub recall: f64 = 1.0,
        /// Hosts that detectors accuse wrongly in a day of running; default none, as in the hours of the score card.
        pub false_alarms: Option<f64> [Kind::Share(0.0, MOST_FALSE)] = None,
        /// How long a job stands still until the elastic agent ends it.
        pub watchdog: SimTime = seconds(1_800),
        /// From a decision of the controller until the host is out and a spare in its place.
        pub isolation: SimTime = seconds(600),
        /// From the start of processes until steps run.
        pub restart: SimTime = seconds(600),
        /// How long people take on average to find who is at fault and take it out.
        pub by_hand: ByHand = ByHand::default(),
        /// How long a proposal waits for a person.
        pub answer: SimTime = seconds(1_800),
        /// How long a host is away for tests that was accused wrongly; with `false_alarms`.
        pub tests: SimTime = seconds(86_400),
        /// Root causes for which hosts are isolated without a person, [] for none; default all.
        pub automatic: Option<Vec<Cause>> [Kind::AnyList(&CAUSE)] = None,
        /// How sure a finding must be for that.
        pub confidence: f64 = 0.5,
        /// Hosts that may be out at the same time.
        pub hosts_out: u32 [whole(1..=1 << 24)] = 8,
        /// Hosts that may be isolated within an hour.
        pub hosts_per_hour: u32 [whole(1..=1 << 24)] = 4,
        /// Whence spares come: of the segment of the host that leaves, or where it has none left of its pod.
        pub spares: SpareScope = SpareScope::Pod,
    }
}

railtwin_units::section! {
    /// Mean times of people, by root cause; default what June's share in C4's Table III comes to at Table I's rates.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct ByHand "`by_hand`" {
        /// Uncorrectable memory of a GPU, or NVLink; default 9.32 h.
        pub ecc_nvlink: Option<SimTime> = None,
        /// Any other error of a GPU; default 10.3 h.
        pub cuda: Option<SimTime> = None,
        /// A collective that does not end; default 4.61 h.
        pub ccl_timeout: Option<SimTime> = None,
        /// Messages without acknowledgement; default 2.01 h.
        pub ack_timeout: Option<SimTime> = None,
        /// All else; default 5.63 h.
        pub unknown: Option<SimTime> = None,
    }
}

impl ByHand {
    /// The time that is written for a cause.
    pub fn of(&self, cause: Cause) -> Option<SimTime> {
        match cause {
            Cause::EccNvlink => self.ecc_nvlink,
            Cause::Cuda => self.cuda,
            Cause::CclTimeout => self.ccl_timeout,
            Cause::AckTimeout => self.ack_timeout,
            Cause::Unknown => self.unknown,
        }
    }
}
