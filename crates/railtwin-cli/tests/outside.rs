//! Bytes from outside: what files hold, what files are, who else is at work, where the output goes.
#![cfg(unix)]
#![allow(clippy::disallowed_methods, clippy::unwrap_used, reason = "a test: files are written and looked at")]

use crate::harness;
use std::fs;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Command, Output, Stdio};

use flate2::Compression;
use flate2::write::GzEncoder;
use harness::{PROGRAM, folder_of, railtwin, shown, small, written};
use railtwin_store::sweep_index::SweepCase;
use railtwin_store::{RunFolder, Status, SweepIndex};

/// Codes of a terminal, a title, text from right to left and a second line.
const CODES: &str = "\u{1b}[2J\u{1b}]0;x\u{7}\u{9b}31m\u{202e}\rforged";

fn assert_printable(text: &str) {
    let acts = |c: char| c != '\n' && (c.is_control() || ('\u{202a}'..='\u{202e}').contains(&c));
    assert!(!text.contains(acts), "{text:?}");
}

/// The command as a process.
fn called(folder: &Path, args: &[&str]) -> Output {
    Command::new(PROGRAM).args(args).current_dir(folder).output().unwrap()
}

fn shell(folder: &Path, line: &str) -> Output {
    let line = format!("{line}\n");
    Command::new("sh").arg("-c").arg(line).env("RAILTWIN", PROGRAM).current_dir(folder).output().unwrap()
}

fn words(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    text.split_whitespace().filter(|piece| *piece != "│").collect::<Vec<_>>().join(" ")
}

#[test]
fn names_from_outside_do_not_act_on_a_terminal() {
    let folder = tempfile::tempdir().unwrap();
    let escaped: String = CODES.chars().map(|c| format!("\\U{:08x}", u32::from(c))).collect();
    let good = small("two", "");
    for (what, text) in [
        ("a value", good.replace("leaf-spine", &escaped)),
        ("a key", good.replace("hosts = 2", &format!("\"{escaped}\" = 2"))),
        ("a comment", format!("{good}# {CODES}\n")),
        ("a job", good.replace("hosts = 2", &format!("hosts = 2\nname = \"{escaped}\""))),
    ] {
        let outcome = railtwin(&["run", &written(folder.path(), "a.toml", &text), "--no-folder"]);
        assert_printable(&outcome.out);
        assert_printable(&outcome.notes);
        assert!(what == "a job" || outcome.status == 2, "{what}: {}", outcome.notes);
    }
    // A file of that name, on a line of its own.
    let name = format!("{CODES}\nforged.toml");
    let outcome = railtwin(&["run", &shown(&folder.path().join(&name))]);
    assert_printable(&outcome.notes);
    outcome.assert_refused(&["\\nforged.toml", "\\u001b[2J"]);
    // A folder from elsewhere, as text and as JSON.
    let scenario = written(folder.path(), "two.toml", &good);
    let answer = railtwin(&["run", &scenario, "--json", "--out", &shown(folder.path())]).json();
    let run = RunFolder::open(&folder_of(&answer, 0)).unwrap();
    let mut info = run.info().unwrap();
    info.name = CODES.to_owned();
    info.figures[0].name = CODES.to_owned();
    info.figures[0].unit = CODES.to_owned();
    info.warnings.push(CODES.to_owned());
    run.write_info(&info).unwrap();
    let path = shown(run.path());
    let page = shown(&folder.path().join("both.html"));
    let text = railtwin(&["compare", &path, &path, "--report", &page]);
    assert_eq!(text.status, 0, "{}", text.notes);
    assert_printable(&text.out);
    assert_printable(&text.notes);
    assert!(text.out.contains("\\u001b[2J"));
    let json = railtwin(&["compare", &path, &path, "--report", &page, "--json"]);
    assert_printable(&json.out);
    json.json();
}

