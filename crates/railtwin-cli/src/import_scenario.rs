//! A scenario around an imported file: a fabric that its job fits on, or a job for its fabric.
use std::path::{Component, Path, PathBuf};

use railtwin::Question;
use railtwin::question::is_scenario;
use railtwin_store::{input, write_whole};

use crate::CliError;

/// What a scenario is written around.
pub(crate) enum Around {
    /// A job's work.
    Workload {
        /// Key of `workload`.
        key: &'static str,
        /// What the key names.
        path: PathBuf,
        /// A file of it that is there.
        file: PathBuf,
        /// GPUs that it needs.
        ranks: u32,
        /// Communicators of its traces, where they are in a file.
        groups: Option<PathBuf>,
    },
    /// A fabric.
    Fabric {
        /// Key of `[fabric]`.
        key: &'static str,
        /// The file.
        path: PathBuf,
        /// Hosts that it has.
        hosts: u32,
    },
    /// A topology of any other form: devices and cables by name.
    Listed {
        /// The file.
        path: PathBuf,
        /// Hosts that it has.
        hosts: u32,
        /// Whether it says rates.
        rated: bool,
    },
    /// Nothing: no scenario describes it, by its name.
    Nothing(&'static str),
    /// Connections between hosts of one GPU.
    Connections {
        /// The file.
        path: PathBuf,
        /// Hosts that it needs.
        nodes: u32,
    },
}

/// Hosts of a leaf, and its uplinks, under plain connections: a leaf without oversubscription.
const HOSTS_PER_LEAF: u32 = 8;

/// GPUs of a host of the preset.
const GPUS_PER_HOST: u32 = 8;
/// Active hosts of a segment of HPN (section 5).
const HOSTS_PER_SEGMENT: u32 = 128;
/// Segments of a pod of HPN (section 6).
const SEGMENTS_PER_POD: u32 = 15;
/// Hosts of the collective that a bare fabric is given: enough to leave the leaf, quick to run.
const HOSTS_OF_A_COLLECTIVE: u32 = 16;

/// Writes the scenario, after making sure that it resolves.
pub(crate) fn write_scenario(path: &Path, around: &Around, force: bool) -> Result<(), CliError> {
    if path.symlink_metadata().is_ok() {
        if !force {
            let message = format!("{} exists already", path.display());
            return Err(CliError::input(message, "choose another name, or replace it with --force"));
        }
        if !input::read_text(path).is_ok_and(|text| is_scenario(&text)) {
            let message = format!("{} exists already and is no scenario", path.display());
            return Err(CliError::input(message, "choose another name; --force replaces scenarios only"));
        }
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let failed = |error| CliError::Folder(format!("cannot write {}: {error}", path.display()));
    let folder = folder.canonicalize().map_err(failed)?;
    let text = scenario_text(path, &folder, around)?;
    let question = Question::of_text(&path.display().to_string(), &text, &folder);
    let wrong = |error| CliError::of(error, &text);
    for point in question.points().map_err(wrong)? {
        question.resolve(&point.scenario).map_err(wrong)?;
    }
    write_whole(path, text.as_bytes()).map_err(failed)
}

fn scenario_text(path: &Path, folder: &Path, around: &Around) -> Result<String, CliError> {
    let name = name_of(path);
    Ok(match around {
        Around::Nothing(what) => {
            let message = format!("no scenario can be written of {what}");
            let help = "leave --scenario out; files of one topology are joined by `railtwin export FOLDER --to cables`";
            return Err(CliError::input(message, help));
        }
        Around::Workload { key, path, file, ranks, groups } => {
            let whole = file.canonicalize()?;
            let named = path.file_name().unwrap_or(path.as_os_str());
            let named = quoted(&relative(folder, &whole.with_file_name(named)))?;
            let groups = match groups {
                None => String::new(),
                Some(groups) => format!(", groups = {}", quoted(&relative(folder, &groups.canonicalize()?))?),
            };
            let hosts = ranks.div_ceil(GPUS_PER_HOST).max(1);
            let segments = hosts.div_ceil(HOSTS_PER_SEGMENT);
            let pods = segments.div_ceil(SEGMENTS_PER_POD);
            format!(
                "schema = 1\nname = \"{name}\"\ndescription = \"{ranks} GPUs on an HPN fabric that they fit on.\"\n\n\
                 [run]\nreplicates = 5\n\n\
                 [fabric]\npreset = \"hpn\"\npods = {pods}\nsegments = {}\nhosts = {}\n\n\
                 [[job]]\nname = \"imported\"\nworkload = {{ {key} = {named}{groups} }}\n",
                segments.div_ceil(pods),
                hosts.min(HOSTS_PER_SEGMENT),
            )
        }
        Around::Fabric { key, path, hosts } => {
            let named = quoted(&relative(folder, &path.canonicalize()?))?;
            let hosts = hosts.min(&HOSTS_OF_A_COLLECTIVE);
            format!(
                "schema = 1\nname = \"{name}\"\ndescription = \"An all-reduce on an imported fabric.\"\n\n\
                 [run]\nreplicates = 5\n\n\
                 [fabric]\n{key} = {named}\n\n\
                 [[job]]\nname = \"all-reduce\"\nhosts = {hosts}\n\
                 collective = {{ kind = \"all-reduce\", bytes = \"1 GiB\" }}\n",
            )
        }
        Around::Listed { path, hosts, rated } => {
            let named = quoted(&relative(folder, &path.canonicalize()?))?;
            let hosts = hosts.min(&HOSTS_OF_A_COLLECTIVE);
            // Most backends of today; the file says nothing.
            let rate = if *rated { "" } else { "rate = \"400 Gbps\" # assumed: the file says no rate\n" };
            format!(
                "schema = 1\nname = \"{name}\"\ndescription = \"An all-reduce on an imported fabric.\"\n\n\
                 [run]\nreplicates = 5\n\n\
                 [fabric]\npreset = \"cables\"\nfile = {named}\n{rate}\n\
                 [[job]]\nname = \"all-reduce\"\nhosts = {hosts}\n\
                 collective = {{ kind = \"all-reduce\", bytes = \"1 GiB\" }}\n",
            )
        }
        Around::Connections { path, nodes } => {
            let named = quoted(&relative(folder, &path.canonicalize()?))?;
            let leaves = nodes.div_ceil(HOSTS_PER_LEAF);
            format!(
                "schema = 1\nname = \"{name}\"\ndescription = \"Connections between {nodes} hosts on two tiers of 100 Gbps.\"\n\n\
                 [fabric]\npreset = \"leaf-spine\"\nleaves = {leaves}\nhosts_per_leaf = {HOSTS_PER_LEAF}\n\
                 uplinks = {HOSTS_PER_LEAF}\nuplink_capacity = \"100 Gbps\"\n\
                 host = {{ model = \"plain\", nic_port_capacity = \"100 Gbps\" }}\n\n\
                 [[job]]\nname = \"connections\"\nworkload = {{ connections = {named} }}\n",
            )
        }
    })
}

/// A scenario's name from its file's: lower-case letters, digits and `-`.
fn name_of(path: &Path) -> String {
    let stem = path.file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().to_lowercase());
    let plain = |c: char| if c.is_ascii_lowercase() || c.is_ascii_digit() { c } else { '-' };
    let name: String = stem.chars().map(plain).collect();
    let name = name.trim_matches('-');
    if name.is_empty() { "imported".to_owned() } else { name.to_owned() }
}

/// A path as a TOML string; JSON's escapes are TOML's too.
fn quoted(path: &Path) -> Result<String, CliError> {
    let text = path.to_str().filter(|text| !text.contains('\u{7f}')).ok_or_else(|| {
        let message = format!("the path {} cannot be written as text", path.display());
        CliError::input(message, "move the file to a path of plain letters")
    })?;
    Ok(serde_json::Value::from(text).to_string())
}

/// The way from a folder to a file; both are absolute and without links.
fn relative(folder: &Path, file: &Path) -> PathBuf {
    let (from, to): (Vec<Component<'_>>, Vec<Component<'_>>) =
        (folder.components().collect(), file.components().collect());
    let shared = from.iter().zip(&to).take_while(|(a, b)| a == b).count();
    if shared == 0 {
        return file.to_owned();
    }
    let up = from[shared..].iter().map(|_| Component::ParentDir);
    up.chain(to[shared..].iter().copied()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_lead_from_the_scenario_to_the_file() {
        let lead = |folder: &str, file: &str| relative(folder.as_ref(), file.as_ref()).display().to_string();
        assert_eq!(lead("/a/b", "/a/b/c.txt"), "c.txt");
        assert_eq!(lead("/a/b", "/a/x/c.txt"), "../x/c.txt");
        assert_eq!(lead("/a/b", "/c.txt"), "../../c.txt");
    }

    #[test]
    fn names_are_made_fit() {
        assert_eq!(name_of("x/My Job_7.toml".as_ref()), "my-job-7");
        assert_eq!(name_of("_.toml".as_ref()), "imported");
    }
}
