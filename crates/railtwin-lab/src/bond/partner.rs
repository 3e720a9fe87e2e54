//! The foreign partner: the bond of a host by Open vSwitch with its user-space datapath, in the namespace `host`.
use std::ffi::OsStr;
use std::fs::File;
use std::io::Write as _;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde::Deserialize;

use super::scene::HOST_MAC;
use super::show::{ShownBond, enabled};
use crate::host::{LabError, now_ns, of_output};
use crate::tools::Tool;

/// Package with all of its programs.
const PACKAGE: &str = "openvswitch-switch";
/// Time for a daemon to come up, ns.
const PATIENCE_NS: u64 = 10_000_000_000;

/// Programs and files of Open vSwitch.
#[derive(Clone, Debug)]
pub(super) struct Programs {
    create: Tool,
    database: Tool,
    switch: Tool,
    set: Tool,
    schema: Tool,
}

impl Programs {
    /// Finds them.
    ///
    /// # Errors
    /// One is missing.
    pub(super) fn find() -> Result<Self, LabError> {
        let find = |name| Tool::find(name, PACKAGE);
        Ok(Self {
            create: find("ovsdb-tool")?,
            database: find("ovsdb-server")?,
            switch: find("ovs-vswitchd")?,
            set: find("ovs-vsctl")?,
            schema: find("vswitch.ovsschema")?,
        })
    }

    /// The version in its own words, such as `Open vSwitch 3.1.0`.
    ///
    /// # Errors
    /// It does not run.
    pub(super) fn version(&self) -> Result<String, LabError> {
        let told = of_output("ovs-vswitchd --version", self.switch.command().arg("--version"))?;
        let number = told.lines().next().and_then(|line| line.rsplit(' ').next()).unwrap_or("unknown");
        Ok(format!("Open vSwitch {number}"))
    }
}

/// A process that is killed when this is dropped.
#[derive(Debug)]
pub(super) struct Kept(pub(super) Child);

