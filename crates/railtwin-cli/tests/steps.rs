//! Measured steps of 24 healthy runs of Llama 3.1 405B on 256 to 2,560 GPUs, and the same with a part made slower.
#![allow(clippy::disallowed_methods, clippy::unwrap_used, reason = "a test: files are written and looked at")]
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use railtwin_diagnosis::steps::{Series, Slower, Step, drifts, slower};
use railtwin_formats::telemetry::{StepSeries, parse_steps_csv};
use serde_json::{Value, json};

use crate::harness::railtwin;

fn ours(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data/telemetry/mlperf_llama31_405b").join(name)
}

fn measured() -> Vec<Series> {
    let bytes = std::fs::read(ours("steps.csv.gz")).unwrap();
    let of = |one: StepSeries| Series {
        job: one.job,
        run: one.run,
        steps: one
            .steps
            .iter()
            .map(|step| Step { seconds: step.seconds, beside: step.beside, work: step.work })
            .collect(),
    };
    parse_steps_csv("steps.csv.gz", &bytes).unwrap().series.into_iter().map(of).collect()
}

/// By system and run, the share that 5 % more of one pipeline stage adds to a step: of its `m` microbatches and
/// `(p - 1) / v` that fill and drain an interleaved pipeline the stage sets the pace of the former.
fn added() -> BTreeMap<(String, String), f64> {
    let text = std::fs::read_to_string(ours("runs.csv")).unwrap();
    let rows = text.lines().skip(1).map(|line| line.split(',').collect::<Vec<_>>());
    rows.map(|row| {
        let number = |column: usize| row[column].parse::<f64>().unwrap();
        let (stages, parts, batches) = (number(7), number(8), number(10));
        let share = 0.05 * batches / (batches + (stages - 1.0) / parts);
        ((format!("{} {}", row[0], row[2]), row[3].to_owned()), share)
    })
    .collect()
}

/// Uniform in 0..1.
fn drawn(state: &mut u64) -> f64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
}

#[test]
fn healthy_runs_accuse_nobody_and_levels_that_differ_are_said() {
    let outcome = railtwin(&["diagnose", &ours("steps.csv.gz").display().to_string(), "--json"]);
    let answer: Value = serde_json::from_str(&outcome.out).unwrap();
    assert_eq!((outcome.status, &answer["findings"]), (0, &json!([])), "{}", outcome.notes);
    let notes = answer["notes"].to_string();
    assert!(notes.contains("7754 steps of 24 runs"), "{notes}");
    assert!(notes.contains("eos-dfw_n304_ngc25.01_nemo, run 2 takes 1.2 % longer per step"), "{notes}");
}

#[test]
fn a_stage_that_becomes_slower_is_told_within_three_steps() {
    let (all, added) = (measured(), added());
    assert_eq!(all.len(), 24);
    assert_eq!((slower(&all), drifts(&all)), (vec![], vec![]), "healthy");
    for one in &all {
        let alone = [one.clone()];
        assert_eq!((slower(&alone), drifts(&alone)), (vec![], vec![]), "healthy, alone");
    }
    let (draws, mut state) = (3000, 1);
    let (mut with_others, mut alone, mut long) = (0, 0, 0);
    for _ in 0..draws {
        let row = (drawn(&mut state) * all.len() as f64) as usize;
        let share = added[&(all[row].job.clone(), all[row].run.clone())];
        let from = 1 + (drawn(&mut state) * (all[row].steps.len() - 3) as f64) as usize;
        let mut changed = all[row].clone();
        changed.steps.iter_mut().skip(from).for_each(|step| step.seconds *= 1.0 + share);
        let job: Vec<Series> = std::iter::once(changed.clone())
            .chain(all.iter().filter(|one| one.job == changed.job && one.run != changed.run).cloned())
            .collect();
        let is_told = |found: &[Slower]| {
            found.iter().any(|one| one.series == 0 && (from..from + 3).contains(&one.told))
        };
        with_others += usize::from(is_told(&slower(&job)));
        // One run knows what is usual after eight steps.
        if from >= 9 {
            long += 1;
            alone += usize::from(is_told(&slower(&[changed])));
        }
    }
    println!("told within three steps: {with_others} of {draws}; alone {alone} of {long}");
    assert!(with_others * 100 >= 99 * draws, "{with_others} of {draws}");
    assert!(alone * 100 >= 98 * long, "{alone} of {long}");
}

