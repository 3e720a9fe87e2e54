//! Streams against what they are drawn from.
use super::*;

const WEEK: f64 = 7.0 * DAY;

fn weeks(count: f64) -> SimTime {
    SimTime::from_seconds(count * WEEK)
}

fn share(jobs: &[SubmittedJob], is: impl Fn(&SubmittedJob) -> bool) -> f64 {
    jobs.iter().filter(|job| is(job)).count() as f64 / jobs.len() as f64
}

#[test]
fn the_mix_has_both_points_of_figure_6() {
    let mix = SizeMix::hpn();
    assert!((mix.below(1_024) - 0.963).abs() < 1e-12, "{}", mix.below(1_024));
    assert!((mix.below(3_000) - 1.0).abs() < 1e-12);
    for &(gpus, _) in mix.shares() {
        let whole = if gpus > 64 {
            64
        } else if gpus > 8 {
            8
        } else {
            1
        };
        assert!(gpus.is_multiple_of(whole));
        assert!(JobClass::ALL.iter().any(|class| class.fits(gpus)), "{gpus}");
    }
}

#[test]
fn what_is_drawn_has_the_shares_of_the_mix() {
    // Twenty weeks of a pod of HPN.
    let stream =
        JobStream { median: SimTime::from_seconds(600.0), ..JobStream::new(15_360, weeks(20.0), 0.9, 1) };
    let jobs = stream.jobs().unwrap();
    assert!(jobs.len() > 50_000, "{}", jobs.len());
    // Three standard deviations of so many draws.
    let within = 3.0 * (0.963 * 0.037 / jobs.len() as f64).sqrt();
    let below = share(&jobs, |job| job.gpus < 1_024);
    assert!((below - 0.963).abs() < within, "{below}");
    assert!(jobs.iter().all(|job| job.gpus < 3_000));
    let mut seconds: Vec<f64> = jobs.iter().map(|job| job.duration.seconds()).collect();
    seconds.sort_by(f64::total_cmp);
    let at = |share: f64| seconds[(share * seconds.len() as f64) as usize];
    assert!((at(0.5) / 600.0 - 1.0).abs() < 0.03, "{}", at(0.5));
    // One standard deviation of the logarithm up and down.
    assert!(((at(0.8413) / at(0.1587)).ln() / 2.0 - 1.85).abs() < 0.03);
}

#[test]
fn the_load_is_what_was_asked_for() {
    for load in [0.7, 0.9] {
        for seed in 1..=10 {
            let stream = JobStream::new(2_048, weeks(2.0), load, seed);
            let found = stream.load_of(&stream.jobs().unwrap());
            assert!((found / load - 1.0).abs() < 1e-9, "seed {seed}: {found} for {load}");
        }
    }
}

#[test]
fn a_seed_gives_the_same_jobs_and_another_gives_others() {
    let jobs = |seed| JobStream::new(1_024, weeks(1.0), 0.9, seed).jobs().unwrap();
    assert_eq!(jobs(7), jobs(7));
    assert_ne!(jobs(7), jobs(8));
    // Another tide moves submissions and nothing else.
    let even = JobStream::new(1_024, weeks(1.0), 0.9, 7);
    let tidal = JobStream { tide: 0.8, ..even.clone() }.jobs().unwrap();
    let what = |jobs: &[SubmittedJob]| jobs.iter().map(|job| (job.gpus, job.duration)).collect::<Vec<_>>();
    assert_eq!(what(&tidal), what(&even.jobs().unwrap()));
    assert_ne!(tidal, even.jobs().unwrap());
}

#[test]
fn submissions_are_poisson_and_follow_the_tide() {
    let stream =
        JobStream { median: SimTime::from_seconds(300.0), ..JobStream::new(2_048, weeks(4.0), 0.9, 3) };
    let jobs = stream.jobs().unwrap();
    // Gaps of a Poisson process are exponential: as wide as their mean.
    let gaps: Vec<f64> =
        jobs.windows(2).map(|pair| pair[1].submitted.since(pair[0].submitted).seconds()).collect();
    let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
    let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
    assert!((variance.sqrt() / mean - 1.0).abs() < 0.05, "{} gaps of {mean}", gaps.len());
    let by_day = |jobs: &[SubmittedJob]| {
        share(jobs, |job| (9.0..21.0).contains(&(job.submitted.seconds() % DAY / 3_600.0)))
    };
    assert!((by_day(&jobs) - 0.5).abs() < 0.03);
    // The half of the day about high tide has 1/2 + 1/π of the swing.
    let tidal = JobStream { tide: 0.8, ..stream }.jobs().unwrap();
    assert!((by_day(&tidal) - (0.5 + 0.8 / std::f64::consts::PI)).abs() < 0.03, "{}", by_day(&tidal));
}

#[test]
fn small_jobs_train_small_models_and_every_job_fits_its_class() {
    let jobs = JobStream::new(4_096, weeks(8.0), 0.9, 1).jobs().unwrap();
    let parameters = |small: bool| {
        let of: Vec<f64> = jobs
            .iter()
            .filter(|job| (job.gpus <= 8) == small)
            .map(|job| {
                let class = job.class.unwrap();
                assert!(class.fits(job.gpus), "{} on {}", class.name, job.gpus);
                class.parameters().ln()
            })
            .collect();
        (of.iter().sum::<f64>() / of.len() as f64).exp()
    };
    assert!(parameters(true) * 3.0 < parameters(false), "{} {}", parameters(true), parameters(false));
    for class in JobClass::ALL {
        assert!(jobs.iter().any(|job| job.class == Some(class)), "nobody trains {}", class.name);
    }
    // Nothing has 1,104 GPUs as a multiple; large models are still nearest.
    assert!(JobClass::by_lot(1_104, 0.5).is_some());
    assert_eq!(JobClass::by_lot(0, 0.5), None);
}

#[test]
fn clusters_hold_every_job_and_nonsense_is_refused() {
    let small = JobStream::new(64, weeks(1.0), 0.9, 1);
    assert!(small.jobs().unwrap().iter().all(|job| job.gpus <= 64));
    let refused = |stream: JobStream| stream.jobs().unwrap_err().to_string();
    assert!(refused(JobStream::new(0, weeks(1.0), 0.9, 1)).starts_with("gpus = 0"));
    assert!(refused(JobStream { load: f64::NAN, ..small.clone() }).starts_with("load = NaN"));
    assert!(refused(JobStream { span: SimTime::ZERO, ..small.clone() }).starts_with("span"));
    assert!(refused(JobStream { tide: 1.5, ..small.clone() }).starts_with("tide"));
    let short = JobStream { median: SimTime::from_ps(1), ..small.clone() };
    assert!(refused(short).contains("more than"));
    let large = JobStream { sizes: SizeMix::new(&[(128, 1.0)]).unwrap(), ..small };
    assert!(refused(large).contains("wants 128"));
    assert!(SizeMix::new(&[]).is_err());
    assert!(SizeMix::new(&[(8, 0.0)]).is_err());
    let twice = SizeMix::new(&[(8, 1.0), (4, 1.0), (8, 2.0)]).unwrap();
    assert_eq!(twice.shares(), [(4, 0.25), (8, 0.75)]);
}
