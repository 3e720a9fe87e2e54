//! Equations 2 and 3 of SAURON.

/// Equation 2: bytes on the wire of payload in packets inside the host over those in packets between hosts.
pub fn traffic_overhead((header, payload): (u64, u64), (inter_header, inter_payload): (u64, u64)) -> f64 {
    let ratio = |header: u64, payload: u64| header as f64 / payload as f64 + 1.0;
    ratio(header, payload) / ratio(inter_header, inter_payload)
}

/// Equation 3, in Gbps: what `hosts` hosts carry of whose traffic `inter_percent` % (20, not 0.2) leaves them.
/// `adjustment` is fitted, in Gbps times percent for each host: the paper prints 15703.9 and computes with 16384. It has
/// no bound: below some percents it is more than GPUs can send.
pub fn modelled_throughput(adjustment: f64, overhead: f64, inter_percent: f64, hosts: f64) -> f64 {
    adjustment / (overhead * inter_percent) * hosts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_the_paper_computes() {
        let overhead = traffic_overhead((20, 128), (64, 4032));
        assert!((overhead - 1.13818).abs() < 1e-5);
        // Section 4.5 rounds the overhead to 1.14 and takes 16384.
        assert!((modelled_throughput(16384.0, 1.14, 20.0, 128.0) - 91_980.0).abs() < 1.0);
        assert!((modelled_throughput(16384.0, 1.14, 20.0, 512.0) - 367_921.0).abs() < 1.0);
    }
}
