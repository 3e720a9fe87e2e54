//! Puts the built page into the program, or the committed stand-in where it has not been built.
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
}
