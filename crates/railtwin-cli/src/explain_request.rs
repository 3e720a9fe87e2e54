//! A request for an explanation, of the command and of other callers: what was measured, of which job, on which fabric.
use std::path::{Path, PathBuf};

use railtwin::Question;
use railtwin::cost::Cost;
use railtwin::diagnose::{Diagnosed, Inputs, diagnose};
use railtwin_answers::explain::{Asked, Explained, Measured, Setting, explain};
use railtwin_calibration::bandwidth::{Checked, Group, check};
use railtwin_fabric::HostModel;
use railtwin_scenario::{EngineName, Scenario};
use railtwin_store::RunFolder;
use railtwin_units::{Bytes, Rate, SimTime};
use railtwin_workload::Collective;

use crate::CliError;
use crate::one_point::one_point;

/// Runs of the engine that one explanation takes, about: two for each hypothesis, those of a fit, those of measurements.
const RUNS: u64 = 70;
/// Hosts, size and host model of a test of which nobody says them.
const BYTES: Bytes = Bytes(4 << 30);
const HOST: &str = "hgx-h100";

/// A request for an explanation: the files and settings of `railtwin explain`.
#[derive(Clone, Debug, Default)]
pub struct ExplainRequest {
    /// Logs, telemetry, or one run folder.
    pub files: Vec<PathBuf>,
    /// A scenario with the fabric and the job.
    pub scenario: Option<PathBuf>,
    /// Measured bus bandwidth, such as `180 GB/s`.
    pub busbw: Option<String>,
    /// Measured step time, such as `1.2 s`.
    pub step_time: Option<String>,
    /// Hosts of the test, without a scenario.
    pub hosts: Option<u32>,
    /// GPUs of each host in the test.
    pub gpus: Option<u32>,
    /// A host model by name.
    pub host: Option<String>,
    /// The collective.
    pub collective: Option<String>,
    /// Size of the buffer, such as `1 GiB`.
    pub bytes: Option<String>,
    /// Name of the job in the scenario; the first without it.
    pub job: Option<String>,
    /// Draws of hash seeds.
    pub draws: u32,
}

/// A scenario with a measured figure.
pub(crate) struct Posed {
    pub(crate) question: Question,
    pub(crate) scenario: Scenario,
    folder: PathBuf,
    job: usize,
    measured: Measured,
    told: Option<Diagnosed>,
    assumed: Vec<String>,
}

/// Bus bandwidth in GB/s, or as a rate in bits.
fn bandwidth_of(text: &str) -> Result<f64, CliError> {
    let bytes = text.trim().strip_suffix("GB/s").map(|number| number.trim().parse::<f64>().ok());
    let value = match bytes {
        Some(number) => number,
        None => text.parse::<Rate>().ok().map(|rate| rate.bytes_per_s() / 1e9),
    };
    value.filter(|value| value.is_finite() && *value > 0.0).ok_or_else(|| {
        CliError::input(
            format!("--busbw cannot be {text:?}"),
            "write a bandwidth such as 180 GB/s or 1440 Gbps",
        )
    })
}

fn time_of(text: &str) -> Result<f64, CliError> {
    let value = text.parse::<SimTime>().ok().map(SimTime::seconds).filter(|seconds| *seconds > 0.0);
    value.ok_or_else(|| {
        CliError::input(format!("--step-time cannot be {text:?}"), "write a time such as 350 ms or 1.2 s")
    })
}

impl ExplainRequest {
    fn given(&self) -> Result<Option<Measured>, CliError> {
        match (&self.busbw, &self.step_time) {
            (Some(text), _) => bandwidth_of(text).map(|value| Some(Measured::BusBandwidth(value))),
            (None, Some(text)) => time_of(text).map(|value| Some(Measured::StepTime(value))),
            (None, None) => Ok(None),
        }
    }

    /// The host model that is named, or that the product of the GPUs tells.
    fn model(&self, told: Option<HostModel>) -> Result<HostModel, CliError> {
        match &self.host {
            Some(name) => HostModel::named(name).ok_or_else(|| {
                let names = HostModel::NAMES.join(", ");
                CliError::input(format!("--host cannot be {name:?}"), format!("write one of {names}"))
            }),
            None => Ok(told.unwrap_or_else(|| HostModel::named(HOST).expect("a host model of our own"))),
        }
    }

