//! Tables of neighbors that switches print.
use super::heard::Heard;
use crate::wiring;

/// Names of columns, without spaces and in small letters.
const LOCAL: [&str; 6] = ["localport", "port", "localintf", "interface", "localinterface", "localportid"];
const DEVICE: [&str; 7] = [
    "remotedevice",
    "neighbordeviceid",
    "deviceid",
    "remotehost",
    "remotesystemname",
    "systemname",
    "neighbor",
];
const PORT: [&str; 5] = ["remoteportid", "neighborportid", "portid", "remoteport", "remoteinterface"];

/// Columns of a table: where each begins.
struct Columns {
    local: usize,
    device: usize,
    port: usize,
    description: Option<usize>,
    capability: Option<usize>,
    speed: Option<usize>,
    /// Where columns begin, in letters, with their ends.
    spans: Vec<(usize, usize)>,
}

/// Names of a header and where each begins: a name may have single spaces within.
fn headings(line: &str) -> Vec<(usize, String)> {
    let letters: Vec<char> = line.chars().collect();
    let mut found: Vec<(usize, String)> = Vec::new();
    let mut gap = 2;
    for (at, &letter) in letters.iter().enumerate() {
        if letter.is_whitespace() {
            gap += 1;
            continue;
        }
        match found.last_mut().filter(|_| gap < 2) {
            Some((_, name)) => name.push(letter),
            None => found.push((at, letter.to_string())),
        }
        gap = 0;
    }
    found.iter_mut().for_each(|(_, name)| *name = name.to_ascii_lowercase().replace(['-', '_'], ""));
    found
}

impl Columns {
    /// Of a header line and the line behind it, whose dashes tell widths where there are any.
    fn of(header: &str, next: Option<&str>) -> Option<Self> {
        let names = headings(header);
        let find =
            |any: &[&str]| any.iter().find_map(|wanted| names.iter().position(|(_, name)| name == wanted));
        let (local, device, port) = (find(&LOCAL)?, find(&DEVICE)?, find(&PORT)?);
        let is_rule = |line: &&str| {
            line.contains("--") && line.chars().all(|letter| letter == '-' || letter.is_whitespace())
        };
        let ruled = next.filter(is_rule).map(headings).filter(|ruled| ruled.len() == names.len());
        let starts: Vec<usize> =
            ruled.unwrap_or_else(|| names.clone()).into_iter().map(|(start, _)| start).collect();
        let ends = starts.iter().skip(1).copied().chain([usize::MAX]);
        Some(Self {
            local,
            device,
            port,
            description: find(&["remoteportdescr"]),
            capability: find(&["capability"]),
            speed: find(&["speed"]),
            spans: starts.iter().copied().zip(ends).collect(),
        })
    }

    /// The cells of a line: by where columns begin, or by gaps of two spaces where a cell is wider than its column.
    fn cells(&self, line: &str) -> Vec<String> {
        let letters: Vec<char> = line.chars().collect();
        let is_word = |at: usize| letters.get(at).is_some_and(|letter| !letter.is_whitespace());
        if self.spans.iter().any(|&(start, _)| start > 0 && is_word(start - 1) && is_word(start)) {
            let cells = line.split("  ").map(str::trim).filter(|cell| !cell.is_empty());
            let mut cells: Vec<String> = cells.map(str::to_owned).collect();
            cells.resize(self.spans.len(), String::new());
            return cells;
        }
        let cell = |&(start, end): &(usize, usize)| {
            let end = end.min(letters.len());
            letters.get(start..end).unwrap_or(&[]).iter().collect::<String>().trim().to_owned()
        };
        self.spans.iter().map(cell).collect()
    }
}

/// Whether a text has the header of a table of neighbors.
pub(super) fn has_header(text: &str) -> bool {
    text.lines().any(|line| may_be_header(line) && Columns::of(line, None).is_some())
}

/// Cheap look at a line before its columns are found.
fn may_be_header(line: &str) -> bool {
    line.len() < 400 && (line.contains("Port") || line.contains("Intf") || line.contains("Interface"))
}

/// Name of the device in a prompt before the command: `admin@leaf1:~$ show lldp table`, `leaf1#show lldp neighbors`.
pub(super) fn prompt(text: &str) -> Option<String> {
    let line = text.lines().take(64).find(|line| line.contains("lldp") && line.contains(['#', '$', '>']))?;
    let (before, _) = line.split_at(line.find(['#', '$', '>'])?);
    let name = before.rsplit_once('@').map_or(before, |(_, name)| name);
    let name = name.split([':', '(', '[', ' ']).next().unwrap_or(name).trim();
    let is_name = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
    (!name.is_empty() && name.chars().all(is_name)).then(|| name.to_owned())
}

/// Long name of a port where a table has the short one: `Et1/1` of Arista is `Ethernet1/1`.
fn long_name(port: &str) -> String {
    let known = [("Et", "Ethernet"), ("Eth", "Ethernet"), ("Ma", "Management")];
    let long = known.iter().find_map(|(short, long)| {
        let rest = port.strip_prefix(short)?;
        rest.starts_with(|letter: char| letter.is_ascii_digit()).then(|| format!("{long}{rest}"))
    });
    long.unwrap_or_else(|| port.to_owned())
}

