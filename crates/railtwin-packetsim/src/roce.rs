//! The RoCE world: hosts with their NICs and switches with shared buffers, as the machine of windows knows them.
use std::marker::PhantomData;

use crate::account::Account;
use crate::agenda::Agenda;
use crate::changes::Changes;
use crate::congestion::Control;
use crate::device::{Device, DeviceState};
use crate::host::{Host, Shared, Word};
use crate::packet::Packet;
use crate::post::Post;
use crate::window::Part;
use crate::world::World;

/// Words with their time and the host that spoke.
pub type Words = Vec<(u64, u32, Word)>;

/// Hosts and switches under a congestion control.
#[derive(Debug)]
pub struct Roce<C>(PhantomData<C>);

/// What hosts of one thread have said.
#[derive(Debug, Default)]
pub struct Said {
    /// In the last window.
    pub words: Words,
    /// Ends of operations to come at its hosts, and when the last one came.
    pub ends: (u64, u64),
}

impl<C: Control> World for Roce<C> {
    type Device = Device<C>;
    type Freight = Packet;
    type Context<'a> = (&'a Shared<'a>, &'a Changes);
    type Said = Said;
    type Account = Account;

    fn cuts<'a>((shared, _): Self::Context<'a>) -> &'a [u32] {
        &shared.network.parts
    }

    fn lookahead((shared, _): Self::Context<'_>) -> u64 {
        shared.network.lookahead
    }

    #[inline]
    fn agenda(device: &Device<C>) -> &Agenda {
        &device.agenda
    }

    #[inline]
    fn agenda_mut(device: &mut Device<C>) -> &mut Agenda {
        &mut device.agenda
    }

    #[inline]
    fn touch(device: &Device<C>) -> u64 {
        device.touch()
    }

    #[inline]
    fn arrive(
        device: &mut Device<C>,
        now: u64,
        packet: Packet,
        (shared, _): Self::Context<'_>,
        post: &mut Post<'_>,
    ) {
        device.sample_before(now, shared);
        device.arrive(now, packet, shared, post);
    }

    #[inline]
    fn act(
        device: &mut Device<C>,
        now: u64,
        task: u64,
        (shared, changes): Self::Context<'_>,
        post: &mut Post<'_>,
    ) {
        device.sample_before(now, shared);
        device.act(now, task, shared, changes, post);
    }

    fn begin(device: &Device<C>, said: &mut Said) {
        if let DeviceState::Host(host) = &device.kind {
            said.ends.0 += host.ends_left();
        }
    }

    #[inline]
    fn after(device: &mut Device<C>, said: &mut Said) {
        if let DeviceState::Host(host) = &mut device.kind {
            let (ended, last) = host.take_ends();
            said.ends = (said.ends.0 - ended, said.ends.1.max(last));
            if host.spoken < host.words.len() {
                let words = host.words[host.spoken..].iter();
                said.words.extend(words.map(|&(at, word)| (at, host.host, word)));
                host.spoken = host.words.len();
            }
        }
    }

    fn has_news(said: &Said) -> bool {
        !said.words.is_empty()
    }

    fn left(said: &Said) -> u64 {
        said.ends.0
    }
}

/// The hosts of one thread.
pub fn hosts<C: Control>(part: &Part<Roce<C>>) -> impl Iterator<Item = &Host<C>> {
    part.devices.iter().filter_map(|device| match &device.kind {
        DeviceState::Host(host) => Some(&**host),
        DeviceState::Switch(_) => None,
    })
}
