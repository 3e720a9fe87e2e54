//! `railtwin sweep`: points in processes, what is kept when one crashes or the whole is killed.
#![allow(clippy::disallowed_methods, clippy::unwrap_used, reason = "a test: files are written and looked at")]

use crate::harness;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use harness::{PROGRAM, folder_of, railtwin, railtwin_as, shown, small, written};
use railtwin_store::{RunFolder, Status, SweepIndex};

/// Four points and a gain.
const AXES: &str = "[run]\nreplicates = 2\n\n[routing]\nbalancer = [\"ecmp\", \"disjoint\"]\nqueue_pairs = [1, 2]\n\n\
                    [gain]\nfigure = \"busbw_mean\"\naxis = \"routing.balancer\"\nover = \"ecmp\"\n";

#[test]
fn points_of_a_steered_run_show_what_it_cost() {
    let folder = tempfile::tempdir().unwrap();
    let text = "schema = 1\nname = \"steered\"\n[fabric]\npreset = \"hpn\"\nsegments = 1\nhosts = 2\nspare_hosts = 1\n\
                spines = 2\n[[job]]\nname = \"train\"\nplacement = { hosts = [0, 1] }\nsteps = 20\n\
                collective = { kind = \"all-reduce\", bytes = \"8 MB\", compute = \"500 us\" }\n\
                [steering]\nc4d = [true, false]\ncheckpoint = \"2 ms\"\ndetection = \"3 ms\"\nisolation = \"2 ms\"\n\
                restart = \"4 ms\"\nwatchdog = \"9 ms\"\nby_hand = { ecc_nvlink = \"30 ms\" }\n\
                [[fault]]\nat = \"6 ms\"\nkind = \"gpu-error\"\nrank = \"train/9\"\ncause = \"ecc\"\n";
    let scenario = written(folder.path(), "steered.toml", text);
    let out = railtwin(&["sweep", &scenario, "--out", &shown(&folder.path().join("runs"))]).out;
    let lines: Vec<&str> = out.lines().collect();
    for name in ["downtime", "detected_after", "steps_kept"] {
        assert!(lines[0].contains(name), "{out}");
    }
    assert!(lines[1].contains("3.000 ms") && lines[2].contains("9.000 ms"), "{out}");
}

#[test]
fn all_points_run_and_only_what_is_missing_runs_again() {
    let folder = tempfile::tempdir().unwrap();
    let scenario = written(folder.path(), "four.toml", &small("four", AXES));
    let runs = folder.path().join("runs");
    let out = shown(&runs);
    let call = ["sweep", &scenario, "--out", &out, "--jobs", "2", "--json"];
    let first = railtwin(&call).json();
    assert_eq!(first["runs"].as_array().unwrap().len(), 4);
    assert!(first["runs"].as_array().unwrap().iter().all(|run| run["wall_s"].is_number()));
    assert!(first["figures"]["gain_mean"].as_f64().unwrap() >= 0.0);
    assert_eq!(first["runs"][3]["label"]["routing.balancer"], "disjoint");
    // The same figures as in one process.
    let plain = railtwin(&["run", &scenario, "--no-folder", "--json"]).json();
    for point in 0..4 {
        assert_eq!(first["runs"][point]["figures"], plain["runs"][point]["figures"]);
        assert_eq!(first["runs"][point]["run_id"], plain["runs"][point]["run_id"]);
    }

    // One is cut off, one is gone: these two run again.
    let cut_off = RunFolder::open(&folder_of(&first, 1)).unwrap();
    let mut info = cut_off.info().unwrap();
    info.status = Status::Running;
    cut_off.write_info(&info).unwrap();
    RunFolder::open(&folder_of(&first, 2)).unwrap().remove().unwrap();
    let again = railtwin(&call).json();
    let ran: Vec<bool> = (0..4).map(|point| again["runs"][point]["wall_s"].is_number()).collect();
    assert_eq!(ran, [false, true, true, false]);
    assert_eq!(again["figures"], first["figures"]);

    let text = railtwin(&call[..6]);
    let lines: Vec<&str> = text.out.lines().collect();
    assert!(lines[0].contains("routing.balancer") && lines[0].contains("busbw_mean"), "{}", text.out);
    assert!(lines[4].starts_with("disjoint") && lines[6].starts_with("gain_min"), "{}", text.out);
    assert!(text.out.contains("(0 run now, 4 taken as they were)") && text.notes.is_empty());
    let forced = railtwin(&[&call[..], &["--force"]].concat()).json();
    assert!(forced["runs"].as_array().unwrap().iter().all(|run| run["wall_s"].is_number()));
}

