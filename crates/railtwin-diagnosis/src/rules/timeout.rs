//! The baseline that most clusters have: a job is killed when nothing ended for half an hour (C4 section IV-B1).
use railtwin_records::seen::OperationSeen;
use railtwin_records::{Batch, Evidence, FaultKind, Finding, NOT_YET, Since, Syndrome};

use crate::context::Context;
use crate::detector::Detector;
use crate::rules::limits::Limits;

/// Says that a job stands still when no operation of it ended for [`Limits::elastic_ns`]. It names nobody.
#[derive(Debug)]
pub struct ElasticTimeout {
    limits: Limits,
    jobs: Vec<Job>,
    /// Per rank: when it entered its latest operation, and whether it is still within.
    ranks: Vec<(u64, bool)>,
    /// End of the last batch.
    before_ns: u64,
}

#[derive(Clone, Copy, Default, Debug)]
struct Job {
    seen: bool,
    last_end_ns: u64,
    /// Begin of the batch in which an operation ended last, and end of the first batch after it in which none did.
    begun_ns: u64,
    rest_ns: u64,
    told: bool,
}

impl ElasticTimeout {
    /// At the given limits.
    pub fn new(limits: Limits) -> Self {
        Self { limits, jobs: Vec::new(), ranks: Vec::new(), before_ns: 0 }
    }
}

impl Detector for ElasticTimeout {
    fn name(&self) -> &'static str {
        "elastic-timeout"
    }

    fn observe(&mut self, context: &Context<'_>, batch: &Batch) {
        let directory = context.directory;
        self.jobs.resize(directory.jobs.len().max(self.jobs.len()), Job::default());
        self.ranks.resize(directory.ranks.len().max(self.ranks.len()), (0, false));
        let rows = &batch.operations;
        for row in 0..rows.len() {
            let rank = rows.rank[row] as usize;
            let Some(job) = directory.ranks.get(rank).map(|info| info.job as usize) else { continue };
            let Some(job) = self.jobs.get_mut(job) else { continue };
            let (enter_ns, end_ns) = (rows.enter_ns[row], rows.end_ns[row]);
            let latest = &mut self.ranks[rank];
            if enter_ns >= latest.0 {
                *latest = (enter_ns, end_ns == NOT_YET);
            }
            // Clocks of hosts may differ: none is believed to be ahead of the batch.
            let moved_ns = if end_ns == NOT_YET { enter_ns } else { end_ns }.min(batch.until_ns);
            if end_ns != NOT_YET {
                job.told = false;
            }
            if end_ns != NOT_YET || !job.seen {
                job.last_end_ns = job.last_end_ns.max(moved_ns);
                (job.begun_ns, job.rest_ns) = (self.before_ns, NOT_YET);
            }
            job.seen = true;
        }
    }

    fn judge(&mut self, context: &Context<'_>, now_ns: u64, findings: &mut Vec<Finding>) {
        self.before_ns = now_ns;
        for (row, job) in self.jobs.iter_mut().enumerate() {
            job.rest_ns = match job.rest_ns {
                NOT_YET => 0,
                0 => now_ns,
                known => known,
            };
            let still_ns = now_ns.saturating_sub(job.last_end_ns);
            if !job.seen || job.told || still_ns <= self.limits.elastic_ns {
                continue;
            }
            // A job that left all its operations may have ended.
            let mut ranks = self.ranks.iter().zip(&context.directory.ranks);
            if !ranks.any(|((_, within), info)| *within && info.job as usize == row) {
                continue;
            }
            job.told = true;
            let seen = OperationSeen::SinceLast { job: context.directory.jobs[row].clone() };
            findings.push(Finding {
                at_ns: now_ns,
                since: Since::between(job.begun_ns, job.rest_ns),
                syndrome: Syndrome::CommunicationHang,
                faults: vec![FaultKind::Hang],
                suspects: Vec::new(),
                confidence: 0.9,
                severity: 1.0,
                cost: None,
                evidence: vec![Evidence::new(seen, still_ns as f64, self.limits.elastic_ns as f64)],
                advice: "the job stands still; this timer does not know why".to_owned(),
            });
        }
    }
}
