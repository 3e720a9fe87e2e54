//! Lists of jobs: what each format says, refusals, arbitrary bytes, and back.

use proptest::prelude::*;
use railtwin_formats::{JobList, JobListFormat, job_list, job_list_csv};
use railtwin_units::SimTime;
use railtwin_workload::{JobClass, JobStream, SubmittedJob};

const TWIN: &[u8] =
    include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../data/job_traces/openb_twin.csv"));

/// As sacct prints: steps, an array, a heterogeneous job, jobs that wait, were cancelled, had no GPU, or still run.
const SACCT: &str = "JobID|Submit|Start|End|Elapsed|AllocTRES|ReqTRES|State
101|2024-02-28T23:50:00|2024-02-28T23:55:00|2024-02-29T01:55:00|02:00:00|cpu=64,gres/gpu:h100=16,gres/gpu=16|gres/gpu=16|COMPLETED
101.batch|2024-02-28T23:55:00|2024-02-28T23:55:00|2024-02-29T01:55:00|02:00:00|gres/gpu=8||COMPLETED
101.extern|2024-02-28T23:55:00|2024-02-28T23:55:00|2024-02-29T01:55:00|02:00:00|cpu=64||COMPLETED
102_1|2024-02-28T23:40:00|2024-03-01T00:00:00|2024-03-04T12:30:00|3-12:30:00|gres/gpu:h100=4,gres/gpu:a100=4|gres/gpu=8|TIMEOUT
102_[2-9]|2024-02-28T23:40:00|Unknown|Unknown|00:00:00||gres/gpu=8|PENDING
103|2024-02-29T00:00:00|None|2024-02-29T00:01:00|00:00:00||gres/gpu=8|CANCELLED by 1001
104|2024-02-29T00:00:00|2024-02-29T00:00:01|2024-02-29T00:00:31|00:00:30|cpu=4,mem=8G,node=1|cpu=4|COMPLETED
105+0|2024-02-29T01:00:00|2024-02-29T01:00:00|Unknown|01:00:00|gres/gpu=8|gres/gpu=8|RUNNING
105+1|2024-02-29T01:00:00|2024-02-29T01:00:00|Unknown|01:00:00|gres/gpu=4|gres/gpu=4|RUNNING
";

fn read(text: &str) -> JobList {
    job_list("jobs", text.as_bytes()).expect("a list")
}

fn refusal(text: &str) -> String {
    job_list("jobs", text.as_bytes()).expect_err("the text is wrong").to_string()
}

fn told(list: &JobList) -> Vec<(&str, f64, u32, f64)> {
    let of = |job: &'_ SubmittedJob| (job.submitted.seconds(), job.gpus, job.duration.seconds());
    list.jobs.iter().map(|job| (job.name.as_str(), of(job).0, of(job).1, of(job).2)).collect()
}

#[test]
fn our_own_list_has_times_with_units_and_classes() {
    let text =
        "duration, class,name,gpus,submitted,note\n1.5 h,resnet-50,b,8,10 min,x\n0.25,,\"a, b\",1,0,x\n";
    let list = read(text);
    assert_eq!(list.format, JobListFormat::Own);
    assert_eq!(told(&list), [("a, b", 0.0, 1, 0.25), ("b", 600.0, 8, 5400.0)]);
    assert_eq!(list.jobs[0].class, None);
    assert_eq!(list.jobs[1].class, JobClass::named("resnet-50"));
    assert!(list.notes.is_empty());
    // A spreadsheet's mark and line ends, and no column of classes.
    assert_eq!(told(&read("\u{feff}Name,Submitted,GPUs,Duration\r\na,0,2,60\r\n")), [("a", 0.0, 2, 60.0)]);
}

#[test]
fn sacct_gives_jobs_and_no_steps() {
    let list = read(SACCT);
    assert_eq!(list.format, JobListFormat::Slurm);
    // From 23:40 of 28 February of a leap year on.
    assert_eq!(
        told(&list),
        [("102_1", 0.0, 8, 304_200.0), ("101", 600.0, 16, 7_200.0), ("105", 4_800.0, 12, 3_600.0)]
    );
    assert_eq!(
        list.notes,
        [
            "1 components of heterogeneous jobs are joined to the first of their job",
            "2 jobs that never ran are left out",
            "2 jobs that still ran last as long as they had by then",
            "1 jobs without GPUs are left out",
        ]
    );
    // --parsable ends lines with a bar; SLURM_TIME_FORMAT=%s gives numbers; a number may stand twice.
    let text = "JobID|Submit|ElapsedRaw|ReqTRES|\n7|1700000000|60|gres/gpu=8|\n7|1700000100|30|gres/gpu=8|\n";
    assert_eq!(told(&read(text)), [("7", 0.0, 8, 60.0), ("7~2", 100.0, 8, 30.0)]);
    let text = "JobID|Submit|Start|End|AllocTRES\n8|1700000000|1700000010|1700000030|gres/gpu=1\n";
    assert_eq!(told(&read(text)), [("8", 0.0, 1, 20.0)]);
}

