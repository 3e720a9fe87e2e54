//! Ranks that tools of others report: those that did not join a collective, and stragglers.
//!
//! - PyTorch's desync report (`TORCH_NCCL_DESYNC_DEBUG`, from 1.12 on; `torch/csrc/distributed/c10d/TraceUtils.h`): `[3] finished
//!   collective #1, but didn't join collective #2 (count from 1)`, `[0,1] joined but didn't finish collective #2`;
//! - PyTorch's analyzer of Flight Recorder dumps (`torchfrtrace`): `missing ranks: {1, 3}`, `Missing ranks are {1}`;
//! - NVIDIA's resiliency extension: `STRAGGLER DETECTION WARNING: … Affected ranks: {StragglerId(rank=3, …)}` or `[76, 13]`;
//! - Megatron's straggler detector (`--log-straggler`): `… MnEtpt/Rnk: 296.02TF/0 | MxEtpt/Rnk: 297.32TF/8`.

/// Signs of such lines.
pub(crate) const SIGNS: [&str; 7] = [
    "but didn't join collective #",
    "joined but didn't finish collective #",
    "never joined any collectives",
    "missing ranks: {",
    "Missing ranks are {",
    "STRAGGLER DETECTION WARNING: ",
    "MnEtpt/Rnk: ",
];
/// Most ranks that a line lists.
const RANKS_MOST: usize = 1 << 16;

/// The report of such a line.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum RankReport {
    /// Ranks that did not join a collective.
    NotJoined {
        /// The ranks.
        ranks: Vec<u32>,
        /// Number of the collective, where the line tells.
        collective: Option<u64>,
    },
    /// Ranks that are within a collective.
    Within {
        /// The ranks.
        ranks: Vec<u32>,
        /// Number of the collective.
        collective: Option<u64>,
    },
    /// Ranks that a tool takes for stragglers.
    Stragglers {
        /// The ranks.
        ranks: Vec<u32>,
        /// Whether beside other ranks, and not beside their own past.
        is_relative: bool,
    },
    /// Least and largest throughput of all ranks at one moment, in hundredths of a TFLOP/s, with the ranks that have it.
    Throughput {
        /// The least, and its rank.
        least: (u64, u32),
        /// The largest, and its rank.
        most: (u64, u32),
    },
}

/// The report of a line.
pub(crate) fn read(line: &str) -> Option<RankReport> {
    let row = SIGNS.iter().position(|sign| line.contains(sign))?;
    let (before, rest) = line.split_once(SIGNS[row])?;
    let collective = || rest.split(|sign: char| !sign.is_ascii_digit()).next()?.parse().ok();
    match row {
        0 => Some(RankReport::NotJoined { ranks: last_list(before)?, collective: collective() }),
        1 => Some(RankReport::Within { ranks: last_list(before)?, collective: collective() }),
        2 => {
            let (_, named) = before.rsplit_once("ranks [")?;
            Some(RankReport::NotJoined { ranks: numbers(named.split(']').next()?)?, collective: None })
        }
        3 | 4 => Some(RankReport::NotJoined { ranks: numbers(rest.split('}').next()?)?, collective: None }),
        5 => stragglers(rest),
        _ => throughput(line),
    }
}

/// The last list in brackets: `- [0,1,2] `.
fn last_list(text: &str) -> Option<Vec<u32>> {
    let (_, rest) = text.rsplit_once('[')?;
    numbers(rest.split(']').next()?)
}

/// Numbers between commas; none where one is no number, or there is none. Ranges (`0-3`) are spelled out.
fn numbers(text: &str) -> Option<Vec<u32>> {
    let mut ranks = Vec::new();
    for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        match part.split_once('-') {
            Some((first, last)) => {
                let (first, last): (u32, u32) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
                if (last.checked_sub(first)? as usize) > RANKS_MOST {
                    return None;
                }
                ranks.extend(first..=last);
            }
            None => ranks.push(part.parse().ok()?),
        }
        if ranks.len() > RANKS_MOST {
            return None;
        }
    }
    ranks.sort_unstable();
    ranks.dedup();
    (!ranks.is_empty()).then_some(ranks)
}

