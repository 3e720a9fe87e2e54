//! `dcgmi diag` and `dcgmi health --check`: tests that GPUs failed, and what watches of their health found. The shapes are
//! those of DCGM 2 to 4 (docs.nvidia.com/datacenter/dcgm).
use super::{GpuStatus, GpuTrouble};

/// Words of a test, or a watch, that did not pass.
const FAILED: [&str; 3] = ["Fail", "Failure", "Warning"];

pub(super) fn is_dcgmi(text: &str) -> bool {
    let mut lines = text.lines().take(64).map(str::trim);
    lines.any(|line| {
        let cells = cells_of(line);
        match cells.as_slice() {
            ["Diagnostic", "Result"] => true,
            [first, ..] => *first == "Health Monitor Report",
            [] => false,
        }
    })
}

/// Cells of a row between bars.
fn cells_of(line: &str) -> Vec<&str> {
    let inner = line.trim().strip_prefix('|').map(|rest| rest.strip_suffix('|').unwrap_or(rest));
    inner.map_or_else(Vec::new, |inner| inner.split('|').map(str::trim).collect())
}

pub(super) fn read(text: &str) -> Option<Vec<GpuStatus>> {
    let mut gpus: Vec<GpuStatus> = Vec::new();
    let is_health = text.lines().any(|line| cells_of(line).first() == Some(&"Health Monitor Report"));
    let rows = text.lines().zip(1_u64..).map(|(line, number)| (cells_of(line), number));
    let rows = rows.filter(|(cells, _)| !cells.is_empty());
    let found = if is_health { health(rows, &mut gpus) } else { diag(rows, &mut gpus) };
    found.then_some(gpus)
}

fn tell(gpus: &mut Vec<GpuStatus>, gpu: &str, field: &str, text: &str, line: u64) {
    let at = gpus.iter().position(|one| one.gpu == gpu).unwrap_or_else(|| {
        gpus.push(GpuStatus { gpu: gpu.to_owned(), ..GpuStatus::default() });
        gpus.len() - 1
    });
    let trouble = GpuTrouble::Reports { field: field.to_owned(), text: text.to_owned() };
    gpus[at].troubles.push((trouble, line));
}

/// Numbers behind `GPU`: `GPU: 3`, `GPUs: 1, 3`, `GPU3`.
fn numbers(text: &str) -> Vec<&str> {
    let Some((_, rest)) = text.split_once("GPU") else { return Vec::new() };
    let rest = rest.trim_start_matches(['s', ':', ' ']);
    let end = rest.find(|c: char| !(c.is_ascii_digit() || c == ',' || c == ' ')).unwrap_or(rest.len());
    rest[..end].split([',', ' ']).filter(|word| !word.is_empty()).collect()
}

/// `| PCIe | Fail - GPU: 3 |`, or `| pcie | Fail |` with `| | GPU3: Fail |` under it. A check of the software that fails is of
/// no GPU. Returns whether a row has a result.
fn diag<'a>(rows: impl Iterator<Item = (Vec<&'a str>, u64)>, gpus: &mut Vec<GpuStatus>) -> bool {
    let (mut test, mut whole, mut found) = (String::new(), None, false);
    for (cells, line) in rows {
        let [name, result] = cells[..] else { continue };
        if name.is_empty() || name.starts_with("GPU") {
            let failed = result.contains("Fail") || (name.starts_with("GPU") && result.starts_with("Fail"));
            let of_gpu = if name.is_empty() { numbers(result) } else { numbers(name) };
            if failed && !test.is_empty() {
                for gpu in of_gpu {
                    tell(gpus, gpu, &format!("DCGM test {test}"), "Fail", line);
                    whole = None;
                }
            }
            continue;
        }
        if name.starts_with("Warning") || name.starts_with("Info") || name.starts_with("Error") {
            continue;
        }
        if let Some((test, line)) = whole.take() {
            tell(gpus, "", &format!("DCGM test {test}"), "Fail", line);
        }
        found |= ["Pass", "Fail", "Skip", "Warn"].iter().any(|word| result.starts_with(word));
        name.clone_into(&mut test);
        if result.starts_with("Fail") {
            let of_gpu = numbers(result);
            if of_gpu.is_empty() {
                whole = Some((test.clone(), line));
            }
            for gpu in of_gpu {
                tell(gpus, gpu, &format!("DCGM test {test}"), "Fail", line);
            }
        }
    }
    if let Some((test, line)) = whole {
        tell(gpus, "", &format!("DCGM test {test}"), "Fail", line);
    }
    found
}

