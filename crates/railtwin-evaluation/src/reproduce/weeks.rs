//! Weeks of jobs on the plants of Crux's simulation: what Crux gains over the others, seed by seed.
use railtwin_control::crux::plan::SharingPolicy;
use railtwin_scenario::{FabricSpec, Preset};
use railtwin_store::Figure;

use super::crux::Cases;
use super::paper;
use super::sweep::Set;
use railtwin::cluster::{ClusterQuestion, Told};
use railtwin::figures::quantile;

/// Days and seeds where not the paper's two weeks are asked.
const SHORT: (f64, u64) = (2.0, 2);
/// The paper's two weeks, and seeds enough for a spread.
const FULL_SEEDS: u64 = 10;

/// Those whom Crux is held against.
const RIVALS: [SharingPolicy; 3] = [SharingPolicy::Sincronia, SharingPolicy::Taccl, SharingPolicy::Cassini];
const POLICIES: [SharingPolicy; 7] = [
    SharingPolicy::Ecmp,
    SharingPolicy::CruxPa,
    SharingPolicy::CruxPsPa,
    SharingPolicy::Crux,
    RIVALS[0],
    RIVALS[1],
    RIVALS[2],
];

/// Figures of the scenario called `name`.
pub(super) fn figures(name: &str, cases: Cases, set: &Set) -> Vec<Figure> {
    let (cluster, seeds) = asked(name, cases, set);
    let told = cluster.told(&POLICIES, &seeds, &|| ()).expect("a test draws its jobs");
    let of = |policy: SharingPolicy| told.iter().filter(move |one| one.policy == policy.name());
    let value = |one: &Told, figure: &str| one.value(figure).unwrap_or(f64::NAN);
    let all = |policy, figure: &str| of(policy).map(|one| value(one, figure)).collect::<Vec<f64>>();
    let utilization = |policy| all(policy, "gpu_utilization");
    // Seed by seed, as its jobs are the same under both.
    let gains = |one, other| -> Vec<f64> {
        utilization(one).iter().zip(utilization(other)).map(|(one, other)| one / other - 1.0).collect()
    };
    let gain = |one, other| median(gains(one, other));
    let mut figures = Vec::new();
    let mut add = |name: &str, value: f64| figures.push(Figure::new(name, value, ""));
    for policy in POLICIES {
        add(&format!("gpu_utilization_{}", policy.name().replace('-', "_")), median(utilization(policy)));
    }
    for rival in RIVALS {
        let gains = gains(SharingPolicy::Crux, rival);
        let name = format!("crux_over_{}", rival.name());
        add(&format!("{name}_least"), gains.iter().copied().fold(f64::INFINITY, f64::min));
        add(&format!("{name}_most"), gains.iter().copied().fold(f64::NEG_INFINITY, f64::max));
        add(&name, median(gains));
        add(&format!("pa_over_{}", rival.name()), gain(SharingPolicy::CruxPa, rival));
    }
    let over = RIVALS.map(|rival| gain(SharingPolicy::Crux, rival));
    add("crux_over_best", over.iter().copied().fold(f64::INFINITY, f64::min));
    add("crux_over_worst", over.iter().copied().fold(f64::NEG_INFINITY, f64::max));
    let points = RIVALS.map(|rival| median(utilization(SharingPolicy::Crux)) - median(utilization(rival)));
    add("points_over_worst", points.iter().copied().fold(f64::NEG_INFINITY, f64::max));
    add("ps_pa_over_pa", gain(SharingPolicy::CruxPsPa, SharingPolicy::CruxPa));
    add("full_over_ps_pa", gain(SharingPolicy::Crux, SharingPolicy::CruxPsPa));
    for figure in ["sharing_jobs", "sharing_gpus", "contended_jobs", "contended_gpus"] {
        add(&format!("ecmp_{figure}"), median(all(SharingPolicy::Ecmp, figure)));
    }
    if let Some(open) = open(name, cases, set) {
        // Of seed after seed: where between hashes and uplinks that hold nobody back is Crux?
        let unbound = open.told(&[SharingPolicy::Ecmp], &seeds, &|| ()).expect("a test draws its jobs");
        let share = |figure: &str| {
            let [hashed, ours] = [SharingPolicy::Ecmp, SharingPolicy::Crux].map(|policy| all(policy, figure));
            let most = unbound.iter().map(|one| value(one, figure));
            median(
                hashed
                    .iter()
                    .zip(&ours)
                    .zip(most)
                    .map(|((hashed, ours), most)| (ours - hashed) / (most - hashed))
                    .collect(),
            )
        };
        add("crux_share_of_gap", share("gpu_utilization"));
        add("crux_share_of_loss", share("throughput_loss_worst"));
        add(
            "gpu_utilization_open",
            median(unbound.iter().map(|one| value(one, "gpu_utilization")).collect()),
        );
    }
    figures
}