fn stragglers(said: &str) -> Option<RankReport> {
    let (_, named) = said.split_once("Affected ranks: ")?;
    let is_relative = said.contains("relative performance");
    let mut ranks: Vec<u32> = if named.contains("rank=") {
        let of = named.split("rank=").skip(1).take(RANKS_MOST);
        of.filter_map(|part| part.split(|sign: char| !sign.is_ascii_digit()).next()?.parse().ok()).collect()
    } else {
        numbers(named.trim().trim_matches(['[', ']', '{', '}']))?
    };
    ranks.sort_unstable();
    ranks.dedup();
    (!ranks.is_empty()).then_some(RankReport::Stragglers { ranks, is_relative })
}

fn throughput(line: &str) -> Option<RankReport> {
    let value = |word: &str| {
        let (_, rest) = line.split_once(word)?;
        let (value, rest) = rest.split_once("TF/")?;
        let value: f64 = value.trim().parse().ok()?;
        let rank = rest.split(|sign: char| !sign.is_ascii_digit()).next()?.parse().ok()?;
        let is_value = value.is_finite() && (0.0..1e9).contains(&value);
        is_value.then_some(((value * 100.0).round() as u64, rank))
    };
    Some(RankReport::Throughput { least: value("MnEtpt/Rnk: ")?, most: value("MxEtpt/Rnk: ")? })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn reports_of_all_tools_name_their_ranks() {
        let absent = |ranks: &[u32], collective: Option<u64>| RankReport::NotJoined {
            ranks: ranks.to_vec(),
            collective,
        };
        let slow =
            |ranks: &[u32], is_relative: bool| RankReport::Stragglers { ranks: ranks.to_vec(), is_relative };
        let warning = "STRAGGLER DETECTION WARNING: Some GPUs";
        for (line, wanted) in [
            (
                "\t   - [3] finished collective #1, but didn't join collective #2 (count from 1)".to_owned(),
                absent(&[3], Some(2)),
            ),
            (
                "   - [0-2,5] joined but didn't finish collective #39".to_owned(),
                RankReport::Within { ranks: vec![0, 1, 2, 5], collective: Some(39) },
            ),
            (
                " - To our best knowledge, ranks [1, 3] are the lagging ranks that caused this timeout. They never joined any \
                 collectives"
                    .to_owned(),
                absent(&[1, 3], None),
            ),
            ("missing ranks: {1, 3}".to_owned(), absent(&[1, 3], None)),
            ("Missing ranks are {4}  [[3]] ".to_owned(), absent(&[4], None)),
            (
                format!("{warning} have worse relative performance. Affected ranks: {{StragglerId(rank=3, node='a')}}"),
                slow(&[3], true),
            ),
            (format!("{warning} performance dropped. Affected ranks: [162, 79]"), slow(&[79, 162], false)),
            (
                "0: INFO: | MnClk/Rnk: 1 | MnEtpt/Rnk: 196.02TF/7 | MxEtpt/Rnk: 297.32TF/8".to_owned(),
                RankReport::Throughput { least: (19_602, 7), most: (29_732, 8) },
            ),
        ] {
            assert_eq!(read(&line), Some(wanted), "{line}");
        }
        for line in
            ["missing ranks: {}", "[a] joined but didn't finish collective #1", "Rank=76 Node=h Score=0.94"]
        {
            assert_eq!(read(line), None, "{line}");
        }
    }

    proptest! {
        #[test]
        fn no_line_panics(before in "\\PC{0,30}", rest in "\\PC{0,40}", row in 0_usize..7) {
            let _ = read(&format!("{before}{}{rest}", SIGNS[row]));
            let _ = read(&format!("{before}[1-99999999] {}{rest}Affected ranks: rank={rest}", SIGNS[row]));
        }
    }
}