    /// The setting of a test that options describe.
    fn setting(&self) -> Result<Setting, CliError> {
        let host = self.model(None)?;
        let hosts = self.hosts.ok_or_else(|| {
            let message = "nothing says which job was measured";
            CliError::input(message, "give --scenario, --hosts, logs of nccl-tests, or a run folder")
        })?;
        let collective = self.collective.as_deref().unwrap_or("all-reduce");
        // Dispatch and combine have tokens instead of bytes: a scenario says them.
        let is_told = |kind: &Collective| !kind.is_of_experts();
        if Collective::named(collective).filter(is_told).is_none() {
            let names: Vec<&str> =
                Collective::ALL.into_iter().filter(is_told).map(Collective::name).collect();
            let names = names.join(", ");
            let message = format!("--collective cannot be {collective:?}");
            return Err(CliError::input(message, format!("write one of {names}")));
        }
        let gpus = self.gpus.unwrap_or(host.gpus);
        if gpus > host.gpus {
            let message = format!("--gpus: a {} has {} GPUs, not {gpus}", host.name, host.gpus);
            return Err(CliError::input(message, "write a smaller number, or another --host"));
        }
        Ok(Setting {
            collective: collective.to_owned(),
            bytes: self.size()?.unwrap_or(BYTES).0,
            hosts,
            gpus,
            host,
        })
    }

    fn size(&self) -> Result<Option<Bytes>, CliError> {
        let parse = |text: &String| {
            text.parse::<Bytes>().ok().filter(|bytes| bytes.0 > 0).ok_or_else(|| {
                CliError::input(format!("--bytes cannot be {text:?}"), "write a size such as 1 GiB")
            })
        };
        self.bytes.as_ref().map(parse).transpose()
    }

    /// The test of logs that is furthest below what hardware allows, of those with most ranks.
    fn test_of(&self, checked: &Checked) -> Result<Option<(Setting, Measured)>, CliError> {
        let share = |group: &Group| group.share().unwrap_or(1.0);
        let groups = checked.groups.iter().filter(|group| !group.sizes.is_empty());
        let worst = groups
            .max_by(|a, b| (a.kind.ranks.cmp(&b.kind.ranks)).then_with(|| share(b).total_cmp(&share(a))));
        let Some(group) = worst else { return Ok(None) };
        let size = self.size()?;
        let row = match size {
            None => group.sizes.last(),
            Some(wanted) => group.sizes.iter().find(|row| row.bytes == wanted.0),
        };
        let row = row.ok_or_else(|| {
            let all: Vec<String> = group.sizes.iter().map(|row| Bytes(row.bytes).shortest()).collect();
            CliError::input("--bytes: no test has this size", format!("measured are {}", all.join(", ")))
        })?;
        let known = railtwin_calibration::products::model_of_product(&group.kind.product);
        let setting = Setting::of_kind(&group.kind, row.bytes, self.model(known)?);
        let setting = setting.map_err(|why| CliError::input(why, "give --scenario, and --busbw"))?;
        Ok(Some((setting, Measured::BusBandwidth(row.median))))
    }

