//! Dispatch and combine of mixtures of experts against `data/moe_all_to_all`: DeepEP's low-latency kernels on H100, its
//! normal kernels on H800, and what a kernel takes beside bytes, fitted.
use railtwin_calibration::least_squares::solve;
use railtwin_scenario::{JobSize, Scenario, Work};
use railtwin_store::Figure;
use railtwin_workload::{Collective, Experts, Group};

use super::paper;
use super::sweep::Set;
use railtwin::{Question, Run};

/// Times of low-latency kernels on H100.
const H100: &str = include_str!("../../../../data/moe_all_to_all/h100_low_latency_1_to_4_nodes.csv");
/// Times on H800.
#[cfg(test)]
const H800: &str = include_str!("../../../../data/moe_all_to_all/h800_deepep.csv");
/// Kernels and their columns of microseconds: in the file of H100, and in that of H800.
const KERNELS: [(Collective, &str, [usize; 2]); 2] =
    [(Collective::ExpertDispatch, "dispatch", [5, 2]), (Collective::ExpertCombine, "combine", [7, 4])];
/// Largest relative error of a row that counts as met.
const MET: f64 = 0.1;
/// GPUs of a host.
const LOCAL: u32 = 8;

/// One measured time and ours.
struct Timed {
    hosts: u32,
    total: u32,
    measured: f64,
    /// Seconds that the run takes, and those of them that hosts add to the network's.
    ours: f64,
    of_hosts: f64,
}

impl Timed {
    fn error(&self) -> f64 {
        self.ours / self.measured - 1.0
    }

    /// Experts that a rank of it sends a count or a flag to.
    fn messages(&self) -> f64 {
        let experts = Experts { total: self.total, top_k: 8, most_hosts: None };
        experts.on_other_hosts(Group::of(self.hosts, LOCAL)) as f64
    }
}

