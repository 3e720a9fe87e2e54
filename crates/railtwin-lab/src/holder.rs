//! The lab as a process that others find: its folder, its start, entering it, its end.
//!
//! A holder lives in network, mount and process namespaces of its own. All that belongs to the lab is in them, so that its
//! end, be it by a signal, removes everything. Other calls enter the namespaces of the holder.
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::host::{LabError, LabRefusal, now_ns};
use crate::plant::{Frr, FrrSetting, Plant, build, wait_for_routes};

/// Time for a lab to come up, ns.
const PATIENCE_NS: u64 = 120_000_000_000;

/// A lab by its folder.
#[derive(Clone, Debug)]
pub struct Lab {
    /// The folder.
    pub folder: PathBuf,
}

impl Lab {
    /// The lab with a name, which is a folder below /run.
    ///
    /// # Errors
    /// The name is no word of letters, digits, `-` and `_`.
    pub fn named(name: &str) -> Result<Self, LabRefusal> {
        let is_good = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
        // Sockets of the routers lie below the folder, and their paths are short.
        if name.is_empty() || name.len() > 32 || name.starts_with('-') || !name.bytes().all(is_good) {
            return Err(LabRefusal::new(
                format!("{name:?} is no name of a lab"),
                "write up to 32 letters, digits, - and _, beginning with no -",
            ));
        }
        Ok(Self { folder: Path::new("/run/railtwin-lab").join(name) })
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    fn write(&self, name: &str, text: &str) -> Result<(), LabError> {
        let path = self.file(name);
        std::fs::write(&path, text).map_err(|error| LabError(format!("{}: {error}", path.display())))
    }

    /// The process that holds the namespaces; none where the lab is down.
    fn holder(&self) -> Option<i32> {
        let text = std::fs::read_to_string(self.file("holder.pid")).ok()?;
        let pid = text.trim().parse().ok()?;
        let line = std::fs::read(format!("/proc/{pid}/cmdline")).ok()?;
        let name = self.folder.file_name()?.to_string_lossy();
        String::from_utf8_lossy(&line).contains(&format!("\0lab\0hold\0--name\0{name}\0")).then_some(pid)
    }

    /// Whether the lab is up.
    pub fn is_up(&self) -> bool {
        self.holder().is_some()
    }

    /// Keeps a text for calls that come later.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn keep(&self, name: &str, text: &str) -> Result<(), LabError> {
        self.write(name, text)
    }

    /// A text that was kept; none where there is none.
    pub fn kept(&self, name: &str) -> Option<String> {
        std::fs::read_to_string(self.file(name)).ok()
    }