#[test]
fn inputs_are_regular_files_of_bounded_size() {
    let folder = tempfile::tempdir().unwrap();
    let good = written(folder.path(), "two.toml", &small("two", ""));
    let pipe = shown(&folder.path().join("pipe"));
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let place = shown(folder.path());
    for (input, what) in [("/dev/zero", "a device"), (pipe.as_str(), "a pipe"), (place.as_str(), "a folder")]
    {
        let words = [what, "only regular files are read"];
        railtwin(&["run", input]).assert_refused(&words);
        railtwin(&["paths", input, input]).assert_refused(&words);
        railtwin(&["paths", &good, input]).assert_refused(&words);
        railtwin(&["downtime", input]).assert_refused(&words);
        railtwin(&["downtime", "--plan", input]).assert_refused(&words);
        railtwin(&["downtime", "--replay", input]).assert_refused(&words);
        if input != place {
            railtwin(&["diagnose", input]).assert_refused(&words);
            railtwin(&["import", input]).assert_refused(&words);
        }
    }
    fs::rename(&pipe, folder.path().join("pipe.toml")).unwrap();
    railtwin(&["design", &shown(&folder.path().join("pipe.toml"))]).assert_refused(&["a pipe"]);
    for key in ["workload = { simai = \"/dev/zero\" }", "workload = { connections = \"/dev/zero\" }"] {
        let text =
            small("two", "").replace("collective = { kind = \"all-reduce\", bytes = \"64 MiB\" }", key);
        railtwin(&["run", &written(folder.path(), "zero.toml", &text)]).assert_refused(&["a device"]);
    }
    // The limit is set by the flag or by the environment; the flag wins.
    let limited = called(folder.path(), &["run", &good, "--no-folder", "--input-limit", "100 B"]);
    assert_eq!(limited.status.code(), Some(2));
    assert!(words(&limited.stderr).contains("more than 100 B, the most that is read"), "{limited:?}");
    let mut command = Command::new(PROGRAM);
    command.args(["design", &good]).env("RAILTWIN_INPUT_LIMIT", "100 B");
    assert_eq!(command.output().unwrap().status.code(), Some(2));
    assert_eq!(command.args(["--input-limit", "1 MiB"]).output().unwrap().status.code(), Some(0));
    assert_eq!(command.env("RAILTWIN_INPUT_LIMIT", "much").output().unwrap().status.code(), Some(0));
    let wrong = Command::new(PROGRAM).arg("schema").env("RAILTWIN_INPUT_LIMIT", "much").output().unwrap();
    assert!(
        wrong.status.code() == Some(2) && words(&wrong.stderr).contains("RAILTWIN_INPUT_LIMIT"),
        "{wrong:?}"
    );
}

#[test]
fn what_is_packed_is_bounded_by_what_it_unpacks_to() {
    let folder = tempfile::tempdir().unwrap();
    let mut packed = GzEncoder::new(Vec::new(), Compression::best());
    packed.write_all(&vec![0; 8 << 20]).unwrap();
    let packed = packed.finish().unwrap();
    assert!(packed.len() < 16 << 10);
    let bomb = folder.path().join("bomb.0.et");
    fs::write(&bomb, packed).unwrap();
    let text = small("two", "").replace(
        "collective = { kind = \"all-reduce\", bytes = \"64 MiB\" }",
        "workload = { chakra = \"bomb\" }",
    );
    let scenario = written(folder.path(), "bomb.toml", &text);
    let bomb = shown(&bomb);
    for args in [["diagnose", &bomb], ["import", &bomb], ["run", &scenario]] {
        let outcome = called(folder.path(), &[&args[..], &["--input-limit", "1 MiB"]].concat());
        assert_eq!(outcome.status.code(), Some(2), "{args:?}");
        assert!(words(&outcome.stderr).contains("unpacks to more than 1 MiB"), "{args:?}: {outcome:?}");
    }
    // Among others it is passed over, with a note.
    let mixed = folder.path().join("mixed");
    fs::create_dir(&mixed).unwrap();
    fs::copy(&bomb, mixed.join("bomb.gz")).unwrap();
    let trace = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../data/telemetry/megatron_straggler/trace-ST.parquet");
    fs::copy(trace, mixed.join("trace-ST.parquet")).unwrap();
    let outcome = called(folder.path(), &["diagnose", "mixed", "--input-limit", "1 MiB"]);
    assert_ne!(outcome.status.code(), Some(2), "{outcome:?}");
    assert!(words(&outcome.stdout).contains("unpacks to more than 1 MiB"), "{outcome:?}");
}

