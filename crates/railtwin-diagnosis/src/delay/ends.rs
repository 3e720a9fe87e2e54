//! NICs of queue pairs as dense rows, so that nothing compares names per record.
use std::collections::BTreeMap;

use railtwin_records::Directory;

/// Which NICs each flow joins.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Ends {
    rows: BTreeMap<String, u32>,
    /// Names of NICs.
    pub names: Vec<String>,
    /// Row of each NIC's host.
    pub host: Vec<u32>,
    /// Row of each flow's sending NIC.
    pub source: Vec<u32>,
    /// Row of each flow's receiving NIC.
    pub target: Vec<u32>,
    /// Row of each flow's job.
    pub job: Vec<u32>,
}

impl Ends {
    /// Takes in the flows that the directory has more than before.
    pub fn grow(&mut self, directory: &Directory) {
        for flow in &directory.flows[self.source.len()..] {
            let of =
                |rank: u32| directory.ranks.get(rank as usize).map_or((0, 0), |info| (info.host, info.job));
            let source = self.row(&flow.source_nic, of(flow.source).0);
            let target = self.row(&flow.target_nic, of(flow.target).0);
            self.source.push(source);
            self.target.push(target);
            self.job.push(of(flow.source).1);
        }
    }

    fn row(&mut self, name: &str, host: u32) -> u32 {
        if let Some(&row) = self.rows.get(name) {
            return row;
        }
        let row = self.names.len() as u32;
        self.rows.insert(name.to_owned(), row);
        self.names.push(name.to_owned());
        self.host.push(host);
        row
    }

    /// Bytes held, about: names count twice.
    pub fn memory_bytes(&self) -> usize {
        let names: usize = self.names.iter().map(|name| 2 * (name.len() + size_of::<String>()) + 16).sum();
        names
            + 4 * (self.host.capacity()
                + self.source.capacity()
                + self.target.capacity()
                + self.job.capacity())
    }
}
