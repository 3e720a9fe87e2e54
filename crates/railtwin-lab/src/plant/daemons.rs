//! FRR on each switch: its daemons, its configuration, and whether all routes stand.
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use railtwin_fabric::DeviceId;
use railtwin_formats::switch_config::ConfigFile;
use railtwin_routing::{Forwarding, LinkMask};
use serde_json::Value;

use super::Plant;
use crate::host::{LabError, command, now_ns, of_output};
use crate::tools::Tool;

/// Time for all routes to stand, ns.
const PATIENCE_NS: u64 = 60_000_000_000;

/// FRR's programs.
#[derive(Clone, Debug)]
pub struct Frr {
    zebra: Tool,
    daemons: Vec<(&'static str, Tool)>,
    vtysh: Tool,
}

/// Choices of the routers.
#[derive(Clone, Copy, Debug, Default)]
pub struct FrrSetting {
    /// Whether BFD watches the sessions.
    pub bfd: bool,
}

impl Frr {
    /// Finds FRR.
    ///
    /// # Errors
    /// A program is missing.
    pub fn find(setting: FrrSetting) -> Result<Self, LabError> {
        let names: &[&'static str] =
            if setting.bfd { &["bfdd", "staticd", "bgpd"] } else { &["staticd", "bgpd"] };
        let find = |&name: &&'static str| Ok((name, Tool::find(name, "frr")?));
        Ok(Self {
            zebra: Tool::find("zebra", "frr")?,
            daemons: names.iter().map(find).collect::<Result<_, LabError>>()?,
            vtysh: Tool::find("vtysh", "frr")?,
        })
    }

    /// Starts the daemons of all switches, and hands them their configuration.
    ///
    /// # Errors
    /// A daemon does not start, or refuses its configuration.
    pub(crate) fn start(&self, plant: &Plant, files: &[ConfigFile], folder: &Path) -> Result<(), LabError> {
        self.prepare(folder)?;
        let switches: Vec<&str> = plant.plan.switches.iter().map(|switch| switch.name.as_str()).collect();
        let parts = switches.chunks(switches.len().div_ceil(4).max(1));
        std::thread::scope(|scope| {
            let each = |some: &[&str]| some.iter().try_for_each(|name| self.start_one(name, files, folder));
            let parts: Vec<_> = parts.map(|some| scope.spawn(move || each(some))).collect();
            let broken = || LabError("starting the routers broke off".into());
            parts.into_iter().try_for_each(|part| part.join().map_err(|_| broken())?)
        })
    }

    /// What FRR expects of the system where it is not installed: its group, and leave for root to use `vtysh`. The files
    /// are replaced within the private mounts of this process alone.
    fn prepare(&self, folder: &Path) -> Result<(), LabError> {
        let failed = |path: &Path, error: std::io::Error| LabError(format!("{}: {error}", path.display()));
        let group = Path::new("/etc/group");
        let known = std::fs::read_to_string(group).map_err(|error| failed(group, error))?;
        if !known.lines().any(|line| line.starts_with("frrvty:")) {
            let own = folder.join("group");
            std::fs::write(&own, format!("{}\nfrrvty:x:988:root\n", known.trim_end()))
                .map_err(|error| failed(&own, error))?;
            command(&format!("mount --bind {} /etc/group", own.display()))?;
        }
        if !Path::new("/etc/pam.d/frr").exists() {
            let own = folder.join("pam.d");
            command(&format!("cp -a /etc/pam.d {}", own.display()))?;
            let file = own.join("frr");
            std::fs::write(&file, "auth sufficient pam_permit.so\naccount sufficient pam_permit.so\n")
                .map_err(|error| failed(&file, error))?;
            command(&format!("mount --bind {} /etc/pam.d", own.display()))?;
        }
        command("mkdir -p /var/tmp/frr")?;
        command("mount -t tmpfs none /var/tmp/frr").map(drop)
    }

    fn start_one(&self, switch: &str, files: &[ConfigFile], folder: &Path) -> Result<(), LabError> {
        let own = run_folder(folder, switch);
        let failed = |error: std::io::Error| LabError(format!("{}: {error}", own.display()));
        std::fs::create_dir_all(&own).map_err(failed)?;
        std::fs::write(own.join("vtysh.conf"), "").map_err(failed)?;
        for file in files.iter().filter_map(|file| Some((file.path.strip_prefix(switch)?, &file.text))) {
            let Some(name) = file.0.strip_prefix('/') else { continue };
            std::fs::write(own.join(name), file.1).map_err(failed)?;
        }
        self.daemon(switch, folder, "zebra", &self.zebra)?;
        self.daemons.iter().try_for_each(|(name, tool)| self.daemon(switch, folder, name, tool))
    }

    /// Starts a daemon on its part of the integrated configuration. `vtysh -b` would hand out the same lines, but holds BGP
    /// back for five seconds after them.
    fn daemon(&self, switch: &str, folder: &Path, name: &str, tool: &Tool) -> Result<(), LabError> {
        let own = run_folder(folder, switch);
        let (whole, file) = (own.join("frr.conf"), own.join(format!("{name}.conf")));
        let failed = |path: &Path, error: std::io::Error| LabError(format!("{}: {error}", path.display()));
        let text = std::fs::read_to_string(&whole).map_err(|error| failed(&whole, error))?;
        std::fs::write(&file, part_of(&text, name)).map_err(|error| failed(&file, error))?;
        let mut command = Command::new("ip");
        tool.prepare(&mut command);
        // Nice below zero, as BFD and keepalives must not wait behind the work of the hosts. Never SCHED_FIFO.
        command.args(["netns", "exec", switch, "nice", "-n", "-15"]).arg(&tool.path);
        command.args(["-d", "-u", "root", "-g", "root", "-f"]).arg(&file).arg("-i");
        command.arg(own.join(format!("{name}.pid"))).arg("-z").arg(own.join("zserv.api"));
        command.arg("--vty_socket").arg(&own);
        command.arg("--log").arg(format!("file:{}", own.join(format!("{name}.log")).display()));
        if name == "bfdd" {
            command.arg("--bfdctl").arg(own.join("bfdd.sock"));
        }
        // A daemon names the lines of its configuration that it refuses on its output.
        let said = of_output(&format!("{switch}: {name}"), &mut command)?;
        match said.contains("Unknown command") {
            true => Err(LabError(format!("{switch}: {name} refuses its configuration: {}", said.trim()))),
            false => Ok(()),
        }
    }

    /// Waits until BFD watches every session of every switch. A link that falls silent before is only noticed by BGP.
    ///
    /// # Errors
    /// A session does not come up.
    pub fn wait_for_bfd(&self, plant: &Plant, folder: &Path) -> Result<(), LabError> {
        let until_ns = now_ns() + PATIENCE_NS;
        for switch in &plant.plan.switches {
            let own = run_folder(folder, &switch.name);
            loop {
                let mut command = Command::new("ip");
                self.vtysh.prepare(&mut command);
                command.args(["netns", "exec", &switch.name, "timeout", "5"]).arg(&self.vtysh.path);
                command.arg("--vty_socket").arg(&own).arg("--config_dir").arg(&own);
                command.args(["-d", "bfdd", "-c", "show bfd peers json"]);
                let text = of_output(&format!("{}: vtysh", switch.name), &mut command)?;
                let peers: Value = serde_json::from_str(&text).unwrap_or_default();
                let up = peers.as_array().into_iter().flatten().filter(|peer| peer["status"] == "up").count();
                if up >= switch.ports.len() {
                    break;
                }
                if now_ns() > until_ns {
                    let sessions = switch.ports.len();
                    return Err(LabError(format!(
                        "{}: BFD watches {up} of {sessions} sessions",
                        switch.name
                    )));
                }
                std::thread::sleep(Duration::from_millis(100));
            }
        }
        Ok(())
    }

    /// Starts a daemon again that was killed, and hands the configuration to it.
    ///
    /// # Errors
    /// It does not start.
    pub(crate) fn restart(&self, switch: &str, folder: &Path, name: &str) -> Result<(), LabError> {
        if is_alive(folder, switch, name) {
            return Ok(());
        }
        let tool = self.daemons.iter().find(|(known, _)| *known == name).map(|(_, tool)| tool);
        let tool = tool.ok_or_else(|| LabError(format!("{name} is no daemon of a switch here")))?;
        self.daemon(switch, folder, name, tool)
    }

    /// Writes a `vtysh` that asks the daemons of one switch, for scripts that call it by this name, and returns its
    /// folder.
    ///
    /// # Errors
    /// It cannot be written.
    pub(crate) fn shell_for(&self, switch: &str, folder: &Path) -> Result<PathBuf, LabError> {
        let own = run_folder(folder, switch);
        let bin = own.join("bin");
        let mut command = Command::new("true");
        self.vtysh.prepare(&mut command);
        let libraries = command.get_envs().find_map(|(_, value)| value).unwrap_or_default().to_string_lossy();
        let (path, own) = (self.vtysh.path.display(), own.display());
        let text = format!(
            "#!/bin/sh\nLD_LIBRARY_PATH='{libraries}' exec '{path}' --vty_socket '{own}' --config_dir '{own}' \"$@\"\n"
        );
        let file = bin.join("vtysh");
        let write = || {
            std::fs::create_dir_all(&bin)?;
            std::fs::write(&file, text)?;
            std::fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o755))
        };
        write().map_err(|error: std::io::Error| LabError(format!("{}: {error}", file.display())))?;
        Ok(bin)
    }
}

