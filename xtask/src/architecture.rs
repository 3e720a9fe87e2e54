//! `architecture`: keeps the crate table of ARCHITECTURE.md equal to the manifests.

use std::fs;
use std::path::Path;

use crate::findings::Findings;
use crate::manifests::{self, Crate};

const FILE: &str = "ARCHITECTURE.md";
const BEGIN: &str = "<!-- crates:begin -->";
const END: &str = "<!-- crates:end -->";

/// Fails when the table is not what the manifests say.
///
/// # Errors
/// When the file, its markers, or the manifests cannot be read.
pub fn check(root: &Path) -> Result<Findings, String> {
    let (old, new) = old_and_new(root)?;
    if old == new {
        return Ok(Findings {
            story: vec![format!("{FILE}: crate table is up to date")],
            ..Findings::default()
        });
    }
    Ok(Findings::of_failure(format!("{FILE}: crate table is stale: run `cargo xtask architecture`")))
}

/// Writes the table anew.
///
/// # Errors
/// As [`check`], and when the file cannot be written.
pub fn rewrite(root: &Path) -> Result<Findings, String> {
    let (old, new) = old_and_new(root)?;
    let told = if old == new {
        "crate table was up to date"
    } else {
        fs::write(root.join(FILE), new).map_err(|e| format!("{FILE}: {e}"))?;
        "crate table rewritten"
    };
    Ok(Findings { story: vec![format!("{FILE}: {told}")], ..Findings::default() })
}

fn old_and_new(root: &Path) -> Result<(String, String), String> {
    let old = fs::read_to_string(root.join(FILE))
        .map_err(|e| format!("{FILE}: cannot be read ({e}); write it, with the lines {BEGIN} and {END}"))?;
    let (crates, problems) = manifests::read(root)?;
    if let Some(problem) = problems.into_iter().next() {
        return Err(problem);
    }
    let missing = |mark: &str| {
        format!("{FILE}: the line {mark} is missing; the crate table stands between {BEGIN} and {END}")
    };
    let begin = old.find(BEGIN).ok_or_else(|| missing(BEGIN))? + BEGIN.len();
    let length = old[begin..].find(END).ok_or_else(|| missing(END))?;
    let new = format!("{}\n{}{}", &old[..begin], table(&crates), &old[begin + length..]);
    Ok((old, new))
}

fn table(crates: &[Crate]) -> String {
    let mut text = String::from("| layer | crate | what lives there |\n| --- | --- | --- |\n");
    for one in crates {
        let what = one.description.replace('|', "\\|");
        text.push_str(&format!("| {} | `{}` | {what} |\n", one.layer, one.name));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use tempfile::TempDir;

    fn house(architecture: Option<&str>) -> TempDir {
        let house = TempDir::new().unwrap();
        for (name, layer) in [("zero", "0"), ("two", "2"), ("one", "1"), ("kit", "\"beside\"")] {
            let folder = house.path().join("crates").join(name);
            fs::create_dir_all(&folder).unwrap();
            let manifest = format!(
                "[package]\nname = \"{name}\"\ndescription = \"Says {name}\"\n[package.metadata.railtwin]\nlayer = {layer}\n"
            );
            fs::write(folder.join("Cargo.toml"), manifest).unwrap();
        }
        if let Some(text) = architecture {
            fs::write(house.path().join(FILE), text).unwrap();
        }
        house
    }

    #[test]
    fn a_stale_table_fails_and_rewriting_mends_it() {
        let house = house(Some(&format!("# Shape\n\n{BEGIN}\nold\n{END}\n\nAfter.\n")));
        assert!(check(house.path()).unwrap().failures[0].contains("stale"));
        assert!(rewrite(house.path()).unwrap().failures.is_empty());
        assert!(check(house.path()).unwrap().failures.is_empty());
        let text = fs::read_to_string(house.path().join(FILE)).unwrap();
        let order: Vec<usize> = [
            "# Shape",
            "| 0 | `zero` | Says zero |",
            "| 1 | `one`",
            "| 2 | `two`",
            "| beside | `kit`",
            "After.",
        ]
        .map(|part| text.find(part).expect("the part is there"))
        .to_vec();
        assert!(order.is_sorted(), "{text}");
        assert!(!text.contains("old"));
    }

    #[test]
    fn a_missing_file_or_marker_is_named() {
        assert!(check(house(None).path()).unwrap_err().contains("cannot be read"));
        assert!(check(house(Some("# Shape\n")).path()).unwrap_err().contains("crates:begin"));
        assert!(check(house(Some(&format!("{BEGIN}\n"))).path()).unwrap_err().contains("crates:end"));
    }
}
