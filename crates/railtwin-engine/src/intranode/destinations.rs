//! Whom messages of GPUs are for.
use railtwin_units::keys::{Kind, whole};

railtwin_units::choice! {
    /// Whom messages are for, of those that leave their host and of those that stay.
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
    pub enum Destinations {
        /// Drawn for each message: evenly over all GPUs of other hosts, or over the other GPUs of its own (SAURON section
        /// 4.2).
        #[default]
        Uniform = "uniform",
        /// One for each GPU, and no two GPUs have the same: in another host the same GPU `shift` hosts on, or without
        /// `shift` one by lot; in its own the next, or by lot.
        Permutation = "permutation",
        /// As in rings: the same GPU of the next host, the next GPU of its own.
        Neighbor = "neighbor",
        /// As over rails: the same GPU of a host drawn evenly; in its own host evenly.
        RailAligned = "rail-aligned",
        /// Evenly, but for the share of those that leave hosts that is for one host or GPU: `[intranode.hotspot]`.
        Hotspot = "hotspot",
    }
}

railtwin_units::section! {
    /// One host, or one GPU of it, that many send to.
    #[derive(Clone, Copy, PartialEq, Debug)]
    pub struct HotspotSpec "[intranode.hotspot]" {
        /// Share of the messages that leave other hosts which is for it.
        pub share: f64 [Kind::Share(0.0, 1.0)],
        /// Number of the host.
        pub host: u32 [whole(0..=16_777_215)] = 0,
        /// Number of a GPU in it; default all of them evenly.
        pub gpu: Option<u32> [whole(0..=1_023)] = None,
    }
}
