//! Links of PCIe: speed of a lane, lanes, what they carry.
use railtwin_units::Rate;

/// Lanes where a file says 0 or nothing, as NCCL takes it.
const LANES: u32 = 16;

/// A PCIe link, as far as a file tells it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct NcclPcieLink {
    /// Transfers of a lane, in hundreds of megatransfers per second: 160 for `16.0 GT/s PCIe`.
    pub speed: Option<u32>,
    /// Lanes.
    pub width: Option<u32>,
}

impl NcclPcieLink {
    /// The link of attributes: speeds such as `16.0 GT/s PCIe`, `8 GT/s` or empty, widths such as `16`, or `0` for unknown.
    pub fn of_text(speed: Option<&str>, width: Option<&str>) -> Self {
        let number = speed.and_then(|text| text.split_whitespace().next()?.parse::<f64>().ok());
        let speed = number
            .filter(|number| (0.1..=1_000.0).contains(number))
            .map(|number| (number * 10.0).round() as u32);
        let width = width.and_then(|text| text.trim().parse().ok()).filter(|width| (1..=64).contains(width));
        Self { speed, width }
    }

    /// Generation of PCIe by the speed.
    pub fn generation(self) -> Option<u8> {
        match self.speed? {
            25 => Some(1),
            50 => Some(2),
            80 => Some(3),
            160 => Some(4),
            320 => Some(5),
            640 => Some(6),
            1_280 => Some(7),
            _ => None,
        }
    }

    /// Rate of one direction after line coding, in whole Gbps: 8b/10b up to 5 GT/s, 128b/130b up to 32 GT/s, flits of 242
    /// bytes in 256 above (PCI Express base specification). Lanes that nothing tells are 16.
    pub fn rate(self) -> Option<Rate> {
        let raw = u64::from(self.speed?) * u64::from(self.width.unwrap_or(LANES)) * 100_000_000;
        let coded = match self.speed? {
            ..=50 => raw * 8 / 10,
            51..=320 => raw * 128 / 130,
            _ => raw * 242 / 256,
        };
        Some(Rate::from_bits_per_s(if coded >= 1_000_000_000 {
            coded / 1_000_000_000 * 1_000_000_000
        } else {
            coded
        }))
    }

    /// The link that carries a rate: of the oldest generation from 3 on whose 16 lanes do, with the fewest lanes that do; none
    /// above 7.
    pub fn carrying(rate: Rate) -> Option<Self> {
        let links = [80, 160, 320, 640, 1_280]
            .into_iter()
            .flat_map(|speed| [1, 2, 4, 8, 16].map(|width| Self { speed: Some(speed), width: Some(width) }));
        links.into_iter().find(|link| link.rate().is_some_and(|carried| carried >= rate))
    }

    /// Its speed as the kernel prints it; empty where nothing tells it.
    pub fn speed_text(self) -> String {
        self.speed.map_or_else(String::new, |speed| format!("{}.{} GT/s PCIe", speed / 10, speed % 10))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn speeds_of_all_spellings_are_read() {
        for (speed, width, gbps) in [
            ("32.0 GT/s PCIe", "16", Some(504)),
            ("16 GT/s", "16", Some(252)),
            ("16.0 GT/s PCIe", "8", Some(126)),
            ("8 GT/s", "0", Some(126)),
            ("2.5 GT/s PCIe", "1", Some(2)),
            ("64.0 GT/s PCIe", "16", Some(968)),
            ("", "16", None),
            ("Unknown speed", "16", None),
        ] {
            let link = NcclPcieLink::of_text(Some(speed), Some(width));
            assert_eq!(link.rate(), gbps.map(Rate::from_gbps), "{speed} x{width}");
        }
    }

    #[test]
    fn a_link_carries_what_it_is_chosen_for() {
        for (gbps, speed, width) in
            [(504, 320, 16), (252, 160, 16), (126, 80, 16), (505, 640, 16), (100, 80, 16)]
        {
            let link = NcclPcieLink::carrying(Rate::from_gbps(gbps)).expect("there is one");
            assert_eq!((link.speed, link.width), (Some(speed), Some(width)), "{gbps}");
        }
        assert_eq!(NcclPcieLink::carrying(Rate::from_gbps(4_000)), None);
    }
}
