//! Tables of many forms, and bytes that are none.
use super::*;
use proptest::prelude::*;

fn seconds(text: &str) -> Vec<(String, Vec<f64>)> {
    let log = parse_steps_csv("a.csv", text.as_bytes()).expect("a table");
    let of = |one: &StepSeries| (one.run.clone(), one.steps.iter().map(|step| step.seconds).collect());
    log.series.iter().map(of).collect()
}

#[test]
fn tables_of_many_forms_tell_steps() {
    let text = "run,event,step_ms\n0,run_start,\n0,step,900\n1,step,800\n0,step,950\n0,step,\n0,step,901\n0,eval_start,\n";
    let log = parse_steps_csv("a.csv", text.as_bytes()).expect("a table");
    let told: Vec<(&str, Vec<(f64, bool)>)> = log
        .series
        .iter()
        .map(|one| (one.run.as_str(), one.steps.iter().map(|step| (step.seconds, step.beside)).collect()))
        .collect();
    assert_eq!(told, [("0", vec![(0.9, true), (0.95, false), (0.901, true)]), ("1", vec![(0.8, true)])]);
    assert_eq!(log.skipped.count(), 1);
    assert!(
        names_columns("round,system,step_s") && !names_columns("step_s") && !names_columns("a,median_step_s")
    );
    assert!(parse_steps_csv("a", b"a,b\n1,2\n").is_err());

    let one = |seconds: f64| vec![("a.csv".to_owned(), vec![seconds])];
    assert_eq!(seconds("iteration,elapsed time per iteration (ms),lm loss\n0,11973.5,2\n"), one(11.9735));
    assert_eq!(seconds("Step, Step Time (s) ,Loss\n0,12.5,2\n"), one(12.5));
    assert_eq!(seconds("step;step_time;loss\n0;11,5;2,0\n"), one(11.5));
    assert_eq!(seconds("step\tsec_per_step\n0\t11.5\n"), one(11.5));
    assert_eq!(seconds("step,it/s\n0,0.5\n"), one(2.0));
    assert_eq!(seconds("step,time,loss\n0,12.5,2\n"), one(12.5));
    let runs = "\"Step\",\"a - train/step_time\",\"a - train/step_time__MIN\",\"b - train/step_time\"\n0,3.5,1,4.5\n1,3.6,1,\n";
    assert_eq!(seconds(runs), [("a".to_owned(), vec![3.5, 3.6]), ("b".to_owned(), vec![4.5])]);
}

fn rows(head: &str, row: impl Fn(usize) -> String) -> String {
    (0..20).fold(format!("{head}\n"), |text, at| text + &row(at) + "\n")
}

fn wrong(text: &str) -> String {
    parse_steps_csv("a.csv", text.as_bytes()).expect_err("no times of steps").to_string()
}

#[test]
fn a_time_of_a_row_is_that_of_its_step_and_a_clock_is_taken_by_its_differences() {
    // A time of its own in each row.
    let times = |head: &str| seconds(&rows(head, |at| format!("{at},{}", 5.0 + 0.1 * (at * 7 % 5) as f64)));
    for head in
        ["step,seconds", "step,elapsed", "step,time", "global_step,dt", "step,batch_time", "iter,iter_time"]
    {
        let told = times(head);
        assert_eq!((told[0].1.len(), told[0].1[0], told[0].1[1]), (20, 5.0, 5.2), "{head}");
    }
    // Time that passes, of rows that are ten steps apart.
    for (head, clock) in [
        ("step,time", (|at| format!("{}", 50 * at + 1)) as fn(usize) -> String),
        ("step,elapsed", |at| format!("{}", 50 * at)),
        ("step,train_time_ms", |at| format!("{}", 50_000 * at)),
        ("step,_runtime", |at| format!("{}", 100_000 + 50 * at)),
        ("step,timestamp", |at| format!("2026-11-24 10:{:02}:{:02}.5", 50 * at / 60, 50 * at % 60)),
        ("current_steps,elapsed_time", |at| format!("0:{:02}:{:02}", 50 * at / 60, 50 * at % 60)),
    ] {
        let text = rows(head, |at| format!("{},{}", 10 * at, clock(at)));
        let log = parse_steps_csv("a.csv", text.as_bytes()).expect(head);
        let steps = &log.series[0].steps;
        assert!(steps.len() == 19 && steps.iter().all(|step| (step.seconds - 5.0).abs() < 1e-9), "{head}");
        assert_eq!(steps[0].number, Some(10), "{head}");
        assert!(log.taken.contains("differences of column"), "{}", log.taken);
    }
    // A clock of whole seconds that stands still counts for the steps since it moved; a rate is finer than that.
    let coarse = rows("step,elapsed", |at| format!("{at},{}", at / 2));
    let log = parse_steps_csv("a.csv", coarse.as_bytes()).expect("a clock");
    assert_eq!((log.series[0].steps.len(), log.series[0].steps[3].seconds, log.skipped.count()), (9, 0.5, 0));
    let text = rows("step,elapsed,tokens_per_sec", |at| format!("{at},{},{}", at / 2, 1000));
    assert_eq!(seconds(&text)[0].1, [1e-3; 20]);
    let text = rows("step,elapsed,tokens_per_sec", |at| format!("{at},{},{}", 60 * at, 1000));
    assert_eq!(seconds(&text)[0].1, [60.0; 19]);
    // Times that rise a little may be either, and a clock alone tells no steps.
    let told = wrong(&rows("step,time", |at| format!("{at},{}", 100 + at)));
    assert!(
        told.contains("column \"time\" that rises from row to row") && told.contains("step_time_s"),
        "{told}"
    );
    let told = wrong(&rows("loss,since_start_s", |at| format!("2,{}", 5 * at)));
    assert!(told.contains("\"since_start_s\" that is a clock, and none that numbers steps"), "{told}");
    // Times to the second that do not change are no clock.
    assert_eq!(seconds(&rows("step,time", |at| format!("{at},12")))[0].1, [12.0; 20]);
    let slower = rows("step,time", |at| format!("{at},{}", if at < 12 { 12 } else { 40 }));
    assert_eq!(seconds(&slower)[0].1[11..13], [12.0, 40.0]);
}