#[test]
fn a_point_that_no_gpu_holds_is_marked() {
    let folder = tempfile::tempdir().unwrap();
    let collective = "collective = { kind = \"all-reduce\", bytes = \"64 MiB\" }";
    let workload = "workload = { recipe = \"llama-7b\", dp = 16, zero = [0, 1], memory = \"allow\" }";
    let scenario = written(folder.path(), "zero.toml", &small("zero", "").replace(collective, workload));
    let text = railtwin(&["sweep", &scenario, "--out", &shown(&folder.path().join("runs"))]);
    assert_eq!(text.status, 0, "{}", text.notes);
    let lines: Vec<&str> = text.out.lines().collect();
    assert!(lines[0].contains("gpu_memory_share"), "{}", text.out);
    let warnings: Vec<&&str> = lines.iter().filter(|line| line.starts_with("warning")).collect();
    assert!(
        warnings.len() == 1 && warnings[0].starts_with("warning  job.workload.zero=0: job job-0"),
        "{}",
        text.out
    );
    // What one point alone assumes, here that ZeRO parts nothing, is none of all.
    let assumed: Vec<&&str> = lines.iter().filter(|line| line.starts_with("assumed")).collect();
    assert!(assumed.iter().any(|line| line.contains("(job.workload.efficiency)")), "{}", text.out);
    assert!(!assumed.iter().any(|line| line.contains("(job.workload.zero)")), "{}", text.out);
}

#[test]
fn a_wrong_point_is_told_before_anything_runs() {
    let folder = tempfile::tempdir().unwrap();
    let text = small("wrong", "").replace("hosts = 2", "hosts = [2, 4, 100_000]");
    let scenario = written(folder.path(), "wrong.toml", &text);
    let runs = folder.path().join("runs");
    for verb in ["sweep", "run"] {
        railtwin(&[verb, &scenario, "--out", &shown(&runs)]).assert_refused(&[
            "wrong.toml:7",
            "at job.hosts=100000",
            "make the job smaller",
        ]);
    }
    assert!(!runs.exists());
}

#[cfg(unix)]
#[test]
fn a_crash_loses_its_point_alone() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let scenario = written(folder.path(), "four.toml", &small("four", AXES));
    let runs = shown(&folder.path().join("runs"));
    let plain = railtwin(&["run", &scenario, "--no-folder", "--json"]).json();
    let doomed = plain["runs"][1]["run_id"].as_str().unwrap();
    let script = format!("#!/bin/sh\ncase \"$*\" in *{doomed}*) kill -9 $$;; esac\nexec {PROGRAM} \"$@\"\n");
    let program = written(folder.path(), "crashing", &script);
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let crashed = railtwin_as(&program, &["sweep", &scenario, "--out", &runs]);
    assert_eq!(crashed.status, 1);
    for words in ["1 of 4 points failed", "queue_pairs=2", "signal"] {
        assert!(crashed.notes.contains(words), "{words}:\n{}", crashed.notes);
    }
    assert!(crashed.out.contains("(3 run now"), "{}", crashed.out);
    let mended = railtwin(&["sweep", &scenario, "--out", &runs, "--json"]).json();
    let ran = |point: usize| mended["runs"][point]["wall_s"].is_number();
    assert_eq!([0, 1, 2, 3].map(ran), [false, true, false, false]);
}

