//! What goes wrong with packets while cables are up.
use railtwin_fabric::{DeviceId, LinkId};
use railtwin_units::SimTime;

/// What goes wrong with packets while cables are up.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Trouble {
    /// A link loses packets, in its own direction only.
    Loss {
        /// The link.
        link: LinkId,
        /// Share of packets lost.
        share: f64,
    },
    /// A link loses one packet: the first positive acknowledgement that it would have carried.
    LoseAcknowledgement {
        /// The link.
        link: LinkId,
    },
    /// A packet that crosses a link takes longer by this.
    Latency {
        /// The link.
        link: LinkId,
        /// What is added.
        delay: SimTime,
    },
    /// A NIC takes packets in at a share of its rate.
    SlowReceiver {
        /// The NIC.
        nic: DeviceId,
        /// Share of the rate of its port.
        share: f64,
    },
    /// A NIC port pauses its leaf without end.
    PauseStorm {
        /// The link into the NIC, which stands still.
        link: LinkId,
    },
    /// A switch drops what finds more than a share of its buffer filled, which it believes to be all there is (Meta
    /// RoCE section 6.4.2).
    SmallBuffer {
        /// The switch.
        switch: DeviceId,
        /// Share of the buffer that works.
        share: f64,
    },
}

/// A trouble in time.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Troubled {
    /// When it begins.
    pub from: SimTime,
    /// When it ends; [`SimTime::NEVER`] where it does not.
    pub until: SimTime,
    /// What it is.
    pub trouble: Trouble,
}
