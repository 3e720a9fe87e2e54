//! Controllers in the run: both engines see the same decisions at the same times, on any number of threads, and each
//! delay of the loop changes when they hold.
#![allow(clippy::unwrap_used, reason = "a test may fail")]
use std::path::Path;
use std::sync::Arc;

use railtwin::engines::engine;
use railtwin::{Question, Resolved, Run};
use railtwin_control::controller::{Action, Controller, Decision, Event};
use railtwin_control::te::Change;
use railtwin_engine::lower::Lowering;
use railtwin_engine::own::{Own, QueuePair, Site, Ways, guarded};
use railtwin_engine::{ActionRow, RunLog};
use railtwin_fabric::{DeviceId, Fabric, LinkId};
use railtwin_records::ColumnData;
use railtwin_routing::{Prefixes, TableEntry};
use railtwin_scenario::EngineName;
use railtwin_units::SimTime;

/// Eight hosts behind four leaves, one of whose spines is down for a while.
pub(crate) fn scene(routing: &str, control: &str) -> String {
    format!(
        "schema = 1\nname = \"loop\"\nseed = 7\n[fabric]\npreset = \"leaf-spine\"\nleaves = 4\n\
         hosts_per_leaf = 2\nuplinks = 4\nparallel = 1\nrails_per_leaf = 1\nchip = \"51200 Gbps\"\n\
         host = {{ model = \"plain\" }}\n[routing]\nqueue_pairs = 2\n{routing}\n[control]\n{control}\n\
         [reaction]\ndetection = \"1 us\"\nlag_failover = \"5 us\"\necmp_regroup = \"3 us\"\n\
         withdrawal = \"5 us\"\nconvergence = \"20 us\"\n[transport]\ntimeout = 4\n\
         [[job]]\nname = \"one\"\nplacement = {{ hosts = [0, 2, 4, 6] }}\n\
         collective = {{ kind = \"all-reduce\", bytes = \"8 MB\", algorithm = \"ring\" }}\n\
         [[job]]\nname = \"two\"\nplacement = {{ hosts = [1, 3, 5, 7] }}\n\
         collective = {{ kind = \"all-to-all\", bytes = \"6 MB\" }}\n\
         [[fault]]\nat = \"40 us\"\nuntil = \"150 us\"\nspine = \"spine-2\"\nkind = \"down\"\n"
    )
}

