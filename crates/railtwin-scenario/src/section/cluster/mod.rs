//! `[cluster]`: weeks of jobs that come, wait, run beside each other and go.
pub(crate) mod rules;

use railtwin_clustersim::QueuePolicy;
use railtwin_control::crux::plan::SharingPolicy;
use railtwin_control::{PlacementPolicy, RankOrder};
use railtwin_units::keys::{Kind, whole};
use railtwin_units::{Bytes, SimTime};

use crate::section::job::placement::HOST_NUMBER;
use crate::section::storage::ReadSpec;

/// A time of so many seconds.
const fn seconds(seconds: u64) -> SimTime {
    SimTime::from_ps(seconds * 1_000_000_000_000)
}

/// Most days that are looked at, which times in picoseconds can say.
const DAYS_MOST: f64 = 200.0;

/// Most σ of durations that a stream draws from.
const SIGMA_MOST: f64 = 5.0;

railtwin_units::choice! {
    /// Which GPUs a job of a cluster gets; for less than a host the host with the fewest free GPUs that holds it.
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
    pub enum ClusterPlacement {
        /// The first free hosts, segment by segment.
        #[default]
        Packed = "packed",
        /// Round robin over the segments.
        Spread = "spread",
        /// Free hosts by lot.
        Random = "random",
        /// The fewest segments, and of those the tightest.
        SegmentFirst = "segment-first",
        /// As segment-first where one pod holds the job; otherwise no pod boundary cuts a pipeline stage, so that pipeline
        /// traffic alone crosses cores. A job waits until pods hold its stages so; jobs without a pipeline, and those whose
        /// stages the pods of an empty cluster do not hold, are placed segment-first.
        PpAcrossPods = "pp-across-pods",
        /// As HiveD's buddies: segment-first, and for less than a host the smallest free cell of it (pairs, halves).
        HivedLike = "hived-like",
        /// After Muri: beside jobs that compute while it communicates.
        MuriLike = "muri-like",
        /// Controllers of one's own say who starts and where.
        Own = "own",
    }
}

impl ClusterPlacement {
    /// What a placer does, with jobs that are not placed otherwise; controllers of one's own ask none.
    pub fn policy(self) -> PlacementPolicy {
        match self {
            Self::Packed | Self::Own => PlacementPolicy::Packed,
            Self::Spread => PlacementPolicy::Spread,
            Self::Random => PlacementPolicy::Random,
            Self::SegmentFirst | Self::PpAcrossPods => PlacementPolicy::SegmentFirst,
            Self::HivedLike => PlacementPolicy::Cells,
            Self::MuriLike => PlacementPolicy::Interleaved,
        }
    }
}

railtwin_units::section! {
    /// Weeks of jobs on the fabric, in place of `[[job]]`: they come, wait, run beside each other and go. Steps are those
    /// of classes of models, and contention is a fluid: packets, queues and faults are not in it. For `railtwin run`,
    /// `sweep` and `cluster`.
    #[derive(Clone, Debug, PartialEq)]
    pub struct ClusterSpec "[cluster]" {
        /// Days that are looked at.
        pub days: f64 [Kind::Share(0.0, DAYS_MOST)] = 14.0,
        /// Who of those that wait is next.
        pub queue: QueuePolicy = QueuePolicy::Fifo,
        /// Which GPUs a job gets.
        pub placement: ClusterPlacement = ClusterPlacement::Packed,
        /// Which ranks of a job sit on which of its hosts; a job that names its GPUs says it by their order.
        pub rank_order: RankOrder = RankOrder::Given,
        /// Time for which a job stands still that moves so that the first that waits fits a segment, with placement
        /// segment-first; default nobody moves.
        pub defragment: Option<SimTime> = None,
        /// Whose communication goes first, and by which path.
        pub sharing: SharingPolicy = SharingPolicy::Ecmp,
        /// Priority levels of the network.
        pub levels: u32 [whole(1..=64)] = 8,
        /// Whether Crux gates PCIe, which knows no priorities: what lower levels send over it stands back. Without, and under
        /// other policies, jobs share links inside hosts alike.
        pub gate: bool = true,
        /// Time from an arrival or a departure until paths and priorities are planned anew.
        pub replan: SimTime = seconds(30),
        /// Queue pairs of each NIC port between two NICs that exchange data.
        pub queue_pairs: u32 [whole(1..=64)] = 1,
        /// Most paths that are known between two ports, which is as many source ports as are tried.
        pub paths: u32 [whole(1..=1024)] = 16,
        /// Share by which a step computes longer or shorter at most.
        pub jitter: f64 [Kind::UpTo(0.5)] = 0.01,
        /// Without jitter: share within which the pace of jobs that share links must be known before time is skipped; 0 =
        /// none is. With jitter none is, whatever it says; default 0.01 without.
        pub steady: Option<f64> [Kind::UpTo(1.0)] = None,
        /// What jobs write to storage every so often, standing still meanwhile; default nothing.
        pub checkpoint: Option<ClusterCheckpoint> = None,
        /// What jobs read from storage beside each step, which ends when that is there, too; default nothing.
        pub read: Option<ReadSpec> = None,
        /// GPUs that serve inference, and requests whose traffic takes its part of links by the hour; default nobody serves.
        pub inference: Option<ClusterInference> = None,
        /// A job list to replay: CSV, openb pods or sacct; default the stream.
        pub jobs: Option<String> = None,
        /// Jobs by lot.
        pub stream: ClusterStream = ClusterStream::default(),
    }
}