#[test]
fn of_several_columns_the_one_that_says_most_is_taken_and_unlike_ones_are_refused() {
    let first = |text: &str| seconds(text)[0].1[..3].to_vec();
    let text = rows("step,time,batch_time,step_time_s", |at| format!("{at},{},1.5,{}", 3 * at, 6 + at % 3));
    assert_eq!(first(&text), [6.0, 7.0, 8.0]);
    let text = rows("step,step_time_s,step_time_ms,rollout_step_time", |at| {
        let time = 6 + at % 3;
        format!("{at},{time},{},{}", 1000 * time, at % 7 + 1)
    });
    assert_eq!(first(&text), [6.0, 7.0, 8.0]);
    let text = rows("step,step_time,iter_time", |at| format!("{at},{},{}", 6 + at % 3, 1 + at % 7));
    let told = wrong(&text);
    assert!(
        told.contains("several columns that could be the time of a step: \"step_time\", \"iter_time\""),
        "{told}"
    );
    let told = wrong(&rows("step,loss", |at| format!("{at},2")));
    assert!(
        told.contains("no column of times of steps: \"step\", \"loss\"") && told.contains("batch_time"),
        "{told}"
    );
}

#[test]
fn a_rate_is_the_time_of_one_and_evaluations_stand_between_steps() {
    let text =
        rows("step,loss,throughput(tps)", |at| format!("{},2,{}", 10 * at, 1000 - 500 * usize::from(at > 9)));
    let log = parse_steps_csv("a.csv", text.as_bytes()).expect("a table");
    let steps = &log.series[0].steps;
    assert!((steps[0].seconds - 1e-3).abs() < 1e-12 && (steps[19].seconds - 2e-3).abs() < 1e-12);
    assert!(log.taken.contains("as far as each holds as many"), "{}", log.taken);
    assert!(wrong("loss,tokens_per_sec\n2,5\n").contains("no column of times of steps"));
    let text = "step,step_time,val_loss\n0,5,\n1,5.1,\n1,,2.5\n2,5.2,\n3,5.3,\n4,5.4,\n";
    let log = parse_steps_csv("a.csv", text.as_bytes()).expect("a table");
    let beside: Vec<bool> = log.series[0].steps.iter().map(|step| step.beside).collect();
    assert_eq!((beside, log.skipped.count()), (vec![true, true, true, false, false], 0));
}

#[test]
fn ranks_of_a_run_tell_of_its_steps_together() {
    let text = "rank,step,step_time_s\n0,5,1.0\n1,5,1.2\n1,6,1.1\n0,6,1.3\n0,5,2.0\n1,5,1.9\n1,6,2.1\n";
    let log = parse_steps_csv("a.csv", text.as_bytes()).expect("a table");
    let steps: Vec<_> = log.series[0].steps.iter().map(|step| (step.number, step.seconds)).collect();
    assert_eq!(steps, [(Some(5), 1.2), (Some(6), 1.3), (Some(5), 2.0), (Some(6), 2.1)]);
    assert_eq!(log.series.len(), 1);
    assert!(
        log.taken.ends_with("a step of 2 ranks takes as long as at the slowest of them"),
        "{}",
        log.taken
    );
    // Each rank has a clock of its own; runs are told apart as before.
    let clocks = |at: usize| format!("a,0,{at},{}\na,1,{at},{}\nb,0,{at},{}", 5 * at, 1000 + 5 * at, 7 * at);
    let told = seconds(&rows("run,rank,step,elapsed", clocks));
    assert_eq!(told, [("a".to_owned(), vec![5.0; 19]), ("b".to_owned(), vec![7.0; 19])]);
    // Without numbers steps are those of the same place.
    assert_eq!(seconds("rank,step_s\n0,1\n1,2\n0,3\n1,2\n")[0].1, [2.0, 3.0]);
}

