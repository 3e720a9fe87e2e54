//! Weeks of jobs: which ranks sit where, pipelines across pods, jobs near hosts.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test may fail, and writes files")]
use std::collections::BTreeSet;
use std::path::Path;

use railtwin::Question;
use railtwin::cluster::{ClusterQuestion, Told};

/// Two leaves of twelve hosts with a sixth of their capacity upwards: rings that go back and forth fill it.
const LEAVES: &str = r#"
schema = 1
name = "ranks"
[fabric]
preset = "leaf-spine"
leaves = 2
hosts_per_leaf = 12
uplinks = 8
uplink_capacity = "200 Gbps"
host = { model = "hgx-a100", nics = 4 }
[cluster]
days = 0.5
queue = "backfill"
placement = "random"
rank_order = "ORDER"
[cluster.stream]
load = 0.9
median = "20 min"
sigma = 1.0
"#;

fn cluster(text: &str, folder: &Path) -> Result<ClusterQuestion, railtwin::Error> {
    let question = Question::of_text("weeks.toml", text, folder);
    let point = question.points()?.remove(0);
    question.cluster(&point.scenario)
}

fn told(text: &str, seeds: &[u64]) -> Vec<Told> {
    let cluster = cluster(text, Path::new(".")).unwrap();
    cluster.told(&[cluster.spec.sharing], seeds, &|| ()).unwrap()
}

fn mean(told: &[Told], figure: &str) -> f64 {
    told.iter().map(|one| one.value(figure).unwrap()).sum::<f64>() / told.len() as f64
}

#[test]
fn rings_by_lot_cost_jobs_more_than_rings_in_the_order_of_leaves() {
    let of = |order: &str| told(&LEAVES.replace("ORDER", order), &[1, 2, 3]);
    let [random, topology, min_cut] = ["random", "topology", "min-cut"].map(of);
    let gpus = |told: &[Told]| told[0].jobs.iter().map(|job| job.gpus).collect::<Vec<u32>>();
    assert_eq!(gpus(&random), gpus(&topology));
    // Job-hours in which jobs contend, and what that costs them.
    let contending =
        |told: &[Told]| told.iter().flat_map(|one| &one.hours.contending).sum::<f64>() / told.len() as f64;
    let hours = [&random, &topology, &min_cut].map(|told| contending(told));
    println!("{hours:?} job-hours of contention by lot, by leaves, by the minimum cut");
    assert!(hours[0] > hours[1] && hours[0] > hours[2], "{hours:?}");
    // Of what jobs take without collisions, what others cost and what their own flows do.
    let slowdown = [&random, &topology, &min_cut].map(|told| mean(told, "slowdown_mean"));
    let own = [&random, &topology, &min_cut].map(|told| mean(told, "own_collisions"));
    println!("{slowdown:?} slowdowns, {own:?} by own collisions");
    let cost = |row: usize| slowdown[row] * own[row];
    assert!(cost(0) > 1.05 * cost(1) && cost(0) > 1.05 * cost(2), "{slowdown:?} {own:?}");
    assert!(mean(&random, "throughput_mean") < mean(&topology, "throughput_mean"));
}

/// Pods of so many hosts in one segment, and a list of jobs in a folder of its own.
fn of_list(
    name: &str,
    fabric: &str,
    cluster_keys: &str,
    list: &str,
) -> Result<ClusterQuestion, railtwin::Error> {
    let folder = std::env::temp_dir().join(format!("railtwin-ranks-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("jobs.csv"), list).unwrap();
    let text = format!(
        "schema = 1\nname = \"ranks\"\n[fabric]\npreset = \"dcn-plus\"\n{fabric}\nhost = {{ model = \"hgx-a100\" }}\n\
         [cluster]\ndays = 0.2\njobs = \"jobs.csv\"\n{cluster_keys}\n"
    );
    let asked = cluster(&text, &folder);
    std::fs::remove_dir_all(&folder).unwrap();
    asked
}

/// Hosts of eight GPUs that a job had.
fn hosts_of(told: &Told, job: &str) -> BTreeSet<u32> {
    let job = told.jobs.iter().find(|one| one.name == job).unwrap();
    job.held.iter().flat_map(|&(first, last)| first..=last).map(|gpu| gpu / 8).collect()
}

const GPT: &str = "name,submitted,gpus,duration,class\ngpt,0,128,600,gpt3-175b\nsmall,1,16,60,bert-large\n";

#[test]
fn no_pod_boundary_cuts_a_stage_where_pods_hold_them() {
    let one = |fabric: &str, keys: &str| {
        let asked = of_list("pods", fabric, keys, GPT).unwrap();
        let told = asked.told(&[asked.spec.sharing], &[1], &|| ()).unwrap().remove(0);
        (told, asked.notes)
    };
    // Eight stages of two hosts in pods of seven: three stages each, and not seven, seven and two hosts.
    let in_pods = |told: &Told| {
        let mut pods = [0; 3];
        hosts_of(told, "gpt").iter().for_each(|host| pods[*host as usize / 7] += 1);
        pods.sort_unstable();
        pods
    };
    let fabric = "pods = 3\nsegments = 1\nhosts = 7\ncores = 64";
    let (across, notes) = one(fabric, "placement = \"pp-across-pods\"");
    assert_eq!((in_pods(&across), notes.len()), ([4, 6, 6], 0));
    assert_eq!(in_pods(&one(fabric, "placement = \"segment-first\"").0), [2, 7, 7]);
    // It has no pipeline: the fewest segments.
    assert_eq!(hosts_of(&across, "small").iter().map(|host| host / 7).collect::<BTreeSet<u32>>().len(), 1);
    // Pods of three hosts hold a stage each, six in all.
    let (torn, notes) =
        one("pods = 6\nsegments = 1\nhosts = 3\ncores = 64", "placement = \"pp-across-pods\"");
    assert_eq!(hosts_of(&torn, "gpt").len(), 16);
    assert!(notes.len() == 1 && notes[0].contains("\"gpt\" with 8 stages of 16 GPUs"), "{notes:?}");
    let order = of_list("order", fabric, "placement = \"pp-across-pods\"\nrank_order = \"random\"", GPT);
    let error = order.unwrap_err().to_string();
    assert!(error.contains("rank_order = \"random\" would take pipeline stages apart"), "{error}");
}

#[test]
fn jobs_of_a_list_are_near_the_hosts_that_they_name() {
    let fabric = "pods = 2\nsegments = 2\nhosts = 4";
    let list =
        "name,submitted,gpus,duration,class,near\na,0,16,600,bert-large,9\nb,0,8,600,,2 14\nc,0,8,600,,\n";
    let asked = of_list("near", fabric, "placement = \"packed\"", list).unwrap();
    let told = asked.told(&[asked.spec.sharing], &[1], &|| ()).unwrap().remove(0);
    assert_eq!(hosts_of(&told, "a"), BTreeSet::from([8, 9]));
    assert_eq!(hosts_of(&told, "b"), BTreeSet::from([2]));
    assert_eq!(hosts_of(&told, "c"), BTreeSet::from([0]));
    let far = of_list("far", fabric, "", &list.replace("2 14", "2 16")).unwrap_err().to_string();
    assert!(far.contains("wants job \"b\" near host 16") && far.contains("hosts 0 to 15"), "{far}");
    let own = of_list("own", fabric, "placement = \"own\"", list).unwrap_err().to_string();
    assert!(own.contains("leave the column `near` away"), "{own}");
}
