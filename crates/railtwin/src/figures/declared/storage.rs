//! Figures of what a job exchanges with storage, and what that costs it.
use super::declare;

declare! {
    STORAGE: Job, Both;
    /// Bytes of a checkpoint, of all ranks.
    CHECKPOINT_BYTES = "checkpoint_bytes": Bytes, Neither;
    /// From the first byte of a checkpoint until every rank has written its part, mean over checkpoints.
    CHECKPOINT_TIME = "checkpoint_time": Seconds, Less;
    /// Time that steps take longer for each checkpoint: against the same run in which no job writes any. What of one lies
    /// behind the last step, as where nothing waits for it, does not count as one.
    CHECKPOINT_LOST = "checkpoint_lost": Seconds, Less;
    /// Bytes that a job reads for a step, of all ranks.
    READ_BYTES = "read_bytes": Bytes, Neither;
    /// From the first byte that a job reads for a step until every rank has its part, mean over steps.
    READ_TIME = "read_time": Seconds, Less;
    /// Time that a step takes longer for reading: against the same run in which no job reads.
    READ_LOST = "read_lost": Seconds, Less;
    /// Bytes of requests and answers of a beat, of all ranks.
    INFERENCE_BYTES = "inference_bytes": Bytes, Neither;
    /// From the begin of a beat until its last answer is out, mean over beats.
    INFERENCE_TIME = "inference_time": Seconds, Less;
    /// Time that a step takes longer for inference: against the same run in which nobody asks.
    INFERENCE_LOST = "inference_lost": Seconds, Less;
    /// Share of the time of its steps that a job would save in the same run without any traffic of storage.
    STORAGE_LOST_SHARE = "storage_lost_share": Share, Less;
    /// The most that a step is longer than the same step without any traffic of storage: how far steps fluctuate for it.
    STORAGE_STEP_WORST = "storage_step_worst": Share, Less;
}
