//! The leaf's end of LACP in real time: the state machine of the simulation over a packet socket.
use std::convert::Infallible;
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use railtwin_formats::frames::{decode_lacp, encode_lacp};
use railtwin_routing::protocol::lacp::{Bond, LacpRate, Mac, Machine, PortInfo, SelectionRule};
use railtwin_units::SimTime;

use super::packet::{PacketSocket, SLOW};
use crate::host::LabError;

/// Group address of Slow Protocols (IEEE 802.1AX-2014, annex 57A).
const SLOW_GROUP: Mac = Mac([0x01, 0x80, 0xc2, 0x00, 0x00, 0x02]);
/// `Aggregate_Wait_Time` (IEEE 802.1AX-2014, section 6.4.4).
pub(super) const AGGREGATE_WAIT: SimTime = SimTime::from_ns(2_000_000_000);
/// Time from one look at the carrier to the next.
const LOOK: Duration = Duration::from_millis(100);
/// Most LACPDUs at one moment: ends that agree need fewer.
const AT_ONCE: usize = 4;

/// Which port speaks LACP, where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResponderOptions {
    /// The interface of this namespace.
    pub interface: String,
    /// The identity that the port claims; the state is the machine's.
    pub actor: PortInfo,
    /// The rate that it asks its partner for.
    pub rate: LacpRate,
}

impl ResponderOptions {
    /// Reads `--interface NAME --system MAC --key N --port N [--rate fast|slow]`.
    ///
    /// # Errors
    /// A word that is not one of these, a value that is none, or one that is missing.
    pub fn of_words(words: &[String]) -> Result<Self, LabError> {
        let (mut interface, mut system, mut key, mut port) = (None, None, None, None);
        let mut rate = LacpRate::Fast;
        for pair in words.chunks(2) {
            let [flag, value] = pair else { return Err(LabError(format!("{} has no value", pair[0]))) };
            let number = || {
                let number = value.parse::<u16>().ok().filter(|&number| number > 0);
                number.ok_or_else(|| LabError(format!("{flag} {value}: write a number from 1 to 65535")))
            };
            match flag.as_str() {
                "--interface" => interface = Some(value.clone()),
                "--system" => {
                    system = Some(value.parse().map_err(|problem| LabError(format!("{flag}: {problem}")))?);
                }
                "--key" => key = Some(number()?),
                "--port" => port = Some(number()?),
                "--rate" => {
                    rate = match value.as_str() {
                        "fast" => LacpRate::Fast,
                        "slow" => LacpRate::Slow,
                        _ => return Err(LabError(format!("--rate {value}: write fast or slow"))),
                    };
                }
                _ => {
                    return Err(LabError(format!(
                        "{flag}: write --interface, --system, --key, --port or --rate"
                    )));
                }
            }
        }
        let missing = |flag: &str| LabError(format!("{flag} is missing"));
        let actor = PortInfo {
            system_priority: 32_768,
            system: system.ok_or_else(|| missing("--system"))?,
            key: key.ok_or_else(|| missing("--key"))?,
            port_priority: 32_768,
            port: port.ok_or_else(|| missing("--port"))?,
            state: Default::default(),
        };
        Ok(Self { interface: interface.ok_or_else(|| missing("--interface"))?, actor, rate })
    }

    /// The words that [`Self::of_words`] reads.
    pub(super) fn words(&self) -> Vec<String> {
        let PortInfo { system, key, port, .. } = self.actor;
        let rate = match self.rate {
            LacpRate::Fast => "fast",
            LacpRate::Slow => "slow",
        };
        [
            ("--interface", self.interface.clone()),
            ("--system", system.to_string()),
            ("--key", key.to_string()),
            ("--port", port.to_string()),
            ("--rate", rate.to_owned()),
        ]
        .into_iter()
        .flat_map(|(flag, value)| [flag.to_owned(), value])
        .collect()
    }
}