pub(crate) fn resolved(text: &str, engine: EngineName) -> Resolved {
    let question = Question::of_text("loop.toml", text, Path::new(".")).with_engine(Some(engine));
    let points = question.points().unwrap_or_else(|error| panic!("{error}\n{text}"));
    question.resolve(&points[0].scenario).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn log_of(text: &str, name: EngineName, threads: u32) -> RunLog {
    engine(name, threads).run(&resolved(text, name).case, 0)
}

/// Decisions up to a time.
fn until(log: &RunLog, end: SimTime) -> Vec<ActionRow> {
    log.actions.iter().copied().filter(|action| action.decided <= end).collect()
}

fn late(log: &RunLog) -> impl Iterator<Item = &ActionRow> {
    log.actions.iter().filter(|action| action.decided > SimTime::ZERO)
}

#[test]
fn both_engines_see_the_same_decisions_at_the_same_times() {
    let delays = "report = \"4 us\"\nprogramming = \"6 us\"";
    let leaf = format!("hosts = \"leaf\"\n{delays}");
    for (balancer, delays) in
        [("c4p", delays), ("te", delays), ("disjoint", delays), ("disjoint", &leaf), ("crux", delays)]
    {
        for replan in
            ["replan = \"once\"", "replan = \"every\"\nreplan_time = \"30 us\"", "replan = \"never\""]
        {
            // When a job ends is the engines' own matter: what is decided of it is left out.
            let text =
                scene(&format!("balancer = \"{balancer}\"\n{replan}"), delays).replace("6 MB", "20 MB");
            let work = resolved(&text, EngineName::Flow).case.work;
            let first_end = |log: &RunLog| log.job_ends(&work).into_iter().min().unwrap().min(log.end);
            let flows = log_of(&text, EngineName::Flow, 1);
            let packets = log_of(&text, EngineName::Packet, 1);
            assert_eq!(packets, log_of(&text, EngineName::Packet, 2), "{balancer} {replan}");
            let both = SimTime::from_ps(first_end(&flows).min(first_end(&packets)).ps() - 1);
            assert!(both > SimTime::from_ns(200_000), "{both}");
            assert_eq!(until(&flows, both), until(&packets, both), "{balancer} {replan}");
            assert!(!flows.actions.is_empty());
            assert_eq!(late(&flows).next().is_none(), replan.contains("never"), "{balancer} {replan}");
            for action in late(&flows).filter(|action| action.action.name() != "read") {
                assert_eq!(action.effective, action.decided + SimTime::from_ns(6_000), "{action:?}");
            }
        }
    }
}

#[test]
fn decisions_wait_for_reports_periods_and_writes() {
    let first = |control: &str, replan: &str| {
        let log = log_of(&scene(&format!("balancer = \"c4p\"\n{replan}"), control), EngineName::Flow, 1);
        let first = *late(&log).next().expect("a spine died");
        (first.decided, first.effective)
    };
    let us = |us: u64| SimTime::from_ns(us * 1_000);
    // Leaves leave the dead spine out 4 us after it died.
    assert_eq!(first("", "replan = \"once\""), (us(44), us(44)));
    assert_eq!(first("report = \"7 us\"", "replan = \"once\""), (us(51), us(51)));
    assert_eq!(first("programming = \"9 us\"", "replan = \"once\""), (us(44), us(53)));
    assert_eq!(first("report = \"7 us\"", "replan = \"once\"\nreplan_time = \"5 us\""), (us(56), us(56)));
    assert_eq!(
        first("programming = \"2 us\"", "replan = \"every\"\nreplan_time = \"50 us\""),
        (us(50), us(52))
    );
}

#[test]
fn a_prober_finds_a_link_that_loses_and_c4p_leaves_it_until_it_is_sound() {
    let lossy = "[[fault]]\nat = \"40 us\"\nuntil = \"150 us\"\ncable = \"leaf-0:uplink-2\"\nkind = \"lossy\"\n\
                 loss = 0.2\n";
    let text = |control: &str| {
        let whole = scene("balancer = \"c4p\"", control);
        format!("{}{lossy}", &whole[..whole.find("[[fault]]").unwrap()])
    };
    let blind = log_of(&text(""), EngineName::Flow, 1);
    assert_eq!(late(&blind).count(), 0, "nobody hears of what a link loses");
    let probing = text(
        "probes = \"20 us\"\nprobe_timeout = \"65 us\"\nprobe_packets = 8\nreport = \"2 us\"\nclean_surveys = 2\n\
         rebalance = 0",
    );
    let flows = log_of(&probing, EngineName::Flow, 1);
    let packets = log_of(&probing, EngineName::Packet, 1);
    assert_eq!(packets, log_of(&probing, EngineName::Packet, 2));
    let us = |us: u64| SimTime::from_ns(us * 1_000);
    for log in [&flows, &packets] {
        let moved: Vec<&ActionRow> = late(log).filter(|one| one.action.name() == "path").collect();
        // The first that meets it is that of 40 us, or of 60 us where the one of 20 us is not answered by then. What is
        // lost is given up 65 us after the last packet, and
        // told a report later.
        let first = log.surveys.iter().find(|survey| survey.answers.iter().any(|answer| answer.lost > 0));
        let first = first.expect("a survey met it");
        assert!([us(40), us(60)].contains(&first.at), "{}", first.at);
        assert_eq!(moved[0].decided, first.told);
        let waited = SimTime::from_ps(first.told.ps() - first.at.ps());
        assert!(waited > us(65 + 2) && waited < us(65 + 2 + 20), "{waited}");
        // A survey that the run's end cut off was told to nobody: it is no look, and it shifts none.
        let mut cut = log.clone();
        let mut survey = log.surveys[0].clone();
        (survey.told, survey.answers) = (SimTime::NEVER, Vec::new());
        cut.surveys.push(survey);
        let case = resolved(&probing, EngineName::Flow).case;
        let [told, untold] =
            [log, &cut].map(|log| format!("{:?}", railtwin::probe_tables::tables(&case, log, "test")));
        assert_eq!(told, untold);
    }
    let bad = resolved(&probing, EngineName::Flow).case.impairments[0].link.index();
    assert!(flows.link_bytes[bad] < 0.7 * blind.link_bytes[bad], "{}", flows.link_bytes[bad]);
    // A survey every 20 us is not free: it takes a good part of what leaving the link saves.
    assert!(flows.end.seconds() < 1.04 * blind.end.seconds(), "{} {}", flows.end, blind.end);
    // Surveys are rows of their own, each with all paths of all pairs of leaves.
    let surveys: Vec<&ActionRow> = late(&flows).filter(|one| one.action.name() == "probe").collect();
    assert_eq!((surveys[0].decided, surveys[0].moved), (us(20), 4 * 3 * 4));
}

#[test]
fn the_table_of_a_run_tells_every_decision() {
    let text = scene("balancer = \"te\"\nreplan = \"once\"", "programming = \"2 us\"");
    let run = Run::of(resolved(&text, EngineName::Flow), &|| ());
    let tables = run.tables();
    let table = tables.iter().find(|table| table.name == "actions").expect("a run has its actions");
    let texts = |name: &str| -> Vec<String> {
        let column = table.columns.iter().find(|column| column.name == name).unwrap();
        match &column.data {
            ColumnData::Text { dictionary, codes } => {
                codes.iter().map(|&code| dictionary[code as usize].clone()).collect()
            }
            other => panic!("{other:?}"),
        }
    };
    let (controllers, actions, subjects) = (texts("controller"), texts("action"), texts("subject"));
    assert!(controllers.iter().all(|name| name == "te"));
    assert!(actions.iter().any(|name| name == "entry-replace"), "{actions:?}");
    // What was placed at the start is one row; later each entry is one, with its uplinks before and after.
    assert!(subjects[0].ends_with(" entries"), "{subjects:?}");
    let replaced = actions.iter().position(|name| name == "entry-replace").unwrap();
    let (before, after) = (&texts("before")[replaced], &texts("after")[replaced]);
    assert!(before != after && before.contains("leaf-") && after.contains("leaf-"), "{before} {after}");
}

#[test]
fn keys_of_controllers_that_nobody_goes_by_are_told() {
    let text = scene("balancer = \"ecmp\"\nreplan = \"once\"", "report = \"4 us\"\nentries = 3");
    let warnings = resolved(&text, EngineName::Flow).case.warnings;
    let told = "control.report and control.entries change nothing under balancer ecmp";
    assert!(warnings.iter().any(|warning| warning == told), "{warnings:?}");
    let text = scene("balancer = \"c4p\"", "lost_writes = 0.5");
    let warnings = resolved(&text, EngineName::Flow).case.warnings;
    let told = "control.lost_writes changes nothing under balancer c4p";
    assert!(warnings.iter().any(|warning| warning == told), "{warnings:?}");
}

#[test]
fn when_paths_are_planned_again_is_told_to_be_idle_where_nobody_plans() {
    let told = |balancer: &str| {
        let text =
            scene(&format!("balancer = \"{balancer}\"\nreplan = \"once\"\nreplan_time = \"9 us\""), "");
        let warnings = resolved(&text, EngineName::Flow).case.warnings;
        warnings.into_iter().find(|warning| warning.starts_with("routing.replan"))
    };
    for balancer in ["ecmp", "e-ecmp", "multipath-ecn", "spray"] {
        let why = format!(
            "routing.replan and routing.replan_time change nothing under balancer {balancer}, which plans no paths"
        );
        assert_eq!(told(balancer).as_ref(), Some(&why));
    }
    for balancer in ["c4p", "te", "disjoint", "crux"] {
        assert_eq!(told(balancer), None);
    }
}

#[test]
fn a_warning_says_what_makes_a_key_idle_that_fits_the_balancer() {
    let warned = |routing: &str, control: &str| {
        resolved(&scene(routing, control), EngineName::Flow).case.warnings.join("\n")
    };
    let dynamic = warned("balancer = \"c4p\"\nsplit = \"dynamic\"", "feedback = \"20 us\"\nfloor = 0.2");
    let why = "control.feedback and control.floor change nothing with `split = \"dynamic\"`";
    assert!(dynamic.contains(why), "{dynamic}");
    let unfed = warned("balancer = \"c4p\"", "floor = 0.2\nprobe_packets = 7");
    assert!(unfed.contains("control.floor changes nothing without `control.feedback`"), "{unfed}");
    assert!(unfed.contains("control.probe_packets changes nothing without `control.probes`"), "{unfed}");
    let crux = warned("balancer = \"crux\"\nreplan = \"never\"", "feedback = \"20 us\"\nprofile = \"90 us\"");
    assert!(crux.contains("control.profile changes nothing with `replan = \"never\"`"), "{crux}");
}

#[test]
fn periods_that_would_take_a_run_without_end_are_refused() {
    for (routing, control, key) in [
        ("balancer = \"c4p\"", "probes = \"1 ps\"", "probes"),
        ("balancer = \"c4p\"", "feedback = \"999 ns\"", "feedback"),
        ("balancer = \"te\"\nreplan_time = \"1 ps\"", "", "replan_time"),
        ("balancer = \"c4p\"\nreplan = \"every\"\nreplan_time = \"3 ns\"", "", "replan_time"),
    ] {
        let refused = Question::of_text("loop.toml", &scene(routing, control), Path::new(".")).points();
        let refused = refused.map(|_| ()).unwrap_err().to_string();
        assert!(refused.contains(key) && refused.contains("the shortest is 1 us"), "{refused}");
    }
    let text = scene("balancer = \"c4p\"", "probes = \"1 us\"\nfeedback = \"1 us\"");
    assert!(Question::of_text("loop.toml", &text, Path::new(".")).points().is_ok());
}

/// Without a delay of writes, who writes at once what never arrives would write for ever at one time.
#[test]
fn writes_that_never_arrive_end_with_the_run_and_say_why_they_are_made_again() {
    let text = scene("balancer = \"te\"\nreplan = \"once\"", "lost_writes = 1.0\nprogramming = \"0 s\"");
    for name in [EngineName::Flow, EngineName::Packet] {
        let log = log_of(&text, name, 1);
        assert!(log.unfinished == 0 && late(&log).next().is_some(), "{name:?}");
        assert!(late(&log).all(|row| row.effective == SimTime::NEVER));
        let reasons: std::collections::BTreeSet<&str> = late(&log).map(|row| row.reason).collect();
        assert!(reasons.contains("links-changed") && reasons.contains("write-failed"), "{reasons:?}");
        assert!(late(&log).filter(|row| row.reason == "links-changed").count() < late(&log).count() / 2);
    }
}

/// Every queue pair by the first source port that leads over one spine: other ones when groups of links change.
#[derive(Debug)]
struct OneSpine {
    ways: Ways,
    spine: Option<DeviceId>,
    fabric: Arc<Fabric>,
    open: Vec<(QueuePair, u16)>,
    stale: bool,
}

impl Controller for OneSpine {
    fn name(&self) -> &'static str {
        "one-spine"
    }

    fn on_event(&mut self, _now: SimTime, event: &Event<'_>) {
        match event {
            Event::Opened(all) => {
                self.open.extend(all.iter().flat_map(QueuePair::of).map(|one| (one, 0xC000)));
                self.stale = true;
            }
            Event::Link(report) => self.stale |= self.ways.hear(report),
            _ => {}
        }
    }

    fn decide(&mut self, now: SimTime, decisions: &mut Vec<Decision>) {
        if !std::mem::take(&mut self.stale) {
            return;
        }
        let mut links = Vec::new();
        for (one, port) in &mut self.open {
            let leads = |port: &u16| {
                links.clear();
                self.ways.route(one, *port, &mut links)
                    && links.get(1).is_some_and(|&up| Some(self.fabric.target(up)) == self.spine)
            };
            let found = (0xC000..0xC400).find(leads);
            if let Some(source_port) = found.filter(|found| found != port || now == SimTime::ZERO) {
                *port = source_port;
                let action = Action::Path { queue_pair: one.row, source_port: Some(source_port) };
                decisions.push(Decision { action, reason: "over-one-spine" });
            }
        }
    }
}