/// Cells of the lines of a file.
fn cells(file: &'static str) -> impl Iterator<Item = Vec<&'static str>> {
    file.lines().skip(1).map(|line| line.split(',').collect())
}

fn number<T: std::str::FromStr>(cell: &str) -> T {
    cell.parse().unwrap_or_else(|_| panic!("a test reads the file: {cell:?}"))
}

/// The first point of a scenario.
fn first(question: &Question) -> Scenario {
    question.points().expect("a test reads it").remove(0).scenario
}

/// Seconds of the one step of a scenario, and those that hosts add.
fn seconds(question: &Question, scenario: &Scenario) -> (f64, f64) {
    let resolved = question.resolve(scenario).expect("a test resolves it");
    let of_hosts = resolved.case.work.jobs[0].plan.patterns[0].cost.latency.seconds();
    let run = Run::of(resolved, &|| ());
    (run.figure("step_time").expect("a run has it"), of_hosts)
}

/// Sets hosts, kernel, tokens and experts of the only job.
fn set(scenario: &mut Scenario, hosts: u32, kind: Collective, (tokens, total): (u32, u32)) {
    let job = &mut scenario.jobs[0];
    job.size = Some(JobSize::Hosts(hosts));
    if let Work::Collective(spec) = &mut job.work {
        spec.kind = kind;
        if let Some(experts) = &mut spec.experts {
            (experts.tokens, experts.total) = (tokens, total);
        }
    }
}

/// All rows of a kernel on H100 through the flow engine.
fn on_h100(kind: Collective, column: usize, values: &Set) -> Vec<Timed> {
    let question = paper("experts-h100", values);
    let mut scenario = first(&question);
    let row = |cells: Vec<&str>| {
        let (hosts, tokens, total) = (number(cells[0]), number(cells[1]), number(cells[3]));
        set(&mut scenario, hosts, kind, (tokens, total));
        let (ours, of_hosts) = seconds(&question, &scenario);
        let measured = number::<f64>(cells[column]) * 1e-6;
        Timed { hosts, total, measured, ours, of_hosts }
    };
    cells(H100).map(row).collect()
}

/// Start of a kernel and time of a message in seconds that leave the least squares of relative errors, over several hosts.
/// Without messages the second is 0.
fn fitted(rows: &[Timed], with_messages: bool) -> (f64, f64) {
    let several = || rows.iter().filter(|row| row.hosts > 1);
    let terms = |row: &Timed| match with_messages {
        true => vec![1.0 / row.measured, row.messages() / row.measured],
        false => vec![1.0 / row.measured],
    };
    let left = several().map(|row| 1.0 - (row.ours - row.of_hosts) / row.measured);
    let values = solve(&several().map(terms).collect::<Vec<_>>(), &left.collect::<Vec<_>>()).values;
    (values[0], values.get(1).copied().unwrap_or(0.0))
}

/// Rows over several hosts within 10 % with these costs instead of the product's.
fn met_with(rows: &[Timed], (start, message): (f64, f64)) -> usize {
    let met = |row: &&Timed| {
        let ours = row.ours - row.of_hosts + start + message * row.messages();
        row.hosts > 1 && (ours / row.measured - 1.0).abs() <= MET
    };
    rows.iter().filter(met).count()
}

/// For each low-latency kernel on H100: the fitted constants, the largest error on 1, 2 and 4 hosts, and the rows over
/// several hosts within 10 %, with a message's time and without.
pub(super) fn low_latency(values: &Set) -> Vec<Figure> {
    let mut figures = Vec::new();
    for (kind, name, [column, _]) in KERNELS {
        let rows = on_h100(kind, column, values);
        let (start, message) = fitted(&rows, true);
        let mut push =
            |figure: &str, value| figures.push(Figure::new(&format!("{name}_{figure}"), value, ""));
        push("start_us", start * 1e6);
        push("message_ns", message * 1e9);
        for hosts in [1, 2, 4] {
            let errors = rows.iter().filter(|row| row.hosts == hosts).map(|row| row.error().abs());
            push(&format!("error_{hosts}_hosts"), errors.fold(0.0, f64::max));
        }
        let met = rows.iter().filter(|row| row.hosts > 1 && row.error().abs() <= MET).count();
        push("rows_met", met as f64);
        push("rows_met_one_constant", met_with(&rows, fitted(&rows, false)) as f64);
    }
    figures
}

/// Bandwidth of the normal kernel of dispatch on H800 as DeepEP counts it, GB/s: a token once for each host that it reaches,
/// the sender's among them, over 8 GPUs once for each GPU; and what of it one NIC carries.
pub(super) fn normal(values: &Set) -> Vec<Figure> {
    let question = paper("experts-h800-normal", values);
    let mut figures = Vec::new();
    for point in question.points().expect("a test reads it") {
        let job = &point.scenario.jobs[0];
        let (Some(JobSize::Hosts(hosts)), Work::Collective(spec)) = (job.size, &job.work) else { continue };
        let spec = spec.experts.expect("the scenario has them");
        let experts = Experts { total: spec.total, top_k: spec.top_k, most_hosts: spec.most_hosts };
        let (reached, ranks) = experts.reach(Group::of(hosts, LOCAL));
        let copies = if hosts > 1 { reached } else { ranks };
        // DeepEP counts values and scales alone.
        let token = f64::from(spec.hidden) * (1.0 + 4.0 / 128.0);
        let bandwidth = f64::from(spec.tokens) * copies * token / seconds(&question, &point.scenario).0 / 1e9;
        let ep = hosts * LOCAL;
        figures.push(Figure::new(&format!("bandwidth_ep{ep}"), bandwidth, "GB/s"));
        if hosts > 1 {
            let on_nic = bandwidth * (1.0 - 1.0 / f64::from(hosts));
            figures.push(Figure::new(&format!("on_nic_ep{ep}"), on_nic, "GB/s"));
        }
    }
    figures
}

#[cfg(test)]
mod tests {
    use super::*;
    use railtwin_scenario::host_caps::of_model;
    use railtwin_workload::Algorithm;

    /// What `[[cap]]` of a host model says of a low-latency kernel over several hosts: start and time of a message, seconds.
    fn cap(model: &str, kind: Collective) -> (f64, f64) {
        let caps = of_model(model);
        let is = |cap: &&railtwin_scenario::CapSpec| {
            cap.collective == kind && cap.algorithm == Algorithm::Direct && cap.hosts != Some(1)
        };
        let cap = caps.iter().find(is).expect("the file has it");
        let seconds = |time: Option<railtwin_units::SimTime>| time.map_or(0.0, |time| time.seconds());
        (seconds(cap.step), seconds(cap.message))
    }

    #[test]
    fn caps_of_h100_are_what_the_rows_say() {
        for (kind, name, [column, _]) in KERNELS {
            let rows = on_h100(kind, column, &Set::default());
            assert_eq!(rows.iter().filter(|row| row.hosts > 1).count(), 52);
            let ((start, message), known) = (fitted(&rows, true), cap("hgx-h100", kind));
            assert!((start - known.0).abs() < 0.05e-6, "{name}: {start} s, the file has {known:?}");
            assert!((message - known.1).abs() < 0.05e-9, "{name}: {message} s, the file has {known:?}");
            let met = rows.iter().filter(|row| row.error().abs() <= MET).count();
            assert_eq!(met, rows.len(), "{name}: within 10 %");
        }
    }

    /// 16 GPUs alone give the start on H800.
    #[test]
    fn caps_of_h800_are_what_16_gpus_say() {
        let question = paper("experts-h800", &Set::default());
        let mut scenario = first(&question);
        for (kind, name, [_, column]) in KERNELS {
            let measured = cells(H800).find(|cells| cells[..2] == ["low-latency", "16"]).unwrap();
            let measured = number::<f64>(measured[column]) * 1e-6;
            set(&mut scenario, 2, kind, (128, 256));
            let (ours, of_hosts) = seconds(&question, &scenario);
            let start = measured - (ours - of_hosts);
            let known = cap("hgx-h800", kind);
            assert!((start - known.0).abs() < 0.05e-6, "{name}: {start} s, the file has {known:?}");
        }
    }
}
