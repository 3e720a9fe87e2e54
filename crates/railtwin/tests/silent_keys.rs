//! No key is silent: each is changed under both engines, and the run changes, or a warning names the key, or the value
//! is refused.
#![allow(clippy::unwrap_used, reason = "a test may fail")]
use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use railtwin::{Question, Resolved, Run};
use railtwin_store::content_hash;
use railtwin_units::keys::{Key, Kind, Table};
use toml::Value;

/// Keys that speak of the question and not of what is run.
const OF_THE_QUESTION: [&str; 3] = ["schema", "name", "description"];
/// Sections that are held against a run when it is over.
const AFTERWARDS: [&str; 2] = ["expect", "gain"];

/// Keys of which an engine refuses every value but the default, with the reason that it gives.
const REFUSED: [(&str, &str, &str); 0] = [];

/// A run that fits every key of its sections: what is not in one base is in another.
fn bases() -> Vec<String> {
    let leaves = "[fabric]\npreset = \"leaf-spine\"\nleaves = 4\nhosts_per_leaf = 2\nuplinks = 2\nparallel = 1\n\
                  rails_per_leaf = 1\nchip = \"51200 Gbps\"\nhost = { model = \"plain\" }\n";
    let hpn = "[fabric]\npreset = \"hpn\"\nsegments = 2\nhosts = 2\nspare_hosts = 1\nspines = 2\n";
    let quick = "[transport]\ntimeout = 8\nretry_count = 7\n[reaction]\ndetection = \"10 us\"\n\
                 lag_failover = \"100 us\"\necmp_regroup = \"50 us\"\nwithdrawal = \"100 us\"\n\
                 convergence = \"500 us\"\nmac_aging = \"3 ms\"\nlacp = \"200 us\"\narp = \"100 us\"\n";
    let ring = "[[job]]\nname = \"ring\"\ngpus = 8\n\
                collective = { kind = \"all-reduce\", bytes = \"400 kB\", repeat = 2, compute = \"1 us\" }\n";
    let shift = "[[job]]\nname = \"shift\"\ngpus = 8\nplacement = { hosts = [7, 6, 5, 4, 3, 2, 1, 0] }\n\
                 start = \"2 us\"\nworkload = { traffic = \"shift\", bytes = \"300 kB\", shift = 3 }\n";
    let fault = |body: &str| format!("{leaves}{quick}{ring}[[fault]]\nat = \"3 us\"\n{body}\n");
    let packets = |body: &str| {
        let crowd = "[[job]]\nname = \"crowd\"\ngpus = 8\n\
                     workload = { traffic = \"incast\", bytes = \"300 kB\", sources = 6, target = 1 }\n";
        format!("{leaves}{crowd}{body}")
    };
    let train = |recipe: &str, more: &str| {
        format!(
            "{hpn}[[job]]\nname = \"train\"\nworkload = {{ recipe = \"{recipe}\", tp = 4, pp = 2, dp = 2, {more} }}\n"
        )
    };
    let traffic = |body: &str| format!("{leaves}[[job]]\nname = \"t\"\ngpus = 8\nworkload = {{ {body} }}\n");
    let telemetry = "[telemetry]\ncounters = \"2 ms\"\nprobes = \"2 ms\"\nsteps = 3\n";
    let mut all = vec![
        format!("{leaves}{ring}{shift}[routing]\nqueue_pairs = 2\nmessage = \"64 KiB\"\n"),
        format!("{leaves}{ring}{shift}[routing]\nqueue_pairs = 4\nbalancer = \"c4p\"\nreplan_time = \"1 ms\"\n\
                 {quick}[[fault]]\nat = \"3 us\"\nspine = \"spine-1\"\nkind = \"down\"\n"),
        format!("{hpn}{quick}[[job]]\nname = \"all\"\ncount = 1\nhosts = 4\n\
                 collective = {{ kind = \"all-reduce\", bytes = \"400 kB\", algorithm = \"ring\" }}\n\
                 [[cap]]\ncollective = \"all-reduce\"\nalgorithm = \"ring\"\nbusbw = \"20 Gbps\"\n\
                 [[fault]]\nat = \"2 us\"\nport = \"host-0/nic-0:port-0\"\nkind = \"down\"\nuntil = \"1 ms\"\n"),
        format!("{hpn}[fabric.host]\nmodel = \"hgx-h800\"\nnic_ports = 2\n[[job]]\nhosts = 2\nplacement = \"spread\"\n\
                 collective = {{ kind = \"all-to-all\", bytes = \"800 kB\", per = \"all\" }}\n"),
        "[fabric]\npreset = \"hpn\"\npods = 2\nsegments = 1\nhosts = 1\nspare_hosts = 0\nspines = 2\nspine_up = 2\n\
         cores = 2\nhost = { gpus = 2, nics = 2 }\n[[job]]\nhosts = 2\n\
         collective = { kind = \"all-to-all\", bytes = \"800 kB\" }\n[routing]\nqueue_pairs = 4\n".to_owned(),
        "[fabric]\npreset = \"dcn-plus\"\npods = 2\nsegments = 1\nhosts = 2\nspines = 2\nparallel = 1\ncores = 4\n\
         host = { gpus = 2, nics = 2 }\n[[job]]\nhosts = 3\n\
         collective = { kind = \"all-to-all\", bytes = \"800 kB\" }\n".to_owned(),
        "[fabric]\npreset = \"ai-zone\"\npods = 2\nsegments = 2\nhosts = 1\nuplinks = 2\nspine_up = 2\ncores = 2\n\
         host = { gpus = 2, nics = 2 }\n[[job]]\nhosts = 3\n\
         collective = { kind = \"all-to-all\", bytes = \"800 kB\" }\n".to_owned(),
        format!("[fabric]\npreset = \"fat-tree\"\nk = 4\n{ring}"),
        traffic("traffic = \"permutation\", bytes = \"300 kB\""),
        traffic("traffic = \"shift\", bytes = \"300 kB\""),
        traffic("traffic = \"incast\", bytes = \"300 kB\""),
        traffic("traffic = \"all-to-all\", bytes = \"100 kB\""),
        train("llama-7b", "micro_batches = 2"),
        train("mixtral-8x7b", "ep = 2, memory = \"allow\", interleave = 1"),
        "[fabric]\nhtsim = \"data/peers/fat_tree_16.topo\"\n[[job]]\ngpus = 16\n\
         workload = { connections = \"data/peers/pw1.cm\" }\n".to_owned(),
        format!("{hpn}[[job]]\nworkload = {{ simai = \"data/simai/simai_micro_all_reduce.txt\" }}\n"),
        format!(
            "{leaves}[[job]]\nworkload = {{ chakra = \"crates/railtwin-formats/tests/data/chakra_astra_micro/\
             all_reduce_8npus_1MB_all_reduce\" }}\n"
        ),
        "[fabric]\nlingjun = \"data/lingjun/topo.csv\"\n[[job]]\nhosts = 2\n\
         collective = { kind = \"all-reduce\", bytes = \"100 kB\" }\n".to_owned(),
        format!(
            "{leaves}{quick}{ring}[failures]\nreplay = \"data/failures/llm_cluster_faults_240_days.json\"\n\
             window = \"20 us\"\ndays = 200\nhosts = 400\nfirst_day = 1\n"
        ),
        format!("{leaves}{ring}{telemetry}[[fault]]\nat = \"1 ms\"\nkind = \"slow\"\nnic = \"host-1/nic-0\"\n\
                 direction = \"in\"\ncapacity = 0.2\n"),
        format!("{leaves}{quick}{ring}{shift}{telemetry}job = \"ring\"\n"),
        format!("{leaves}{quick}{ring}[failures]\nprocess = \"c4\"\nwindow = \"20 us\"\nacceleration = 1e13\n"),
        format!("{leaves}{quick}{ring}[failures]\nwindow = \"20 us\"\ndays = 300\n[[failures.rate]]\npart = \"access-cable\"\n\
                 per_month = 1\nkind = \"down\"\nrepair = \"2 days\"\n"),
        fault("kind = \"flap\"\ncable = \"leaf-0:uplink-0\"\nflaps = 2\nperiod = \"2 ms\"\nlength = \"1 ms\""),
        fault("kind = \"slow\"\nnic = \"host-0/nic-0\"\ncapacity = 0.5\ndirection = \"in\"\nuntil = \"9 us\""),
        fault("kind = \"lossy\"\ncable = \"host-1/nic-0:port-0\"\nloss = 0.05\ndirection = \"both\"\nuntil = \"1 s\""),
        fault("kind = \"lose-acknowledgement\"\nport = \"host-1/nic-0:port-0\"\ndirection = \"in\""),
        fault("kind = \"latency\"\nleaf = \"leaf-0\"\ndelay = \"5 us\"\ndirection = \"out\""),
        fault("kind = \"wrong-cable\"\ncable = \"leaf-0:uplink-0\"\nwith = \"leaf-1:uplink-1\"").replace("3 us", "0 s"),
        fault("kind = \"pause-storm\"\nnic = \"host-1/nic-0\"\ncapacity = 0.1\nuntil = \"1 ms\""),
        fault("kind = \"slow-gpu\"\nrank = \"ring/1\"\nfactor = 3.0"),
        fault("kind = \"slow-gpu\"\ngpu = \"host-1/gpu-0\"\nfactor = 3.0"),
        fault("kind = \"gpu-error\"\nrank = \"ring/1\"\ncause = \"ecc\""),
        fault("kind = \"crash\"\nhost = \"host-1\"\ncause = \"bug\""),
        fault("kind = \"slow-data\"\njob = \"ring\"\ndelay = \"3 us\"").replace("3 us", "0 s"),
        fault("kind = \"storage-stall\"\nstorage = \"all\"\ndelay = \"3 us\"\nevery = 1").replacen("3 us", "0 s", 1),
        fault("kind = \"down\"\nspine = \"spine-1\"\nuntil = \"4 ms\""),
        fault("kind = \"down\"\ndevice = \"leaf-1\"\nuntil = \"4 ms\""),
        packets("[packet]\nsamples = \"5 us\"\n[packet.nic]\nreceive_buffer = \"40 kB\"\n\
                 [switch.leaf]\nbuffer = \"300 kB\"\nreserved = \"5 kB\"\nheadroom = \"20 kB\"\ntrim = \"200 kB\"\n\
                 [switch.spine]\nmodel = \"deep\"\nbuffer = \"60 kB\"\n"),
        packets("[packet]\ncongestion_control = \"dcqcn\"\n\
                 [switch.leaf]\necn = { min = \"10 kB\", max = \"40 kB\", probability = 0.5 }\n"),
        packets("[packet]\ncongestion_control = \"hpcc\"\n"),
        packets("[packet]\ncongestion_control = \"trimmed\"\n[switch.leaf]\ntrim = \"20 kB\"\n[routing]\nbalancer = \"spray\"\n"),
        packets("[packet]\nadmission = { channels = 1, buffer = \"16 KiB\", copy = \"100 Gbps\" }\n\
                 [switch.leaf]\ncredit = { latency = \"1 us\", initial = \"8 KiB\", ramp = 2 }\n"),
        packets("[routing]\nbalancer = \"flowlet\"\n[run]\nreplicates = 2\nsteps = 2\n"),
    ];
    all.iter_mut().for_each(|base| *base = format!("schema = 1\nname = \"base\"\nseed = 7\n{base}"));
    all
}

