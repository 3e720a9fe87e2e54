//! The same paces where many jobs share links: of those that communicate only who is in the way of a change is filled anew.
//!
//! No job is faster than alone, so a link on which all that communicate may be as fast as alone holds nobody back. Jobs that
//! meet on links that others fill are an island: what changes on one changes nobody's pace on another. A step that begins or
//! ends its communication so costs what its island is large, and not what all are.
use super::demand::{Demand, JobDemand, SLACK};

/// A ceiling within so much of the rate that all have reached is reached.
const SAME: f64 = 1e-12;

/// Changes after which it is weighed whether islands are worth it, and those for which they rest if not.
const WEIGHED: u32 = 64;
const RESTS: u32 = 1024;

/// No place in a list.
const NOWHERE: u32 = u32::MAX;

/// Parts of a link. Sums of whole numbers are the same in any order, however often jobs come and go.
const WHOLE: f64 = (1u64 << 44) as f64;
/// Parts that a link has, beyond which rounding is not what asks for more.
const MOST: u64 = (WHOLE * (1.0 + SLACK)) as u64;

/// Paces of jobs on links on which levels hold.
#[derive(Clone, Debug)]
pub(super) struct Islands {
    /// By job: bytes of its largest transfer.
    largest: Vec<f64>,
    /// By job: the rate of that transfer alone, in bytes a second.
    alone: Vec<f64>,
    level_of: Vec<u32>,
    /// By job: links that others cross, too, each with what the job takes of it.
    parts: Rows<Part>,
    /// By link: jobs that cross it, each with what it takes of it at one byte a second.
    crossing: Rows<f64>,
    /// By job: whether it communicated when paces were asked for last, and its pace then.
    talking: Vec<bool>,
    paces: Vec<f64>,
    /// By link: what those that communicate would take of it, each as fast as alone, in parts of [`WHOLE`].
    asked: Vec<u64>,
    /// Links of which that is more than they have.
    over: Over,
    /// Jobs that begin or end to communicate.
    changed: Vec<u32>,
    /// Jobs whose paces were filled last.
    filled: Vec<u32>,
    filling: Filling,
    weighed: Weighed,
}

/// What changes cost.
#[derive(Clone, Copy, Debug, Default)]
struct Weighed {
    updates: u32,
    /// Links that held back those that were filled, and links of all who communicated.
    filled: usize,
    all: usize,
    /// Changes that are still left to others.
    rests: u32,
}

/// What is used while paces are filled.
#[derive(Clone, Debug, Default)]
struct Filling {
    /// By job: whether it is among those that are filled, or rises still.
    is_in: Vec<bool>,
    is_rising: Vec<bool>,
    /// Counts updates, and by link the last one in which those that cross it were gone through.
    update: u64,
    looked_at: Vec<u64>,
    /// By link: share that is free, what the rising jobs take of it at one byte a second, and how many they are.
    free: Vec<f64>,
    growth: Vec<f64>,
    rising_on: Vec<u32>,
    /// Links on which jobs of a level rise.
    touched: Vec<u32>,
    full: Vec<u32>,
}

/// Rows of different lengths: jobs and their links, or links and their jobs.
#[derive(Clone, Debug, Default)]
struct Rows<T> {
    ends: Vec<u32>,
    items: Vec<(u32, T)>,
}

impl<T> Rows<T> {
    fn push(&mut self, row: impl Iterator<Item = (u32, T)>) {
        self.items.extend(row);
        self.ends.push(self.items.len() as u32);
    }

    fn range(&self, row: u32) -> std::ops::Range<usize> {
        let row = row as usize;
        let begin = if row == 0 { 0 } else { self.ends[row - 1] as usize };
        begin..self.ends[row] as usize
    }

    fn of(&self, row: u32) -> &[(u32, T)] {
        &self.items[self.range(row)]
    }
}

