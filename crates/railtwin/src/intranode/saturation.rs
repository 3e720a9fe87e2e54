//! From which load on a sweep over loads falls short of what is offered.
use super::{Label, Told};

/// The axis of loads.
pub const LOAD: &str = "intranode.load";

/// Share of what is offered that may be under way, or lost to chance, before a network counts as saturated.
pub const SHORT_OF: f64 = 0.03;

/// Shares that arrived of what was offered inside hosts and between them, and to functional units and from them: a network
/// is saturated for all where one of them falls short, as the others follow once buffers are full.
pub(super) const CARRIED: [&str; 4] =
    ["intra_carried_share", "inter_carried_share", "to_units_carried_share", "from_units_carried_share"];

/// Shares of what was offered, as in [`CARRIED`], that neither arrived nor found its queue full: it came to stand in
/// queues and buffers while was counted. Of a network that has settled it is 0, but for chance; below 0 they empty.
pub(super) const FILLING: [&str; 4] =
    ["intra_filling_share", "inter_filling_share", "to_units_filling_share", "from_units_filling_share"];

/// Share of what is offered that may come to stand in queues before a point counts as one that has not settled.
pub const FILLS: f64 = 0.02;

/// Latencies that have to settle.
const LATENCIES: [&str; 4] = ["intra_latency", "inter_latency", "to_units_latency", "from_units_latency"];

/// Name of the figure that says whether a latency has settled: 1, or 0 where it still grows.
pub(super) fn settled_name(latency: &str) -> String {
    format!("{latency}_settled")
}

/// Whether a latency, or a part of it, has not settled at a point: the figure is of this window alone, and mostly too low.
pub fn is_growing(point: &Told, figure: &str) -> bool {
    let whole = LATENCIES.iter().find(|whole| figure.starts_with(**whole));
    whole.is_some_and(|whole| point.value(&settled_name(whole)) == Some(0.0))
}

/// What was chosen on the other axes, and the least load of those at which less than `1 - SHORT_OF` of what was offered
/// inside hosts, between them, or to or from units, arrived; none where there is none.
pub type Saturation = (Label, Option<f64>);

/// Whether a point carries less than was offered.
fn is_short(point: &Told) -> bool {
    CARRIED.iter().filter_map(|name| point.value(name)).any(|share| share < 1.0 - SHORT_OF)
}

/// Points that have not settled: their queues fill or their latencies differ between both halves of the window.
pub fn unsettled(points: &[Told]) -> impl Iterator<Item = &Told> {
    let fills = |point: &Told| FILLING.iter().filter_map(|name| point.value(name)).any(|share| share > FILLS);
    let grows = |point: &Told| LATENCIES.iter().any(|latency| is_growing(point, latency));
    points.iter().filter(move |point| fills(point) || grows(point))
}

/// The saturation of each choice on the other axes than that of loads, in the order of points; empty without that axis.
/// Where nothing was offered nothing is told.
pub fn saturations(points: &[Told]) -> Vec<Saturation> {
    let mut found: Vec<Saturation> = Vec::new();
    for point in points {
        let Some((_, load)) = point.label.iter().find(|(axis, _)| axis == LOAD) else { return Vec::new() };
        let Ok(load) = load.parse::<f64>() else { return Vec::new() };
        if CARRIED.iter().all(|name| point.value(name).is_none()) {
            continue;
        }
        let mut others = point.label.clone();
        others.retain(|(axis, _)| axis != LOAD);
        let row = found.iter().position(|(label, _)| *label == others).unwrap_or_else(|| {
            found.push((others, None));
            found.len() - 1
        });
        if is_short(point) && found[row].1.is_none_or(|known| load < known) {
            found[row].1 = Some(load);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use railtwin_store::Figure;

    use super::*;

    fn point(pattern: &str, load: &str, carried: f64) -> Told {
        let label = [("intranode.pattern", pattern), (LOAD, load)];
        Told {
            label: label.map(|(axis, value)| (axis.to_owned(), value.to_owned())).to_vec(),
            figures: vec![Figure::new(CARRIED[1], carried, "")],
            ..Told::default()
        }
    }

    #[test]
    fn the_least_load_that_falls_short() {
        let points = [
            point("c1", "0.1", 0.99),
            point("c1", "0.3", 0.6),
            point("c1", "0.2", 0.9),
            point("c5", "0.1", 1.0),
        ];
        let found = saturations(&points);
        let mut filling = point("c1", "0.05", 1.0);
        filling.figures.push(Figure::new(FILLING[1], 0.03, ""));
        let mut settled = point("c1", "0.2", 0.5);
        settled.figures.push(Figure::new(FILLING[1], 0.01, ""));
        settled.figures.push(Figure::new(FILLING[3], -0.1, ""));
        assert_eq!(unsettled(&[settled, filling.clone()]).collect::<Vec<_>>(), [&filling]);
        let empty = Told { label: points[0].label.clone(), ..Told::default() };
        assert!(saturations(&[empty]).is_empty(), "nothing was offered");
        assert_eq!(found.len(), 2);
        assert_eq!((found[0].1, found[1].1), (Some(0.2), None));
        assert!(saturations(&[Told::default()]).is_empty());
    }
}
