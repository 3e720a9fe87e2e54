//! Who shares links with whom, over others too.
use railtwin_control::crux::demand::{JobDemand, SLACK};

/// What links are asked for by the jobs that were gone through last.
#[derive(Debug)]
pub(crate) struct Sharing {
    links: Vec<Asked>,
    /// Counts the times that jobs were gone through.
    round: u64,
}

/// What a link is asked for.
#[derive(Clone, Copy, Debug, Default)]
struct Asked {
    /// The round in which it was asked last.
    round: u64,
    share: f64,
    /// The first job that crosses it.
    first: u32,
}

/// What sharing makes of jobs.
#[derive(Debug, Default)]
pub(crate) struct Groups {
    /// Of each job the group that it is in: jobs of one group contend, over others too.
    pub of: Vec<u32>,
    /// Of each job whether another crosses one of its links.
    pub shares: Vec<bool>,
}

impl Sharing {
    pub(crate) fn new(links: usize) -> Self {
        Self { links: vec![Asked::default(); links], round: 0 }
    }

    /// Groups of so many jobs by the links that cannot serve all that cross them at once, each as fast as alone. `rows` are
    /// what they ask for, each with the number of its job: several where a job has more than its steps on links, which
    /// are not in each other's way here.
    pub(crate) fn groups<'a>(
        &mut self,
        jobs: usize,
        rows: impl Iterator<Item = (u32, &'a JobDemand)>,
    ) -> Groups {
        let mut groups = Groups { of: (0..jobs as u32).collect(), shares: vec![false; jobs] };
        self.round += 1;
        // Who crosses a link that another crossed before.
        let mut meetings: Vec<(u32, u32)> = Vec::new();
        for (number, job) in rows {
            for &(link, seconds) in job.loads.iter().filter(|load| load.1 > 0.0) {
                let asked = &mut self.links[link as usize];
                if asked.round == self.round {
                    meetings.push((link, number));
                } else {
                    *asked = Asked { round: self.round, share: 0.0, first: number };
                }
                asked.share += seconds / job.seconds;
            }
        }
        for (link, number) in meetings {
            let asked = self.links[link as usize];
            if asked.first == number {
                continue;
            }
            groups.shares[asked.first as usize] = true;
            groups.shares[number as usize] = true;
            if asked.share > 1.0 + SLACK {
                join(&mut groups.of, asked.first, number);
            }
        }
        for number in 0..jobs as u32 {
            groups.of[number as usize] = root(&mut groups.of, number);
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
