//! The fabric of a lab, and how calls that come later find it.
use std::path::Path;

use railtwin_lab::plant::{Frr, FrrSetting};
use railtwin_lab::{Lab, Plant};
use serde_json::{Value, json};

use crate::CliError;
use crate::export_config::{ConfigArgs, planned};
use crate::export_site::site_of;

/// Words of this command by which a lab is held.
pub(crate) fn hold_words(name: &str) -> [String; 4] {
    ["lab", "hold", "--name", name].map(str::to_owned)
}

/// The fabric of a lab as later calls find it.
///
/// # Errors
/// The scenario is not there.
pub(crate) fn site_of_lab(what: &str, settings: &[String], config: &[String]) -> Result<String, CliError> {
    let what = match what.ends_with(".toml") {
        true => Path::new(what).canonicalize()?.display().to_string(),
        false => what.to_owned(),
    };
    // The scenario as it is now: a later call that reads another one would look for nodes that are not there.
    let text = what.ends_with(".toml").then(|| std::fs::read_to_string(&what)).transpose()?;
    Ok(json!({ "what": what, "set": settings, "config": config, "text": text }).to_string())
}

pub(crate) fn plant(what: &str, settings: &[String], config: &ConfigArgs) -> Result<Plant, CliError> {
    let site = site_of(what, settings)?;
    let plan = planned(&site, config)?;
    Ok(Plant::new(site.fabric, plan)?)
}

/// The plant of a lab that is up, as it was asked for.
pub(crate) fn plant_of(lab: &Lab) -> Result<Plant, CliError> {
    let text = lab.kept("site.json").unwrap_or_default();
    let site: Value = serde_json::from_str(&text).unwrap_or_default();
    let words = |key: &str| -> Vec<String> {
        site[key].as_array().into_iter().flatten().filter_map(|one| Some(one.as_str()?.to_owned())).collect()
    };
    let what = site["what"].as_str().ok_or_else(|| {
        let message =
            format!("{} does not say which fabric the lab has", lab.folder.join("site.json").display());
        CliError::input(message, "railtwin lab down, then up again")
    })?;
    if site["text"].as_str().is_some_and(|known| std::fs::read_to_string(what).ok().as_deref() != Some(known))
    {
        let message = format!("{what} is not what it was when the lab came up");
        return Err(CliError::input(message, "railtwin lab down, then up again"));
    }
    plant(what, &words("set"), &ConfigArgs::of_words(&words("config")))
}

/// The routers of a plant.
///
/// # Errors
/// FRR is missing.
pub(crate) fn frr(plant: &Plant) -> Result<Frr, CliError> {
    let bfd = plant.plan.switches.iter().any(|switch| switch.timers.bfd.is_some());
    Ok(Frr::find(FrrSetting { bfd })?)
}

/// Refuses a page whose folder is not there, before anything runs.
pub(crate) fn refuse_page(path: &Path) -> Result<(), CliError> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    match folder.is_dir() && !path.is_dir() {
        true => Ok(()),
        false => {
            let message = format!("--page {}: it cannot be written there", path.display());
            Err(CliError::input(message, "name a file in a folder that is there"))
        }
    }
}

/// Sizes of a fabric, for people.
pub(crate) fn sizes(plant: &Plant) -> Vec<String> {
    let tier = |tier: u8| plant.plan.switches.iter().filter(|switch| switch.tier == tier).count();
    vec![
        format!("{} leaves, {} spines", tier(1), tier(2)),
        format!("{} hosts", plant.plan.hosts.len()),
        format!("{} cables", plant.cables.len()),
    ]
}
