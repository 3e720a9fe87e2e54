//! Who is told of tests that failed: the host that explains most of them, and nobody where nothing tells.
use super::*;
use railtwin_formats::telemetry::NcclTestDevice;

fn test(hosts: &[&str], end: Option<NcclTestEnd>) -> NcclTest {
    let device = |host: &&str| NcclTestDevice { host: (*host).to_owned(), ..NcclTestDevice::default() };
    let failure = |end| NcclTestFailure {
        end,
        line: String::new(),
        number: 9,
        host: None,
        own: false,
        others: Vec::new(),
        after_bytes: None,
    };
    NcclTest {
        name: "alltoall_perf".into(),
        devices: hosts.iter().map(device).collect(),
        complete: end.is_none(),
        failure: end.map(failure),
        ..NcclTest::default()
    }
}

const HUNG: Option<NcclTestEnd> = Some(NcclTestEnd::CutOff);
const DIED: Option<NcclTestEnd> = Some(NcclTestEnd::Died);

/// All pairs of some hosts, each a log of its own; `end` says how one ended.
fn pairs(hosts: usize, end: impl Fn(usize, usize) -> Option<NcclTestEnd>) -> Vec<(String, Vec<NcclTest>)> {
    let name = |host: usize| format!("h{host:02}");
    let mut files = Vec::new();
    for a in 0..hosts {
        for b in a + 1..hosts {
            let test = test(&[&name(a), &name(b)], end(a, b));
            files.push((format!("{a}-{b}.log"), vec![test]));
        }
    }
    files
}

fn accused(files: &[(String, Vec<NcclTest>)]) -> Vec<(String, usize)> {
    let (found, ..) = of_failed_tests("nccl-tests", files);
    let accusing = found.iter().filter(|finding| finding.accuses());
    accusing.map(|one| (one.suspects[0].component.name().to_owned(), one.suspects.len())).collect()
}

#[test]
fn a_host_that_fails_in_all_of_its_tests_is_named() {
    let files = pairs(6, |a, b| DIED.filter(|_| a == 2 || b == 2));
    assert_eq!(accused(&files), [("h02".to_owned(), 1)]);
    let (found, notes, failed) = of_failed_tests("nccl-tests", &files);
    assert_eq!((found.len(), failed), (1, 5));
    assert_eq!(found[0].syndrome, Syndrome::Crash);
    assert!(
        found[0].evidence[0].words().contains("host h02: in 5 of 5 logs of tests that died"),
        "{}",
        found[0].evidence[0].words()
    );
    assert_eq!(notes, ["nccl-tests: 5 of 15 tests did not come to their end"]);
}

#[test]
fn two_hosts_that_fail_now_and_then_are_told_one_after_the_other() {
    let bad = [(2, 8), (3, 8), (8, 9), (5, 16), (7, 16)];
    let files = pairs(17, |a, b| HUNG.filter(|_| bad.contains(&(a, b))));
    assert_eq!(accused(&files), [("h08".to_owned(), 1), ("h16".to_owned(), 1)]);
}

#[test]
fn failures_that_fall_anywhere_accuse_nobody_and_are_told() {
    let bad = [(0, 1), (2, 3), (4, 5), (6, 7)];
    let files = pairs(12, |a, b| HUNG.filter(|_| bad.contains(&(a, b))));
    let (found, ..) = of_failed_tests("nccl-tests", &files);
    assert_eq!((found.len(), accused(&files).len()), (4, 0));
    assert!(found.iter().all(|one| one.suspects.len() == 3 && one.advice.contains("not enough evidence")));
}

#[test]
fn logs_that_all_failed_tell_no_host_from_how_they_were_started() {
    let one = [("a.log".to_owned(), vec![test(&["h0", "h1"], DIED)])];
    let (found, ..) = of_failed_tests("nccl-tests", &one);
    assert_eq!((found.len(), accused(&one).len()), (1, 0));
    let names: Vec<&str> = found[0].suspects.iter().map(|one| one.component.name()).collect();
    assert_eq!(names, ["h0", "h1", "h0 > h1"]);
    assert!(found[0].advice.contains("not enough evidence"), "{}", found[0].advice);
    // The one that they have in common comes first.
    let files = ["h1", "h2", "h3"].map(|other| (format!("{other}.log"), vec![test(&["h0", other], HUNG)]));
    let (found, ..) = of_failed_tests("nccl-tests", &files);
    assert_eq!((found[0].suspects[0].component.name(), accused(&files).len()), ("h0", 0));
    // Who explains more of them is told with more confidence.
    let pairs = [["h8", "h2"], ["h8", "h3"], ["h8", "h9"], ["h16", "h5"], ["h16", "h7"]];
    let files = pairs.map(|pair| (pair[1].to_owned(), vec![test(&pair, HUNG)]));
    let (found, ..) = of_failed_tests("nccl-tests", &files);
    assert!(found[0].confidence > found[1].confidence && accused(&files).is_empty(), "{found:?}");
    assert_eq!(found[0].suspects[0].component.name(), "h8");
}

