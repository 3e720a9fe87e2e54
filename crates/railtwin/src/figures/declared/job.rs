//! Figures of one job, and of all jobs together.
use super::declare;

declare! {
    JOB: Job, Both;
    /// Time of a step, mean over steps, then median over replicates. Where a fault begins or ends in the run, of the steps
    /// before it; without such steps, of those within one state of faults.
    STEP_TIME = "step_time": Seconds, Less;
    /// The 5th percentile of the step time over replicates.
    STEP_TIME_P5 = "step_time_p5": Seconds, Less;
    /// The 95th percentile of the step time over replicates.
    STEP_TIME_P95 = "step_time_p95": Seconds, Less;
    /// Steps that ended before the processes of the job were ended, of jobs with `until` or `duration`; median over replicates.
    STEPS_ENDED = "steps_ended": Count, More;
    /// Tokens of a step over its time, of workloads that count tokens.
    TOKENS_PER_S = "tokens_per_s": PerSecond, More;
    /// Model FLOPs over what the peak of the job's GPUs would do in a step, of workloads that know a model.
    MFU = "mfu": Share, More;
    /// Bytes of a step for one kind of parallelism, as HPN table 3 counts them, of recipes.
    VOLUME = "volume_<parallelism>": Bytes, Neither;
    /// Bytes that the fullest GPU holds (weights, gradients, optimizer and activations), of recipes.
    GPU_MEMORY = "gpu_memory": Bytes, Less;
    /// Bytes of one kind on the fullest GPU, of recipes.
    GPU_MEMORY_PART = "gpu_memory_<part>": Bytes, Less;
    /// `gpu_memory` over the memory of a GPU, where that is known.
    GPU_MEMORY_SHARE = "gpu_memory_share": Share, Less;
    /// Share of the job's time that no choice of paths can save more than: an upper bound, no forecast.
    BALANCER_SAVES_MOST = "balancer_saves_most": Share, Neither;
}

declare! {
    STEP: Job, Both;
    /// Time of a step that belongs to the axis and is not hidden behind one that comes before it, mean over
    /// steps and lanes; with `idle` the axes add up to the step.
    EXPOSED = "exposed_<axis>": Seconds, Less;
}

declare! {
    BUSBW: Job, Both;
    /// Bus bandwidth as nccl-tests defines it, mean over operations and replicates. Where a fault begins or ends in the run,
    /// of operations before it, else of those within one state of faults.
    BUSBW_MEAN = "busbw_mean": BitsPerSecond, More;
    /// The least bus bandwidth of an operation.
    BUSBW_MIN = "busbw_min": BitsPerSecond, More;
    /// The most bus bandwidth of an operation.
    BUSBW_MAX = "busbw_max": BitsPerSecond, More;
    /// Bus bandwidth for each NIC that a communicator uses in a host, mean over replicates.
    BUSBW_PER_NIC_MEAN = "busbw_per_nic_mean": BitsPerSecond, More;
    /// Bus bandwidth for each NIC of the slowest job; of an only job, hence the mean.
    BUSBW_PER_NIC_MIN = "busbw_per_nic_min": BitsPerSecond, More;
    /// Bus bandwidth for each NIC of the fastest job; of an only job, hence the mean.
    BUSBW_PER_NIC_MAX = "busbw_per_nic_max": BitsPerSecond, More;
    /// Bus bandwidth for each NIC of the fastest job less that of the slowest; of an only job, hence 0.
    BUSBW_PER_NIC_SPREAD = "busbw_per_nic_spread": BitsPerSecond, Less;
}

