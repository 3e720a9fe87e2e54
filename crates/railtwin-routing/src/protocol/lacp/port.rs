//! One port that speaks LACP: the receive, periodic, transmit and mux machines of IEEE 802.1AX-2014, sections 6.4.12 to
//! 6.4.16, the mux with coupled control.
use railtwin_units::SimTime;

use super::pdu::{LacpRate, Lacpdu, PortInfo, PortState};

/// State of the receive machine (section 6.4.12).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Receive {
    /// No carrier.
    Disabled,
    /// Nothing came in time: out of sync, and another 3 s for an answer.
    Expired,
    /// Nothing came since: by defaults, which are of no partner.
    Defaulted,
    /// The partner is as its last LACPDU said.
    Current,
}

/// State of the mux machine (section 6.4.15).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Mux {
    /// In no bond.
    Detached,
    /// Chosen, and waits for others that may join with it.
    Waiting,
    /// In the bond, and waits for the partner to be.
    Attached,
    /// Takes in and sends frames.
    Distributing,
}

/// The machines of one port.
#[derive(Clone, Debug)]
pub struct Machine {
    actor: PortInfo,
    partner: PortInfo,
    receive: Receive,
    mux: Mux,
    /// Whether the bond has chosen it.
    selected: bool,
    /// `current_while_timer`: when the partner is given up; [`SimTime::NEVER`] while nothing runs.
    expires: SimTime,
    /// `wait_while_timer`: how long it runs, and when it ends.
    wait: SimTime,
    waits_until: SimTime,
    /// When the next periodic LACPDU goes out.
    periodic: SimTime,
    /// Something changed that the partner must know: `NTT`.
    must_tell: bool,
    rate: LacpRate,
}

impl Machine {
    /// A port without carrier. `wait` is `Aggregate_Wait_Time`, 2 s in the standard; `rate` is what it asks its partner for.
    pub fn new(mut actor: PortInfo, rate: LacpRate, wait: SimTime) -> Self {
        actor.state = PortState::default()
            .with(PortState::ACTIVITY, true)
            .with(PortState::AGGREGATION, true)
            .with(PortState::SHORT_TIMEOUT, rate == LacpRate::Fast);
        Self {
            actor,
            partner: PortInfo::default(),
            receive: Receive::Disabled,
            mux: Mux::Detached,
            selected: false,
            expires: SimTime::NEVER,
            wait,
            waits_until: SimTime::NEVER,
            periodic: SimTime::NEVER,
            must_tell: false,
            rate,
        }
    }

    /// Who it is.
    pub const fn actor(&self) -> &PortInfo {
        &self.actor
    }

    /// Whom it takes the other end for.
    pub const fn partner(&self) -> &PortInfo {
        &self.partner
    }

    /// State of the receive machine.
    pub const fn receive_state(&self) -> Receive {
        self.receive
    }

    /// State of the mux machine.
    pub const fn mux(&self) -> Mux {
        self.mux
    }

    /// Whether frames go in and out.
    pub const fn is_distributing(&self) -> bool {
        matches!(self.mux, Mux::Distributing)
    }

    /// Whether it knows a partner that could be in a bond: one that answered and was not given up.
    pub(super) const fn has_partner(&self) -> bool {
        matches!(self.receive, Receive::Current | Receive::Expired)
            && self.partner.state.has(PortState::AGGREGATION)
    }

    /// The carrier came or went.
    pub fn carrier(&mut self, now: SimTime, up: bool) {
        if !up {
            self.receive = Receive::Disabled;
            self.partner.state = self.partner.state.with(PortState::SYNCHRONIZATION, false);
            (self.expires, self.periodic) = (SimTime::NEVER, SimTime::NEVER);
            self.selected = false;
            self.must_tell = false;
        } else if self.receive == Receive::Disabled {
            // Who was there before the carrier went is asked anew.
            self.partner = PortInfo::default();
            self.expire(now);
            self.periodic = now;
        }
        self.step(now);
    }

    /// To `EXPIRED`: out of sync, with 3 s for an answer, whatever rate was asked for.
    fn expire(&mut self, now: SimTime) {
        self.receive = Receive::Expired;
        self.partner.state =
            self.partner.state.with(PortState::SYNCHRONIZATION, false).with(PortState::SHORT_TIMEOUT, true);
        self.expires = now.saturating_add(LacpRate::Fast.timeout());
        self.actor.state = self.actor.state.with(PortState::EXPIRED, true);
        self.must_tell = true;
        self.periodic = self.periodic.min(now.saturating_add(LacpRate::Fast.period()));
    }

    /// To `DEFAULTED`: no partner, and out of the bond. Its default partner is told at the port's own rate, as an
    /// administrator who sets both ends alike has it.
    fn default_partner(&mut self, now: SimTime) {
        self.receive = Receive::Defaulted;
        self.partner = PortInfo::default();
        self.partner.state = self.partner.state.with(PortState::SHORT_TIMEOUT, self.rate == LacpRate::Fast);
        self.selected = false;
        self.expires = SimTime::NEVER;
        self.actor.state = self.actor.state.with(PortState::EXPIRED, false).with(PortState::DEFAULTED, true);
        self.periodic = now.saturating_add(self.rate.period());
    }

