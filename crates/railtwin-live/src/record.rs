//! The record schema: one JSON object a line, of one rank; `docs/reference/live-records.md` has every field with its unit.
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Newest schema version that this reader knows. A header without one, and a file without a header, are version 1.
pub const VERSION: u64 = 1;

/// Length of a version, state or name that is kept of a record; more is no name.
const NAME_MAX: usize = 128;

/// One record of one rank.
#[derive(Clone, PartialEq, Debug)]
pub struct Record {
    /// The rank that it is of.
    pub rank: u32,
    /// When it was made, ns on the clock of its host.
    pub time_ns: u64,
    /// Its content.
    pub body: Body,
}

/// Content of a record, by the letters of its `k`.
#[derive(Clone, PartialEq, Debug)]
pub enum Body {
    /// `hd`: who writes.
    Header(Header),
    /// `st`: the phases of a step that a rank spends alone ended.
    Step(Step),
    /// `en`: a rank entered an operation.
    Entered(Entered),
    /// `op`: an operation ended.
    Ended(Ended),
    /// `hb`: a heartbeat.
    Heartbeat(Box<Heartbeat>),
    /// `err`: an error at a connection.
    Broken(Broken),
    /// `ps`: state of the process, as an observer outside of it sees it.
    Process(ProcessState),
    /// `by`: the rank ended by itself.
    Left(Left),
    /// `ck`: offset of the host's clock.
    Clock(Clock),
    /// `ob`: what the observer says of itself.
    Observer(Observer),
}

/// `hd`: who writes.
#[derive(Clone, PartialEq, Default, Debug, Deserialize)]
#[serde(default)]
pub struct Header {
    /// Schema version.
    pub v: Option<u64>,
    /// The rank, where the file's name does not tell it.
    pub rank: Option<u32>,
    /// Time between heartbeats, ms.
    pub every_ms: Option<u64>,
    /// Name of the host.
    pub host: Option<String>,
    /// Name of the NIC that the rank sends over.
    pub nic: Option<String>,
}

/// `st`: the phases of a step that a rank spends alone. The time of the record is their end.
#[derive(Clone, Copy, PartialEq, Debug, Deserialize)]
pub struct Step {
    /// Number of the step.
    #[serde(default)]
    pub step: u64,
    /// Loading of data, us.
    #[serde(default)]
    pub data: u64,
    /// Computation, us.
    #[serde(default)]
    pub comp: u64,
}

/// `en`: a rank entered an operation.
#[derive(Clone, Copy, PartialEq, Debug, Deserialize)]
pub struct Entered {
    /// Number of the operation, from 0 on.
    pub seq: u64,
    /// Size, bytes.
    #[serde(default)]
    pub b: u64,
}

/// `op`: an operation ended. The time of the record is its end.
#[derive(Clone, PartialEq, Debug, Deserialize)]
pub struct Ended {
    /// Number of the operation.
    pub seq: u64,
    /// When the rank entered it, ns.
    #[serde(default)]
    pub en: Option<u64>,
    /// The rank that it sent to.
    #[serde(default)]
    pub succ: Option<u32>,
    /// The rank that it received from.
    #[serde(default)]
    pub pred: Option<u32>,
    /// Waits by stage, us: to receive; waited as the piece to send had not come; waited to send.
    #[serde(default)]
    pub w: Vec<Vec<u64>>,
}

/// `hb`: a heartbeat.
#[derive(Clone, PartialEq, Default, Debug, Deserialize)]
#[serde(default)]
pub struct Heartbeat {
    /// Newest operation that the rank has entered.
    pub seq: u64,
    /// 1 within an operation, 0 outside.
    #[serde(rename = "in")]
    pub inside: u64,
    /// Stages received in it.
    pub rs: u64,
    /// Stages sent in it.
    pub ss: u64,
    /// The connection that the rank sends over.
    pub s: Option<TcpReading>,
    /// The connection that the rank receives over.
    pub r: Option<TcpReading>,
    /// Round trip to each rank, us, by the number of the rank or in the order of `to`; negative: none.
    pub ping: Vec<i64>,
    /// Ranks that `ping` is of, where it is not by their numbers.
    pub to: Vec<u32>,
}

/// TCP_INFO of a connection.
#[derive(Clone, Copy, PartialEq, Default, Debug, Serialize, Deserialize)]
#[serde(default)]
pub struct TcpReading {
    /// The rank at its other end, where the writer tells it.
    pub peer: Option<u32>,
    /// Packets sent and not acknowledged.
    pub una: u64,
    /// How often the retransmission timer doubled.
    pub bko: u64,
    /// Retransmissions in all.
    pub rtx: u64,
    /// Packets that arrived twice, by the receiver's DSACK.
    pub dsk: u64,
    /// Since data was last sent, ms.
    pub lds: u64,
    /// Since data was last received, ms.
    pub ldr: u64,
    /// Time with something to send or unacknowledged, us.
    pub busy: u64,
    /// Part of that time in which it waited for the receiver's window, us.
    pub rwl: u64,
    /// Bytes acknowledged.
    pub ba: u64,
}

/// `err`: an error at a connection.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Broken {
    /// Operation that the rank was in.
    #[serde(default)]
    pub seq: u64,
    /// `s` to send, `r` to receive.
    #[serde(default)]
    pub side: String,
    /// The rank at the other end.
    pub peer: u32,
    /// Error number of Linux; 0: end of file.
    #[serde(default)]
    pub errno: i64,
}