#[test]
fn json_lines_are_rows() {
    let json = |text: &str| {
        assert!(is_json_lines(text), "{text}");
        let log = parse_steps_json("a.jsonl", text.as_bytes()).expect(text);
        let step = |step: &crate::telemetry::StepTime| (step.number, step.seconds, step.beside);
        (log.series[0].steps.iter().map(step).collect::<Vec<_>>(), log.taken, log.skipped.count())
    };
    // MaxText; MMEngine, whose `time` is that of an iteration; DLLogger; a program's own.
    let (told, taken, _) = json(
        "{\"perf/step_time_seconds\": 0.83, \"learning/loss\": 3.1, \"step\": 12.0}\n\
         {\"perf/step_time_seconds\": 0.84, \"step\": 13.0}\n{\"eval/loss\": 2.0, \"step\": 13}\nx\n\
         {\"perf/step_time_seconds\": 0.85, \"step\": 14.0}\n",
    );
    assert_eq!(told, [(Some(12), 0.83, true), (Some(13), 0.84, true), (Some(14), 0.85, true)]);
    assert!(taken.contains("perf/step_time_seconds"), "{taken}");
    let (told, ..) = json("{\"lr\": 0.1, \"data_time\": 0.02, \"time\": 0.35, \"iter\": 50, \"step\": 50}\n");
    assert_eq!(told, [(Some(50), 0.35, true)]);
    let (told, ..) = json(
        "DLLL {\"type\": \"LOG\", \"step\": 3, \"data\": {\"train_step_timing in s\": 9.5, \"epoch\": 0}}\n",
    );
    assert_eq!(told, [(Some(3), 9.5, true)]);
    let clock = (0..20).fold(String::new(), |text, at| {
        text + &format!(
            "{{\"current_steps\": {}, \"total_steps\": 50, \"elapsed_time\": \"0:{:02}:{:02}\"}}\n",
            5 * at,
            10 * at / 60,
            10 * at % 60
        )
    });
    assert_eq!(json(&clock).0.iter().map(|step| step.1).collect::<Vec<_>>(), [2.0; 19]);
    assert!(!is_json_lines("{\"a\": 1}\n") && !is_json_lines("{\n\"step\": 1,\n\"loss\": 2\n}\n"));
    assert!(parse_steps_json("a", b"{\"step\": 1, \"loss\": 2}\n").is_err());
}

#[test]
fn a_batch_size_tells_works_apart_unless_each_step_has_its_own() {
    let rows = |work: &dyn Fn(usize) -> usize| {
        (0..64).fold("step_s,global_batch_size\n".to_owned(), |text, at| format!("{text}1.5,{}\n", work(at)))
    };
    let works = |text: &str| {
        let log = parse_steps_csv("a", text.as_bytes()).expect("a table");
        log.series[0].steps.iter().map(|step| step.work).collect::<Vec<f64>>()
    };
    let told = works(&rows(&|at| if at < 32 { 8 } else { 16 }));
    assert_eq!((told[0], told[63]), (8.0, 16.0));
    assert_eq!(works(&rows(&|at| at + 1)), vec![0.0; 64]);
}

proptest! {
    #[test]
    fn any_bytes_are_read_or_refused(
        bytes in prop::collection::vec(any::<u8>(), 0..200),
        head in "(run,)?(event;)?(step_s|it/s|time\tstep|Wall time,Step,Value)",
        any in "\\PC{0,40}",
    ) {
        let _ = parse_steps_csv("a", &[head.as_bytes(), b",x\n", &bytes[..]].concat());
        let _ = parse_steps_csv("a", any.as_bytes());
        let _ = names_columns(&any);
        let _ = parse_steps_json("a", &bytes);
        let _ = is_json_lines(&any);
    }

    #[test]
    fn any_values_are_read_or_refused(
        head in "(step|rank,step),(time|elapsed|timestamp|step_time|batch_time|tps|it/s)(,val_loss|,iter_time_ms)?",
        values in prop::collection::vec(("[-0-9.:enaif ]{0,12}", "[-0-9.]{0,6}", "[-0-9.]{0,6}"), 0..40),
    ) {
        let row = |(a, b, c): &(String, String, String)| format!("{b},{a},{c}\n");
        let text = values.iter().map(row).fold(format!("{head}\n"), |text, row| text + &row);
        if let Ok(log) = parse_steps_csv("a", text.as_bytes()) {
            prop_assert!(log.series.iter().flat_map(|one| &one.steps).all(|step| is_time(step.seconds)));
        }
        let keys: Vec<&str> = head.split(',').collect();
        let object = |(a, b, c): &(String, String, String)| {
            let values = [b, a, c];
            let pairs = keys.iter().zip(values).map(|(key, value)| format!("{key:?}: {value:?}"));
            format!("{{{}}}\n", pairs.collect::<Vec<_>>().join(", "))
        };
        let text: String = values.iter().map(object).collect();
        if let Ok(log) = parse_steps_json("a", text.as_bytes()) {
            prop_assert!(log.series.iter().flat_map(|one| &one.steps).all(|step| is_time(step.seconds)));
        }
    }
}
