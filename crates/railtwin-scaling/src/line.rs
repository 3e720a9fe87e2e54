//! The straight line in the logarithm of the GPUs, which anybody draws by hand: what a model must beat.
use super::ClusterTimes;

/// Seconds of `bytes` over `hosts` by the line through the two largest clusters of a series that measured the size; none
/// where fewer did.
pub fn line(series: &ClusterTimes, hosts: u32, bytes: u64) -> Option<f64> {
    let mut known =
        series.seconds.iter().rev().filter_map(|(hosts, of)| Some((f64::from(*hosts), *of.get(&bytes)?)));
    let (far, near) = (known.next()?, known.next()?);
    let slope = (far.1 - near.1) / (far.0 / near.0).log2();
    Some(far.1 + slope * (f64::from(hosts) / far.0).log2())
}