/// The lines of an integrated configuration that a daemon takes: those for all, and its own blocks.
fn part_of(text: &str, daemon: &str) -> String {
    let takes = |line: &str| match daemon {
        "zebra" => line.starts_with("interface ") || line.starts_with("no zebra "),
        "staticd" => line.starts_with("ip route "),
        "bgpd" => line.starts_with("router bgp ") || line.starts_with("route-map "),
        "bfdd" => line == "bfd",
        _ => false,
    };
    let mut part = String::new();
    // Whether the block that a line stands in is of the daemon.
    let mut own = false;
    for line in text.lines() {
        let is_inner = line.starts_with(' ') || line == "exit";
        if !is_inner {
            own = takes(line) || ["frr ", "hostname ", "log "].iter().any(|word| line.starts_with(word));
        }
        if own {
            part.push_str(line);
            part.push('\n');
        }
    }
    part
}

/// Folder of the files and sockets of a switch.
pub(crate) fn run_folder(folder: &Path, switch: &str) -> PathBuf {
    folder.join("frr").join(switch)
}

fn pid_of(folder: &Path, switch: &str, daemon: &str) -> Option<i32> {
    let text = std::fs::read_to_string(run_folder(folder, switch).join(format!("{daemon}.pid"))).ok()?;
    text.trim().parse().ok()
}

