//! Intra-host caps by host model, so that a user need not know them: `[fabric.host] caps = "measured"`.
use railtwin_units::Rate;

use super::CapSpec;
use railtwin_workload::{Algorithm, Collective};

/// The caps of a host model: one row for each collective and algorithm.
pub(crate) struct HostCap {
    model: &'static str,
    collective: Collective,
    algorithm: Algorithm,
    /// Bus bandwidth, gigabytes per second.
    busbw: u64,
}

const fn cap(model: &'static str, collective: Collective, algorithm: Algorithm, busbw: u64) -> HostCap {
    HostCap { model, collective, algorithm, busbw }
}

/// What hosts of a model achieve.
///
/// * `hgx-h800`, NVLS: 362 Gbps for each of the 8 NICs, all-reduce (C4 section IV-B2). Rings: NVLink's 200 GB/s
///   a direction (HPN section 9); nobody published less, so the link's rate stands.
/// * `hgx-h100`: 480 GB/s with NVLS and 370 GB/s in rings over 8 GPUs, as NCCL's maintainers expect
///   (NVIDIA/nccl-tests issue 212) and users measure (NVIDIA/nccl issue 1455).
/// * `hgx-a100`: close to 240 GB/s in rings over 8 GPUs, as NCCL's maintainers expect (NVIDIA/nccl issue 1712).
const HOST_CAPS: [HostCap; 13] = {
    use Algorithm::{Nvls, NvlsTree, Ring};
    use Collective::{AllGather, AllReduce, ReduceScatter};
    [
        cap("hgx-h800", AllReduce, Nvls, 362),
        cap("hgx-h800", AllReduce, NvlsTree, 362),
        cap("hgx-h800", AllReduce, Ring, 200),
        cap("hgx-h800", AllGather, Ring, 200),
        cap("hgx-h800", ReduceScatter, Ring, 200),
        cap("hgx-h100", AllReduce, Nvls, 480),
        cap("hgx-h100", AllReduce, NvlsTree, 480),
        cap("hgx-h100", AllReduce, Ring, 370),
        cap("hgx-h100", AllGather, Ring, 370),
        cap("hgx-h100", ReduceScatter, Ring, 370),
        cap("hgx-a100", AllReduce, Ring, 240),
        cap("hgx-a100", AllGather, Ring, 240),
        cap("hgx-a100", ReduceScatter, Ring, 240),
    ]
};

/// The caps of host model `model`; none where nothing is known of it.
pub(crate) fn of_model(model: &str) -> Vec<CapSpec> {
    let rows = HOST_CAPS.iter().filter(|row| row.model == model);
    rows.map(|row| CapSpec {
        collective: row.collective,
        algorithm: row.algorithm,
        host: Some(row.model.to_owned()),
        busbw: Rate::from_gbps(8 * row.busbw),
    })
    .collect()
}

/// Host models whose caps are known.
pub(crate) fn models() -> Vec<&'static str> {
    let mut models: Vec<&str> = HOST_CAPS.iter().map(|row| row.model).collect();
    models.dedup();
    models
}

#[cfg(test)]
mod tests {
    use super::*;
    use railtwin_fabric::HostModel;

    #[test]
    fn every_row_is_of_a_known_model_and_said_once() {
        for model in models() {
            assert!(HostModel::named(model).is_some(), "{model}");
            let caps = of_model(model);
            let mut keys: Vec<_> = caps.iter().map(|cap| (cap.collective, cap.algorithm)).collect();
            keys.sort_unstable();
            keys.dedup();
            assert_eq!(keys.len(), caps.len(), "{model}");
        }
        assert!(of_model("plain").is_empty());
    }

    #[test]
    fn rings_hold_to_what_nvlink_carries() {
        for cap in models().into_iter().flat_map(of_model).filter(|cap| cap.algorithm == Algorithm::Ring) {
            let host = cap.host.as_deref().and_then(HostModel::named).unwrap();
            assert!(cap.busbw <= host.nvlink.unwrap(), "{cap:?}");
        }
    }
}
