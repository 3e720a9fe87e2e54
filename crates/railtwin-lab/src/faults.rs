//! Faults of a fabric that runs, and their repair.
use std::path::Path;
use std::process::{Command, Stdio};

use railtwin_fabric::LinkId;

use crate::host::{LabError, LabRefusal, command};
use crate::plant::{Drop, Frr, Plant, PlantEnd, drop_packets, kill_daemon, restore_routes, stop_dropping};

/// A fault, or what is to be repaired.
#[derive(Clone, Debug, PartialEq)]
pub enum LabFault {
    /// A cable goes down: both ends lose light.
    Link(String),
    /// A switch dies with all its links.
    Node(String),
    /// A daemon of a switch is killed, `leaf-0` or `leaf-0:bgpd`.
    Daemon(String),
    /// An end of a cable, such as `leaf-0:up3`, sends nothing any more, and nobody is told.
    Silent(String),
    /// An end of a cable drops data; BGP, BFD, ARP and LACP pass.
    Gray(String),
    /// An end of a cable loses each packet with a probability.
    Loss(String, f64),
}

impl std::str::FromStr for LabFault {
    type Err = String;

    /// Reads `kind name`, and for `loss` a share behind them.
    fn from_str(text: &str) -> Result<Self, String> {
        let mut words = text.split_whitespace();
        let (kind, name, share) = (words.next().unwrap_or_default(), words.next(), words.next());
        let accepted =
            "write link, node, daemon, silent, gray or loss, and a name, such as \"link leaf-0:up3\"";
        let name = name.map(str::to_owned).ok_or_else(|| format!("{text:?} names nothing: {accepted}"))?;
        let is_over = words.next().is_none() && (kind == "loss" || share.is_none());
        match kind {
            "link" if is_over => Ok(Self::Link(name)),
            "node" if is_over => Ok(Self::Node(name)),
            "daemon" if is_over => Ok(Self::Daemon(name)),
            "silent" if is_over => Ok(Self::Silent(name)),
            "gray" if is_over => Ok(Self::Gray(name)),
            "loss" if is_over => {
                let share = share.unwrap_or("0.1");
                let share =
                    share.parse().map_err(|_| format!("{share:?} is no share: write one such as 0.1"))?;
                Ok(Self::Loss(name, share))
            }
            _ => Err(format!("{text:?} is no fault: {accepted}")),
        }
    }
}

impl LabFault {
    /// Name of the cable, end or switch; of a daemon that of its switch.
    pub fn name(&self) -> &str {
        match self {
            Self::Link(name)
            | Self::Node(name)
            | Self::Silent(name)
            | Self::Gray(name)
            | Self::Loss(name, _) => name,
            Self::Daemon(name) => name.split_once(':').map_or(name, |(switch, _)| switch),
        }
    }

    /// Its kind, as the command has it.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Link(_) => "link",
            Self::Node(_) => "node",
            Self::Daemon(_) => "daemon",
            Self::Silent(_) => "silent",
            Self::Gray(_) => "gray",
            Self::Loss(..) => "loss",
        }
    }
}

/// A switch by its name.
fn switch<'p>(plant: &'p Plant, name: &str) -> Result<&'p str, LabRefusal> {
    let found = plant.plan.switches.iter().find(|switch| switch.name == name);
    found.map(|switch| switch.name.as_str()).ok_or_else(|| {
        let some: Vec<&str> = plant.plan.switches.iter().map(|switch| switch.name.as_str()).collect();
        LabRefusal::new(format!("there is no switch {name:?}"), format!("switches are {}", some.join(", ")))
    })
}

/// A switch and its daemon: `leaf-0` means its bgpd.
fn daemon<'p>(plant: &'p Plant, text: &str) -> Result<(&'p str, &'static str), LabRefusal> {
    let (name, daemon) = text.split_once(':').unwrap_or((text, "bgpd"));
    let known = ["bgpd", "bfdd", "staticd"].into_iter().find(|known| *known == daemon);
    let known = known.ok_or_else(|| {
        LabRefusal::new(format!("there is no daemon {daemon:?}"), "daemons are bgpd, bfdd and staticd")
    })?;
    Ok((switch(plant, name)?, known))
}

/// The end that a name means, and the other one.
fn ends<'p>(plant: &'p Plant, name: &str) -> Result<[&'p PlantEnd; 2], LabRefusal> {
    let (cable, end) = plant.cable_named(name)?;
    Ok([&cable.ends[end], &cable.ends[1 - end]])
}

/// A fault or its repair that was checked.
#[derive(Debug)]
pub struct Checked<'p> {
    plant: &'p Plant,
    steps: Vec<Step<'p>>,
}

#[derive(Debug)]
enum Step<'p> {
    Set(&'p PlantEnd, &'static str),
    Drop(&'p PlantEnd, Drop),
    Pass(&'p PlantEnd),
    Kill(&'p str, &'static str),
    Start(&'p str, &'static str),
}

/// Checks a fault against a plant.
///
/// # Errors
/// [`LabRefusal`] for names and values that there are not.
pub fn fault<'p>(plant: &'p Plant, fault: &LabFault) -> Result<Checked<'p>, LabRefusal> {
    let steps = match fault {
        LabFault::Link(name) => vec![Step::Set(ends(plant, name)?[0], "down")],
        LabFault::Node(name) => of_node(plant, switch(plant, name)?, "down"),
        LabFault::Daemon(name) => {
            let (switch, daemon) = daemon(plant, name)?;
            vec![Step::Kill(switch, daemon)]
        }
        LabFault::Silent(name) => vec![Step::Drop(ends(plant, name)?[0], Drop::All)],
        LabFault::Gray(name) => vec![Step::Drop(ends(plant, name)?[0], Drop::Data)],
        LabFault::Loss(_, share) if !(*share > 0.0 && *share <= 1.0) => {
            return Err(LabRefusal::new(
                format!("{share} is no share of packets"),
                "write one above 0 and up to 1, such as 0.1",
            ));
        }
        LabFault::Loss(name, share) => vec![Step::Drop(ends(plant, name)?[0], Drop::Share(*share))],
    };
    Ok(Checked { plant, steps })
}

