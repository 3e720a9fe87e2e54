//! Functional units beside the GPUs of a host.
use railtwin_units::Rate;
use railtwin_units::keys::{Kind, whole};

railtwin_units::choice! {
    /// Where a functional unit stands under a root complex.
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
    pub enum UnitPlace {
        /// At a PCIe port as GPUs are: storage.
        #[default]
        Endpoint = "endpoint",
        /// At the CPU: CPUs and their memory.
        Cpu = "cpu",
    }
}

railtwin_units::section! {
    /// Functional units beside the GPUs of a host, such as CPUs, memory and storage (SAURON section 3.3), each with a port of
    /// its own at the host's switch. What they send and what is sent to them stays in their host.
    #[derive(Clone, Copy, PartialEq, Debug)]
    pub struct UnitsSpec "[intranode.units]" {
        /// Units in a host.
        pub count: u32 [whole(1..=62)] = 1,
        /// Capacity of the link of each; default that of a GPU.
        pub link: Option<Rate> = None,
        /// Share of the messages of each GPU that is for them, evenly, in place of messages for GPUs of its host.
        pub to: f64 [Kind::UpTo(1.0)] = 0.0,
        /// What each sends to the GPUs of its host, evenly, as a share of its link at `load` 1.
        pub from: f64 [Kind::UpTo(1.0)] = 0.0,
        /// Whether a way to them through a root complex ends at the CPU; of no effect with a switch.
        #[key(sparse)]
        pub place: UnitPlace = UnitPlace::Endpoint,
    }
}
