//! Blanks what is not live code in Rust source: comments, literals, and items under `#[cfg(test)]`.
//!
//! Blanked characters become spaces and line breaks stay, so line numbers hold in the result.
//! The build script of `railtwin` reads sources with it, too.

/// Returns `source` with comments, the insides of literals, and test-only items blanked.
pub fn live_code(source: &str) -> String {
    let mut text = blank_comments(source, false);
    for (from, to) in test_items(&text) {
        blank(&mut text, from, to);
    }
    text.into_iter().collect()
}

/// Returns `source` with comments and test-only items blanked; literals stay.
pub fn live_text(source: &str) -> String {
    let mut text = blank_comments(source, true);
    for (from, to) in test_items(&blank_comments(source, false)) {
        blank(&mut text, from, to);
    }
    text.into_iter().collect()
}

fn blank(text: &mut [char], from: usize, to: usize) {
    let to = to.min(text.len());
    for character in &mut text[from.min(to)..to] {
        if *character != '\n' {
            *character = ' ';
        }
    }
}

/// Blanks comments, and the literals unless `keeps_literals`.
fn blank_comments(source: &str, keeps_literals: bool) -> Vec<char> {
    let mut text: Vec<char> = source.chars().collect();
    let mut at = 0;
    while at < text.len() {
        let end = match (text[at], text.get(at + 1)) {
            ('/', Some('/')) => end_of_line(&text, at),
            ('/', Some('*')) => end_of_block_comment(&text, at),
            ('"', _) => end_of_string(&text, at),
            ('r', Some('"' | '#')) if !continues_a_word(&text, at) => end_of_raw_string(&text, at),
            ('\'', _) => end_of_character(&text, at),
            _ => at,
        };
        if end > at && (!keeps_literals || text[at] == '/') {
            blank(&mut text, at, end);
        }
        at = end.max(at + 1);
    }
    text
}

/// `br"…"` and `cr"…"` are raw strings, `for"` is not: look at the word before the `r`.
fn continues_a_word(text: &[char], at: usize) -> bool {
    let is_word = |i: usize| text[i].is_alphanumeric() || text[i] == '_';
    match at {
        0 => false,
        1 => is_word(0) && !matches!(text[0], 'b' | 'c'),
        _ => is_word(at - 1) && (!matches!(text[at - 1], 'b' | 'c') || is_word(at - 2)),
    }
}

fn end_of_line(text: &[char], from: usize) -> usize {
    text[from..].iter().position(|c| *c == '\n').map_or(text.len(), |offset| from + offset)
}