/// Links that all who communicate over them cannot use as fast as alone.
#[derive(Clone, Debug)]
struct Over {
    /// By link.
    is_over: Vec<bool>,
    /// By job that communicates: such links that it crosses, in no order.
    of_job: Vec<Vec<Held>>,
    /// By crossing of a link and a job: where it stands there, or [`NOWHERE`].
    places: Vec<u32>,
}

/// What a job takes of a link.
#[derive(Clone, Copy, Debug, Default)]
struct Part {
    /// As fast as alone, in parts of [`WHOLE`].
    asked: u64,
    /// At one byte a second.
    share: f64,
    /// The crossing of the two.
    crossing: u32,
}

/// A link of a job.
#[derive(Clone, Copy, Debug)]
struct Held {
    link: u32,
    /// What the job takes of it at one byte a second.
    share: f64,
    crossing: u32,
}

impl Over {
    fn new(parts: &Rows<Part>, crossing: &Rows<f64>) -> Self {
        let room = |job: u32| Vec::with_capacity(parts.range(job).len());
        Self {
            is_over: vec![false; crossing.ends.len()],
            of_job: (0..parts.ends.len() as u32).map(room).collect(),
            places: vec![NOWHERE; crossing.items.len()],
        }
    }

    /// A link is so now; whether it was before.
    #[inline]
    fn turn(&mut self, link: u32, is_over: bool, crossing: &Rows<f64>, talking: &[bool]) -> bool {
        let was_over = std::mem::replace(&mut self.is_over[link as usize], is_over);
        if was_over == is_over {
            return was_over;
        }
        for (at, &(job, share)) in crossing.range(link).zip(crossing.of(link)) {
            if is_over && talking[job as usize] {
                self.hold(job, link, (at, share));
            } else if !is_over {
                self.let_go(job, at);
            }
        }
        was_over
    }

    /// A link holds a job back that communicates.
    fn hold(&mut self, job: u32, link: u32, (at, share): (usize, f64)) {
        if self.places[at] == NOWHERE {
            let of_job = &mut self.of_job[job as usize];
            self.places[at] = of_job.len() as u32;
            of_job.push(Held { link, share, crossing: at as u32 });
        }
    }

    fn let_go(&mut self, job: u32, at: usize) {
        let place = std::mem::replace(&mut self.places[at], NOWHERE);
        if place == NOWHERE {
            return;
        }
        let of_job = &mut self.of_job[job as usize];
        of_job.swap_remove(place as usize);
        if let Some(moved) = of_job.get(place as usize) {
            self.places[moved.crossing as usize] = place;
        }
    }

    /// A job has ended its communication.
    fn end(&mut self, job: u32) {
        for held in self.of_job[job as usize].drain(..) {
            self.places[held.crossing as usize] = NOWHERE;
        }
    }
}

impl Islands {
    /// Nobody communicates yet. Levels hold on all links of `demand`.
    pub(super) fn new(demand: &Demand, levels: &[u32]) -> Self {
        let jobs = demand.jobs.len();
        let mut on: Vec<Vec<(u32, f64)>> = vec![Vec::new(); demand.links];
        for (number, job) in (0..).zip(&demand.jobs) {
            for &(link, seconds) in job.loads.iter().filter(|load| load.1 > 0.0) {
                on[link as usize].push((number, seconds / job.largest));
            }
        }
        // Who sends nothing has no pace.
        let alone = |job: &JobDemand| if job.seconds > 0.0 { job.largest / job.seconds } else { 0.0 };
        let alone: Vec<f64> = demand.jobs.iter().map(alone).collect();
        let mut crossing = Rows::default();
        on.iter().for_each(|row| crossing.push(row.iter().copied().filter(|_| row.len() > 1)));
        // Jobs cross a link in their order.
        let mut next: Vec<usize> = (0..demand.links as u32).map(|link| crossing.range(link).start).collect();
        let mut parts = Rows::default();
        for (job, alone) in demand.jobs.iter().zip(&alone) {
            let of_job = job.loads.iter().filter(|load| load.1 > 0.0 && on[load.0 as usize].len() > 1);
            parts.push(of_job.map(|&(link, seconds)| {
                let (share, at) = (seconds / job.largest, next[link as usize]);
                next[link as usize] += 1;
                (link, Part { asked: (share * alone * WHOLE).round() as u64, share, crossing: at as u32 })
            }));
        }
        let filling = Filling {
            is_in: vec![false; jobs],
            is_rising: vec![false; jobs],
            looked_at: vec![0; demand.links],
            free: vec![1.0; demand.links],
            growth: vec![0.0; demand.links],
            rising_on: vec![0; demand.links],
            ..Filling::default()
        };
        Self {
            largest: demand.jobs.iter().map(|job| job.largest).collect(),
            alone,
            level_of: levels.to_vec(),
            talking: vec![false; jobs],
            paces: vec![0.0; jobs],
            asked: vec![0; demand.links],
            over: Over::new(&parts, &crossing),
            parts,
            crossing,
            changed: Vec::new(),
            filled: Vec::new(),
            filling,
            weighed: Weighed::default(),
        }
    }

