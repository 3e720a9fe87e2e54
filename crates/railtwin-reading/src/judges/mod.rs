//! Stage 2: the list of all judges, of streams and of whole files alike.
//!
//! A judge looks at a [`RowsView`] of the rows and gives findings and notes. A new one is a function in a file of its own, a line
//! in [`JUDGES`] and, where it sees something new, a kind in [`railtwin_records::seen`].
mod causes;
mod clocks;
mod collapse;
mod collectives;
mod device_states;
mod device_tables;
mod gids;
mod hccl;
mod kernel_devices;
mod live;
mod losses;
mod network;
mod ports;
mod rails;
mod ras_beside;
mod reported;
mod setup;
mod stuck;
mod unexplained;
mod view;

use railtwin_diagnosis::hang::dumps::findings_of_dumps;
use railtwin_diagnosis::wiring::wiring_of;
use railtwin_records::Finding;
use rayon::prelude::*;

use crate::names::{self, Names};
use crate::rows::Rows;
use crate::{between, compute, durations, failed_tests, flags, logs, ras, slower, streams, tests_between};

pub use view::{Judgement, RowsView};

/// How the findings of a judge stand beside those of others.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scope {
    /// They are of the job, and joined with others of the job.
    Job,
    /// They are of tests made apart from the job and from each other, or of a setup: each stands for itself.
    Test,
    /// They stand only where nothing else explains that the job stopped.
    Rest,
}

/// The names of components in the findings of a judge.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NamesOf {
    /// Those of the placed directory.
    Directory,
    /// Those of files, translated and with NICs numbered as the fabric has them.
    Files,
    /// Those of files, translated.
    Tests,
    /// Those of neighbors: placed where there is a fabric, else translated.
    Neighbors,
}

/// A judge: one kind of evidence, one function.
pub struct Judge {
    /// Its name.
    pub name: &'static str,
    /// How its findings stand.
    pub scope: Scope,
    /// The names in its findings.
    pub names: NamesOf,
    /// Looks at the rows.
    pub judge: fn(&RowsView<'_>) -> Judgement,
}

const fn of_job(name: &'static str, judge: fn(&RowsView<'_>) -> Judgement) -> Judge {
    Judge { name, scope: Scope::Job, names: NamesOf::Directory, judge }
}

const fn of_files(name: &'static str, judge: fn(&RowsView<'_>) -> Judgement) -> Judge {
    Judge { name, scope: Scope::Job, names: NamesOf::Files, judge }
}

/// A judge of setups: what it finds explains no fault of a rank, and is not joined with one.
const fn of_setups(name: &'static str, judge: fn(&RowsView<'_>) -> Judgement) -> Judge {
    Judge { name, scope: Scope::Test, names: NamesOf::Files, judge }
}

const fn of_tests(name: &'static str, judge: fn(&RowsView<'_>) -> Judgement) -> Judge {
    Judge { name, scope: Scope::Test, names: NamesOf::Tests, judge }
}

const fn of_rest(name: &'static str, judge: fn(&RowsView<'_>) -> Judgement) -> Judge {
    Judge { name, scope: Scope::Rest, names: NamesOf::Directory, judge }
}

/// All judges, in the order in which their findings are joined.
pub const JUDGES: [Judge; 35] = [
    of_files("ras", |rows| ras::judge(&rows.merged.ras, &rows.later_ras, rows.job).into()),
    of_files("connections", |rows| logs::judge_connections(&rows.events, &rows.who).into()),
    of_setups("rails", rails::judge),
    of_setups("network", network::judge),
    of_setups("network-choices", network::choices),
    of_setups("setup", setup::judge),
    of_files("collective-checks", collectives::judge),
    of_files("stuck-processes", stuck::judge),
    of_files("reported-ranks", reported::judge),
    of_files("hccl", hccl::judge),
    of_files("cuda-errors", |rows| logs::judge_processes(&rows.events, &rows.who, rows.job).into()),
    of_files("process-ends", |rows| {
        logs::judge_ends(&rows.events, &rows.merged.logs, &rows.who, rows.job).into()
    }),
    of_files("devices", |rows| logs::judge_devices(&rows.events, &rows.who, rows.batch.until_ns).into()),
    of_files("ports", ports::judge),
    of_files("losses", losses::judge),
    of_files("kernel-devices", kernel_devices::judge),
    of_job("clocks", clocks::judge),
    of_files("device-tables", device_tables::judge),
    Judge { name: "wiring", scope: Scope::Job, names: NamesOf::Neighbors, judge: wiring },
    of_files("live", live::judge),
    of_job("dumps", dumps),
    of_job("watchdog", watchdog),
    of_job("streams", |rows| streams::judge(rows)),
    of_job("durations", |rows| durations::judge(rows)),
    of_job("replay", replay),
    of_job("steps", |rows| slower::of_steps(&rows.merged.steps, &rows.merged.files).into()),
    of_job("kernels", |rows| compute::of_kineto(&rows.merged.compute, rows.job, &rows.settings).into()),
    of_job("hang-flags", |rows| flags::of_xpu_timer(&rows.merged.xpu_timer).into()),
    of_tests("test-bandwidth", |rows| {
        tests_between::of_nccl_tests(&rows.merged.nccl_tests, &rows.settings).into()
    }),
    of_tests("test-collapse", collapse::judge),
    of_tests("failed-tests", |rows| failed_tests::judge(rows)),
    of_tests("pairs", |rows| between::judge(rows)),
    of_rest("timeouts", |rows| logs::of_timeouts(&rows.merged.logs).into_iter().collect::<Vec<_>>().into()),
    of_rest("victims", |rows| logs::of_victims(&rows.merged.logs).into_iter().collect::<Vec<_>>().into()),
    of_rest("unexplained", unexplained::judge),
];