/// Rows below a GPU (`GPU ID: 0`, `-> 0`) with a watch and what it found. Returns whether there is a report.
fn health<'a>(rows: impl Iterator<Item = (Vec<&'a str>, u64)>, gpus: &mut Vec<GpuStatus>) -> bool {
    let mut gpu = String::new();
    let mut found = false;
    for (cells, line) in rows {
        let first = cells[0];
        if first.starts_with("Overall Health") || first == "Health Monitor Report" {
            found |= first.starts_with("Overall");
            continue;
        }
        let bare = first.trim_start_matches(['-', '>', ' ']);
        let number = first.strip_prefix("GPU ID:").map_or(bare, str::trim);
        let is_number = !number.is_empty() && number.bytes().all(|digit| digit.is_ascii_digit());
        if is_number && (first.starts_with("->") || first.starts_with("GPU ID:")) {
            number.clone_into(&mut gpu);
            continue;
        }
        let text = cells.iter().filter(|cell| !cell.is_empty()).copied().collect::<Vec<_>>().join(" ");
        let text = text.trim_start_matches(['-', '>', ' ']);
        let is_bad = text.split([' ', ':', ',']).any(|word| FAILED.contains(&word));
        if is_bad && !gpu.is_empty() {
            tell(gpus, &gpu, "DCGM health", text, line);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(text: &str) -> Vec<(String, String, String)> {
        assert!(is_dcgmi(text), "{text}");
        let gpus = read(text).expect("a table");
        let of = |gpu: &GpuStatus| {
            let gpu_name = gpu.gpu.clone();
            gpu.troubles
                .iter()
                .filter_map(|(trouble, _)| match trouble {
                    GpuTrouble::Reports { field, text } => {
                        Some((gpu_name.clone(), field.clone(), text.clone()))
                    }
                    _ => None,
                })
                .collect::<Vec<_>>()
        };
        gpus.iter().flat_map(of).collect()
    }

    #[test]
    fn tests_that_fail_name_their_gpus() {
        let text = |pcie: &str, denylist: &str| {
            format!(
                "Successfully ran diagnostic for group.\n+------+------+\n| Diagnostic | Result |\n+======+\n|-----  Deployment  \
                 --------+-----|\n| Denylist | {denylist} |\n| PCIe | {pcie} |\n| Warning | GPU 3 is slow |\n| GPU Memory | Pass - All \
                 |\n+------+\n"
            )
        };
        assert!(told(&text("Pass - All", "Pass")).is_empty());
        let one = |gpu: &str, test: &str| (gpu.to_owned(), format!("DCGM test {test}"), "Fail".to_owned());
        assert_eq!(told(&text("Fail - GPU: 3", "Pass")), [one("3", "PCIe")]);
        assert_eq!(told(&text("Fail - GPUs: 1, 3", "Pass")), [one("1", "PCIe"), one("3", "PCIe")]);
        assert_eq!(told(&text("Pass - All", "Fail")), [one("", "Denylist")]);
        let four = "| Diagnostic | Result |\n| pcie | Fail |\n| | GPU2: Pass |\n| | GPU5: Fail |\n| memory | Pass |\n";
        assert_eq!(told(four), [one("5", "pcie")]);
    }

    #[test]
    fn watches_name_their_gpu() {
        let well = "| Health Monitor Report |\n| Overall Health: | Healthy |\n";
        assert!(told(well).is_empty());
        let bad = "| Health Monitor Report |\n| Overall Health | Warning |\n| GPU | |\n| -> 0 | Healthy |\n| -> 2 | Warning \
                   |\n| -> Errors | |\n| -> PCIe system | Warning | Detected more than 8 PCIe replays per minute for GPU 2 : 13 |\n";
        let told = told(bad);
        assert_eq!((told[0].0.as_str(), told[0].1.as_str(), told.len()), ("2", "DCGM health", 1));
        assert!(told[0].2.contains("PCIe replays"), "{told:?}");
    }
}
