//! Keys of cases that take long. A case with an unchanged key keeps its agreed figures without a run.
//!
//! A key is a hash of the case (its rows, scenarios and the files that they read) and of the sources that the case depends
//! on ([`parts`]), without words, comments and tests. The build embeds the hashes of sources, so a key belongs to the
//! program that computed it. The compiler is not part of a key.
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use sha2::{Digest, Sha256};

use super::{CALCULATION, FILES, PAPERS, Row, length, place, rows};
use railtwin::Error;
use railtwin::Question;

mod parts;

use parts::Dependencies;

include!(concat!(env!("OUT_DIR"), "/sources.rs"));

/// Least CPU seconds of a case that has a key; tests run the quicker cases.
pub const KEYED_FROM_S: f64 = 1.0;
/// Hex digits of a key.
const DIGITS: usize = 16;
/// Keys of a scenario without influence on figures.
const WORDS: [&str; 2] = ["description", "expect"];

/// Returns whether a file under `crates/` belongs to a crate (`railtwin-units`) or to a module (`railtwin/cluster`).
fn is_of(file: &str, name: &str) -> bool {
    let (of_crate, module) = name.split_once('/').unwrap_or((name, ""));
    let inside = file.strip_prefix(of_crate).and_then(|rest| rest.strip_prefix("/src/"));
    let rest = inside.and_then(|inside| inside.strip_prefix(module));
    rest.is_some_and(|rest| module.is_empty() || rest.starts_with(['.', '/']))
}

/// Returns the key of each case by [`super::Reproduced::scenario`].
///
/// # Errors
/// [`Error::Scenario`] for a scenario that does not parse.
pub fn keys() -> Result<BTreeMap<String, String>, Error> {
    let all = rows();
    let mut keys = BTreeMap::new();
    for source in all.iter().map(Row::source).collect::<BTreeSet<_>>() {
        keys.insert(place(&source), key(&source, &all)?);
    }
    Ok(keys)
}

/// Returns the key of a case; `all` are the rows of the table.
fn key(source: &str, all: &[Row]) -> Result<String, Error> {
    let mut text = String::new();
    let mut put = |name: &str, content: &str| {
        writeln!(text, "{name} {}\n{content}", content.len()).expect("a text takes all");
    };
    let mut case_names = vec![source.to_owned()];
    for row in all.iter().filter(|row| row.source() == source) {
        put("row", &row.asks());
        case_names.extend(row.scenarios());
    }
    case_names.sort_unstable();
    case_names.dedup();
    for source in &case_names {
        put("length", &format!("{:?}", length(source, all, false)));
        let Dependencies { papers, sources } = match source.strip_prefix(CALCULATION) {
            Some(name) => parts::of_calculation(name),
            None => of_scenario(source)?,
        };
        let reads_all = papers.is_none();
        let is_read = |name: &str| papers.as_ref().is_none_or(|papers| papers.contains(&name));
        let mut read = String::new();
        for (name, text) in PAPERS.iter().filter(|(name, _)| is_read(name)) {
            put(name, &without_words(text));
            read.push_str(text);
        }
        for (path, content) in FILES.iter().filter(|(path, _)| reads_all || read.contains(path)) {
            put(path, &hex(&Sha256::digest(content)));
        }
        let depends =
            |file: &str| sources.as_ref().is_none_or(|names| names.iter().any(|name| is_of(file, name)));
        let mut crates: Vec<&str> = Vec::new();
        for (file, hash) in SOURCES.iter().filter(|(file, _)| depends(file)) {
            put(file, hash);
            crates.extend(file.split('/').next());
        }
        for (name, hash) in FOREIGN.iter().filter(|(name, _)| crates.contains(name)) {
            put(name, hash);
        }
    }
    let mut key = hex(&Sha256::digest(text.as_bytes()));
    key.truncate(DIGITS);
    Ok(key)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Returns the dependencies of a scenario of the papers.
fn of_scenario(name: &str) -> Result<Dependencies, Error> {
    let known = PAPERS.iter().find(|(known, _)| *known == name);
    let unknown = || Error::Argument(format!("the table names no scenario {name:?}"));
    let (name, text) = known.ok_or_else(unknown)?;
    let question = Question::of_text(&place(name), text, std::path::Path::new(".")).with_files(FILES);
    let points = question.points()?;
    let reads = FILES.iter().any(|(path, _)| text.contains(path));
    let sources = parts::of_scenario(points.iter().map(|point| &point.scenario), reads);
    Ok(Dependencies { papers: Some(vec![name]), sources: Some(sources) })
}

/// Returns a scenario without comments and without [`WORDS`].
fn without_words(text: &str) -> String {
    let mut root: toml::Table = toml::from_str(text).expect("a test reads all scenarios");
    for word in WORDS {
        root.remove(word);
    }
    root.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_of_its_crate_and_of_the_modules_above_it() {
        let file = "railtwin/src/reproduce/crux/cases.rs";
        for name in ["railtwin", "railtwin/reproduce", "railtwin/reproduce/crux"] {
            assert!(is_of(file, name), "{name}");
        }
        for name in ["railtwin-units", "railtwin/repro", "railtwin/reproduce/mod", "rail"] {
            assert!(!is_of(file, name), "{name}");
        }
        assert!(
            is_of("railtwin/src/run.rs", "railtwin/run")
                && is_of("railtwin-units/src/time.rs", "railtwin-units")
        );
    }

    #[test]
    fn words_of_a_scenario_are_no_part_of_a_key() {
        let one = "# A comment.\nschema = 1\ndescription = \"b\"\n[run]\nreplicates = 2\n";
        let other = "schema = 1\n[run]\nreplicates = 2 # twice\n[expect]\nbusbw = 1\n";
        assert_eq!(without_words(one), without_words(other));
        assert_ne!(without_words(one), without_words(&other.replace("= 2", "= 3")));
    }

    #[test]
    fn packets_are_of_keys_where_they_are_run() {
        let of = |name: &str| of_scenario(name).unwrap().sources.unwrap();
        assert!(of("nic-port-queues").contains(&"railtwin-packetsim"));
        assert!(of("peers/pw1").contains(&"railtwin-packetsim"));
        assert!(of("peers/pw1").contains(&"railtwin-formats/htsim_connections"));
        for name in ["dual-plane", "hpn", "te-under-failures"] {
            let beside =
                ["railtwin-packetsim", "railtwin-clustersim", "railtwin-telemetry", "railtwin-diagnosis"];
            assert!(beside.iter().all(|part| !of(name).contains(part)), "{name}");
        }
    }

    #[test]
    fn each_case_has_a_key_of_its_own() {
        let keys = keys().unwrap();
        assert!(keys.values().all(|key| key.len() == DIGITS));
        assert_eq!(keys.values().collect::<BTreeSet<_>>().len(), keys.len());
    }
}