/// Other values of a kind.
fn others(kind: &'static Kind, now: Option<&Value>) -> Vec<Value> {
    let texts = |texts: &[&str]| texts.iter().map(|text| Value::from(*text)).collect::<Vec<_>>();
    let all = match kind {
        Kind::Choice(names) => texts(names),
        Kind::ChoiceOrValue(names, ..) => texts(names),
        Kind::Bool => vec![true.into(), false.into()],
        Kind::Whole(least, most) => {
            let near = [0, 1, 2, 3, 4, 5, 7, 8, 9, 16, 64, 600];
            near.into_iter().filter(|n| least <= n && n <= most).map(Value::from).collect()
        }
        Kind::Share(above, most) => {
            let near = [0.01, 0.1, 0.3, 0.6, 0.99, 1.5, 4.0, 1e3, 1e12];
            near.into_iter().filter(|n| above < n && n <= most).map(Value::from).collect()
        }
        Kind::Time | Kind::Span => texts(&["1 ns", "1 us", "7 us", "40 us", "1 ms", "20 ms", "1 s"]),
        Kind::Size { .. } | Kind::SizeIn(..) => {
            texts(&["0 B", "1 kB", "5 kB", "9 kB", "30 kB", "90 kB", "700 kB", "3 MB"])
        }
        Kind::Rate { .. } => texts(&["0 Gbps", "1 Gbps", "30 Gbps", "300 Gbps", "1600 Gbps"]),
        Kind::List(item) => others(item, None).into_iter().map(|one| Value::Array(vec![one])).collect(),
        Kind::Text | Kind::Name => texts(&[
            "leaf-0",
            "leaf-2:uplink-1",
            "spine-0",
            "host-2",
            "host-2/nic-0",
            "host-2/nic-0:port-0",
            "host-2/gpu-0",
            "ring/2",
            "shift",
            "another",
            "llama-13b",
        ]),
        _ => Vec::new(),
    };
    all.into_iter().filter(|value| Some(value) != now).collect()
}