/// Answers LACP at one port until the process is killed. `say` gets a line for each state that the port comes to.
///
/// The port is the only one of its leaf and knows nothing of other leaves: it is in the bond as soon as its partner may
/// be aggregated.
///
/// # Errors
/// The interface is missing or goes away, or this process may open no packet socket.
pub fn respond(options: &ResponderOptions, say: &mut dyn FnMut(&str)) -> Result<Infallible, LabError> {
    let socket = PacketSocket::open(&options.interface, SLOW)?;
    socket.join(SLOW_GROUP)?;
    let started = Instant::now();
    let now = || SimTime::from_ns(started.elapsed().as_nanos() as u64);
    let machine = Machine::new(options.actor, options.rate, AGGREGATE_WAIT);
    let mut bond = Bond { rule: SelectionRule::LagId, ports: vec![machine] };
    let mut buffer = [0; 2_048];
    let mut looked = None::<Instant>;
    let mut told = None;
    loop {
        if looked.is_none_or(|at| at.elapsed() >= LOOK) {
            let carrier = socket.has_carrier()?;
            bond.ports[0].carrier(now(), carrier);
            looked = Some(Instant::now());
        }
        while let Some(length) = socket.receive(&mut buffer)? {
            // What is no LACPDU is of another Slow Protocol, or damaged: nothing to a port.
            if let Ok(pdu) = decode_lacp(&options.interface, &buffer[..length]) {
                bond.ports[0].receive(now(), &pdu);
            }
        }
        bond.ports[0].pass(now());
        bond.choose(now());
        for _ in 0..AT_ONCE {
            let Some(pdu) = bond.ports[0].transmit(now()) else { break };
            socket.send(&encode_lacp(socket.mac(), &pdu));
        }
        let port = &bond.ports[0];
        let state = (port.receive_state(), port.mux(), port.partner().system, port.partner().port);
        if told.replace(state) != Some(state) {
            let (receive, mux, system, number) = state;
            say(&format!("{:9.3} s {receive:?} {mux:?}, partner {system} port {number}", now().seconds()));
        }
        let left_ns = bond.ports[0].next_time().since(now()).ps() / 1_000;
        let wait_ms = (left_ns.div_ceil(1_000_000)).min(LOOK.as_millis() as u64);
        let mut waits = [PollFd::new(std::os::fd::AsFd::as_fd(&socket), PollFlags::POLLIN)];
        // Interrupted, it looks again.
        let _ = poll(&mut waits, PollTimeout::from(wait_ms as u16));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn options_are_read_as_they_are_written() {
        let text = "--interface down0 --system 00:00:5e:00:01:01 --key 7 --port 301";
        let options = ResponderOptions::of_words(&words(text)).expect("good");
        assert_eq!((options.actor.key, options.actor.port, options.rate), (7, 301, LacpRate::Fast));
        assert_eq!(options.actor.system, Mac::SET);
        assert_eq!(ResponderOptions::of_words(&options.words()).expect("its own"), options);
        let slow = ResponderOptions { rate: LacpRate::Slow, ..options };
        assert_eq!(ResponderOptions::of_words(&slow.words()).expect("its own"), slow);
    }

    #[test]
    fn an_option_that_is_wrong_is_named_with_what_is_accepted() {
        let good = "--interface down0 --system 00:00:5e:00:01:01 --key 7 --port 301";
        for (text, told) in [
            ("--interface down0", "--system is missing"),
            ("--system 00:00:5e:00:01:01 --key 7 --port 301", "--interface is missing"),
            (&good.replace("7", "0"), "--key 0: write a number from 1 to 65535"),
            (&good.replace("301", "70000"), "--port 70000: write a number from 1 to 65535"),
            (&good.replace(":01:01", ":01"), "\"00:00:5e:00:01\" is no MAC address"),
            (&format!("{good} --rate now"), "--rate now: write fast or slow"),
            (&format!("{good} --rate"), "--rate has no value"),
            (&format!("{good} --colour red"), "--colour: write --interface"),
        ] {
            let error = ResponderOptions::of_words(&words(text)).expect_err(text).to_string();
            assert!(error.contains(told), "{text}: {error}");
        }
    }
}
