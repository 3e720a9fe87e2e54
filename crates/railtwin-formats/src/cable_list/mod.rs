//! Cable lists as CSV: `device_a,port_a,device_b,port_b,rate,length`, and as reference designs of the Open Compute Project
//! write them, with `a_device,a_interface,a_role` and the same for `b`.
//!
//! Columns may come in any order and others are passed over. A row with one end only is a free port. Lines that begin with
//! `#` are comments; `# fabric: hpn` and `# switch latency: 700 ns` say what no column does.
mod write;

use railtwin_fabric::NONE;
use railtwin_fabric::cable_list::{CableList, CableNetwork, DeviceRole, StatedPlace, role_of};
use railtwin_units::{Rate, SimTime, decimal};

use crate::error::{FormatError, text_of};

use write::PS_PER_METRE;
pub use write::cable_list_csv;

/// Name of this format in errors.
const FORMAT: &str = "cable list";
/// What is accepted.
const ACCEPTED: &str = "begin with the line device_a,port_a,device_b,port_b,rate or with \
                        a_device,a_interface,a_role,b_device,b_interface,b_role";

/// Names of columns of one end, `?` standing for `a` or `b`.
const DEVICE: &[&str] = &["device_?", "?_device", "node_?", "?_node", "side_?_device"];
const PORT: &[&str] =
    &["port_?", "?_port", "?_interface", "interface_?", "side_?_port", "side_?_name", "?_name"];
const ROLE: &[&str] = &["role_?", "?_role"];
const PLACE: &[&str] = &["place_?"];
const RACK: &[&str] = &["rack_?", "?_rack", "side_?_rack"];
const RATE: &[&str] = &["rate", "speed", "capacity"];
const LENGTH: &[&str] = &["length", "length_m"];

/// Indices of columns; optional ones are none where the file does not have them.
struct Columns {
    device: [usize; 2],
    port: [usize; 2],
    role: [Option<usize>; 2],
    place: [Option<usize>; 2],
    rack: [Option<usize>; 2],
    rate: Option<usize>,
    length: Option<usize>,
    names: Vec<String>,
}

impl Columns {
    fn of(header: &csv::StringRecord) -> Option<Self> {
        let plain = |name: &str| name.trim().to_ascii_lowercase().replace([' ', '-', '.'], "_");
        let names: Vec<String> = header.iter().map(plain).collect();
        let find = |any: &[&str], side: &str| {
            any.iter().find_map(|name| names.iter().position(|known| *known == name.replace('?', side)))
        };
        let both = |any: &[&str]| [find(any, "a"), find(any, "b")];
        let ([Some(a), Some(b)], [Some(port_a), Some(port_b)]) = (both(DEVICE), both(PORT)) else {
            return None;
        };
        Some(Self {
            device: [a, b],
            port: [port_a, port_b],
            role: both(ROLE),
            place: both(PLACE),
            rack: both(RACK),
            rate: find(RATE, ""),
            length: find(LENGTH, ""),
            names,
        })
    }

    /// `column 5 (rate)`.
    fn shown(&self, column: usize) -> String {
        format!("column {} ({})", column + 1, self.names.get(column).map_or("", String::as_str))
    }
}

/// Whether a text begins as a cable list does: for a look at what a file is.
pub fn is_cable_list(bytes: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(&bytes[..bytes.len().min(1 << 16)])
        .or_else(|error| std::str::from_utf8(&bytes[..error.valid_up_to()]))
    else {
        return false;
    };
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let first = text.lines().find(|line| !line.trim().is_empty() && !line.starts_with('#'));
    let bare = |line: &str| line.split(',').map(|name| name.trim().trim_matches('"').to_owned()).collect();
    first.is_some_and(|line| Columns::of(&bare(line)).is_some())
}

/// Reads a cable list; `source_name` appears in errors.
///
/// # Errors
/// A header without the columns of both ends, a row without an end, a port that has two cables (with both lines), a rate,
/// length, role or place that is none: each names line and column.
pub fn parse_cable_list(source_name: &str, bytes: &[u8]) -> Result<CableList, FormatError> {
    let (list, taken) = read_cable_list(source_name, bytes)?;
    match taken.into_iter().next() {
        Some((_, error)) => Err(error),
        None => Ok(list),
    }
}