/// A key of a base: its name among all declared ones, its path, its declaration.
type Place = (String, Vec<String>, &'static Key);

/// The keys that could stand in a table of a base.
fn places(table: &'static Table, at: &toml::Table, path: &[String], found: &mut Vec<Place>) {
    let chosen = table.variants().find(|variant| {
        at.get(variant.key)
            .is_some_and(|value| variant.value.is_none_or(|wanted| value.as_str() == Some(wanted)))
    });
    let own = table.keys.iter().map(|key| (String::new(), key));
    let more = chosen.into_iter().flat_map(|variant| {
        variant.keys.iter().map(move |key| (format!(" {}", variant.value.unwrap_or(variant.key)), key))
    });
    for (variant, key) in own.chain(more) {
        let path: Vec<String> = path.iter().cloned().chain([key.name.to_owned()]).collect();
        let empty = toml::Table::new();
        match (&key.kind, at.get(key.name)) {
            (Kind::Named(_) | Kind::Version | Kind::Conditions, _) => {}
            (Kind::Section(inner), value) => {
                places(inner, value.and_then(Value::as_table).unwrap_or(&empty), &path, found);
            }
            (Kind::Sections(inner), Some(Value::Array(rows))) => {
                if let Some(Value::Table(row)) = rows.first() {
                    places(inner, row, &path, found);
                }
            }
            (Kind::Sections(_), _) => {}
            (Kind::Value(inner) | Kind::ChoiceOrValue(_, inner, _), Some(Value::Table(row))) => {
                places(inner, row, &path, found);
            }
            _ => found.push((format!("{}{variant} {}", table.title, key.name), path, key)),
        }
    }
}

/// All declared keys that hold a value, named as [`places`] names them.
fn declared(table: &'static Table, found: &mut BTreeSet<String>) {
    let own = table.keys.iter().map(|key| (String::new(), key));
    let more = table.variants().flat_map(|variant| {
        variant.keys.iter().map(move |key| (format!(" {}", variant.value.unwrap_or(variant.key)), key))
    });
    for (variant, key) in own.chain(more) {
        match &key.kind {
            Kind::Named(_) | Kind::Version | Kind::Conditions => {}
            Kind::Section(inner) | Kind::Sections(inner) | Kind::Value(inner) => declared(inner, found),
            Kind::ChoiceOrValue(_, inner, _) => {
                declared(inner, found);
                found.insert(format!("{}{variant} {}", table.title, key.name));
            }
            _ => _ = found.insert(format!("{}{variant} {}", table.title, key.name)),
        }
    }
}

/// Sets a value; tables on the way are made.
fn set(body: &mut toml::Table, path: &[String], value: Option<Value>) {
    let (name, rest) = path.split_first().unwrap();
    if rest.is_empty() {
        body.extend(value.map(|value| (name.clone(), value)));
        return;
    }
    let inner = body.entry(name).or_insert_with(|| Value::Table(toml::Table::new()));
    let inner = match inner {
        Value::Array(rows) => &mut rows[0],
        inner => inner,
    };
    set(inner.as_table_mut().unwrap(), rest, value);
}

/// What a text comes to.
struct Outcome {
    resolved: Resolved,
    /// What both engines are given to do.
    given: String,
}

impl Outcome {
    /// Figures and tables, bit by bit, and warnings.
    fn run(&self) -> (Vec<(String, String)>, Vec<String>) {
        let run = Run::of(self.resolved.clone(), &|| ());
        let tables = run.tables().into_iter().map(|table| (table.name.clone(), content_hash(&table)));
        let figures = run.info.figures.iter().map(|figure| {
            let bits = |value: Option<f64>| value.map(f64::to_bits);
            (figure.name.clone(), format!("{:?}", [figure.value, figure.low, figure.high].map(bits)))
        });
        (tables.chain(figures).collect(), run.info.warnings.clone())
    }
}

/// The outcome of a text; the message where it is refused.
fn outcome(body: &toml::Table) -> Result<Outcome, String> {
    let house = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    let question = Question::of_text("key.toml", &body.to_string(), house);
    let point = question.points().map_err(|error| error.to_string())?.remove(0);
    let resolved = question.resolve(&point.scenario).map_err(|error| error.to_string())?;
    let case = &resolved.case;
    let given = format!("{:?} {:?} {:?}", case.work, case.placements, case.fabric);
    Ok(Outcome { given, resolved })
}

/// What became of a key under an engine, from the worst to the best.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Told {
    /// A value was accepted, and nothing said or did anything.
    Silent,
    /// Every value was refused: the last message.
    Refused(String),
    /// The run is another, or a warning names the key.
    Heard,
}

