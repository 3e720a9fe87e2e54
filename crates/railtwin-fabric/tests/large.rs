//! A hundred thousand GPUs fit in a laptop's memory.
#![allow(clippy::unwrap_used, reason = "a test may fail")]
use railtwin_fabric::design::DesignReport;
use railtwin_fabric::preset::Hpn;

#[test]
fn a_hundred_thousand_gpus_fit_in_two_gibibytes() {
    let fabric = Hpn { pods: 7, ..Hpn::default() }.build().unwrap();
    let report = DesignReport::of(&fabric);
    assert_eq!((report.gpus_active, report.leaf_single_points_of_failure), (107_520, 0));
    let bytes = fabric.memory_bytes();
    assert!(bytes > fabric.port_count() * 17, "a port alone has 17 bytes in four columns");
    assert!(bytes < 2 << 30, "{bytes} bytes");
}
