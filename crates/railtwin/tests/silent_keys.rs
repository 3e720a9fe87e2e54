//! No key is silent: each is changed under both engines, and the run changes, or a warning names the key, or the value
//! is refused.
#![allow(clippy::unwrap_used, reason = "a test may fail")]
mod presets;

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use railtwin::{Question, Resolved, Run};
use railtwin_fabric::design::DesignReport;
use railtwin_scenario::{FaultMeasure, Scenario};
use railtwin_store::content_hash;
use railtwin_units::keys::{Key, Kind, Table};
use toml::Value;

/// Keys that speak of the question and not of what is run.
const OF_THE_QUESTION: [&str; 3] = ["schema", "name", "description"];
/// Sections that are held against a run when it is over.
const AFTERWARDS: [&str; 2] = ["expect", "gain"];

/// A run that fits every key of its sections: what is not in one base is in another.
fn bases() -> Vec<String> {
    let leaves = "[fabric]\npreset = \"leaf-spine\"\nleaves = 4\nhosts_per_leaf = 4\nuplinks = 2\nparallel = 1\n\
                  rails_per_leaf = 1\nchip = \"51200 Gbps\"\nhost = { model = \"plain\" }\n";
    let four = &leaves.replace("uplinks = 2", "uplinks = 4");
    let hpn = "[fabric]\npreset = \"hpn\"\nsegments = 2\nhosts = 2\nspare_hosts = 1\nspines = 2\n";
    // A network that reacts within what a job takes.
    let quick = "[transport]\ntimeout = 4\nretry_count = 7\n[reaction]\ndetection = \"1 us\"\n\
                 lag_failover = \"5 us\"\necmp_regroup = \"3 us\"\nwithdrawal = \"5 us\"\n\
                 convergence = \"20 us\"\nmac_aging = \"150 us\"\nlacp = \"10 us\"\narp = \"5 us\"\n";
    let ring = "[[job]]\nname = \"ring\"\ngpus = 8\n\
                collective = { kind = \"all-reduce\", bytes = \"4 MB\", repeat = 2, compute = \"1 us\" }\n";
    let shift = "[[job]]\nname = \"shift\"\nplacement = { hosts = [15, 14, 13, 12, 11, 10, 9, 8] }\n\
                 start = \"2 us\"\nworkload = { traffic = \"shift\", bytes = \"300 kB\", shift = 3 }\n";
    let queue_pairs = "[routing]\nqueue_pairs = 4\nmessage = \"64 KiB\"\n";
    let fault = |body: &str| format!("{leaves}{quick}{queue_pairs}{ring}[[fault]]\nat = \"3 us\"\n{body}\n");
    let from_the_start = |body: &str| fault(body).replace("at = \"3 us\"", "at = \"0 s\"");
    let packets = |body: &str| {
        let crowd = "[[job]]\nname = \"crowd\"\ngpus = 8\n\
                     workload = { traffic = \"incast\", bytes = \"2 MB\", sources = 6, target = 1 }\n";
        format!("{leaves}{crowd}{body}")
    };
    let train =
        |recipe: &str| format!("{hpn}[[job]]\nname = \"train\"\nworkload = {{ recipe = {recipe} }}\n");
    let traffic = |body: &str| format!("{leaves}[[job]]\nname = \"t\"\ngpus = 8\nworkload = {{ {body} }}\n");
    let exchange = "collective = { kind = \"all-to-all\", bytes = \"800 kB\" }\n[routing]\nqueue_pairs = 4\n\
                    message = \"16 KiB\"\n";
    let sized = "collective = \"all-reduce\"\nalgorithm = \"ring\"\nstep = \"9 us\"\n";
    let tiny = "host = { gpus = 2, nics = 2 }\n";
    let frontend = "[frontend]\nhosts_per_leaf = 2\nleaf_sets = 1\nuplink = \"400 Gbps\"\n\
                    leaf_oversubscription = 1.0\nspine_oversubscription = 1.0\n\
                    [storage]\nhosts = 3\non = \"frontend\"\ngateways = 2\n";
    let telemetry = "[telemetry]\ncounters = \"2 ms\"\nprobes = \"2 ms\"\nsteps = 3\n";
    // Leaves of a set, and what hosts make of their settings.
    let set = |body: &str, faults: &str| {
        format!(
            "{hpn}{quick}[dual_tor]\n{body}\n[[job]]\nname = \"all\"\nhosts = 4\n\
             collective = {{ kind = \"all-reduce\", bytes = \"4 MB\", algorithm = \"ring\" }}\n{faults}"
        )
    };
    let plane = |leaf: &str, kind: &str| {
        format!("[[fault]]\nat = \"3 us\"\nuntil = \"90 us\"\nleaf = \"{leaf}\"\nkind = \"{kind}\"\n")
    };
    let sets = [
        set("other_system = \"00:00:5e:00:01:02\"", ""),
        set("system = \"00:00:5e:00:01:02\"", ""),
        set("other_key = 2", ""),
        set("key = 2", ""),
        set("other_port_offset = 600", ""),
        set("port_offset = 600\nother_port_offset = 600", ""),
        set("kind = \"stacked\"\npeer_timeout = \"10 us\"", &plane("leaf-0", "data-plane")),
        set("kind = \"stacked\"", &plane("leaf-1", "upgrade")),
        set("", "[[fault]]\nat = \"3 us\"\nport = \"host-1/nic-0:port-0\"\nkind = \"down\"\n"),
        set("remedy = \"watcher\"\nremedy_after = \"10 us\"", &plane("leaf-0", "control-plane")),
    ];
    let mut all = vec![
        format!("[fabric]\npreset = \"leaf-spine\"\n[[job]]\nhosts = 2\n{exchange}"),
        format!("{leaves}{shift}{ring}{queue_pairs}"),
        format!("[fabric]\npreset = \"rlft\"\nports = 4\nhost = {{ model = \"plain\" }}\n{ring}"),
        format!(
            "{four}{ring}{shift}{quick}[routing]\nqueue_pairs = 4\nbalancer = \"c4p\"\nreplan_time = \"30 us\"\n\
             [[fault]]\nat = \"3 us\"\nspine = \"spine-1\"\nkind = \"down\"\n"
        ),
        format!(
            "{four}{ring}{shift}{quick}[routing]\nqueue_pairs = 4\nbalancer = \"c4p\"\n\
             [control]\nreport = \"1 us\"\nprogramming = \"2 us\"\nprobes = \"10 us\"\n\
             probe_packets = 4\nprobe_timeout = \"5 us\"\n\
             [[fault]]\nat = \"3 us\"\nuntil = \"60 us\"\ncable = \"leaf-0:uplink-1\"\n\
             kind = \"lossy\"\nloss = 0.3\n"
        ),
        format!(
            "{leaves}{ring}{shift}[routing]\nqueue_pairs = 2\nbalancer = \"c4p\"\n\
             [control]\nfeedback = \"20 us\"\nreport = \"1 us\"\n"
        ),
        // Two jobs on the same uplinks.
        format!(
            "{leaves}[[job]]\nname = \"ring\"\nplacement = {{ hosts = [0, 4, 8, 12] }}\n\
             collective = {{ kind = \"all-reduce\", bytes = \"4 MB\", repeat = 2, compute = \"20 us\" }}\n\
             [[job]]\nname = \"shift\"\nplacement = {{ hosts = [1, 5, 9, 13] }}\nstart = \"2 us\"\n\
             collective = {{ kind = \"all-reduce\", bytes = \"3 MB\", compute = \"10 us\" }}\n\
             [routing]\nqueue_pairs = 2\nbalancer = \"crux\"\n\
             [control]\nfeedback = \"20 us\"\nprofile = \"60 us\"\nreport = \"1 us\"\n"
        ),
        format!(
            "{leaves}{ring}{shift}[routing]\nqueue_pairs = 2\nbalancer = \"multipath-ecn\"\n\
             [control]\nfeedback = \"10 us\"\n\
             [switch.leaf]\necn = {{ min = \"20 kB\", max = \"90 kB\", probability = 0.5 }}\n"
        ),
        format!(
            "{four}{ring}{shift}{quick}[routing]\nqueue_pairs = 4\nbalancer = \"te\"\nreplan = \"once\"\n\
             [control]\nreport = \"1 us\"\nprogramming = \"2 us\"\nentries = 2\n\
             [[fault]]\nat = \"3 us\"\nspine = \"spine-1\"\nkind = \"down\"\n"
        ),
        format!(
            "{four}{ring}{shift}{quick}[routing]\nqueue_pairs = 4\n[[fault]]\nat = \"3 us\"\nspine = \"spine-1\"\n\
             kind = \"down\"\n"
        ),
        format!(
            "{four}{ring}{shift}{quick}[routing]\nqueue_pairs = 4\nbalancer = \"disjoint\"\n[control]\n\
             report = \"1 us\"\n[[fault]]\nat = \"3 us\"\nspine = \"spine-1\"\nkind = \"down\"\n"
        ),
        format!(
            "{hpn}{quick}arp_proxy = false\n{queue_pairs}[[job]]\nname = \"all\"\ncount = 1\nhosts = 4\n\
             collective = {{ kind = \"all-reduce\", bytes = \"4 MB\", algorithm = \"ring\" }}\n\
             [[cap]]\ncollective = \"all-reduce\"\nalgorithm = \"ring\"\nbusbw = \"20 Gbps\"\nhost = \"hgx-h800\"\n\
             [[fault]]\nat = \"2 us\"\nport = \"host-1/nic-0:port-0\"\nkind = \"down\"\nuntil = \"400 us\"\n"
        ),
        format!(
            "{hpn}[[job]]\nname = \"sized\"\nhosts = 2\ncollective = {{ kind = \"all-reduce\", bytes = \"20 kB\" }}\n\
             [[cap]]\ngpus = 8\nfrom = \"1 kB\"\nuntil = \"130 kB\"\nbusbw = \"20 Gbps\"\n{sized}\
             [[cap]]\ngpus = 8\nfrom = \"25 kB\"\nbusbw = \"40 Gbps\"\n{sized}\
             [[cap]]\ngpus = 4\nfrom = \"1 kB\"\nbusbw = \"5 Gbps\"\n{sized}"
        ),
        format!(
            "{four}{ring}{shift}{quick}[routing]\nqueue_pairs = 4\nsplit = \"dynamic\"\nslots = 6\n\
             message = \"16 KiB\"\n[[fault]]\nat = \"3 us\"\nspine = \"spine-1\"\nkind = \"down\"\n"
        ),
        format!(
            "{hpn}[[job]]\nname = \"experts\"\nhosts = 2\ncollective = {{ kind = \"expert-dispatch\", experts = \
             {{ tokens = 16, top_k = 4, hidden = 512, total = 64, precision = \"fp8\" }} }}\n\
             [[cap]]\ncollective = \"expert-dispatch\"\nalgorithm = \"direct\"\nstep = \"9 us\"\nmessage = \"70 ns\"\n"
        ),
        format!(
            "{hpn}[[job]]\nname = \"normal\"\nhosts = 4\ncollective = {{ kind = \"expert-dispatch\", algorithm = \"forward\", \
             experts = {{ tokens = 16, top_k = 4, hidden = 512, total = 64, most_hosts = 2 }} }}\n"
        ),
        // One context for all queue pairs of a NIC, whose fetches hold the line.
        format!(
            "{hpn}[fabric.host.costs]\ncontexts = 1\ncontext_fetch = \"20 us\"\n[routing]\nqueue_pairs = 8\n[[job]]\n\
             name = \"fetches\"\nhosts = 4\ncollective = {{ kind = \"all-reduce\", bytes = \"4 MB\", algorithm = \"ring\" }}\n"
        ),
        format!(
            "{hpn}[[job]]\nname = \"channels\"\nhosts = 2\n\
             collective = {{ kind = \"send-receive\", bytes = \"1 MB\" }}\n\
             [[cap]]\ncollective = \"send-receive\"\nalgorithm = \"direct\"\nbusbw = \"200 Gbps\"\n\
             channel = \"4 Gbps\"\nchannel_bytes = \"300 kB\"\n"
        ),
        format!(
            "{hpn}[[job]]\nname = \"plain\"\ngpus = 16\nworkload = {{ traffic = \"shift\", bytes = \"1 MB\" }}\n\
             [[job]]\nname = \"own\"\nhosts = 2\ncollective = {{ kind = \"send-receive\", bytes = \"1 MB\" }}\n\
             [[cap]]\ncollective = \"send-receive\"\nalgorithm = \"direct\"\nbusbw = \"20 Gbps\"\nstep = \"9 us\"\n\
             plain = true\n"
        ),
        format!(
            "{four}{ring}{shift}{quick}bgp_hold = \"60 us\"\nbfd = \"40 us\"\n[routing]\nqueue_pairs = 4\n[[fault]]\n\
             at = \"3 us\"\nspine = \"spine-1\"\nkind = \"down\"\ncarrier = true\n"
        ),
        format!(
            "{four}{ring}{shift}{quick}bgp_hold = \"60 us\"\n[routing]\nqueue_pairs = 4\n[[fault]]\n\
             at = \"3 us\"\nspine = \"spine-1\"\nkind = \"down\"\ncarrier = true\n"
        ),
        format!(
            "{hpn}[reaction]\nlacp_rate = \"fast\"\n[[job]]\nname = \"all\"\nhosts = 4\n\
             collective = {{ kind = \"all-reduce\", bytes = \"4 MB\", algorithm = \"ring\" }}\n\
             [[fault]]\nat = \"2 us\"\nport = \"host-1/nic-0:port-0\"\nkind = \"down\"\ncarrier = true\n"
        ),
        format!(
            "{hpn}[fabric.host]\nmodel = \"hgx-h800\"\nnic_ports = 2\n[[job]]\nhosts = 2\nplacement = \"spread\"\n{exchange}"
        ),
        format!(
            "[fabric]\npreset = \"hpn\"\npods = 2\nsegments = 1\nhosts = 1\nspare_hosts = 0\nspines = 2\n\
             spine_up = 2\ncores = 2\n{tiny}[[job]]\nhosts = 2\n{exchange}"
        ),
        format!(
            "[fabric]\npreset = \"dcn-plus\"\npods = 2\nsegments = 1\nhosts = 2\nspines = 2\nparallel = 1\n\
             cores = 4\n{tiny}[[job]]\nhosts = 3\n{exchange}"
        ),
        format!(
            "[fabric]\npreset = \"ai-zone\"\npods = 2\nsegments = 2\nhosts = 1\nuplinks = 2\nspine_up = 2\n\
             cores = 2\n{tiny}[[job]]\nhosts = 3\n{exchange}"
        ),
        format!("[fabric]\npreset = \"fat-tree\"\nk = 4\n{ring}"),
        traffic("traffic = \"permutation\", bytes = \"300 kB\""),
        traffic("traffic = \"shift\", bytes = \"300 kB\""),
        traffic("traffic = \"incast\", bytes = \"300 kB\""),
        traffic("traffic = \"all-to-all\", bytes = \"100 kB\""),
        train("\"llama-7b\", tp = 4, pp = 2, dp = 2, micro_batches = 2"),
        // Hosts that cost something, and computation beside collectives.
        train("\"llama-7b\", tp = 4, pp = 2, dp = 2, micro_batches = 2").replace(
            "spines = 2\n",
            "spines = 2\nhost = { costs = { contexts = 2, channels = 16, copy = \"10 GB/s\", post = \"1 us\", buffer = \"1 kB\" } }\n",
        ),
        train("\"llama-65b\", tp = 4, pp = 1, dp = 2, memory = \"allow\""),
        train("\"mixtral-8x7b\", pp = 4, dp = 2, ep = 2, memory = \"allow\""),
        "[fabric]\nhtsim = \"data/peers/fat_tree_16.topo\"\n[[job]]\n\
         workload = { connections = \"data/htsim/incast.cm\" }\n"
            .to_owned(),
        format!("{hpn}[[job]]\nworkload = {{ simai = \"data/simai/simai_micro_all_reduce.txt\" }}\n"),
        format!(
            "{leaves}[[job]]\nworkload = {{ chakra = \"crates/railtwin-formats/tests/data/chakra_astra_micro/\
             all_reduce_8npus_1MB_all_reduce\" }}\n"
        ),
        "[fabric]\npreset = \"cables\"\nfile = \"data/ocp_fabrics/opg-64-clos-ro.csv\"\nrate = \"400 Gbps\"\n[[job]]\nhosts = 2\n\
         collective = { kind = \"all-reduce\", bytes = \"100 kB\" }\n"
            .to_owned(),
        "[fabric]\nlingjun = \"data/lingjun/topo.csv\"\n[[job]]\nhosts = 2\n\
         collective = { kind = \"all-reduce\", bytes = \"100 kB\" }\n"
            .to_owned(),
        format!(
            "{leaves}{quick}{ring}[failures]\nreplay = \"data/failures/llm_cluster_faults_240_days.json\"\n\
             window = \"20 us\"\ndays = 200\nhosts = 400\nfirst_day = 1\nkinds = [\"down\"]\n"
        ),
        format!(
            "{leaves}{quick}{ring}[failures]\nprocess = \"c4\"\nwindow = \"20 us\"\nacceleration = 1e12\n"
        ),
        // So many failures that every clause of a policy has its turn. Packets do not know errors of GPUs and refuse the
        // process: every key is written, so that the refusal is of it.
        format!(
            "{hpn}[[job]]\nname = \"life\"\nhosts = 2\nplacement = \"spread\"\n\
             collective = {{ kind = \"all-reduce\", bytes = \"4 MB\" }}\n[failures]\nprocess = \"c4\"\n\
             window = \"20 us\"\ndays = 30\nfactor = 150\n[steering]\nc4d = true\nlives = 8\n\
             checkpoint = \"3 h\"\ncheckpoint_cost = \"100 s\"\ndetection = \"30 s\"\nrecall = 0.6\n\
             false_alarms = 1\nwatchdog = \"30 min\"\nisolation = \"10 min\"\nrestart = \"10 min\"\n\
             by_hand = {{ ecc_nvlink = \"1 h\", cuda = \"1 h\", ccl_timeout = \"1 h\", ack_timeout = \"1 h\", \
             unknown = \"1 h\" }}\nanswer = \"30 min\"\ntests = \"24 h\"\n\
             automatic = [\"ecc-nvlink\", \"unknown\"]\nconfidence = 0.5\nhosts_out = 8\nhosts_per_hour = 4\n\
             spares = \"pod\"\n"
        ),
        format!(
            "{leaves}{quick}{ring}[failures]\nwindow = \"20 us\"\ndays = 90\n[[failures.rate]]\n\
             part = \"access-cable\"\nper_month = 1\nkind = \"down\"\nrepair = \"40000 s\"\n"
        ),
        format!(
            "{leaves}{ring}{telemetry}[[fault]]\nat = \"1 ms\"\nkind = \"slow\"\nnic = \"host-1/nic-0\"\n\
             direction = \"in\"\ncapacity = 0.2\n"
        ),
        format!(
            "{leaves}{ring}{telemetry}[[fault]]\nat = \"1 ms\"\nkind = \"gpu-error\"\nrank = \"ring/1\"\ncause = \"ecc\"\n"
        ),
        format!("{leaves}{quick}{ring}{shift}{telemetry}job = \"ring\"\n"),
        fault(
            "kind = \"flap\"\ncable = \"leaf-0:uplink-0\"\nflaps = 2\nperiod = \"40 us\"\nlength = \"20 us\"",
        ),
        fault(
            "kind = \"slow\"\nnic = \"host-0/nic-0\"\ncapacity = 0.5\ndirection = \"in\"\nuntil = \"90 us\"",
        ),
        fault(
            "kind = \"lossy\"\ncable = \"host-1/nic-0:port-0\"\nloss = 0.05\ndirection = \"both\"\nuntil = \"1 s\"",
        ),
        fault("kind = \"lose-acknowledgement\"\nport = \"host-1/nic-0:port-0\"\ndirection = \"in\""),
        fault("kind = \"latency\"\nleaf = \"leaf-0\"\ndelay = \"5 us\"\ndirection = \"out\""),
        fault("kind = \"down\"\nleaf = \"leaf-0\"\nuntil = \"40 us\""),
        fault("kind = \"down\"\nspine = \"spine-1\"\nuntil = \"90 us\""),
        fault("kind = \"down\"\ndevice = \"leaf-1\"\nuntil = \"40 us\""),
        from_the_start("kind = \"wrong-cable\"\ncable = \"leaf-0:uplink-0\"\nwith = \"leaf-1:uplink-1\""),
        fault("kind = \"pause-storm\"\nnic = \"host-1/nic-0\"\ncapacity = 0.1\nuntil = \"1 ms\""),
        fault("kind = \"slow-gpu\"\nrank = \"ring/1\"\nfactor = 3.0"),
        fault("kind = \"slow-gpu\"\ngpu = \"host-1/gpu-0\"\nfactor = 3.0"),
        fault("kind = \"crash\"\nhost = \"host-1\"\ncause = \"bug\""),
        from_the_start("kind = \"slow-data\"\njob = \"ring\"\ndelay = \"7 us\""),
        from_the_start(
            "kind = \"storage-stall\"\nstorage = \"all\"\ndelay = \"7 us\"\nevery = 1\n[run]\nsteps = 3",
        ),
        packets(
            "[packet]\nsamples = \"5 us\"\n[packet.nic]\nreceive_buffer = \"40 kB\"\n[switch.leaf]\n\
             buffer = \"300 kB\"\nreserved = \"5 kB\"\nheadroom = \"20 kB\"\ntrim = \"200 kB\"\n\
             [switch.spine]\nmodel = \"deep\"\nbuffer = \"60 kB\"\n",
        ),
        packets(
            "[packet]\ncongestion_control = { kind = \"dcqcn\", alpha_timer = \"2 us\", increase_timer = \"2 us\", \
             byte_counter = \"30 kB\", recovery_rounds = 1 }\n[packet.nic]\ncnp_interval = \"4 us\"\n[switch.leaf]\n\
             ecn = { min = \"10 kB\", max = \"40 kB\", probability = 0.5 }\n",
        ),
        packets(
            "[packet]\ncongestion_control = { kind = \"dcqcn\", preset = \"dcqcn-2015\", increase_timer = \"20 us\" }\n\
             [packet.nic]\ncnp_interval = \"4 us\"\n[switch.leaf]\n\
             ecn = { min = \"10 kB\", max = \"40 kB\", probability = 0.5 }\n",
        ),
        packets("[packet]\ncongestion_control = { kind = \"hpcc\", stages = 2, additive = \"2 Gbps\" }\n"),
        packets(
            "[packet]\ncongestion_control = { kind = \"aimd\" }\n[switch.leaf]\ntrim = \"60 kB\"\n\
             ecn = { min = \"10 kB\", max = \"40 kB\", probability = 0.5 }\n\
             [routing]\nbalancer = \"spray\"\n",
        ),
        packets(
            "[packet]\nadmission = { channels = 1, buffer = \"16 KiB\", copy = \"100 Gbps\" }\n[switch.leaf]\n\
             credit = { latency = \"1 us\", initial = \"8 KiB\", ramp = 2 }\n",
        ),
        format!(
            "{leaves}{shift}[switch.leaf]\ncredit = {{ latency = \"3 us\", initial = \"8 KiB\", ramp = 2 }}\n"
        ),
        format!(
            "{hpn}[[job]]\nname = \"spared\"\nhosts = 3\nlost = [1]\nrank_order = \"random\"\n\
             collective = {{ kind = \"all-reduce\", bytes = \"400 kB\" }}\n"
        ),
        format!(
            "{leaves}[[job]]\nname = \"beside\"\ngpus = 4\nplacement = {{ near = [15] }}\n\
             collective = {{ kind = \"all-reduce\", bytes = \"400 kB\" }}\n"
        ),
        packets("[packet]\nreorder = \"16 KiB\"\n[routing]\nbalancer = \"spray\"\n"),
        packets("[routing]\nbalancer = \"flowlet\"\n[run]\nreplicates = 2\nsteps = 2\n"),
        packets("[routing]\nqueue_pairs = 4\nmessage = \"16 KiB\"\n[packet]\nwindow = \"64 KiB\"\n"),
        // Packets know no storage and refuse it: every key is written, so that the refusal is of it.
        format!(
            "{hpn}{frontend}[run]\nsteps = 4\n[[job]]\nname = \"train\"\nhosts = 3\n\
             collective = {{ kind = \"all-reduce\", bytes = \"1 MB\" }}\n\
             checkpoint = {{ bytes_per_gpu = \"2 MB\", every = 2, blocking = true }}\n\
             read = {{ bytes_per_gpu = \"1 MB\" }}\n"
        ),
        format!(
            "{hpn}{frontend}[[job]]\nname = \"serve\"\nhosts = 3\nworkload = {{ requests_per_s = 1e5, \
             request = \"1 kB\", response = \"9 kB\", beat = \"1 ms\", tide = 0.5, hour = 12.0 }}\n"
        ),
    ];
    all.extend(sets);
    all.iter_mut().for_each(|base| *base = format!("schema = 1\nname = \"base\"\nseed = 7\n{base}"));
    all
}

