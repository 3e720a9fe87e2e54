//! Tokens of DOT.

/// A token.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Token {
    /// An id: bare, a number, quoted or HTML. Quoted ones are no keywords.
    Id { text: String, is_quoted: bool },
    /// One of `{}[];,=:`.
    Sign(char),
    /// `--` or `->`.
    Edge { is_directed: bool },
}

/// Why there is no token.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct BadToken {
    pub line: u64,
    pub found: char,
    pub problem: &'static str,
}

/// The tokens of a text, with their lines.
pub(super) struct Tokens<'a> {
    rest: &'a str,
    line: u64,
    at_line_start: bool,
}

impl<'a> Tokens<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { rest: text, line: 1, at_line_start: true }
    }

    /// The next token with its line; none at the end.
    pub(super) fn next(&mut self) -> Result<Option<(Token, u64)>, BadToken> {
        self.pass_blanks()?;
        let line = self.line;
        let Some(first) = self.rest.chars().next() else { return Ok(None) };
        self.at_line_start = false;
        let token = match first {
            '"' => {
                let mut text = self.quoted()?;
                // `"a" + "b"` is one string.
                loop {
                    let before = (self.rest, self.line);
                    self.pass_blanks()?;
                    let Some(behind) = self.rest.strip_prefix('+') else {
                        (self.rest, self.line) = before;
                        break;
                    };
                    self.rest = behind;
                    self.pass_blanks()?;
                    text.push_str(&self.quoted()?);
                }
                Token::Id { text, is_quoted: true }
            }
            '<' => Token::Id { text: self.html()?, is_quoted: true },
            '-' if self.rest.starts_with("--") || self.rest.starts_with("->") => {
                let is_directed = self.rest.starts_with("->");
                self.rest = &self.rest[2..];
                Token::Edge { is_directed }
            }
            '{' | '}' | '[' | ']' | ';' | ',' | '=' | ':' => {
                self.rest = &self.rest[1..];
                Token::Sign(first)
            }
            _ => self.bare(first)?,
        };
        Ok(Some((token, line)))
    }

    fn bad(&self, problem: &'static str) -> BadToken {
        BadToken { line: self.line, found: self.rest.chars().next().unwrap_or('\0'), problem }
    }

    /// Goes on by so many bytes, which may hold ends of lines.
    fn pass(&mut self, bytes: usize) -> &'a str {
        let (passed, rest) = self.rest.split_at(bytes);
        let lines = passed.bytes().filter(|&byte| byte == b'\n').count();
        if lines > 0 {
            self.at_line_start = passed.rsplit('\n').next().is_some_and(|tail| tail.trim().is_empty());
        }
        self.line += lines as u64;
        self.rest = rest;
        passed
    }

    /// Passes over blanks, comments and lines of a preprocessor.
    fn pass_blanks(&mut self) -> Result<(), BadToken> {
        loop {
            let blanks = self.rest.len() - self.rest.trim_start().len();
            self.pass(blanks);
            let end = if self.rest.starts_with("//") || (self.rest.starts_with('#') && self.at_line_start) {
                self.rest.find('\n').unwrap_or(self.rest.len())
            } else if self.rest.starts_with("/*") {
                self.rest.find("*/").ok_or_else(|| self.bad("begins a comment that does not end"))? + 2
            } else {
                return Ok(());
            };
            self.pass(end);
        }
    }

    /// A quoted string: `\"` is a quotation mark, a `\` at the end of a line joins it to the next.
    fn quoted(&mut self) -> Result<String, BadToken> {
        let Some(inside) = self.rest.strip_prefix('"') else { return Err(self.bad("is no quoted string")) };
        let mut text = String::new();
        let mut letters = inside.char_indices();
        while let Some((at, letter)) = letters.next() {
            match letter {
                '"' => {
                    self.pass(at + 2);
                    return Ok(text);
                }
                '\\' => match letters.next() {
                    Some((_, '"')) => text.push('"'),
                    Some((_, '\n')) => {}
                    Some((_, other)) => text.extend(['\\', other]),
                    None => {}
                },
                other => text.push(other),
            }
        }
        Err(self.bad("begins a string that does not end"))
    }

    /// An HTML string, `<...>` with `<` and `>` in pairs.
    fn html(&mut self) -> Result<String, BadToken> {
        let mut depth = 0_u64;
        for (at, byte) in self.rest.bytes().enumerate() {
            match byte {
                b'<' => depth += 1,
                b'>' if depth == 1 => return Ok(self.pass(at + 1).to_owned()),
                b'>' => depth -= 1,
                _ => {}
            }
        }
        Err(self.bad("begins an HTML string that does not end"))
    }

    /// A name or a number.
    fn bare(&mut self, first: char) -> Result<Token, BadToken> {
        let is_name = |letter: char| letter.is_alphanumeric() || letter == '_' || !letter.is_ascii();
        let is_number = first == '.' || first == '-' || first.is_ascii_digit();
        if !is_number && !is_name(first) {
            return Err(self.bad("begins no token"));
        }
        let rest = &self.rest[first.len_utf8()..];
        let inside = |letter: char| is_name(letter) || (is_number && letter == '.');
        let end = rest.find(|letter: char| !inside(letter)).unwrap_or(rest.len());
        if end == 0 && (first == '.' || first == '-') {
            return Err(self.bad("begins no token"));
        }
        let text = self.pass(first.len_utf8() + end).to_owned();
        Ok(Token::Id { text, is_quoted: false })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(dot: &str) -> Vec<String> {
        let mut tokens = Tokens::new(dot);
        let mut found = Vec::new();
        while let Some((token, _)) = tokens.next().expect("all are tokens") {
            found.push(match token {
                Token::Id { text, .. } => text,
                Token::Sign(sign) => sign.to_string(),
                Token::Edge { is_directed } => if is_directed { "->" } else { "--" }.to_owned(),
            });
        }
        found
    }

    #[test]
    fn tokens_are_those_of_the_grammar() {
        assert_eq!(texts("graph g{a--b}"), ["graph", "g", "{", "a", "--", "b", "}"]);
        assert_eq!(texts("a:\"p 1\":n->-.5;1.5"), ["a", ":", "p 1", ":", "n", "->", "-.5", ";", "1.5"]);
        assert_eq!(texts("# pre\n// c\n/* c\n */ \"a\\\"b\" + \"c\\\nd\""), ["a\"bcd"]);
        assert_eq!(texts("<b <i>x</i>> \"\\N\\n\""), ["<b <i>x</i>>", "\\N\\n"]);
    }

    #[test]
    fn lines_are_counted() {
        let mut tokens = Tokens::new("a /* \n\n */ \"x\ny\"\nb");
        let lines: Vec<u64> =
            std::iter::from_fn(|| tokens.next().expect("all are tokens")).map(|(_, line)| line).collect();
        assert_eq!(lines, [1, 3, 5]);
    }

    #[test]
    fn what_is_no_token_is_refused() {
        for dot in ["\"a", "/* a", "<a", "-", ".", "(", "a # b"] {
            let mut tokens = Tokens::new(dot);
            let all: Result<Vec<_>, _> = std::iter::from_fn(|| tokens.next().transpose()).take(4).collect();
            assert!(all.is_err(), "{dot}");
        }
    }
}
