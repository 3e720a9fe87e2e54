//! Changes to the text of a scenario, by which a hypothesis differs from what is expected.
use toml::{Table, Value};

/// A change.
#[derive(Clone, PartialEq, Debug)]
pub enum Edit {
    /// Another balancer of `[routing]`.
    Balancer(&'static str),
    /// Another value of a key of `[routing]`.
    Routing(&'static str, Value),
    /// Another value of a key of `[fabric.host]`.
    Host(&'static str, Value),
    /// Another value of a key of the job's collective.
    Collective(&'static str, Value),
    /// The job on these hosts alone, by row.
    Hosts(Vec<u32>),
    /// A fault that is there from the beginning, with its keys beside `at`.
    Fault(Vec<(&'static str, Value)>),
}

/// The section at a key, made where it is not there.
fn section<'a>(table: &'a mut Table, key: &str) -> Option<&'a mut Table> {
    table.entry(key).or_insert_with(|| Value::Table(Table::new())).as_table_mut()
}

fn job_of(table: &mut Table, job: usize) -> Option<&mut Table> {
    table.get_mut("job")?.as_array_mut()?.get_mut(job)?.as_table_mut()
}

impl Edit {
    /// A fault on what `key` names, such as `nic` and `host-3/nic-0`, which leaves a share of the rate.
    pub fn slow(key: &'static str, name: &str, share: f64) -> Self {
        Self::Fault(vec![
            (key, Value::from(name)),
            ("kind", Value::from("slow")),
            ("capacity", Value::from(share)),
        ])
    }

    /// Changes the text of a scenario, `job` being the row of the job. None where the text has no such section.
    fn apply(&self, table: &mut Table, job: usize) -> Option<()> {
        let (section, key, value) = match self {
            Self::Balancer(name) => (section(table, "routing")?, "balancer", Value::from(*name)),
            Self::Routing(key, value) => (section(table, "routing")?, *key, value.clone()),
            Self::Host(key, value) => {
                let fabric = section(table, "fabric")?;
                (section(fabric, "host")?, *key, value.clone())
            }
            Self::Collective(key, value) => {
                let collective = job_of(table, job)?.get_mut("collective")?.as_table_mut()?;
                (collective, *key, value.clone())
            }
            Self::Hosts(rows) => {
                let own = job_of(table, job)?;
                own.remove("hosts");
                own.remove("gpus");
                let rows = rows.iter().map(|row| Value::from(i64::from(*row))).collect::<Vec<_>>();
                let mut placement = Table::new();
                placement.insert("hosts".to_owned(), Value::Array(rows));
                (own, "placement", Value::Table(placement))
            }
            Self::Fault(keys) => {
                let faults = table.entry("fault").or_insert_with(|| Value::Array(Vec::new()));
                let mut fault = Table::new();
                fault.insert("at".to_owned(), Value::from("0 s"));
                fault.extend(keys.iter().map(|(key, value)| ((*key).to_owned(), value.clone())));
                faults.as_array_mut()?.push(Value::Table(fault));
                return Some(());
            }
        };
        section.insert(key.to_owned(), value);
        Some(())
    }
}

/// The text with all changes; none where one has no place in it.
pub fn edited(table: &Table, job: usize, edits: &[Edit]) -> Option<Table> {
    let mut table = table.clone();
    edits.iter().try_for_each(|edit| edit.apply(&mut table, job))?;
    Some(table)
}