#[test]
fn errors_do_not_print_files_that_are_not_ours() {
    let folder = tempfile::tempdir().unwrap();
    let good = written(folder.path(), "two.toml", &small("two", ""));
    // As of /etc/shadow, of an INI file, of TOML, CSV and JSON, each with its own kind of error.
    for secret in [
        "root:s3cret:19000:0:99999:7:::\n",
        "# comment\n[core]\npassword = s3cret\n",
        "password = \"s3cret\"\n",
        "s3cret,b\n1,2\n",
        "{\"s3cret\": \"s3cret\"}\n",
        "[{\"s3cret\": \"s3cret\"}]\n",
        "\"s3cret\" s3cret\n",
    ] {
        let mut calls = Vec::new();
        let file = written(folder.path(), "shadow", secret);
        let json = written(folder.path(), "shadow.json", secret);
        for file in [&file, &json] {
            calls.extend([
                vec!["run", file],
                vec!["sweep", file],
                vec!["design", file],
                vec!["paths", file, file],
                vec!["paths", &good, file],
                vec!["import", file],
                vec!["import", file, "--as", "simai"],
                vec!["import", file, "--as", "lingjun"],
                vec!["import", file, "--as", "htsim"],
                vec!["import", file, "--as", "connections"],
                vec!["downtime", file],
                vec!["downtime", "--plan", file],
                vec!["downtime", "--replay", file],
                vec!["diagnose", file],
                vec!["diagnose", file, "--fabric", file],
            ]);
        }
        let run = folder.path().join("run");
        fs::create_dir_all(&run).unwrap();
        fs::copy(&file, run.join("run.json")).unwrap();
        let run = shown(&run);
        calls.extend([vec!["compare", &run, &run], vec!["report", &run], vec!["diagnose", &run]]);
        for call in calls {
            let outcome = railtwin(&call);
            assert_eq!(outcome.status, 2, "{call:?}");
            assert!(
                !(outcome.out + &outcome.notes).contains("s3cret"),
                "{call:?} of {secret:?}: {}",
                outcome.notes
            );
        }
        for (from, to) in [
            (
                "collective = { kind = \"all-reduce\", bytes = \"64 MiB\" }",
                "workload = { simai = \"shadow\" }",
            ),
            (
                "collective = { kind = \"all-reduce\", bytes = \"64 MiB\" }",
                "workload = { connections = \"shadow\" }",
            ),
            ("preset = \"leaf-spine\"", "lingjun = \"shadow\""),
            ("preset = \"leaf-spine\"", "htsim = \"shadow\""),
        ] {
            let text = small("two", "").replace(from, to);
            let outcome = railtwin(&["run", &written(folder.path(), "names.toml", &text)]);
            assert_eq!(outcome.status, 2, "{to}");
            assert!(!outcome.notes.contains("s3cret"), "{to} of {secret:?}: {}", outcome.notes);
        }
    }
}