fn own(make: impl Fn(&Site) -> Box<dyn Controller> + Send + Sync + 'static) -> Own {
    Own::new(&["one-spine"], move |site| vec![make(site)])
}

fn one_spine(site: &Site) -> Box<dyn Controller> {
    let (fabric, ways) = (Arc::clone(&site.fabric), Ways::new(site));
    Box::new(OneSpine { ways, spine: fabric.switch_named("spine-1"), fabric, open: Vec::new(), stale: false })
}

#[test]
fn a_controller_of_ones_own_decides_alike_under_both_engines() {
    let text = scene("", "report = \"4 us\"\nprogramming = \"6 us\"");
    let log = |name, threads| {
        let resolved = resolved(&text, name).with_controllers(own(one_spine)).unwrap();
        engine(name, threads).run(&resolved.case, 0)
    };
    let (flows, packets) = (log(EngineName::Flow, 1), log(EngineName::Packet, 1));
    assert_eq!(packets, log(EngineName::Packet, 2));
    let both = flows.end.min(packets.end);
    assert_eq!(until(&flows, both), until(&packets, both));
    assert!(
        flows
            .actions
            .iter()
            .all(|action| action.controller == "one-spine" && action.reason == "over-one-spine")
    );
    assert!(late(&flows).next().is_some(), "groups shrank, so ports lead elsewhere");
    for action in late(&flows) {
        assert_eq!(action.effective, action.decided + SimTime::from_ns(6_000), "{action:?}");
    }
    // Without it the log is another: it is heard under a balancer that hashes.
    assert_ne!(flows.link_bytes, log_of(&text, EngineName::Flow, 1).link_bytes);
}