#[test]
fn shares_of_the_points_make_one_sweep_and_touch_no_index() {
    let folder = tempfile::tempdir().unwrap();
    let scenario = written(folder.path(), "four.toml", &small("four", AXES));
    let (runs, sweep) = (shown(&folder.path().join("runs")), folder.path().join("runs/four"));
    let share = |share: &str| railtwin(&["sweep", &scenario, "--out", &runs, "--points", share]);
    for (which, count) in [("1/3", 2), ("2/3", 1), ("3/3", 1)] {
        let done = share(which);
        assert_eq!(done.status, 0, "{}", done.notes);
        assert!(done.out.contains(&format!("({count} run now, 0 taken as they were)")), "{}", done.out);
        // A gain is of all points.
        assert!(!done.out.contains("gain"), "{}", done.out);
    }
    assert!(!sweep.join("sweep.json").exists());
    let whole = railtwin(&["sweep", &scenario, "--out", &runs]);
    assert!(whole.out.contains("(0 run now, 4 taken as they were)"), "{}", whole.out);
    assert_eq!(statuses(&sweep), [Status::Complete; 4]);
    for wrong in ["0/3", "4/3", "3", "1/0", "a/b"] {
        let refused = share(wrong);
        assert_eq!(refused.status, 2);
        assert!(refused.notes.contains("write I/N with I from 1 to N"), "{}", refused.notes);
    }
}

#[test]
fn a_batch_file_asks_for_what_its_tasks_take() {
    let folder = tempfile::tempdir().unwrap();
    let many = small("many", "[run]\nreplicates = 2\n").replace("hosts = 2\n", "hosts = 2\nstart = [0]\n");
    let times: Vec<String> = (0..1500).map(|at| format!("\"{at} us\"")).collect();
    let many = many.replace("[0]", &format!("[{}]", times.join(", ")));
    let scenario = written(folder.path(), "many.toml", &many);
    let batch = railtwin(&["sweep", &scenario, "--sbatch", "--threads", "2", "--jobs", "3"]);
    assert_eq!(batch.status, 0, "{}", batch.notes);
    for line in [
        "# The 1500 points of many, up to 2 in each task. Submit it again to run what is missing.",
        "#SBATCH --job-name=many",
        "#SBATCH --array=1-1000",
        "#SBATCH --cpus-per-task=6",
        "#SBATCH --mem=1024M",
    ] {
        assert!(batch.out.lines().any(|said| said == line), "{line}:\n{}", batch.out);
    }
    let call = batch.out.lines().last().unwrap();
    assert!(call.ends_with("--threads 2 --jobs 3 --points \"$SLURM_ARRAY_TASK_ID/1000\""), "{call}");
    let limited = railtwin(&["sweep", &scenario, "--sbatch", "--memory", "8 GiB", "--engine", "flow"]);
    assert!(limited.out.contains("#SBATCH --mem=8192M\n"), "{}", limited.out);
    assert!(limited.out.contains(" --engine flow --memory '8589934592 B' --jobs 1 "), "{}", limited.out);
    railtwin(&["sweep", &scenario, "--sbatch", "--memory", "1 MiB"]).assert_refused(&["1 MiB", "too large"]);
}

#[cfg(target_os = "linux")]
#[test]
fn a_path_that_cannot_travel_is_refused() {
    use std::os::unix::ffi::OsStrExt;
    let folder = tempfile::tempdir().unwrap();
    let scenario = written(folder.path(), "four.toml", &small("four", AXES));
    let out = folder.path().join(std::ffi::OsStr::from_bytes(b"\xff"));
    for how in [&["--on", "ray"][..], &["--sbatch"]] {
        let call = Command::new(PROGRAM).args(["sweep", &scenario]).args(how).arg("--out").arg(&out).output();
        let (call, words) = call.map(|call| (call.status, String::from_utf8(call.stderr).unwrap())).unwrap();
        assert_eq!(call.code(), Some(2), "{words}");
        assert!(words.contains("UTF-8"), "{words}");
    }
    assert!(!out.exists());
}

/// Waits until something holds.
fn until(what: &str, holds: &dyn Fn() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < Duration::from_secs(60), "{what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn statuses(sweep: &Path) -> Vec<Status> {
    let index = SweepIndex::open(sweep);
    index.map_or_else(|_| Vec::new(), |index| index.cases().iter().map(|case| case.status).collect())
}

#[cfg(target_os = "linux")]
fn processes_of(sweep: &Path) -> usize {
    let sweep = shown(sweep);
    let lines = std::fs::read_dir("/proc").unwrap().filter_map(|entry| {
        let line = std::fs::read(entry.ok()?.path().join("cmdline")).ok()?;
        Some(String::from_utf8_lossy(&line).into_owned())
    });
    lines.filter(|line| line.contains("run-point") && line.contains(&sweep)).count()
}

