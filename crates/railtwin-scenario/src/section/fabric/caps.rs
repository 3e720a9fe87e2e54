//! What collectives cost the hosts of a scenario: its own caps, those of a file, and those known of the host model.
use railtwin_fabric::{Fabric, HostModel, HostSpec};
use railtwin_workload::Collective;
use railtwin_workload::scaling::ScalingModel;

use super::host_caps::{models, of_model, scaling_of_model};
use super::scaling::{ScalingSpec, troubles_of_scaling};
use super::{CapSpec, CapsFile};
use crate::declared::parse_section;
use crate::resolve::{Reader, Source};
use crate::tree::{Node, steps};
use crate::violation::Violation;
use crate::{Problem, SCHEMA, Scenario, ScenarioError};

/// The key that says whose caps hold.
const KEY: &str = "fabric.host.caps";

/// What is known of the costs of collectives.
#[derive(Clone, Debug, Default)]
pub(crate) struct Caps {
    /// What the scenario itself says: before all else.
    pub(crate) own: Vec<CapSpec>,
    /// What was measured, of hosts of the model or by who wrote a file.
    pub(crate) known: Vec<CapSpec>,
    /// What was fitted of collectives for any number of hosts.
    pub(crate) scaling: Vec<ScalingSpec>,
    /// Whether hosts cost what NCCL's model says where neither tells.
    pub(crate) modelled: bool,
}

impl Caps {
    /// What holds plain transfers, which run without a collective library: what the scenario itself says, and what was
    /// measured without one.
    pub(crate) fn of_plain(&self) -> Self {
        let known = self.known.iter().filter(|cap| cap.is_plain()).cloned().collect();
        Self { own: self.own.clone(), known, scaling: Vec::new(), modelled: false }
    }

    /// What was fitted of collectives on hosts of a model, for any number of them.
    pub(crate) fn scaling_of(&self, host: &HostModel) -> Vec<ScalingModel> {
        let holds = |one: &&ScalingSpec| one.host.as_ref().is_none_or(|name| *name == host.name);
        self.scaling.iter().filter(holds).map(ScalingSpec::model).collect()
    }

    /// What holds collectives.
    pub(crate) fn of_collectives(&self) -> Self {
        let of = |caps: &[CapSpec]| caps.iter().filter(|cap| !cap.is_plain()).cloned().collect();
        Self {
            own: of(&self.own),
            known: of(&self.known),
            scaling: self.scaling.clone(),
            modelled: self.modelled,
        }
    }
}

/// What contradicts itself in caps, with the path of each: `cap.0.until`.
pub(crate) fn troubles_of_caps(caps: &[CapSpec]) -> Vec<(String, Violation)> {
    let mut troubles = Vec::new();
    for (row, cap) in caps.iter().enumerate() {
        let mut told = |key: &str, message: &str, hint: &'static str| {
            let path = if key.is_empty() { format!("cap.{row}") } else { format!("cap.{row}.{key}") };
            troubles.push((path, (message.to_owned(), hint)));
        };
        if cap.busbw.is_none() && cap.step.is_none() && cap.channel.is_none() {
            told("", "a cap that says nothing", "write busbw, step, or channel with channel_bytes");
        }
        if cap.message.is_some() && !(cap.collective.is_of_experts() && cap.step.is_some()) {
            told(
                "message",
                "only dispatch and combine of experts send a message to each expert",
                "write the collective expert-dispatch or expert-combine, and its step",
            );
        }
        if cap.channel.is_some() != cap.channel_bytes.is_some() {
            told(
                "",
                "channel and channel_bytes belong together",
                "write both: 80 GB/s up to 64 MiB, and twice as much at twice the size",
            );
        }
        if cap.channel.is_some() && cap.collective != Collective::SendReceive {
            told(
                "channel",
                "only transfers from point to point are cut into channels by size",
                "write busbw, or the collective send-receive",
            );
        }
        if cap.is_plain() && cap.collective != Collective::SendReceive {
            told(
                "plain",
                "only transfers from point to point run without a collective library",
                "leave it out, or write the collective send-receive",
            );
        }
        if cap.until.zip(cap.from).is_some_and(|(until, from)| until <= from) {
            told("until", "no size is from `from` on and below `until`", "write a larger `until`");
        }
        if let Err(error) = cap.algorithm.check(cap.collective) {
            told("algorithm", &error.to_string(), "write an algorithm of the collective");
        }
    }
    troubles
}