impl Broken {
    /// Whether the other end closed the connection: end of file, EPIPE or ECONNRESET. Others, a timeout for one, are
    /// of the network.
    pub const fn is_close(&self) -> bool {
        matches!(self.errno, 0 | 32 | 104)
    }
}

/// `ps`: state of the process, as an observer outside of it sees it.
#[derive(Clone, PartialEq, Debug, Deserialize)]
pub struct ProcessState {
    /// Letter of `/proc/PID/stat`: `T` stopped, `Z` zombie, `X` dead, others live.
    pub state: String,
}

/// `by`: the process of the rank ended by itself, not by a signal.
#[derive(Clone, Copy, PartialEq, Debug, Deserialize)]
pub struct Left {
    /// Exit status; 0: in order.
    #[serde(default)]
    pub status: i64,
}

/// `ck`: offset of the host's clock against the reference.
#[derive(Clone, Copy, PartialEq, Debug, Deserialize)]
pub struct Clock {
    /// To be taken from the host's times, ns.
    pub offset_ns: i64,
    /// Growth of the offset, ns each second.
    #[serde(default)]
    pub drift_ppb: i64,
}

/// `ob`: what the observer says of itself.
#[derive(Clone, Copy, PartialEq, Debug, Deserialize)]
pub struct Observer {
    /// Lateness of its timer, us.
    #[serde(default)]
    pub late_us: u64,
    /// Share of the last 10 s in which something waited for a processor (PSI, `some`), percent.
    #[serde(default)]
    pub stall: f64,
}

/// Why a line is no record.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub enum Damage {
    /// No JSON object: cut off, or not JSON.
    NoObject,
    /// No kind `k` or no time `t`.
    NoKindOrTime,
    /// A field that the kind needs is missing, or has another type.
    Field,
    /// The rank is not told, neither by the file's name nor by a header.
    NoRank,
}

impl Damage {
    /// The words for it.
    pub const fn words(self) -> &'static str {
        match self {
            Self::NoObject => "is no JSON object: cut off, or something else",
            Self::NoKindOrTime => "has no kind k or no time t",
            Self::Field => "lacks a field of its kind, or has one of another type",
            Self::NoRank => "tells no rank, and neither do the file's name and a header",
        }
    }
}

/// A line that is well formed.
#[derive(Clone, PartialEq, Debug)]
pub enum Line {
    /// A record of a kind that is known; its time, ns.
    Known(u64, Body),
    /// A record of a kind of a later version.
    Unknown,
}

/// Reads one line.
///
/// # Errors
/// What is wrong with it.
pub fn line(text: &[u8]) -> Result<Line, Damage> {
    let object: Map<String, Value> = serde_json::from_slice(text).map_err(|_| Damage::NoObject)?;
    let kind = object.get("k").and_then(Value::as_str).ok_or(Damage::NoKindOrTime)?.to_owned();
    let time_ns = object.get("t").and_then(Value::as_u64).ok_or(Damage::NoKindOrTime)?;
    let body = match kind.as_str() {
        "hd" => Body::Header(header(object)?),
        "st" => Body::Step(read(object)?),
        "en" => Body::Entered(read(object)?),
        "op" => Body::Ended(read(object)?),
        "hb" => Body::Heartbeat(Box::new(read(object)?)),
        "err" => Body::Broken(read(object)?),
        "ps" => Body::Process(read(object)?),
        "by" => Body::Left(read(object)?),
        "ck" => Body::Clock(read(object)?),
        "ob" => Body::Observer(read(object)?),
        _ => return Ok(Line::Unknown),
    };
    Ok(Line::Known(time_ns, body))
}

fn read<T: for<'a> Deserialize<'a>>(object: Map<String, Value>) -> Result<T, Damage> {
    serde_json::from_value(Value::Object(object)).map_err(|_| Damage::Field)
}

fn header(object: Map<String, Value>) -> Result<Header, Damage> {
    let mut header: Header = read(object)?;
    let is_name = |name: &String| !name.is_empty() && name.len() <= NAME_MAX;
    header.host = header.host.filter(is_name);
    header.nic = header.nic.filter(is_name);
    Ok(header)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_that_are_not_known_and_fields_that_are_not_known_are_no_damage() {
        assert_eq!(line(br#"{"k":"zz","t":5}"#), Ok(Line::Unknown));
        let known = line(br#"{"k":"en","t":5,"seq":3,"later":[1,{}]}"#);
        assert_eq!(known, Ok(Line::Known(5, Body::Entered(Entered { seq: 3, b: 0 }))));
    }

    #[test]
    fn damage_is_told() {
        assert_eq!(line(br#"{"k":"en","t":5,"se"#), Err(Damage::NoObject));
        assert_eq!(line(b"[]"), Err(Damage::NoObject));
        assert_eq!(line(br#"{"k":"en","seq":3}"#), Err(Damage::NoKindOrTime));
        assert_eq!(line(br#"{"k":"en","t":-5,"seq":3}"#), Err(Damage::NoKindOrTime));
        assert_eq!(line(br#"{"k":"en","t":5}"#), Err(Damage::Field));
        assert_eq!(line(br#"{"k":"hb","t":5,"ping":"no"}"#), Err(Damage::Field));
    }

    #[test]
    fn a_timeout_is_no_close() {
        let broken = |errno| Broken { seq: 0, side: "s".into(), peer: 1, errno };
        assert!([0, 32, 104].into_iter().all(|errno| broken(errno).is_close()));
        assert!([110, 113, -1].into_iter().all(|errno| !broken(errno).is_close()));
    }
}