    /// Those whose paces may be others now that those of `talking` communicate, and by job the part of a step's communication
    /// that it moves in a second.
    pub(super) fn update(&mut self, talking: &[bool]) -> (&[u32], &[f64]) {
        self.filled.clear();
        self.changed.clear();
        self.filling.update += 1;
        for (job, (was, &is)) in (0..).zip(self.talking.iter_mut().zip(talking)) {
            if *was != is {
                *was = is;
                self.changed.push(job);
            }
        }
        for &job in &self.changed {
            let is_talking = talking[job as usize];
            self.paces[job as usize] = 0.0;
            enter(&mut self.filling.is_in, &mut self.filled, job);
            if !is_talking {
                self.over.end(job);
            }
            for &(link, part) in self.parts.of(job) {
                let asked = &mut self.asked[link as usize];
                *asked = if is_talking { *asked + part.asked } else { *asked - part.asked };
                let is_over = *asked > MOST;
                let was_over = self.over.turn(link, is_over, &self.crossing, talking);
                if is_over && is_talking {
                    self.over.hold(job, link, (part.crossing as usize, part.share));
                }
                // Who begins is in the way of others over links that are so now; who ends was over those that were so.
                if was_over && !is_talking {
                    let of_link = self.crossing.of(link).iter().filter(|one| talking[one.0 as usize]);
                    of_link.for_each(|one| enter(&mut self.filling.is_in, &mut self.filled, one.0));
                }
            }
        }
        // Who meets those over links that they fill, over others too.
        let mut next = 0;
        while let Some(&job) = self.filled.get(next) {
            next += 1;
            if !self.talking[job as usize] {
                continue;
            }
            for &Held { link, .. } in &self.over.of_job[job as usize] {
                let looked_at = &mut self.filling.looked_at[link as usize];
                if std::mem::replace(looked_at, self.filling.update) == self.filling.update {
                    continue;
                }
                for &(other, _) in self.crossing.of(link).iter().filter(|one| self.talking[one.0 as usize]) {
                    enter(&mut self.filling.is_in, &mut self.filled, other);
                }
            }
        }
        self.filled.iter().for_each(|&job| self.filling.is_in[job as usize] = false);
        let (level_of, alone) = (&self.level_of, &self.alone);
        self.filled.sort_unstable_by(|&one, &other| {
            let (a, b) = (one as usize, other as usize);
            level_of[a].cmp(&level_of[b]).then(alone[a].total_cmp(&alone[b])).then(one.cmp(&other))
        });
        self.fill();
        self.weigh();
        (&self.filled, &self.paces)
    }

    /// Whether it is less work to fill all anew at the change that is asked for next.
    pub(super) fn rests(&mut self) -> bool {
        let rests = self.weighed.rests > 0;
        self.weighed.rests -= u32::from(rests);
        rests
    }

