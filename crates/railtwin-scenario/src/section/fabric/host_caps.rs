//! What is known of host models, so that a user need not measure: one file of caps for each, with its sources in it.
use super::{CapSpec, CapsFile, ScalingSpec};

/// Versions of NCCL that hosts of a model were seen with, for what came with one: the logs behind `hgx-h100.toml` say 2.29,
/// HPN's figure 17 2.18.3 on H800. Nobody says one of the others.
const NCCL: [(&str, (u32, u32)); 3] =
    [("hgx-h100", (2, 29)), ("grand-teton", (2, 29)), ("hgx-h800", (2, 18))];

/// The NCCL that hosts of a model were seen with; none where nobody says.
pub(crate) fn nccl_of_model(model: &str) -> Option<(u32, u32)> {
    NCCL.iter().find(|(name, _)| *name == model).map(|&(_, version)| version)
}

/// Host models and the files of what they reach. A Grand Teton is an H100 host with NICs of one port.
const FILES: [(&str, &str, &str); 4] = [
    ("hgx-h800", "hgx-h800.toml", include_str!("caps/hgx-h800.toml")),
    ("hgx-h100", "hgx-h100.toml", include_str!("caps/hgx-h100.toml")),
    ("grand-teton", "hgx-h100.toml", include_str!("caps/hgx-h100.toml")),
    ("hgx-a100", "hgx-a100.toml", include_str!("caps/hgx-a100.toml")),
];

fn file_of_model(model: &str) -> Option<(&'static str, CapsFile)> {
    let (name, file, text) = FILES.into_iter().find(|(name, ..)| *name == model)?;
    Some((name, CapsFile::parse(file, text).expect("a test reads the files of all models")))
}

/// What collectives of host model `model` take over any number of hosts; none where nothing was fitted.
pub fn scaling_of_model(model: &str) -> Vec<ScalingSpec> {
    let Some((name, file)) = file_of_model(model) else { return Vec::new() };
    let of_model = |one: ScalingSpec| ScalingSpec { host: Some(name.to_owned()), ..one };
    file.scaling.into_iter().map(of_model).collect()
}

/// The caps of host model `model`, for it alone; none where nothing is known of it.
pub fn of_model(model: &str) -> Vec<CapSpec> {
    let Some((name, file)) = file_of_model(model) else { return Vec::new() };
    file.caps.into_iter().map(|cap| CapSpec { host: Some(name.to_owned()), ..cap }).collect()
}

/// Host models whose caps are known.
pub fn models() -> Vec<&'static str> {
    FILES.iter().map(|(name, ..)| *name).collect()
}

/// The file of a host model's caps, with its sources: what `[fabric.host] caps` takes for `measured`.
pub fn text_of_model(model: &str) -> Option<&'static str> {
    FILES.iter().find(|(name, ..)| *name == model).map(|(.., text)| *text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use railtwin_fabric::HostModel;
    use railtwin_workload::Algorithm;

    #[test]
    fn every_file_is_of_a_known_model_and_reads() {
        for model in models() {
            assert!(HostModel::named(model).is_some(), "{model}");
            assert!(!of_model(model).is_empty(), "{model}");
        }
        assert!(of_model("plain").is_empty());
    }

    #[test]
    fn rings_hold_to_what_nvlink_carries() {
        for (model, caps) in models().into_iter().map(|model| (model, of_model(model))) {
            let host = HostModel::named(model).unwrap();
            for cap in caps.iter().filter(|cap| cap.algorithm == Algorithm::Ring) {
                assert!(cap.busbw.is_none_or(|busbw| busbw <= host.nvlink.unwrap()), "{cap:?}");
            }
        }
    }
}
