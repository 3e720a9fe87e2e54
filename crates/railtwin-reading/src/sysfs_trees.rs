//! Folders copied from `/sys` among the files of a folder: all files of a tree are read as one.
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use railtwin_formats::telemetry::{devices_of_sysfs, host_of_sysfs, place_in_sysfs};

/// Longest file of a tree that is read: those of the kernel are a page.
const BYTES_MAX: u64 = 1 << 16;

/// A folder copied from `/sys`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Tree {
    /// The folder above all devices.
    pub folder: PathBuf,
    /// The host of it, where a folder above or a file `hostname` tells it.
    pub host: Option<String>,
    /// Last change of any of its files.
    pub time_ns: u64,
    /// Paths below the folder, and the files.
    files: Vec<(String, PathBuf)>,
}

impl Tree {
    /// All files with their bytes.
    pub fn read(&self) -> std::io::Result<Vec<(String, Vec<u8>)>> {
        let read = |(below, path): &(String, PathBuf)| Ok((below.clone(), std::fs::read(path)?));
        self.files.iter().map(read).collect()
    }
}

/// Takes the files of trees out of those below a folder, and gives the rest.
pub(super) fn trees_of(given: &Path, files: Vec<PathBuf>) -> (Vec<Tree>, Vec<PathBuf>) {
    // Names above the folder that was given tell no host, but its own may.
    let shown = given.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let below = |path: &Path| {
        let rest = path.strip_prefix(given).ok()?.to_str()?;
        Some(format!("{shown}/{}", rest.replace('\\', "/")))
    };
    let named: Vec<(Option<String>, PathBuf)> = files.into_iter().map(|path| (below(&path), path)).collect();
    let devices: BTreeSet<String> = devices_of_sysfs(named.iter().filter_map(|(name, _)| name.as_deref()));
    let mut trees: BTreeMap<String, Tree> = BTreeMap::new();
    let mut rest = Vec::new();
    let mut hostnames: BTreeMap<String, PathBuf> = BTreeMap::new();
    for (name, path) in named {
        let beside = |name: &str| {
            // Files of a device beside its ports: what model it is.
            let (folder, _) = name.rsplit_once('/')?;
            let (root, _) = folder.rsplit_once('/')?;
            devices.contains(folder).then(|| (root.to_owned(), name[root.len() + 1..].to_owned()))
        };
        let about = path.metadata().ok().filter(|about| about.is_file() && about.len() <= BYTES_MAX);
        let place = name.as_deref().zip(about.as_ref()).and_then(|(name, _)| {
            let cut = place_in_sysfs(name).map(|(root, rest)| (root.to_owned(), rest.to_owned()));
            cut.or_else(|| beside(name))
        });
        let Some((root, inner)) = place else {
            if let Some((folder, "hostname")) = name.as_deref().and_then(|name| name.rsplit_once('/')) {
                hostnames.insert(folder.trim_end_matches("/etc").to_owned(), path.clone());
            }
            rest.push(path);
            continue;
        };
        let changed = about.and_then(|about| about.modified().ok());
        let since = changed.and_then(|time| time.duration_since(UNIX_EPOCH).ok()).unwrap_or_default();
        let folder = given.join(root.strip_prefix(&shown).unwrap_or(&root).trim_start_matches('/'));
        let tree = trees.entry(root.clone()).or_insert_with(|| Tree {
            folder,
            host: host_of_sysfs(&root),
            time_ns: 0,
            files: Vec::new(),
        });
        tree.time_ns = tree.time_ns.max(u64::try_from(since.as_nanos()).unwrap_or(u64::MAX));
        tree.files.push((inner, path));
    }
    for (root, tree) in &mut trees {
        let above = hostnames.iter().filter(|(folder, _)| root.starts_with(folder.as_str()));
        let Some((_, path)) = above.max_by_key(|(folder, _)| folder.len()) else { continue };
        let told = std::fs::read_to_string(path).unwrap_or_default();
        let name = told.trim();
        if !name.is_empty() && name.len() < 256 && !name.contains(char::is_whitespace) {
            tree.host = Some(name.to_owned());
            rest.retain(|file| file != path);
        }
    }
    (trees.into_values().collect(), rest)
}
