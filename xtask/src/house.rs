//! `house`: counts of what makes the code hard to read, and the limits that they may not pass.
//!
//! Limits stand in the settings and may only fall. A count over its limit fails with the offenders; a count under it is
//! a warning that names the new limit, not a failure, so that branches which lower the same count can be merged.

mod circles;
mod commits;
mod doc_paths;
mod functions;
mod name_lists;
mod type_names;
mod words_read;

use std::fs;
use std::path::Path;

use crate::findings::Findings;
use crate::settings::{self, House, Settings};
use crate::sources::{self, Source};
use crate::tidy::tracked_files;

/// The folder of the façade.
const FACADE: &str = "crates/railtwin/src/";
/// Code that evaluates: production code must not import it.
const EVALUATION: &str = "crates/railtwin-evaluation/";
/// Doors of the evaluation, which name it rightly.
const DOORS: [&str; 3] =
    ["crates/railtwin-cli/src/score", "crates/railtwin-cli/src/reproduce", "crates/railtwin-python/"];
/// The word that imports it.
const IMPORT: &str = "railtwin_evaluation";

/// A count with its offenders.
struct Count {
    /// Key of its limit in the settings.
    key: &'static str,
    /// The count in words.
    title: &'static str,
    count: usize,
    limit: Option<usize>,
    offenders: Vec<String>,
}

/// Everything that is counted.
struct Counts {
    counts: Vec<Count>,
    notes: Vec<String>,
}

/// Prints all counts beside their limits; with `list` also the offenders.
///
/// # Errors
/// When a source, a document or the settings cannot be read.
pub fn report(root: &Path, list: bool) -> Result<Findings, String> {
    let Counts { counts, notes } = count(root)?;
    let mut findings = Findings::default();
    for one in &counts {
        let limit = one.limit.map(|limit| format!(" (limit {limit})")).unwrap_or_default();
        findings.story.push(format!("{:>6}  {}{limit}", one.count, one.title));
        if list {
            findings.story.extend(one.offenders.iter().map(|line| format!("          {line}")));
        }
    }
    findings.story.extend(notes);
    Ok(findings)
}

/// Holds the counts against their limits.
///
/// # Errors
/// When a source, a document or the settings cannot be read.
pub fn check(root: &Path) -> Result<Findings, String> {
    let mut findings = Findings::default();
    for one in count(root)?.counts {
        let Some(limit) = one.limit else { continue };
        if one.count > limit {
            findings.fail(format!("{}: {}, more than {limit} [{}]", one.title, one.count, one.key));
            findings.failures.extend(one.offenders);
        } else if one.count < limit {
            findings.warn(format!(
                "{}: lower `{}` to {} in {}",
                one.title,
                one.key,
                one.count,
                settings::FILE
            ));
        }
    }
    Ok(findings)
}

/// Lowers the limits in the settings to the counts; no limit rises.
///
/// # Errors
/// When a source, a document or the settings cannot be read or written.
pub fn lower(root: &Path) -> Result<Findings, String> {
    let file = root.join(settings::FILE);
    let mut text = fs::read_to_string(&file).map_err(|e| format!("{}: {e}", settings::FILE))?;
    let mut findings = Findings::default();
    for one in count(root)?.counts {
        let Some(limit) = one.limit.filter(|&limit| one.count < limit) else { continue };
        text =
            text.replace(&format!("\n{} = {limit}\n", one.key), &format!("\n{} = {}\n", one.key, one.count));
        findings.story.push(format!("{}: {limit} became {}", one.key, one.count));
    }
    fs::write(&file, text).map_err(|e| format!("{}: {e}", settings::FILE))?;
    Ok(findings)
}

fn count(root: &Path) -> Result<Counts, String> {
    let settings = Settings::read(root)?;
    let house = &settings.house;
    let sources = sources::production(root)?;
    let files = tracked_files(root)?;
    let mut counts = vec![words_read(&sources, house)];
    counts.extend(functions(&sources, house));
    counts.push(facade_lines(root, &files, house)?);
    counts.push(imports_of_evaluation(&sources, house));
    counts.extend(circles(&sources, house));
    let repeated = type_names::repeated(&sources);
    let offenders = repeated.iter().map(|(name, crates)| format!("{name}: {}", crates.join(", "))).collect();
    counts.push(listed(
        "type_names",
        "public type names in three or more crates",
        offenders,
        house.type_names,
    ));
    let paths = doc_paths::missing(root, &files)?;
    counts.push(listed("doc_paths", "paths in documents that do not exist", paths, house.doc_paths));
    let lists = name_lists::stale(root, &settings.list)?;
    counts.push(listed("name_lists", "stale lists of names in documents", lists, house.name_lists));
    let mut notes: Vec<String> =
        house.figure.iter().map(|one| format!("{:>6}  {} ({})", one.value, one.title, one.reason)).collect();
    if let Some(base) = &house.commits_after {
        match commits::long_subjects(root, base) {
            Some(long) => counts.push(listed(
                "commit_subjects",
                "commit subjects over 72 characters",
                long,
                house.commit_subjects,
            )),
            None => notes.push(format!("commit subjects are not counted: this clone has no commit {base}")),
        }
    }
    Ok(Counts { counts, notes })
}

