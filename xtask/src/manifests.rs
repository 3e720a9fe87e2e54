//! Reads the manifests of the workspace's crates: name, description, layer, dependencies.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use toml::{Table, Value};

/// The highest layer that a crate may name.
pub const TOP_LAYER: u8 = 10;

/// Where a crate stands in the house. Crates beside the house sort after every layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Layer {
    /// A storey, 0 (ground) to 8 (doors).
    Storey(u8),
    /// Test kit and tools: looked at by nobody but tests.
    Beside,
}

impl fmt::Display for Layer {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Layer::Storey(number) => write!(out, "{number}"),
            Layer::Beside => write!(out, "beside"),
        }
    }
}

/// Which table of the manifest a dependency stands in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `[dependencies]` and `[build-dependencies]`, also below `[target.…]`.
    Normal,
    /// `[dev-dependencies]`.
    Dev,
}

/// One dependency: the package's name (not the local alias) and its kind.
#[derive(Debug)]
pub struct Dependency {
    pub name: String,
    pub kind: Kind,
}

/// One crate of the workspace.
#[derive(Debug)]
pub struct Crate {
    pub name: String,
    pub description: String,
    pub layer: Layer,
    pub folder: PathBuf,
    pub dependencies: Vec<Dependency>,
}

/// Reads `crates/*/Cargo.toml` and, where there is one, `xtask/Cargo.toml` below `root`.
///
/// Returns the crates sorted by layer, then name, and one message for each manifest that is not as it must be.
///
/// # Errors
/// When there is no `crates` folder to read, or no crate in it.
pub fn read(root: &Path) -> Result<(Vec<Crate>, Vec<String>), String> {
    let houses = root.join("crates");
    let entries =
        fs::read_dir(&houses).map_err(|e| format!("{}: cannot list crates: {e}", houses.display()))?;
    let mut folders: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    folders.push(root.join("xtask"));
    folders.retain(|folder| folder.join("Cargo.toml").is_file());
    folders.sort();
    if folders.is_empty() {
        return Err(format!("{}: holds no crate", houses.display()));
    }
    let aliases = workspace_aliases(root)?;
    let (mut crates, mut problems) = (Vec::new(), Vec::new());
    for folder in folders {
        match read_crate(&folder, &aliases) {
            Ok(found) => crates.push(found),
            Err(problem) => problems.push(problem),
        }
    }
    crates.sort_by(|a, b| (a.layer, &a.name).cmp(&(b.layer, &b.name)));
    Ok((crates, problems))
}

/// Keys of `[workspace.dependencies]` that rename their package.
fn workspace_aliases(root: &Path) -> Result<BTreeMap<String, String>, String> {
    let path = root.join("Cargo.toml");
    if !path.is_file() {
        return Ok(BTreeMap::new());
    }
    let manifest = parse(&path)?;
    let table = manifest.get("workspace").and_then(|w| w.get("dependencies")).and_then(Value::as_table);
    let renamed = table
        .into_iter()
        .flatten()
        .filter_map(|(key, value)| Some((key.clone(), value.get("package")?.as_str()?.to_owned())));
    Ok(renamed.collect())
}

fn parse(path: &Path) -> Result<Table, String> {
    let text = fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))?;
    text.parse::<Table>().map_err(|e| format!("{}: {e}", path.display()))
}

fn read_crate(folder: &Path, aliases: &BTreeMap<String, String>) -> Result<Crate, String> {
    let path = folder.join("Cargo.toml");
    let manifest = parse(&path)?;
    let package = manifest.get("package").ok_or_else(|| format!("{}: has no [package]", path.display()))?;
    let text_of = |key: &str| package.get(key).and_then(Value::as_str).map(str::to_owned);
    let name = text_of("name").ok_or_else(|| format!("{}: package.name is missing", path.display()))?;
    let description = text_of("description").ok_or_else(|| {
        format!("{}: package.description is missing: one line that says what lives there", path.display())
    })?;
    let layer = package.get("metadata").and_then(|m| m.get("railtwin")).and_then(|r| r.get("layer"));
    let layer = read_layer(layer).map_err(|found| {
        format!(
            "{}: [package.metadata.railtwin] layer {found}; accepted: 0 to {TOP_LAYER}, or \"beside\"",
            path.display()
        )
    })?;
    let mut dependencies = Vec::new();
    collect_dependencies(&manifest, aliases, &mut dependencies);
    let targets = manifest.get("target").and_then(Value::as_table);
    for target in targets.into_iter().flatten().filter_map(|(_, value)| value.as_table()) {
        collect_dependencies(target, aliases, &mut dependencies);
    }
    Ok(Crate { name, description, layer, folder: folder.to_path_buf(), dependencies })
}

fn read_layer(value: Option<&Value>) -> Result<Layer, String> {
    match value {
        None => Err("is missing".to_owned()),
        Some(Value::Integer(number)) => u8::try_from(*number)
            .ok()
            .filter(|number| *number <= TOP_LAYER)
            .map(Layer::Storey)
            .ok_or_else(|| format!("is {number}")),
        Some(Value::String(text)) if text == "beside" => Ok(Layer::Beside),
        Some(other) => Err(format!("is {other}")),
    }
}

fn collect_dependencies(table: &Table, aliases: &BTreeMap<String, String>, into: &mut Vec<Dependency>) {
    let sections = [
        ("dependencies", Kind::Normal),
        ("build-dependencies", Kind::Normal),
        ("dev-dependencies", Kind::Dev),
    ];
    for (section, kind) in sections {
        for (key, value) in table.get(section).and_then(Value::as_table).into_iter().flatten() {
            let own = value.get("package").and_then(Value::as_str);
            let name = own.unwrap_or_else(|| aliases.get(key).map_or(key.as_str(), String::as_str));
            into.push(Dependency { name: name.to_owned(), kind });
        }
    }
}
