//! Which links are dead: a bitset beside the fabric, which itself never changes.

use std::sync::Arc;

use railtwin_fabric::{CableId, DeviceId, Fabric, LinkId};

const WORD_BITS: usize = u64::BITS as usize;

/// The dead links of a fabric. Clones share the bits until one of them is changed.
#[derive(Clone, Debug)]
pub struct LinkMask {
    /// One bit a link, set where the link is dead.
    words: Arc<Vec<u64>>,
    /// Links that are dead.
    down: usize,
    generation: u64,
}

impl LinkMask {
    /// A mask for `fabric` with every link alive.
    #[inline]
    pub fn none(fabric: &Fabric) -> Self {
        Self { words: Arc::new(vec![0; fabric.link_count().div_ceil(WORD_BITS)]), down: 0, generation: 0 }
    }

    /// Whether a link is dead.
    ///
    /// # Panics
    /// If the link is not of the fabric that the mask was made for (far out of its range).
    #[inline]
    pub fn is_down(&self, link: LinkId) -> bool {
        let (word, bit) = (link.index() / WORD_BITS, link.index() % WORD_BITS);
        self.words[word] >> bit & 1 == 1
    }

    /// Number of dead links.
    #[inline]
    pub fn down_count(&self) -> usize {
        self.down
    }

    /// Grows by one with every change of a link, so that who holds tables made from an earlier
    /// mask can tell. Clones count on separately.
    #[inline]
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// Kills or revives one direction of a cable.
    pub fn set_link(&mut self, link: LinkId, down: bool) {
        if self.is_down(link) == down {
            return;
        }
        Arc::make_mut(&mut self.words)[link.index() / WORD_BITS] ^= 1 << (link.index() % WORD_BITS);
        self.generation += 1;
        if down {
            self.down += 1;
        } else {
            self.down -= 1;
        }
    }

    /// Kills or revives both directions of a cable.
    #[inline]
    pub fn set_cable(&mut self, cable: CableId, down: bool) {
        self.set_link(cable.forward(), down);
        self.set_link(cable.backward(), down);
    }

    /// Kills or revives all cables of a device. The mask keeps no reasons: reviving a device also
    /// revives cables that had died on their own; set those again after.
    #[inline]
    pub fn set_device(&mut self, fabric: &Fabric, device: DeviceId, down: bool) {
        for port in fabric.ports(device) {
            if let Some(cable) = fabric.cable_at(port) {
                self.set_cable(cable, down);
            }
        }
    }

    /// The dead links, ascending.
    #[inline]
    pub fn down_links(&self) -> impl Iterator<Item = LinkId> + '_ {
        (0..self.words.len() * WORD_BITS).map(LinkId::from_index).filter(|&link| self.is_down(link))
    }
}

/// Equal when the same links are dead, whatever the history.
impl PartialEq for LinkMask {
    fn eq(&self, other: &Self) -> bool {
        self.words == other.words
    }
}

impl Eq for LinkMask {}

#[cfg(test)]
mod tests {
    use railtwin_fabric::preset::LeafSpine;

    use super::*;

    #[test]
    fn links_cables_and_devices_die_and_come_back() {
        let fabric = LeafSpine::default().build().expect("default preset");
        let mut mask = LinkMask::none(&fabric);
        let spare = mask.clone();
        let cable = CableId(3);
        mask.set_link(cable.forward(), true);
        assert!(mask.is_down(cable.forward()) && !mask.is_down(cable.backward()));
        mask.set_cable(cable, true);
        mask.set_cable(cable, true);
        assert_eq!((mask.down_count(), mask.generation()), (2, 2));
        assert_eq!(mask.down_links().collect::<Vec<_>>(), [cable.forward(), cable.backward()]);
        assert_eq!(spare.down_count(), 0, "a clone keeps its own view");
        assert!(!spare.is_down(cable.forward()));

        mask.set_cable(cable, false);
        assert_eq!(mask, spare);
        let spine = fabric.switch_named("spine-0").expect("a spine");
        mask.set_device(&fabric, spine, true);
        assert_eq!(mask.down_count(), 2 * fabric.neighbors(spine).len());
        for &(link, _) in fabric.neighbors(spine) {
            assert!(mask.is_down(link) && mask.is_down(link.reverse()));
        }
        mask.set_device(&fabric, spine, false);
        assert_eq!(mask, spare);
    }
}