/// Everything that judges found.
#[derive(Debug, Default)]
pub(crate) struct Judged {
    /// Findings of the job.
    pub(crate) of_job: Vec<Finding>,
    /// Findings of tests.
    pub(crate) of_tests: Vec<Finding>,
    /// Findings for a job that stopped without another explanation, the first judge's first.
    pub(crate) of_rest: Vec<Vec<Finding>>,
    pub(crate) notes: Vec<String>,
    pub(crate) failed_tests: usize,
}

/// Asks all judges, side by side; the order of what they say is that of the list.
pub(crate) fn judge(rows: &Rows<'_>, mut names: Option<&mut Names>) -> Judged {
    let view = RowsView::of(rows);
    let verdicts: Vec<Judgement> = JUDGES.par_iter().map(|judge| (judge.judge)(&view)).collect();
    let mut judged = Judged::default();
    for (judge, mut verdict) in JUDGES.iter().zip(verdicts) {
        let is_translated = match judge.names {
            NamesOf::Directory => false,
            NamesOf::Files | NamesOf::Tests => true,
            NamesOf::Neighbors => rows.site.is_none(),
        };
        if let (true, Some(names)) = (is_translated, names.as_deref_mut()) {
            names.rename(&mut verdict.findings);
        }
        if let (NamesOf::Files, Some(fabric), None) = (judge.names, rows.fabric(), &rows.engine) {
            names::number_nics(fabric, &mut verdict.findings);
        }
        judged.notes.extend(verdict.notes);
        judged.failed_tests += verdict.failed_tests;
        match judge.scope {
            Scope::Job => judged.of_job.extend(verdict.findings),
            Scope::Test => judged.of_tests.extend(verdict.findings),
            Scope::Rest => judged.of_rest.push(verdict.findings),
        }
    }
    judged
}

/// Cables that lead elsewhere than planned.
fn wiring(rows: &RowsView<'_>) -> Judgement {
    let plan = rows.site.and_then(|site| site.plan.as_ref());
    let mut wiring = wiring_of(&rows.directory.neighbors, plan);
    // In a run a detector sees them, at the moment at which they show.
    if rows.engine.is_some() {
        wiring.findings.clear();
    }
    (wiring.findings, wiring.notes).into()
}

/// Ranks that dumps prove to hold the others up.
fn dumps(rows: &RowsView<'_>) -> Judgement {
    let Some(dumps) = &rows.dumps else { return Judgement::default() };
    let mut verdict = Judgement::from(findings_of_dumps(dumps, rows.job));
    let unsure = dumps.unsure.iter().filter(|rank| dumps.dumps.iter().any(|dump| dump.rank == **rank));
    verdict.notes.extend(crate::flight::unsure_note(&unsure.copied().collect()));
    verdict.notes.extend(crate::flight::by_name_note(&rows.merged.flight_recorder));
    verdict
}

/// Ranks that lines of a watchdog show to hold the others up; dumps tell more.
fn watchdog(rows: &RowsView<'_>) -> Judgement {
    match rows.dumps {
        Some(_) => Judgement::default(),
        None => {
            let mut verdict = Judgement::from(logs::of_states(&rows.merged.logs, rows.job));
            ras_beside::clear(rows, &mut verdict.findings);
            verdict
        }
    }
}

/// Traces that hold all operations of a job, replayed.
fn replay(rows: &RowsView<'_>) -> Judgement {
    let mut verdict = Judgement::default();
    for replay in &rows.replays {
        let (findings, notes) = replay.judge(rows.job, &rows.settings);
        verdict.findings.extend(findings);
        verdict.notes.extend(notes);
    }
    verdict
}
