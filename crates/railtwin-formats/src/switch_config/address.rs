//! Blocks of IPv4 addresses, handed out in order.
use std::fmt;
use std::net::Ipv4Addr;
use std::str::FromStr;

use crate::error::FormatError;

/// An IPv4 network: its first address and the length of its prefix.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Subnet {
    /// First address, whose host bits are zero.
    pub network: Ipv4Addr,
    /// Length of the prefix, 0 to 32.
    pub prefix: u8,
}

impl Subnet {
    /// Address `index` of the network, counted from the network's own.
    pub fn address(&self, index: u32) -> Ipv4Addr {
        Ipv4Addr::from(u32::from(self.network).wrapping_add(index))
    }

    /// Whether an address is one of the network.
    pub fn contains(&self, address: Ipv4Addr) -> bool {
        let size = 1_u64 << (32 - u32::from(self.prefix.min(32)));
        u64::from(u32::from(address).wrapping_sub(u32::from(self.network))) < size
    }

    /// Address of the gateway: the first one that a host may have.
    pub fn gateway(&self) -> Ipv4Addr {
        self.address(1)
    }
}

impl fmt::Display for Subnet {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}/{}", self.network, self.prefix)
    }
}

impl FromStr for Subnet {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (network, prefix) = text.split_once('/').ok_or(())?;
        let network: Ipv4Addr = network.parse().map_err(|_| ())?;
        let prefix: u8 = prefix.parse().map_err(|_| ())?;
        if prefix > 32 || u64::from(u32::from(network)) % (1_u64 << (32 - prefix)) != 0 {
            return Err(());
        }
        Ok(Self { network, prefix })
    }
}

/// A block from which networks are taken in order, each at a multiple of its size.
pub(super) struct AddressBlock {
    whole: Subnet,
    purpose: &'static str,
    next: u64,
}

impl AddressBlock {
    pub(super) const fn new(network: [u8; 4], prefix: u8, purpose: &'static str) -> Self {
        let [a, b, c, d] = network;
        Self { whole: Subnet { network: Ipv4Addr::new(a, b, c, d), prefix }, purpose, next: 0 }
    }

    /// The same without its first address, which reads like that of the network.
    pub(super) const fn after_first(self) -> Self {
        Self { next: 1, ..self }
    }

    /// The next network of a length of prefix.
    ///
    /// # Errors
    /// The block is used up.
    pub(super) fn take(&mut self, fabric: &str, prefix: u8) -> Result<Subnet, FormatError> {
        let size = 1_u64 << (32 - u32::from(prefix.min(32)));
        let first = self.next.next_multiple_of(size);
        let end = 1_u64 << (32 - u32::from(self.whole.prefix));
        if first + size > end {
            let problem = format!("needs more addresses than {} has", self.whole);
            return Err(FormatError::new(
                "switch configuration",
                fabric,
                problem,
                "export a smaller fabric, such as one pod",
            )
            .field(self.purpose));
        }
        self.next = first + size;
        Ok(Subnet { network: self.whole.address(first as u32), prefix })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks_follow_each_other_at_multiples_of_their_size() {
        let mut block = AddressBlock::new([10, 0, 0, 0], 22, "hosts");
        let mut take = |prefix| block.take("f", prefix).map(|subnet| subnet.to_string());
        assert_eq!(take(24).as_deref(), Ok("10.0.0.0/24"));
        assert_eq!(take(23).as_deref(), Ok("10.0.2.0/23"), "a /23 begins at an even /24");
        let full = take(24).expect_err("the block is used up").to_string();
        assert!(full.starts_with("f: hosts: needs more addresses than 10.0.0.0/22 has; "), "{full}");
    }

    #[test]
    fn a_subnet_reads_what_it_writes_and_refuses_host_bits() {
        let subnet: Subnet = "10.1.2.0/23".parse().expect("a network");
        assert_eq!(
            (subnet.to_string().as_str(), subnet.gateway().to_string().as_str()),
            ("10.1.2.0/23", "10.1.2.1")
        );
        for wrong in ["", "10.0.0.0", "10.0.0.0/33", "10.0.1.0/23", "10.0.0/24", "0.0.0.1/0"] {
            assert!(wrong.parse::<Subnet>().is_err(), "{wrong}");
        }
        assert!("0.0.0.0/0".parse::<Subnet>().is_ok());
    }
}
