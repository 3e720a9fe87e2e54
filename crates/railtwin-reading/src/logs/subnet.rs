//! Subnets of ports of network devices.
use std::net::Ipv6Addr;

/// The subnet of a port, by its address: /24 of IPv4, else the first 64 bits.
pub(crate) fn subnet(gid: &str) -> Option<String> {
    let address: Ipv6Addr = gid.parse().ok()?;
    Some(match address.to_ipv4_mapped() {
        Some(v4) => {
            let [a, b, c, _] = v4.octets();
            format!("{a}.{b}.{c}.0/24")
        }
        None => {
            let [a, b, c, d, ..] = address.segments();
            format!("{a:x}:{b:x}:{c:x}:{d:x}::/64")
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subnets_of_both_kinds_of_addresses() {
        assert_eq!(subnet("::ffff:198.51.100.11").as_deref(), Some("198.51.100.0/24"));
        assert_eq!(subnet("fd00:1148:9000:5000:4:200:3:ff22").as_deref(), Some("fd00:1148:9000:5000::/64"));
        assert_eq!(subnet("index"), None);
    }
}
