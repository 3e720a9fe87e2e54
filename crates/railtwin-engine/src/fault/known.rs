//! What switches, hosts and planners know of dead links at one time.
use railtwin_fabric::Fabric;
use railtwin_routing::LinkMask;

use super::{Change, View};
use crate::case::Replan;

/// The links that paths avoid: of traffic that is routed, of what leaves bridge, and of who plans paths.
#[derive(Clone, Debug)]
pub struct Known {
    /// By traffic that is routed.
    pub routed: LinkMask,
    /// By what leaves bridge between NICs of their own.
    pub bridged: LinkMask,
    /// By who plans paths.
    pub planned: LinkMask,
    /// When it plans again.
    pub replan: Replan,
}

impl Known {
    /// Nothing is avoided yet.
    pub fn new(fabric: &Fabric, replan: Replan) -> Self {
        let none = LinkMask::none(fabric);
        Self { routed: none.clone(), bridged: none.clone(), planned: none, replan }
    }

    /// Who plans learns what switches know; false where it knew.
    pub fn plan(&mut self) -> bool {
        let news = self.planned != self.routed;
        self.planned = self.routed.clone();
        news
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
