//! `iblinkinfo` and `ibnetdiscover` of infiniband-diags: links with width, speed and state.

/// One end of a link.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct IbPort {
    /// Description of the node, such as `gpu-v1 HCA-1` or `MF0;leaf-1:MQM8700/U1`; empty where nothing answers.
    pub node: String,
    /// Number of the port.
    pub port: u32,
    /// Whether the node is a switch.
    pub is_switch: bool,
}

/// A link as one of its ends says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IbLink {
    /// The end that says so.
    pub from: IbPort,
    /// The other end, where one answers.
    pub to: Option<IbPort>,
    /// Lanes in use; none where the link is down.
    pub lanes: Option<u32>,
    /// Speed of a lane in its own words: `25.78125 Gbps`, `EDR`; empty where the link is down.
    pub speed: String,
    /// Logical and physical state, such as `Active` and `LinkUp`; empty where the tool does not say.
    pub state: [String; 2],
    /// Width and speed that both ends could have, as the tool says: `4X`, `50.0 Gbps`.
    pub possible: Option<String>,
    /// Line of the text, from 1 on.
    pub line: u64,
}

pub(super) fn is_links(text: &str) -> bool {
    text.lines().any(|line| line.contains("==(") && line.contains(")==>"))
        || text.starts_with("# Topology file: generated")
        || text.lines().any(|line| line.starts_with("vendid=0x"))
            && text.lines().any(|line| line.starts_with("Switch\t") || line.starts_with("Ca\t"))
}

pub(super) fn read(text: &str) -> Option<Vec<IbLink>> {
    let is_info = text.lines().any(|line| line.contains("==("));
    let links = if is_info { link_info(text) } else { net_discover(text) };
    (!links.is_empty()).then_some(links)
}

/// `4X`, `4x` or `1X` as a number of lanes.
fn lanes_of(word: &str) -> Option<u32> {
    word.strip_suffix(['X', 'x'])?.parse().ok().filter(|lanes| (1..=12).contains(lanes))
}

fn link_info(text: &str) -> Vec<IbLink> {
    let mut links = Vec::new();
    let mut node: Option<(String, bool)> = None;
    for (line, number) in text.lines().zip(1_u64..) {
        if let Some(name) = line.strip_prefix("CA: ").or_else(|| line.strip_prefix("RT: ")) {
            node = Some((name.trim().trim_end_matches(':').to_owned(), false));
            continue;
        }
        if let Some(rest) = line.strip_prefix("Switch: ") {
            // The identity of a switch stands before its name.
            let name = rest
                .split_once(' ')
                .filter(|(guid, _)| guid.starts_with("0x"))
                .map_or(rest, |(_, name)| name);
            node = Some((name.trim().trim_end_matches(':').to_owned(), true));
            continue;
        }
        let Some((name, is_switch)) = &node else { continue };
        links.extend(info_row(line, number, name, *is_switch));
    }
    links
}

/// `3    2[  ] ==( 1X      25.78125 Gbps Active/  LinkUp)==>       2    1[  ] "gpu-v1 HCA-1" ( Could be 4X)`.
fn info_row(line: &str, number: u64, node: &str, is_switch: bool) -> Option<IbLink> {
    let (left, rest) = line.split_once("==(")?;
    let (state, right) = rest.split_once(")==>")?;
    let port = left.split('[').next()?.split_whitespace().last()?.parse().ok()?;
    let (ways, physical) = state.split_once('/')?;
    let mut words: Vec<&str> = ways.split_whitespace().collect();
    let logical = words.pop()?;
    let lanes = words.first().and_then(|word| lanes_of(word));
    let speed = words.iter().skip(1).copied().collect::<Vec<_>>().join(" ");
    let mut quoted = right.splitn(3, '"');
    let place = quoted.next().unwrap_or_default();
    let name = quoted.next().unwrap_or_default();
    let remark = quoted.next().unwrap_or_default();
    let far_port = place
        .split('[')
        .next()
        .and_then(|text| text.split_whitespace().last())
        .and_then(|word| word.parse().ok());
    let to = far_port.filter(|_| !name.is_empty()).map(|port| IbPort {
        node: name.to_owned(),
        port,
        // Switches name themselves by their firmware's management first, and hosts are asked themselves.
        is_switch: name.starts_with("MF0;") || name.starts_with("Quantum") || name.starts_with("SwitchX"),
    });
    let possible =
        remark.split_once("Could be ").map(|(_, rest)| rest.trim_end_matches([')', ' ']).to_owned());
    Some(IbLink {
        from: IbPort { node: node.to_owned(), port, is_switch },
        to,
        lanes,
        speed,
        state: [logical.to_owned(), physical.trim().to_owned()],
        possible: possible.filter(|text| !text.is_empty()),
        line: number,
    })
}