fn listed(key: &'static str, title: &'static str, offenders: Vec<String>, limit: Option<usize>) -> Count {
    Count { key, title, count: offenders.len(), limit, offenders }
}

fn words_read(sources: &[Source], house: &House) -> Count {
    let places = words_read::places(sources, &house.foreign_words);
    listed("words_read", "places that read words back", places, house.words_read)
}

fn functions(sources: &[Source], house: &House) -> [Count; 2] {
    let long = functions::long(sources);
    let longest = long.first();
    let shown = |one: &functions::Function| format!("{}: `{}` has {} lines", one.place, one.name, one.lines);
    [
        Count {
            key: "longest_function",
            title: "lines of the longest function",
            count: longest.map_or(functions::LIMIT, |one| one.lines),
            limit: house.longest_function,
            offenders: longest.map(shown).into_iter().collect(),
        },
        listed(
            "long_functions",
            "functions over 70 lines",
            long.iter().map(shown).collect(),
            house.long_functions,
        ),
    ]
}

fn facade_lines(root: &Path, files: &[String], house: &House) -> Result<Count, String> {
    let mut count = 0;
    for file in files.iter().filter(|file| file.starts_with(FACADE) && file.ends_with(".rs")) {
        let path = root.join(file);
        if path.is_file() {
            count += fs::read_to_string(&path).map_err(|e| format!("{file}: {e}"))?.lines().count();
        }
    }
    let title = "lines of the façade, with in-file tests";
    Ok(Count { key: "facade_lines", title, count, limit: house.facade_lines, offenders: Vec::new() })
}

/// Production files outside of the evaluation that import it.
fn imports_of_evaluation(sources: &[Source], house: &House) -> Count {
    let is_inside = |source: &&Source| source.name.starts_with(EVALUATION);
    let is_door = |source: &&Source| DOORS.iter().any(|door| source.name.starts_with(door));
    let imports = sources.iter().filter(|source| !is_inside(source) && !is_door(source)).flat_map(|source| {
        let named = (1..).zip(source.code.lines()).filter(|(_, line)| names(line, IMPORT));
        named.map(|(number, line)| format!("{}:{number}: {}", source.name, line.trim())).collect::<Vec<_>>()
    });
    listed("score_imports", "production imports of the evaluation", imports.collect(), house.score_imports)
}

/// Whether `line` holds `path` as whole words.
fn names(line: &str, path: &str) -> bool {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(path)
        .any(|(at, _)| !line[..at].ends_with(is_word) && !line[at + path.len()..].starts_with(is_word))
}

fn circles(sources: &[Source], house: &House) -> [Count; 4] {
    let circles = circles::circles(sources);
    let shown = |circle: &Vec<String>| format!("{} files: {}", circle.len(), circle.join(" "));
    let is_large = |circle: &&Vec<String>| circle.len() > circles::LARGE;
    let large: Vec<String> = circles.iter().filter(is_large).map(shown).collect();
    let with_cuts = |circle: &Vec<String>| {
        format!("{}\n{}", shown(circle), circles::edges_within(sources, circle).join("\n"))
    };
    let largest = circles.first().map_or(0, Vec::len);
    let files = circles.iter().map(Vec::len).sum();
    let of = |key, title, count, limit, offenders| Count { key, title, count, limit, offenders };
    let all: Vec<String> = circles.iter().map(with_cuts).collect();
    let first: Vec<String> = circles.first().map(shown).into_iter().collect();
    [
        of("circles", "circles of modules", circles.len(), house.circles, all),
        of("largest_circle", "files in the largest circle", largest, house.largest_circle, first),
        of("files_in_circles", "files in circles", files, house.files_in_circles, Vec::new()),
        of("large_circles", "circles over 4 files", large.len(), house.large_circles, large),
    ]
}

#[cfg(test)]
mod tests;
