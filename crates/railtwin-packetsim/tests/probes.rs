//! Probes of controllers are packets like others: they take what a packet takes, load what they cross, and get lost.
#![allow(clippy::unwrap_used, reason = "a test")]
use std::sync::Arc;

use proptest::prelude::*;
use railtwin_control::controller::{Action, Answer, Controller, Decision, Event};
use railtwin_engine::own::Own;
use railtwin_engine::packet::{Trouble, Troubled};
use railtwin_engine::{Case, Engine, Impairment, RunLog};
use railtwin_fabric::preset::LeafSpine;
use railtwin_fabric::{Fabric, HostId, LinkId};
use railtwin_flowsim::FlowEngine;
use railtwin_packetsim::PacketEngine;
use railtwin_routing::NicPort;
use railtwin_testkit::cases::pairs;
use railtwin_testkit::closed_forms::{BYTE, US, tandem};
use railtwin_testkit::fabrics::{self, leaf_spine};
use railtwin_testkit::us;
use railtwin_units::{Rate, SimTime};

/// Probes between hosts by their numbers, again and again.
#[derive(Clone, Debug)]
struct Often {
    pairs: Vec<(u32, u32)>,
    packets: u32,
    next: SimTime,
    period: SimTime,
    fabric: Arc<Fabric>,
}

impl Controller for Often {
    fn name(&self) -> &'static str {
        "often"
    }
    fn on_event(&mut self, _now: SimTime, _event: &Event<'_>) {}
    fn decide(&mut self, now: SimTime, decisions: &mut Vec<Decision>) {
        if now < self.next {
            return;
        }
        self.next = now.saturating_add(self.period);
        decisions.extend((0..).zip(&self.pairs).map(|(row, &(source, target))| {
            let nic = |host: u32| self.fabric.nic(HostId(host), 0);
            let source = NicPort { nic: nic(source), port: 0 };
            let (target, source_port, packets) = (nic(target), 50_000 + row, self.packets);
            Decision { action: Action::Probe { source, target, source_port, packets }, reason: "test" }
        }));
    }
    fn next_time(&self) -> SimTime {
        self.next
    }
}

/// A case whose hosts are probed from `first` on, once in a period.
fn probed(mut case: Case, between: &[(u32, u32)], packets: u32, first: SimTime, period: SimTime) -> Case {
    let fabric = Arc::clone(&case.fabric);
    let often = Often { pairs: between.to_vec(), packets, next: first, period, fabric };
    case.own = Some(Own::new(&["often"], move |_| vec![Box::new(often.clone()) as Box<dyn Controller>]));
    case
}

fn both(case: &Case) -> [RunLog; 2] {
    let packets = PacketEngine::default().run(case, 0);
    assert_eq!(packets, PacketEngine { threads: 2 }.run(case, 0));
    [packets, FlowEngine::default().run(case, 0)]
}

fn only(log: &RunLog) -> &[Answer] {
    assert_eq!(log.surveys.len(), 1, "{:?}", log.surveys);
    &log.surveys[0].answers
}

#[test]
fn an_idle_path_takes_serialisation_and_delay_of_every_hop_both_ways_in_both_engines() {
    for (uplink, latency_ns) in [(100, 0), (400, 0), (50, 700)] {
        let (delay, switch_latency) = (us(1), SimTime::from_ns(latency_ns));
        let uplink_capacity = Rate::from_gbps(uplink);
        let leaves = fabrics::leaves(fabrics::plain_host(1, 100), 2, 3, 1);
        let spec = LeafSpine { delay, switch_latency, uplink_capacity, ..leaves };
        let fabric = Arc::new(spec.build().unwrap());
        let lag = US + latency_ns * 1_000;
        let (own, up, last) = ((BYTE, lag), (8_000 / uplink, lag), (BYTE, US));
        // Work is at other hosts.
        let far = probed(pairs(Arc::clone(&fabric), &[(1, 2)], 1_000_000), &[(0, 3)], 1, us(20), us(9_000));
        let near = probed(pairs(Arc::clone(&fabric), &[(4, 5)], 1_000_000), &[(0, 1)], 1, us(20), us(9_000));
        let far_way = tandem(&[128], &[own, up, up, last]);
        let near_way = tandem(&[128], &[own, last]);
        for (case, one_way) in [(far, far_way), (near, near_way)] {
            for log in both(&case) {
                let answer = only(&log)[0];
                assert_eq!((answer.sent, answer.lost), (1, 0));
                assert_eq!(answer.delay.ps(), 2 * one_way, "{uplink} {latency_ns}");
                assert_eq!(answer.delay_max, answer.delay);
            }
        }
    }
}

