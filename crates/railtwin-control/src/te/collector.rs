//! The topology of now: what is built, less what the latest report of each link says is down.

use railtwin_fabric::{CableId, Fabric, LinkId};
use railtwin_routing::LinkMask;
use railtwin_units::SimTime;

/// What a report speaks of.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Subject {
    /// One direction.
    Link(LinkId),
    /// Both directions.
    Cable(CableId),
}

/// A link state as its switch flooded it (Open/R at Meta; Meta RoCE section 4.3.1).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct LinkReport {
    /// When the state began at the switch, for people: order is by version alone.
    pub time: SimTime,
    /// What it speaks of.
    pub subject: Subject,
    /// Whether packets get through.
    pub up: bool,
    /// Grows with every change of the subject. Reports of a cable and of its links count together.
    pub version: u64,
}

/// What became of a report.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Applied {
    /// A link changed its state.
    Changed,
    /// News, but of the state that was known.
    Unchanged,
    /// Late or repeated: a report at least as new was here before.
    Stale,
    /// The fabric has no such link or cable.
    Unknown,
}

/// Gathers reports in any order, any number of times, into the mask of dead links.
///
/// Where two reports of one version contradict each other, down wins: a dead link that is taken
/// for alive loses packets, a live one that is taken for dead only rests.
#[derive(Clone, Debug)]
pub struct Collector {
    mask: LinkMask,
    /// By link: newest version seen; 0 before any report.
    version: Vec<u64>,
    last_change: SimTime,
}

impl Collector {
    /// Everything that is built is alive until reported otherwise.
    pub fn new(fabric: &Fabric) -> Self {
        Self {
            mask: LinkMask::none(fabric),
            version: vec![0; fabric.link_count()],
            last_change: SimTime::ZERO,
        }
    }

    /// Takes in a report. Versions count from 1; one of version 0 is stale.
    pub fn apply(&mut self, report: &LinkReport) -> Applied {
        let links: &[LinkId] = match report.subject {
            Subject::Link(link) => &[link],
            Subject::Cable(cable) if cable.index() < self.version.len() / 2 => {
                &[cable.forward(), cable.backward()]
            }
            Subject::Cable(_) => &[],
        };
        if links.iter().any(|link| link.index() >= self.version.len()) || links.is_empty() {
            return Applied::Unknown;
        }
        let mut outcome = Applied::Stale;
        for &link in links {
            let now = self.take(link, report);
            // `Changed` sorts before `Unchanged`, and that before `Stale`.
            outcome = outcome.min(now);
        }
        if outcome == Applied::Changed {
            self.last_change = self.last_change.max(report.time);
        }
        outcome
    }

    fn take(&mut self, link: LinkId, report: &LinkReport) -> Applied {
        let known = &mut self.version[link.index()];
        let newer = report.version > *known;
        let contradicts = report.version == *known && *known > 0 && !report.up && !self.mask.is_down(link);
        if !newer && !contradicts {
            return Applied::Stale;
        }
        *known = report.version;
        let changed = self.mask.is_down(link) == report.up;
        self.mask.set_link(link, !report.up);
        if changed { Applied::Changed } else { Applied::Unchanged }
    }

    /// The links that are dead as far as is known.
    pub fn mask(&self) -> &LinkMask {
        &self.mask
    }

    /// The latest time of a report that changed something.
    pub fn last_change(&self) -> SimTime {
        self.last_change
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use railtwin_fabric::preset::LeafSpine;

    use super::*;

    fn report(subject: Subject, up: bool, version: u64) -> LinkReport {
        LinkReport { time: SimTime::from_ns(version), subject, up, version }
    }

    #[test]
    fn a_cable_goes_down_and_late_news_do_not_revive_it() {
        let fabric = LeafSpine::default().build().expect("default preset");
        let mut collector = Collector::new(&fabric);
        let cable = CableId(5);
        assert_eq!(collector.apply(&report(Subject::Cable(cable), false, 3)), Applied::Changed);
        assert!(collector.mask().is_down(cable.forward()) && collector.mask().is_down(cable.backward()));
        assert_eq!(collector.last_change(), SimTime::from_ns(3));
        assert_eq!(collector.apply(&report(Subject::Cable(cable), true, 2)), Applied::Stale, "late");
        assert_eq!(collector.apply(&report(Subject::Cable(cable), false, 3)), Applied::Stale, "twice");
        assert_eq!(collector.apply(&report(Subject::Cable(cable), false, 4)), Applied::Unchanged);
        assert_eq!(collector.apply(&report(Subject::Link(cable.forward()), true, 5)), Applied::Changed);
        assert_eq!(collector.mask().down_links().collect::<Vec<_>>(), [cable.backward()]);
    }

    #[test]
    fn what_is_not_built_is_unknown() {
        let fabric = LeafSpine::default().build().expect("default preset");
        let mut collector = Collector::new(&fabric);
        for subject in [Subject::Link(LinkId(u32::MAX)), Subject::Cable(CableId(u32::MAX))] {
            assert_eq!(collector.apply(&report(subject, false, 1)), Applied::Unknown);
        }
        assert_eq!(collector.mask().down_count(), 0);
    }

    proptest! {
        #[test]
        fn order_and_repetition_do_not_matter(
            (reports, shuffled) in prop::collection::vec((0u32..6, any::<bool>(), any::<bool>(), 1u64..6), 0..40)
                .prop_flat_map(|list| {
                    let twice: Vec<_> = list.iter().chain(&list).copied().collect();
                    (Just(list), Just(twice).prop_shuffle())
                })
        ) {
            let fabric = LeafSpine::default().build().expect("default preset");
            let gather = |list: &[(u32, bool, bool, u64)]| {
                let mut collector = Collector::new(&fabric);
                for &(number, cable, up, version) in list {
                    let subject = match cable {
                        true => Subject::Cable(CableId(number / 2)),
                        false => Subject::Link(LinkId(number)),
                    };
                    collector.apply(&report(subject, up, version));
                }
                collector
            };
            let (once, twice) = (gather(&reports), gather(&shuffled));
            prop_assert_eq!(once.mask(), twice.mask());
            // The newest report of each link holds.
            for link in (0..6).map(LinkId) {
                let of_link = reports.iter().filter(|&&(number, cable, ..)| {
                    if cable { link.cable() == CableId(number / 2) } else { link == LinkId(number) }
                });
                let newest = of_link.map(|&(_, _, up, version)| (version, !up)).max();
                prop_assert_eq!(once.mask().is_down(link), newest.is_some_and(|(_, down)| down));
            }
        }
    }
}
