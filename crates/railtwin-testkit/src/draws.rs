//! Ways of hashing and dead links for property tests.
use proptest::prelude::*;
use railtwin_fabric::HostSpec;
use railtwin_routing::{EcmpConfig, Fields, HashFunction, HashSpec, Seeds};
use railtwin_units::stream;

use crate::fabrics;

/// The host of drawn fabrics: one NIC of two ports of 200 Gbps for every GPU.
pub fn host(nics: u32) -> HostSpec {
    fabrics::host(nics, 2, 200)
}

/// Any way of hashing.
pub fn any_ecmp() -> impl Strategy<Value = EcmpConfig> {
    let function = prop::sample::select(HashFunction::ALL.to_vec());
    let seeds = prop::sample::select(vec![Seeds::Shared, Seeds::PerTier, Seeds::PerSwitch]);
    let fields = prop::sample::select(vec![
        Fields::FIVE_TUPLE,
        Fields::FIVE_TUPLE_AND_QP,
        Fields::FIVE_TUPLE | Fields::INGRESS_PORT,
    ]);
    (function, seeds, fields, any::<(u32, bool)>()).prop_map(
        |(function, seeds, fields, (seed, core_per_port))| EcmpConfig {
            spec: HashSpec::new(function).with_fields(fields).with_seed(seed),
            seeds,
            core_per_port,
        },
    )
}

/// Shares in `0..1` from one seed, one after the other.
pub fn shares(seed: u64) -> impl FnMut() -> f64 {
    let mut state = seed;
    move || {
        state = stream::mix(state);
        (state >> 11) as f64 / (1_u64 << 53) as f64
    }
}