/// Neighbors of a table, with the lines at which they stand.
pub(super) fn parse(text: &str) -> Vec<Heard> {
    let mut heard = Vec::new();
    let mut columns: Option<Columns> = None;
    let mut lines = text.lines().zip(1_u64..).peekable();
    let mut wrapped: Option<String> = None;
    while let Some((line, number)) = lines.next() {
        if may_be_header(line)
            && let Some(found) = Columns::of(line, lines.peek().map(|(line, _)| *line))
        {
            columns = Some(found);
            continue;
        }
        let Some(columns) = &columns else { continue };
        let is_rule = line.chars().all(|letter| letter == '-' || letter.is_whitespace());
        if is_rule || line.starts_with("Total") || line.starts_with("Capability") {
            continue;
        }
        // A long name of a device in the first column has a line of its own.
        if columns.device == 0 && !line.trim().contains(char::is_whitespace) {
            wrapped = Some(line.trim().to_owned());
            continue;
        }
        let cells = columns.cells(line);
        let cell = |column: usize| cells[column].clone();
        let device = Some(cell(columns.device)).filter(|text| !text.is_empty()).or_else(|| wrapped.take());
        wrapped = None;
        let (port, id) = (long_name(&cell(columns.local)), cell(columns.port));
        if port.is_empty() || port.contains(char::is_whitespace) {
            continue;
        }
        let description = columns.description.map(cell).filter(|text| !text.is_empty());
        let capability = columns.capability.map(cell).unwrap_or_default();
        heard.push(Heard {
            port,
            device: device.unwrap_or_default(),
            far_port: long_name(&id),
            far_description: description,
            is_bridge: capability.contains(['B', 'R']),
            is_station: capability.contains('S') && !capability.contains(['B', 'R']),
            rate: columns.speed.map(cell).and_then(|speed| wiring::rate(&speed)),
            line: number,
        });
    }
    heard
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(text: &str) -> Vec<[String; 3]> {
        assert!(has_header(text), "{text}");
        parse(text).into_iter().map(|heard| [heard.port, heard.device, heard.far_port]).collect()
    }

    #[test]
    fn tables_of_four_systems_are_read() {
        let sonic = "admin@leaf1:~$ show lldp table\nCapability codes: (R) Router, (B) Bridge, (O) Other\n\
                     LocalPort    RemoteDevice    RemotePortID       Capability    RemotePortDescr\n\
                     -----------  --------------  -----------------  ------------  -----------------\n\
                     Ethernet0    spine1          fortyGigE0/4       BR            Ethernet4\n\
                     Ethernet4    gpu-1           c4:70:bd:00:00:01  S             eth 1 of it\n\
                     --------------------------------------------------\nTotal entries displayed:  2\n";
        let all = parse(sonic);
        assert_eq!(all[0].far_description.as_deref(), Some("Ethernet4"));
        assert_eq!((all[0].is_bridge, all[1].is_bridge, all[1].is_station), (true, false, true));
        assert_eq!(rows(sonic)[1], ["Ethernet4", "gpu-1", "c4:70:bd:00:00:01"]);
        assert_eq!(prompt(sonic).as_deref(), Some("leaf1"));
        let arista = "leaf2#show lldp neighbors\nLast table change time   : 0:00:23 ago\nNumber of table inserts  : 24\n\n\
                      Port          Neighbor Device ID       Neighbor Port ID    TTL\n\
                      ---------- ------------------------ ---------------------- ---\n\
                      Et1/1         spine1.dc.example        Ethernet4/1         120\n\
                      Ma0           oob                      28                  120\n";
        let wanted = [["Ethernet1/1", "spine1.dc.example", "Ethernet4/1"], ["Management0", "oob", "28"]];
        assert_eq!(rows(arista), wanted);
        assert_eq!(prompt(arista).as_deref(), Some("leaf2"));
        let cumulus = "LocalPort  Speed  Mode        RemoteHost  RemotePort\n\
                       ---------  -----  ----------  ----------  -----------------\n\
                       swp1       400G   Default     server01    44:38:39:22:01:7a\n\
                       swp51      800G   Default     spine01     swp1\n";
        assert_eq!(rows(cumulus)[1], ["swp51", "spine01", "swp1"]);
        assert_eq!(parse(cumulus)[0].rate, wiring::rate("400G"));
        let nexus = "Device ID            Local Intf      Hold-time  Capability  Port ID\n\
                     a-very-long-name-of-a-switch.dc.example\n\
                     \x20                    Eth1/1          120        BR          Ethernet1/9\n\
                     leaf9                Eth1/2          120        BR          Ethernet1/10\n\
                     Total entries displayed: 2\n";
        let wanted = [
            ["Ethernet1/1", "a-very-long-name-of-a-switch.dc.example", "Ethernet1/9"],
            ["Ethernet1/2", "leaf9", "Ethernet1/10"],
        ];
        assert_eq!(rows(nexus), wanted);
    }
}
