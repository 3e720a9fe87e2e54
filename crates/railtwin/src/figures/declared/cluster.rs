//! Figures of weeks of jobs.
use super::declare;

declare! {
    CLUSTER: Run, Cluster;
    /// Share of the time of the GPUs that jobs held in which they computed.
    GPU_UTILIZATION = "gpu_utilization": Share, More;
    /// Share of the time of all GPUs in which jobs held them.
    OCCUPANCY = "occupancy": Share, Neither;
    /// Jobs that ended.
    JOBS_ENDED = "jobs_ended": Count, More;
    /// Jobs that still ran at the end.
    JOBS_RUNNING = "jobs_running": Count, Neither;
    /// Jobs that have more GPUs than the cluster, and never start.
    JOBS_TOO_LARGE = "jobs_too_large": Count, Neither;
    /// Times that a job that ended ran of what it would have run alone under the same policy, without checkpoints, reads and
    /// inference, mean over jobs.
    SLOWDOWN_MEAN = "slowdown_mean": Ratio, Less;
    /// The same, below which 95 % of the jobs are.
    SLOWDOWN_P95 = "slowdown_p95": Ratio, Less;
    /// Times that a job that ended would have run alone under the same policy of what it would have run without collisions of
    /// its own flows, mean over jobs.
    OWN_COLLISIONS = "own_collisions": Ratio, Less;
    /// Share of its throughput that the job lost that lost most of those that ended, to others, checkpoints, reads and inference.
    THROUGHPUT_LOSS_WORST = "throughput_loss_worst": Share, Less;
    /// Share of what they would have done alone that jobs did, those that ended and those that still run.
    THROUGHPUT_MEAN = "throughput_mean": Share, More;
    /// Share of its throughput that the job lost that lost most of those that still run.
    THROUGHPUT_LOSS_WORST_RUNNING = "throughput_loss_worst_running": Share, Less;
    /// Jobs that did less than a tenth of what they would have done alone, ended or still running.
    JOBS_STARVED = "jobs_starved": Count, Less;
    /// From submission to end, mean over the jobs that ended.
    COMPLETION_MEAN = "completion_mean": Seconds, Less;
    /// From submission to start, mean over the jobs that started: jobs that still wait at the end are not in it.
    WAITING_MEAN = "waiting_mean": Seconds, Less;
    /// The same, below which 95 % of the jobs are.
    WAITING_P95 = "waiting_p95": Seconds, Less;
    /// Jobs that still waited at the end, without those that are too large.
    JOBS_WAITING = "jobs_waiting": Count, Less;
    /// GPUs that the jobs that still waited at the end want.
    GPUS_WAITING = "gpus_waiting": Count, Less;
    /// From submission to the end of the span, mean over the jobs that still waited.
    WAITING_SO_FAR_MEAN = "waiting_so_far_mean": Seconds, Less;
    /// Least mean time in the queue of all jobs: to the start, and so far of jobs that still waited at the end.
    WAITING_AT_LEAST_MEAN = "waiting_at_least_mean": Seconds, Less;
    /// End of the last job that ended.
    MAKESPAN = "makespan": Seconds, Neither;
    /// Share of the jobs that ever shared a link which could not serve all at once.
    CONTENDED_JOBS = "contended_jobs": Share, Less;
    /// The same of their GPUs.
    CONTENDED_GPUS = "contended_gpus": Share, Less;
    /// Share of the jobs of which a link was ever crossed by another's traffic.
    SHARING_JOBS = "sharing_jobs": Share, Neither;
    /// The same of their GPUs.
    SHARING_GPUS = "sharing_gpus": Share, Neither;
    /// GPU-seconds of computation for each second of communication that links carried.
    GPU_INTENSITY = "gpu_intensity": Ratio, More;
    /// For how long a job stands still for a checkpoint, mean over those that were written.
    CHECKPOINT_MEAN = "checkpoint_mean": Seconds, Less;
    /// The same over what they would take with nobody in the way.
    CHECKPOINT_SLOWDOWN = "checkpoint_slowdown": Ratio, Less;
    /// Times that the steps of jobs take by their paths with what they read, with no other job in the way, of what they would
    /// take with nothing to read.
    READ_SLOWDOWN = "read_slowdown": Ratio, Less;
    /// Times that the steps of jobs take by their paths beside requests and answers of inference, with no other job in the
    /// way, of what they would take without.
    INFERENCE_SLOWDOWN = "inference_slowdown": Ratio, Less;
    /// Share of the fullest link that requests and answers take in the hour in which most come.
    INFERENCE_LINK_SHARE = "inference_link_share": Share, Neither;
}