#[test]
fn one_process_writes_a_folder() {
    let folder = tempfile::tempdir().unwrap();
    let scenario = written(folder.path(), "two.toml", &small("two", ""));
    let runs = shown(&folder.path().join("runs"));
    let call = ["run", &scenario, "--out", &runs, "--json"];
    let answer = railtwin(&call).json();
    let run = RunFolder::open(&folder_of(&answer, 0)).unwrap();
    let (path, mut info) = (run.path().to_owned(), run.info().unwrap());
    run.remove().unwrap();
    info.status = Status::Running;
    let other = RunFolder::create(&path, &info, "", "").unwrap();
    for call in [&call[..], &[&call[..], &["--force"]].concat()] {
        let outcome = railtwin(call);
        assert_eq!((outcome.status, outcome.out.as_str()), (1, ""), "{}", outcome.notes);
        let notes = words(outcome.notes.as_bytes());
        assert!(notes.contains("another process is writing this folder; wait until it has ended"), "{notes}");
        assert_eq!(outcome.notes.matches(" × ").count(), 1, "{notes}");
    }
    assert_eq!(RunFolder::open(&path).unwrap().info().unwrap().status, Status::Running);
    // As when its process is killed: the system takes the lock back. Processes that other tests start hold it on until
    // they are the command.
    drop(other);
    let status = || RunFolder::open(&path).unwrap().info().unwrap().status;
    for _ in 0..200 {
        if status() == Status::Interrupted {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    assert_eq!(status(), Status::Interrupted);
    assert!(railtwin(&call).json()["runs"][0]["wall_s"].is_number(), "what was interrupted is run again");
    assert!(!path.join(".railtwin.lock").exists());

    let scenario = written(folder.path(), "sweep.toml", &small("both", "[routing]\nqueue_pairs = [1, 2]\n"));
    let index = SweepIndex::resume(
        Path::new(&runs).join("both").as_path(),
        "both",
        vec![SweepCase::waiting(&[], "a")],
    );
    let outcome = railtwin(&["sweep", &scenario, "--out", &runs]);
    assert_eq!(outcome.status, 1, "{}", outcome.notes);
    assert!(words(outcome.notes.as_bytes()).contains("another process is writing this folder"));
    drop(index.unwrap());
    assert_eq!(railtwin(&["sweep", &scenario, "--out", &runs]).status, 0);
}

#[test]
fn two_runs_at_the_same_time_leave_one_whole_folder() {
    let folder = tempfile::tempdir().unwrap();
    let scenario = written(folder.path(), "two.toml", &small("two", "[run]\nreplicates = 20\n"));
    let start = || {
        let mut command = Command::new(PROGRAM);
        command.args(["run", &scenario, "--json"]).current_dir(folder.path());
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let outcomes = [start(), start(), start()].map(|child| child.wait_with_output().unwrap());
    let codes: Vec<_> = outcomes.iter().map(|outcome| outcome.status.code()).collect();
    assert!(codes.contains(&Some(0)), "{outcomes:?}");
    for outcome in outcomes.iter().filter(|outcome| outcome.status.code() != Some(0)) {
        let notes = words(&outcome.stderr);
        assert!(notes.contains("another process is writing") || notes.contains("exists already"), "{notes}");
    }
    let runs: Vec<_> =
        fs::read_dir(folder.path().join("runs")).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(runs.len(), 1, "nothing lies beside it: {runs:?}");
    assert_eq!(RunFolder::open(&runs[0]).unwrap().info().unwrap().status, Status::Complete);
}

#[test]
fn force_removes_what_railtwin_wrote_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let scenario = written(folder.path(), "two.toml", &small("two", ""));
    let runs = shown(&folder.path().join("runs"));
    let call = ["run", &scenario, "--out", &runs, "--json", "--force"];
    let run = folder_of(&railtwin(&call).json(), 0);
    fs::write(run.join("notes.txt"), "precious").unwrap();
    railtwin(&call).assert_refused(&["there is notes.txt", "nothing was removed"]);
    assert_eq!(fs::read_to_string(run.join("notes.txt")).unwrap(), "precious");
    assert_eq!(RunFolder::open(&run).unwrap().info().unwrap().status, Status::Complete);
    fs::remove_file(run.join("notes.txt")).unwrap();
    std::os::unix::fs::symlink(&scenario, run.join("links2.parquet")).unwrap();
    railtwin(&call).assert_refused(&["there is links2.parquet"]);
    fs::remove_file(run.join("links2.parquet")).unwrap();
    railtwin(&call).json();
    assert!(Path::new(&scenario).is_file());

    // `import --force` replaces scenarios.
    let trace = written(folder.path(), "m.cm", "Nodes 2\nConnections 1\n0->1 start 0 size 2000000\n");
    let bashrc = written(folder.path(), "bashrc", "alias ll='ls -l'\n");
    railtwin(&["import", &trace, "--scenario", &bashrc, "--force"]).assert_refused(&["is no scenario"]);
    assert_eq!(fs::read_to_string(&bashrc).unwrap(), "alias ll='ls -l'\n");
    let ours = written(folder.path(), "ours.toml", "schema = 1\n");
    assert_eq!(railtwin(&["import", &trace, "--scenario", &ours, "--force"]).status, 0);
    assert!(fs::read_to_string(&ours).unwrap().contains("m.cm"));
}

#[test]
fn files_are_written_whole_or_not_at_all() {
    let folder = tempfile::tempdir().unwrap();
    let scenario = written(folder.path(), "two.toml", &small("two", ""));
    let runs = shown(&folder.path().join("runs"));
    let run = folder_of(&railtwin(&["run", &scenario, "--out", &runs, "--json"]).json(), 0);
    let run = shown(&run);
    let demands: String = (0..4).map(|row| format!("host-{row},host-{}\n", row + 4)).collect();
    written(
        folder.path(),
        "demands.csv",
        &format!("source,target,queue_pairs\n{}", demands.replace('\n', ",64\n")),
    );
    let before = fs::read_dir(folder.path()).unwrap().count();
    // As on a full disk: no file may grow beyond 4 KiB.
    let full = "trap '' XFSZ; ulimit -f 8; exec \"$RAILTWIN\"";
    for call in [
        format!("report '{run}' --out page.html"),
        format!("compare '{run}' '{run}' --report page.html"),
        "paths two.toml demands.csv --output paths.csv".to_owned(),
    ] {
        let outcome = shell(folder.path(), &format!("{full} {call}"));
        assert_eq!(outcome.status.code(), Some(1), "{call}: {outcome:?}");
        assert!(words(&outcome.stderr).contains("cannot write"), "{call}: {outcome:?}");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), before, "{call}");
    }
    // What was there stays, and devices are not replaced.
    written(folder.path(), "page.html", "the old one");
    shell(folder.path(), &format!("{full} report '{run}' --out page.html"));
    assert_eq!(fs::read_to_string(folder.path().join("page.html")).unwrap(), "the old one");
    assert_eq!(
        shell(folder.path(), &format!("\"$RAILTWIN\" report '{run}' --out page.html")).status.code(),
        Some(0)
    );
    assert!(fs::read_to_string(folder.path().join("page.html")).unwrap().ends_with("</html>\n"));
    let device = railtwin(&["report", &run, "--out", "/dev/null"]);
    assert_eq!(device.status, 1);
    assert!(device.notes.contains("device"), "{}", device.notes);
}

