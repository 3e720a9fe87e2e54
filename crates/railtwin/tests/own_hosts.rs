//! Controllers of one's own where no engine follows steps: they steer the hosts of a job over its life, and place jobs
//! over weeks.
#![allow(clippy::unwrap_used, reason = "a test may fail")]
use std::path::Path;

use railtwin::life::lives;
use railtwin::{Error, Question, Run};
use railtwin_control::controller::{Controller, Decision, Event};
use railtwin_control::crux::plan::SharingPolicy;
use railtwin_control::paths::JobId;
use railtwin_control::{Action, Policy, SpareScope, Steering};
use railtwin_engine::own::{Own, Site, Stage};
use railtwin_fabric::HostId;
use railtwin_reliability::failure_rates::Cause;
use railtwin_reliability::lifetime::{Lifetime, Lifetimes};
use railtwin_units::SimTime;

/// A job of 32 GPUs on two hosts of each of two segments, with a spare in each, that fails a lot.
fn life(steering: &str, own: Option<Own>) -> Result<Lifetimes, Error> {
    let text = format!(
        "schema = 1\nname = \"life\"\nseed = 3\n[fabric]\npreset = \"hpn\"\nsegments = 2\nhosts = 2\n\
         spare_hosts = 1\nspines = 2\n[[job]]\nname = \"train\"\nhosts = 4\n\
         collective = {{ kind = \"all-reduce\", bytes = \"1 GB\", compute = \"1 s\" }}\n\
         [failures]\nprocess = \"c4\"\nfactor = 600\nwindow = \"720 h\"\ndays = 30\n[steering]\nlives = 3\n{steering}\n"
    );
    let question = Question::of_text("life.toml", &text, Path::new("."));
    let mut resolved = question.resolve(&question.points()?.remove(0).scenario)?;
    if let Some(own) = own {
        resolved = resolved.with_controllers(own)?;
    }
    lives(&resolved, None)
}

/// The policy itself, as if somebody had written it: it is made in the life alone.
fn policy_again() -> Own {
    Own::new(&["policy-again"], |site: &Site| {
        if site.stage == Stage::Run {
            return Vec::new();
        }
        let policy = Policy {
            automatic: Cause::ALL.iter().map(|cause| cause.name()).collect(),
            confidence: 0.5,
            hosts_out: 8,
            hosts_per_hour: 4,
            spares: SpareScope::Pod,
        };
        let hosts = [0, 1, 3, 4].map(HostId).to_vec();
        vec![Box::new(Steering::new(policy, &site.fabric, &[(JobId(0), hosts)]))]
    })
}

/// What is decided by who stands beside the policy's place is lived through as what the policy decides there.
#[test]
fn ones_own_copy_of_the_policy_lives_the_same_life() {
    let policy = life("", None).unwrap();
    let own = life("controller = \"own\"", Some(policy_again())).unwrap();
    assert!(policy.lives.iter().any(|lived| lived.done.len() > 10));
    for (one, other) in policy.lives.iter().zip(&own.lives) {
        let differs = one.done.iter().zip(&other.done).find(|(one, other)| one != other);
        assert_eq!(differs, None);
        assert!(one.done == other.done && one.standstills == other.standstills && one.steps == other.steps);
    }
}

/// Isolates who is found, and takes the first spare that it knows of.
#[derive(Debug, Default)]
struct Quick {
    spares: Vec<HostId>,
    waits: Vec<HostId>,
    restart: bool,
    wrong: bool,
}

impl Controller for Quick {
    fn name(&self) -> &'static str {
        "quick"
    }

    fn on_event(&mut self, _now: SimTime, event: &Event<'_>) {
        match *event {
            Event::Found(finding) | Event::Confirmed(finding) if !self.waits.contains(&finding.host) => {
                self.waits.push(finding.host);
            }
            Event::Repaired(host) => self.spares.push(host),
            Event::Cleared(_) => self.restart = true,
            _ => {}
        }
    }

    fn decide(&mut self, _now: SimTime, decisions: &mut Vec<Decision>) {
        let mut say = |action| decisions.push(Decision { action, reason: "quick" });
        while let (Some(&out), Some(&spare)) = (self.waits.first(), self.spares.first()) {
            let spare = if self.wrong { out } else { spare };
            say(Action::Isolate(out));
            say(Action::Swap { job: JobId(0), out, spare });
            self.waits.remove(0);
            self.spares.remove(0);
            self.restart = true;
        }
        if std::mem::take(&mut self.restart) {
            say(Action::Restart(JobId(0)));
        }
    }
}

fn quick(wrong: bool) -> Own {
    Own::new(&["quick"], move |site: &Site| {
        let all = (0..site.fabric.hosts().len()).map(HostId::from_index);
        let spares = all.filter(|&host| site.fabric.host(host).spare).collect();
        vec![Box::new(Quick { spares, wrong, ..Quick::default() })]
    })
}

#[test]
fn ones_own_steers_hosts_and_what_cannot_be_is_refused() {
    let own = life("controller = \"own\"", Some(quick(false))).unwrap();
    let swaps = |lived: &Lifetime| lived.done.iter().filter(|row| row.action.name() == "swap").count();
    assert!(own.lives.iter().all(|lived| swaps(lived) > 0));
    assert!(own.lives.iter().flat_map(|lived| &lived.done).all(|row| row.controller == "quick"));
    let refused = life("controller = \"own\"", Some(quick(true))).unwrap_err().to_string();
    assert!(refused.contains("quick") && refused.contains("is no spare that is free"), "{refused}");
    let nobody = life("controller = \"own\"", None).unwrap_err().to_string();
    assert!(nobody.contains("steering.controller is \"own\", and there is no controller"), "{nobody}");
}