#[test]
fn a_run_of_ones_own_controllers_has_a_name_of_its_own_and_says_theirs() {
    let text = scene("", "report = \"4 us\"");
    let plain = resolved(&text, EngineName::Flow);
    assert!(plain.case.warnings.iter().any(|warning| warning.starts_with("control.report changes nothing")));
    let with_it = plain.clone().with_controllers(own(one_spine)).unwrap();
    assert!(with_it.case.warnings.iter().all(|warning| !warning.contains("control.report")));
    assert_ne!(railtwin::run::id_of(&plain), railtwin::run::id_of(&with_it));
    let run = Run::of_into(with_it, None, &|| ()).unwrap();
    assert_eq!(run.info.facts["controllers"], "one-spine");
    let spray = resolved(&scene("balancer = \"spray\"", ""), EngineName::Flow);
    let refused = spray.with_controllers(own(one_spine)).unwrap_err().to_string();
    assert!(
        refused.starts_with("controllers cannot steer under balancer spray, where switches"),
        "{refused}"
    );
    // It names all that are accepted, and they are.
    let accepted: Vec<&str> = refused.rsplit_once("write one of ").unwrap().1.split(", ").collect();
    assert!(accepted.contains(&"crux") && !accepted.contains(&"spray"), "{refused}");
    for balancer in accepted {
        let fits = resolved(&scene(&format!("balancer = \"{balancer}\""), ""), EngineName::Flow);
        assert!(fits.with_controllers(own(one_spine)).is_ok(), "{balancer}");
    }
}

