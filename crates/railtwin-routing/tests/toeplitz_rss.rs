//! The Toeplitz hash against the verification values of the RSS specification.

use std::net::IpAddr;

use railtwin_routing::{Fields, FiveTuple, HashFunction, HashKey, HashSpec, RSS_KEY, toeplitz};

struct Vector {
    source: (IpAddr, u16),
    target: (IpAddr, u16),
    addresses_only: u32,
    with_ports: u32,
}

fn vectors() -> Vec<Vector> {
    let hex = |text: &str| u32::from_str_radix(text.trim_start_matches("0x"), 16).expect("hexadecimal");
    include_str!("data/toeplitz_rss_vectors.csv")
        .lines()
        .skip(1)
        .map(|line| {
            let cells: Vec<&str> = line.split(',').collect();
            Vector {
                target: (
                    cells[1].parse().expect("address or port"),
                    cells[2].parse().expect("address or port"),
                ),
                source: (
                    cells[3].parse().expect("address or port"),
                    cells[4].parse().expect("address or port"),
                ),
                addresses_only: hex(cells[5]),
                with_ports: hex(cells[6]),
            }
        })
        .collect()
}

fn octets(address: IpAddr) -> Vec<u8> {
    match address {
        IpAddr::V4(v4) => v4.octets().to_vec(),
        IpAddr::V6(v6) => v6.octets().to_vec(),
    }
}

#[test]
fn both_columns_of_both_families() {
    let vectors = vectors();
    assert_eq!(vectors.len(), 4);
    for Vector { source, target, addresses_only, with_ports } in vectors {
        let mut input = [octets(source.0), octets(target.0)].concat();
        assert_eq!(toeplitz(&RSS_KEY, &input), Ok(addresses_only), "{source:?}");
        input.extend(source.1.to_be_bytes());
        input.extend(target.1.to_be_bytes());
        assert_eq!(toeplitz(&RSS_KEY, &input), Ok(with_ports), "{source:?}");
    }
}

#[test]
fn a_switch_reading_the_same_fields_computes_the_same() {
    let addresses = Fields::SOURCE_IP | Fields::TARGET_IP;
    let with_ports = addresses | Fields::SOURCE_PORT | Fields::TARGET_PORT;
    let mut checked = 0;
    for vector in vectors() {
        let (IpAddr::V4(source), IpAddr::V4(target)) = (vector.source.0, vector.target.0) else {
            continue;
        };
        let key = HashKey::of(FiveTuple {
            source_ip: source.to_bits(),
            target_ip: target.to_bits(),
            source_port: vector.source.1,
            target_port: vector.target.1,
            protocol: 6,
        });
        let spec = HashSpec::new(HashFunction::Toeplitz);
        assert_eq!(spec.with_fields(addresses).hash(&key), vector.addresses_only);
        assert_eq!(spec.with_fields(with_ports).hash(&key), vector.with_ports);
        checked += 1;
    }
    assert_eq!(checked, 2);
}
