//! `railtwin cluster --report`: the page beside the table and beside JSON.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test may fail, and writes files")]
use crate::harness::railtwin;

const SCENARIO: &str = r#"schema = 1
name = "one-day"
description = "A day of jobs </script>"

[fabric]
preset = "leaf-spine"
leaves = 4
hosts_per_leaf = 2
uplinks = 2
host = { model = "hgx-a100", nics = 4 }

[cluster]
days = 0.5

[cluster.stream]
load = 0.8
gpus = 32
"#;

#[test]
fn the_page_carries_what_the_command_prints() {
    let folder = tempfile::tempdir().unwrap();
    let (scenario, page) = (folder.path().join("one-day.toml"), folder.path().join("page.html"));
    std::fs::write(&scenario, SCENARIO).unwrap();
    let (scenario, report) = (scenario.to_str().unwrap(), page.to_str().unwrap());
    let call = ["cluster", scenario, "--policy", "ecmp,crux", "--seeds", "2", "--report", report];
    let told = railtwin(&call);
    assert_eq!(told.status, 0, "{}", told.notes);
    // Medians, least and most below them where seeds differ, and who did best in the mean of the seeds.
    let rows: Vec<Vec<&str>> = told.out.lines().map(|line| line.split_whitespace().collect()).collect();
    let row = |name: &str| rows.iter().position(|row| row.first() == Some(&name)).unwrap();
    let value = |row: usize, column: usize| rows[row][column].parse::<f64>().unwrap();
    let used = row("gpu_utilization");
    assert_eq!((rows[used + 1][0], rows[used + 2][0]), ("least", "most"));
    for column in [1, 2] {
        assert!(value(used + 1, column) <= value(used, column));
        assert!(value(used, column) <= value(used + 2, column));
    }
    let place = row("place");
    assert_eq!(value(place, 4) + value(place, 5), 3.0);
    assert!(told.out.ends_with(&format!("report  {report}\n")));
    let text = std::fs::read_to_string(&page).unwrap();
    let slot = "<script id=\"railtwin-data\" type=\"application/json\">";
    let (_, rest) = text.split_once(slot).unwrap();
    let payload: serde_json::Value = serde_json::from_str(rest.split_once("</script>").unwrap().0).unwrap();
    let cluster = &payload["cluster"];
    assert_eq!(
        (&payload["title"], &cluster["description"]),
        (&"one-day".into(), &"A day of jobs </script>".into())
    );
    assert_eq!(cluster["policies"], serde_json::json!(["ecmp", "crux"]));
    assert_eq!(cluster["lives"].as_array().unwrap().len(), 4);
    // The same under any call, and JSON stays alone on standard output.
    let json = railtwin(&[&call[..], &["--json"]].concat());
    assert_eq!(json.json()["runs"].as_array().unwrap().len(), 4);
    assert_eq!(std::fs::read_to_string(&page).unwrap(), text);
    let nowhere = folder.path().join("none/page.html");
    let refused = railtwin(&["cluster", scenario, "--report", nowhere.to_str().unwrap()]);
    assert!(refused.status != 0 && refused.notes.contains("cannot write"), "{}", refused.notes);
}

#[test]
fn what_a_list_has_beside_the_point_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let (scenario, list) = (folder.path().join("listed.toml"), folder.path().join("jobs.csv"));
    let text = SCENARIO.split("[cluster.stream]").next().unwrap();
    let told = |days: &str, rows: &str| {
        std::fs::write(&list, format!("name,submitted,gpus,duration,class\n{rows}")).unwrap();
        let text = text.replace("days = 0.5", &format!("days = {days}\njobs = \"jobs.csv\""));
        std::fs::write(&scenario, text).unwrap();
        railtwin(&["cluster", scenario.to_str().unwrap()])
    };
    let odd = told("1", "a,0,1,9000,gpt3-175b\nb,0,8,1 us,bert-large\n");
    assert!(odd.notes.contains("such as \"a\" with 1, where gpt3-175b has"), "{}", odd.notes);
    assert!(odd.notes.contains("such as \"b\" with 0.000001 s, where a step of bert-large"), "{}", odd.notes);
    let even = told("1", "a,0,8,9000,bert-large\n");
    assert!(even.status == 0 && !even.notes.contains("such as"), "{}", even.notes);
    assert!(even.out.starts_with("one-day: 64 GPUs, 1 day, 1 job\n"), "{}", even.out);
    std::fs::remove_file(&list).unwrap();
    railtwin(&["cluster", scenario.to_str().unwrap()])
        .assert_refused(&["cluster.jobs", "name a list of jobs"]);
    let swept = SCENARIO.replace("days = 0.5", "days = 0.1\nsharing = [\"ecmp\", \"crux\"]");
    std::fs::write(&scenario, swept).unwrap();
    let call = ["cluster", scenario.to_str().unwrap(), "--policy", "ecmp"];
    railtwin(&call).assert_refused(&["cluster.sharing", "leave --policy away"]);
    assert_eq!(railtwin(&call[..2]).status, 0);
    let nothing = ["schedule", "--what-if", scenario.to_str().unwrap()];
    assert_ne!(railtwin(&nothing).status, 0);
}

#[test]
fn several_points_are_lines_of_one_figure() {
    let folder = tempfile::tempdir().unwrap();
    let scenario = folder.path().join("choices.toml");
    let several = SCENARIO.replace("uplinks = 2", "uplinks = [1, 2]").replace("days = 0.5", "days = 0.1");
    std::fs::write(&scenario, several).unwrap();
    let scenario = scenario.to_str().unwrap();
    let call = ["cluster", scenario, "--policy", "ecmp,crux", "--figure", "slowdown_mean"];
    let told = railtwin(&call);
    assert_eq!(told.status, 0, "{}", told.notes);
    assert!(told.out.starts_with("one-day: slowdown_mean at 2 points\n"), "{}", told.out);
    let json = railtwin(&[&call[..], &["--json"]].concat()).json();
    let points = json["points"].as_array().unwrap();
    for (line, (point, uplinks)) in told.out.lines().skip(3).zip(points.iter().zip(["1", "2"])) {
        let cells: Vec<&str> = line.split_whitespace().collect();
        assert_eq!(
            (cells[0], &point["label"]["fabric.uplinks"]),
            (&*format!("fabric.uplinks={uplinks}"), &uplinks.into())
        );
        for (cell, run) in cells[1..].iter().zip(point["runs"].as_array().unwrap()) {
            let figures = run["figures"].as_array().unwrap();
            let figure = figures.iter().find(|figure| figure["name"] == "slowdown_mean").unwrap();
            assert_eq!(*cell, format!("{:.4}", figure["value"].as_f64().unwrap()));
        }
    }
    let refused = railtwin(&["cluster", scenario, "--report", "page.html"]);
    assert!(refused.status == 2 && refused.notes.contains("has 2 points"), "{}", refused.notes);
}
