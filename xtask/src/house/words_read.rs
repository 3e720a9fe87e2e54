//! Places that read words back: code that takes apart a sentence which other code wrote for people.
//!
//! Sentences here are the words of evidence, notes, warnings and errors. One line of code counts once, where it
//! - calls a text method (`starts_with`, `split_once`, …) on a name or field of [`SENTENCES`],
//! - compares such a name with `==` or `!=`, or
//! - gives a text method words: a literal, or a constant of such literals, that holds a letter beside a space.
//!
//! Separators (`" > "`, `", "`) and single words (`"nic-"`) belong to names, which may be taken apart. Words that foreign
//! programs write into logs stand in the settings as `foreign_words`.

use std::collections::BTreeSet;

use crate::sources::Source;

/// Where evidence is judged and answered: in these folders no sentence is read.
const FOLDERS: [&str; 6] = [
    "crates/railtwin/src/diagnose",
    "crates/railtwin/src/diagnosis_page",
    "crates/railtwin-calibration/src/bandwidth",
    "crates/railtwin-diagnosis/src",
    "crates/railtwin-reading/src",
    "crates/railtwin/src/time_up.rs",
];
/// Names that hold sentences.
const SENTENCES: [&str; 6] = ["what", "problem", "note", "sentence", "words", "warning"];
/// Methods that take a text apart.
const METHODS: [&str; 13] = [
    "starts_with",
    "ends_with",
    "contains",
    "split_once",
    "rsplit_once",
    "strip_prefix",
    "strip_suffix",
    "find",
    "rfind",
    "split",
    "rsplit",
    "replace",
    "trim_start_matches",
];

/// Returns each place with its line of code, in order.
pub fn places(sources: &[Source], foreign: &[String]) -> Vec<String> {
    let of_folders = |source: &&Source| FOLDERS.iter().any(|folder| source.name.starts_with(folder));
    let sources: Vec<&Source> = sources.iter().filter(of_folders).collect();
    let constants: BTreeSet<&str> =
        sources.iter().flat_map(|source| worded_constants(&source.text)).collect();
    let mut found = Vec::new();
    for source in sources {
        let mut lines: BTreeSet<usize> = BTreeSet::new();
        for at in calls(&source.text, &constants, foreign).into_iter().chain(comparisons(&source.text)) {
            lines.insert(source.text.as_bytes()[..at].iter().filter(|byte| **byte == b'\n').count());
        }
        let all: Vec<&str> = source.text.lines().collect();
        found.extend(
            lines.into_iter().map(|line| format!("{}:{}: {}", source.name, line + 1, all[line].trim())),
        );
    }
    found
}

/// Starts of the calls of text methods that read words.
fn calls(text: &str, constants: &BTreeSet<&str>, foreign: &[String]) -> Vec<usize> {
    let mut found = Vec::new();
    for (at, _) in text.match_indices('.') {
        let rest = &text[at + 1..];
        let Some(method) = METHODS.iter().find(|method| is_call_of(rest, method)) else { continue };
        let argument = rest[method.len() + 1..].trim_start();
        let is_foreign = foreign.iter().any(|words| argument.starts_with(&format!("\"{words}\"")));
        // `find` and `contains` also search lists: there a closure or a reference to an item is asked for.
        let of_lists = matches!(*method, "find" | "contains") && argument.starts_with(['|', '&']);
        let of_sentence = SENTENCES.contains(&receiver(text, at)) && !of_lists;
        if !is_foreign && (of_sentence || is_worded(argument, constants)) {
            found.push(at);
        }
    }
    found
}

fn is_call_of(rest: &str, method: &str) -> bool {
    rest.strip_prefix(method).is_some_and(|after| after.starts_with('('))
}

/// Whether an argument begins with words: a literal with them, or the path of a constant of them.
fn is_worded(argument: &str, constants: &BTreeSet<&str>) -> bool {
    if let Some(literal) = argument.strip_prefix('"') {
        return holds_words(&literal[..literal.find('"').unwrap_or(literal.len())]);
    }
    let end =
        argument.find(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | ':'))).unwrap_or(argument.len());
    argument[..end].rsplit("::").next().is_some_and(|name| constants.contains(name))
}

/// Letters beside a space: `"Xid of "`, `" up"`; not `" > "` or `"nic-"`.
fn holds_words(literal: &str) -> bool {
    let bytes = literal.as_bytes();
    bytes.windows(2).any(|pair| {
        (pair[0].is_ascii_alphabetic() && pair[1] == b' ')
            || (pair[0] == b' ' && pair[1].is_ascii_alphabetic())
    })
}

/// The name or field before the `.` at `at`, over calls without arguments (`.as_str()`, `.trim()`).
fn receiver(text: &str, at: usize) -> &str {
    let mut before = text[..at].trim_end();
    while let Some(called) = before.strip_suffix("()") {
        before = called.rsplit_once('.').map_or("", |(receiver, _)| receiver.trim_end());
    }
    let start = before.rfind(|c: char| !(c.is_alphanumeric() || c == '_')).map_or(0, |one| one + 1);
    &before[start..]
}

/// Starts of the comparisons of a sentence with another.
fn comparisons(text: &str) -> Vec<usize> {
    let signs = text.match_indices("==").chain(text.match_indices("!="));
    let of_sentence = signs.filter(|(at, _)| {
        let before = text[..*at].trim_end().trim_end_matches(')');
        let after = text[at + 2..].trim_start();
        let is_literal = after.starts_with('"');
        match receiver(before, before.len()) {
            "note" => true,
            name => is_literal && SENTENCES.contains(&name),
        }
    });
    of_sentence.map(|(at, _)| at).collect()
}

/// Names of the constants of text that hold words, lists of them included.
fn worded_constants(text: &str) -> Vec<&str> {
    let starts = text.match_indices("const ");
    let found = starts.filter_map(|(at, start)| {
        let (name, rest) = text[at + start.len()..].split_once(':')?;
        let (kind, rest) = rest.split_once('=')?;
        let value = &rest[..rest.find(';')?];
        let is_text = kind.contains("str") && kind.len() < 40;
        (is_text && value.split('"').skip(1).step_by(2).any(holds_words)).then_some(name.trim())
    });
    found.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> usize {
        let constants = BTreeSet::from(["ENDED"]);
        calls(text, &constants, &["ecc error".to_owned()]).len() + comparisons(text).len()
    }

    #[test]
    fn sentences_taken_apart_are_found() {
        assert_eq!(found("line.what.starts_with(logs::TABLE)"), 1);
        assert_eq!(found("let x = line.what\n    .as_str()\n    .split_once(\": \");"), 1);
        assert_eq!(found("rest.strip_prefix(\" holds \")"), 1);
        assert_eq!(found("text.starts_with(logs::ENDED)"), 1);
        assert_eq!(found("notes.retain(|note| Some(note) != waited);"), 1);
    }

    #[test]
    fn names_and_lists_may_be_read() {
        assert_eq!(found("name.split_once(\" > \")"), 0);
        assert_eq!(found("nic.strip_prefix(\"nic-\")"), 0);
        assert_eq!(found("names.contains(&what)"), 0);
        assert_eq!(found("small.contains(\"ecc error\")"), 0);
        assert_eq!(found("event.what == LogSays::Boot"), 0);
    }

    #[test]
    fn constants_of_words_are_known() {
        let text = "const ENDED: &str = \"ended with\";\nconst KINDS: [&str; 2] = [\"a\", \"of b\"];\nconst TABLE: &str = \"logs\";\n";
        assert_eq!(worded_constants(text), ["ENDED", "KINDS"]);
    }
}
