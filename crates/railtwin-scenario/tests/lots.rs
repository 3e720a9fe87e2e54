//! Scenarios by lot, made from the declarations of their keys alone: a key that is declared is tried.
use proptest::prelude::*;
use proptest::strategy::Union;
use railtwin_scenario::{FaultKind, FaultRule, Scenario, keys};
use railtwin_units::keys::{Key, Kind, Table, Variant};
use railtwin_units::{Bytes, Rate, SimTime, TimeRange};
use toml::Value;

/// What a scenario cannot do without.
const LEAST: &str = "schema = 1\nname = \"a\"\n[fabric]\npreset = \"hpn\"\n[[job]]\nname = \"train\"\ngpus = 8\n\
    collective = { kind = \"all-reduce\", bytes = \"1 MB\" }\n[switch.leaf]\ntrim = \"100 kB\"\n\
    ecn = { min = \"1 B\", max = \"1 kB\", probability = 0.5 }\n";

/// What a life cannot do without.
const FAILURES: &str = "process = \"c4\"\nwindow = \"720 h\"\ndays = 30\n";

pub(crate) fn text() -> impl Strategy<Value = String> {
    prop_oneof!["[a-z0-9./ -]{1,12}", ".{1,12}"]
}

fn words(names: &'static [&'static str]) -> BoxedStrategy<Value> {
    prop::sample::select(names.to_vec()).prop_map(Value::from).boxed()
}

/// A value of a kind; most numbers are small, as small ones go together.
fn value(kind: &'static Kind) -> BoxedStrategy<Value> {
    let time = prop_oneof![0u64..1 << 52, 1u64..1 << 32].prop_map(|ps| SimTime::from_ps(ps).exact().into());
    let size = |least| prop_oneof![3 => 64u64..9000, 2 => least..1u64 << 30, 1 => least..1 << 53];
    let rate = |least| (least..1u64 << 49).prop_map(|bits| Rate::from_bits_per_s(bits).exact().into());
    match kind {
        Kind::Version => Just(Value::from(1)).boxed(),
        Kind::Text => text().prop_map(Value::from).boxed(),
        Kind::Like(like) => like.pattern.trim_matches(['^', '$']).prop_map(Value::from).boxed(),
        Kind::Name => "[a-z0-9-]{1,12}".prop_map(Value::from).boxed(),
        Kind::Choice(names) => words(names),
        Kind::Bool => any::<bool>().prop_map(Value::from).boxed(),
        Kind::Whole(least, most) => {
            let near = (*most).min(least.saturating_add(9));
            prop_oneof![3 => *least..=near, 1 => *least..=*most].prop_map(Value::from).boxed()
        }
        Kind::UpTo(most) => {
            let most = *most;
            (0u32..=1000).prop_map(move |part| Value::from(most * f64::from(part) / 1e3)).boxed()
        }
        Kind::Share(above, most) => {
            let (above, most) = (*above, *most);
            let inside = (1u32..=1000).prop_map(move |part| above + (most - above) * f64::from(part) / 1e3);
            inside.prop_map(Value::from).boxed()
        }
        Kind::Time => time.boxed(),
        Kind::TimeRange => (0u64..1 << 40, 0u64..1 << 40)
            .prop_map(|(one, other)| {
                TimeRange::between(SimTime::from_ps(one), SimTime::from_ps(other)).exact().into()
            })
            .boxed(),
        Kind::Span => (1u64..1 << 52).prop_map(|ps| SimTime::from_ps(ps).exact().into()).boxed(),
        Kind::SizeIn(least, most) => {
            let small = (*most).min(least.saturating_add(1 << 16));
            let sizes = prop_oneof![3 => *least..=small, 1 => *least..=*most];
            sizes.prop_map(|bytes| Bytes(bytes).exact().into()).boxed()
        }
        Kind::Size { zero } => size(u64::from(!zero)).prop_map(|bytes| Bytes(bytes).exact().into()).boxed(),
        Kind::Rate { zero } => rate(u64::from(!zero)).boxed(),
        Kind::Amount => prop_oneof![
            (-1e12f64..1e12).prop_map(Value::from),
            time,
            size(0).prop_map(|bytes| Bytes(bytes).exact().into()),
            rate(0),
        ]
        .boxed(),
        Kind::List(item) => {
            let items = prop::collection::vec(value(item), 1..4);
            items.prop_map(|items| Value::Array(each_once(items))).boxed()
        }
        Kind::AnyList(item) => {
            let items = prop::collection::vec(value(item), 0..4);
            items.prop_map(|items| Value::Array(each_once(items))).boxed()
        }
        Kind::Value(inner) | Kind::Section(inner) => table(inner).prop_map(Value::Table).boxed(),
        Kind::ChoiceOrValue(names, inner, _) => {
            prop_oneof![words(names), table(inner).prop_map(Value::Table)].boxed()
        }
        Kind::Sections(inner) => {
            let items = prop::collection::vec(table(inner).prop_map(Value::Table), 1..3);
            items.prop_map(Value::Array).boxed()
        }
        Kind::Named(inner) => {
            let items = prop::collection::vec(("[a-z0-9_]{1,8}", table(inner)), 1..3);
            let named = |items: Vec<(String, toml::Table)>| {
                items.into_iter().map(|(name, item)| (name, Value::Table(item))).collect()
            };
            items.prop_map(move |items| Value::Table(named(items))).boxed()
        }
        Kind::Conditions => Just(Value::Table(toml::Table::new())).boxed(),
    }
}

