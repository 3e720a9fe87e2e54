//! Figures of the life of a job over weeks.
use super::declare;

declare! {
    LIFE: Run, Life;
    /// Share of the time that crashes take: work lost, detection, diagnosis, re-initialisation, waiting for spares.
    DOWNTIME = "downtime": Share, Less;
    /// The least share of downtime of any life.
    DOWNTIME_LEAST = "downtime_least": Share, Less;
    /// The most of it.
    DOWNTIME_MOST = "downtime_most": Share, Less;
    /// Lives that were sampled; 1 where the run itself is followed.
    LIVES = "lives": Count, Neither;
    /// Share of the time whose work crashes took back.
    POST_CHECKPOINT = "downtime_post_checkpoint": Share, Less;
    /// Share of the time from crashes until somebody knew.
    DETECTION = "downtime_detection": Share, Less;
    /// Share of the time from knowing until the culprit was out.
    DIAGNOSIS = "downtime_diagnosis": Share, Less;
    /// Share of the time from starts of processes until steps ran.
    REINITIALISATION = "downtime_reinitialisation": Share, Less;
    /// Share of the time in which a host was missing and no spare was left.
    WAITING = "downtime_waiting": Share, Less;
    /// Share of the time in which checkpoints held the job up; no downtime.
    CHECKPOINTING = "checkpointing": Share, Less;
    /// Share of the time that slow steps took beyond healthy ones; no downtime.
    SLOW = "slow_steps": Share, Less;
    /// Share of the time whose work counts.
    PRODUCTIVE = "productive": Share, More;
    /// Crashes, those before a first step included.
    CRASHES = "crashes": Count, Less;
    /// Spares that took a host's place.
    SWAPS = "swaps": Count, Neither;
    /// Hosts that detectors accused wrongly.
    ACCUSED = "accused_wrongly": Count, Less;
    /// Whole steps that were done and that no crash took back, those since the last checkpoint included.
    STEPS = "steps_kept": Count, More;
    /// The most hosts out at the same time.
    OUT_MOST = "hosts_out_most": Count, Neither;
    /// Median time from a crash at work until somebody knew.
    DETECTED_AFTER = "detected_after": Seconds, Less;
    /// The longest such time.
    DETECTED_AFTER_MOST = "detected_after_most": Seconds, Less;
    /// Median time from a standstill until steps ran again.
    AGAIN_AFTER = "running_again_after": Seconds, Less;
    /// Time of a step on the hosts with which the shown life ends, over that on the first ones.
    SPARE_STEP_RATIO = "spare_step_ratio": Ratio, Less;
}
