//! What switches and hosts know of dead links at one time.
use railtwin_fabric::Fabric;
use railtwin_routing::LinkMask;

use super::{Change, View};

/// The links that paths avoid: of traffic that is routed, and of what leaves bridge.
#[derive(Clone, Debug)]
pub struct Known {
    /// By traffic that is routed.
    pub routed: LinkMask,
    /// By what leaves bridge between NICs of their own.
    pub bridged: LinkMask,
}

impl Known {
    /// Nothing is avoided yet.
    pub fn new(fabric: &Fabric) -> Self {
        let none = LinkMask::none(fabric);
        Self { routed: none.clone(), bridged: none }
    }

    /// Takes note of a change; false where it changes no path.
    pub fn learn(&mut self, change: Change) -> bool {
        let (link, view, avoid) = match change {
            Change::Avoided(link, view) => (link, view, true),
            Change::Used(link, view) => (link, view, false),
            _ => return false,
        };
        let before = self.routed.generation() + self.bridged.generation();
        if view != View::Bridged {
            self.routed.set_link(link, avoid);
        }
        if view != View::Routed {
            self.bridged.set_link(link, avoid);
        }
        before != self.routed.generation() + self.bridged.generation()
    }
}
