//! What a world is to the machine of windows: kinds of devices, what travels between them, and who listens between
//! windows.
//!
//! The machine ([`crate::window`], [`crate::meeting`], [`crate::post`]) knows no device by name. A world is a type
//! parameter of it, so each has a machine of its own when compiled, and neither pays for the other
//! ([decision 19](../../../docs/decisions/0019-two-worlds-one-machine.md)).
use std::fmt::Debug;
use std::ops::DerefMut;

use crate::agenda::Agenda;
use crate::freight::Freight;
use crate::post::Post;
use crate::window::Part;

/// Kinds of devices that are worked off in windows of time.
pub trait World: Sized + Debug {
    /// A device.
    type Device: Send + Debug;
    /// What devices send each other.
    type Freight: Freight;
    /// What does not change while devices are worked off.
    type Context<'a>: Copy + Send + Sync;
    /// What devices of one thread have said in the last window.
    type Said: Default + Send + Debug;
    /// Who hears that between windows.
    type Account: Accounting<Self> + Send + Debug;

    /// First device of each thread, and the end.
    fn cuts<'a>(context: Self::Context<'a>) -> &'a [u32];
    /// Least time between an act of one device and its effect on another, ps; at most 2 us.
    fn lookahead(context: Self::Context<'_>) -> u64;
    /// What a device has to do.
    fn agenda(device: &Self::Device) -> &Agenda;
    /// The same, to change it.
    fn agenda_mut(device: &mut Self::Device) -> &mut Agenda;
    /// Reads some of what a device needs whatever it does; gives anything that depends on it.
    fn touch(_device: &Self::Device) -> u64 {
        0
    }
    /// Something arrives at a device.
    fn arrive(
        device: &mut Self::Device,
        now: u64,
        freight: Self::Freight,
        context: Self::Context<'_>,
        post: &mut Post<'_, Self::Freight>,
    );
    /// A device does what was due.
    fn act(
        device: &mut Self::Device,
        now: u64,
        task: u64,
        context: Self::Context<'_>,
        post: &mut Post<'_, Self::Freight>,
    );
    /// Before the first window.
    fn begin(_device: &Self::Device, _said: &mut Self::Said) {}
    /// A device has been worked off up to the end of a window.
    fn after(_device: &mut Self::Device, _said: &mut Self::Said) {}
    /// Whether something was said that is to be heard before the next window.
    fn has_news(_said: &Self::Said) -> bool {
        false
    }
    /// What devices have still to end; [`Accounting::awaits_the_end`] asks.
    fn left(_said: &Self::Said) -> u64 {
        0
    }
}

/// Who hears between windows what devices said.
pub trait Accounting<W: World> {
    /// Before when devices may act, ps.
    fn until(&self) -> u64;
    /// Hears and tells; gives the soonest time at which a device hears.
    fn hear<P: DerefMut<Target = Part<W>>>(&mut self, parts: &mut [P], context: W::Context<'_>) -> u64;
    /// Whether devices stop before their time.
    fn is_over(&self) -> bool {
        false
    }
    /// Whether it is to hear when no device has anything left to end.
    fn awaits_the_end(&self) -> bool {
        false
    }
}
