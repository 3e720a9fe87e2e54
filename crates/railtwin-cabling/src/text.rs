//! The small words of a design: names with braces, lists of ports, zones and links.
use railtwin_units::Rate;

use crate::error::Refused;

/// Largest number of a port.
const PORT_MAX: u32 = 65_535;
/// Most ports of a zone, and most interfaces of a link.
pub(crate) const PORTS_MAX: usize = 65_536;

/// A name that a text with braces stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Expanded {
    pub(crate) text: String,
    /// The item of the first group of braces; empty without braces.
    pub(crate) first: String,
    /// Its index in that group.
    pub(crate) index: u32,
}

/// Names of a text with groups in braces: `be{0-7}-p{0,1}` has 16 names, those of the last group next to each other.
///
/// # Errors
/// Groups that do not close, empty ranges, more than `most` names.
pub(crate) fn expand(text: &str, most: usize) -> Result<Vec<Expanded>, Refused> {
    let accepted = "write groups such as {0-7} or {a,b}";
    let mut names = vec![Expanded { text: String::new(), first: String::new(), index: 0 }];
    let (mut rest, mut groups) = (text, 0);
    while let Some((before, after)) = rest.split_once('{') {
        let (group, tail) = after
            .split_once('}')
            .ok_or_else(|| Refused::new(format!("`{text}` opens no group that closes"), accepted))?;
        let items = group_items(group, most)
            .ok_or_else(|| Refused::new(format!("`{{{group}}}` is no group"), accepted))?;
        if names.len().saturating_mul(items.len()) > most {
            return Err(Refused::new(format!("`{text}` has more than {most} names"), "write smaller groups"));
        }
        let mut longer = Vec::with_capacity(names.len() * items.len());
        for name in &names {
            for (index, item) in (0..).zip(&items) {
                let whole = format!("{}{before}{item}", name.text);
                let (first, index) =
                    if groups == 0 { (item.clone(), index) } else { (name.first.clone(), name.index) };
                longer.push(Expanded { text: whole, first, index });
            }
        }
        (names, rest, groups) = (longer, tail, groups + 1);
    }
    if rest.contains('}') {
        return Err(Refused::new(format!("`{text}` closes a group that is not open"), accepted));
    }
    names.iter_mut().for_each(|name| name.text.push_str(rest));
    Ok(names)
}

/// Items of a group: `0-7` or `a,b,c`.
fn group_items(group: &str, most: usize) -> Option<Vec<String>> {
    if let Some((first, last)) = group.split_once('-')
        && let (Ok(first), Ok(last)) = (first.trim().parse::<u32>(), last.trim().parse::<u32>())
    {
        let count = last.checked_sub(first)? as usize + 1;
        return (count <= most).then(|| (first..=last).map(|number| number.to_string()).collect());
    }
    let items: Vec<String> = group.split(',').map(|item| item.trim().to_owned()).collect();
    items.iter().all(|item| !item.is_empty()).then_some(items)
}

/// Ports of a list, in its order: `1-63:2,64` are the odd ones to 63, then 64.
///
/// # Errors
/// Numbers beyond 65,535, ranges that run backwards, a port that stands twice.
pub(crate) fn port_list(text: &str) -> Result<Vec<u32>, Refused> {
    let accepted = "write ports such as 1-32, 2-64:2 or 26,28,38-63";
    let refuse = |part: &str| Refused::new(format!("`{part}` is no range of ports"), accepted);
    let number = |text: &str| text.trim().parse::<u32>().ok().filter(|&port| port <= PORT_MAX);
    let mut ports = Vec::new();
    for part in text.split(',') {
        let (range, step) = part.split_once(':').unwrap_or((part, "1"));
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (Some(first), Some(last), Some(step)) = (number(first), number(last), number(step)) else {
            return Err(refuse(part));
        };
        if first > last || step == 0 {
            return Err(refuse(part));
        }
        ports.extend((first..=last).step_by(step as usize));
        if ports.len() > PORTS_MAX {
            return Err(Refused::new("has more than 65536 ports", accepted));
        }
    }
    let mut sorted = ports.clone();
    sorted.sort_unstable();
    match sorted.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(twice) => Err(Refused::new(format!("has port {} twice", twice[0]), "write each port once")),
        None => Ok(ports),
    }
}

/// Ports of a zone as a text says them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ZoneText {
    pub(crate) ports: Vec<u32>,
    pub(crate) lanes: u32,
    pub(crate) rate: Rate,
    pub(crate) optic: Option<String>,
}