    /// Links of those that were filled beside links of all who communicate: where most are, islands save nothing.
    fn weigh(&mut self) {
        let weighed = &mut self.weighed;
        weighed.updates += 1;
        weighed.filled += self.filled.iter().map(|&job| self.over.of_job[job as usize].len()).sum::<usize>();
        let links = |(job, _): (usize, &bool)| self.parts.range(job as u32).len();
        weighed.all += self.talking.iter().enumerate().filter(|one| *one.1).map(links).sum::<usize>();
        if weighed.updates == WEIGHED {
            let rests = if 2 * weighed.filled > weighed.all { RESTS } else { 0 };
            self.weighed = Weighed { rests, ..Weighed::default() };
        }
    }

    /// Fills those of `filled` that communicate: level after level, each over what those above leave, all of one level at
    /// one rate until a link is full or they are as fast as alone (Bertsekas and Gallager, 6.5.2).
    fn fill(&mut self) {
        let Self { largest, alone, level_of, crossing, talking, paces, over, filled, filling, .. } = self;
        let Filling { is_rising, free, growth, rising_on, touched, full, .. } = filling;
        let held = |job: u32| over.of_job[job as usize].iter();
        for &job in filled.iter().filter(|job| talking[**job as usize]) {
            held(job).for_each(|on| free[on.link as usize] = 1.0);
        }
        for level in filled.chunk_by(|one, other| level_of[*one as usize] == level_of[*other as usize]) {
            for &job in level.iter().filter(|job| talking[**job as usize]) {
                is_rising[job as usize] = true;
                for &Held { link, share, .. } in held(job) {
                    if rising_on[link as usize] == 0 {
                        touched.push(link);
                        growth[link as usize] = 0.0;
                    }
                    rising_on[link as usize] += 1;
                    growth[link as usize] += share;
                }
            }
            let mut stop =
                |job: u32, rate: f64, growth: &mut [f64], rising_on: &mut [u32], free: &mut [f64]| {
                    paces[job as usize] = rate / largest[job as usize];
                    for &Held { link, share, .. } in held(job) {
                        let link = link as usize;
                        rising_on[link] -= 1;
                        growth[link] -= share;
                        free[link] -= share * rate;
                    }
                };
            // By their rates alone: the first that rises still is the next to be as fast as that.
            let mut slowest = level.iter().copied().peekable();
            loop {
                while slowest.next_if(|&job| !is_rising[job as usize]).is_some() {}
                let Some(&first) = slowest.peek() else { break };
                let mut rate = alone[first as usize];
                full.clear();
                touched.retain(|&link| rising_on[link as usize] > 0);
                // Who has least room for those that rise; divided once.
                let mut least = (rate, 1.0);
                for link in touched.iter().map(|&link| link as usize) {
                    let (free, growth) = (free[link].max(0.0), growth[link].max(f64::MIN_POSITIVE));
                    if free * least.1 < least.0 * growth {
                        least = (free, growth);
                    }
                }
                rate = rate.min(least.0 / least.1);
                let reached = rate * (1.0 + SAME);
                full.extend(touched.iter().copied().filter(|&link| {
                    free[link as usize] <= reached * growth[link as usize].max(f64::MIN_POSITIVE)
                }));
                while let Some(job) =
                    slowest.next_if(|&job| !is_rising[job as usize] || alone[job as usize] <= reached)
                {
                    if std::mem::take(&mut is_rising[job as usize]) {
                        stop(job, rate, growth, rising_on, free);
                    }
                }
                for &link in full.iter() {
                    for &(job, _) in crossing.of(link) {
                        if std::mem::take(&mut is_rising[job as usize]) {
                            stop(job, rate, growth, rising_on, free);
                        }
                    }
                    free[link as usize] = 0.0;
                }
            }
            touched.clear();
        }
    }
}

/// Notes a job that is to be filled, once.
fn enter(is_in: &mut [bool], filled: &mut Vec<u32>, job: u32) {
    if !std::mem::replace(&mut is_in[job as usize], true) {
        filled.push(job);
    }
}