railtwin_units::section! {
    /// Checkpoints of jobs over weeks. A job stands still until all is written; who writes at the same time shares storage
    /// hosts and links with it, and on the backend so does training.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct ClusterCheckpoint "[cluster.checkpoint]" {
        /// Bytes that each GPU writes, such as the 30 GB of HPN section 2.3.
        pub bytes_per_gpu: Bytes,
        /// Time of steps from one checkpoint to the next: HPN has 2 to 4 h.
        pub every: SimTime [Kind::Span] = seconds(10_800),
    }
}

railtwin_units::section! {
    /// Inference beside jobs over weeks: requests come by the gateways of [storage] and answers go, over links that jobs and
    /// their checkpoints use, which have what is left of them. A week begins at midnight; within an hour as much comes all the
    /// time.
    #[derive(Clone, Debug, PartialEq)]
    pub struct ClusterInference "[cluster.inference]" {
        /// GPUs that serve: placement puts them before any job comes.
        pub gpus: Option<u32> [whole(1..=1 << 24)] = None,
        /// Or hosts all of whose GPUs serve.
        pub hosts: Vec<u32> [Kind::List(&HOST_NUMBER)] = Vec::<u32>::new(),
        /// Requests that a GPU gets in a second, mean over the day. With 0 GPUs wait for requests, and no job has them.
        pub requests_per_s: f64 [Kind::UpTo(1e9)],
        /// Bytes of a request.
        pub request: Bytes,
        /// Bytes of an answer.
        pub response: Bytes,
        /// How far requests swing over the day: most come at 15 o'clock, and with 1 nearly nobody asks at 3 at night.
        pub tide: f64 [Kind::UpTo(1.0)] = 0.0,
    }
}

railtwin_units::section! {
    /// Jobs by lot: sizes as of HPN's Figure 6, log-normal durations.
    #[derive(Clone, Debug, PartialEq)]
    pub struct ClusterStream "[cluster.stream]" {
        /// GPU-seconds of all jobs over those of the cluster.
        pub load: f64 [Kind::Share(0.0, 10.0)] = 0.9,
        /// Median duration.
        pub median: SimTime [Kind::Span] = seconds(3_600),
        /// Standard deviation of the logarithm of durations.
        pub sigma: f64 [Kind::UpTo(SIGMA_MOST)] = 1.85,
        /// Longest duration; default the whole time.
        pub longest: Option<SimTime> [Kind::Span] = None,
        /// How far submissions swing about their mean over a day.
        pub tide: f64 [Kind::UpTo(1.0)] = 0.0,
        /// A job list after whose times of submission jobs come, such as openb's: the days with the most, or again and again
        /// where it is shorter; default even by lot.
        pub arrivals: Option<String> = None,
        /// Most GPUs of a job; default those of the cluster.
        pub gpus: Option<u32> [whole(1..=1 << 24)] = None,
    }
}