fn told(base: &toml::Table, path: &[String], key: &'static Key) -> Option<Told> {
    // What the section does by being there is not what the key does.
    let mut without = base.clone();
    set(&mut without, path, None);
    let before = outcome(&without).ok()?;
    let now = path.iter().try_fold(Value::Table(base.clone()), |value, name| {
        let value = if let Value::Array(rows) = value { rows.into_iter().next()? } else { value };
        value.as_table()?.get(name).cloned()
    });
    // Packets of a step of a model are too many to be sent one by one: what engines are given has to tell.
    let light = base["engine"].as_str() == Some("flow") || !base.to_string().contains("recipe");
    let of_before = OnceCell::new();
    let name = path.join(".");
    let mut told = None;
    for value in others(&key.kind, now.as_ref()) {
        let mut changed = base.clone();
        set(&mut changed, path, Some(value));
        let after = match outcome(&changed) {
            Ok(after) => after,
            // A path was followed.
            Err(message) if message.contains("cannot read") => return Some(Told::Heard),
            Err(message) => {
                told = told.or(Some(Told::Refused(message)));
                continue;
            }
        };
        if after.given != before.given {
            return Some(Told::Heard);
        }
        if !light {
            continue;
        }
        let (run, warnings) = after.run();
        let heard = warnings.iter().any(|warning| warning.contains(&name));
        if heard || run != of_before.get_or_init(|| before.run()).0 {
            return Some(Told::Heard);
        }
        told = Some(Told::Silent);
    }
    told
}

