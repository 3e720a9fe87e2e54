//! Rules of `tidy` on words: banned texts, debts without an issue number, file names that say nothing.

use crate::settings::Banned;

/// File-name words that gather anything and say nothing, with their singular or plural.
const EMPTY_NAMES: &[&str] = &["util", "utils", "common", "misc", "helper", "helpers", "manager", "managers"];

/// Written in two parts so that this file passes its own check.
const DEBTS: [&str; 2] = [concat!("TO", "DO"), concat!("FIX", "ME")];

/// The word of `file_name` that says nothing, if it has one.
///
/// Words are split at anything but letters and digits, and where a capital follows a small letter.
pub fn empty_word(file_name: &str) -> Option<String> {
    let mut spaced = String::new();
    let mut after_small = false;
    for character in file_name.chars() {
        if after_small && character.is_uppercase() {
            spaced.push(' ');
        }
        after_small = character.is_lowercase() || character.is_ascii_digit();
        spaced.push(if character.is_alphanumeric() { character.to_ascii_lowercase() } else { ' ' });
    }
    spaced.split(' ').find(|word| EMPTY_NAMES.contains(word)).map(str::to_owned)
}

/// Whether `line` holds a debt that names no issue as `(#12)`.
pub fn unnumbered_debt(line: &str) -> bool {
    DEBTS.iter().any(|debt| {
        line.match_indices(debt).any(|(at, _)| {
            let rest = &line[at + debt.len()..];
            let is_word = !line[..at].ends_with(is_word_part) && !rest.starts_with(is_word_part);
            is_word && !names_issue(rest)
        })
    })
}

fn is_word_part(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

fn names_issue(rest: &str) -> bool {
    let number = rest.trim_start().strip_prefix("(#").and_then(|tail| tail.split_once(')'));
    number.is_some_and(|(digits, _)| !digits.is_empty() && digits.chars().all(|c| c.is_ascii_digit()))
}

/// The first banned text that stands in `line`.
pub fn banned_in<'a>(line: &str, banned: &'a [Banned]) -> Option<&'a Banned> {
    banned.iter().find(|one| {
        line.match_indices(&one.text).any(|(at, _)| {
            let before = line[..at].chars().next_back();
            !one.leading || !before.is_some_and(|c| c.is_alphanumeric() || "._-/}*)]".contains(c))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_names_are_found_as_words_only() {
        for bad in ["utils.rs", "flow_helpers.py", "FlowManager.ts", "misc", "common-parts.md", "a.util.ts"] {
            assert!(empty_word(bad).is_some(), "{bad}");
        }
        for good in ["commonmark.rs", "utility_curve.rs", "flow.rs", "management_port.rs", "Cargo.toml"] {
            assert!(empty_word(good).is_none(), "{good}");
        }
    }

    #[test]
    fn debts_need_an_issue_number() {
        let [a, b] = DEBTS;
        for bad in [format!("// {a}: later"), format!("{b}(soon)"), format!("{a} (#)"), format!("{a}(#x1)")] {
            assert!(unnumbered_debt(&bad), "{bad}");
        }
        for good in
            [format!("// {a}(#12): later"), format!("{b} (#3)"), format!("MAS{a}N"), format!("{a}_LIST")]
        {
            assert!(!unnumbered_debt(&good), "{good}");
        }
    }

    #[test]
    fn leading_texts_must_begin_a_path() {
        let leading = [Banned { text: "/house/".into(), reason: "r".into(), leading: true }];
        for bad in ["/house/x", "cd /house/x", "\"/house/x\"", "a=/house/x", "file:(/house/x)", "C:/house/"] {
            assert!(banned_in(bad, &leading).is_some(), "{bad}");
        }
        for good in ["https://a.b/house/x", "frame/house/x", "${here}/house/x", "../house/x", "/houses"] {
            assert!(banned_in(good, &leading).is_none(), "{good}");
        }
        let anywhere = [Banned { text: "word".into(), reason: "r".into(), leading: false }];
        assert!(banned_in("a-word-b", &anywhere).is_some());
    }
}
