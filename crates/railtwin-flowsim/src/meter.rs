//! Work done over time: bytes that arrive at NICs, by job, in buckets.
use railtwin_engine::{BundleTable, JobThroughput, RunLog, Throughput, WorkGraph};
use railtwin_fabric::{DeviceKind, Fabric, LinkId};
use railtwin_units::SimTime;
use railtwin_workload::{OperationId, PatternId};

/// Counts what bundles deliver while rates hold.
#[derive(Debug)]
pub struct Meter {
    /// Width of a bucket.
    width: SimTime,
    /// Job of each pattern.
    job_of: Vec<u32>,
    /// Whether a link enters a NIC from a switch.
    arrives: Vec<bool>,
    /// Bytes that arrive at NICs for each byte of a bundle.
    share: Vec<f64>,
    /// Bytes by job and bucket.
    buckets: Vec<Vec<f64>>,
}

impl Meter {
    /// Nothing delivered, in buckets of `width`.
    pub fn new(fabric: &Fabric, table: &BundleTable, work: &WorkGraph, width: SimTime) -> Self {
        let patterns = |job: &railtwin_engine::JobGraph| job.plan.patterns.len();
        let jobs = work.jobs.iter().enumerate();
        let arrives = |link: u32| {
            let link = LinkId(link);
            fabric.kind(fabric.target(link)) == DeviceKind::Nic
                && fabric.kind(fabric.source(link)) == DeviceKind::Switch
        };
        let mut meter = Self {
            width: width.max(SimTime::from_ps(1)),
            job_of: jobs.flat_map(|(row, job)| std::iter::repeat_n(row as u32, patterns(job))).collect(),
            arrives: (0..fabric.link_count() as u32).map(arrives).collect(),
            share: Vec::new(),
            buckets: vec![Vec::new(); work.jobs.len()],
        };
        meter.take_paths(table);
        meter
    }

    /// Takes new paths. A bundle without one keeps its share: it moves nothing.
    pub fn take_paths(&mut self, table: &BundleTable) {
        let arriving = |bundle: usize| {
            table
                .links_of(bundle)
                .filter(|(link, _)| self.arrives[link.index()])
                .map(|(_, share)| share)
                .sum()
        };
        self.share = (0..table.bundles()).map(arriving).collect();
    }

    /// Bundles of a pattern moved at `rates` from one moment to another, both in seconds.
    pub fn moved(&mut self, table: &BundleTable, pattern: PatternId, rates: &[f64], from: f64, until: f64) {
        let bundles = table.bundles_of(pattern);
        let rate: f64 = bundles.zip(rates).map(|(bundle, rate)| self.share[bundle] * rate).sum();
        if rate <= 0.0 || until <= from {
            return;
        }
        let mut bucket = self.bucket_of(from);
        while bucket >= Throughput::BUCKETS_MAX || self.bucket_of(until) >= Throughput::BUCKETS_MAX {
            self.widen();
            bucket = self.bucket_of(from);
        }
        let width = self.width.seconds();
        let row = &mut self.buckets[self.job_of[pattern.index()] as usize];
        let mut at = from;
        while at < until {
            let end = ((bucket + 1) as f64 * width).min(until);
            if row.len() <= bucket {
                row.resize(bucket + 1, 0.0);
            }
            row[bucket] += rate * (end - at).max(0.0);
            (at, bucket) = (end.max(at), bucket + 1);
        }
    }

    fn bucket_of(&self, seconds: f64) -> usize {
        (seconds / self.width.seconds()) as usize
    }

    /// Doubles the width.
    fn widen(&mut self) {
        self.width = self.width.saturating_add(self.width);
        for row in &mut self.buckets {
            *row = row.chunks(2).map(|pair| pair.iter().sum()).collect();
        }
    }

    /// Writes the buckets into a log whose times are known, with the steps that ended in each.
    pub fn finish(mut self, work: &WorkGraph, log: &mut RunLog) {
        let last = |meter: &Self| meter.bucket_of(log.end.seconds());
        while last(&self) >= Throughput::BUCKETS_MAX {
            self.widen();
        }
        let longest = self.buckets.iter().map(Vec::len).max().unwrap_or(0);
        let count = longest.max(last(&self) + 1);
        let width = self.width;
        let jobs = work.jobs.iter().zip(self.buckets).map(|(job, mut bytes)| {
            bytes.resize(count, 0.0);
            let mut steps_ended = vec![0; count];
            let length = job.plan.operations.len();
            for step in 0..if length > 0 { job.steps as usize } else { 0 } {
                let first = job.first_operation as usize + step * length;
                let ends = log.times.end[first..first + length].iter().zip(0..);
                let end =
                    ends.filter(|(_, row)| job.plan.ends_step(OperationId(*row))).map(|(end, _)| *end).max();
                if let Some(end) = end.filter(|&end| end < SimTime::NEVER) {
                    steps_ended[((end.ps() / width.ps()) as usize).min(count - 1)] += 1;
                }
            }
            JobThroughput { bytes, steps_ended }
        });
        log.throughput = Some(Throughput { bucket: width, jobs: jobs.collect() });
    }
}