    /// Reads all that the request names.
    pub(crate) fn posed(&self) -> Result<Posed, CliError> {
        let mut measured = self.given()?;
        let mut assumed = Vec::new();
        let run = self.run_folder();
        let mut posed: Option<(Question, Scenario)> = None;
        if let Some(path) = &self.scenario {
            posed = Some(one_point(&path.display().to_string(), "explain")?);
        } else if let Some(folder) = &run {
            let text = folder.scenario().map_err(|error| CliError::of(error.into(), ""))?;
            posed = Some(of_text(&folder.path().display().to_string(), &text, folder.path())?);
            let info = folder.info().map_err(|error| CliError::of(error.into(), ""))?;
            let value = |name: &str| info.figure(name).and_then(|figure| figure.value);
            measured = measured
                .or_else(|| value("busbw_mean").map(|bits| Measured::BusBandwidth(bits / 8e9)))
                .or_else(|| value("step_time_under_fault").map(Measured::StepTime))
                .or_else(|| value("step_time").map(Measured::StepTime));
        }
        let inputs = self.inputs(run.is_some(), &mut assumed)?;
        let tests = inputs.as_ref().map(|inputs| check(&inputs.merged.nccl_tests, None));
        let test = tests.as_ref().map(|checked| self.test_of(checked)).transpose()?.flatten();
        if let Some((_, of_test)) = &test {
            measured = measured.or(Some(*of_test));
        }
        let (question, scenario) = match (posed, test) {
            (Some(posed), _) => posed,
            (None, test) => {
                let setting = test.map_or_else(|| self.setting(), |(setting, _)| Ok(setting))?;
                assumed.extend(setting.assumed());
                of_text("the test", &setting.text(), Path::new(""))?
            }
        };
        let measured = measured.ok_or_else(|| {
            let help = "give --busbw, --step-time, logs of nccl-tests, or a run folder";
            CliError::input("nothing says what was measured", help)
        })?;
        let told =
            inputs.map(|inputs| diagnose(inputs, Some(&question).filter(|_| self.scenario.is_some()), "job"));
        let told = told.transpose().map_err(|error| CliError::of(error, &question.text))?;
        let job = self.row_of_job(&scenario)?;
        let folder = match (&self.scenario, &run) {
            (Some(path), _) => path.parent().map_or_else(PathBuf::new, Path::to_path_buf),
            (None, Some(run)) => run.path().to_path_buf(),
            (None, None) => PathBuf::new(),
        };
        Ok(Posed { question, scenario, folder, job, measured, told, assumed })
    }

    /// The run folder, where that is all that is given.
    fn run_folder(&self) -> Option<RunFolder> {
        let [path] = self.files.as_slice() else { return None };
        path.join("run.json").is_file().then(|| RunFolder::open(path).ok()).flatten()
    }

    /// Contents of the files. A run without telemetry has its figures alone.
    fn inputs(&self, is_run: bool, assumed: &mut Vec<String>) -> Result<Option<Inputs>, CliError> {
        if self.files.is_empty() {
            return Ok(None);
        }
        match Inputs::read(&self.files, "job") {
            Ok(inputs) => Ok(Some(inputs)),
            Err(_) if is_run => {
                assumed.push("the run has no telemetry, so that its figures alone are explained".to_owned());
                Ok(None)
            }
            Err(error) => Err(CliError::of(error.into(), "")),
        }
    }

    fn row_of_job(&self, scenario: &Scenario) -> Result<usize, CliError> {
        let names: Vec<&str> = scenario.jobs.iter().map(|job| job.name.as_str()).collect();
        let row = match &self.job {
            None => (!names.is_empty()).then_some(0),
            Some(name) => names.iter().position(|one| one == name),
        };
        row.ok_or_else(|| {
            let asked = self.job.as_deref().unwrap_or_default();
            CliError::input(
                format!("--job: the scenario has no job {asked:?}"),
                format!("jobs are {}", names.join(", ")),
            )
        })
    }
}

fn of_text(file: &str, text: &str, folder: &Path) -> Result<(Question, Scenario), CliError> {
    let question = Question::of_text(file, text, folder);
    let mut points = question.points().map_err(|error| CliError::of(error, &question.text))?;
    Ok((question, points.remove(0).scenario))
}

impl Posed {
    /// Memory and time of the answer.
    pub(crate) fn cost(&self) -> Result<Cost, CliError> {
        let failed = |error| CliError::of(error, &self.question.text);
        let resolved = self.question.resolve(&self.scenario).map_err(failed)?;
        Cost::of_runs(&resolved, (RUNS, 1.0), 1, railtwin::memory::limit()).map_err(failed)
    }

    /// Draws that progress hears of, about.
    pub(crate) const fn ticks(&self) -> u64 {
        RUNS
    }

    /// The answer.
    pub(crate) fn explained(&self, draws: u32, progress: &(dyn Fn() + Sync)) -> Result<Explained, CliError> {
        let text = self.scenario.to_toml();
        let asked = Asked {
            text: &text,
            folder: self.folder.clone(),
            job: self.job,
            measured: self.measured,
            evidence: self.told.as_ref(),
            draws,
            assumed: self.assumed.clone(),
        };
        let engine = railtwin::engines::engine(EngineName::Flow, 1);
        explain(&asked, &*engine, progress).map_err(|why| {
            let help = "a job that computes, or runs several collectives, has a --step-time and no --busbw";
            CliError::input(format!("the scenario cannot be simulated as it is: {why}"), help)
        })
    }
}