fn each_once(mut items: Vec<Value>) -> Vec<Value> {
    let mut seen: Vec<Value> = Vec::new();
    items.retain(|item| {
        let new = !seen.contains(item);
        seen.push(item.clone());
        new
    });
    items
}

/// A value that is needed, or is there with a probability.
fn maybe(needed: bool, written: f64, value: BoxedStrategy<Value>) -> BoxedStrategy<Option<Value>> {
    match needed {
        true => value.prop_map(Some).boxed(),
        false => prop::option::weighted(written, value).boxed(),
    }
}

/// The keys of a list: those that have to be there, and some of the others.
fn some(
    keys: impl Iterator<Item = &'static Key>,
    needed: Option<&'static str>,
) -> BoxedStrategy<toml::Table> {
    let one = |key: &'static Key| {
        let needed = key.required || needed == Some(key.name);
        let value = maybe(needed, 0.3, value(&key.kind));
        value.prop_map(|value| value.map(|value| (key.name.to_owned(), value))).boxed()
    };
    let all: Vec<_> = keys.map(one).collect();
    all.prop_map(|entries| entries.into_iter().flatten().collect()).boxed()
}

/// A table as its description has it.
fn table(of: &'static Table) -> BoxedStrategy<toml::Table> {
    match of.title {
        "[[fault]]" | "[[failures.rate]]" => return fault(of),
        _ => {}
    }
    let selects = |key: &Key| of.variants().any(|variant| variant.key == key.name);
    let exclusive = |key: &Key| of.exactly_one.contains(&key.name) || of.at_most_one.contains(&key.name);
    let plain = move || of.keys.iter().filter(move |key| !selects(key) && !exclusive(key));
    let of_variant = |variant: &'static Variant| {
        let chosen = match variant.value {
            Some(value) => Just(Value::from(value)).boxed(),
            None => of.any_key(variant.key).map(|key| value(&key.kind)).expect("it is a key of the table"),
        };
        (some(plain().chain(variant.keys), None), chosen).prop_map(|(mut entries, chosen)| {
            entries.insert(variant.key.to_owned(), chosen);
            entries
        })
    };
    let chosen: Vec<_> = of.variants().map(|variant| of_variant(variant).boxed()).collect();
    let body = if chosen.is_empty() { some(plain(), None) } else { Union::new(chosen).boxed() };
    // Of keys that exclude each other one, or none where that is allowed.
    let one_of = |group: &'static [&'static str], needed: bool| {
        let keys: Vec<&'static Key> = of.keys.iter().filter(|key| group.contains(&key.name)).collect();
        let keys: Vec<_> = keys.into_iter().filter(|key| !selects(key)).collect();
        let entry = |key: &'static Key| value(&key.kind).prop_map(|value| Some((key.name.to_owned(), value)));
        let mut all: Vec<_> = keys.iter().map(|key| entry(key).boxed()).collect();
        if all.is_empty() || !needed {
            all.push(Just(None).boxed());
        }
        Union::new(all)
    };
    let groups = (one_of(of.exactly_one, true), one_of(of.at_most_one, false));
    let whole = (body, groups).prop_map(|(mut body, (one, other))| {
        body.extend(one.into_iter().chain(other));
        go_together(of.title, &mut body);
        body
    });
    whole.boxed()
}

