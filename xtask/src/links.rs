//! Finds the links of a Markdown text that point at files of the repository.

/// A link: the line that it stands in (from 1) and its target as written.
#[derive(Debug, PartialEq)]
pub struct Link {
    pub line: usize,
    pub target: String,
}

/// The relative links of `text`, without their anchors; web addresses and anchors of the same page are left out.
///
/// Code (fenced, or between backticks on one line) holds no links. Both `[a](b)` and `[a]: b` are understood.
pub fn relative_links(text: &str) -> Vec<Link> {
    let mut links = Vec::new();
    let mut fence: Option<&str> = None;
    for (index, line) in text.lines().enumerate() {
        let start = line.trim_start();
        let mark = ["```", "~~~"].into_iter().find(|mark| start.starts_with(mark));
        match (fence, mark) {
            (None, Some(mark)) => fence = Some(mark),
            (Some(open), Some(mark)) if open == mark => fence = None,
            (None, None) => {
                let found = targets(&without_code(line)).into_iter().filter_map(|raw| file_part(&raw));
                links.extend(found.map(|target| Link { line: index + 1, target }));
            }
            _ => {}
        }
    }
    links
}

/// Drops what stands between backticks.
fn without_code(line: &str) -> String {
    let parts: Vec<&str> = line.split('`').collect();
    let is_open_ended = parts.len().is_multiple_of(2);
    let last = parts.len() - 1;
    let kept = parts.iter().enumerate().filter(|(i, _)| i % 2 == 0 || (is_open_ended && *i == last));
    kept.map(|(_, part)| *part).collect::<Vec<_>>().join("")
}

fn targets(line: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = line;
    while let Some(at) = rest.find("](") {
        rest = &rest[at + 2..];
        let mut depth = 1_usize;
        let end = rest.find(|c| {
            match c {
                '(' => depth += 1,
                ')' => depth -= 1,
                _ => {}
            }
            depth == 0
        });
        found.push(rest[..end.unwrap_or(rest.len())].to_owned());
        rest = &rest[end.unwrap_or(rest.len())..];
    }
    let definition = line.trim_start().strip_prefix('[').and_then(|tail| tail.split_once("]: "));
    if let Some((label, target)) = definition
        && !label.contains(']')
        && !label.starts_with('^')
    {
        found.push(target.to_owned());
    }
    found
}

/// Strips title, angle brackets, anchor and query; `None` for what is no file of the repository.
fn file_part(raw: &str) -> Option<String> {
    let raw = raw.trim();
    let target = match raw.strip_prefix('<') {
        Some(inner) => inner.split('>').next()?,
        None => raw.split_whitespace().next()?,
    };
    let has_scheme = target.split_once(':').is_some_and(|(scheme, _)| {
        !scheme.is_empty() && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
    });
    if has_scheme || target.starts_with("//") {
        return None;
    }
    let path = target.split(['#', '?']).next()?.replace("%20", " ");
    (!path.is_empty()).then_some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<String> {
        relative_links(text).into_iter().map(|link| link.target).collect()
    }

    #[test]
    fn files_are_found_without_anchor_and_title() {
        assert_eq!(found("[a](b.md) and ![c](d/e.png \"title\") [f](g.md#h)"), ["b.md", "d/e.png", "g.md"]);
        assert_eq!(found("[a]: ../b.md"), ["../b.md"]);
        assert_eq!(found("[a](<b c.md>) [a](d%20e.md) [a](f(1).md)"), ["b c.md", "d e.md", "f(1).md"]);
        assert_eq!(relative_links("x\n[a](b)")[0].line, 2);
    }

    #[test]
    fn addresses_anchors_and_code_are_no_files() {
        assert!(found("[a](https://b.c/d) [a](#b) [a](mailto:a@b.c) [a](//b/c)").is_empty());
        assert!(found("`[a](b)` and\n```text\n[a](b)\n```\n~~~\n[a](b)\n```\n[a](c)\n~~~").is_empty());
        assert_eq!(found("`code` [a](b)\n```\n```\n[c](d)"), ["b", "d"]);
    }

    #[test]
    fn odd_texts_do_not_panic() {
        for text in ["](", "[](", "]()", "](<", "[a]: ", "`", "](a(", "[^1]: note", "](:x)", ""] {
            relative_links(text);
        }
        assert_eq!(found("](:x)"), [":x"]);
    }
}
