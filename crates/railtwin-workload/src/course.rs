//! The order in which the edges of a bundle carry its pieces: what a transfer waits for.
//!
//! The flow engine moves a bundle at one pace; packets need to know which piece may leave when.
use crate::shape::{Bundle, Shape};

/// Which half of an edge a leg is: an edge through an NVSwitch is crossed twice, up with a GPU's share and down with
/// the result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Half {
    /// The edge as it is.
    Whole,
    /// From the GPU into its NVSwitch.
    Up,
    /// From the NVSwitch to the GPU.
    Down,
}

/// One crossing of an edge, in equal stages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Leg {
    /// Edge, counted within the bundle.
    pub edge: u32,
    /// Which half of it.
    pub half: Half,
    /// Stages: each carries the leg's bytes over this number.
    pub stages: u32,
}

/// What a leg waits for: stage `s` may leave when stage `min(s - lag, stages - 1)` of `leg` has arrived; at once
/// where `s < lag`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Wait {
    /// The leg waited for; it ends at the host where the waiting one begins.
    pub leg: u32,
    /// By how many stages it is ahead.
    pub lag: i32,
}

/// The legs of a bundle and what each waits for.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Course {
    /// Legs.
    pub legs: Vec<Leg>,
    /// CSR: leg `l` waits for `waits[start[l]..start[l + 1]]`.
    pub wait_start: Vec<u32>,
    /// What legs wait for.
    pub waits: Vec<Wait>,
}

impl Course {
    /// What a leg waits for.
    pub fn waits_of(&self, leg: usize) -> &[Wait] {
        &self.waits[self.wait_start[leg] as usize..self.wait_start[leg + 1] as usize]
    }
}

/// The course of a bundle of a shape.
pub fn course(_shape: &Shape, bundle: &Bundle) -> Course {
    let legs = (0..bundle.edges).map(|edge| Leg { edge, half: Half::Whole, stages: 1 }).collect();
    Course { legs, wait_start: vec![0; bundle.edges as usize + 1], waits: Vec::new() }
}