/// `Switch 41 "S-b859" # "MF0;leaf-1:MQM8700/U1" … lid 3 lmc 0`, then rows `[2] "H-0a02"[1](a02) # "gpu-v1 HCA-1" lid 2
/// 1xEDR`, with tabs between.
fn net_discover(text: &str) -> Vec<IbLink> {
    let mut links = Vec::new();
    let mut node: Option<(String, bool)> = None;
    for (line, number) in text.lines().zip(1_u64..) {
        let is_switch = line.starts_with("Switch\t");
        if is_switch || line.starts_with("Ca\t") || line.starts_with("Rt\t") {
            let name = line.split_once('#').and_then(|(_, rest)| rest.split('"').nth(1));
            node = name.map(|name| (name.to_owned(), is_switch));
            continue;
        }
        let Some((name, is_switch)) = &node else { continue };
        links.extend(discovered_row(line, number, name, *is_switch));
    }
    links
}

fn discovered_row(line: &str, number: u64, node: &str, is_switch: bool) -> Option<IbLink> {
    let rest = line.strip_prefix('[')?;
    let (port, rest) = rest.split_once(']')?;
    let (place, remark) = rest.split_once('#')?;
    let mut quoted = place.splitn(3, '"').skip(1);
    let (identity, behind) = (quoted.next()?, quoted.next()?);
    let far_port = behind.strip_prefix('[')?.split(']').next()?.parse().ok()?;
    let name = remark.split('"').nth(1)?;
    let last = remark.split_whitespace().last()?;
    let cut = last.find('x')?;
    let lanes = lanes_of(last.get(..=cut)?)?;
    Some(IbLink {
        from: IbPort { node: node.to_owned(), port: port.parse().ok()?, is_switch },
        to: Some(IbPort { node: name.to_owned(), port: far_port, is_switch: identity.starts_with("S-") }),
        lanes: Some(lanes),
        speed: last.get(cut + 1..)?.to_owned(),
        state: [String::new(), String::new()],
        possible: None,
        line: number,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_both_tools_are_read() {
        let text = "Switch: 0x0b03 MF0;leaf-1:MQM8700/U1:\n           3    2[  ] ==( 1X      25.78125 Gbps Active/  LinkUp)==>       \
                    2    1[  ] \"gpu-v1 HCA-1\" ( Could be 4X)\n           3    4[  ] ==(                Down/ Polling)==>             \
                    [  ] \"\" ( )\n";
        let links = read(text).expect("links");
        assert_eq!((links[0].lanes, links[0].possible.as_deref()), (Some(1), Some("4X")));
        assert_eq!(links[0].from, IbPort { node: "MF0;leaf-1:MQM8700/U1".into(), port: 2, is_switch: true });
        assert_eq!(links[0].to, Some(IbPort { node: "gpu-v1 HCA-1".into(), port: 1, is_switch: false }));
        assert_eq!((&links[1].to, links[1].lanes), (&None, None));
        assert_eq!(links[1].state, ["Down", "Polling"]);
        let text = "#\n# Topology file: generated on Mon Nov  2 12:00:00 2026\nvendid=0x2c9\nSwitch\t41 \"S-b859\"\t\t# \"MF0;leaf-1\" \
                    enhanced port 0 lid 3 lmc 0\n[2]\t\"H-0a02\"[1](a02) \t\t# \"gpu-v1 HCA-1\" lid 2 1xEDR\n";
        let links = read(text).expect("links");
        assert_eq!((links[0].lanes, links[0].speed.as_str(), links[0].from.port), (Some(1), "EDR", 2));
    }
}
