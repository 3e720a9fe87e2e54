//! What dispatch and combine of mixtures of experts cost hosts beside bytes.
use railtwin_units::{Rate, SimTime};
use railtwin_workload::collective::bus_factor;
use railtwin_workload::{Collective, Experts, Group, Pattern};

use super::CapSpec;

/// Time of the counts or flags that a rank sends to experts on other hosts, one message for each.
pub(super) fn of_messages(row: &CapSpec, asked: &Pattern, group: Group) -> SimTime {
    let experts = asked.experts.map_or(0, |experts| experts.on_other_hosts(group));
    row.message.map_or(SimTime::ZERO, |message| message * experts)
}

/// Bus bandwidth of an exchange that forwards over NVLink: the NIC and the NVLink of a GPU are both at work, and the one with
/// more bytes for its rate holds both. `of` has the rate of a NIC for a group of several hosts, and of a GPU's NVLink for one.
pub(super) fn of_forward(
    collective: Collective,
    experts: &Experts,
    group: Group,
    of: impl Fn(Group) -> Option<Rate>,
) -> Option<Rate> {
    let inside = Group { ranks: group.local, hosts: 1, ..group };
    let (on_nic, on_nvlink) = experts.carried(group);
    let nic = (group.hosts > 1).then(|| of(group)).flatten().map(|rate| (rate, on_nic));
    let nvlink = of(inside).map(|rate| (rate, on_nvlink));
    let bits = |(rate, share): (Rate, f64)| {
        (rate.bits_per_s() as f64 * bus_factor(collective, group.ranks) / share.max(f64::MIN_POSITIVE)) as u64
    };
    [nic, nvlink].into_iter().flatten().map(bits).min().map(Rate::from_bits_per_s)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::section::fabric::host_caps::of_model;
    use railtwin_workload::Algorithm;

    /// DeepEP's normal kernels on H800: NVLink holds 2 hosts, where each counted byte is 3.27 there, the NIC holds more.
    #[test]
    fn a_forwarded_dispatch_is_held_by_nvlink_on_two_hosts_and_by_nics_on_more() {
        let experts = Experts { total: 256, top_k: 8, most_hosts: Some(4) };
        let of = |group: Group| {
            let fits = |cap: &CapSpec| {
                cap.collective == Collective::ExpertDispatch && cap.algorithm == Algorithm::Forward
            };
            let all = of_model("hgx-h800");
            let cap = all.into_iter().find(|cap| fits(cap) && (cap.hosts == Some(1)) == (group.hosts == 1));
            cap.and_then(|cap| cap.busbw)
        };
        for (hosts, counted) in [(1, 153.0), (2, 153.0 / 3.273_06), (4, 59.5), (8, 51.0)] {
            let group = Group::of(hosts, 8);
            let rate = of_forward(Collective::ExpertDispatch, &experts, group, of).unwrap().bytes_per_s();
            let (reached, ranks) = experts.reach(group);
            let copies = if hosts > 1 { reached } else { ranks };
            let ours = rate / bus_factor(Collective::ExpertDispatch, group.ranks) * copies / 8.0 / 1e9;
            assert!((ours / counted - 1.0).abs() < 1e-3, "{hosts} hosts: {ours} GB/s for {counted}");
        }
    }
}
