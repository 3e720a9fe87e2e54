//! The source ports that meet linear demands, in ascending order, without a try of each of the 16,384.
//!
//! «The low bits of what the port adds to this hash are these» is a set of linear equations over GF(2) in the 14 free
//! bits of the port (RePaC, USENIX ATC 2021), for a power-of-two group at one switch or at several. Elimination gives
//! one solution and a basis of all others.

use crate::port_table::PortTable;
use crate::source_port::{FIRST_PORT, PORT_BITS};

/// The XOR of the port bits in `mask` must be `right`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Equation {
    pub(crate) mask: u16,
    pub(crate) right: bool,
}

/// Independent equations, each kept at the lowest bit of its mask.
#[derive(Debug, Default)]
pub(crate) struct PortEquations {
    by_lowest_bit: [Option<Equation>; PORT_BITS as usize],
}

impl PortEquations {
    /// Adds an equation; false if it contradicts those before.
    pub(crate) fn insert(&mut self, mut equation: Equation) -> bool {
        while equation.mask != 0 {
            match &mut self.by_lowest_bit[equation.mask.trailing_zeros() as usize] {
                Some(known) => {
                    equation.mask ^= known.mask;
                    equation.right ^= known.right;
                }
                empty => {
                    *empty = Some(equation);
                    return true;
                }
            }
        }
        !equation.right
    }

    /// All solutions. Each bound bit depends on higher bits only, so two solutions first differ (from the top) at a
    /// free bit, and their order is that of their free bits.
    pub(crate) fn space(&self) -> PortSpace {
        let mut space = PortSpace { first: self.solution(0, true), steps: [0; PORT_BITS as usize], free: 0 };
        let mut step = 0;
        for bit in (0..PORT_BITS).filter(|&bit| self.by_lowest_bit[bit as usize].is_none()) {
            step ^= self.solution(1 << bit, false);
            space.steps[space.free as usize] = step;
            space.free += 1;
        }
        space
    }

    /// The solution with these free bits, of the equations with right sides of 0 unless `with_right`.
    fn solution(&self, free: u16, with_right: bool) -> u16 {
        let mut port = free;
        for (bit, equation) in self.by_lowest_bit.iter().enumerate().rev() {
            if let Some(Equation { mask, right }) = equation {
                let others = (mask & port).count_ones() & 1 == 1;
                port |= u16::from(others ^ (*right && with_right)) << bit;
            }
        }
        port
    }
}

/// The ports in 0xC000..=0xFFFF that meet every demand put to them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PortSpace {
    /// The 14 low bits of the lowest.
    first: u16,
    /// What changes when the free bits up to and with each one flip.
    steps: [u16; PORT_BITS as usize],
    /// Number of free bits.
    free: u32,
}

impl PortSpace {
    /// The ports whose difference in each table has these low bits: (table, difference, number of low bits). None if
    /// no port has.
    pub fn of<'t>(demands: impl IntoIterator<Item = (&'t PortTable, u32, u32)>) -> Option<Self> {
        let mut equations = PortEquations::default();
        for (table, wanted, bits) in demands {
            let differences: [u32; PORT_BITS as usize] =
                std::array::from_fn(|bit| table.difference(FIRST_PORT | 1 << bit));
            for bit in 0..bits {
                let at = |value: u32| value.checked_shr(bit).unwrap_or(0) & 1;
                let mask = differences
                    .iter()
                    .enumerate()
                    .fold(0, |mask, (port_bit, &difference)| mask | (at(difference) as u16) << port_bit);
                if !equations.insert(Equation { mask, right: at(wanted) == 1 }) {
                    return None;
                }
            }
        }
        Some(equations.space())
    }

    /// The ports, ascending.
    pub fn ports(&self) -> impl Iterator<Item = u16> + use<> {
        let Self { first, steps, free } = *self;
        let mut port = first;
        (0u32..1 << free).map(move |turn| {
            // Counting up flips the trailing ones and the zero above them.
            let now = port;
            let flipped = turn.trailing_ones();
            if flipped < free {
                port ^= steps[flipped as usize];
            }
            FIRST_PORT | now
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::hash::{HashFunction, HashSpec};
    use crate::source_port::LAST_PORT;

    proptest! {
        #[test]
        fn ports_are_those_that_a_try_of_all_finds(
            drawn in prop::collection::vec((any::<u32>(), 0u8..32, any::<u32>(), 0u32..7), 0..4), which in 0usize..5,
        ) {
            let function = HashFunction::ALL[which];
            let table = |seed, offset| {
                let spec = HashSpec::new(function).with_seed(seed).with_offset(offset);
                PortTable::new(&spec)
            };
            let tables: Vec<PortTable> = drawn.iter().map(|&(seed, offset, ..)| table(seed, offset)).collect();
            let demands = || tables.iter().zip(&drawn).map(|(table, &(_, _, wanted, bits))| (table, wanted, bits));
            let meets = |port: u16| {
                demands().all(|(table, wanted, bits)| (table.difference(port) ^ wanted) & ((1 << bits) - 1) == 0)
            };
            let found: Vec<u16> = PortSpace::of(demands()).iter().flat_map(PortSpace::ports).collect();
            let expected: Vec<u16> = (FIRST_PORT..=LAST_PORT).filter(|&port| meets(port)).collect();
            prop_assert_eq!(found, expected);
        }
    }
}