/// The same where uplinks have sixteen times the capacity, so that they hold nobody back and hashes are the same; none of a
/// fabric without such a key.
fn open(name: &str, cases: Cases, set: &Set) -> Option<ClusterQuestion> {
    let question = paper(name, set);
    let mut scenario = question.points().expect("a test reads it").remove(0).scenario;
    let FabricSpec::Preset(Preset::LeafSpine(fabric)) = &mut scenario.fabric else { return None };
    fabric.uplink_capacity = fabric.uplink_capacity * 16;
    // No chip has as much; this one has room for the cables of a spine.
    fabric.chip = Some(fabric.uplink_capacity * u64::from(fabric.leaves));
    let mut cluster = question.cluster(&scenario).expect("a test resolves it");
    if !cases.is_full() {
        cluster.spec.days = SHORT.0;
    }
    Some(cluster)
}

/// What Crux costs the job that loses most, over ten draws of the paper's two weeks in the scenario called `name`: who loses
/// most is by lot, and a few days have few jobs.
pub(super) fn losses(name: &str, set: &Set) -> Vec<Figure> {
    let (cluster, seeds) = asked(name, Cases::FULL, set);
    worst(&cluster.told(&[SharingPolicy::Crux], &seeds, &|| ()).expect("a test draws its jobs"))
}

/// The figures of [`losses`], of so many draws.
fn worst(told: &[Told]) -> Vec<Figure> {
    let of = |figure: &str| told.iter().map(|one| one.value(figure).unwrap_or(0.0)).collect::<Vec<f64>>();
    let most = |figure: &str| of(figure).into_iter().fold(0.0, f64::max);
    // Who ended, and who still runs at the end.
    let worst = most("throughput_loss_worst").max(most("throughput_loss_worst_running"));
    vec![
        Figure::new("throughput_loss_worst", worst, ""),
        Figure::new("throughput_loss_worst_median", median(of("throughput_loss_worst")), ""),
        Figure::new("jobs_starved", most("jobs_starved"), ""),
    ]
}

/// A paper's weeks of jobs, with the seeds that are looked at: all days and as many seeds as it takes where the rows are
/// made, fewer of both else.
pub(super) fn asked(name: &str, cases: Cases, set: &Set) -> (ClusterQuestion, Vec<u64>) {
    let question = paper(name, set);
    let point = question.points().expect("a test reads it").remove(0);
    let mut cluster = question.cluster(&point.scenario).expect("a test resolves it");
    let seeds = if cases.is_full() {
        FULL_SEEDS
    } else {
        cluster.spec.days = SHORT.0;
        SHORT.1
    };
    (cluster, (1..=seeds).collect())
}

/// The middle of some values, of which there is at least one; of an even number the mean of the middle two.
pub(super) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    quantile(&values, 0.5).expect("there is a value")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the rows read is there; the draws of two weeks are for `make reproduce`.
    #[test]
    fn losses_have_the_figures_of_their_rows() {
        let (cluster, _) = asked("crux-clos", Cases::SHORT, &Set::default());
        let told = cluster.told(&[SharingPolicy::Crux], &[1], &|| ()).expect("it draws its jobs");
        let names: Vec<String> = worst(&told).into_iter().map(|figure| figure.name).collect();
        let rows = crate::reproduce::rows();
        let of_losses = rows.iter().filter(|row| row.calculation.as_deref() == Some("crux-clos-losses"));
        let read: Vec<&str> =
            of_losses.flat_map(|row| &row.figures).map(|wanted| wanted.figure.as_str()).collect();
        assert!(
            !read.is_empty() && read.iter().all(|figure| names.iter().any(|name| name == figure)),
            "{read:?}"
        );
    }
}
