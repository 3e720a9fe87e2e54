//! How evenly bytes arrive at the ports of one NIC (HPN section 6.1, figure 13).
use railtwin_engine::{Case, RunLog};
use railtwin_fabric::{DeviceId, HostId, LinkId, PortRole};
use railtwin_store::Figure;

use crate::figures::declared::{Declared, network as declared};
use crate::figures::quantile;
use crate::simulate::Replicate;

/// Bytes from leaves to the busiest port of a NIC over those to its idlest, over the NICs of one replicate whose
/// ports all get some; no unit.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct NicPorts {
    /// Mean over NICs.
    pub mean: f64,
    /// Median over NICs.
    pub median: f64,
    /// 95th percentile over NICs.
    pub p95: f64,
    /// The most uneven NIC.
    pub max: f64,
    /// Share of NICs, of those that get anything, with a port that gets nothing and hence no ratio; 0..1.
    pub idle: f64,
}

/// The links that end at each port of a backend NIC with several ports, for NICs that get anything from another host.
pub(crate) fn links_into(case: &Case, log: &RunLog) -> Vec<Vec<LinkId>> {
    let fabric = &case.fabric;
    let hosts = (0..fabric.hosts().len()).map(HostId::from_index);
    let nics = hosts.flat_map(|host| (0..fabric.host_model(host).nics).map(move |nic| fabric.nic(host, nic)));
    let into = |nic: DeviceId, port| {
        let cable = fabric.cable_at(port)?;
        Some(if fabric.target(cable.forward()) == nic { cable.forward() } else { cable.backward() })
    };
    nics.map(|nic| {
        let ports = fabric.ports(nic).filter(|&port| fabric.port_role(port) == PortRole::Backend);
        ports.filter_map(|port| into(nic, port)).collect::<Vec<LinkId>>()
    })
    .filter(|links| links.len() > 1 && links.iter().any(|link| log.link_bytes[link.index()] >= 1.0))
    .collect()
}

/// Bytes from another host to each port of a backend NIC with several ports, for NICs that get anything.
fn arrived(case: &Case, log: &RunLog) -> Vec<Vec<f64>> {
    let bytes = |links: Vec<LinkId>| links.iter().map(|link| log.link_bytes[link.index()]).collect();
    links_into(case, log).into_iter().map(bytes).collect()
}

impl NicPorts {
    /// Of one replicate; none where no NIC has several ports and gets bytes on all of them.
    pub fn of(case: &Case, log: &RunLog) -> Option<Self> {
        let nics = arrived(case, log);
        Self::over(&nics)
    }

    /// Of the bytes of each NIC's ports.
    fn over(nics: &[Vec<f64>]) -> Option<Self> {
        let ratio = |ports: &Vec<f64>| -> Option<f64> {
            let most = ports.iter().copied().fold(0.0, f64::max);
            let least = ports.iter().copied().fold(f64::INFINITY, f64::min);
            // Less than a byte is what rounding of rates leaves behind.
            (least >= 1.0).then(|| most / least)
        };
        let mut ratios: Vec<f64> = nics.iter().filter_map(ratio).collect();
        ratios.sort_by(f64::total_cmp);
        Some(Self {
            mean: ratios.iter().sum::<f64>() / ratios.len() as f64,
            median: quantile(&ratios, 0.5)?,
            p95: quantile(&ratios, 0.95)?,
            max: *ratios.last()?,
            idle: 1.0 - ratios.len() as f64 / nics.len() as f64,
        })
    }
}

/// The figures `nic_port_ratio_mean`, `_median`, `_p95`, `_max` and `nic_port_idle`: means over replicates, p5 to p95.
pub fn figures(replicates: &[Replicate]) -> Vec<Figure> {
    let all: Vec<NicPorts> = replicates.iter().filter_map(|replicate| replicate.nic_ports).collect();
    if all.is_empty() {
        return Vec::new();
    }
    let figure = |declared: Declared, note: &str, of: fn(&NicPorts) -> f64| {
        let mut values: Vec<f64> = all.iter().map(of).collect();
        values.sort_by(f64::total_cmp);
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let mut figure = declared.figure(mean, &format!("{note}; mean over replicates, p5 to p95"));
        (figure.low, figure.high) = (quantile(&values, 0.05), quantile(&values, 0.95));
        figure
    };
    let ratio = "bytes to the busiest port of a NIC over those to its idlest";
    vec![
        figure(declared::NIC_PORT_RATIO_MEAN, &format!("{ratio}, mean over NICs"), |of| of.mean),
        figure(declared::NIC_PORT_RATIO_MEDIAN, &format!("{ratio}, median over NICs"), |of| of.median),
        figure(declared::NIC_PORT_RATIO_P95, &format!("{ratio}, 95th percentile over NICs"), |of| of.p95),
        figure(declared::NIC_PORT_RATIO_MAX, &format!("{ratio}, the most uneven NIC"), |of| of.max),
        figure(declared::NIC_PORT_IDLE, "NICs that get bytes, but none on one of their ports", |of| of.idle),
    ]
}

#[cfg(test)]
mod tests {
    use super::NicPorts;
    use crate::{Question, Run};

    #[test]
    fn a_port_without_bytes_has_no_ratio() {
        let nics = [vec![3.0, 1.0], vec![2.0, 2.0], vec![4.0, 0.0], vec![5.0, 5.0]];
        let of = NicPorts::over(&nics).unwrap();
        assert_eq!((of.mean, of.median, of.max, of.idle), (5.0 / 3.0, 1.0, 3.0, 0.25));
        assert_eq!(NicPorts::over(&[vec![1.0, 0.0]]), None);
        assert_eq!(NicPorts::over(&[]), None);
    }

    /// Across segments the port of arrival is the spine's choice in one plane and the sender's in two.
    #[test]
    fn planes_keep_the_port_of_the_sender() {
        let run = |planes: bool, nic_ports: u32| {
            let text = format!(
                "schema = 1\nname = \"p\"\n[run]\nreplicates = 4\n[fabric]\npreset = \"hpn\"\nsegments = 2\nhosts = 4\n\
                 spare_hosts = 0\nplanes = {planes}\n[routing]\nqueue_pairs = {nic_ports}\n[[job]]\nhosts = 8\n\
                 placement = \"spread\"\ncollective = {{ kind = \"all-reduce\", bytes = \"1 GB\", algorithm = \"nvls-ring\" }}\n"
            );
            let question = Question::of_text("p.toml", &text, std::path::Path::new("."));
            Run::of(question.resolve(&question.points().unwrap()[0].scenario).unwrap(), &|| ())
        };
        let two = run(true, 2);
        let even = two.figure("nic_port_ratio_max").unwrap();
        assert!((even - 1.0).abs() < 1e-9, "{even}");
        assert_eq!(two.figure("nic_port_idle"), Some(0.0));
        // Four queue pairs on two ports: all on one, three and one, or two and two.
        let one = run(false, 2);
        let most = one.figure("nic_port_ratio_max").unwrap();
        assert!((most - 3.0).abs() < 1e-6, "{most}");
        assert!(one.figure("nic_port_idle").unwrap() > 0.0);
    }
}