#[test]
fn pods_of_openb_are_jobs_from_their_schedule_to_their_end() {
    let text = "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time
a,1,1,1,460,,LS,Running,1000,1600,1010
b,1,1,8,1000,V100M16|V100M32,LS,Failed,900,1900,900.0
c,1,1,0,0,,LS,Running,900,1900,900
d,1,1,1,1000,,BE,Pending,900,1900,
e,1,1,1,1000,,BE,Failed,900,900,900
";
    let list = read(text);
    assert_eq!(list.format, JobListFormat::Openb);
    assert_eq!(told(&list), [("b", 0.0, 8, 1_000.0), ("a", 100.0, 1, 590.0)]);
    assert_eq!(list.notes.len(), 4, "{:?}", list.notes);
    assert!(list.notes.contains(&"1 pods that share a GPU have it alone here".to_owned()));
}

#[test]
fn the_twin_of_openb_is_read_whole() {
    let list = job_list("openb_twin.csv", TWIN).unwrap();
    assert_eq!(list.format, JobListFormat::Openb);
    let text = std::str::from_utf8(TWIN).unwrap();
    // Of its columns the fourth is GPUs and the last is the schedule, which pods that wait have none of.
    let ran = |line: &&str| {
        let fields: Vec<&str> = line.split(',').collect();
        fields[3] != "0" && !fields[10].is_empty() && fields[9] != fields[10]
    };
    assert_eq!(list.jobs.len(), text.lines().skip(1).filter(ran).count());
    assert!(list.jobs.len() > 250 && list.jobs.iter().all(|job| job.gpus <= 8));
    assert_eq!(list.jobs[0].submitted, SimTime::ZERO);
}

#[test]
fn refusals_name_line_column_value_and_what_is_accepted() {
    let own = |rows: &str| refusal(&format!("name,submitted,gpus,duration,class\n{rows}\n"));
    for (found, parts) in [
        (own("a,0,8,soon,"), ["jobs:2: column duration: \"soon\" is not a time; ", "1.5 h"]),
        (own("a,-1,8,60,"), ["jobs:2: column submitted: \"-1\" is not a time", "seconds"]),
        (own("a,0,8,300 d,"), ["column duration: \"300 d\"", "213 days"]),
        (own("a,0,8,99999999,"), ["\"99999999\" is longer than 213 days", "simulated time ends"]),
        (own("a,0,8,0,"), ["column duration: \"0\" is no duration", "over 0"]),
        (own("a,0,0,60,"), ["column gpus: \"0\" is no number of GPUs of a job", "1 or more"]),
        (own("a,0,8.5,60,"), ["column gpus: \"8.5\" is not a number of GPUs", "whole"]),
        (own("a,0,8,60,alexnet"), ["column class: \"alexnet\" is no class", "gpt3-175b"]),
        (own("a,0,8,60,\na,1,8,60,"), ["jobs:3: column name: \"a\" is the name of the job on line 2", "own"]),
        (own(",0,8,60,"), ["jobs:2: column name: is empty", "name of its own"]),
        (own("a,0,8"), ["jobs:2: the row has 3 fields", "has 5"]),
        (refusal("name,submitted,gpus\na,0,8\n"), ["jobs:1: has no column duration", "needed are name"]),
        (
            refusal("name,submitted,gpus,duration,GPUs\na,0,8,100,16\n"),
            ["jobs:1: has the column gpus 2 times, as columns 3 and 5", "leave all but one of them away"],
        ),
        (refusal("a secret, of somebody\n"), ["jobs: is no list of jobs; accepted are CSV", "sacct"]),
        (refusal(""), ["is no list of jobs", "openb"]),
        (refusal("name,submitted,gpus,duration\n"), ["has no job that ran on GPUs", "at least one"]),
        (
            refusal("JobID|Submit|Elapsed\n1|1|1\n"),
            ["jobs:1: has neither AllocTRES nor ReqTRES", "--format=JobID"],
        ),
        (refusal("JobID|Submit|AllocTRES|Start\n1|1|1|1\n"), ["jobs:1: has no Elapsed", "Start and End"]),
        (
            refusal("JobID|Submit|Elapsed|AllocTRES\n1|yesterday|1:00:00|gres/gpu=8\n"),
            ["jobs:2: column Submit: \"yesterday\" is not a time", "2024-01-31T13:05:22"],
        ),
        (
            refusal("JobID|Submit|Elapsed|AllocTRES\n1|Unknown|1:00:00|gres/gpu=8\n"),
            ["jobs:2: column Submit: \"Unknown\" is no time of submission", "SLURM_TIME_FORMAT"],
        ),
        (
            refusal("JobID|Submit|Elapsed|AllocTRES\n1|1|an hour|gres/gpu=8\n"),
            ["jobs:2: column Elapsed: \"an hour\" is not a duration", "hours:minutes"],
        ),
        (
            refusal("JobID|Submit|Elapsed|AllocTRES\n1|1|1:00:00|gres/gpu=many\n"),
            ["column AllocTRES: \"gres/gpu=many\" has no number of GPUs", "gres/gpu=N"],
        ),
        (
            refusal("JobID|JobName|Submit|Elapsed|AllocTRES\n1|a|b|1|1:00:00|gres/gpu=8\n"),
            ["jobs:2: the row has 6 fields", "leave out JobName"],
        ),
        (
            refusal("JobID|Submit|Elapsed|AllocTRES\n1|0|1:0:0|gres/gpu=8\n2|99999999|1:0:0|gres/gpu=8\n"),
            ["jobs:3: column Submit: was submitted 1157 days after the first", "--starttime"],
        ),
        (
            refusal("JobID|Submit|Elapsed|AllocTRES\n1|1|0|gres/gpu=8\n"),
            ["has no job that ran on GPUs (1 jobs that never ran are left out)", ""],
        ),
        (
            refusal("name,num_gpu,creation_time,deletion_time,scheduled_time\na,1,noon,1,1\n"),
            ["jobs:2: column creation_time: \"noon\" is not a time", "since the trace began"],
        ),
    ] {
        assert!(parts.iter().all(|part| found.contains(part)), "{found}");
        assert!(!found.contains("secret"), "what may be anybody's is not repeated: {found}");
    }
}