#[cfg(target_os = "linux")]
#[test]
fn a_killed_sweep_leaves_no_process_and_is_taken_up() {
    let folder = tempfile::tempdir().unwrap();
    // The first point is over at once, the second would take minutes.
    let text = small("long", "[run]\nreplicates = [1, 100_000]\n");
    let scenario = written(folder.path(), "long.toml", &text);
    let runs = folder.path().join("runs");
    let sweep = runs.join("long");
    let mut child = Command::new(PROGRAM)
        .args(["sweep", &scenario, "--out", &shown(&runs), "--jobs", "1"])
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    until("the second point runs", &|| statuses(&sweep) == [Status::Complete, Status::Running]);
    until("its run folder can be read", &|| {
        let index = SweepIndex::open(&sweep).unwrap();
        let run = RunFolder::find(&index.run_path(&index.cases()[1]));
        run.is_ok_and(|run| run.is_some_and(|run| run.info().unwrap().status == Status::Running))
    });
    assert_eq!(processes_of(&sweep), 1);
    child.kill().unwrap();
    child.wait().unwrap();
    until("the process of the point ends", &|| processes_of(&sweep) == 0);

    let shorter = text.replace("100_000", "2");
    std::fs::write(&scenario, shorter).unwrap();
    let again = railtwin(&["sweep", &scenario, "--out", &shown(&runs), "--json"]).json();
    let ran: Vec<bool> = (0..2).map(|point| again["runs"][point]["wall_s"].is_number()).collect();
    assert_eq!(ran, [false, true]);
}

/// The same change read as less time and as more bandwidth is a gain both times, in percent of the named base.
#[test]
fn a_gain_is_positive_where_less_is_better_too() {
    let folder = tempfile::tempdir().unwrap();
    let of = |figure: &str| {
        let text = format!(
            "schema = 1\nname = \"gain\"\n[fabric]\npreset = \"leaf-spine\"\nleaves = 2\nhosts_per_leaf = 2\n\
             uplinks = [1, 4]\nparallel = 1\nhost.model = \"plain\"\n[[job]]\nhosts = 4\nplacement = \"spread\"\n\
             collective = {{ kind = \"all-reduce\", bytes = \"64 MB\" }}\n\
             [gain]\nfigure = \"{figure}\"\naxis = \"fabric.uplinks\"\nover = \"1\"\n"
        );
        let scenario = written(folder.path(), &format!("{figure}.toml"), &text);
        let text = railtwin(&["run", &scenario, "--no-folder"]).out;
        (railtwin(&["run", &scenario, "--no-folder", "--json"]).json(), text)
    };
    let [(time, text), (bandwidth, _)] = [of("step_time"), of("busbw_mean")];
    let gain = |answer: &serde_json::Value, name: &str| answer["figures"][name].as_f64().unwrap();
    assert!(gain(&time, "gain_max") > 0.01 && gain(&bandwidth, "gain_max") > 0.01, "{text}");
    assert_eq!((&time["gain"]["better"], &bandwidth["gain"]["better"]), (&"less".into(), &"more".into()));
    // Bandwidth is bytes over time: 1 / (1 - g) of it in (1 - g) of the time.
    for name in time["figures"].as_object().unwrap().keys().filter(|name| name.starts_with("gain[")) {
        let (less, more) = (gain(&time, name), gain(&bandwidth, name));
        assert!((1.0 / (1.0 - less) - 1.0 - more).abs() < 0.02, "{name}: {less} {more}");
    }
    assert!(
        text.contains("gain in step_time, in % of its value at fabric.uplinks = 1 (less is better"),
        "{text}"
    );
    let most = text.lines().find(|line| line.starts_with("gain_max")).unwrap();
    assert!(most.ends_with(&format!("+{:.2} %", 100.0 * gain(&time, "gain_max"))), "{most}");
    let point = text.lines().find(|line| line.starts_with("gain[")).unwrap();
    assert!(point.contains(" base ") && point.contains('%'), "{point}");
}
