//! Puts into the program the scenarios of the reproduction table, and hashes of the sources behind its figures.
#![allow(clippy::disallowed_methods, reason = "a build script reads the repository")]
use std::path::Path;
use std::{env, fs};

#[allow(dead_code, reason = "the script needs one of its functions")]
#[path = "../../../xtask/src/rust_text.rs"]
mod rust_text;
mod sources;

fn main() {
    papers();
    sources::embed();
}

/// Embeds the scenarios of the reproduction table as `PAPERS`, name and text by name, those of other simulators as
/// `peers/NAME`; and the files that they read as `FILES`, by the path that they name.
fn papers() {
    let mut code = String::from(
        "/// Scenarios of the papers and of other simulators: name and text.\nconst PAPERS: &[(&str, &str)] = &[\n",
    );
    for (folder, head) in [("papers", ""), ("peers", "peers/"), ("reference", "reference/")] {
        for (file, path) in listed(&format!("../../scenarios/{folder}"), &["toml"]) {
            let name = format!("{head}{}", file.trim_end_matches(".toml"));
            code.push_str(&format!("    ({name:?}, include_str!({path:?})),\n"));
        }
    }
    code.push_str(
        "];\n/// What those scenarios read: path and content.\nconst FILES: &[(&str, &[u8])] = &[\n",
    );
    for (folder, endings) in [
        ("peers", ["cm", "topo"]),
        ("htsim", ["cm", "topo"]),
        ("crux_testbed", ["csv", "csv"]),
        ("simai", ["txt", "txt"]),
    ] {
        for (file, path) in listed(&format!("../../data/{folder}"), &endings) {
            let name = format!("../../data/{folder}/{file}");
            code.push_str(&format!("    ({name:?}, include_bytes!({path:?})),\n"));
        }
    }
    code.push_str("];\n");
    let target = Path::new(&env::var("OUT_DIR").expect("cargo sets OUT_DIR")).join("papers.rs");
    fs::write(target, code).expect("the build folder can be written");
}

/// Name and path of the files of a folder with one of these endings, by name.
fn listed(folder: &str, endings: &[&str]) -> Vec<(String, String)> {
    println!("cargo::rerun-if-changed={folder}");
    let entries = fs::read_dir(folder).unwrap_or_else(|_| panic!("the repository holds {folder}"));
    let mut files: Vec<_> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    let fits = |file: &std::path::PathBuf| {
        file.extension().and_then(|ending| ending.to_str()).is_some_and(|ending| endings.contains(&ending))
    };
    files.retain(fits);
    files.sort();
    let named = files.iter().map(|file| {
        let name =
            file.file_name().and_then(|name| name.to_str()).expect("names of scenarios and data are ASCII");
        let path = fs::canonicalize(file).expect("a listed file has a path");
        (name.to_owned(), path.display().to_string())
    });
    named.collect()
}
