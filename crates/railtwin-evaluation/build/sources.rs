//! Embeds a hash of each source file of the façade and of the crates below it, and of each crate's foreign packages, for the
//! keys of the reproduction table (`src/reproduce/keys`).
//!
//! A hash ignores comments, empty lines and tests.
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::{env, fs};

use super::rust_text::live_text;

/// The folder of all crates, relative to this crate.
const CRATES: &str = "..";
/// This crate: the walk over manifests starts here.
const FIRST: &str = "railtwin-evaluation";
/// The names of our crates begin with this; all others are foreign.
const OURS: &str = "railtwin";

/// Writes `SOURCES` (file under `crates/`, hash) and `FOREIGN` (crate, hash of its foreign packages) for `include!`.
pub fn embed() {
    let manifests = manifests();
    let packages = Packages::read(&read(Path::new("../../Cargo.lock")));
    let mut code = String::from("/// Source files, by path under `crates/`, and their hashes.\n");
    code.push_str("const SOURCES: &[(&str, &str)] = &[\n");
    for name in manifests.keys() {
        for (file, hash) in files_of(name) {
            writeln!(code, "    ({file:?}, \"{hash:016x}\"),").expect("a text takes all");
        }
    }
    code.push_str(
        "];\n/// Crates, and a hash of the foreign packages that each stands on, with their versions.\n",
    );
    code.push_str("const FOREIGN: &[(&str, &str)] = &[\n");
    for (name, foreign) in &manifests {
        let hash = hash(packages.under(foreign).as_bytes());
        writeln!(code, "    ({name:?}, \"{hash:016x}\"),").expect("a text takes all");
    }
    code.push_str("];\n");
    let target = Path::new(&env::var("OUT_DIR").expect("cargo sets OUT_DIR")).join("sources.rs");
    fs::write(target, code).expect("the build folder can be written");
}

/// Returns this crate and the crates below it, each with its direct foreign dependencies.
fn manifests() -> BTreeMap<String, BTreeSet<String>> {
    let (mut known, mut ahead) = (BTreeMap::new(), vec![FIRST.to_owned()]);
    while let Some(name) = ahead.pop() {
        let text = read(&Path::new(CRATES).join(&name).join("Cargo.toml"));
        let section = text.split("\n[dependencies]\n").nth(1).unwrap_or_default();
        let lines = section.lines().take_while(|line| !line.starts_with('['));
        let names =
            lines.filter_map(|line| line.split(['.', '=', ' ']).next()).filter(|name| !name.is_empty());
        let (own, foreign): (BTreeSet<_>, BTreeSet<_>) =
            names.map(str::to_owned).partition(|name| name.starts_with(OURS));
        known.insert(name, foreign);
        ahead.extend(own.into_iter().filter(|name| !known.contains_key(name)));
    }
    known
}

/// Foreign packages of the lock file by name: versions, and names of dependencies.
struct Packages(BTreeMap<String, (Vec<String>, BTreeSet<String>)>);

impl Packages {
    fn read(lock: &str) -> Self {
        let mut all: BTreeMap<String, (Vec<String>, BTreeSet<String>)> = BTreeMap::new();
        for block in lock.split("[[package]]").filter(|block| block.contains("\nsource = ")) {
            let of = |key: &str| {
                let line = block.lines().find_map(|line| line.strip_prefix(key));
                line.unwrap_or_default().trim_matches('"').to_owned()
            };
            let needs = block.lines().filter_map(|line| line.strip_prefix(" \"")?.split([' ', '"']).next());
            let entry = all.entry(of("name = ")).or_default();
            entry.0.push(of("version = "));
            entry.1.extend(needs.map(str::to_owned));
        }
        Self(all)
    }

    /// Returns a line with the versions of each of these packages and of all their dependencies, by name.
    fn under(&self, names: &BTreeSet<String>) -> String {
        let (mut known, mut ahead) = (BTreeSet::new(), Vec::from_iter(names));
        while let Some(name) = ahead.pop() {
            if known.insert(name) {
                ahead.extend(self.0.get(name).iter().flat_map(|(_, needs)| needs));
            }
        }
        let line = |name: &&String| format!("{name} {:?}\n", self.0.get(*name).map(|(versions, _)| versions));
        known.iter().map(line).collect()
    }
}

/// Returns the hash of each file under `src` of a crate, by path. Included files count to the file that includes them.
fn files_of(name: &str) -> BTreeMap<String, u64> {
    let root = Path::new(CRATES).join(name).join("src");
    println!("cargo::rerun-if-changed={}", root.display());
    let (mut files, mut ahead) = (BTreeMap::new(), vec![root]);
    while let Some(folder) = ahead.pop() {
        let entries = fs::read_dir(&folder).unwrap_or_else(|_| panic!("{} is a folder", folder.display()));
        for path in entries.filter_map(|entry| Some(entry.ok()?.path())) {
            let stem = path.file_stem().and_then(|stem| stem.to_str()).expect("names of sources are ASCII");
            // Files of tests.
            if stem == "tests" || stem.ends_with("_tests") {
                continue;
            }
            if path.is_dir() {
                ahead.push(path);
                continue;
            }
            let shown = path.strip_prefix(CRATES).expect("it is in there").to_str().expect("it is ASCII");
            let is_rust = path.extension().is_some_and(|ending| ending == "rs");
            let hash = if is_rust { hash_of_rust(&path) } else { hash(&bytes(&path)) };
            files.insert(shown.to_owned(), hash);
        }
    }
    files
}

fn hash_of_rust(path: &Path) -> u64 {
    let code = live_text(&read(path));
    let lines = code.lines().map(str::trim_end).filter(|line| !line.is_empty());
    let mut content: Vec<u8> = lines.flat_map(|line| line.bytes().chain([b'\n'])).collect();
    for included in includes(&code, path) {
        println!("cargo::rerun-if-changed={}", included.display());
        content.extend(bytes(&included));
    }
    hash(&content)
}

/// Returns the files that a source embeds by a literal path.
fn includes(code: &str, path: &Path) -> Vec<PathBuf> {
    let named = |macro_name: &str| -> Vec<PathBuf> {
        let rest = code.split(macro_name).skip(1).filter_map(|rest| rest.split('"').next());
        rest.map(|named| path.parent().expect("a file is in a folder").join(named)).collect()
    };
    [named("include_str!(\""), named("include_bytes!(\"")].concat()
}

fn read(path: &Path) -> String {
    println!("cargo::rerun-if-changed={}", path.display());
    fs::read_to_string(path).unwrap_or_else(|_| panic!("the repository holds {}", path.display()))
}

fn bytes(path: &Path) -> Vec<u8> {
    fs::read(path).unwrap_or_else(|_| panic!("the repository holds {}", path.display()))
}

/// FNV-1a: without a package as dependency the build script compiles at once.
fn hash(content: &[u8]) -> u64 {
    content.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}
