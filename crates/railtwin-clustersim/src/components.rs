//! Who shares links with whom, over others too.
use railtwin_control::crux::demand::{JobDemand, SLACK};

/// What links are asked for, kept up to date as jobs come and go.
#[derive(Debug)]
pub(crate) struct Sharing {
    /// Jobs that cross a link, last seen.
    first: Vec<u32>,
    share: Vec<f64>,
    touched: Vec<u32>,
}

/// What sharing makes of jobs.
#[derive(Debug, Default)]
pub(crate) struct Groups {
    /// Of each job the group that it is in: jobs of one group contend, over others too.
    pub of: Vec<u32>,
    /// Of each job whether another crosses one of its links.
    pub shares: Vec<bool>,
}

const NOBODY: u32 = u32::MAX;

impl Sharing {
    pub(crate) fn new(links: usize) -> Self {
        Self { first: vec![NOBODY; links], share: vec![0.0; links], touched: Vec::new() }
    }

    /// Groups of jobs by the links that cannot serve all that cross them at once, each as fast as alone.
    pub(crate) fn groups(&mut self, jobs: &[&JobDemand]) -> Groups {
        let mut groups = Groups { of: (0..jobs.len() as u32).collect(), shares: vec![false; jobs.len()] };
        for (number, job) in (0..).zip(jobs) {
            for &(link, seconds) in job.loads.iter().filter(|load| load.1 > 0.0) {
                let link = link as usize;
                match self.first[link] {
                    NOBODY => {
                        self.first[link] = number;
                        self.touched.push(link as u32);
                    }
                    other => {
                        groups.shares[other as usize] = true;
                        groups.shares[number as usize] = true;
                    }
                }
                self.share[link] += seconds / job.seconds;
            }
        }
        for (number, job) in (0..).zip(jobs) {
            for &(link, _) in job.loads.iter().filter(|load| load.1 > 0.0) {
                if self.share[link as usize] > 1.0 + SLACK {
                    join(&mut groups.of, self.first[link as usize], number);
                }
            }
        }
        for number in 0..jobs.len() as u32 {
            groups.of[number as usize] = root(&mut groups.of, number);
        }
        for link in self.touched.drain(..) {
            (self.first[link as usize], self.share[link as usize]) = (NOBODY, 0.0);
        }
        groups
    }
}

fn root(of: &mut [u32], number: u32) -> u32 {
    let mut at = number;
    while of[at as usize] != at {
        of[at as usize] = of[of[at as usize] as usize];
        at = of[at as usize];
    }
    at
}

/// Joins two groups under the lower number.
fn join(of: &mut [u32], one: u32, other: u32) {
    let (one, other) = (root(of, one), root(of, other));
    of[one.max(other) as usize] = one.min(other);
}