/// Checks a repair: the name of a cable, or of a switch, whose daemons start again and whose links come up.
///
/// # Errors
/// [`LabRefusal`] for a name that is neither.
pub fn repair<'p>(plant: &'p Plant, name: &str) -> Result<Checked<'p>, LabRefusal> {
    let is_switch = plant.plan.switches.iter().any(|switch| switch.name == name);
    let steps = match is_switch {
        true => {
            let switch = switch(plant, name)?;
            let mut steps = of_node(plant, switch, "up");
            let ends = plant.cables.iter().flat_map(|cable| &cable.ends).filter(|end| end.node == switch);
            steps.extend(ends.map(Step::Pass));
            steps.extend(["staticd", "bgpd"].map(|daemon| Step::Start(switch, daemon)));
            if plant.plan.switches.iter().any(|switch| switch.timers.bfd.is_some()) {
                steps.push(Step::Start(switch, "bfdd"));
            }
            steps
        }
        false => {
            ends(plant, name)?.into_iter().flat_map(|end| [Step::Pass(end), Step::Set(end, "up")]).collect()
        }
    };
    Ok(Checked { plant, steps })
}

fn of_node<'p>(plant: &'p Plant, name: &str, state: &'static str) -> Vec<Step<'p>> {
    let ends = plant.cables.iter().flat_map(|cable| &cable.ends).filter(|end| end.node == name);
    ends.map(|end| Step::Set(end, state)).collect()
}

impl Checked<'_> {
    /// Links on which packets feel it: of a cable both, of an end the one that leaves it, of a switch all that enter it or
    /// leave it.
    pub fn links(&self) -> Vec<LinkId> {
        let mut links = Vec::new();
        for step in &self.steps {
            match *step {
                Step::Set(end, _) => {
                    let link = self.plant.link(&end.node, &end.interface);
                    links.extend(link.into_iter().flat_map(|link| [link, link.reverse()]));
                }
                Step::Drop(end, _) => links.extend(self.plant.link(&end.node, &end.interface)),
                Step::Kill(switch, _) => {
                    let ends = self.plant.cables.iter().flat_map(|cable| &cable.ends);
                    let own = ends.filter(|end| end.node == switch);
                    let own = own.filter_map(|end| self.plant.link(&end.node, &end.interface));
                    links.extend(own.flat_map(|link| [link, link.reverse()]));
                }
                Step::Pass(_) | Step::Start(..) => {}
            }
        }
        links.sort_unstable();
        links.dedup();
        links
    }

    /// Carries it out, within the namespaces of the lab. `folder` is that of the lab.
    ///
    /// # Errors
    /// A command of the system fails.
    pub fn carry_out(&self, frr: &Frr, folder: &Path) -> Result<(), LabError> {
        for step in &self.steps {
            match *step {
                Step::Set(end, state) => {
                    command(&format!("ip -n {} link set {} {state}", end.node, end.interface))?;
                    if state == "up" {
                        restore_routes(self.plant, &end.node)?;
                    }
                }
                Step::Drop(end, what) => drop_packets(&end.node, &end.interface, what)?,
                Step::Pass(end) => stop_dropping(&end.node, &end.interface)?,
                Step::Kill(switch, daemon) => kill_daemon(folder, switch, daemon)?,
                Step::Start(switch, daemon) => frr.restart(switch, folder, daemon)?,
            }
        }
        Ok(())
    }
}

/// Starts the watcher of a leaf, as the export writes it: ports of hosts go down when no session is established.
///
/// # Errors
/// The leaf has none, or it cannot be started.
pub fn start_watcher(
    plant: &Plant,
    frr: &Frr,
    folder: &Path,
    leaf: &str,
) -> Result<std::process::Child, LabError> {
    let leaf = switch(plant, leaf).map_err(|refusal| LabError(refusal.to_string()))?;
    let script = crate::plant::run_folder(folder, leaf).join("bgp-watch.sh");
    let bin = frr.shell_for(leaf, folder)?;
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap_or_default());
    let mut command = Command::new("ip");
    command.args(["netns", "exec", leaf, "sh"]).arg(&script).env("PATH", path).stdin(Stdio::null());
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().map_err(|error| LabError(format!("{}: {error}", script.display())))
}

#[cfg(test)]
mod tests {
    use super::LabFault;

    #[test]
    fn faults_are_read() {
        assert_eq!("link leaf-0:up3".parse(), Ok(LabFault::Link("leaf-0:up3".into())));
        assert_eq!("loss leaf-0:up3 0.25".parse(), Ok(LabFault::Loss("leaf-0:up3".into(), 0.25)));
        let daemon: LabFault = "daemon leaf-0:bfdd".parse().expect("it is one");
        assert_eq!(daemon.name(), "leaf-0");
        for text in ["", "link", "link a b", "fire leaf-0", "loss a x"] {
            assert!(text.parse::<LabFault>().is_err(), "{text}");
        }
    }
}