fn is_alive(folder: &Path, switch: &str, daemon: &str) -> bool {
    pid_of(folder, switch, daemon).is_some_and(|pid| kill(Pid::from_raw(pid), None).is_ok())
}

/// Kills a daemon of a switch (SIGKILL).
///
/// # Errors
/// It does not run.
pub(crate) fn kill_daemon(folder: &Path, switch: &str, daemon: &str) -> Result<(), LabError> {
    let pid = pid_of(folder, switch, daemon);
    let pid = pid.ok_or_else(|| LabError(format!("{switch} runs no {daemon}")))?;
    kill(Pid::from_raw(pid), Signal::SIGKILL)
        .map_err(|_| LabError(format!("{switch}: {daemon} is dead already")))
}

/// Waits until every switch has, for each NIC, as many next hops as the fabric has ways; the time that it took, s.
///
/// # Errors
/// The routes do not come: with the first one that is missing.
pub fn wait_for_routes(plant: &Plant) -> Result<f64, LabError> {
    routes_within(plant, PATIENCE_NS)?.map_err(|missing| LabError(format!("{missing} after 60 s")))
}

/// The same within so many ns: the time that it took, or the first routes that are missing.
///
/// # Errors
/// A command of the system fails.
pub fn routes_within(plant: &Plant, patience_ns: u64) -> Result<Result<f64, String>, LabError> {
    let from_ns = now_ns();
    let until_ns = from_ns + patience_ns;
    let wanted = wanted(plant);
    for (switch, routes) in &wanted {
        loop {
            let have = next_hops(switch)?;
            let missing = routes.iter().find(|(target, hops)| {
                have.iter().find(|(known, _)| known == target).map_or(0, |one| one.1) < *hops
            });
            let Some((target, hops)) = missing else { break };
            if now_ns() > until_ns {
                return Ok(Err(format!("{switch} has no {hops} next hops to {target}")));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }
    Ok(Ok((now_ns() - from_ns) as f64 / 1e9))
}

/// By switch: addresses of NICs, and how many next hops lead there.
fn wanted(plant: &Plant) -> Vec<(String, Vec<(String, usize)>)> {
    let forwarding = Forwarding::new(&plant.fabric, &LinkMask::none(&plant.fabric));
    let of_switch = |(row, switch): (usize, &railtwin_formats::switch_config::SwitchPlan)| {
        // A pinned route has one next hop in place of all.
        let most = if switch.pinned.is_empty() { usize::MAX } else { 1 };
        let hops = |nic: DeviceId| forwarding.next_links(row as u32, nic).len().min(most);
        let routes = plant.nics.iter().map(|nic| (nic.address.to_string(), hops(nic.nic)));
        (switch.name.clone(), routes.filter(|(_, hops)| *hops > 0).collect())
    };
    plant.plan.switches.iter().enumerate().map(of_switch).collect()
}

/// Targets of the routes of a switch, and how many next hops each has that are up.
fn next_hops(switch: &str) -> Result<Vec<(String, usize)>, LabError> {
    let text = command(&format!("ip -n {switch} -j route show"))?;
    let routes: Value = serde_json::from_str(&text).unwrap_or_default();
    let is_up = |hop: &&Value| {
        let flags = hop["flags"].as_array();
        !flags.is_some_and(|flags| flags.iter().any(|flag| flag == "dead" || flag == "linkdown"))
    };
    let of = |route: &Value| {
        let hops = route["nexthops"]
            .as_array()
            .map_or_else(|| usize::from(is_up(&route)), |hops| hops.iter().filter(is_up).count());
        Some((route["dst"].as_str()?.to_owned(), hops))
    };
    Ok(routes.as_array().into_iter().flatten().filter_map(of).collect())
}

#[cfg(test)]
mod tests {
    use super::part_of;

    #[test]
    fn each_daemon_gets_its_blocks() {
        let text = "hostname a\ninterface lo\n ip address 1.0.0.0/32\nexit\n!\nip route 1.0.0.1/32 b tag 100\nbfd\n \
                    profile f\n  x\n exit\nexit\nrouter bgp 1\n neighbor f peer-group\n address-family x\n \
                    exit-address-family\nexit\n";
        assert_eq!(part_of(text, "zebra"), "hostname a\ninterface lo\n ip address 1.0.0.0/32\nexit\n");
        assert_eq!(part_of(text, "staticd"), "hostname a\nip route 1.0.0.1/32 b tag 100\n");
        assert_eq!(part_of(text, "bfdd"), "hostname a\nbfd\n profile f\n  x\n exit\nexit\n");
        assert!(part_of(text, "bgpd").ends_with("exit-address-family\nexit\n"));
    }
}
