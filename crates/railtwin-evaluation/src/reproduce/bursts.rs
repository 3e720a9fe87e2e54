//! Zhai et al., section 1.1, and HPN, figure 2: what a NIC sends over time while a model trains.
use railtwin_fabric::HostId;
use railtwin_store::Figure;

use super::paper;
use super::sweep::Set;
use railtwin::Run;
use railtwin::link_bins::BINS;

/// Share of the highest rate above which a NIC is in a burst.
const BURST: f64 = 0.5;

/// The first NIC of the job: the most that it sends, the mean, bursts for each step, and the part of the time that they
/// take.
pub(super) fn of_nic(set: &Set) -> Vec<Figure> {
    let question = paper("nic-bursts", set);
    let scenario = question.points().expect("a test reads it").remove(0).scenario;
    let run = Run::of(question.resolve(&scenario).expect("a test resolves it"), &|| ());
    let fabric = &run.resolved.case.fabric;
    let (nic, model) = (fabric.nic(HostId(0), 0), fabric.host_model(HostId(0)));
    let links: Vec<_> = (0..model.nic.ports).filter_map(|port| fabric.access_link(nic, port)).collect();
    let (bytes, width) = run.carried(&links).expect("the scenario has a job");
    let rates = bytes.map(|bytes| 8.0 * bytes / width);
    let peak = rates.iter().copied().fold(0.0, f64::max);
    let bursting = rates.map(|rate| rate > BURST * peak);
    let begun = (0..BINS).filter(|&bin| bursting[bin] && (bin == 0 || !bursting[bin - 1])).count();
    let part = bursting.iter().filter(|burst| **burst).count() as f64 / BINS as f64;
    vec![
        Figure::new("nic_peak", peak, "bits_per_s"),
        Figure::new("nic_mean", rates.iter().sum::<f64>() / BINS as f64, "bits_per_s"),
        Figure::new("bursts_per_step", begun as f64 / f64::from(scenario.run.steps), ""),
        Figure::new("burst_share", part, ""),
    ]
}