declare! {
    COSTS: Job, Both;
    /// Replicates in which a queue pair of the job died, and the job with it.
    HALTED = "halted": Count, Less;
    /// Time in which a queue pair of the job waited for an answer that a fault kept away, from the loss of its path, in
    /// packets the last answer before it, to the answer that ends the wait.
    STALL_TIME = "stall_time": Seconds, Less;
    /// Part of `stall_time` that the job waited for one cause; the causes sum to it; where the job stalled.
    STALLED = "stalled_<cause>": Seconds, Less;
    /// Bus bandwidth over the time in which data moved, without stalls, mean over operations; where the job stalled.
    BUSBW_MOVING = "busbw_moving": BitsPerSecond, More;
    /// `time_lost` over the time from the first fault to the end of the job's last step; below 0 where steps after the fault
    /// are shorter than those before it.
    TIME_LOST_SHARE = "time_lost_share": Share, Less;
    /// Mean time of the steps before the first fault of the run.
    STEP_TIME_BEFORE_FAULT = "step_time_before_fault": Seconds, Less;
    /// Mean time of the steps within one state of faults, in which none began or ended and no queue pair waited; of several
    /// states that with the longest steps.
    STEP_TIME_UNDER_FAULT = "step_time_under_fault": Seconds, Less;
    /// The longest step in which a fault began or ended, or a queue pair waited.
    STEP_TIME_HIT = "step_time_hit": Seconds, Less;
    /// Mean time of the steps after all faults ended.
    STEP_TIME_AFTER_REPAIR = "step_time_after_repair": Seconds, Less;
    /// Mean bus bandwidth of the operations before the first fault of the run.
    BUSBW_BEFORE_FAULT = "busbw_before_fault": BitsPerSecond, More;
    /// Least mean bus bandwidth of the operations within one state of faults, over such states.
    BUSBW_UNDER_FAULT = "busbw_under_fault": BitsPerSecond, More;
    /// The least bus bandwidth of an operation in which a fault began or ended, or a queue pair waited.
    BUSBW_HIT = "busbw_hit": BitsPerSecond, More;
    /// Mean bus bandwidth of the operations after all faults ended.
    BUSBW_AFTER_REPAIR = "busbw_after_repair": BitsPerSecond, More;
    /// Time from the start of the job to the end of its last step, whatever happened in it.
    JOB_TIME = "job_time": Seconds, Less;
    /// One less throughput of the steps of `step_time_under_fault` over those before the fault.
    THROUGHPUT_LOSS = "throughput_loss": Share, Less;
    /// Throughput of the last step over that before the fault.
    THROUGHPUT_AT_END = "throughput_at_end": Share, More;
    /// Time that steps took longer than those before the fault, in all.
    TIME_LOST = "time_lost": Seconds, Less;
    /// Part of a step before the fault in which the busiest lane does not compute.
    NOT_COMPUTING_BEFORE_FAULT = "not_computing_before_fault": Share, Less;
}

declare! {
    ALL_JOBS: AllJobs, Both;
    /// Jobs of which a queue pair died in some replicate; with faults.
    JOBS_HALTED = "jobs.halted": Count, Less;
    /// Stall of the job that waited longest; with faults.
    JOBS_STALL_TIME_MAX = "jobs.stall_time_max": Seconds, Less;
    /// Step time of the job whose steps take longest.
    JOBS_STEP_TIME_MAX = "jobs.step_time_max": Seconds, Less;
    /// Bus bandwidth, mean over operations and replicates of all jobs that run collectives.
    JOBS_BUSBW_MEAN = "jobs.busbw_mean": BitsPerSecond, More;
    /// The least bus bandwidth of an operation of any job that runs collectives.
    JOBS_BUSBW_MIN = "jobs.busbw_min": BitsPerSecond, More;
    /// The most bus bandwidth of an operation of any job that runs collectives.
    JOBS_BUSBW_MAX = "jobs.busbw_max": BitsPerSecond, More;
    /// Bus bandwidth for each NIC that a communicator uses in a host, of the slowest job, mean over
    /// replicates.
    JOBS_BUSBW_PER_NIC_MIN = "jobs.busbw_per_nic_min": BitsPerSecond, More;
    /// Bus bandwidth for each NIC that a communicator uses in a host, mean over jobs and replicates.
    JOBS_BUSBW_PER_NIC_MEAN = "jobs.busbw_per_nic_mean": BitsPerSecond, More;
    /// Bus bandwidth for each NIC that a communicator uses in a host, of the fastest job, mean over
    /// replicates.
    JOBS_BUSBW_PER_NIC_MAX = "jobs.busbw_per_nic_max": BitsPerSecond, More;
    /// Bus bandwidth for each NIC of the fastest job less that of the slowest, mean over replicates.
    JOBS_BUSBW_PER_NIC_SPREAD = "jobs.busbw_per_nic_spread": BitsPerSecond, Less;
}
