//! Bytes that a fabric holds.
use std::mem::size_of_val;

use crate::graph::Fabric;

impl Fabric {
    /// Bytes of its columns.
    pub fn bytes(&self) -> usize {
        size_of_val(&*self.hosts)
            + size_of_val(&*self.device_kind)
            + size_of_val(&*self.device_owner)
            + size_of_val(&*self.device_first_port)
            + size_of_val(&*self.switches)
            + size_of_val(&*self.port_device)
            + size_of_val(&*self.port_capacity)
            + size_of_val(&*self.port_role)
            + size_of_val(&*self.port_cable)
            + size_of_val(&*self.cable_ports)
            + size_of_val(&*self.cable_class)
            + size_of_val(&*self.cable_capacity)
            + size_of_val(&*self.cable_delay)
            + size_of_val(&*self.adjacency_start)
            + size_of_val(&*self.adjacency)
    }
}