/// A zone: `1-63:2 as 4x200`, and `with sr2` for a transceiver of its own.
///
/// # Errors
/// As [`port_list`]; a breakout that is none.
pub(crate) fn zone(text: &str) -> Result<ZoneText, Refused> {
    let (text, optic) = with_optic(text);
    let accepted = "write ports and breakout such as 1-32 as 2x400, in Gbps";
    let (ports, breakout) =
        text.split_once(" as ").ok_or_else(|| Refused::new("has no breakout", accepted))?;
    let (lanes, rate) = breakout_of(breakout)
        .ok_or_else(|| Refused::new(format!("`{}` is no breakout", breakout.trim()), accepted))?;
    Ok(ZoneText { ports: port_list(ports)?, lanes, rate, optic })
}

/// `2x400`, `2x400g`, `400`.
fn breakout_of(text: &str) -> Option<(u32, Rate)> {
    let text = text.trim().to_ascii_lowercase();
    let text = text.strip_suffix('g').unwrap_or(&text);
    let (lanes, gbps) = text.split_once('x').unwrap_or(("1", text));
    let lanes = lanes.trim().parse().ok().filter(|lanes| (1..=64).contains(lanes))?;
    let gbps = gbps.trim().parse().ok().filter(|gbps| (1..=100_000).contains(gbps))?;
    Some((lanes, Rate::from_gbps(gbps)))
}

/// Splits `with OPTIC` off.
fn with_optic(text: &str) -> (&str, Option<String>) {
    match text.rsplit_once(" with ") {
        Some((before, optic)) => (before, Some(optic.trim().to_owned())),
        None => (text, None),
    }
}

/// A link as a text says it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LinkText {
    pub(crate) interfaces: Vec<Expanded>,
    pub(crate) class: String,
    pub(crate) zone: Option<String>,
    pub(crate) rule: String,
    pub(crate) optic: Option<String>,
}

/// A link: `be{0-7}-port0 to be-leaf by rail`, with `be-leaf.zone` where the class has several zones.
///
/// # Errors
/// Text of another shape; as [`expand`].
pub(crate) fn link(text: &str) -> Result<LinkText, Refused> {
    let (text, optic) = with_optic(text);
    let accepted = "write a link such as be{0-7}-port0 to be-leaf by rail";
    let refuse = || Refused::new(format!("`{text}` is no link"), accepted);
    let (names, rest) = text.split_once(" to ").ok_or_else(refuse)?;
    let (target, rule) = rest.split_once(" by ").ok_or_else(refuse)?;
    let (class, zone) = match target.trim().split_once('.') {
        Some((class, zone)) => (class, Some(zone.to_owned())),
        None => (target.trim(), None),
    };
    let interfaces = expand(names.trim(), PORTS_MAX)?;
    if interfaces.iter().any(|name| name.text.is_empty()) || class.is_empty() {
        return Err(refuse());
    }
    Ok(LinkText { interfaces, class: class.to_owned(), zone, rule: rule.trim().to_owned(), optic })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> Vec<String> {
        expand(text, 100).expect("names").into_iter().map(|name| name.text).collect()
    }

    #[test]
    fn braces_stand_for_names_and_tell_the_first_group() {
        assert_eq!(names("be{8-10}-p{0,1}"), ["be8-p0", "be8-p1", "be9-p0", "be9-p1", "be10-p0", "be10-p1"]);
        assert_eq!(names("plain"), ["plain"]);
        let all = expand("x{a,b}{0-1}", 9).expect("names");
        assert_eq!(
            all.iter().map(|name| (name.first.as_str(), name.index)).collect::<Vec<_>>(),
            [("a", 0), ("a", 0), ("b", 1), ("b", 1)]
        );
        for wrong in ["a{0-7", "a0-7}", "a{}", "a{7-0}", "a{0-9999}"] {
            assert!(expand(wrong, 100).is_err(), "{wrong}");
        }
    }

    #[test]
    fn ports_keep_the_order_of_the_list() {
        assert_eq!(port_list("2-8:2, 1").expect("ports"), [2, 4, 6, 8, 1]);
        for wrong in ["", "a", "4-1", "1-4:0", "1,1", "70000", "1-3,2"] {
            assert!(port_list(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_zone_has_ports_breakout_and_optic() {
        let found = zone("1-3:2 as 4x200 with sr2").expect("zone");
        let rate = Rate::from_gbps(200);
        assert_eq!(found, ZoneText { ports: vec![1, 3], lanes: 4, rate, optic: Some("sr2".to_owned()) });
        assert!(zone("1-3").is_err() && zone("1-3 as x").is_err() && zone("1-3 as 0x100").is_err());
    }
}