/// What no single key shows, where chance would hardly ever meet it.
fn go_together(title: &str, body: &mut toml::Table) {
    match title {
        "[[job]]" => {
            if body.get("placement").is_some_and(Value::is_table) {
                for key in ["hosts", "gpus", "count"] {
                    body.remove(key);
                }
            } else if body.contains_key("collective") && !body.contains_key("hosts") {
                body.insert("gpus".to_owned(), 8.into());
            }
        }
        "[expect]" => {
            let equals = body.contains_key("equals");
            for key in if equals { &["at_least", "at_most"][..] } else { &["tolerance"] } {
                body.remove(*key);
            }
        }
        "[cluster]" => {
            if body.contains_key("jobs") {
                body.remove("stream");
            }
            if body.contains_key("defragment") {
                body.insert("placement".to_owned(), "segment-first".into());
            }
            if body.contains_key("steady") {
                body.insert("jitter".to_owned(), 0.0.into());
            }
        }
        "[cluster.inference]" => {
            let named = body.get("hosts").and_then(Value::as_array).is_some_and(|hosts| !hosts.is_empty());
            if named && body.contains_key("gpus") {
                body.remove("gpus");
            } else if !named {
                body.remove("hosts");
                body.entry("gpus").or_insert(8.into());
            }
        }
        "[intranode]" => {
            if body.contains_key("pair") {
                body.remove("load");
                body.remove("inter");
                body.remove("destinations");
                body.remove("units");
            }
            // What leaves is no more than a half, and what is for units neither.
            if let Some(units) = body.get_mut("units").and_then(Value::as_table_mut) {
                units.insert("to".to_owned(), 0.5.into());
                body.insert("inter".to_owned(), 0.5.into());
            }
            let chosen = body.get("destinations").and_then(Value::as_str).unwrap_or_default().to_owned();
            if chosen == "hotspot" {
                let least = toml::Table::from_iter([("share".to_owned(), 0.5.into())]);
                body.entry("hotspot").or_insert(least.into());
                body.insert("inter".to_owned(), 0.5.into());
            } else {
                body.remove("hotspot");
            }
            if chosen != "permutation" {
                body.remove("shift");
            }
            if body.contains_key("pcie") {
                body.remove("conversion");
                body.remove("link");
            }
            if ["payload", "inter_payload", "pcie"].iter().any(|key| body.contains_key(*key)) {
                body.insert("inter_payload".to_owned(), "65535 B".into());
            }
        }
        "[telemetry]" if body.contains_key("job") => {
            body.insert("job".to_owned(), "train".into());
        }
        _ => {}
    }
}

/// A fault, or the rate of one, with a subject and keys that its kind has.
fn fault(of: &'static Table) -> BoxedStrategy<toml::Table> {
    let is_rate = of.title == "[[failures.rate]]";
    let kinds = FaultKind::ALL.into_iter();
    let kinds: Vec<FaultKind> =
        kinds.filter(|kind| !is_rate || !matches!(kind, FaultKind::Up | FaultKind::WrongCable)).collect();
    let measured = move |kind: FaultKind| {
        let rule = FaultRule::of(kind);
        let own = rule.keys();
        let others = ["at", "name", "part", "per", "per_month", "repair"];
        let keys = of.keys.iter().filter(move |key| own.contains(&key.name) || others.contains(&key.name));
        let subject = (prop::sample::select(rule.subjects.to_vec()), text());
        (some(keys, rule.needs.map(|(key, _)| key)), subject).prop_map(move |(mut body, (subject, name))| {
            body.insert("kind".to_owned(), kind.name().into());
            if kind == FaultKind::WrongCable {
                body.insert("at".to_owned(), "0 s".into());
            }
            if is_rate {
                body.insert("part".to_owned(), part(subject).into());
            } else {
                let name = if subject == "storage" { "all".to_owned() } else { name };
                body.insert(subject.to_owned(), name.into());
            }
            body
        })
    };
    prop::sample::select(kinds).prop_flat_map(measured).boxed()
}