    /// An LACPDU came: `update_Selected`, `update_NTT` and `recordPDU` of section 6.4.9.
    pub fn receive(&mut self, now: SimTime, pdu: &Lacpdu) {
        if self.receive == Receive::Disabled {
            return;
        }
        if !self.partner.is_same_port(&pdu.actor) {
            self.selected = false;
        }
        let told = [
            PortState::ACTIVITY,
            PortState::SHORT_TIMEOUT,
            PortState::SYNCHRONIZATION,
            PortState::AGGREGATION,
        ];
        let knows_me = pdu.partner.is_same_port(&self.actor);
        if !knows_me || told.iter().any(|&bit| pdu.partner.state.has(bit) != self.actor.state.has(bit)) {
            self.must_tell = true;
        }
        let in_sync = knows_me && pdu.actor.state.has(PortState::SYNCHRONIZATION);
        let rate = LacpRate::asked_by(self.partner.state);
        self.partner = pdu.actor;
        self.partner.state = self.partner.state.with(PortState::SYNCHRONIZATION, in_sync);
        let asked = LacpRate::asked_by(self.partner.state);
        if asked != rate {
            self.periodic = self.periodic.min(now.saturating_add(asked.period()));
        }
        self.receive = Receive::Current;
        self.actor.state = self.actor.state.with(PortState::EXPIRED, false).with(PortState::DEFAULTED, false);
        self.expires = now.saturating_add(self.rate.timeout());
        self.step(now);
    }

    /// The bond chose the port, or another in its place.
    pub fn select(&mut self, now: SimTime, selected: bool) {
        self.selected = selected;
        self.step(now);
    }

    /// Passes all timers that end at `now` or before.
    pub fn pass(&mut self, now: SimTime) {
        if self.expires <= now {
            match self.receive {
                Receive::Current => self.expire(now),
                Receive::Expired => self.default_partner(now),
                Receive::Disabled | Receive::Defaulted => self.expires = SimTime::NEVER,
            }
        }
        self.step(now);
    }

    /// The mux machine, as far as it goes now.
    fn step(&mut self, now: SimTime) {
        loop {
            let in_sync = self.partner.state.has(PortState::SYNCHRONIZATION);
            let next = match self.mux {
                Mux::Detached if self.selected => Mux::Waiting,
                Mux::Waiting | Mux::Attached if !self.selected => Mux::Detached,
                Mux::Waiting if self.waits_until <= now => Mux::Attached,
                Mux::Attached if in_sync => Mux::Distributing,
                Mux::Distributing if !self.selected || !in_sync => Mux::Attached,
                _ => return,
            };
            self.waits_until =
                if next == Mux::Waiting { now.saturating_add(self.wait) } else { SimTime::NEVER };
            self.mux = next;
            let (attached, moves) = (next >= Mux::Attached, next == Mux::Distributing);
            let state = self
                .actor
                .state
                .with(PortState::SYNCHRONIZATION, attached)
                .with(PortState::COLLECTING, moves)
                .with(PortState::DISTRIBUTING, moves);
            self.must_tell |= state != self.actor.state;
            self.actor.state = state;
        }
    }

    /// What goes out at `now`, if anything does.
    pub fn transmit(&mut self, now: SimTime) -> Option<Lacpdu> {
        let due = self.must_tell || self.periodic <= now;
        if !due || self.receive == Receive::Disabled {
            return None;
        }
        if self.periodic <= now {
            self.periodic = now.saturating_add(LacpRate::asked_by(self.partner.state).period());
        }
        self.must_tell = false;
        Some(Lacpdu { actor: self.actor, partner: self.partner, max_delay: 0 })
    }

    /// When a timer of it ends next.
    pub fn next_time(&self) -> SimTime {
        self.expires.min(self.waits_until).min(self.periodic)
    }

    /// Whether nothing will change while both directions carry and the partner stays as it is.
    pub fn is_settled(&self) -> bool {
        let in_sync = self.partner.state.has(PortState::SYNCHRONIZATION);
        let rests = match self.mux {
            Mux::Detached => !self.selected,
            Mux::Waiting => false,
            Mux::Attached => self.selected && !in_sync,
            Mux::Distributing => self.selected && in_sync,
        };
        rests && self.receive == Receive::Current && !self.must_tell
    }

    /// Moves the timers of a settled port as if LACPDUs had been exchanged without a change up to now: the last one was
    /// heard at `heard`, and the last one of its own went out at `sent`.
    pub fn wind(&mut self, heard: SimTime, sent: SimTime) {
        debug_assert!(self.is_settled());
        self.expires = heard.saturating_add(self.rate.timeout());
        self.periodic = sent.saturating_add(LacpRate::asked_by(self.partner.state).period());
    }
}