fn end_of_block_comment(text: &[char], from: usize) -> usize {
    let (mut depth, mut at) = (0_usize, from);
    while at < text.len() {
        match (text[at], text.get(at + 1)) {
            ('/', Some('*')) => (depth, at) = (depth + 1, at + 2),
            ('*', Some('/')) => (depth, at) = (depth.saturating_sub(1), at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            return at;
        }
    }
    text.len()
}

fn end_of_string(text: &[char], from: usize) -> usize {
    let mut at = from + 1;
    while at < text.len() {
        match text[at] {
            '\\' => at += 2,
            '"' => return at + 1,
            _ => at += 1,
        }
    }
    text.len()
}

/// Returns `from` itself when no raw string starts there (`r#type` is an identifier).
fn end_of_raw_string(text: &[char], from: usize) -> usize {
    let hashes = text[from + 1..].iter().take_while(|c| **c == '#').count();
    let open = from + 1 + hashes;
    if text.get(open) != Some(&'"') {
        return from;
    }
    let closes =
        |at: usize| text[at] == '"' && text[at + 1..].iter().take_while(|c| **c == '#').count() >= hashes;
    (open + 1..text.len()).find(|at| closes(*at)).map_or(text.len(), |at| at + 1 + hashes)
}

/// Returns `from` itself for a lifetime (`'a`), which is no literal.
fn end_of_character(text: &[char], from: usize) -> usize {
    match (text.get(from + 1), text.get(from + 2)) {
        (Some('\\'), _) => {
            let after = from + 3;
            let close = text.get(after..).and_then(|rest| rest.iter().position(|c| *c == '\''));
            close.map_or(text.len(), |offset| after + offset + 1)
        }
        (Some(_), Some('\'')) => from + 3,
        _ => from,
    }
}

/// Spans of the items that follow `#[cfg(test)]`, up to the closing brace or the semicolon.
fn test_items(text: &[char]) -> Vec<(usize, usize)> {
    const MARK: [char; 12] = ['#', '[', 'c', 'f', 'g', '(', 't', 'e', 's', 't', ')', ']'];
    let (mut spans, mut at) = (Vec::new(), 0);
    while at + MARK.len() <= text.len() {
        if text[at..at + MARK.len()] == MARK {
            let end = end_of_item(text, at + MARK.len());
            spans.push((at, end));
            at = end;
        } else {
            at += 1;
        }
    }
    spans
}

fn end_of_item(text: &[char], from: usize) -> usize {
    let (mut braces, mut brackets) = (0_usize, 0_usize);
    for (at, character) in text.iter().enumerate().skip(from) {
        match character {
            '(' | '[' => brackets += 1,
            ')' | ']' => brackets = brackets.saturating_sub(1),
            '{' => braces += 1,
            '}' => {
                braces = braces.saturating_sub(1);
                if braces == 0 {
                    return at + 1;
                }
            }
            ';' if braces == 0 && brackets == 0 => return at + 1,
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::{live_code, live_text};

    #[test]
    fn texts_keep_their_literals() {
        let source = "// gone\nlet a = \"// kept\";\n#[cfg(test)]\nmod tests { fn b() { \"gone\" } }\n";
        let text = live_text(source);
        assert!(text.contains("// kept") && !text.contains("gone"), "{text}");
    }

    fn keeps(source: &str, word: &str) -> bool {
        live_code(source).contains(word)
    }

    #[test]
    fn comments_and_literals_are_blank() {
        assert!(!keeps("// word\n/* word /* word */ word */", "word"));
        assert!(!keeps(r##"let a = "\" word"; let b = r#"" word"#; let c = br"word";"##, "word"));
        assert!(keeps("/* a */ word", "word"));
        assert!(keeps("let a = \"x\"; word()", "word"));
    }

    #[test]
    fn lifetimes_and_characters_are_told_apart() {
        assert!(keeps("fn f<'a>(x: &'a str) { word() }", "word"));
        assert!(keeps("let q = '\"'; word(); let p = '\\''; word()", "word"));
        assert!(keeps("let q = '\\u{1F}'; word()", "word"));
        assert!(keeps("r#type + word", "word"));
    }

    #[test]
    fn test_items_are_blank_and_the_rest_stays() {
        let source = "fn a() {}\n#[cfg(test)]\nmod tests { fn b() { word(); } }\nfn kept() {}\n";
        assert!(!keeps(source, "word"));
        assert!(keeps(source, "kept"));
        assert_eq!(live_code(source).lines().count(), source.lines().count());
        assert!(keeps("#[cfg(test)]\nmod tests;\nfn kept() {}", "kept"));
        assert!(keeps("#[cfg(test)]\nuse a::{b, c};\nfn kept() {}", "kept"));
    }

    #[test]
    fn literals_stay_where_they_are_wanted() {
        let source = "let a = \"a // word }\"; // gone\n#[cfg(test)]\nmod tests { const B: &str = \"}\"; gone() }\nkept('}')\n";
        let code = live_text(source);
        assert!(
            code.contains("a // word }") && code.contains("kept('}')") && !code.contains("gone"),
            "{code}"
        );
    }

    #[test]
    fn unfinished_source_does_not_panic() {
        for source in ["\"", "'", "'\\", "r#\"", "/*", "#[cfg(test)]", "r", "\"\\", "b'", "r#"] {
            assert_eq!(live_code(source).chars().count(), source.chars().count());
        }
    }
}
