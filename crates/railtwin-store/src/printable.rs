//! Text from outside as it may be printed: nothing in it moves a cursor, hides text or turns its direction.
//!
//! Names stand in TOML, in `run.json`, in telemetry and in file names, and whoever wrote them may have put the codes of
//! a terminal there. They are shown as `\u001b`, which is how JSON writes them too: JSON that is printed stays JSON.
use std::borrow::Cow;
use std::io::{self, Write};

/// Characters of a UTF-8 sequence that may come in a later piece.
const SEQUENCE_MAX: usize = 4;

/// Whether a character is shown as its number: control characters but line breaks and tabs, and what is not seen but
/// acts (directions, joiners, separators of lines and paragraphs, byte-order marks, tags; Unicode's categories Cc, Zl,
/// Zp and Cf).
fn acts_unseen(character: char) -> bool {
    match character {
        '\n' | '\t' => false,
        '\u{00ad}' | '\u{0600}'..='\u{0605}' | '\u{061c}' | '\u{06dd}' | '\u{070f}' | '\u{08e2}' => true,
        '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' => true,
        '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}' => true,
        other => other.is_control(),
    }
}

/// Text of one or more lines as it may be printed.
pub fn printable(text: &str) -> Cow<'_, str> {
    escaped(text, acts_unseen)
}

/// A name or message that must stay on its line: line breaks and tabs are escaped too.
pub fn one_line(text: &str) -> Cow<'_, str> {
    escaped(text, |character| acts_unseen(character) || matches!(character, '\n' | '\t'))
}

fn escaped(text: &str, is_escaped: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(&is_escaped) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        match character {
            '\n' if is_escaped('\n') => shown.push_str("\\n"),
            '\t' if is_escaped('\t') => shown.push_str("\\t"),
            // JSON knows no other escape beyond 16 bits than the two halves of UTF-16.
            other if is_escaped(other) => {
                let mut units = [0; 2];
                shown.extend(other.encode_utf16(&mut units).iter().map(|unit| format!("\\u{unit:04x}")));
            }
            other => shown.push(other),
        }
    }
    Cow::Owned(shown)
}

/// A stream of text on which all is printable, whoever writes to it and in whatever pieces.
///
/// Bytes that are no UTF-8 become U+FFFD.
#[derive(Debug)]
pub struct Printable<W: Write> {
    inner: W,
    /// The beginning of a character whose end has not come yet.
    begun: Vec<u8>,
}

impl<W: Write> Printable<W> {
    /// Text on the way to `inner`.
    pub fn new(inner: W) -> Self {
        Self { inner, begun: Vec::with_capacity(SEQUENCE_MAX) }
    }

    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        for chunk in bytes.utf8_chunks() {
            self.inner.write_all(printable(chunk.valid()).as_bytes())?;
            if !chunk.invalid().is_empty() {
                self.inner.write_all("\u{fffd}".as_bytes())?;
            }
        }
        Ok(())
    }
}

/// Bytes at the end that begin a character and do not end it.
fn unfinished(bytes: &[u8]) -> usize {
    match std::str::from_utf8(bytes) {
        Err(error) if error.error_len().is_none() => bytes.len() - error.valid_up_to(),
        // A wrong sequence before it hides what stands at the end.
        Err(error) => {
            let wrong = error.valid_up_to() + error.error_len().unwrap_or(1);
            unfinished(&bytes[wrong..])
        }
        Ok(_) => 0,
    }
}

impl<W: Write> Write for Printable<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut joined = std::mem::take(&mut self.begun);
        let whole = if joined.is_empty() {
            bytes
        } else {
            joined.extend_from_slice(bytes);
            &joined
        };
        let (now, later) = whole.split_at(whole.len() - unfinished(whole));
        self.put(now)?;
        self.begun = later.to_vec();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_acts_unseen_is_shown_and_all_else_left() {
        let text = "\u{1b}[31mred\u{7}\u{9b}\u{202e}x\u{2028}\u{feff}\u{e0041} é 図 🙂\t–\n";
        let shown = "\\u001b[31mred\\u0007\\u009b\\u202ex\\u2028\\ufeff\\udb40\\udc41 é 図 🙂\t–\n";
        assert_eq!(printable(text), shown);
        assert_eq!(one_line("a\nb\tc\rd"), "a\\nb\\tc\\u000dd");
        assert!(matches!(printable("plain, ümlaut\n"), Cow::Borrowed(_)));
    }

    #[test]
    fn json_stays_the_same_json() {
        let name = "\u{1b}]0;x\u{7}\u{85}\u{202e}\u{e0041}\"\\";
        let text = serde_json::json!({ "name": name }).to_string();
        let shown = printable(&text).into_owned();
        assert!(shown.is_ascii(), "{shown}");
        let again: serde_json::Value = serde_json::from_str(&shown).expect("JSON");
        assert_eq!(again["name"], name);
    }

    #[test]
    fn pieces_make_no_difference() {
        let text = "é\u{1b}図\u{202e}🙂\u{e0041}".as_bytes();
        let mut broken = text.to_vec();
        broken.extend([0xff, 0xe2, 0x80, b'a', 0xc3]);
        for bytes in [text, &broken[..]] {
            let mut whole = Printable::new(Vec::new());
            whole.write_all(bytes).expect("memory");
            let mut pieces = Printable::new(Vec::new());
            bytes.iter().for_each(|&byte| pieces.write_all(&[byte]).expect("memory"));
            assert_eq!(pieces.inner, whole.inner);
            assert!(
                String::from_utf8(whole.inner)
                    .expect("text")
                    .starts_with("é\\u001b図\\u202e🙂\\udb40\\udc41")
            );
        }
    }
}