#[test]
fn what_is_asked_for_at_the_start_is_sent_at_the_start() {
    let fabric = Arc::new(fabrics::leaves(fabrics::plain_host(1, 100), 2, 3, 1).build().unwrap());
    let work = pairs(Arc::clone(&fabric), &[(1, 2)], 100_000_000);
    for log in both(&probed(work, &[(0, 3)], 1, SimTime::ZERO, us(90_000))) {
        let survey = &log.surveys[0];
        assert_eq!((survey.at, survey.answers.len()), (SimTime::ZERO, 1), "{survey:?}");
        // There and back, and not when the work is next looked at, milliseconds later.
        assert!(log.end > us(1_000) && survey.told < us(100), "{} {}", survey.told, log.end);
    }
}

#[test]
fn what_probes_put_on_links_is_what_was_sent_times_the_links_that_it_crossed() {
    let fabric = leaf_spine(2, 3, 2, (100, 100), 1_000);
    let quiet = pairs(Arc::clone(&fabric), &[(2, 5)], 4_000_000);
    let case = probed(quiet.clone(), &[(0, 3), (1, 4), (0, 1)], 40, us(20), us(50));
    let bytes = |log: &RunLog| -> f64 {
        let late = log.packets.as_ref().map_or(0, |packets| packets.links.late_bytes.iter().sum::<u64>());
        log.link_bytes.iter().sum::<f64>() + late as f64
    };
    let [packets, flows] = both(&case);
    let [quiet_packets, quiet_flows] = both(&quiet);
    let sent = |log: &RunLog| -> f64 {
        let of_survey = |survey: &railtwin_engine::Survey| -> f64 {
            let rows = survey.answers.iter().enumerate();
            rows.map(|(row, answer)| {
                assert_eq!((answer.sent, answer.lost), (40, 0));
                f64::from(2 * answer.sent * survey.size) * survey.links_of(row).len() as f64
            })
            .sum()
        };
        log.surveys.iter().map(of_survey).sum()
    };
    assert!(packets.surveys.len() > 4, "{}", packets.surveys.len());
    assert_eq!(bytes(&packets) - bytes(&quiet_packets), sent(&packets));
    // The last survey of the flows may be cut short by the end of the run.
    let whole = sent(&flows);
    let more = bytes(&flows) - bytes(&quiet_flows);
    let each = whole / flows.surveys.len() as f64;
    assert!(more > whole - 1.0 && more < whole + each + 1.0, "{more} {whole}");
}

#[test]
fn who_probes_loaded_links_knows_it_in_both_engines() {
    let fabric = leaf_spine(2, 2, 1, (100, 100), 1_000);
    // Host 0 sends to 1 all the time; nobody else sends.
    let case = probed(
        pairs(Arc::clone(&fabric), &[(0, 1)], 8_000_000),
        &[(0, 1), (2, 3), (2, 1), (1, 0)],
        50,
        us(100),
        us(9_000),
    );
    for log in both(&case) {
        let loaded: Vec<bool> = only(&log).iter().map(|answer| answer.loaded).collect();
        // Answers of the last come back over the loaded links.
        assert_eq!(loaded, [true, false, true, true]);
    }
    let packets = &both(&case)[0];
    let [busy, idle, ..] = only(packets) else { panic!() };
    assert!(busy.delay > idle.delay, "{busy:?} {idle:?}");
}

#[test]
fn a_queue_in_front_of_a_probe_delays_it_and_probing_much_costs_the_work_time() {
    let fabric = leaf_spine(2, 4, 1, (100, 100), 1_000);
    // Two hosts share the one uplink: a queue stands before it.
    let quiet = pairs(Arc::clone(&fabric), &[(0, 4), (1, 5)], 4_000_000);
    let rare = probed(quiet.clone(), &[(2, 6)], 20, us(200), us(9_000));
    let [rare_packets, rare_flows] = both(&rare);
    let unloaded = 2 * tandem(&[128], &[(BYTE, US); 4]);
    let answer = only(&rare_packets)[0];
    assert!(answer.delay.ps() > unloaded + 300_000 && answer.loaded, "{answer:?}");
    assert!(only(&rare_flows)[0].loaded);
    let much = probed(quiet.clone(), &[(2, 6), (3, 7)], 2_000, us(20), us(60));
    let [quiet_packets, quiet_flows] = both(&quiet);
    let [packets, flows] = both(&much);
    let share = |log: &RunLog, quiet: &RunLog| log.end.seconds() / quiet.end.seconds();
    assert!(share(&packets, &quiet_packets) > 1.05, "{}", share(&packets, &quiet_packets));
    assert!(share(&flows, &quiet_flows) > 1.01, "{}", share(&flows, &quiet_flows));
    assert!(share(&rare_packets, &quiet_packets) < 1.001, "{}", share(&rare_packets, &quiet_packets));
    assert!(share(&rare_flows, &quiet_flows) < 1.001, "{}", share(&rare_flows, &quiet_flows));
}

