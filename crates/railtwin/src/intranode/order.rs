//! Which part of the way of a message saturates first over a sweep of loads, and which next.
use railtwin_engine::intranode::PARTS;
use serde::Serialize;

use super::saturation::LOAD;
use super::{Label, Told, groups};

/// A part that saturates.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Saturated {
    /// Its name, of [`PARTS`].
    pub part: &'static str,
    /// The first load of the sweep at which messages wait in it for longer than a whole message takes at the least load.
    pub load: f64,
}

/// The parts that saturate on one choice of the other axes, the first one first.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Order {
    /// What was chosen on the other axes.
    pub label: Label,
    /// `inter` where messages leave hosts, else `intra`.
    pub messages: &'static str,
    /// Parts, by load; of one load the one nearest the target first, as what a part cannot take piles up before it.
    pub parts: Vec<Saturated>,
}

/// The order of each choice on the other axes than that of loads, in the order of points; empty without that axis. Waiting
/// is what a message spends in a part beyond what it does at the least load.
pub fn orders(points: &[Told]) -> Vec<Order> {
    let load = |point: &Told| {
        let (_, load) = point.label.iter().find(|(axis, _)| axis == LOAD)?;
        load.parse::<f64>().ok()
    };
    let Some(loads) = points.iter().map(load).collect::<Option<Vec<f64>>>() else { return Vec::new() };
    let order = |(label, rows): (Label, Vec<usize>)| {
        let mut points: Vec<(f64, &Told)> = rows.into_iter().map(|row| (loads[row], &points[row])).collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        let leave = points.iter().any(|(_, point)| point.value("inter_latency").is_some());
        let messages = if leave { "inter" } else { "intra" };
        // Loads at which a message arrived.
        points.retain(|(_, point)| point.value(&format!("{messages}_latency")).is_some());
        let whole = points.first().and_then(|(_, point)| point.value(&format!("{messages}_latency")));
        let mut parts: Vec<Saturated> =
            PARTS.iter().rev().filter_map(|part| saturated(part, messages, &points, whole?)).collect();
        parts.sort_by(|a, b| a.load.total_cmp(&b.load));
        Order { label, messages, parts }
    };
    groups(points.iter().map(|point| &point.label), |axis| axis != LOAD).into_iter().map(order).collect()
}

/// The load at which waiting in a part exceeds `whole`; none where it never does.
fn saturated(part: &'static str, messages: &str, points: &[(f64, &Told)], whole: f64) -> Option<Saturated> {
    let time = |point: &Told| point.value(&format!("{messages}_latency_{part}")).unwrap_or(0.0);
    let least = time(points.first()?.1);
    let load = points.iter().find(|(_, point)| time(point) - least > whole)?.0;
    Some(Saturated { part, load })
}

#[cfg(test)]
mod tests {
    use railtwin_store::Figure;

    use super::*;

    fn point(load: &str, target_nic: f64, network: f64) -> Told {
        let figures =
            [("inter_latency", 1.0 + target_nic + network), ("inter_latency_target_nic", target_nic)];
        let figures = figures.into_iter().chain([("inter_latency_inter", network)]);
        Told {
            label: vec![(LOAD.to_owned(), load.to_owned())],
            figures: figures.map(|(name, value)| Figure::new(name, value, "s")).collect(),
            ..Told::default()
        }
    }

    #[test]
    fn who_waits_longer_than_a_message_takes_comes_first() {
        let points =
            [point("0.6", 5.0, 2.0), point("0.1", 0.5, 0.5), point("0.4", 1.5, 0.5), point("1", 5.0, 9.0)];
        let [order] = &orders(&points)[..] else { panic!("one choice") };
        let parts: Vec<_> = order.parts.iter().map(|one| (one.part, one.load)).collect();
        // A message takes 2 s at 0.1: the target NIC has 1 s more at 0.4 and 4.5 s more at 0.6, the network 1.5 s at 0.6
        // and 8.5 s at 1.
        assert_eq!(parts, [("target_nic", 0.6), ("inter", 1.0)]);
        // Both at once: what the NIC does not take waits in the network.
        let points = [point("0.1", 0.5, 0.5), point("0.4", 5.0, 9.0)];
        let parts: Vec<_> = orders(&points).remove(0).parts.iter().map(|one| one.part).collect();
        assert_eq!(parts, ["target_nic", "inter"]);
        assert_eq!(order.messages, "inter");
        assert!(orders(&[Told::default()]).is_empty());
    }
}
