//! Puts the built page into the program, or the committed stand-in where it has not been built; and the
//! scenarios of the reproduction table.
#![allow(clippy::disallowed_methods, reason = "a build script reads the repository")]
use std::path::Path;
use std::{env, fs};

fn main() {
    let built = Path::new("../../web/dist/report.html");
    let stand_in = Path::new("src/stand_in.html");
    println!("cargo::rerun-if-changed=../../web/dist/report.html");
    println!("cargo::rerun-if-changed=src/stand_in.html");
    let page = if built.exists() { built } else { stand_in };
    let target = Path::new(&env::var("OUT_DIR").expect("cargo sets OUT_DIR")).join("report.html");
    fs::copy(page, target).expect("the page can be copied into the build folder");
    papers();
}

/// Embeds the scenarios of the reproduction table as `PAPERS`: name and text, by name.
fn papers() {
    let folder = Path::new("../../scenarios/papers");
    println!("cargo::rerun-if-changed=../../scenarios/papers");
    let entries = fs::read_dir(folder).expect("the repository holds scenarios/papers");
    let mut files: Vec<_> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "toml"));
    files.sort();
    let mut code =
        String::from("/// Scenarios of the papers: name and text.\nconst PAPERS: &[(&str, &str)] = &[\n");
    for file in files {
        let name = file.file_stem().and_then(|stem| stem.to_str()).expect("scenario names are ASCII");
        let path = fs::canonicalize(&file).expect("a listed file has a path");
        code.push_str(&format!("    ({name:?}, include_str!({:?})),\n", path.display().to_string()));
    }
    code.push_str("];\n");
    let target = Path::new(&env::var("OUT_DIR").expect("cargo sets OUT_DIR")).join("papers.rs");
    fs::write(target, code).expect("the build folder can be written");
}