impl CapSpec {
    /// Whether it holds plain transfers alone.
    pub(crate) fn is_plain(&self) -> bool {
        self.plain == Some(true)
    }
}

impl CapsFile {
    /// Reads a file of caps. `file` is the name that errors show.
    ///
    /// # Errors
    /// [`ScenarioError`] with every problem at its place.
    pub fn parse(file: &str, text: &str) -> Result<Self, ScenarioError> {
        let caps: Self = parse_section(file, text, &Self::TABLE)?;
        let root = Node::parse(file, text)?;
        let mut problems = Vec::new();
        for (path, (message, hint)) in
            troubles_of_caps(&caps.caps).into_iter().chain(troubles_of_scaling(&caps.scaling))
        {
            let span = root.span_near(&steps(&path));
            problems.push(Problem::new(text, span, message, Some(hint.to_owned())));
        }
        match problems.is_empty() {
            true => Ok(caps),
            false => Err(ScenarioError::new(file, problems)),
        }
    }

    /// The file as text.
    pub fn to_toml(&self) -> String {
        toml::to_string(self).expect("text keys and numbers below 2^63 are all that caps hold")
    }

    /// Caps in this version of the format.
    pub fn new(caps: Vec<CapSpec>, scaling: Vec<ScalingSpec>) -> Self {
        Self { schema: SCHEMA, caps, scaling }
    }
}

impl Scenario {
    /// All caps; a `[[cap]]` comes before what is known of the host model, and so does a file.
    pub(crate) fn all_caps(
        &self,
        fabric: &Fabric,
        source: Source<'_>,
        read: &Reader<'_>,
    ) -> Result<Caps, ScenarioError> {
        let own = self.caps.clone();
        let host = self.fabric.host();
        let asked = host.and_then(|host| host.caps.as_deref());
        // Caps tell apart how many GPUs of a host take part, so hosts with fewer of them are known too.
        let more = |host: &HostSpec, model: &HostModel| {
            let usual = HostModel::named(&model.name).map_or(0, |usual| usual.gpus);
            host.nvlink.is_some() || host.gpus.is_some_and(|gpus| gpus > usual)
        };
        match asked {
            Some("none") => return Ok(Caps { own, ..Caps::default() }),
            Some("measured") | None => {}
            Some(path) => {
                let bytes = source.read(read, KEY, path)?;
                let text = String::from_utf8(bytes).map_err(|_| {
                    source.error(
                        KEY,
                        format!("{path:?} is not text"),
                        Some("write `none`, `measured` or a file"),
                    )
                })?;
                let CapsFile { caps: known, scaling, .. } = CapsFile::parse(path, &text)?;
                return Ok(Caps { own, known, scaling, modelled: true });
            }
        }
        let (mut known, mut scaling) = (Vec::new(), Vec::new());
        for model in fabric.host_models() {
            let changed = host.is_some_and(|host| more(host, model));
            let (rows, models_of) = if changed {
                Default::default()
            } else {
                (of_model(&model.name), scaling_of_model(&model.name))
            };
            if rows.is_empty() && asked.is_some() {
                let message = match changed {
                    true => format!(
                        "{} has more GPUs or another NVLink here than where it was measured",
                        model.name
                    ),
                    false => format!("no caps are known of {}, but of {}", model.name, models().join(", ")),
                };
                let hint = "leave the key out for what NCCL's model has, or write [[cap]] or a file of them";
                return Err(source.error(KEY, message, Some(hint)));
            }
            known.extend(rows);
            scaling.extend(models_of);
        }
        let modelled = fabric.host_models().iter().any(|model| model.gpu_flops.is_some());
        Ok(Caps { own, known, scaling, modelled })
    }
}