    /// Starts a holder by a command of this program that calls [`Lab::hold`], keeps `site` as `site.json`, and waits until the
    /// fabric stands. A lab that `follows` ends with this process. Returns the time that it took, s.
    ///
    /// # Errors
    /// A lab of this name is up, or this one does not come up.
    pub fn up(&self, hold: &[String], site: &str, follows: bool) -> Result<f64, LabError> {
        let base = Path::new("/run/railtwin-lab");
        let failed = |error: std::io::Error| LabError(format!("{}: {error}", base.display()));
        // What the routers listen on is for root alone.
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(base).map_err(failed)?;
        let lock = std::fs::File::create(self.folder.with_extension("lock")).map_err(failed)?;
        lock.try_lock().map_err(|_| LabError("a lab of this name is coming up".into()))?;
        if self.is_up() {
            return Err(LabError(format!(
                "a lab is up in {}: railtwin lab down, or another --name",
                self.folder.display()
            )));
        }
        let from_ns = now_ns();
        // Files of a lab that was killed.
        let _ = std::fs::remove_dir_all(&self.folder);
        std::fs::create_dir_all(&self.folder)
            .map_err(|error| LabError(format!("{}: {error}", self.folder.display())))?;
        self.keep("site.json", site)?;
        let log = self.file("holder.log");
        let failed = |error: std::io::Error| LabError(format!("{}: {error}", log.display()));
        let file = std::fs::File::create(&log).map_err(failed)?;
        let own = std::env::current_exe().map_err(|error| LabError(error.to_string()))?;
        let mut command = Command::new(if follows { "setpriv" } else { "setsid" });
        if follows {
            command.args(["--pdeathsig", "KILL"]);
        }
        command
            .args(["unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"])
            .arg(own);
        command.args(hold).stdin(Stdio::null());
        command.stdout(file.try_clone().map_err(failed)?).stderr(file);
        let mut child = command.spawn().map_err(|error| LabError(format!("unshare: {error}")))?;
        self.write("holder.pid", &child.id().to_string())?;
        loop {
            if self.file("ready").exists() {
                return Ok((now_ns() - from_ns) as f64 / 1e9);
            }
            if !matches!(child.try_wait(), Ok(None)) || now_ns() - from_ns > PATIENCE_NS {
                let said = self.kept("error").or_else(|| self.kept("holder.log")).unwrap_or_default();
                let _ = self.down();
                let last = said.lines().find(|line| !line.trim().is_empty()).unwrap_or("the holder ended");
                return Err(LabError(format!("the lab did not come up: {last}")));
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Builds the fabric and stays; called within the namespaces of the holder.
    ///
    /// # Errors
    /// The fabric cannot be built.
    pub fn hold(&self, plant: &Plant) -> Result<std::convert::Infallible, LabError> {
        if std::process::id() != 1 {
            return Err(LabError(
                "a lab is held by the first process of its own namespaces: railtwin lab up".into(),
            ));
        }
        let held = self.build_and_stay(plant);
        if let Err(error) = &held {
            self.write("error", &error.to_string())?;
        }
        held
    }

    fn build_and_stay(&self, plant: &Plant) -> Result<std::convert::Infallible, LabError> {
        let bfd = plant.plan.switches.iter().any(|switch| switch.timers.bfd.is_some());
        let frr = Frr::find(FrrSetting { bfd })?;
        build(plant, &frr, &self.folder)?;
        wait_for_routes(plant)?;
        if bfd {
            frr.wait_for_bfd(plant, &self.folder)?;
        }
        self.write("ready", "")?;
        loop {
            // Processes of the lab whose parents have ended become children of this one, the first of its namespace.
            match nix::sys::wait::waitpid(None::<Pid>, None) {
                Ok(_) => {}
                Err(_) => std::thread::sleep(Duration::from_millis(200)),
            }
        }
    }

    /// Runs a command of this program within the namespaces of the lab, waits for it, and returns its status.
    ///
    /// # Errors
    /// The lab is down, or cannot be entered.
    pub fn enter(&self, words: &[String]) -> Result<i32, LabError> {
        let holder = self.holder().ok_or_else(|| {
            LabError(format!("no lab is up in {}: railtwin lab up FABRIC", self.folder.display()))
        })?;
        if !self.file("ready").exists() {
            return Err(LabError(format!("the lab in {} is still coming up", self.folder.display())));
        }
        let path = format!("/proc/{holder}/task/{holder}/children");
        let children =
            std::fs::read_to_string(&path).map_err(|error| LabError(format!("{path}: {error}")))?;
        let inner = children.split_whitespace().next().unwrap_or_default().to_owned();
        let own = std::env::current_exe().map_err(|error| LabError(error.to_string()))?;
        // What runs in the lab ends with this process, and with the one that enters.
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "KILL", "nsenter", "--target", &inner, "--net", "--mount", "--pid"]);
        // Entering leaves the working folder, which names of files are relative to.
        let here = std::env::current_dir().map_err(|error| LabError(error.to_string()))?;
        command.args(["env", "-C"]).arg(here).arg(own).args(words);
        let status = command.status().map_err(|error| LabError(format!("nsenter: {error}")))?;
        status.code().ok_or_else(|| LabError("the lab ended meanwhile, or the call within it".into()))
    }

    /// Lets this process end with the one that entered the lab for it.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn follow() -> Result<(), LabError> {
        nix::sys::prctl::set_pdeathsig(Signal::SIGKILL)
            .map_err(|errno| LabError(format!("cannot follow the parent process: {errno}")))
    }

    /// Whether the fabric stands and can be entered.
    pub fn is_ready(&self) -> bool {
        self.is_up() && self.file("ready").exists()
    }

    /// Kills the holder and nothing else, and waits up to so many seconds for what lived in the lab to end. Returns how many
    /// processes that name the folder of the lab are left then.
    ///
    /// # Errors
    /// The lab is down, or the holder cannot be killed.
    pub fn kill(&self, seconds: f64) -> Result<usize, LabError> {
        let holder = self.holder().ok_or_else(|| LabError("no lab is up".into()))?;
        kill(Pid::from_raw(holder), Signal::SIGKILL)
            .map_err(|errno| LabError(format!("process {holder}: {errno}")))?;
        let until_ns = now_ns() + (seconds * 1e9) as u64;
        let folder = format!("{}/", self.folder.display());
        loop {
            let left = processes_with(&folder);
            if left == 0 || now_ns() > until_ns {
                let _ = std::fs::remove_dir_all(&self.folder);
                return Ok(left);
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Ends the lab and removes its folder. Returns whether one was up.
    ///
    /// # Errors
    /// The holder cannot be killed.
    pub fn down(&self) -> Result<bool, LabError> {
        let holder = self.holder();
        if let Some(pid) = holder {
            let killed = kill(Pid::from_raw(pid), Signal::SIGKILL);
            killed.map_err(|errno| LabError(format!("process {pid}: {errno}")))?;
            let until_ns = now_ns() + 5_000_000_000;
            while self.holder().is_some() && now_ns() < until_ns {
                std::thread::sleep(Duration::from_millis(5));
            }
        }
        let _ = std::fs::remove_dir_all(&self.folder);
        Ok(holder.is_some())
    }
}

/// Other processes whose command line has a text.
fn processes_with(text: &str) -> usize {
    let own = std::process::id().to_string();
    let all = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let names = all.filter_map(|entry| entry.file_name().into_string().ok());
    let numbers = names.filter(|name| name.bytes().all(|byte| byte.is_ascii_digit()) && *name != own);
    let has = |name: &String| {
        let line = std::fs::read(format!("/proc/{name}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).contains(text)
    };
    numbers.filter(has).count()
}