impl Kept {
    /// Starts a command whose words go into a log file.
    ///
    /// # Errors
    /// It cannot be started, or the file not be made.
    pub(super) fn start(command: &mut Command, log: &Path) -> Result<Self, LabError> {
        let failed = |error: std::io::Error| LabError(format!("{}: {error}", log.display()));
        let file = File::create(log).map_err(failed)?;
        let more = file.try_clone().map_err(failed)?;
        let child = command.stdin(Stdio::null()).stdout(file).stderr(more).spawn();
        child.map(Self).map_err(|error| LabError(format!("{command:?}: {error}")))
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        // One that has ended needs no signal.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The running bond. Dropping it ends its daemons.
#[derive(Debug)]
pub(super) struct Partner {
    control: PathBuf,
    socket: String,
    tool: Tool,
    _daemons: [Kept; 2],
}

impl Partner {
    /// Starts the daemons with their files in `folder`, and makes the bond `bond0` of the ports `p0` and `p1` in the bridge
    /// `b0`.
    ///
    /// # Errors
    /// A daemon does not come up, or refuses the settings.
    pub(super) fn start(programs: &Programs, folder: &Path) -> Result<Self, LabError> {
        let file = |name: &str| folder.join(name);
        let flag = |name: &str, value: &Path| format!("--{name}={}", value.display());
        let socket = format!("unix:{}", file("db.sock").display());
        of_output(
            "ovsdb-tool create",
            programs.create.command().arg("create").arg(file("conf.db")).arg(&programs.schema.path),
        )?;
        let database = Kept::start(
            in_host(&programs.database, folder)
                .arg(file("conf.db"))
                .arg(format!("--remote=p{socket}"))
                .arg(flag("pidfile", &file("db.pid")))
                .arg(flag("unixctl", &file("db.ctl"))),
            &file("db.log"),
        )?;
        await_file(&file("db.sock"), &file("db.log"))?;
        set(&programs.set, &socket, &["--no-wait", "init"])?;
        let switch = Kept::start(
            in_host(&programs.switch, folder)
                .arg(&socket)
                .arg(flag("pidfile", &file("vs.pid")))
                .arg(flag("unixctl", &file("vs.ctl"))),
            &file("vs.log"),
        )?;
        await_file(&file("vs.ctl"), &file("vs.log"))?;
        let address = format!("other_config:hwaddr=\"{HOST_MAC}\"");
        // Without rebalancing a flow stays at its port, so it is the ports alone that move it.
        let words = "-- add-bond b0 bond0 p0 p1 bond_mode=active-backup lacp=active other_config:lacp-time=fast \
                     other_config:bond-rebalance-interval=0";
        let bridge = ["add-br", "b0", "--", "set", "bridge", "b0", "datapath_type=netdev", &address];
        let all: Vec<&str> = bridge.into_iter().chain(words.split_whitespace()).collect();
        set(&programs.set, &socket, &all)?;
        let (control, tool) = (file("vs.ctl"), programs.set.clone());
        Ok(Self { control, socket, tool, _daemons: [switch, database] })
    }

    /// Spreads flows over the ports by their hash. Open vSwitch gives all buckets of the hash to the port that comes first,
    /// and moves them by load only: so the mode is set once both are there, which deals the buckets anew.
    ///
    /// # Errors
    /// The daemons do not take it.
    pub(super) fn spread(&self) -> Result<(), LabError> {
        set(&self.tool, &self.socket, &["set", "port", "bond0", "bond_mode=balance-tcp"])
    }

    /// The bond as LACP sees it.
    ///
    /// # Errors
    /// The daemon does not answer.
    pub(super) fn lacp(&self) -> Result<ShownBond, LabError> {
        Ok(ShownBond::of_text(&self.ask("lacp/show")?))
    }

    /// Whether each of the ports carries traffic.
    ///
    /// # Errors
    /// The daemon does not answer.
    pub(super) fn carries(&self) -> Result<[bool; 2], LabError> {
        let enabled = enabled(&self.ask("bond/show")?);
        Ok(super::scene::PORTS.map(|port| enabled.iter().any(|name| name == port)))
    }

    /// A command to the daemon's control socket, which speaks JSON-RPC (ovs-appctl(8)), about the bond.
    fn ask(&self, method: &str) -> Result<String, LabError> {
        let failed = |problem: String| LabError(format!("ovs-vswitchd, {method}: {problem}"));
        let io = |error: std::io::Error| failed(error.to_string());
        let mut stream = UnixStream::connect(&self.control).map_err(io)?;
        stream.set_read_timeout(Some(Duration::from_secs(5))).map_err(io)?;
        let request = serde_json::json!({ "id": 0, "method": method, "params": ["bond0"] });
        stream.write_all(request.to_string().as_bytes()).map_err(io)?;
        let mut replies = serde_json::Deserializer::from_reader(stream).into_iter::<Reply>();
        match replies.next() {
            Some(Ok(Reply { result: Some(text), .. })) => Ok(text),
            Some(Ok(Reply { error, .. })) => Err(failed(error.unwrap_or_else(|| "no answer".into()))),
            Some(Err(error)) => Err(failed(error.to_string())),
            None => Err(failed("no answer".into())),
        }
    }
}

/// Settings, by words of `ovs-vsctl`; the daemon has taken them when it returns.
fn set(tool: &Tool, socket: &str, words: &[&str]) -> Result<(), LabError> {
    let mut command = tool.command();
    command.arg(format!("--db={socket}")).arg("--timeout=10").args(words);
    of_output(&format!("ovs-vsctl {}", words.join(" ")), &mut command).map(drop)
}

/// An answer of the control socket.
#[derive(Deserialize)]
struct Reply {
    result: Option<String>,
    error: Option<String>,
}

/// A call of a program in the namespace `host`, which keeps its files in `folder`.
fn in_host(tool: &Tool, folder: &Path) -> Command {
    let mut command = Command::new("ip");
    command.args([OsStr::new("netns"), OsStr::new("exec"), OsStr::new("host"), tool.path.as_os_str()]);
    tool.prepare(&mut command);
    command.env("OVS_RUNDIR", folder);
    command
}

fn await_file(path: &Path, log: &Path) -> Result<(), LabError> {
    let until_ns = now_ns() + PATIENCE_NS;
    while !path.exists() {
        if now_ns() > until_ns {
            let told = std::fs::read_to_string(log).unwrap_or_default();
            let last = told.lines().last().unwrap_or("it said nothing").to_owned();
            return Err(LabError(format!("Open vSwitch does not come up: {last}")));
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    Ok(())
}