#[test]
fn what_was_drawn_is_read_back_as_it_was() {
    let span = SimTime::from_seconds(14.0 * 86_400.0);
    let jobs = JobStream { tide: 0.5, ..JobStream::new(4_096, span, 0.9, 5) }.jobs().unwrap();
    let list = job_list("jobs.csv", job_list_csv(&jobs).as_bytes()).unwrap();
    assert_eq!(list.jobs, jobs);
}

/// Lines that look like a list, and fields that are right, wrong or odd.
fn lists() -> impl Strategy<Value = String> {
    let header = prop_oneof![
        Just("name,submitted,gpus,duration,class"),
        Just("name,submitted,gpus,duration,class,places"),
        Just("name,submitted,gpus,duration,class,near,places"),
        Just("name,num_gpu,gpu_milli,creation_time,deletion_time,scheduled_time"),
        Just("JobID|Submit|Start|End|Elapsed|AllocTRES|ReqTRES|State"),
        Just("JobID|Submit|ElapsedRaw|ReqTRES|"),
    ];
    let field = prop_oneof![
        Just(String::new()),
        Just("Unknown".to_owned()),
        Just("gres/gpu=8,gres/gpu:x=4000000".to_owned()),
        Just("18446744073709551615".to_owned()),
        Just("99999999999-23:59:59".to_owned()),
        Just("9999-12-31T23:59:59".to_owned()),
        Just("0001-01-01T00:00:00".to_owned()),
        "[0-9]{1,9}",
        "[0-9]:[0-9](-[0-9]{1,5})?( [0-9]:[0-9])?",
        "[0-9]{1,3}( [0-9]{1,2}){0,2}",
        "[0-9]{1,3}[+._][0-9]{0,13}",
        "[0-9]{1,4}-[0-9]{2}(-[0-9]{2}T)?[0-9]{2}:[0-9]{2}:[0-9]{2}",
        "[0-9.]{1,6} (ps|ns|s|min|h|d)",
        "\\PC{0,6}",
    ];
    (header, proptest::collection::vec(proptest::collection::vec(field, 8), 0..12)).prop_map(
        |(header, rows)| {
            let separator = if header.contains('|') { "|" } else { "," };
            let count = header.split(separator).count();
            let row = |row: Vec<String>| row[..count.min(row.len())].join(separator);
            [header.to_owned()].into_iter().chain(rows.into_iter().map(row)).collect::<Vec<_>>().join("\n")
        },
    )
}

