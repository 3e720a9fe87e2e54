//! `ibstat` of infiniband-diags and `mlxlink` of NVIDIA's firmware tools: the state of ports.

/// A port as a tool describes it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PortStatus {
    /// The device, such as `mlx5_0`, with its port where it has several.
    pub device: String,
    /// The model and link layer; ports with the same are compared.
    pub model: String,
    /// Logical state, such as `Active`; empty where it is not told.
    pub state: String,
    /// Physical state, such as `LinkUp`; empty where it is not told.
    pub physical: String,
    /// Rate in Gbit/s, where it is told.
    pub gbps: Option<f64>,
    /// Trouble in the tool's own words, where it reports some.
    pub trouble: Option<String>,
    /// Line of the text at which its block begins, from 1 on.
    pub line: u64,
}

fn is_ibstat_head(line: &str) -> bool {
    line.starts_with("CA '") && line.trim_end().ends_with('\'')
}

fn is_mlxlink(text: &str) -> bool {
    text.lines().any(|line| line.trim() == "Operational Info")
        && text.lines().any(|line| line.trim_start().starts_with("Physical state"))
}

pub(super) fn is_ports(text: &str) -> bool {
    text.lines().any(is_ibstat_head) || is_mlxlink(text)
}

pub(super) fn read(text: &str, device: &str) -> Option<Vec<PortStatus>> {
    let ports = if text.lines().any(is_ibstat_head) { ibstat(text) } else { mlxlink(text, device) };
    (!ports.is_empty()).then_some(ports)
}

fn ibstat(text: &str) -> Vec<PortStatus> {
    let mut ports: Vec<PortStatus> = Vec::new();
    let (mut device, mut model) = (String::new(), String::new());
    for (line, number) in text.lines().zip(1_u64..) {
        if is_ibstat_head(line) {
            device = line.trim_start_matches("CA '").trim_end().trim_end_matches('\'').to_owned();
            model.clear();
            continue;
        }
        let Some((key, value)) = line.trim().split_once(':') else { continue };
        let value = value.trim();
        if key == "CA type" {
            value.clone_into(&mut model);
        } else if key.starts_with("Port ") && value.is_empty() && !device.is_empty() {
            let port = key.trim_start_matches("Port ");
            let name = if port == "1" { device.clone() } else { format!("{device}:{port}") };
            ports.push(PortStatus {
                device: name,
                model: model.clone(),
                line: number,
                ..PortStatus::default()
            });
        } else if let Some(port) = ports.last_mut() {
            match key {
                "State" => value.clone_into(&mut port.state),
                "Physical state" => value.clone_into(&mut port.physical),
                "Rate" => port.gbps = value.parse().ok().filter(|gbps: &f64| gbps.is_finite()),
                "Link layer" => port.model = format!("{} {value}", port.model),
                _ => {}
            }
        }
    }
    ports
}

fn mlxlink(text: &str, device: &str) -> Vec<PortStatus> {
    let mut port = PortStatus { device: device.to_owned(), line: 1, ..PortStatus::default() };
    let (mut opcode, mut advice) = (None, None);
    for line in text.lines() {
        let Some((key, value)) = line.split_once(':') else { continue };
        let value = value.trim();
        match key.trim() {
            "State" => value.clone_into(&mut port.state),
            "Physical state" => value.clone_into(&mut port.physical),
            "Status Opcode" => opcode = value.parse::<u32>().ok(),
            "Recommendation" if !value.is_empty() => advice = Some(value.to_owned()),
            _ => {}
        }
    }
    // Opcode 0 is «No issue was observed», 1024 a port that was closed by command.
    port.trouble = advice.filter(|_| opcode.is_some_and(|code| code != 0 && code != 1024));
    if port.state.is_empty() && port.physical.is_empty() { Vec::new() } else { vec![port] }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_of_both_tools_are_read() {
        let text = "CA 'mlx5_0'\n\tCA type: MT4129\n\tNumber of ports: 1\n\tPort 1:\n\t\tState: Down\n\t\tPhysical state: Polling\n\t\t\
                    Rate: 10\n\t\tLink layer: InfiniBand\n";
        assert!(is_ports(text));
        let ports = read(text, "nic").expect("ports");
        assert_eq!((ports[0].device.as_str(), ports[0].model.as_str()), ("mlx5_0", "MT4129 InfiniBand"));
        assert_eq!((ports[0].state.as_str(), ports[0].gbps), ("Down", Some(10.0)));
        let text = "Operational Info\n----------------\nState                              : Polling\nPhysical state                     : \
                    ETH_AN_FSM_ENABLE\n\nTroubleshooting Info\n--------------------\nStatus Opcode                      : 1023\n\
                    Group Opcode : MNG FW\nRecommendation                     : Cable is unplugged\n";
        let ports = read(text, "mlx5_3").expect("ports");
        assert_eq!(ports[0].trouble.as_deref(), Some("Cable is unplugged"));
        let ports = read(&text.replace("1023", "0"), "mlx5_3").expect("ports");
        assert_eq!(ports[0].trouble, None);
    }
}
