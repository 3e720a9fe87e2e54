//! One line of a dump.
use railtwin_units::Rate;

use super::speed;

/// Kind of a node, by the first word of its block and the first letter of its id.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum NodeKind {
    Switch,
    Adapter,
    Router,
    Unknown,
}

impl NodeKind {
    /// Of the first word of a block, of a list or of a report.
    fn of_word(word: &str) -> Option<Self> {
        match word {
            "Switch" | "SW" => Some(Self::Switch),
            "Ca" | "CA" | "Hca" => Some(Self::Adapter),
            "Rt" | "RT" | "Router" => Some(Self::Router),
            "???" | "??" => Some(Self::Unknown),
            _ => None,
        }
    }

    /// Of an id such as `S-2c5eab0300b87b40`.
    pub(super) fn of_id(id: &str) -> Self {
        match id.as_bytes() {
            [b'S', b'-', ..] => Self::Switch,
            [b'H', b'-', ..] => Self::Adapter,
            [b'R', b'-', ..] => Self::Router,
            _ => Self::Unknown,
        }
    }

    /// First letter of ids.
    pub(super) fn letter(self) -> char {
        match self {
            Self::Switch => 'S',
            Self::Adapter => 'H',
            Self::Router => 'R',
            Self::Unknown => '?',
        }
    }
}

/// `Switch 65 "S-2c5eab0300b87b40" # "MF0;leaf:MQM9700/U1" enhanced port 0 lid 73 lmc 0`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Header<'a> {
    pub kind: NodeKind,
    pub ports: u32,
    pub id: &'a str,
    pub description: &'a str,
}

/// `[1] "S-2c5eab0300b87b40"[5] # "MF0;leaf:MQM9700/U1" lid 158 4xNDR`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct LinkLine<'a> {
    pub port: u32,
    pub peer: &'a str,
    pub peer_port: u32,
    pub description: &'a str,
    pub rate: Option<Rate>,
}

/// A node of the list of nodes: `Ca : 0x0002c902 ports 2 devid 0x673c vendid 0x2c9 "host HCA-1"`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Listed<'a> {
    pub kind: NodeKind,
    pub guid: u64,
    pub device_id: Option<u64>,
    pub description: &'a str,
}

/// One end in the ports report: kind, port, GUID of the port, name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct ReportedEnd<'a> {
    pub kind: NodeKind,
    pub port: u32,
    pub guid: u64,
    pub description: &'a str,
}

/// A port of the ports report: `CA 4 1 0x0002c902 4x QDR - SW 1 19 0x0002c903 ( 'host HCA-1' - 'leaf' )`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Report<'a> {
    pub end: ReportedEnd<'a>,
    pub rate: Option<Rate>,
    pub peer: Option<ReportedEnd<'a>>,
}

/// Content of a line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Line<'a> {
    /// Nothing: blank, a comment, a heading of a group, a key that is not needed.
    Nothing,
    /// `sysimgguid=0x...`
    System(u64),
    /// `devid=0x...`
    DeviceId(u64),
    Header(Header<'a>),
    Link(LinkLine<'a>),
    Listed(Listed<'a>),
    Report(Report<'a>),
    /// A line of a difference of two dumps.
    Difference,
    /// It begins like a header or a link, and is not one.
    Broken,
    /// Of no dump: warnings of the tool land here.
    Foreign,
}

/// Reads a line.
pub(super) fn line(text: &str) -> Line<'_> {
    let text = text.trim();
    if text.is_empty() || text.starts_with('#') {
        return Line::Nothing;
    }
    if text.starts_with('[') {
        return link(text).map_or(Line::Broken, Line::Link);
    }
    if text.starts_with("< ") || text.starts_with("> ") {
        return Line::Difference;
    }
    if let Some((key, value)) = text.split_once('=')
        && !key.contains(char::is_whitespace)
    {
        return keyed(key, value);
    }
    let (word, rest) = text.split_at(text.find(char::is_whitespace).unwrap_or(text.len()));
    match NodeKind::of_word(word) {
        Some(kind) => node(kind, rest.trim_start()),
        None if ["Chassis", "Non-Chassis", "Hostname:"].contains(&word) => Line::Nothing,
        None => Line::Foreign,
    }
}

fn keyed<'a>(key: &str, value: &str) -> Line<'a> {
    let number =
        hex(value.split(|letter: char| letter.is_whitespace() || letter == '(').next().unwrap_or(""));
    match (key, number) {
        ("sysimgguid", Some(system)) => Line::System(system),
        ("devid", Some(device)) => Line::DeviceId(device),
        (key, _) if key.ends_with("guid") || ["vendid", "devid"].contains(&key) => Line::Nothing,
        _ => Line::Foreign,
    }
}

/// The rest of a line that begins with the kind of a node.
fn node(kind: NodeKind, rest: &str) -> Line<'_> {
    if let Some(listed) = rest.strip_prefix(": ") {
        return self::listed(kind, listed).map_or(Line::Broken, Line::Listed);
    }
    if let Some(header) = header(kind, rest) {
        return Line::Header(header);
    }
    if rest.contains("0x")
        && let Some(report) = report(kind, rest)
    {
        return Line::Report(report);
    }
    if rest.starts_with(|letter: char| letter.is_ascii_digit()) { Line::Broken } else { Line::Foreign }
}

fn header(kind: NodeKind, rest: &str) -> Option<Header<'_>> {
    let mut cursor = Cursor(rest);
    let ports = cursor.number()?;
    let id = cursor.quoted()?;
    let (description, _) = cursor.comment();
    Some(Header { kind, ports, id, description })
}