#[test]
fn every_key_is_heard_by_both_engines() {
    let mut all = BTreeSet::new();
    declared(railtwin_scenario::keys(), &mut all);
    let skipped = |name: &str| {
        OF_THE_QUESTION.iter().any(|key| name == format!("a scenario {key}"))
            || AFTERWARDS.iter().any(|section| name.starts_with(&format!("[{section}]")))
    };
    all.retain(|name| !skipped(name));
    let mut wrong = Vec::new();
    for engine in ["flow", "packet"] {
        let mut found: BTreeMap<String, Told> = BTreeMap::new();
        for text in bases() {
            let mut base: toml::Table = text.parse().unwrap();
            base.insert("engine".to_owned(), engine.into());
            if outcome(&base).is_err() {
                continue;
            }
            let mut keys = Vec::new();
            places(railtwin_scenario::keys(), &base, &[], &mut keys);
            for (name, path, key) in keys {
                if skipped(&name) || found.get(&name) == Some(&Told::Heard) {
                    continue;
                }
                if let Some(told) = told(&base, &path, key) {
                    let known = found.entry(name).or_insert(told.clone());
                    *known = known.clone().max(told);
                }
            }
        }
        for name in &all {
            let refused = REFUSED.iter().any(|(of, key, _)| *of == engine && key == name);
            match found.get(name) {
                Some(Told::Heard) => {}
                Some(Told::Refused(_)) if refused => {}
                other => wrong.push(format!("{engine}: {name}: {other:?}")),
            }
        }
    }
    assert!(wrong.is_empty(), "{} keys are not heard:\n{}", wrong.len(), wrong.join("\n"));
}
