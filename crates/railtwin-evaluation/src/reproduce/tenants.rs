//! Zhai et al., section 1.2: what two jobs whose hosts stand under the same leaves cost each other.
use railtwin_scenario::{Scenario, SweepPoint};
use railtwin_store::Figure;
use rayon::prelude::*;

use super::paper;
use super::pick::{Label, Point};
use super::sweep::Set;
use railtwin::Question;
use railtwin::engines::engine_of;
use railtwin::interference::{Options, interference};

/// Loss from which on the losses of both are held against each other.
const SLOWED: f64 = 0.01;

/// The points of a scenario of a GPT-3 and a BERT, over so many draws of their starts and hashes: what the GPT-3 takes
/// alone, and what both lose when they run at once. Without figures where they are not wanted.
pub(super) fn points(name: &str, draws: u32, set: &Set, wanted: &[bool]) -> Vec<Point> {
    let question = paper(name, set);
    let sweep = question.points().expect("a test reads it");
    let run = |(point, &wanted): (&SweepPoint, &bool)| {
        let of = |scenario: &Scenario| figures(&question, scenario, set.draws(draws));
        Point::new(&point.label, if wanted { of(&point.scenario) } else { Vec::new() })
    };
    sweep.par_iter().zip(wanted).map(run).panic_fuse().collect()
}

/// The labels of [`points`], before any has run.
pub(super) fn labels(name: &str, set: &Set) -> Vec<Label> {
    let sweep = paper(name, set).points().expect("a test reads it");
    sweep.iter().map(|point| Point::new(&point.label, Vec::new()).label).collect()
}

fn figures(question: &Question, scenario: &Scenario, draws: u32) -> Vec<Figure> {
    let resolved = question.resolve(scenario).expect("a test resolves it");
    let engine = engine_of(&resolved);
    let options = Options { draws, ..Options::default() };
    let found = interference(&resolved.case, engine.as_ref(), options, &|| ()).expect("both end");
    let [gpt3, bert] = [&found.jobs[0], &found.jobs[1]];
    // Throughput is the inverse of the time of a step.
    let [lost_gpt3, lost_bert] = [gpt3, bert].map(|job| 1.0 - 1.0 / job.slowdown.median);
    let [gpus_gpt3, gpus_bert] = [gpt3, bert].map(|job| f64::from(job.gpus));
    let lost = (gpus_gpt3 * lost_gpt3 + gpus_bert * lost_bert) / (gpus_gpt3 + gpus_bert);
    let mut figures = vec![
        Figure::new("gpt3_step_time_alone", gpt3.alone.median, "s"),
        Figure::new("gpt3_step_time_more", gpt3.slowdown.median - 1.0, ""),
        Figure::new("gpt3_step_time_more_p95", gpt3.slowdown.p95 - 1.0, ""),
        Figure::new("gpt3_throughput_lost", lost_gpt3, ""),
        Figure::new("bert_throughput_lost", lost_bert, ""),
        Figure::new("bert_step_time_more_p95", bert.slowdown.p95 - 1.0, ""),
        Figure::new("gpu_time_lost", lost, ""),
    ];
    if lost_gpt3 > SLOWED {
        figures.push(Figure::new("bert_over_gpt3_lost", lost_bert / lost_gpt3, ""));
    }
    figures
}