#[test]
fn lost_probes_are_given_up_after_a_while() {
    let fabric = leaf_spine(2, 2, 1, (100, 100), 1_000);
    let nic = |host| fabric.nic(HostId(host), 0);
    let mut case =
        probed(pairs(Arc::clone(&fabric), &[(0, 1)], 20_000_000), &[(2, 3), (2, 0)], 200, us(50), us(9_000));
    case.routing.control.probe_timeout = us(65);
    let link = fabric.access_link(nic(3), 0).unwrap();
    let (from, until) = (SimTime::ZERO, SimTime::NEVER);
    case.packets.troubles.push(Troubled { from, until, trouble: Trouble::Loss { link, share: 0.25 } });
    case.impairments.push(Impairment { link, from, until, capacity: 1.0, loss: 0.25, delay: SimTime::ZERO });
    for log in both(&case) {
        let [lossy, sound] = only(&log) else { panic!() };
        assert!((20..80).contains(&lossy.lost) && lossy.sent == 200, "{lossy:?}");
        assert_eq!(sound.lost, 0);
        let waited = log.surveys[0].told.ps() - log.surveys[0].at.ps();
        let timeout = case.routing.control.probe_timeout.ps();
        assert!(waited >= timeout && waited < timeout + 200 * US, "{waited} {timeout}");
    }
}

#[test]
fn an_answer_later_than_the_timeout_is_a_lost_probe_in_both_engines() {
    let fabric = Arc::new(fabrics::leaves(fabrics::plain_host(1, 100), 2, 3, 1).build().unwrap());
    let work = pairs(Arc::clone(&fabric), &[(1, 2)], 10_000_000);
    // More packets than fit into a round trip: the last leaves long after the first is answered.
    let mut case = probed(work, &[(0, 3)], 2_000, us(20), us(9_000));
    let longest = both(&case).map(|log| only(&log)[0].delay_max);
    for (engine, longest) in longest.into_iter().enumerate() {
        for (timeout, lost) in [(longest, 0), (SimTime::from_ps(longest.ps() / 2), 2_000)] {
            case.routing.control.probe_timeout = timeout;
            let answer = only(&both(&case)[engine])[0];
            assert_eq!((answer.sent, answer.lost), (2_000, lost), "engine {engine} {timeout}");
            assert_eq!(answer.delay_max, if lost == 0 { longest } else { SimTime::NEVER });
        }
    }
}

/// Probes take turns with data: what waits for its turn for longer than the timeout is sent all the same.
#[test]
fn a_survey_is_whole_however_short_the_timeout_is() {
    let fabric = leaf_spine(2, 3, 2, (100, 100), 1_000);
    let work = pairs(Arc::clone(&fabric), &[(0, 3), (0, 4)], 4_000_000);
    let mut case = probed(work, &[(0, 3), (0, 5)], 50, us(20), us(9_000));
    case.routing.control.probe_timeout = SimTime::from_ns(100);
    for log in both(&case) {
        let sent: Vec<(u32, u32)> = only(&log).iter().map(|answer| (answer.sent, answer.lost)).collect();
        assert_eq!(sent, [(50, 50), (50, 50)]);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn every_probe_is_answered_or_lost_whatever_goes_on(
        seed in any::<u64>(),
        between in proptest::collection::vec((0_u32..6, 0_u32..6), 1..6),
        count in 1_u32..60,
        (first, period) in (1_u64..80, 5_u64..90),
        loss in 0.0_f64..0.5,
    ) {
        let between: Vec<(u32, u32)> = between.into_iter().filter(|(a, b)| a != b).collect();
        prop_assume!(!between.is_empty());
        let fabric = leaf_spine(2, 3, 2, (100, 100), 1_000);
        let work = pairs(Arc::clone(&fabric), &[(0, 3), (1, 3), (4, 2)], 600_000);
        let mut case = probed(work, &between, count, us(first), us(period));
        case.seed = seed;
        case.transport.timeout = 3;
        case.routing.control.probe_timeout = us(30);
        let link = LinkId((seed % fabric.link_count() as u64) as u32);
        if railtwin_fabric::CableClass::Access <= fabric.cable_class(link.cable()) {
            let trouble = Trouble::Loss { link, share: loss };
            case.packets.troubles.push(Troubled { from: us(5), until: us(100), trouble });
        }
        let [packets, _flows] = both(&case);
        for survey in &packets.surveys {
            prop_assert_eq!(survey.answers.len(), between.len());
            for answer in &survey.answers {
                prop_assert_eq!(answer.sent, count);
                prop_assert_eq!(answer.delay == SimTime::NEVER, answer.lost == answer.sent);
                prop_assert!(answer.delay <= answer.delay_max);
            }
        }
    }
}
