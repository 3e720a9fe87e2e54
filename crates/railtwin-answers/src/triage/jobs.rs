//! Jobs of a list, by their hosts, put on a fabric.
//!
//! A list is a CSV with the columns `job` and `hosts`; hosts are names of the fabric, in Slurm's short form or one by one:
//! `train,"host-[0-15,20-23]"`.
use railtwin_fabric::Fabric;
use toml::{Table, Value};

/// Most hosts that one short form stands for.
const MOST: u32 = 1 << 20;

/// A job and its hosts, by row in the fabric.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ListedJob {
    /// Name.
    pub name: String,
    /// Rows of its hosts, in the order of the list.
    pub hosts: Vec<u32>,
}

/// Reads a list of jobs; `rename` turns a name of the cluster into one of the fabric.
///
/// # Errors
/// The line and what is wrong in it: a missing column, an unknown host, a host of two jobs.
pub fn jobs_of_list(
    text: &str,
    fabric: &Fabric,
    rename: &mut dyn FnMut(&str) -> Option<String>,
) -> Result<Vec<ListedJob>, String> {
    let mut reader =
        csv::ReaderBuilder::new().trim(csv::Trim::All).flexible(true).from_reader(text.as_bytes());
    let header = reader.headers().map_err(|error| format!("line 1: {error}"))?.clone();
    let column = |name: &str| {
        header
            .iter()
            .position(|one| one.eq_ignore_ascii_case(name))
            .ok_or_else(|| format!("line 1: has no column {name}; the first line is job,hosts"))
    };
    let (job, hosts) = (column("job")?, column("hosts")?);
    let mut jobs: Vec<ListedJob> = Vec::new();
    for record in reader.records() {
        let record = record.map_err(|error| error.to_string())?;
        let line = record.position().map_or(0, csv::Position::line);
        let name = record.get(job).filter(|name| !name.is_empty());
        let name = name.ok_or_else(|| format!("line {line}: has no job"))?.to_owned();
        let written = record.get(hosts).unwrap_or_default();
        let names = expanded(written).map_err(|why| format!("line {line}: {why}"))?;
        if names.is_empty() {
            return Err(format!("line {line}: job {name} has no hosts"));
        }
        let mut rows = Vec::with_capacity(names.len());
        for host in names {
            let known = rename(&host).unwrap_or_else(|| host.clone());
            let row = fabric.host_named(&known).ok_or_else(|| {
                format!(
                    "line {line}: the fabric has no host {host:?}; hosts are host-0 and so on, or --names"
                )
            })?;
            if rows.contains(&row.0)
                || jobs.iter().any(|other| other.name != name && other.hosts.contains(&row.0))
            {
                return Err(format!("line {line}: host {host:?} has a job already"));
            }
            rows.push(row.0);
        }
        match jobs.iter_mut().find(|other| other.name == name) {
            Some(known) => known.hosts.extend(rows),
            None => jobs.push(ListedJob { name, hosts: rows }),
        }
    }
    if jobs.is_empty() { Err("holds no job".to_owned()) } else { Ok(jobs) }
}

/// Names of hosts, one by one, of a list such as `gn[01-03,7],gn9`.
fn expanded(text: &str) -> Result<Vec<String>, String> {
    let mut all = Vec::new();
    let mut depth = 0;
    let parts = text.split(|c: char| {
        depth += i32::from(c == '[') - i32::from(c == ']');
        depth == 0 && (c == ',' || c == ';' || c.is_whitespace())
    });
    for part in parts.filter(|part| !part.is_empty()) {
        let Some((prefix, rest)) = part.split_once('[') else {
            all.push(part.to_owned());
            continue;
        };
        let (numbers, suffix) = rest.split_once(']').ok_or_else(|| format!("{part:?} has no ]"))?;
        for number in numbers.split(',') {
            let (from, to) = number.split_once('-').unwrap_or((number, number));
            let whole =
                |text: &str| text.parse::<u32>().map_err(|_| format!("{number:?} of {part:?} is no number"));
            let (first, last) = (whole(from)?, whole(to)?);
            if last < first || last - first > MOST {
                return Err(format!("{number:?} of {part:?} is no range"));
            }
            let width = from.len();
            all.extend((first..=last).map(|at| format!("{prefix}{at:0width$}{suffix}")));
        }
    }
    Ok(all)
}

/// The text of a scenario with these jobs in place of its own. Each runs an all-reduce, since a list says nothing of what a
/// job computes: step times beside them are those of this collective.
///
/// # Errors
/// The reason where the text is no TOML.
pub fn with_jobs(text: &str, jobs: &[ListedJob]) -> Result<String, String> {
    let mut table: Table = text.parse().map_err(|error: toml::de::Error| error.to_string())?;
    let of = |pairs: Vec<(&str, Value)>| {
        Value::Table(Table::from_iter(pairs.into_iter().map(|(key, value)| (key.to_owned(), value))))
    };
    let job = |job: &ListedJob| {
        let rows = job.hosts.iter().map(|row| Value::from(i64::from(*row))).collect();
        of(vec![
            ("name", Value::from(job.name.as_str())),
            ("placement", of(vec![("hosts", Value::Array(rows))])),
            ("collective", of(vec![("kind", Value::from("all-reduce")), ("bytes", Value::from("256 MiB"))])),
        ])
    };
    for beside in ["fault", "gain", "expect", "cluster"] {
        table.remove(beside);
    }
    table.insert("job".to_owned(), Value::Array(jobs.iter().map(job).collect()));
    Ok(table.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    fn fabric() -> Fabric {
        let text = concat!(
            "schema = 1\nname = \"tree\"\n[fabric]\npreset = \"fat-tree\"\nk = 4\n",
            "[[job]]\nhosts = 1\ncollective = { kind = \"all-reduce\", bytes = \"1 MB\" }\n",
        );
        let question = railtwin::Question::of_text("text", text, std::path::Path::new(""));
        question.fabric(&question.points().expect("a scenario")[0].scenario).expect("a fabric")
    }

    fn read(text: &str) -> Result<Vec<ListedJob>, String> {
        jobs_of_list(text, &fabric(), &mut |_| None)
    }

    #[test]
    fn hosts_are_written_as_slurm_writes_them() {
        assert_eq!(
            expanded("gn[01-03,7]a,x;y z").unwrap(),
            ["gn01a", "gn02a", "gn03a", "gn7a", "x", "y", "z"]
        );
        let jobs = read("job,hosts\na,\"host-[0-2,5]\"\nb,host-7\na,host-9\n").unwrap();
        assert_eq!(jobs[0], ListedJob { name: "a".into(), hosts: vec![0, 1, 2, 5, 9] });
        assert_eq!(jobs[1].hosts, [7]);
    }

    #[test]
    fn wrong_lists_name_the_line() {
        for (text, words) in [
            ("name,hosts\na,host-1\n", "no column job"),
            ("job,hosts\na,host-1\nb,host-1\n", "line 3: host \"host-1\" has a job already"),
            ("job,hosts\na,gn1\n", "line 2: the fabric has no host \"gn1\""),
            ("job,hosts\na,\n", "job a has no hosts"),
            ("job,hosts\na,\"host-[3-1]\"\n", "is no range"),
            ("job,hosts\na,host-[1\n", "has no ]"),
            ("job,hosts\n", "holds no job"),
            ("", "no column job"),
        ] {
            let why = read(text).unwrap_err();
            assert!(why.contains(words), "{text:?}: {why}");
        }
    }
}