#[test]
fn a_wide_test_leaves_the_host_that_came_through_no_other() {
    let wide: Vec<String> = (0..6).map(|host| format!("h{host}")).collect();
    let wide: Vec<&str> = wide.iter().map(String::as_str).collect();
    let mut files: Vec<(String, Vec<NcclTest>)> =
        (0..5).map(|host| (format!("{host}.log"), vec![test(&wide[host..=host], None)])).collect();
    files.push(("wide.log".into(), vec![test(&wide, HUNG)]));
    let (found, ..) = of_failed_tests("nccl-tests", &files);
    assert_eq!(found[0].suspects.len(), 1, "{found:?}");
    assert_eq!(found[0].suspects[0].component.name(), "h5");
    assert!(!found[0].accuses(), "one log is not enough");
    files.push(("again.log".into(), vec![test(&wide[4..], HUNG)]));
    assert_eq!(accused(&files), [("h5".to_owned(), 1)]);
}

#[test]
fn a_log_that_names_its_own_failure_and_one_without_devices() {
    let mut files = pairs(5, |_, _| None);
    let mut died = test(&[], DIED);
    died.failure =
        died.failure.map(|one| NcclTestFailure { host: Some("h03.cluster".into()), own: true, ..one });
    files.push(("logs/run_h02_h03.log".into(), vec![died]));
    assert_eq!(accused(&files), [("h03".to_owned(), 1)]);
    let mut files = pairs(5, |_, _| None);
    files.push(("junk.log".into(), vec![test(&[], HUNG)]));
    let (found, notes, _) = of_failed_tests("nccl-tests", &files);
    assert!(found[0].suspects.is_empty() && notes[1].contains("name no hosts"), "{notes:?}");
    assert!(found[0].evidence[0].words().contains("junk.log:9"), "{:?}", found[0].evidence);
}

/// A test over some hosts that died, of which one or more say so of themselves.
fn died_of(hosts: &[&str], own: &[&str]) -> NcclTest {
    let mut died = test(hosts, DIED);
    died.failure = died.failure.map(|one| NcclTestFailure {
        host: own.first().map(|host| (*host).to_owned()),
        own: !own.is_empty(),
        others: own.iter().skip(1).map(|host| (*host).to_owned()).collect(),
        line: "h3: Test CUDA failure".into(),
        ..one
    });
    died
}

#[test]
fn in_one_wide_test_who_says_so_of_itself_is_named() {
    let wide: Vec<String> = (0..10).map(|host| format!("h{host}")).collect();
    let wide: Vec<&str> = wide.iter().map(String::as_str).collect();
    let files = [("wide.log".to_owned(), vec![died_of(&wide, &["h3"])])];
    assert_eq!(accused(&files), [("h3".to_owned(), 1)]);
    let (found, ..) = of_failed_tests("nccl-tests", &files);
    assert!((found[0].confidence - NAMED).abs() < 1e-9, "{found:?}");
    assert!(found[0].evidence.iter().any(|line| line.words().contains("h3: Test CUDA failure")), "{found:?}");
    assert!(!found[0].advice.contains("not enough evidence"), "{}", found[0].advice);
    // Several say so, or nobody, or each of several logs another one: it may be the program.
    for own in [&["h3", "h4"][..], &[]] {
        assert!(accused(&[("wide.log".to_owned(), vec![died_of(&wide, own)])]).is_empty(), "{own:?}");
    }
    let each = ["h1", "h2", "h3"].map(|host| (host.to_owned(), vec![died_of(&["h0", host], &[host])]));
    assert!(accused(&each).is_empty());
}