#[test]
fn a_run_without_who_steers_is_refused_before_it_runs() {
    let text = "schema = 1\nname = \"a\"\nfabric = { preset = \"hpn\", segments = 1, hosts = 2 }\n[[job]]\nhosts = 2\n\
                collective = { kind = \"all-reduce\", bytes = \"1 MB\", compute = \"1 s\" }\n\
                [failures]\nprocess = \"c4\"\nwindow = \"24 h\"\ndays = 1\n[steering]\ncontroller = \"own\"\nhosts_out = 2\n";
    let question = Question::of_text("a.toml", text, Path::new("."));
    let resolved = question.resolve(&question.points().unwrap().remove(0).scenario).unwrap();
    let warned = resolved.case.all_warnings();
    assert!(warned.iter().any(|one| one.starts_with("steering.hosts_out changes nothing")), "{warned:?}");
    assert!(Run::of_into(resolved, None, &|| ()).is_err());
}

/// Puts each job that waits on the first hosts that are free, whole hosts first, in the order in which they came.
#[derive(Debug)]
struct FirstFit {
    free: Vec<u32>,
    waiting: Vec<(JobId, u32)>,
    held: Vec<(JobId, HostId, u32)>,
    too_much: bool,
}

impl Controller for FirstFit {
    fn name(&self) -> &'static str {
        "first-fit"
    }

    fn on_event(&mut self, _now: SimTime, event: &Event<'_>) {
        match *event {
            Event::Submitted(one) => self.waiting.push((one.job, one.gpus)),
            Event::Closed(job) => {
                for &(_, host, gpus) in self.held.iter().filter(|held| held.0 == job) {
                    self.free[host.index()] += gpus;
                }
                self.held.retain(|held| held.0 != job);
            }
            _ => {}
        }
    }

    fn decide(&mut self, _now: SimTime, decisions: &mut Vec<Decision>) {
        while let Some(&(job, gpus)) = self.waiting.first() {
            let whole = |&host: &usize| self.free[host] == 8;
            let mut parts: Vec<(usize, u32)> =
                (0..self.free.len()).filter(whole).take((gpus / 8) as usize).map(|host| (host, 8)).collect();
            let rest = gpus % 8;
            let fits = |host: &usize| self.free[*host] >= rest && !parts.iter().any(|part| part.0 == *host);
            let tight = (0..self.free.len()).filter(fits).min_by_key(|&host| (self.free[host], host));
            match tight {
                _ if parts.len() < (gpus / 8) as usize => return,
                Some(host) if rest > 0 => parts.push((host, rest)),
                None if rest > 0 => return,
                _ => {}
            }
            for (host, gpus) in parts {
                self.free[host] -= gpus;
                let (host, gpus) = (HostId::from_index(host), gpus + u32::from(self.too_much));
                self.held.push((job, host, gpus));
                decisions.push(Decision { action: Action::Place { job, host, gpus }, reason: "fits" });
            }
            self.waiting.remove(0);
        }
    }
}

fn first_fit(too_much: bool) -> Own {
    Own::new(&["first-fit"], move |site: &Site| {
        let hosts = (0..site.fabric.hosts().len()).map(HostId::from_index);
        let free = hosts.map(|host| if site.fabric.host(host).spare { 0 } else { 8 }).collect();
        vec![Box::new(FirstFit { free, waiting: Vec::new(), held: Vec::new(), too_much })]
    })
}

/// Whole hosts in the order of their ids, and the host with the fewest free GPUs for the rest: that is `packed`.
#[test]
fn ones_own_packed_is_packed() {
    let weeks = |placement: &str, own: Option<Own>| {
        let text = format!(
            "schema = 1\nname = \"weeks\"\nfabric = {{ preset = \"leaf-spine\", leaves = 4, hosts_per_leaf = 4, host = {{ \
             model = \"hgx-a100\" }} }}\n[cluster]\ndays = 2\nplacement = \"{placement}\"\njitter = 0\n\
             stream = {{ load = 0.9, median = \"30 min\" }}\n"
        );
        let question = Question::of_text("weeks.toml", &text, Path::new("."));
        let mut cluster = question.cluster(&question.points().unwrap().remove(0).scenario).unwrap();
        if let Some(own) = own {
            cluster = cluster.with_controllers(own)?;
        }
        cluster.lived(SharingPolicy::Ecmp, 5).map(|(_, lived)| lived)
    };
    let (mut packed, mut own) =
        (weeks("packed", None).unwrap(), weeks("own", Some(first_fit(false))).unwrap());
    // The same is done at the same times; who does it, and why, is told otherwise.
    let [ours, others] = [&mut packed, &mut own].map(|lived| std::mem::take(&mut lived.actions));
    assert_eq!(ours.len(), others.len());
    for (ours, others) in ours.into_iter().zip(others) {
        assert_eq!((ours.controller, others.controller), ("fifo", "first-fit"));
        let said = (others.controller, others.reason);
        assert_eq!(railtwin_clustersim::JobAction { controller: said.0, reason: said.1, ..ours }, others);
    }
    assert!(packed.jobs.iter().filter(|job| job.ended.is_some()).count() > 20);
    assert_eq!(packed, own);
    let refused = weeks("own", Some(first_fit(true))).unwrap_err().to_string();
    assert!(refused.contains("first-fit") && refused.contains("GPUs"), "{refused}");
    let nobody = weeks("own", None).unwrap_err().to_string();
    assert!(nobody.contains("there is no controller of one's own"), "{nobody}");
    let nothing = weeks("packed", Some(first_fit(false))).unwrap_err().to_string();
    assert!(nothing.contains("nobody asks controllers"), "{nothing}");
}
