//! Length of functions: lines from `fn` to the closing brace.

use crate::sources::Source;

/// Lines that a function may have.
pub const LIMIT: usize = 70;

/// A function.
#[derive(Debug, PartialEq)]
pub struct Function {
    /// File and line.
    pub place: String,
    /// Name.
    pub name: String,
    /// Lines from `fn` to the closing brace, both counted.
    pub lines: usize,
}

/// Returns the functions over [`LIMIT`] lines, the longest first. Test-only functions do not count.
pub fn long(sources: &[Source]) -> Vec<Function> {
    let mut found: Vec<Function> = sources
        .iter()
        .flat_map(|source| {
            functions(&source.code).into_iter().map(|(name, from, to)| {
                let first = source.line_at(from);
                let lines = source.line_at(to) - first + 1;
                Function { place: format!("{}:{first}", source.name), name: name.to_owned(), lines }
            })
        })
        .filter(|function| function.lines > LIMIT)
        .collect();
    found.sort_by(|a, b| b.lines.cmp(&a.lines).then_with(|| a.place.cmp(&b.place)));
    found
}

/// Name, start and last byte of each function that has a body.
fn functions(code: &str) -> Vec<(&str, usize, usize)> {
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let bytes = code.as_bytes();
    let starts = code.match_indices("fn ").filter(|(at, _)| *at == 0 || !is_word(bytes[at - 1]));
    let found = starts.filter_map(|(at, _)| {
        let name_at = at + 3;
        let end =
            code[name_at..].find(|c: char| !(c.is_alphanumeric() || c == '_')).map(|one| name_at + one)?;
        (end > name_at).then_some(())?;
        Some((&code[name_at..end], at, end_of_body(bytes, end)?))
    });
    found.collect()
}

/// The closing brace of the body that begins after `from`; none for a declaration that ends with `;`.
fn end_of_body(bytes: &[u8], from: usize) -> Option<usize> {
    let (mut nested, mut braces) = (0_usize, 0_usize);
    for (at, byte) in bytes.iter().enumerate().skip(from) {
        match byte {
            b'(' | b'[' => nested += 1,
            b')' | b']' => nested = nested.saturating_sub(1),
            b'{' => braces += 1,
            b'}' if braces == 1 => return Some(at),
            b'}' => braces = braces.saturating_sub(1),
            b';' if braces == 0 && nested == 0 => return None,
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::functions;

    #[test]
    fn bodies_end_at_their_brace() {
        let code =
            "fn a(x: [u8; 2]) -> T {\n  if x { y }\n}\ntrait B { fn c(); fn d() {} }\nlet f: fn(u8) = a;\n";
        let found: Vec<(&str, usize)> = functions(code)
            .into_iter()
            .map(|(name, from, to)| (name, code[from..to].matches('\n').count()))
            .collect();
        assert_eq!(found, [("a", 2), ("d", 0)]);
    }
}
