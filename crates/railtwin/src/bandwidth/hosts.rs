//! Which host model the logs of nccl-tests are of: by the name of their GPUs, or as the fabric says.
use std::path::Path;

use railtwin_fabric::{FabricError, HostModel};
use railtwin_scenario::{FabricSpec, Preset, SettingsText};

use crate::Question;
use crate::error::Error;

/// Products as CUDA names them, in small letters and without `nvidia`, and the host model that they stand in.
///
/// PCIe cards and NVL pairs have no NVSwitch, so that their names are not among these. An H200 has the NVLink of an H100,
/// and its usual host the same NICs.
const PRODUCTS: [(&str, &str); 5] = [
    ("h100 80gb hbm3", "hgx-h100"),
    ("h200", "hgx-h100"),
    ("h800", "hgx-h800"),
    ("a100-sxm4-80gb", "hgx-a100"),
    ("a100-sxm4-40gb", "hgx-a100"),
];

/// The host model of a GPU by its name in a log, such as `NVIDIA H100 80GB HBM3`; none where it is not clear.
pub fn model_of_product(product: &str) -> Option<HostModel> {
    let small = product.trim().to_ascii_lowercase();
    let bare = small.strip_prefix("nvidia").unwrap_or(&small).trim();
    let (_, model) = PRODUCTS.into_iter().find(|(name, _)| *name == bare)?;
    HostModel::named(model)
}

/// The host model of a fabric: a preset by its name, or the `[fabric]` of a scenario file (`*.toml`).
///
/// # Errors
/// [`Error::Argument`] for a name that is neither, for a scenario with several host models and for an imported fabric
/// that says none; [`Error::File`] and [`Error::Scenario`] as [`Question`] has them.
pub fn model_of_fabric(fabric: &str) -> Result<HostModel, Error> {
    if Preset::NAMES.contains(&fabric) {
        return model(&SettingsText::new(fabric).fabric("--fabric")?, fabric);
    }
    if !fabric.ends_with(".toml") && !Path::new(fabric).is_file() {
        let names = Preset::NAMES.join(", ");
        return Err(Error::Argument(format!(
            "there is no preset and no scenario file called {fabric:?}; write one of {names}, or a scenario file"
        )));
    }
    let mut models: Vec<HostModel> = Vec::new();
    for point in Question::read(Path::new(fabric))?.points()? {
        let found = model(&point.scenario.fabric, fabric)?;
        if !models.contains(&found) {
            models.push(found);
        }
    }
    match (models.pop(), models.len()) {
        (Some(found), 0) => Ok(found),
        (_, others) => Err(Error::Argument(format!(
            "{fabric}: its points have {} host models; write one value for each key of [fabric.host]",
            others + 1
        ))),
    }
}

fn model(fabric: &FabricSpec, name: &str) -> Result<HostModel, Error> {
    let wrong = |error: FabricError| Error::Argument(format!("{name}: {error}"));
    let found = match fabric {
        FabricSpec::Preset(preset) => preset.layout().spec().map_err(wrong)?.host,
        FabricSpec::Lingjun(spec) => spec.host_model().map_err(wrong)?,
        FabricSpec::Htsim(_) => {
            return Err(Error::Argument(format!(
                "{name}: a fabric of htsim has plain hosts of one GPU; name a preset or a scenario with one"
            )));
        }
    };
    found.check().map_err(wrong)?;
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(product: &str) -> Option<String> {
        model_of_product(product).map(|model| model.name)
    }

    #[test]
    fn products_without_an_nvswitch_have_no_model() {
        assert_eq!(name("NVIDIA H100 80GB HBM3").as_deref(), Some("hgx-h100"));
        assert_eq!(name("NVIDIA A100-SXM4-40GB").as_deref(), Some("hgx-a100"));
        assert_eq!(name("NVIDIA H200").as_deref(), Some("hgx-h100"));
        for other in ["NVIDIA H100 PCIe", "NVIDIA H100 NVL", "Tesla V100", "H100", ""] {
            assert_eq!(name(other), None, "{other}");
        }
    }

    #[test]
    fn presets_have_their_hosts_and_strangers_are_refused() {
        assert_eq!(model_of_fabric("hpn").expect("a preset").name, "hgx-h800");
        assert_eq!(model_of_fabric("ai-zone").expect("a preset").name, "grand-teton");
        let error = model_of_fabric("hpm").expect_err("no preset").to_string();
        assert!(error.contains("\"hpm\"") && error.contains("leaf-spine"), "{error}");
    }
}