fn link(text: &str) -> Option<LinkLine<'_>> {
    let mut cursor = Cursor(text);
    let port = cursor.bracketed()?;
    cursor.pass_extras();
    let peer = cursor.quoted()?;
    let peer_port = cursor.bracketed()?;
    cursor.pass_extras();
    let (description, rest) = cursor.comment();
    let rate = rest.split_whitespace().find_map(speed::rate_of_word);
    Some(LinkLine { port, peer, peer_port, description, rate })
}

fn listed(kind: NodeKind, rest: &str) -> Option<Listed<'_>> {
    let (numbers, description) = rest.split_once('"').unwrap_or((rest, ""));
    let mut words = numbers.split_whitespace();
    let guid = hex(words.next()?)?;
    let device_id = words.skip_while(|word| *word != "devid").nth(1).and_then(hex);
    let description = description.rsplit_once('"').map_or(description, |(before, _)| before);
    Some(Listed { kind, guid, device_id, description })
}

fn report(kind: NodeKind, rest: &str) -> Option<Report<'_>> {
    let (numbers, names) = rest.split_once('\'')?;
    let mut words = numbers.split_whitespace();
    let (_, port, guid) = (words.next()?, words.next()?.parse().ok()?, hex(words.next()?)?);
    let (width, speed) = (words.next()?, words.next()?);
    let rate = speed::rate(width, speed);
    let end = |kind, port, guid, description| ReportedEnd { kind, port, guid, description };
    if words.next() != Some("-") {
        let name = names.trim_end().trim_end_matches('\'');
        return Some(Report { end: end(kind, port, guid, name), rate, peer: None });
    }
    let (peer_kind, _) = (NodeKind::of_word(words.next()?)?, words.next()?);
    let (peer_port, peer_guid) = (words.next()?.parse().ok()?, hex(words.next()?)?);
    let (name, peer_name) = names.split_once("' - '")?;
    let peer_name = peer_name.trim_end().trim_end_matches(')').trim_end().trim_end_matches('\'');
    let peer = end(peer_kind, peer_port, peer_guid, peer_name);
    Some(Report { end: end(kind, port, guid, name), rate, peer: Some(peer) })
}

/// A number in base 16 with or without `0x`.
fn hex(text: &str) -> Option<u64> {
    let digits = text.strip_prefix("0x").unwrap_or(text);
    if digits.starts_with('+') {
        return None;
    }
    u64::from_str_radix(digits, 16).ok()
}

/// Rest of a line.
struct Cursor<'a>(&'a str);

impl<'a> Cursor<'a> {
    fn pass_blanks(&mut self) {
        self.0 = self.0.trim_start();
    }

    fn pass(&mut self, letter: char) -> Option<()> {
        self.0 = self.0.strip_prefix(letter)?;
        Some(())
    }

    fn number(&mut self) -> Option<u32> {
        self.pass_blanks();
        let end = self.0.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(self.0.len());
        let number = self.0[..end].parse().ok()?;
        self.0 = &self.0[end..];
        Some(number)
    }

    /// `[12]`.
    fn bracketed(&mut self) -> Option<u32> {
        self.pass_blanks();
        self.pass('[')?;
        let number = self.number()?;
        self.pass_blanks();
        self.pass(']')?;
        Some(number)
    }

    /// `"S-2c5eab0300b87b40"`.
    fn quoted(&mut self) -> Option<&'a str> {
        self.pass_blanks();
        self.pass('"')?;
        let (inside, rest) = self.0.split_once('"')?;
        self.0 = rest;
        Some(inside).filter(|inside| !inside.is_empty())
    }

    /// Passes over `[ext 3]` and `(e09d7303007a4bd8)`.
    fn pass_extras(&mut self) {
        self.pass_blanks();
        for (open, close) in [("[ext", ']'), ("(", ')')] {
            if self.0.starts_with(open)
                && let Some((_, rest)) = self.0.split_once(close)
            {
                self.0 = rest.trim_start();
            }
        }
    }

    /// The description in the comment, up to its last quotation mark, and what stands behind it.
    fn comment(&self) -> (&'a str, &'a str) {
        let Some((_, comment)) = self.0.split_once('#') else { return ("", self.0) };
        let Some((before, behind)) = comment.split_once('"') else { return ("", comment) };
        match behind.rsplit_once('"') {
            Some((description, rest)) => (description, rest),
            // Cut within the description.
            None if before.trim().is_empty() || before.contains("lid") => (behind, ""),
            None => ("", behind),
        }
    }
}
