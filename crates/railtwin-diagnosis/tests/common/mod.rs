//! A small world for tests of detectors: ranks on a tp × dp grid that compute, wait for each other and communicate.
#![allow(dead_code, reason = "each test binary uses its part")]
use railtwin_diagnosis::{Detector, Diagnosis, Settings};
use railtwin_records::{Batch, CommunicatorInfo, Directory, Finding, HostInfo, OperationShape, RankInfo};

/// Random numbers whose stream is fixed.
#[derive(Clone)]
pub struct Lot(pub u64);

impl Lot {
    /// Uniform in 0..1.
    pub fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// About normal, of mean 0 and deviation 1.
    pub fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.uniform()).sum::<f64>() - 6.0
    }
}

/// What to simulate.
#[derive(Clone)]
pub struct World {
    pub tp: usize,
    pub dp: usize,
    pub ranks_per_host: usize,
    pub steps: usize,
    /// Tensor-parallel operations of a step; each after `compute_ns` of own time.
    pub layers: usize,
    pub compute_ns: f64,
    /// What a communicator's operation takes when all have come.
    pub tp_ns: f64,
    pub dp_ns: f64,
    /// Deviation of own times and of operations, as a share.
    pub jitter: f64,
    /// Deviation of each rank's own time of a step: uneven load.
    pub imbalance: f64,
    /// Times that a rank's own time takes.
    pub slow: Vec<(usize, f64)>,
    /// What a rank waits before its first computation of every so many-th step.
    pub late: Vec<(usize, f64, usize)>,
    /// Times that a DP communicator takes.
    pub slow_dp: Vec<(usize, f64)>,
    /// Offset of each host's clock.
    pub clock: fn(usize) -> u64,
    /// Row of a rank in the directory.
    pub row: fn(usize, usize) -> usize,
    pub scale: f64,
    pub seed: u64,
}

impl Default for World {
    fn default() -> Self {
        Self {
            tp: 1,
            dp: 16,
            ranks_per_host: 8,
            steps: 64,
            layers: 4,
            compute_ns: 2e6,
            tp_ns: 2e5,
            dp_ns: 2e6,
            jitter: 0.01,
            imbalance: 0.0,
            slow: Vec::new(),
            late: Vec::new(),
            slow_dp: Vec::new(),
            clock: |host| host as u64 * 7_777_777_777,
            row: |rank, _| rank,
            scale: 1.0,
            seed: 1,
        }
    }
}

impl World {
    pub fn ranks(&self) -> usize {
        self.tp * self.dp
    }

    pub fn directory(&self) -> Directory {
        let ranks = self.ranks();
        let mut directory = Directory { jobs: vec!["job".into()], ..Directory::default() };
        directory.hosts = (0..ranks.div_ceil(self.ranks_per_host))
            .map(|host| HostInfo { name: format!("host-{host}") })
            .collect();
        let mut rows = vec![None; ranks];
        for rank in 0..ranks {
            let (host, gpu) = ((rank / self.ranks_per_host) as u32, (rank % self.ranks_per_host) as u32);
            rows[(self.row)(rank, ranks)] = Some(RankInfo { job: 0, rank: rank as u32, host, gpu, nic: gpu });
        }
        directory.ranks = rows.into_iter().flatten().collect();
        let of = |axis: &str, index: usize, members: Vec<usize>| CommunicatorInfo {
            job: 0,
            name: format!("{axis}-{index}"),
            axis: axis.into(),
            ranks: members.into_iter().map(|rank| (self.row)(rank, ranks) as u32).collect(),
        };
        for dp in 0..self.dp {
            directory.communicators.push(of("tp", dp, (0..self.tp).map(|tp| dp * self.tp + tp).collect()));
        }
        for tp in 0..self.tp {
            directory.communicators.push(of("dp", tp, (0..self.dp).map(|dp| dp * self.tp + tp).collect()));
        }
        directory.shapes = vec![OperationShape {
            kind: "all-reduce".into(),
            algorithm: "ring".into(),
            data_type: "float32".into(),
            bytes: 1 << 24,
        }];
        directory
    }

    /// Batches, one per step.
    pub fn batches(&self) -> Vec<Batch> {
        let (ranks, mut lot) = (self.ranks(), Lot(self.seed));
        let mut now = vec![1e9; ranks];
        let (mut tp_sequence, mut batches) = (0, Vec::new());
        for step in 0..self.steps {
            let mut batch = Batch::default();
            let load: Vec<f64> = (0..ranks).map(|_| (1.0 + self.imbalance * lot.normal()).max(0.1)).collect();
            for &(rank, wait, every) in &self.late {
                if step % every == 0 {
                    now[rank] += wait;
                }
            }
            for _ in 0..self.layers {
                for rank in 0..ranks {
                    let slow: f64 =
                        self.slow.iter().filter(|slow| slow.0 == rank).map(|slow| slow.1).product();
                    now[rank] +=
                        self.compute_ns * load[rank] * slow * (1.0 + self.jitter * lot.normal()).max(0.1);
                }
                if self.tp > 1 {
                    for dp in 0..self.dp {
                        let members: Vec<usize> = (0..self.tp).map(|tp| dp * self.tp + tp).collect();
                        self.meet(&mut batch, &mut now, &mut lot, dp, &members, tp_sequence, self.tp_ns);
                    }
                    tp_sequence += 1;
                }
            }
            for tp in 0..self.tp {
                let members: Vec<usize> = (0..self.dp).map(|dp| dp * self.tp + tp).collect();
                let slow: f64 = self.slow_dp.iter().filter(|slow| slow.0 == tp).map(|slow| slow.1).product();
                self.meet(
                    &mut batch,
                    &mut now,
                    &mut lot,
                    self.dp + tp,
                    &members,
                    step as u32,
                    self.dp_ns * slow,
                );
            }
            batch.until_ns = (now.iter().copied().fold(0.0, f64::max) * self.scale) as u64;
            batches.push(batch);
        }
        batches
    }

    #[allow(clippy::too_many_arguments)]
    fn meet(
        &self,
        batch: &mut Batch,
        now: &mut [f64],
        lot: &mut Lot,
        communicator: usize,
        members: &[usize],
        sequence: u32,
        takes: f64,
    ) {
        let start = members.iter().map(|&rank| now[rank]).fold(0.0, f64::max);
        let end = start + takes * (1.0 + self.jitter * lot.normal()).max(0.1);
        for &rank in members {
            let clock = (self.clock)(rank / self.ranks_per_host);
            let time = |ns: f64| (ns * self.scale) as u64 + clock;
            let row = (self.row)(rank, self.ranks()) as u32;
            batch.operations.push(communicator as u32, row, sequence, 0, time(now[rank]), time(end));
        }
        members.iter().for_each(|&rank| now[rank] = end);
    }

    /// What a detector finds.
    pub fn found_by(&self, detector: Box<dyn Detector>) -> Vec<Finding> {
        let (directory, mut findings) = (self.directory(), Vec::new());
        let mut diagnosis = Diagnosis::with(Settings::default(), vec![detector]);
        for batch in self.batches() {
            diagnosis.observe(&directory, None, &batch, &mut findings);
        }
        findings
    }
}

/// Names of a finding's suspects, the likeliest first.
pub fn names(finding: &Finding) -> Vec<String> {
    finding.suspects.iter().map(|suspect| suspect.component.name().to_owned()).collect()
}
