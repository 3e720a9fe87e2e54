//! What detectors know besides records: who is who, and the fabric where there is one.
use railtwin_fabric::{Fabric, LinkId};
use railtwin_records::{Component, Directory};

use crate::settings::Settings;

/// Everything that a detector may look at besides the batch.
#[derive(Clone, Copy, Debug)]
pub struct Context<'a> {
    /// Who is who; grows between batches.
    pub directory: &'a Directory,
    /// The fabric, where it is known.
    pub fabric: Option<&'a Fabric>,
    /// Thresholds.
    pub settings: &'a Settings,
}

impl Context<'_> {
    /// The cable of a link as a component; none without a fabric.
    pub fn cable_of(&self, link: u32) -> Option<Component> {
        let fabric = self.fabric?;
        Some(Component::Cable(fabric.cable_name(LinkId(link).cable())))
    }
}
