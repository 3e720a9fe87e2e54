//! What schedulers of coflows do: a job's communication of one step is a coflow, its links are the ports.
use super::demand::Demand;

/// Sincronia's order (Agarwal et al., SIGCOMM '18, Algorithm 1: bottleneck, select, scale, iterate), all weights 1 at
/// first. From the last place to the first: on the link with the most seconds left, the job with the least weight for
/// each of its seconds there goes last; the others on it lose as much weight for each of their seconds.
pub fn sincronia_order(demand: &Demand) -> Vec<usize> {
    let jobs = demand.jobs.len();
    let mut left: Vec<usize> = (0..jobs).collect();
    let mut weights = vec![1.0f64; jobs];
    let mut order = Vec::with_capacity(jobs);
    while !left.is_empty() {
        let mut seconds = vec![0.0f64; demand.links];
        for &job in &left {
            demand.jobs[job].loads.iter().for_each(|&(link, load)| seconds[link as usize] += load);
        }
        let most = seconds.iter().copied().fold(0.0, f64::max);
        let bottleneck = seconds.iter().position(|&one| one == most && one > 0.0).map(|link| link as u32);
        let load = |job: usize| {
            let loads = demand.jobs[job].loads.iter();
            loads.filter(|load| Some(load.0) == bottleneck).map(|load| load.1).sum::<f64>()
        };
        // A job that is not on the bottleneck goes last only when nothing is left on any link.
        let price = |job: usize| if load(job) > 0.0 { weights[job] / load(job) } else { f64::INFINITY };
        let mut last = *left.last().expect("there is one");
        for &job in left.iter().rev() {
            if price(job) < price(last) {
                last = job;
            }
        }
        let paid = price(last);
        left.retain(|&job| job != last);
        if paid.is_finite() {
            let losses: Vec<(usize, f64)> = left.iter().map(|&job| (job, paid * load(job))).collect();
            losses.into_iter().for_each(|(job, loss)| weights[job] -= loss);
        }
        order.push(last);
    }
    order.reverse();
    order
}

/// Varys's order (Chowdhury et al., SIGCOMM '14): the smallest effective bottleneck first, which is the time that a
/// step's communication takes alone.
pub fn varys_order(demand: &Demand) -> Vec<usize> {
    let mut order: Vec<usize> = (0..demand.jobs.len()).collect();
    order.sort_by(|&first, &second| demand.jobs[first].seconds.total_cmp(&demand.jobs[second].seconds));
    order
}

/// A level for each of the first jobs, the last one for all others: what Crux's Figure 13 shows of Sincronia.
pub fn first_alone(order: &[usize], levels: u32) -> Vec<u32> {
    by_place(order, |place| (place as u32).min(levels - 1))
}

/// As many jobs on each level: what Crux's Figure 13 shows of Varys.
pub fn evenly(order: &[usize], levels: u32) -> Vec<u32> {
    by_place(order, |place| (place * levels as usize / order.len()) as u32)
}

/// A level for each job.
pub fn distinct(order: &[usize]) -> Vec<u32> {
    by_place(order, |place| place as u32)
}

fn by_place(order: &[usize], level: impl Fn(usize) -> u32) -> Vec<u32> {
    let mut levels = vec![0; order.len()];
    order.iter().enumerate().for_each(|(place, &job)| levels[job] = level(place));
    levels
}