/// Reads a cable list as [`parse_cable_list`] does, but passes over a row whose port has a cable already: the list has the
/// first cable, and each such row is given with the name of its device.
///
/// # Errors
/// As [`parse_cable_list`], but for ports that have two cables.
pub fn read_cable_list(
    source_name: &str,
    bytes: &[u8],
) -> Result<(CableList, Vec<(String, FormatError)>), FormatError> {
    let text = text_of(FORMAT, source_name, bytes)?;
    let mut reader = csv::ReaderBuilder::new()
        .trim(csv::Trim::All)
        .comment(Some(b'#'))
        .flexible(true)
        .from_reader(text.as_bytes());
    let broken = |error: &csv::Error| {
        let made = FormatError::new(FORMAT, source_name, "is not a row of comma-separated values", ACCEPTED);
        match error.position() {
            Some(place) => made.at_line(place.line()),
            None => made,
        }
    };
    let header = reader.headers().map_err(|error| broken(&error))?.clone();
    let columns = Columns::of(&header).ok_or_else(|| {
        let line = header.position().map_or(1, csv::Position::line);
        FormatError::new(FORMAT, source_name, "has no columns of two ends", ACCEPTED).at_line(line).foreign()
    })?;
    let (mut list, mut taken) = (CableList::default(), Vec::new());
    read_comments(source_name, text, &mut list)?;
    for record in reader.records() {
        let record = record.map_err(|error| broken(&error))?;
        let line = record.position().map_or(0, csv::Position::line);
        if record.len() > header.len() {
            let problem = format!("the row has {} fields", record.len());
            let accepted = format!("the header has {}", header.len());
            return Err(FormatError::new(FORMAT, source_name, problem, accepted).at_line(line));
        }
        if record.iter().all(str::is_empty) {
            continue;
        }
        taken.extend(Row { source_name, columns: &columns, record: &record, line }.read(&mut list)?);
    }
    if list.cables().is_empty() && taken.is_empty() {
        return Err(FormatError::new(FORMAT, source_name, "has no cable", "write a row for each cable"));
    }
    Ok((list, taken))
}

/// `# fabric: hpn`, `# switch latency: 700 ns`.
fn read_comments(source_name: &str, text: &str, list: &mut CableList) -> Result<(), FormatError> {
    for (line, number) in text.lines().zip(1_u64..).take_while(|(line, _)| line.starts_with('#')) {
        let Some((key, value)) = line.trim_start_matches('#').split_once(':') else { continue };
        match (key.trim(), value.trim()) {
            ("fabric", name) if !name.is_empty() => list.title = Some(name.to_owned()),
            ("switch latency", time) => {
                let wrong = |_| {
                    let error =
                        FormatError::new(FORMAT, source_name, "is not a time", "write a time such as 700 ns");
                    error.at_line(number).field("switch latency").found(time)
                };
                list.switch_latency = Some(time.parse().map_err(wrong)?);
            }
            _ => {}
        }
    }
    Ok(())
}

/// A row while it is read.
struct Row<'a> {
    source_name: &'a str,
    columns: &'a Columns,
    record: &'a csv::StringRecord,
    line: u64,
}