/// The part of which such a subject is one.
fn part(subject: &str) -> &str {
    match subject {
        "cable" => "access-cable",
        "port" => "nic",
        "device" => "host",
        subject => subject,
    }
}

/// Whether a text is a scenario.
fn is_scenario(body: &toml::Table) -> bool {
    Scenario::parse("x", &body.to_string()).is_ok()
}

fn least() -> toml::Table {
    LEAST.parse().expect("it is TOML")
}

/// A life asks for what fails by rates, and for one job.
fn with_failures(body: &mut toml::Table) {
    let by_rates = |failures: &Value| failures.get("replay").is_none();
    if body.contains_key("steering") && !body.get("failures").is_some_and(by_rates) {
        let month: toml::Table = FAILURES.parse().expect("it is TOML");
        body.insert("failures".to_owned(), month.into());
    }
}

/// What weeks of jobs need storage for.
const WITH_STORAGE: [&str; 3] = ["checkpoint", "read", "inference"];

/// Who writes or reads has storage, of which telemetry is not told.
fn with_storage(body: &mut toml::Table) {
    let has = |value: &Value, keys: &[&str]| keys.iter().any(|key| value.get(key).is_some());
    let job = |job: &Value| {
        has(job, &["checkpoint", "read"])
            || job.get("workload").is_some_and(|work| has(work, &["requests_per_s"]))
    };
    let jobs = body.get("job").and_then(Value::as_array);
    let weeks = body.get("cluster").filter(|cluster| has(cluster, &WITH_STORAGE));
    if weeks.is_some() || jobs.is_some_and(|jobs| jobs.iter().any(job)) {
        // Weeks of jobs have gateways for their requests alone.
        let asks = weeks.is_none_or(|cluster| has(cluster, &["inference"]));
        let text = if asks { "hosts = 4\ngateways = 2" } else { "hosts = 4" };
        let storage: toml::Table = text.parse().expect("it is TOML");
        body.insert("storage".to_owned(), storage.into());
    }
    if body.contains_key("storage") || body.contains_key("frontend") {
        body.remove("telemetry");
    }
}

/// Weeks of jobs, and traffic inside hosts, stand in place of all that is said of jobs one by one.
fn alone(body: &mut toml::Table) {
    if let Some(cluster) = body.get("cluster") {
        let has_storage = WITH_STORAGE.iter().any(|key| cluster.get(key).is_some());
        let storage = if has_storage { "storage" } else { "cluster" };
        let kept = ["schema", "name", "description", "seed", "fabric", "cluster", storage];
        body.retain(|key, _| kept.contains(&key));
    } else if body.contains_key("intranode") {
        let kept = ["schema", "name", "description", "seed", "fabric", "intranode"];
        body.retain(|key, _| kept.contains(&key));
    }
}

/// One section or key of the whole, which goes with what is there at least.
pub(crate) fn section(key: &'static Key) -> BoxedStrategy<Value> {
    let goes = move |value: &Value| {
        let mut body = least();
        body.insert(key.name.to_owned(), value.clone());
        with_failures(&mut body);
        with_storage(&mut body);
        alone(&mut body);
        is_scenario(&body)
    };
    value(&key.kind).prop_filter("it is refused", goes).boxed()
}

/// Whole scenarios.
pub(crate) fn scenario() -> BoxedStrategy<Scenario> {
    let one = |key: &'static Key| {
        maybe(
            key.name == "fabric",
            if ["cluster", "intranode"].contains(&key.name) { 0.05 } else { 0.25 },
            section(key),
        )
        .prop_map(|value| value.map(|value| (key.name.to_owned(), value)))
        .boxed()
    };
    let all: Vec<_> = keys().keys.iter().map(one).collect();
    let joined = all.prop_map(|entries| {
        let mut body = least();
        body.extend(entries.into_iter().flatten());
        with_failures(&mut body);
        with_storage(&mut body);
        alone(&mut body);
        body
    });
    let read = |body: toml::Table| Scenario::parse("x", &body.to_string()).ok();
    joined.prop_filter_map("sections do not go together", read).boxed()
}
