//! The credit world as the machine of windows knows it.
use std::ops::DerefMut;

use super::cargo::Cargo;
use super::host::Host;
use super::plan::Plan;
use super::switch::Switch;
use crate::agenda::{Agenda, NEVER};
use crate::places::Place;
use crate::post::{Mail, Post};
use crate::window::Part;
use crate::world::{Accounting, World};

/// Hosts with GPUs around a switch, and switches between them, all with credits.
#[derive(Debug)]
pub struct Credits;

/// A device.
#[derive(Debug)]
pub struct Device {
    agenda: Agenda,
    /// What it is.
    pub kind: Kind,
}

/// What a device is.
#[derive(Debug)]
pub enum Kind {
    /// A host.
    Host(Box<Host>),
    /// A switch between hosts.
    Switch(Box<Switch>),
}

/// When a run ends: nothing is said between windows.
#[derive(Debug)]
pub struct Until(pub u64);

impl Accounting<Credits> for Until {
    fn until(&self) -> u64 {
        self.0
    }

    fn hear<P: DerefMut<Target = Part<Credits>>>(&mut self, _: &mut [P], _: &Plan) -> u64 {
        NEVER
    }
}

impl World for Credits {
    type Device = Device;
    type Freight = Cargo;
    type Context<'a> = &'a Plan;
    type Said = ();
    type Account = Until;

    fn cuts<'a>(plan: Self::Context<'a>) -> &'a [u32] {
        &plan.parts
    }

    fn lookahead(plan: &Plan) -> u64 {
        plan.lookahead
    }

    #[inline]
    fn agenda(device: &Device) -> &Agenda {
        &device.agenda
    }

    #[inline]
    fn agenda_mut(device: &mut Device) -> &mut Agenda {
        &mut device.agenda
    }

    #[inline]
    fn arrive(device: &mut Device, now: u64, cargo: Cargo, plan: &Plan, post: &mut Post<'_, Cargo>) {
        match &mut device.kind {
            Kind::Host(host) => host.arrive(now, cargo, plan, &mut device.agenda, post),
            Kind::Switch(switch) => switch.arrive(now, cargo, plan, &mut device.agenda, post),
        }
    }

    #[inline]
    fn act(device: &mut Device, now: u64, task: u64, plan: &Plan, post: &mut Post<'_, Cargo>) {
        match &mut device.kind {
            Kind::Host(host) => host.act(now, task, plan, &mut device.agenda, post),
            Kind::Switch(switch) => switch.act(now, task, plan, &mut device.agenda, post),
        }
    }
}

/// The devices of each thread before time zero.
pub fn parts(plan: &Plan) -> Vec<Part<Credits>> {
    let threads = plan.parts.len() - 1;
    let part = |cut: &[u32]| {
        let device = |number: u32| {
            let mut agenda = Agenda::default();
            let kind = match plan.places[number as usize] {
                Place::Host(host) => Kind::Host(Box::new(Host::new(plan, host, number, &mut agenda))),
                Place::Switch(row) => Kind::Switch(Box::new(Switch::new(plan, row, number))),
            };
            Device { agenda, kind }
        };
        let devices: Vec<Device> = (cut[0]..cut[1]).map(device).collect();
        let mail = Mail::new(cut[0], devices.len(), threads);
        let mut part = Part::new(devices, mail);
        part.begin();
        part
    };
    plan.parts.windows(2).map(part).collect()
}