/// Every job of whatever was read can run, and is read again from what is written of it.
fn holds(bytes: &[u8]) {
    match job_list("a.csv", bytes) {
        Err(error) => {
            let line = error.to_string();
            assert!(line.starts_with("a.csv") && !line.contains('\n'), "{line}");
        }
        Ok(list) => {
            assert!(list.jobs.is_sorted_by_key(|job| job.submitted));
            for job in &list.jobs {
                assert!(job.gpus > 0 && job.duration > SimTime::ZERO && job.submitted != SimTime::NEVER);
            }
            let again = job_list("b.csv", job_list_csv(&list.jobs).as_bytes());
            let names: std::collections::BTreeSet<&str> =
                list.jobs.iter().map(|job| job.name.trim()).collect();
            if names.len() == list.jobs.len() {
                assert_eq!(again.expect("a written list").jobs, list.jobs);
            }
        }
    }
}

proptest! {
    #[test]
    fn arbitrary_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        holds(&bytes);
    }

    #[test]
    fn odd_lists_are_read_or_refused(text in lists()) {
        holds(text.as_bytes());
    }

    #[test]
    fn changed_files_are_read_or_refused(
        twin in any::<bool>(),
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
        end in any::<prop::sample::Index>(),
    ) {
        let mut bytes = if twin { TWIN[..4_000].to_vec() } else { SACCT.as_bytes().to_vec() };
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        bytes.truncate(end.index(bytes.len()) + 1);
        holds(&bytes);
    }
}

#[test]
fn places_are_hosts_with_gpus_in_the_order_of_ranks() {
    let text = "name,submitted,gpus,duration,class,places\na,0,6,60,,\"4:0-3 1:7,2\"\nb,0,2,60,bert-large,\n";
    let list = read(text);
    assert_eq!(list.jobs[0].places, [(4, 0), (4, 1), (4, 2), (4, 3), (1, 7), (1, 2)]);
    assert!(list.jobs[1].places.is_empty());
    assert_eq!(read(&job_list_csv(&list.jobs)), list);
    for (places, problem) in [
        ("0:0-1", "names 2 GPUs, but the job has 3"),
        ("0:0-7", "names more than the 3 GPUs of the job"),
        ("0:0-2 1:0-7 2:0-7", "names more than the 3 GPUs of the job"),
        ("0:0-4000000000", "which is no host with its GPUs"),
        ("0:1 1:1 0:1", "names GPU 1 of host 0 twice"),
        ("0:2-1", "which is no host with its GPUs"),
        ("host-0:1", "which is no host with its GPUs"),
        ("0", "which is no host with its GPUs"),
        ("0:1-", "which is no host with its GPUs"),
    ] {
        let text = format!("name,submitted,gpus,duration,class,places\na,0,3,60,,{places}\n");
        let error = refusal(&text);
        assert!(error.contains(problem) && error.contains("column places"), "{places}: {error}");
    }
}

#[test]
fn near_are_hosts() {
    let text = "name,submitted,gpus,duration,class,near\na,0,6,60,,8 0\nb,0,2,60,bert-large,\n";
    let list = read(text);
    assert_eq!((&list.jobs[0].near[..], &list.jobs[1].near[..]), (&[8, 0][..], &[][..]));
    assert_eq!(read(&job_list_csv(&list.jobs)), list);
    let both = "name,submitted,gpus,duration,class,places,near\na,0,2,60,,0:0-1,\nb,0,2,60,,,3\n";
    let list = read(both);
    assert_eq!((list.jobs[0].places.len(), &list.jobs[1].near[..]), (2, &[3][..]));
    assert_eq!(read(&job_list_csv(&list.jobs)), list);
    let many: Vec<String> = (0..1_025).map(|host| host.to_string()).collect();
    for (near, problem) in [
        ("0 1 0", "names host 0 twice"),
        ("host-0", "which is no host"),
        ("0:1", "which is no host"),
        ("-1", "which is no host"),
        ("4294967296", "which is no host"),
        (many.join(" ").as_str(), "names more than 1024 hosts"),
    ] {
        let text = format!("name,submitted,gpus,duration,class,near\na,0,3,60,,{near}\n");
        let error = refusal(&text);
        assert!(error.contains(problem) && error.contains("column near"), "{near}: {error}");
    }
    let error = refusal(&both.replace("0:0-1,", "0:0-1,5"));
    assert!(error.contains("stands beside places") && error.contains("leave one of both empty"), "{error}");
}
