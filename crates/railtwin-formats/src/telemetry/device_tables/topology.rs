//! `nvidia-smi topo -m`: by which path each GPU reaches each other GPU and each NIC.
//!
//! The words are those of the legend that the tool prints: X, PIX, PXB, PHB, NODE, SYS, NV#.

/// A path between two devices of a host, the nearest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PciePath {
    /// One PCIe bridge at most (PIX).
    OneBridge,
    /// Several PCIe bridges, without the host bridge (PXB).
    Bridges,
    /// The PCIe host bridge, that is the processor (PHB).
    HostBridge,
    /// Host bridges within one NUMA node (NODE).
    Node,
    /// The interconnect between NUMA nodes (SYS).
    System,
}

impl PciePath {
    /// The word of the tool.
    pub const fn word(self) -> &'static str {
        match self {
            Self::OneBridge => "PIX",
            Self::Bridges => "PXB",
            Self::HostBridge => "PHB",
            Self::Node => "NODE",
            Self::System => "SYS",
        }
    }

    fn of(word: &str) -> Option<Self> {
        // Older versions write SOC for SYS.
        let all = [Self::OneBridge, Self::Bridges, Self::HostBridge, Self::Node, Self::System];
        all.into_iter().find(|path| path.word() == word).or_else(|| (word == "SOC").then_some(Self::System))
    }
}

/// Paths between GPUs and NICs of a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GpuTopology {
    /// The host.
    pub host: String,
    /// Numbers of GPUs.
    pub gpus: Vec<u32>,
    /// Names of NICs, by the legend where it has them.
    pub nics: Vec<String>,
    /// Paths by GPU, then by NIC; none where the cell tells no path.
    pub paths: Vec<Vec<Option<PciePath>>>,
}

fn gpu_number(word: &str) -> Option<u32> {
    word.strip_prefix("GPU")?.parse().ok()
}

/// Names of the columns of a head line, where it is one: GPUs, then NICs.
fn columns(line: &str) -> Option<Vec<&str>> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let end = words.iter().position(|word| matches!(*word, "CPU" | "NUMA" | "GPU")).unwrap_or(words.len());
    let names = &words[..end];
    gpu_number(names.first()?)?;
    let is_name = |word: &&str| word.len() <= 32 && word.ends_with(|letter: char| letter.is_ascii_digit());
    names.iter().all(is_name).then(|| names.to_vec())
}

fn is_cell(word: &str) -> bool {
    word == "X"
        || PciePath::of(word).is_some()
        || word.strip_prefix("NV").is_some_and(|rest| rest.bytes().all(|digit| digit.is_ascii_digit()))
        || matches!(word, "N/A" | "PSB" | "DIS" | "OK" | "CNS")
}

pub(super) fn is_topology(text: &str) -> bool {
    let mut lines = text.lines().take(64);
    lines.any(|line| {
        let mut words = line.split_whitespace();
        // Escapes may stand before the head, rows have none.
        words.next().is_some_and(|word| gpu_number(word).is_some())
            && words.next().is_some_and(is_cell)
            && line.split_whitespace().any(|word| word == "X")
    })
}

pub(super) fn read(text: &str, host: String) -> Option<GpuTopology> {
    let (row, names) = text.lines().enumerate().find_map(|(row, line)| Some((row, columns(line)?)))?;
    let gpus: Vec<u32> = names.iter().filter_map(|name| gpu_number(name)).collect();
    let nics: Vec<&str> = names.iter().copied().filter(|name| gpu_number(name).is_none()).collect();
    let mut paths: Vec<Vec<Option<PciePath>>> = Vec::new();
    let mut read: Vec<u32> = Vec::new();
    for line in text.lines().skip(row + 1) {
        let mut words = line.split_whitespace();
        let Some(gpu) = words.next().and_then(gpu_number).filter(|gpu| gpus.contains(gpu)) else { continue };
        let cells: Vec<&str> = words.take(names.len()).collect();
        if cells.len() < names.len() || !cells.iter().all(|cell| is_cell(cell)) || read.contains(&gpu) {
            continue;
        }
        let of_nics = names.iter().zip(&cells).filter(|(name, _)| gpu_number(name).is_none());
        paths.push(of_nics.map(|(_, cell)| PciePath::of(cell)).collect());
        read.push(gpu);
    }
    // Newer versions number NICs and name them below.
    let legend = |name: &str| {
        let mut of_legend = text.lines().filter_map(|line| line.trim().split_once(": "));
        of_legend.find(|(known, _)| *known == name).map(|(_, device)| device.trim().to_owned())
    };
    let nics = nics.into_iter().map(|name| legend(name).unwrap_or_else(|| name.to_owned())).collect();
    (!read.is_empty()).then_some(GpuTopology { host, gpus: read, nics, paths })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_and_names_are_read() {
        let text = "\tGPU0\tGPU1\tmlx5_0\tmlx5_1\tCPU Affinity\nGPU0\t X \tNV4\tPIX\tSYS\t0-23\nGPU1\tNV4\t X \tSOC\tPHB\t0-23\n\
                    mlx5_0\tPIX\tSYS\t X \tSYS\n";
        assert!(is_topology(text));
        let found = read(text, "a".into()).expect("a topology");
        assert_eq!((found.gpus, found.nics), (vec![0, 1], vec!["mlx5_0".to_owned(), "mlx5_1".to_owned()]));
        let (pix, sys, phb) = (Some(PciePath::OneBridge), Some(PciePath::System), Some(PciePath::HostBridge));
        assert_eq!(found.paths, [[pix, sys], [sys, phb]]);
        assert!(!is_topology("GPU0 is busy\nGPU1 1 2 3\n"));
    }
}
