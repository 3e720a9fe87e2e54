//! LACPDUs and what they hold (IEEE 802.1AX-2014, section 6.4.2.3).
use std::fmt;

use railtwin_units::SimTime;

/// A MAC address.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub struct Mac(pub [u8; 6]);

impl Mac {
    /// The address that leaves of a non-stacked set share: of virtual router 1 (RFC 5798 section 7.3), which no host has
    /// (HPN section 4.2).
    pub const SET: Self = Self([0x00, 0x00, 0x5e, 0x00, 0x01, 0x01]);
}

impl fmt::Display for Mac {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g] = self.0;
        write!(f, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}")
    }
}

impl std::str::FromStr for Mac {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let refused = || format!("{text:?} is no MAC address: write six bytes, such as 00:00:5e:00:01:01");
        let mut bytes = [0; 6];
        let mut parts = text.split(':');
        for byte in &mut bytes {
            let part = parts.next().filter(|part| part.len() == 2).ok_or_else(refused)?;
            *byte = u8::from_str_radix(part, 16).map_err(|_| refused())?;
        }
        if parts.next().is_some() { Err(refused()) } else { Ok(Self(bytes)) }
    }
}

/// The state bits of one end (section 6.4.2.3, octet «Actor_State»).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub struct PortState(pub u8);

impl PortState {
    /// Sends LACPDUs unasked.
    pub const ACTIVITY: Self = Self(1);
    /// Wants an LACPDU each second and gives the other up after 3 s; otherwise each 30 s and after 90 s.
    pub const SHORT_TIMEOUT: Self = Self(1 << 1);
    /// May be one of several links.
    pub const AGGREGATION: Self = Self(1 << 2);
    /// In the right bond.
    pub const SYNCHRONIZATION: Self = Self(1 << 3);
    /// Takes in frames.
    pub const COLLECTING: Self = Self(1 << 4);
    /// Sends frames.
    pub const DISTRIBUTING: Self = Self(1 << 5);
    /// Goes by defaults, since nobody answers.
    pub const DEFAULTED: Self = Self(1 << 6);
    /// Has not heard the other for as long as it asked.
    pub const EXPIRED: Self = Self(1 << 7);

    /// Whether all bits of `other` are set.
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// With the bits of `other` as `on` says.
    #[must_use]
    pub const fn with(self, other: Self, on: bool) -> Self {
        if on { Self(self.0 | other.0) } else { Self(self.0 & !other.0) }
    }
}

/// Who an end is, and its state: twice in each LACPDU, for the sender and for whom it takes the other for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub struct PortInfo {
    /// Priority of the system; less comes first.
    pub system_priority: u16,
    /// MAC address of the system: the same on two leaves that want to be one.
    pub system: Mac,
    /// Ports that may be in one bond have one key.
    pub key: u16,
    /// Priority of the port.
    pub port_priority: u16,
    /// Number of the port.
    pub port: u16,
    /// State bits.
    pub state: PortState,
}

impl PortInfo {
    /// Whether both are the same port, in the terms of `update_Selected` (section 6.4.9).
    pub fn is_same_port(&self, other: &Self) -> bool {
        (self.system_priority, self.system, self.key, self.port_priority, self.port)
            == (other.system_priority, other.system, other.key, other.port_priority, other.port)
            && self.state.has(PortState::AGGREGATION) == other.state.has(PortState::AGGREGATION)
    }
}

/// One LACPDU, version 1.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Lacpdu {
    /// The sender.
    pub actor: PortInfo,
    /// Whom it takes the other end for.
    pub partner: PortInfo,
    /// Most that the sender's collector delays a frame, in tens of microseconds.
    pub max_delay: u16,
}

railtwin_units::choice! {
    /// How often the ends of a cable in a bond tell each other that they are there (IEEE 802.1AX).
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub enum LacpRate {
        /// Every second.
        Fast = "fast",
        /// Every 30 seconds.
        Slow = "slow",
    }
}

impl LacpRate {
    /// From one LACPDU to the next (section 6.4.4: `Fast_Periodic_Time`, `Slow_Periodic_Time`).
    pub const fn period(self) -> SimTime {
        match self {
            Self::Fast => SimTime::from_ns(1_000_000_000),
            Self::Slow => SimTime::from_ns(30_000_000_000),
        }
    }

    /// After how long without an LACPDU the other is given up (section 6.4.4: `Short_Timeout_Time`, `Long_Timeout_Time`).
    pub const fn timeout(self) -> SimTime {
        match self {
            Self::Fast => SimTime::from_ns(3_000_000_000),
            Self::Slow => SimTime::from_ns(90_000_000_000),
        }
    }

    /// The rate that a state asks the other for.
    pub const fn asked_by(state: PortState) -> Self {
        if state.has(PortState::SHORT_TIMEOUT) { Self::Fast } else { Self::Slow }
    }
}
