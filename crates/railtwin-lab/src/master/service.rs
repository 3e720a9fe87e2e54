//! The master at work: clients, news of links, surveys, and what it noted.
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::Shutdown;
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use railtwin_control::controller::Answer;
use railtwin_fabric::LinkId;
use railtwin_units::SimTime;

use super::lanes::{LanePath, Lanes};
use super::links::LinkNews;
use super::prober::{Asked, LabProber};
use super::protocol::{self, Said};
use super::setting::MasterSetting;
use crate::host::{LabError, now_ns};
use crate::plant::Plant;

/// Time from one look at all paths to the next, ns.
const LOOK_NS: u64 = 50_000_000;
/// Longest wait for anything, ns.
const WAIT_NS: u64 = 10_000_000;
/// Longest line of a client, bytes.
const LINE_MAX: u64 = 4_096;

/// Something that the master did or heard.
#[derive(Clone, Debug, PartialEq)]
pub struct MasterNote {
    /// Time on the monotonic clock, ns.
    pub at_ns: u64,
    /// Content.
    pub kind: NoteKind,
}

/// Content of a note.
#[derive(Clone, Debug, PartialEq)]
pub enum NoteKind {
    /// A link lost or got its light.
    Link(LinkId, bool),
    /// Packets of a survey were lost: how many probes lost some.
    Lost(usize),
    /// A connection, by its row, registered and got a source port.
    Opened(usize, u16),
    /// A connection, by its row, was asked to move.
    Asked(usize),
    /// It goes on from its new port.
    Moved(usize),
    /// It could not take the port.
    Failed(usize, String),
}

impl MasterNote {
    /// It in words.
    pub fn text(&self, plant: &Plant) -> String {
        match &self.kind {
            NoteKind::Link(link, true) => format!("{}: light", plant.fabric.link_name(*link)),
            NoteKind::Link(link, false) => format!("{}: no light", plant.fabric.link_name(*link)),
            NoteKind::Lost(probes) => format!("{probes} paths lost probes"),
            NoteKind::Opened(row, port) => format!("connection {row}: registered, source port {port}"),
            NoteKind::Asked(row) => format!("connection {row}: asked to move"),
            NoteKind::Moved(row) => format!("connection {row}: moved"),
            NoteKind::Failed(row, why) => format!("connection {row}: did not move: {why}"),
        }
    }
}

/// A master that runs. Dropping it ends it.
#[derive(Debug)]
pub struct MasterHandle {
    /// The socket that ranks connect to.
    pub socket: PathBuf,
    notes: Arc<Mutex<Vec<MasterNote>>>,
    inbox: Sender<Inbox>,
    is_done: Arc<AtomicBool>,
}

impl MasterHandle {
    /// What it noted so far.
    pub fn notes(&self) -> Vec<MasterNote> {
        self.notes.lock().map(|notes| notes.clone()).unwrap_or_default()
    }

    /// Whether it still serves.
    pub fn is_running(&self) -> bool {
        !self.is_done.load(Ordering::Relaxed)
    }

    /// Paths of all connections now.
    ///
    /// # Errors
    /// The master has ended.
    pub fn paths(&self) -> Result<Vec<LanePath>, LabError> {
        let (send, answer) = channel();
        let ended = || LabError("the master has ended".into());
        self.inbox.send(Inbox::Paths(send)).map_err(|_| ended())?;
        answer.recv_timeout(Duration::from_secs(10)).map_err(|_| ended())?
    }
}

/// Tells that the service has ended, however it did.
struct Ended(Arc<AtomicBool>);

