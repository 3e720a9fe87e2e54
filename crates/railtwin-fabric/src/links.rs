//! Links inside hosts by name, with their rate in one direction.
use railtwin_units::Rate;

/// Links between GPUs of a scale-up domain, by name: what one GPU sends over all of its links at once.
///
/// * `nvlink3`, `nvlink4`, `nvlink5`: 12 links of 25 GB/s, 18 of 25 GB/s, 18 of 50 GB/s (NVIDIA's data sheets of A100, H100
///   and B200, which print both directions together: 600, 900 and 1,800 GB/s).
/// * `infinity-fabric`: 7 links of 64 GB/s, one to each other GPU (AMD's data sheet of MI300X: 7 × 128 GB/s in both directions).
/// * `ualink-200g`: a station of four lanes of 200 GT/s (UALink 200G 1.0).
pub const GPU_LINKS: [(&str, Rate); 5] = [
    ("nvlink3", Rate::from_gbps(2_400)),
    ("nvlink4", Rate::from_gbps(3_600)),
    ("nvlink5", Rate::from_gbps(7_200)),
    ("infinity-fabric", Rate::from_gbps(3_584)),
    ("ualink-200g", Rate::from_gbps(800)),
];

/// Links between a GPU and its NIC, by name, each of 16 lanes.
///
/// Generations 3 to 5 carry 8, 16 and 32 GT/s a lane in a code of 128 bits in 130. Generations 6 and 7, and CXL 3 over the
/// lanes of generation 6, carry 64 and 128 GT/s in flits of 256 bytes, of which 242 are neither check sum nor error
/// correction (PCI-SIG). Rates are rounded to whole Gbps.
pub const NIC_LINKS: [(&str, Rate); 6] = [
    ("pcie3", Rate::from_gbps(126)),
    ("pcie4", Rate::from_gbps(252)),
    ("pcie5", Rate::from_gbps(504)),
    ("pcie6", Rate::from_gbps(968)),
    ("pcie7", Rate::from_gbps(1_936)),
    ("cxl3", Rate::from_gbps(968)),
];

/// Names of [`GPU_LINKS`].
pub const GPU_LINK_NAMES: [&str; GPU_LINKS.len()] = names(&GPU_LINKS);

/// Names of [`NIC_LINKS`].
pub const NIC_LINK_NAMES: [&str; NIC_LINKS.len()] = names(&NIC_LINKS);

const fn names<const N: usize>(links: &[(&'static str, Rate); N]) -> [&'static str; N] {
    let mut names = [""; N];
    let mut row = 0;
    while row < N {
        names[row] = links[row].0;
        row += 1;
    }
    names
}

/// The rate of a link by its name, in one direction.
pub fn rate_of(links: &[(&str, Rate)], name: &str) -> Option<Rate> {
    links.iter().find(|(known, _)| *known == name).map(|&(_, rate)| rate)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rates are lanes × transfers × code, to the whole Gbps.
    #[test]
    fn rates_follow_from_lanes_and_codes() {
        let code = |transfers: f64, share: f64| (16.0 * transfers * share) as u64;
        let (bits, flit) = (128.0 / 130.0, 242.0 / 256.0);
        let lanes = [
            ("pcie3", code(8.0, bits)),
            ("pcie4", code(16.0, bits)),
            ("pcie5", code(32.0, bits)),
            ("pcie6", code(64.0, flit)),
            ("pcie7", code(128.0, flit)),
            ("cxl3", code(64.0, flit)),
        ];
        for (name, gbps) in lanes {
            assert_eq!(rate_of(&NIC_LINKS, name), Some(Rate::from_gbps(gbps)), "{name}");
        }
        // Links × GB/s of one × 8 bits.
        for (name, links, bytes) in [
            ("nvlink3", 12, 25),
            ("nvlink4", 18, 25),
            ("nvlink5", 18, 50),
            ("infinity-fabric", 7, 64),
            ("ualink-200g", 4, 25),
        ] {
            assert_eq!(rate_of(&GPU_LINKS, name), Some(Rate::from_gbps(links * bytes * 8)), "{name}");
        }
        assert_eq!(rate_of(&NIC_LINKS, "nvlink5"), None);
    }
}
