//! `[storage]`, and what jobs exchange with it: checkpoints and the data that they train on.
mod plan;
mod rules;

use railtwin_units::keys::{Kind, whole};
use railtwin_units::{Bytes, SimTime};
use railtwin_workload::{Axis, Operation, Pattern, Plan, PlanBuilder, StorageWay, Work, tide};

use crate::section::MANY;

pub(crate) use plan::with_storage;
pub(crate) use rules::troubles_of_storage;

/// Name of the operations that write checkpoints.
pub const CHECKPOINT: &str = "checkpoint";
/// Name of the operations that read data.
pub const READ: &str = "read";

railtwin_units::section! {
    /// A checkpoint: what every rank writes to a storage host when its part of a step is done.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct CheckpointSpec "`checkpoint`" {
        /// Bytes that each rank writes, such as the 30 GB of HPN section 2.3.
        pub bytes_per_gpu: Bytes,
        /// Steps from one checkpoint to the next.
        pub every: u32 [whole(1..=MANY)] = 1,
        /// Whether the next step waits until it is written. Else it is written beside the steps that follow, from a copy in
        /// the memory of hosts whose making takes no time.
        pub blocking: bool = true,
    }
}

railtwin_units::section! {
    /// Data to train on: read beside each step for the next one, which waits for it.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct ReadSpec "`read`" {
        /// Bytes that each rank reads for a step.
        pub bytes_per_gpu: Bytes,
    }
}

/// Name of the operations by which requests come and answers go.
pub const INFERENCE: &str = "inference";

railtwin_units::section! {
    /// Requests of inference: their bytes go from gateways to ranks and back, beat by beat. A beat is a step of the job; it
    /// lasts longer where the network does not keep up.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct InferenceSpec "`workload`" {
        /// Requests that a GPU gets in a second, mean over the day.
        pub requests_per_s: f64 [Kind::Share(0.0, 1e9)],
        /// Bytes of a request.
        pub request: Bytes,
        /// Bytes of an answer.
        pub response: Bytes,
        /// Time whose requests come together.
        pub beat: SimTime [Kind::Span] = SimTime::from_ns(10_000_000),
        /// How far requests swing over the day: 0 is not at all, and with 1 nobody asks at 3 o'clock at night.
        pub tide: f64 [Kind::UpTo(1.0)] = 0.0,
        /// Hour of the day; most requests come at 15 o'clock.
        pub hour: f64 [Kind::UpTo(24.0)] = 15.0,
    }
}

impl InferenceSpec {
    /// Requests that a GPU gets in a second at the hour: `1 + d cos` as submissions of jobs swing.
    pub fn requests_now(&self) -> f64 {
        self.requests_per_s * tide::at(self.hour, self.tide)
    }

    /// A beat of so many ranks: time that goes by whatever the network does, requests, answers.
    pub(crate) fn plan(&self, ranks: u32) -> Plan {
        let all: Vec<u32> = (0..ranks).collect();
        let mut builder = PlanBuilder::new(ranks, vec!["all ranks".to_owned()]);
        let (beat, name) = (builder.name("beat"), builder.name(INFERENCE));
        let work = Work::Compute(self.beat);
        builder.push(Operation { lane: 0, name: beat, axis: Axis::Compute, work }, &[]);
        let requests = self.requests_now() * self.beat.seconds();
        for (way, bytes) in [(StorageWay::Request, self.request), (StorageWay::Answer, self.response)] {
            let bytes = (requests * bytes.0 as f64).round() as u64;
            let pattern = builder.pattern(Pattern::of_storage(way, &all));
            let operation =
                Operation { lane: 0, name, axis: Axis::Storage, work: Work::Communicate { pattern, bytes } };
            if bytes > 0 {
                builder.push_occasional(operation, &[], (1, false));
            }
        }
        builder.finish()
    }
}