impl Row<'_> {
    fn get(&self, column: usize) -> &str {
        self.record.get(column).unwrap_or("")
    }

    fn given(&self, column: Option<usize>) -> Option<(usize, &str)> {
        column.map(|column| (column, self.get(column))).filter(|(_, text)| !text.is_empty())
    }

    fn wrong(&self, column: usize, problem: impl Into<String>, accepted: impl Into<String>) -> FormatError {
        let error = FormatError::new(FORMAT, self.source_name, problem, accepted);
        error.at_line(self.line).field(self.columns.shown(column)).found(self.get(column))
    }

    /// Enters the row; a port of it that has a cable already comes back with its device.
    fn read(&self, list: &mut CableList) -> Result<Option<(String, FormatError)>, FormatError> {
        let rate = self.given(self.columns.rate).map(|(column, text)| self.rate(column, text)).transpose()?;
        let delay =
            self.given(self.columns.length).map(|(column, text)| self.delay(column, text)).transpose()?;
        let mut ends = [None; 2];
        for (side, end) in ends.iter_mut().enumerate() {
            *end = self.end(list, side, rate)?;
        }
        match ends {
            [Some(a), Some(b)] => {
                let joined = list.join([a, b], delay);
                let taken = joined.err();
                Ok(taken.map(|taken| self.taken(list, if taken == a { 0 } else { 1 }, taken)))
            }
            [None, None] => Err(self.wrong(
                self.columns.device[0],
                "the row has no end of a cable",
                "write device and port of both ends, or of one for a free port",
            )),
            [Some(port), None] if list.ports()[port as usize].cable != NONE => {
                Ok(Some(self.taken(list, 0, port)))
            }
            [None, Some(port)] if list.ports()[port as usize].cable != NONE => {
                Ok(Some(self.taken(list, 1, port)))
            }
            _ => Ok(None),
        }
    }

    fn taken(&self, list: &CableList, side: usize, port: u32) -> (String, FormatError) {
        let cable = list.ports()[port as usize].cable;
        let column = self.columns.port[side];
        let device = list.devices()[list.device_of(port) as usize].name.clone();
        if cable == NONE {
            let error = self.wrong(column, "is at both ends of one cable", "write another port at one end");
            return (device, error);
        }
        let first = list.ports()[port as usize].line;
        let problem = format!("of {device} has a cable on line {first} already");
        let error = self.wrong(column, problem, "write each port once");
        (device, error)
    }

    /// Device and port of one end; none where the row has no such end.
    fn end(&self, list: &mut CableList, side: usize, rate: Option<Rate>) -> Result<Option<u32>, FormatError> {
        let columns = self.columns;
        let (device, port) = (self.get(columns.device[side]), self.get(columns.port[side]));
        match (device.is_empty(), port.is_empty()) {
            (true, true) => return Ok(None),
            (true, false) => {
                let accepted = "write the device of the port, or neither";
                return Err(self.wrong(columns.device[side], "is empty beside a port", accepted));
            }
            (false, true) => {
                let accepted = "write the port of the device, or neither";
                return Err(self.wrong(columns.port[side], "is empty beside a device", accepted));
            }
            (false, false) => {}
        }
        // `host-3/nic-1` with `port-0` is `nic-1:port-0` of `host-3`.
        let is_nic = |nic: &str| nic.starts_with("nic-") || nic.starts_with("frontend-nic-");
        let split = device.split_once('/').filter(|(host, nic)| !host.is_empty() && is_nic(nic));
        let (row, port) = match split {
            Some((host, nic)) => (list.device(host), format!("{nic}:{port}")),
            None => (list.device(device), port.to_owned()),
        };
        let known = list.ports().len();
        let end = list.port(row, &port, rate, self.line);
        let is_of_row = list.ports()[end as usize].line == self.line;
        if (end as usize) < known && list.ports()[end as usize].cable == NONE && !is_of_row {
            let first = list.ports()[end as usize].line;
            let problem = format!("is a free port on line {first}");
            return Err(self.wrong(columns.port[side], problem, "write each port once"));
        }
        self.state(list, side, row)?;
        Ok(Some(end))
    }

    /// Enters what the row states of a device.
    fn state(&self, list: &mut CableList, side: usize, device: u32) -> Result<(), FormatError> {
        if let Some((column, text)) = self.given(self.columns.role[side]) {
            let (role, network) = self.role(column, text)?;
            let one = list.device_mut(device);
            if one.role.is_some_and(|known| role.is_some_and(|role| known != role)) {
                let known = one.role.map_or("", DeviceRole::name);
                let problem = format!("is another role of {} than {known} above", one.name);
                return Err(self.wrong(column, problem, "write one role for each device"));
            }
            (one.role, one.network) = (one.role.or(role), one.network.or(network));
        }
        if let Some((column, text)) = self.given(self.columns.place[side]) {
            list.device_mut(device).place = Some(self.place(column, text)?);
        }
        if let Some((_, text)) = self.given(self.columns.rack[side]) {
            list.device_mut(device).rack.get_or_insert_with(|| text.to_owned());
        }
        Ok(())
    }

    /// A role, `leaf` or `frontend-leaf`; `switch` is one of no tier.
    fn role(
        &self,
        column: usize,
        text: &str,
    ) -> Result<(Option<DeviceRole>, Option<CableNetwork>), FormatError> {
        let plain = text.to_ascii_lowercase().replace('_', "-");
        let network = CableNetwork::ALL.into_iter().find(|network| {
            plain.strip_prefix(network.name()).is_some_and(|rest| rest.starts_with('-'))
                && DeviceRole::named(&plain) != Some(DeviceRole::StorageHost)
        });
        let bare = network.map_or(plain.as_str(), |network| &plain[network.name().len() + 1..]);
        let role = DeviceRole::named(bare).or_else(|| role_of(bare));
        if role.is_none() && bare != "switch" {
            let accepted = format!("write one of {}, or leave it empty", DeviceRole::NAMES.join(", "));
            return Err(self.wrong(column, "is no role", accepted));
        }
        Ok((role, network))
    }

    /// `pod/segment/rail/plane/index`, `-` for what does not apply.
    fn place(&self, column: usize, text: &str) -> Result<StatedPlace, FormatError> {
        let accepted =
            "write pod/segment/rail/plane/index, such as 0/3/2/1/5, with - for what does not apply";
        let numbers: Option<Vec<u32>> = text
            .split('/')
            .map(|part| match part.trim() {
                "-" => Some(NONE),
                number => number.parse().ok().filter(|&number| number < 1 << 24),
            })
            .collect();
        match numbers.as_deref() {
            Some(&[pod, segment, rail, plane, index]) => Ok(StatedPlace { pod, segment, rail, plane, index }),
            _ => Err(self.wrong(column, "is no place", accepted)),
        }
    }

    /// `400 Gbps`, `400G`.
    fn rate(&self, column: usize, text: &str) -> Result<Rate, FormatError> {
        let short = text.strip_suffix("GbE").or_else(|| text.strip_suffix(['G', 'g'])).map(str::trim);
        let rate = short.map_or(text.to_owned(), |number| format!("{number} Gbps")).parse::<Rate>();
        match rate {
            Ok(rate) if rate > Rate::ZERO => Ok(rate),
            _ => Err(self.wrong(column, "is not a rate", "write a rate such as 400 Gbps or 400G")),
        }
    }

    /// `60 m`, `60`, `2.5m`, as the time of light in fibre.
    fn delay(&self, column: usize, text: &str) -> Result<SimTime, FormatError> {
        let number = text.trim_end_matches(['m', 'M']).trim();
        match decimal::scaled(number, PS_PER_METRE) {
            // 1,000 km.
            Ok(ps) if ps <= 1_000_000 * PS_PER_METRE => Ok(SimTime::from_ps(ps)),
            _ => Err(self.wrong(column, "is not a length", "write metres up to 1000000, such as 3 m or 2.5")),
        }
    }
}