#[test]
fn a_drift_from_the_middle_on_is_told() {
    let (all, mut state) = (measured(), 5);
    for grows in [0.05, 0.10] {
        let draws = 400;
        let (mut drift, mut either) = (0, 0);
        for _ in 0..draws {
            let mut run = all[(drawn(&mut state) * all.len() as f64) as usize].clone();
            let count = run.steps.len();
            let from = (count as f64 * (0.3 + 0.4 * drawn(&mut state))) as usize;
            for (at, step) in run.steps.iter_mut().enumerate().skip(from) {
                step.seconds *= 1.0 + grows * (at + 1 - from) as f64 / (count - from) as f64;
            }
            let run = [run];
            let drifted = !drifts(&run).is_empty();
            drift += usize::from(drifted);
            either += usize::from(drifted || !slower(&run).is_empty());
        }
        println!("+{:.0} %: drift {drift}, drift or step change {either} of {draws}", 100.0 * grows);
        assert!(either * 100 >= 99 * draws, "{grows}: {either} of {draws}");
    }
}

#[test]
fn steps_are_read_from_whatever_a_framework_leaves() {
    let folder = tempfile::tempdir().unwrap();
    // From step 60 on a step takes 5 % longer.
    let seconds = |step: usize| {
        12.0 * (1.0 + 0.002 * ((step * 7 % 11) as f64 / 11.0)) * if step < 60 { 1.0 } else { 1.05 }
    };
    let rows = |head: &str, row: &dyn Fn(usize, f64) -> String| {
        (0..100).fold(head.to_owned(), |text, step| text + &row(step, seconds(step)))
    };
    let logged = |name: &str, value: String| {
        format!(":::MLLOG {{\"key\": \"{name}\", \"value\": {value}, \"time_ms\": 1}}\n")
    };
    let files = [
        (
            "a.csv",
            rows("Step, Step Time (s) ,Loss\n", &|step, time| format!("{step},{time},2\n")),
            "Step Time (s)",
        ),
        (
            "b.csv",
            rows("iteration,elapsed time per iteration (ms)\n", &|step, time| {
                format!("{step},{}\n", 1e3 * time)
            }),
            "milliseconds",
        ),
        ("c.csv", rows("step,sec_per_step\n", &|step, time| format!("{step},{time}\n")), "sec_per_step"),
        ("d.csv", rows("step,time,loss\n", &|step, time| format!("{step},{time},2\n")), "names no unit"),
        (
            "e.csv",
            rows("\"Step\",\"run-1 - train/step_time\"\n", &|step, time| format!("{step},{time}\n")),
            "train/step_time",
        ),
        (
            "f.csv",
            rows("step;step_time\n", &|step, time| {
                format!("{step};{}\n", time.to_string().replace('.', ","))
            }),
            "step_time",
        ),
        ("g.tsv", rows("step\tit/s\n", &|step, time| format!("{step}\t{}\n", 1.0 / time)), "steps per time"),
        (
            "h.log",
            rows("", &|step, time| {
                format!(
                    " [2025-01-02 03:00:01] iteration {:8}/ 5000 | elapsed time per iteration (ms): {:.1} | global batch size: 256 |\n",
                    step + 1,
                    1e3 * time
                )
            }),
            "elapsed time per iteration",
        ),
        (
            "i.txt",
            logged("global_batch_size", "1536".into())
                + &rows("", &|_, time| {
                    logged("tracked_stats", format!("{{\"throughput\": {}}}", 1536.0 / time))
                }),
            "over throughput",
        ),
    ];
    let more = [
        ("j.csv", rows("step,seconds\n", &|step, time| format!("{step},{time}\n")), "(seconds)"),
        (
            "k.csv",
            rows("step,batch_time_ms\n", &|step, time| format!("{step},{}\n", 1e3 * time)),
            "milliseconds",
        ),
        (
            "l.csv",
            rows("step,loss,throughput(tps)\n", &|step, time| format!("{step},2,{}\n", 4096.0 / time)),
            "as far as each holds as many",
        ),
        (
            "m.jsonl",
            rows("", &|step, time| {
                format!("{{\"step\": {step}, \"perf/step_time_seconds\": {time}, \"learning/loss\": 2.0}}\n")
            }),
            "perf/step_time_seconds",
        ),
        (
            "n.log",
            rows("", &|step, time| {
                format!("step {step:5}/100 | loss: 2.1 | dt: {:.2}ms | tok/sec: 9\n", 1e3 * time)
            }),
            "dt",
        ),
    ];
    for (name, text, taken) in files.into_iter().chain(more) {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        let outcome = railtwin(&["diagnose", &path.display().to_string(), "--json"]);
        let answer: Value = serde_json::from_str(&outcome.out).unwrap();
        let what = answer["findings"][0]["evidence"][0]["what"].as_str().unwrap_or_default().to_owned();
        assert!(what.contains("from step 61 on, told after step 63"), "{name}: {}", outcome.out);
        assert!(answer["notes"].to_string().contains(taken), "{name}: {}", answer["notes"]);
    }
    // Time since the start, of one row in ten steps: steps are called by their numbers.
    let mut since = 0.0;
    let clock = (0..100).fold("step,elapsed\n".to_owned(), |text, row| {
        since += 10.0 * seconds(row);
        text + &format!("{},{since}\n", 1000 + 10 * row)
    });
    std::fs::write(folder.path().join("clock.csv"), clock).unwrap();
    let outcome = railtwin(&["diagnose", &folder.path().join("clock.csv").display().to_string(), "--json"]);
    assert!(outcome.out.contains("from step 1600 on, told after step 1620"), "{}", outcome.out);
    // Two times that are not the same: neither is taken.
    let text =
        rows("step,step_time,iteration_time\n", &|step, time| format!("{step},{time},{}\n", 1 + step % 7));
    std::fs::write(folder.path().join("two.csv"), text).unwrap();
    let outcome = railtwin(&["diagnose", &folder.path().join("two.csv").display().to_string()]);
    assert_ne!(outcome.status, 0);
    // Long lines are broken for the screen.
    let flat = |text: &str| text.split_whitespace().filter(|word| *word != "│").collect::<Vec<_>>().join(" ");
    let told = flat(&outcome.notes);
    assert!(
        told.contains("several columns that could be the time of a step: \"step_time\", \"iteration_time\""),
        "{told}"
    );
    // A table of losses among others is passed over, and named alone it is refused by what it lacks.
    let beside = tempfile::tempdir().unwrap();
    std::fs::write(beside.path().join("loss.csv"), "step,loss\n0,2\n1,2\n").unwrap();
    std::fs::write(beside.path().join("time.csv"), "step,step_s\n0,2\n1,2\n").unwrap();
    let outcome = railtwin(&["diagnose", &beside.path().display().to_string()]);
    assert_eq!(outcome.status, 0, "{}", outcome.out);
    let outcome = railtwin(&["diagnose", &beside.path().join("loss.csv").display().to_string()]);
    assert_eq!(outcome.status, 2, "{}", outcome.notes);
    let told = flat(&outcome.notes);
    assert!(told.contains("no column of times of steps: \"step\", \"loss\""), "{told}");
    // A drift is told as one, and a run in another unit is compared with nobody.
    let drift = rows("step,step_time\n", &|step, _| format!("{step},{}\n", 10.0 + 0.01 * step as f64));
    let drift =
        (100..300).fold(drift, |text, step| text + &format!("{step},{}\n", 10.0 + 0.01 * step as f64));
    std::fs::write(folder.path().join("drift.csv"), drift).unwrap();
    let outcome = railtwin(&["diagnose", &folder.path().join("drift.csv").display().to_string()]);
    assert!(outcome.out.contains("drift: steps take longer little by little from step 1"), "{}", outcome.out);
    std::fs::write(
        folder.path().join("ms.csv"),
        rows("step,step_time\n", &|step, _| format!("{step},12{:03}\n", step % 7)),
    )
    .unwrap();
    std::fs::write(
        folder.path().join("s.csv"),
        rows("step,step_time\n", &|step, _| format!("{step},12.00{}\n", step % 7)),
    )
    .unwrap();
    let both = ["ms.csv", "s.csv"].map(|name| folder.path().join(name).display().to_string());
    let outcome = railtwin(&["diagnose", &both[0], &both[1], "--json"]);
    let answer: Value = serde_json::from_str(&outcome.out).unwrap();
    assert_eq!((outcome.status, &answer["findings"]), (0, &json!([])), "{}", outcome.out);
    assert!(answer["notes"].to_string().contains("another unit of time"), "{}", outcome.out);
}