/// Whose a row of `actions` is its name tells, and one row is one line.
#[test]
fn names_of_ours_and_reasons_of_several_lines_are_refused() {
    let scene = |routing: &str| resolved(&scene(routing, "feedback = \"20 us\""), EngineName::Flow);
    let says = |name: &'static str, action: Action, reason: &'static str| {
        let never = SimTime::NEVER;
        Own::new(&[name], move |_: &Site| vec![Box::new(Asks(action, never, reason)) as Box<dyn Controller>])
    };
    let path = Action::Path { queue_pair: 0, source_port: None };
    let named = |name| scene("").with_controllers(says(name, path, "asked"));
    for routing in ["c4p", "te", "disjoint", "crux", "multipath-ecn"] {
        let log = engine(EngineName::Flow, 1).run(&scene(&format!("balancer = \"{routing}\"")).case, 0);
        for ours in log.actions.iter().map(|row| row.controller).chain([routing, "steering"]) {
            let refused = named(ours).map(|_| ()).unwrap_err().to_string();
            assert!(refused.contains(ours) && refused.contains("another name"), "{refused}");
        }
    }
    assert!(named("mine").is_ok());
    for reason in ["two\nlines", "a\ttab", ""] {
        let run = Run::of_into(scene("").with_controllers(says("mine", path, reason)).unwrap(), None, &|| ());
        let refused = run.map(|_| ()).unwrap_err().to_string();
        assert!(refused.contains("the reason") && !refused.contains('\n'), "{refused}");
    }
    // A share is told to be idle where messages find their queue pairs by themselves, and only there.
    for (split, told) in [("dynamic", 1), ("static", 0)] {
        let weight = says("mine", Action::Weight { queue_pair: 0, share: 7 }, "asked");
        let resolved = scene(&format!("split = \"{split}\"")).with_controllers(weight).unwrap();
        let warnings = Run::of_into(resolved, None, &|| ()).unwrap().info.warnings;
        let idle = warnings.iter().filter(|one| one.starts_with("the weights that asks gave")).count();
        assert_eq!(idle, told, "{split} {warnings:?}");
    }
}

