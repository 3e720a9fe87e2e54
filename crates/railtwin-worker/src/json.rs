//! Lines of JSON, written into one buffer without allocation.

/// Lines that wait to be written.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    pub(crate) bytes: Vec<u8>,
}

/// Digits of the largest u64.
const DIGITS: usize = 20;

impl Lines {
    /// Begins a record.
    pub(crate) fn begin(&mut self, kind: &str, time_ns: u64) -> &mut Self {
        self.bytes.extend_from_slice(b"{\"k\":\"");
        self.bytes.extend_from_slice(kind.as_bytes());
        self.bytes.push(b'"');
        self.number("t", time_ns)
    }

    /// Ends a record.
    pub(crate) fn end(&mut self) {
        self.bytes.extend_from_slice(b"}\n");
    }

    /// Writes a key with its colon, and a comma before it where something stands before.
    pub(crate) fn key(&mut self, key: &str) -> &mut Self {
        if self.bytes.last() != Some(&b'{') {
            self.bytes.push(b',');
        }
        self.bytes.push(b'"');
        self.bytes.extend_from_slice(key.as_bytes());
        self.bytes.extend_from_slice(b"\":");
        self
    }

    pub(crate) fn number(&mut self, key: &str, value: u64) -> &mut Self {
        self.key(key).digits(value)
    }

    pub(crate) fn signed(&mut self, key: &str, value: i64) -> &mut Self {
        self.key(key).signed_digits(value)
    }

    /// Writes hundredths as a decimal.
    pub(crate) fn hundredths(&mut self, key: &str, value: u64) -> &mut Self {
        self.number(key, value / 100);
        self.bytes.push(b'.');
        self.bytes.push(b'0' + (value / 10 % 10) as u8);
        self.bytes.push(b'0' + (value % 10) as u8);
        self
    }

    /// Writes text; what is not printable ASCII, quotes and backslashes become `_`.
    pub(crate) fn text(&mut self, key: &str, value: &str) -> &mut Self {
        self.key(key);
        self.bytes.push(b'"');
        let plain = |byte: u8| {
            if (byte.is_ascii_graphic() || byte == b' ') && !b"\"\\".contains(&byte) { byte } else { b'_' }
        };
        self.bytes.extend(value.bytes().map(plain));
        self.bytes.push(b'"');
        self
    }

    /// Opens a list or an object, or closes it.
    pub(crate) fn mark(&mut self, mark: u8) -> &mut Self {
        self.bytes.push(mark);
        self
    }

    /// Writes a comma where an item of a list stands before.
    pub(crate) fn item(&mut self) -> &mut Self {
        if self.bytes.last() != Some(&b'[') {
            self.bytes.push(b',');
        }
        self
    }

    pub(crate) fn digits(&mut self, mut value: u64) -> &mut Self {
        let mut digits = [0; DIGITS];
        let mut at = DIGITS;
        loop {
            at -= 1;
            digits[at] = b'0' + (value % 10) as u8;
            value /= 10;
            if value == 0 {
                break;
            }
        }
        self.bytes.extend_from_slice(&digits[at..]);
        self
    }

    pub(crate) fn signed_digits(&mut self, value: i64) -> &mut Self {
        if value < 0 {
            self.bytes.push(b'-');
        }
        self.digits(value.unsigned_abs())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_json() {
        let mut lines = Lines::default();
        lines.begin("hb", 7).number("zero", 0).signed("less", i64::MIN).hundredths("share", 1_207);
        lines
            .text("name", "a\"b\\c\nd")
            .key("w")
            .mark(b'[')
            .item()
            .digits(u64::MAX)
            .item()
            .digits(1)
            .mark(b']');
        lines.end();
        let text = String::from_utf8(lines.bytes).expect("it is text");
        let expected = "{\"k\":\"hb\",\"t\":7,\"zero\":0,\"less\":-9223372036854775808,\"share\":12.07,\
                        \"name\":\"a_b_c_d\",\"w\":[18446744073709551615,1]}\n";
        assert_eq!(text, expected);
    }
}
