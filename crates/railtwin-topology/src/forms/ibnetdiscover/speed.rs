//! Widths and speeds of links as rates.
use railtwin_units::Rate;

/// Generations with the nominal rate of a lane, Mb/s: what the field names a link by, such as 56 Gb/s for 4x FDR.
/// SourceFile: IBTA roadmap; `FDR10` is Mellanox's.
const LANES: [(&str, u64); 9] = [
    ("SDR", 2_500),
    ("DDR", 5_000),
    ("QDR", 10_000),
    ("FDR10", 10_000),
    ("FDR", 14_000),
    ("EDR", 25_000),
    ("HDR", 50_000),
    ("NDR", 100_000),
    ("XDR", 200_000),
];
/// Bits per second of a Mb/s.
const MEGABIT: u64 = 1_000_000;
/// Widths of links, the usual first.
const WIDTHS: [u64; 5] = [4, 2, 1, 8, 12];

/// Rate of a width and a speed, `4x` and `NDR`.
pub(super) fn rate(width: &str, speed: &str) -> Option<Rate> {
    let width: u64 = width.strip_suffix('x')?.parse().ok().filter(|width| WIDTHS.contains(width))?;
    let (_, lane) = LANES.iter().find(|(name, _)| *name == speed)?;
    Some(Rate::from_bits_per_s(width * lane * MEGABIT))
}

/// Rate of a word such as `4xNDR`.
pub(super) fn rate_of_word(word: &str) -> Option<Rate> {
    let at = word.find('x')?;
    rate(&word[..=at], &word[at + 1..])
}

/// The word of a rate; none for a rate that no width and speed give. Of several the usual width stands first, so 100 Gb/s
/// are `4xEDR`, 25 Gb/s `1xEDR`.
pub(super) fn word_of_rate(rate: Rate) -> Option<String> {
    let modern = LANES.iter().filter(|(name, _)| *name != "FDR10");
    let mut all =
        WIDTHS.iter().flat_map(|width| modern.clone().map(move |(name, lane)| (*width, *name, *lane)));
    let found = all.find(|(width, _, lane)| width * lane * MEGABIT == rate.bits_per_s());
    found.map(|(width, name, _)| format!("{width}x{name}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_nominal() {
        let known = [
            ("1xSDR", 2_500),
            ("4xSDR", 10_000),
            ("4xFDR", 56_000),
            ("4xEDR", 100_000),
            ("2xHDR", 100_000),
            ("4xHDR", 200_000),
            ("2xNDR", 200_000),
            ("4xNDR", 400_000),
            ("4xXDR", 800_000),
        ];
        for (word, megabits) in known {
            assert_eq!(rate_of_word(word), Some(Rate::from_bits_per_s(megabits * MEGABIT)), "{word}");
        }
        for word in ["4x???", "?????", "xNDR", "3xNDR", "4xABC", "", "99999999999999999999xNDR"] {
            assert_eq!(rate_of_word(word), None, "{word}");
        }
    }

    #[test]
    fn words_are_read_back() {
        for gigabits in [10, 25, 50, 56, 100, 200, 400, 800, 1_600] {
            let word = word_of_rate(Rate::from_gbps(gigabits)).expect("the rate is one of InfiniBand");
            assert_eq!(rate_of_word(&word), Some(Rate::from_gbps(gigabits)), "{word}");
        }
        assert_eq!(word_of_rate(Rate::from_gbps(400)).as_deref(), Some("4xNDR"));
        assert_eq!(word_of_rate(Rate::from_gbps(333)), None);
    }
}