impl Drop for Ended {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl Drop for MasterHandle {
    fn drop(&mut self) {
        self.is_done.store(true, Ordering::Relaxed);
        let _ = std::fs::remove_file(&self.socket);
    }
}

enum Inbox {
    Line(u32, String),
    Gone(u32),
    Answers(Result<Vec<Answer>, LabError>),
    Paths(Sender<Result<Vec<LanePath>, LabError>>),
}

/// Runs `work` while a master serves ranks at a socket.
///
/// # Errors
/// The socket cannot be made, or a namespace cannot be entered; else as `work`.
pub fn serve<T>(
    plant: &Plant,
    setting: &MasterSetting,
    socket: &Path,
    work: impl FnOnce(&MasterHandle) -> Result<T, LabError>,
) -> Result<T, LabError> {
    let failed = |error: std::io::Error| LabError(format!("{}: {error}", socket.display()));
    refuse_foreign(socket)?;
    let listener = UnixListener::bind(socket).map_err(failed)?;
    listener.set_nonblocking(true).map_err(failed)?;
    let (inbox, mail) = channel();
    let handle = MasterHandle {
        socket: socket.to_path_buf(),
        notes: Arc::default(),
        inbox: inbox.clone(),
        is_done: Arc::default(),
    };
    let mut loop_ = Loop::new(plant, setting, (inbox, mail), &handle)?;
    std::thread::scope(|scope| {
        let (surveys, asked) = channel();
        loop_.surveys = Some(surveys);
        let (answers, timeout) = (loop_.inbox.clone(), setting.timeout);
        scope.spawn(move || survey(plant, timeout, &asked, &answers));
        let ended = Ended(Arc::clone(&handle.is_done));
        let served = scope.spawn(move || {
            // Also where the loop breaks off.
            let _ended = ended;
            loop_.run(&listener)
        });
        let outcome = work(&handle);
        drop(handle);
        let served = served.join().unwrap_or_else(|_| Err(LabError("the master broke off".into())));
        // A master that broke off is why the work did.
        served.and(outcome)
    })
}

/// Removes the socket of a master that is gone.
///
/// # Errors
/// The file is no socket, or a master listens there.
fn refuse_foreign(socket: &Path) -> Result<(), LabError> {
    let Ok(known) = std::fs::symlink_metadata(socket) else { return Ok(()) };
    let shown = socket.display();
    if !known.file_type().is_socket() {
        return Err(LabError(format!("{shown} is there and is no socket: name another file")));
    }
    if UnixStream::connect(socket).is_ok() {
        return Err(LabError(format!("{shown} belongs to a master that runs: name another file")));
    }
    std::fs::remove_file(socket).map_err(|error| LabError(format!("{shown}: {error}")))
}

fn survey(plant: &Plant, timeout: Duration, asked: &Receiver<Vec<Asked>>, answers: &Sender<Inbox>) {
    let mut prober = None;
    while let Ok(asked) = asked.recv() {
        let made = match prober.take() {
            Some(made) => Ok(made),
            None => LabProber::new(plant, timeout),
        };
        let outcome = made.and_then(|made| prober.insert(made).survey(&asked));
        if answers.send(Inbox::Answers(outcome)).is_err() {
            return;
        }
    }
}

struct Client {
    stream: UnixStream,
    /// Group of the lanes of an opening, by its number.
    rows: BTreeMap<u64, std::ops::Range<usize>>,
    job: Option<u32>,
}

struct Loop<'p> {
    lanes: Lanes<'p>,
    plant: &'p Plant,
    news: LinkNews,
    inbox: Sender<Inbox>,
    mail: Receiver<Inbox>,
    surveys: Option<Sender<Vec<Asked>>>,
    clients: BTreeMap<u32, Client>,
    notes: Arc<Mutex<Vec<MasterNote>>>,
    is_done: Arc<AtomicBool>,
    begin_ns: u64,
}