/// Other values of a kind.
fn others(kind: &'static Kind, now: Option<&Value>) -> Vec<Value> {
    let texts = |texts: &[&str]| texts.iter().map(|text| Value::from(*text)).collect::<Vec<_>>();
    let all = match kind {
        Kind::Choice(names) => texts(names),
        Kind::ChoiceOrValue(names, _, example) => {
            let table: toml::Table = format!("x = {example}").parse().unwrap();
            texts(names).into_iter().chain(table.get("x").cloned()).collect()
        }
        Kind::Bool => vec![true.into(), false.into()],
        Kind::Whole(least, most) => {
            let near = [0, 1, 2, 3, 4, 5, 7, 8, 9, 16, 64, 600];
            near.into_iter().filter(|n| least <= n && n <= most).map(Value::from).collect()
        }
        Kind::UpTo(most) => [0.0, 0.1, 0.6].into_iter().filter(|n| n <= most).map(Value::from).collect(),
        Kind::Share(above, most) => {
            let near = [0.01, 0.1, 0.3, 0.6, 0.99, 1.5, 4.0, 1e3, 1e12];
            near.into_iter().filter(|n| above < n && n <= most).map(Value::from).collect()
        }
        Kind::Time | Kind::TimeRange | Kind::Span => {
            texts(&["1 ns", "1 us", "7 us", "40 us", "1 ms", "20 ms", "1 s"])
        }
        Kind::Size { .. } | Kind::SizeIn(..) => {
            texts(&["0 B", "1 kB", "5 kB", "9 kB", "30 kB", "90 kB", "700 kB", "3 MB"])
        }
        Kind::Rate { .. } => texts(&["0 Gbps", "1 Gbps", "30 Gbps", "300 Gbps", "1600 Gbps"]),
        Kind::List(item) | Kind::AnyList(item) => {
            others(item, None).into_iter().map(|one| Value::Array(vec![one])).collect()
        }
        Kind::Like(like) => {
            let all = ["00:00:5e:00:01:02", "1.0", "2.0"];
            texts(&all.into_iter().filter(|text| (like.is_one)(text)).collect::<Vec<_>>())
        }
        Kind::Text | Kind::Name => texts(&[
            "leaf-0",
            "leaf-3",
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

/// Names with their bits, and warnings.
type FiguresAndWarnings = (Vec<(String, String)>, Vec<String>);

/// What a text comes to.
struct Outcome {
    resolved: Resolved,
    /// What both engines are given to do.
    given: String,
}

impl Outcome {
    /// Figures and tables, bit by bit, and warnings; why it is not run, where it needs what is not in a text.
    fn run(&self) -> Result<FiguresAndWarnings, String> {
        let run = Run::of_into(self.resolved.clone(), None, &|| ()).map_err(|error| error.to_string())?;
        let tables = run.tables().into_iter().map(|table| (table.name.clone(), content_hash(&table)));
        let figures = run.info.figures.iter().map(|figure| {
            let bits = |value: Option<f64>| value.map(f64::to_bits);
            (figure.name.clone(), format!("{:?}", [figure.value, figure.low, figure.high].map(bits)))
        });
        Ok((tables.chain(figures).collect(), run.info.warnings.clone()))
    }
}

/// Why a text is not run.
enum Refusal {
    /// It is no scenario.
    Text(String),
    /// What it says cannot be, so somebody looked at it.
    Meaning(String),
}

fn outcome(body: &toml::Table) -> Result<Outcome, Refusal> {
    let house = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    let question = Question::of_text("key.toml", &body.to_string(), house);
    let point = question.points().map_err(|error| Refusal::Text(error.to_string()))?.remove(0);
    let resolved = question.resolve(&point.scenario).map_err(|error| Refusal::Meaning(error.to_string()))?;
    let case = &resolved.case;
    let given = format!("{:?} {:?} {:?}", case.work, case.placements, DesignReport::of(&case.fabric));
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

/// What a base says there.
fn now(base: &toml::Table, path: &[String]) -> Option<Value> {
    path.iter().try_fold(Value::Table(base.clone()), |value, name| {
        let value = if let Value::Array(rows) = value { rows.into_iter().next()? } else { value };
        value.as_table()?.get(name).cloned()
    })
}

fn told(base: &toml::Table, path: &[String], key: &'static Key) -> Option<Told> {
    // What the section does by being there is not what the key does.
    let mut without = base.clone();
    set(&mut without, path, None);
    let before = outcome(&without).ok()?;
    let now = now(base, path);
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
            Err(Refusal::Meaning(_)) => return Some(Told::Heard),
            Err(Refusal::Text(message)) => {
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
        let (run, warnings) = match after.run() {
            Ok(done) => done,
            Err(message) if message.contains(&name) => return Some(Told::Heard),
            Err(message) => panic!("{name}: {message}"),
        };
        // A warning may name the table that the key is in.
        let names = (2..=path.len()).map(|parts| path[..parts].join("."));
        let heard = [name.clone()].into_iter().chain(names).any(|name| {
            warnings
                .iter()
                .any(|warning| warning.split([' ', ':']).any(|word| word.trim_matches(',') == name))
        });
        if heard || run != of_before.get_or_init(|| before.run().unwrap()).0 {
            return Some(Told::Heard);
        }
        told = Some(Told::Silent);
    }
    told
}

/// Returns the section of each declared key, by the key's name; `scenario` for keys outside of sections. The keys of a table
/// that several sections share belong to the first.
fn sections() -> BTreeMap<String, &'static str> {
    let mut of = BTreeMap::new();
    // Tables that others share with the sections of no steps belong to the others.
    let (apart, others): (Vec<&Key>, Vec<&Key>) =
        railtwin_scenario::keys().keys.iter().partition(|key| ["cluster", "intranode"].contains(&key.name));
    for key in others.into_iter().chain(apart) {
        let (mut found, mut section) = (BTreeSet::new(), key.name);
        match &key.kind {
            Kind::Section(inner) | Kind::Sections(inner) => declared(inner, &mut found),
            Kind::Named(_) | Kind::Version | Kind::Conditions => {}
            _ => {
                section = "scenario";
                found.insert(format!("{} {}", railtwin_scenario::keys().title, key.name));
            }
        }
        for name in found {
            of.entry(name).or_insert(section);
        }
    }
    of.retain(|name, _| !is_skipped(name));
    of
}

/// Returns whether other tests cover a key.
fn is_skipped(name: &str) -> bool {
    OF_THE_QUESTION.iter().any(|key| name == format!("a scenario {key}"))
        // A rate hands these to a fault, and they are heard there.
        || name.strip_prefix("[[failures.rate]] ").is_some_and(|name| {
            FaultMeasure::TABLE.keys.iter().any(|key| key.name == name)
        })
        // Thresholds act where something is at them: tests of telemetry hold that they are those of the scenario.
        || name.starts_with("[telemetry.detectors]")
        // Weeks of jobs are no run of steps: `cluster.rs` holds every key of them against the others and names those that a
        // policy does not read; below are those of hosts.
        || name.starts_with("[cluster")
        || name.ends_with(" cluster")
        // So is traffic inside hosts: `intranode.rs`, and below.
        || name.starts_with("[intranode")
        || name.ends_with(" intranode")
        // Keys of these presets make the fabric, which engines take whole: a test below holds that they change it.
        || presets::PRESETS.iter().any(|(preset, ..)| name.starts_with(&format!("[fabric] {preset} ")))
        // Leaves and spines alone: there are no such cables.
        || ["[fabric] leaf-spine spine_core_delay", "[fabric] rlft spine_core_delay"].contains(&name)
        // Storage is one.
        || name == "[[fault]] storage"
        || AFTERWARDS.iter().any(|section| name.starts_with(&format!("[{section}]")))
}

/// Returns a base for an engine.
fn base_of(text: &str, engine: &str) -> toml::Table {
    let mut base: toml::Table = text.parse().unwrap();
    base.insert("engine".to_owned(), engine.into());
    // Hosts that begin when they are told to: what happens early meets them at work.
    let packet = base.entry("packet").or_insert_with(|| toml::Table::new().into());
    let jitter = packet.as_table_mut().unwrap().entry("start_jitter");
    jitter.or_insert_with(|| "0 s".into());
    base
}

/// Returns whether an engine without support for a key refuses the base with the key's name.
fn is_refused(path: &[String]) -> bool {
    match path[0].as_str() {
        "fault" | "failures" | "steering" | "storage" | "frontend" => true,
        "job" => ["checkpoint", "read", "workload"].contains(&path[1].as_str()),
        _ => false,
    }
}

/// Returns whether an engine refuses a base because it does not know a key.
fn is_unknown(engine: &str, base: &toml::Table) -> bool {
    let message = format!("the {engine} engine does not know");
    matches!(outcome(base), Err(Refusal::Meaning(why)) if why.contains(&message))
}

/// Requires that an engine responds to each key of a section, in at least one base.
fn check_section(engine: &str, section: &str) {
    let mut all = sections();
    all.retain(|_, of| *of == section);
    let (mut wrong, mut found) = (Vec::new(), BTreeMap::<String, Told>::new());
    let mut bases: Vec<toml::Table> = bases().iter().map(|text| base_of(text, engine)).collect();
    // Bases with the section respond to most keys, and spare runs of the others.
    bases.sort_by_key(|base| !base.contains_key(section));
    for base in bases {
        let mut keys = Vec::new();
        places(railtwin_scenario::keys(), &base, &[], &mut keys);
        keys.retain(|(name, ..)| all.contains_key(name) && found.get(name) != Some(&Told::Heard));
        if keys.is_empty() {
            continue;
        }
        if is_unknown(engine, &base) {
            let heard =
                keys.into_iter().filter(|(_, path, _)| is_refused(path) && now(&base, path).is_some());
            found.extend(heard.map(|(name, ..)| (name, Told::Heard)));
            continue;
        }
        for (name, path, key) in keys {
            // Two variants of a table may share a key.
            if found.get(&name) == Some(&Told::Heard) {
                continue;
            }
            if let Some(told) = told(&base, &path, key) {
                let known = found.entry(name).or_insert(told.clone());
                *known = known.clone().max(told);
            }
        }
    }
    for name in all.keys() {
        match found.get(name) {
            Some(Told::Heard) => {}
            other => wrong.push(format!("{engine}: {name}: {other:?}")),
        }
    }
    assert!(wrong.is_empty(), "{} keys are not heard:\n{}", wrong.len(), wrong.join("\n"));
}

/// One test for each section and engine, so that threads share the work.
macro_rules! section_tests {
    ($($section:ident)*) => {
        /// The sections with tests.
        const SECTIONS: &[&str] = &[$(stringify!($section)),*];

        mod flow {
            $(#[test]
            fn $section() {
                super::check_section("flow", stringify!($section));
            })*
        }

        mod packet {
            $(#[test]
            fn $section() {
                super::check_section("packet", stringify!($section));
            })*
        }
    };
}

section_tests! {
    scenario run fabric frontend storage routing control job cap fault failures steering reaction dual_tor transport
    packet switch telemetry
}

#[test]
fn each_section_has_its_test() {
    let known: BTreeSet<&str> = sections().into_values().collect();
    assert_eq!(known, BTreeSet::from_iter(SECTIONS.iter().copied()));
}

/// What weeks of jobs, or traffic inside hosts, come to, and what is said beside it; why it is refused.
type Apart = fn(&Question, &Scenario) -> Result<(String, Vec<String>), railtwin::Error>;

fn weeks(question: &Question, scenario: &Scenario) -> Result<(String, Vec<String>), railtwin::Error> {
    let cluster = question.cluster(scenario)?;
    let mut told = cluster.told(&[cluster.spec.sharing], &[cluster.seed], &|| ())?.remove(0);
    let notes = std::mem::take(&mut told.notes);
    Ok((format!("{told:?}"), notes))
}

fn inside_hosts(question: &Question, scenario: &Scenario) -> Result<(String, Vec<String>), railtwin::Error> {
    let asked = [(Vec::new(), question.intranode(scenario, 1)?)];
    Ok((
        format!("{:?}", railtwin::intranode::told(&asked, false, &|| ())),
        railtwin::intranode::warnings(&asked),
    ))
}

#[test]
fn keys_of_hosts_are_heard_where_no_steps_are_run() {
    let head = "schema = 1\nname = \"base\"\nseed = 7\n";
    let of_weeks = "[fabric]\npreset = \"leaf-spine\"\nhosts_per_leaf = 3\nuplinks = 4\nuplink_capacity = \"200 Gbps\"\n\
                    [fabric.host]\nmodel = \"hgx-a100\"\nnics = 4\npcie_switches = 4\n\
                    [cluster]\ndays = 0.1\nsharing = \"crux\"\n";
    let of_traffic = "[fabric]\npreset = \"rlft\"\nports = 4\n[fabric.host]\ngpus = 4\nnics = 1\nnvlink = \"256 Gbps\"\n\
                      [intranode]\nduration = \"12 us\"\nwarm_up = \"4 us\"\n";
    let mut wrong = Vec::new();
    for (name, base, apart) in
        [("weeks", of_weeks, weeks as Apart), ("inside", of_traffic, inside_hosts as Apart)]
    {
        let base: toml::Table = format!("{head}{base}").parse().unwrap();
        let come_to = |body: &toml::Table| {
            let question = Question::of_text("key.toml", &body.to_string(), Path::new("."));
            let point = question.points().map_err(|error| Refusal::Text(error.to_string()))?.remove(0);
            apart(&question, &point.scenario).map_err(|error| Refusal::Meaning(error.to_string()))
        };
        let Ok(before) = come_to(&base) else { panic!("the base runs") };
        for key in railtwin_fabric::HostSpec::TABLE.keys {
            let path = ["fabric", "host", key.name].map(str::to_owned);
            // A table: with one of its keys.
            let of_table = || vec![toml::Table::from_iter([("post".to_owned(), "1 us".into())]).into()];
            let values = match key.name {
                "costs" => of_table(),
                _ => others(&key.kind, now(&base, &path).as_ref()),
            };
            let is_heard = values.into_iter().any(|value| {
                let mut changed = base.clone();
                set(&mut changed, &path, Some(value));
                match come_to(&changed) {
                    Ok((result, notes)) => {
                        result != before.0 || notes.iter().any(|note| note.contains(&path.join(".")))
                    }
                    Err(refusal) => matches!(refusal, Refusal::Meaning(_)),
                }
            });
            // A rate that is written comes before a link by name.
            let is_behind = name == "inside" && ["gpu_link", "nic_link"].contains(&key.name);
            if !is_heard && !is_behind {
                wrong.push(format!("{name}: {}", key.name));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:?} are not heard");
}

#[test]
fn each_base_resolves_or_is_refused_by_an_engine_that_does_not_know_it() {
    for engine in ["flow", "packet"] {
        for text in bases() {
            let base = base_of(&text, engine);
            if let Err(Refusal::Text(message) | Refusal::Meaning(message)) = outcome(&base) {
                assert!(is_unknown(engine, &base), "{engine}: {text}\n{message}");
            }
        }
    }
}