#[test]
fn output_that_does_not_arrive_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    written(folder.path(), "two.toml", &small("two", ""));
    for verb in
        ["schema", "design two.toml", "run two.toml", "run two.toml --json", "--help", "downtime --table3"]
    {
        for target in [">/dev/full", ">&-", "1</dev/null"] {
            if target == ">/dev/full" && !Path::new("/dev/full").exists() {
                continue;
            }
            if target == ">&-" && !Path::new("/proc/self/fd").exists() {
                continue;
            }
            let outcome = shell(folder.path(), &format!("exec \"$RAILTWIN\" {verb} {target}"));
            assert_eq!(outcome.status.code(), Some(1), "{verb} {target}: {outcome:?}");
            assert!(words(&outcome.stderr).contains("cannot write"), "{verb} {target}: {outcome:?}");
        }
        let kept = shell(folder.path(), &format!("exec \"$RAILTWIN\" {verb} >/dev/null"));
        assert_eq!(kept.status.code(), Some(0), "{verb}");
    }
    // A reader that goes early is told by the status alone.
    let mut command = Command::new(PROGRAM);
    let mut child = command.arg("schema").stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut first = [0; 1];
    child.stdout.take().unwrap().read_exact(&mut first).unwrap();
    let ended = child.wait_with_output().unwrap();
    assert_eq!((ended.status.code(), ended.stderr.as_slice()), (Some(141), &b""[..]));
}