/// Asks for one thing at the start, and to be asked again at a time.
#[derive(Debug)]
struct Asks(Action, SimTime, &'static str);

impl Controller for Asks {
    fn name(&self) -> &'static str {
        "asks"
    }
    fn on_event(&mut self, _now: SimTime, _event: &Event<'_>) {}
    fn decide(&mut self, _now: SimTime, decisions: &mut Vec<Decision>) {
        decisions.push(Decision { action: self.0, reason: self.2 });
    }
    fn next_time(&self) -> SimTime {
        self.1
    }
}

#[test]
fn what_cannot_be_done_ends_the_run_with_a_reason_and_no_panic() {
    let told = |action: Action, next: SimTime| {
        let resolved = resolved(&scene("", ""), EngineName::Flow);
        let asks = Own::new(&["asks"], move |_: &Site| {
            vec![Box::new(Asks(action, next, "asked")) as Box<dyn Controller>]
        });
        Run::of_into(resolved.with_controllers(asks).unwrap(), None, &|| ())
            .map(|_| ())
            .unwrap_err()
            .to_string()
    };
    let path = |queue_pair, source_port| Action::Path { queue_pair, source_port };
    let never = SimTime::NEVER;
    assert!(told(path(99_999, None), never).contains("no queue pair 99999: "));
    assert!(told(path(0, Some(80)), never).contains("source port 80 is none of RoCE v2's"));
    assert!(told(path(0, None), SimTime::ZERO).contains("which is not later"));
    assert!(told(Action::Restart(railtwin_control::paths::JobId(0)), never).contains("restart is no action"));
    let fabric = resolved(&scene("", ""), EngineName::Flow).case.fabric;
    let nic = fabric.nic(railtwin_fabric::HostId(0), 0);
    let access = fabric.access_link(nic, 0).unwrap();
    let prefix = Prefixes::by_leaf_set(&fabric).prefix_of(nic).unwrap();
    let add = |ingress, next| Action::Entry(Change::Add(TableEntry { ingress, prefix, next }));
    assert!(told(add(access, LinkId(1 << 30)), never).contains("there is no link 1073741824"));
    assert!(told(add(access.reverse(), access), never).contains("leads from no NIC into a leaf"));
    assert!(told(add(access, access), never).contains("where the entry stands"));
}

/// Moves queue pair 0 to the next source port every 50 us, asked by nothing but the time.
#[derive(Debug)]
struct Ticks(u64);

impl Controller for Ticks {
    fn name(&self) -> &'static str {
        "ticks"
    }
    fn on_event(&mut self, _now: SimTime, _event: &Event<'_>) {}
    fn decide(&mut self, now: SimTime, decisions: &mut Vec<Decision>) {
        if now.ps() >= self.0 * 50_000_000 && self.0 < 4 {
            let action = Action::Path { queue_pair: 0, source_port: Some(0xC000 + self.0 as u16) };
            decisions.push(Decision { action, reason: "time" });
            self.0 += 1;
        }
    }
    fn next_time(&self) -> SimTime {
        if self.0 < 4 { SimTime::from_ps(self.0 * 50_000_000) } else { SimTime::NEVER }
    }
}

/// Asks to be asked again after each period, and does nothing.
#[derive(Debug)]
struct Clock(SimTime, SimTime);

impl Controller for Clock {
    fn name(&self) -> &'static str {
        "clock"
    }
    fn on_event(&mut self, _now: SimTime, _event: &Event<'_>) {}
    fn decide(&mut self, now: SimTime, _decisions: &mut Vec<Decision>) {
        self.1 = now.saturating_add(self.0);
    }
    fn next_time(&self) -> SimTime {
        self.1
    }
}

/// Work that goes on for more than 10,000 periods lets who ticks tick; where none goes on 10,000 end it, and so they do
/// where they are shorter than a packet takes.
#[test]
fn who_ticks_goes_on_as_long_as_work_does() {
    let whole = scene("", "");
    let text = whole[..whole.find("[[fault]]").unwrap()].replace("8 MB", "2 GB").replace("6 MB", "9 MB");
    let ticks = |text: &str, name: EngineName, period: SimTime| {
        let own = Own::new(&["clock"], move |_: &Site| vec![Box::new(Clock(period, period))]);
        let resolved = resolved(text, name).with_controllers(own).unwrap();
        Run::of_into(resolved, None, &|| ()).map(|_| ()).map_err(|error| error.to_string())
    };
    assert_eq!(ticks(&text, EngineName::Flow, SimTime::from_ns(2_000)), Ok(()));
    let often = ticks(&text, EngineName::Flow, SimTime::from_ns(10)).unwrap_err();
    assert!(often.contains("10000 times in a row asked") && often.contains("within 100 us"), "{often}");
    // Nobody works: the one who asks is all that goes on.
    let period = SimTime::from_ns(50_000);
    let own = Own::new(&["clock"], move |_: &Site| vec![Box::new(Clock(period, period))]);
    let case = resolved(&text, EngineName::Flow).with_controllers(own).unwrap().case;
    let (moments, lowering) = (case.timeline(0), Lowering::new(&case, 0));
    let stands = guarded(|| {
        let mut mediator = lowering.mediator(&moments);
        while let Some(at) = mediator.next_time() {
            mediator.pass(at);
        }
    });
    let why = stands.unwrap_err().why;
    assert!(why.contains("10000 times in a row asked") && why.contains("no work goes on"), "{why}");
}

#[test]
fn a_controller_of_ones_own_is_asked_when_it_says_though_nothing_happens() {
    let whole = scene("", "");
    let text = &whole[..whole.find("[[fault]]").unwrap()];
    for name in [EngineName::Flow, EngineName::Packet] {
        let own = Own::new(&["ticks"], |_: &Site| vec![Box::new(Ticks(0))]);
        let resolved = resolved(text, name).with_controllers(own).unwrap();
        let log = engine(name, 1).run(&resolved.case, 0);
        let decided: Vec<u64> = log.actions.iter().map(|one| one.decided.ps() / 1_000_000).collect();
        assert_eq!(decided, [0, 50, 100, 150], "{name:?}");
    }
}