impl<'p> Loop<'p> {
    fn new(
        plant: &'p Plant,
        setting: &MasterSetting,
        (inbox, mail): (Sender<Inbox>, Receiver<Inbox>),
        handle: &MasterHandle,
    ) -> Result<Self, LabError> {
        Ok(Self {
            lanes: Lanes::new(plant, setting)?,
            plant,
            news: LinkNews::new(plant)?,
            inbox,
            mail,
            surveys: None,
            clients: BTreeMap::new(),
            notes: Arc::clone(&handle.notes),
            is_done: Arc::clone(&handle.is_done),
            begin_ns: now_ns(),
        })
    }

    fn now(&self) -> SimTime {
        SimTime::from_ns(now_ns() - self.begin_ns)
    }

    fn note(&self, kind: NoteKind) {
        if let Ok(mut notes) = self.notes.lock() {
            notes.push(MasterNote { at_ns: now_ns(), kind });
        }
    }

    fn run(mut self, listener: &UnixListener) -> Result<(), LabError> {
        let (mut look_ns, mut clients) = (now_ns(), 0);
        while !self.is_done.load(Ordering::Relaxed) {
            while let Ok((stream, _)) = listener.accept() {
                clients += 1;
                self.welcome(clients, stream);
            }
            let now = self.now();
            let news = self.news.take();
            for &(link, up) in &news {
                self.note(NoteKind::Link(link, up));
                self.lanes.choices.hear(now, link, up);
            }
            if !news.is_empty() || self.lanes.choices.next_time() <= now {
                self.lanes.choices.decide(now);
                self.ask();
            }
            match self.mail.recv_timeout(Duration::from_nanos(WAIT_NS)) {
                Ok(mail) => {
                    self.take(mail)?;
                    while let Ok(mail) = self.mail.try_recv() {
                        self.take(mail)?;
                    }
                }
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {}
            }
            if now_ns() >= look_ns {
                look_ns = now_ns() + LOOK_NS;
                self.steer()?;
            }
        }
        Ok(())
    }

    fn welcome(&mut self, number: u32, stream: UnixStream) {
        let Ok(reader) = stream.try_clone() else { return };
        // A client that takes nothing must not hold up the others.
        let _ = stream.set_write_timeout(Some(Duration::from_millis(200)));
        let inbox = self.inbox.clone();
        self.clients.insert(number, Client { stream, rows: BTreeMap::new(), job: None });
        std::thread::spawn(move || {
            let mut reader = BufReader::new(reader);
            loop {
                let mut bytes = Vec::new();
                match reader.by_ref().take(LINE_MAX).read_until(b'\n', &mut bytes) {
                    Ok(count) if count > 0 && bytes.ends_with(b"\n") => {
                        let line = String::from_utf8_lossy(&bytes).trim_end().to_owned();
                        if inbox.send(Inbox::Line(number, line)).is_err() {
                            return;
                        }
                    }
                    // The end, a line that is too long, or one without its end.
                    _ => break,
                }
            }
            let _ = inbox.send(Inbox::Gone(number));
        });
    }

    fn take(&mut self, mail: Inbox) -> Result<(), LabError> {
        match mail {
            Inbox::Line(number, line) => match protocol::read(&line) {
                Ok(said) => self.said(number, said)?,
                Err(problem) => self.tell(number, &protocol::error(0, &problem)),
            },
            Inbox::Gone(number) => self.gone(number),
            Inbox::Answers(answers) => {
                let answers = answers?;
                let lossy = answers.iter().filter(|answer| answer.lost > 0).count();
                if lossy > 0 {
                    self.note(NoteKind::Lost(lossy));
                }
                let now = self.now();
                self.lanes.choices.probed(now, &answers);
                self.lanes.choices.decide(now);
                self.ask();
                self.steer()?;
            }
            Inbox::Paths(answer) => {
                let _ = answer.send(self.lanes.paths());
            }
        }
        Ok(())
    }

    fn said(&mut self, number: u32, said: Said) -> Result<(), LabError> {
        match said {
            Said::Open { id, job, from, to, lanes } => {
                let plant = self.plant;
                let Some(ends) = plant.nic_at(from).zip(plant.nic_at(*to.ip())) else {
                    let text = format!("no NIC of the fabric has the address {from}, or none {}", to.ip());
                    self.tell(number, &protocol::error(id, &text));
                    return Ok(());
                };
                if ends.0.nic == ends.1.nic {
                    self.tell(number, &protocol::error(id, "it opens a connection to itself"));
                    return Ok(());
                }
                if let Some(client) = self.clients.get_mut(&number) {
                    if client.job.is_some_and(|known| known != job) || client.rows.contains_key(&id) {
                        let text = "this socket has another job, or has this id already";
                        self.tell(number, &protocol::error(id, text));
                        return Ok(());
                    }
                    // What is opened is closed with the job, also where no port is found.
                    client.job = Some(job);
                }
                let now = self.now();
                match self.lanes.open(now, job, ends, to, lanes) {
                    Ok(rows) => {
                        let ports: Vec<u16> = rows.clone().map(|row| self.lanes.lanes[row].port).collect();
                        for (row, &port) in rows.clone().zip(&ports) {
                            self.note(NoteKind::Opened(row, port));
                        }
                        if let Some(client) = self.clients.get_mut(&number) {
                            client.rows.insert(id, rows);
                        }
                        self.tell(number, &protocol::ports(id, &ports));
                    }
                    Err(error) => self.tell(number, &protocol::error(id, &error.to_string())),
                }
                self.ask();
            }
            Said::Moved { id, lane, port } => {
                if let Some(row) = self.settled(number, id, lane, port) {
                    self.lanes.lanes[row].port = port;
                    self.note(NoteKind::Moved(row));
                }
            }
            Said::Failed { id, lane, port, message } => {
                if let Some(row) = self.settled(number, id, lane, port) {
                    self.note(NoteKind::Failed(row, message));
                }
            }
        }
        Ok(())
    }

    /// The row of a connection whose move is over.
    fn settled(&mut self, number: u32, id: u64, lane: u32, port: u16) -> Option<usize> {
        let rows = self.clients.get(&number)?.rows.get(&id)?.clone();
        let row = rows.start + lane as usize;
        let lane = self.lanes.lanes.get_mut(row).filter(|_| rows.contains(&row))?;
        if lane.moving == Some(port) {
            lane.moving = None;
        }
        Some(row)
    }

    fn gone(&mut self, number: u32) {
        let Some(client) = self.clients.remove(&number) else { return };
        let Some(job) = client.job else { return };
        // A job is gone with the last of its ranks.
        if !self.clients.values().any(|other| other.job == Some(job)) {
            let now = self.now();
            self.lanes.choices.close(now, job);
            self.lanes.choices.decide(now);
        }
    }

    fn tell(&mut self, number: u32, line: &str) {
        let Some(client) = self.clients.get_mut(&number) else { return };
        // A client that takes nothing is let go, else it would hold up the others. Its reader notes that it is gone.
        if writeln!(client.stream, "{line}").is_err() {
            let _ = client.stream.shutdown(Shutdown::Both);
        }
    }

    /// Sends the probes that were asked for.
    fn ask(&mut self) {
        let asked = self.lanes.choices.take_probes();
        if let Some(surveys) = self.surveys.as_ref().filter(|_| !asked.is_empty()) {
            let _ = surveys.send(asked);
        }
    }

    /// Moves what is not on its path.
    fn steer(&mut self) -> Result<(), LabError> {
        for one in self.lanes.astray()? {
            let owner = self.clients.iter().find_map(|(&number, client)| {
                let (&id, rows) = client.rows.iter().find(|(_, rows)| rows.contains(&one.row))?;
                Some((number, id, (one.row - rows.start) as u32))
            });
            let Some((number, id, lane)) = owner else { continue };
            self.note(NoteKind::Asked(one.row));
            self.tell(number, &protocol::go(id, lane, one.port));
        }
        Ok(())
    }
}
