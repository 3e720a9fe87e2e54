//! Controllers that are Python objects: events as the classes of `railtwin.control`, actions back.
//!
//! Each replicate has objects of its own, and holds the interpreter only while it asks them. What they raise ends the
//! run and is raised again by the call, with their own traceback; of several replicates it is the first's.
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use pyo3::exceptions::PyOverflowError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyAnyMethods, PyString, PyTuple, PyType};
use railtwin::Runnable;
use railtwin_control::controller::{
    Action, Answer, Arrival, Completion, Controller, Decision, Event, Finding, LinkCounters,
    QueuePairCounters, StepDemand, Submission,
};
use railtwin_control::hosts::{Room, Wards};
use railtwin_control::paths::JobId;
use railtwin_control::paths::load_balance::WHOLE;
use railtwin_control::te::{Change, LinkReport, Subject};
use railtwin_engine::PRIORITY_MAX;
use railtwin_engine::own::{Bounds, Own, QueuePair, Site, Stage, halt};
use railtwin_fabric::{DeviceId, HostId, LinkId};
use railtwin_routing::{NicPort, PrefixId, TableEntry};
use railtwin_store::one_line;
use railtwin_units::SimTime;

use crate::errors;
use crate::scenario::Placed;
use crate::sight::{Ears, Fabric};

/// Longest name of a controller or reason of a decision, in characters: they are words in a table.
const WORD_MAX: usize = 64;
/// Different words of one process; each is kept for as long as it lives.
const WORDS_MAX: usize = 4_096;
/// How a controller comes into a call.
const HAND_OVER: &str = "hand over its class, or a function that is given the fabric and makes one: every replicate \
                         gets its own";

/// A word that lives as long as the process; none where there are too many.
fn word(text: &str) -> Option<&'static str> {
    static WORDS: Mutex<BTreeSet<&str>> = Mutex::new(BTreeSet::new());
    let mut words = WORDS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = words.get(text) {
        return Some(known);
    }
    if words.len() >= WORDS_MAX {
        return None;
    }
    let kept: &'static str = Box::leak(text.to_owned().into_boxed_str());
    words.insert(kept);
    Some(kept)
}

/// A name or a reason.
fn word_of(py: Python<'_>, what: &str, text: &str) -> PyResult<&'static str> {
    let count = text.chars().count();
    if count == 0 || count > WORD_MAX || one_line(text) != text {
        let message = format!("{what} is {text:?}");
        return Err(errors::controller(py, &message, &format!("write 1 to {WORD_MAX} printable characters")));
    }
    let many = || {
        let message = format!("{what} is {text:?}, one of more than {WORDS_MAX} different ones");
        errors::controller(py, &message, "a reason is a word that many decisions share")
    };
    word(text).ok_or_else(many)
}

/// What makes a controller, and its name.
#[derive(Debug)]
struct Factory {
    name: &'static str,
    make: Py<PyAny>,
}

/// What was raised first in each replicate.
type Raised = Arc<Mutex<BTreeMap<u32, PyErr>>>;

/// The controllers of a call.
#[derive(Clone, Debug)]
pub(crate) struct Controllers {
    factories: Arc<Vec<Factory>>,
    raised: Raised,
}

impl Controllers {
    /// A sequence of classes or functions that make controllers.
    pub(crate) fn of(given: &Bound<'_, PyAny>) -> PyResult<Self> {
        let py = given.py();
        let mut factories = Vec::new();
        let items = given.try_iter().map_err(|_| {
            errors::argument(py, "controllers is no list", "write controllers=[Mine], with the class in it")
        })?;
        for item in items {
            let item = item?;
            let is_object = !item.is_instance_of::<PyType>() && item.hasattr("on_event")?;
            if is_object || !item.is_callable() {
                let message = format!("{} is no class of controllers", item.repr()?);
                return Err(errors::argument(py, &message, HAND_OVER));
            }
            let name = word_of(py, "the name of a controller", &name_of(&item)?)?;
            factories.push(Factory { name, make: item.unbind() });
        }
        Ok(Self { factories: Arc::new(factories), raised: Raised::default() })
    }

    /// Puts them beside those of a case, if there are any.
    pub(crate) fn beside(&self, ready: Runnable) -> Result<Runnable, Placed> {
        match (self.own(), ready) {
            (None, ready) => Ok(ready),
            (Some(own), Runnable::Steps(resolved)) => {
                Ok(Runnable::Steps(Box::new(resolved.with_controllers(own)?)))
            }
            (Some(_), Runnable::Weeks(_)) => {
                let message = "controllers beside [cluster], whose runs take none: ask railtwin.cluster";
                Err(railtwin::Error::Argument(message.to_owned()).into())
            }
        }
    }

    /// They, for whoever asks them; none where there are none.
    pub(crate) fn own(&self) -> Option<Own> {
        if self.factories.is_empty() {
            return None;
        }
        let names: Vec<&str> = self.factories.iter().map(|factory| factory.name).collect();
        let all = self.clone();
        let make = move |site: &Site| {
            let one = |factory| Box::new(Mine::new(factory, &all.raised, site)) as Box<dyn Controller>;
            all.factories.iter().map(one).collect()
        };
        Some(Own::new(&names, make))
    }

    /// What a controller raised, where that is the error.
    pub(crate) fn raised(&self, error: &railtwin::Error) -> Option<PyErr> {
        let railtwin::Error::Controller { replicate, .. } = error else { return None };
        let mut raised = self.raised.lock().unwrap_or_else(PoisonError::into_inner);
        match replicate {
            Some(replicate) => raised.remove(replicate),
            None => raised.pop_first().map(|(_, error)| error),
        }
    }
}

/// The attribute `name`, else how a class or function is called; that of what a partial calls.
fn name_of(factory: &Bound<'_, PyAny>) -> PyResult<String> {
    for attribute in ["name", "__name__"] {
        if let Some(Ok(name)) = factory.getattr_opt(attribute)?.map(|name| name.extract::<String>())
            && name != "<lambda>"
        {
            return Ok(name);
        }
    }
    match factory.getattr_opt("func")? {
        Some(inner) => name_of(&inner),
        None => {
            let message = format!("{} has no name", factory.repr()?);
            Err(errors::argument(factory.py(), &message, "give it an attribute `name`, or write a def"))
        }
    }
}

/// One controller of one replicate.
#[derive(Debug)]
struct Mine {
    name: &'static str,
    replicate: u32,
    raised: Raised,
    controller: Py<PyAny>,
    ears: Ears,
    site: Site,
    bounds: Bounds,
    /// In the life of a job: its hosts, as far as this controller knows.
    wards: Option<Wards>,
    /// In weeks of jobs: free GPUs and who waits, as far as this controller knows.
    room: Option<Room>,
    opened: usize,
    /// What leaves hold by its writes, by ingress and prefix.
    told: BTreeMap<(u32, u32), LinkId>,
    next: SimTime,
}

impl Mine {
    fn new(factory: &Factory, raised: &Raised, site: &Site) -> Self {
        let fabric = Fabric::new(site);
        let ears = fabric.ears();
        let asked = Python::attach(|py| {
            let made = factory.make.bind(py).call1((Py::new(py, fabric)?,))?;
            for method in ["on_event", "actions"] {
                if !made.getattr_opt(method)?.is_some_and(|method| method.is_callable()) {
                    let message = format!("{} has no method `{method}`", made.repr()?);
                    return Err(errors::controller(py, &message, "a controller has on_event and actions"));
                }
            }
            Ok(made.unbind())
        });
        let controller = give_up(asked, factory.name, site.replicate, raised, SimTime::ZERO);
        Self {
            name: factory.name,
            replicate: site.replicate,
            raised: Arc::clone(raised),
            controller,
            ears,
            bounds: Bounds::new(site, 0),
            wards: None,
            room: (site.stage == Stage::Cluster).then(|| Room::new(&site.fabric)),
            site: site.clone(),
            opened: 0,
            told: BTreeMap::new(),
            next: SimTime::NEVER,
        }
    }

    fn heard<T>(&self, asked: PyResult<T>, now: SimTime) -> T {
        give_up(asked, self.name, self.replicate, &self.raised, now)
    }

    /// The decision that an action of Python says.
    fn decision(&mut self, action: &Bound<'_, PyAny>, classes: &Classes<'_>) -> PyResult<Decision> {
        let py = action.py();
        self.decided(action, classes).map_err(|error| {
            if !error.is_instance_of::<PyOverflowError>(py) {
                return error;
            }
            let message = action.repr().map(|shown| format!("{shown} has a number out of range"));
            let accepted = "rows are numbers from 0 up to 4294967295, source ports up to 65535";
            message.map_or(error, |message| errors::controller(py, &message, accepted))
        })
    }

    fn decided(&mut self, action: &Bound<'_, PyAny>, classes: &Classes<'_>) -> PyResult<Decision> {
        let py = action.py();
        let text = |name| action.getattr(name)?.extract::<String>();
        let decided = if action.is_instance(&classes.path)? {
            let queue_pair = action.getattr(intern!(py, "queue_pair"))?.extract()?;
            let source_port = action.getattr(intern!(py, "source_port"))?.extract()?;
            Action::Path { queue_pair, source_port }
        } else if action.is_instance(&classes.priority)? {
            let (job, priority): (u32, u32) =
                (action.getattr("job")?.extract()?, action.getattr("priority")?.extract()?);
            let Ok(priority) = u8::try_from(priority) else {
                let message = format!("there is no priority {priority}: write one of 0 to {PRIORITY_MAX}");
                return Err(errors::controller(py, &message, ""));
            };
            Action::Priority { job: JobId(job), priority }
        } else if action.is_instance(&classes.weight)? {
            let share: f64 = action.getattr(intern!(py, "share"))?.extract()?;
            if !(0.0..=1.0).contains(&share) {
                let message = format!("{} has no share of 0 to 1", action.repr()?);
                return Err(errors::controller(py, &message, "write a part of the connection's bytes"));
            }
            let queue_pair = action.getattr(intern!(py, "queue_pair"))?.extract()?;
            Action::Weight { queue_pair, share: (share * f64::from(WHOLE)).round() as u32 }
        } else if action.is_instance(&classes.entry)? {
            let (ingress, prefix) =
                (action.getattr("ingress")?.extract()?, action.getattr("prefix")?.extract()?);
            let next: Option<u32> = action.getattr("next")?.extract()?;
            let was = self.told.get(&(ingress, prefix)).copied();
            let entry = |next| TableEntry { ingress: LinkId(ingress), prefix: PrefixId(prefix), next };
            Action::Entry(match (next.map(LinkId), was) {
                (Some(next), Some(was)) => Change::Replace { entry: entry(next), was },
                (Some(next), None) => Change::Add(entry(next)),
                (None, Some(was)) => Change::Remove(entry(was)),
                (None, None) => {
                    let message = format!("{} takes out an entry that it did not write", action.repr()?);
                    return Err(errors::controller(py, &message, "write it first"));
                }
            })
        } else if action.is_instance(&classes.probe)? {
            let nic = |name: &str| action.getattr(name)?.extract().map(DeviceId);
            Action::Probe {
                source: NicPort { nic: nic("source")?, port: action.getattr("port")?.extract()? },
                target: nic("target")?,
                source_port: action.getattr("source_port")?.extract()?,
                packets: action.getattr("packets")?.extract()?,
            }
        } else if action.is_instance(&classes.isolate)? {
            Action::Isolate(HostId(action.getattr("host")?.extract()?))
        } else if action.is_instance(&classes.place)? {
            let (job, host, gpus): (u32, u32, u32) = (
                action.getattr("job")?.extract()?,
                action.getattr("host")?.extract()?,
                action.getattr("gpus")?.extract()?,
            );
            Action::Place { job: JobId(job), host: HostId(host), gpus }
        } else if action.is_instance(&classes.swap)? {
            let host = |name: &str| action.getattr(name)?.extract().map(HostId);
            Action::Swap {
                job: JobId(action.getattr("job")?.extract()?),
                out: host("out")?,
                spare: host("spare")?,
            }
        } else if action.is_instance(&classes.restart)? {
            Action::Restart(JobId(action.getattr("job")?.extract()?))
        } else {
            let message = format!("{} is no action", action.repr()?);
            return Err(errors::controller(
                py,
                &message,
                "yield Path, Weight, Priority, Entry or Probe of railtwin.control, or in the life of a job Isolate, \
                 Swap or Restart, or in weeks of jobs Place",
            ));
        };
        let refused = |why: String| errors::controller(py, &why, "");
        self.bounds.check(&decided).map_err(refused)?;
        let reason = word_of(py, "the reason of an action", &text("reason")?)?;
        self.wards.as_mut().map_or(Ok(()), |wards| wards.take(&decided)).map_err(refused)?;
        self.room.as_mut().map_or(Ok(None), |room| room.take(&decided)).map_err(refused)?;
        Ok(Decision { action: decided, reason })
    }

    fn decisions(&mut self, py: Python<'_>, now: SimTime, decisions: &mut Vec<Decision>) -> PyResult<()> {
        let given = self.controller.bind(py).call_method1(intern!(py, "actions"), (now.seconds(),))?;
        if given.is_none() {
            let hint = "return a list, or yield; `return ()` is no action";
            return Err(errors::controller(py, "actions() gave None", hint));
        }
        let classes = Classes::of(py)?;
        let items = given.try_iter()?;
        for action in items.clone() {
            let action = action?;
            match self.decision(&action, &classes) {
                Ok(decision) => decisions.push(decision),
                // Raised where the controller yields: the traceback has its line.
                Err(error) if items.hasattr("throw")? => {
                    let swallowed = items.call_method1("throw", (error.value(py),));
                    return Err(swallowed.err().unwrap_or(error));
                }
                Err(error) => return Err(error),
            }
        }
        let refused = |why: String| errors::controller(py, &why, "");
        self.room.as_ref().map_or(Ok(()), Room::is_settled).map_err(refused)
    }

    /// When the controller asks to be asked again, if it has a way to say so.
    fn asked_again(&self, py: Python<'_>, now: SimTime) -> PyResult<SimTime> {
        let Some(method) = self.controller.bind(py).getattr_opt(intern!(py, "next_time"))? else {
            return Ok(SimTime::NEVER);
        };
        let Some(seconds) = method.call0()?.extract::<Option<f64>>()? else { return Ok(SimTime::NEVER) };
        // Seconds as a float are whole picoseconds up to two hours, and beyond that near them.
        let ps = (seconds * 1e12).round();
        if ps > now.ps() as f64 && ps < SimTime::NEVER.ps() as f64 {
            return Ok(SimTime::from_ps(ps as u64));
        }
        let message = format!("next_time() gave {seconds} at {} s", now.seconds());
        Err(errors::controller(py, &message, "give a later time in seconds, or None"))
    }

    fn tell(&mut self, py: Python<'_>, now: SimTime, event: &Event<'_>) -> PyResult<()> {
        let module = py.import(intern!(py, "railtwin.control"))?;
        let controller = self.controller.bind(py);
        let say = |class: &str, fields: Bound<'_, PyTuple>| {
            let event = module.getattr(class)?.call1(fields)?;
            controller.call_method1(intern!(py, "on_event"), (now.seconds(), event)).map(drop)
        };
        match *event {
            Event::Link(LinkReport { subject, up, .. }) => {
                let links = match subject {
                    Subject::Link(link) => vec![link],
                    Subject::Cable(cable) => vec![cable.forward(), cable.backward()],
                };
                let class = if up { "LinkUp" } else { "LinkDown" };
                links.into_iter().try_for_each(|link| say(class, (link.0,).into_pyobject(py)?))
            }
            Event::Opened(openings) => {
                let class = module.getattr("QueuePair")?;
                let made = |one: QueuePair| {
                    let QueuePair { row, number, port, ports, job, source, target, bytes } = one;
                    class.call1((row, number, port, ports, job, source.0, target.0, bytes))
                };
                let all = openings.iter().flat_map(QueuePair::of).map(made).collect::<PyResult<Vec<_>>>()?;
                say("Opened", (PyTuple::new(py, all)?,).into_pyobject(py)?)
            }
            Event::Arrived(Arrival { job, step, .. }) => {
                let StepDemand { gpus, compute, in_line, work } = step;
                let fields = (job.0, gpus, compute.seconds(), in_line.seconds(), work);
                say("Arrived", fields.into_pyobject(py)?)
            }
            Event::Closed(job) => say("Closed", (job.0,).into_pyobject(py)?),
            Event::Written { change, error } => {
                let TableEntry { ingress, prefix, next } = change.entry();
                let next = (!matches!(change, Change::Remove(_))).then_some(next.0);
                let entry = module.getattr("Entry")?.call1((ingress.0, prefix.0, next))?;
                let why = error.map(|error| PyString::new(py, &error.to_string()));
                say("Written", (entry, why).into_pyobject(py)?)
            }
            Event::Probed(answers) => {
                let class = module.getattr("Answer")?;
                let seconds = |time: SimTime| (time < SimTime::NEVER).then(|| time.seconds());
                let made = |one: &Answer| {
                    let Answer { sent, lost, delay, delay_max, loaded } = *one;
                    class.call1((sent, lost, seconds(delay), seconds(delay_max), loaded))
                };
                let all = answers.iter().map(made).collect::<PyResult<Vec<_>>>()?;
                say("Probed", (PyTuple::new(py, all)?,).into_pyobject(py)?)
            }
            Event::Completed(completions) => {
                let class = module.getattr("Completion")?;
                let made = |one: &Completion| class.call1((one.queue_pair, one.bytes, one.time.seconds()));
                let all = completions.iter().map(made).collect::<PyResult<Vec<_>>>()?;
                say("Completed", (PyTuple::new(py, all)?,).into_pyobject(py)?)
            }
            Event::Counters(counters) => {
                let class = module.getattr("LinkCounters")?;
                let made =
                    |one: &LinkCounters| class.call1((one.link.0, one.bytes, one.utilization, one.marked));
                let links = counters.links.iter().map(made).collect::<PyResult<Vec<_>>>()?;
                let class = module.getattr("QueuePairCounters")?;
                let made = |one: &QueuePairCounters| class.call1((one.queue_pair, one.marked));
                let queue_pairs = counters.queue_pairs.iter().map(made).collect::<PyResult<Vec<_>>>()?;
                let (links, queue_pairs) = (PyTuple::new(py, links)?, PyTuple::new(py, queue_pairs)?);
                say("Counters", (counters.period.seconds(), links, queue_pairs).into_pyobject(py)?)
            }
            Event::Submitted(Submission { job, gpus, duration, compute, bytes }) => {
                let fields = (job.0, gpus, duration.seconds(), compute.seconds(), bytes);
                say("Submitted", fields.into_pyobject(py)?)
            }
            Event::Placed { job, hosts } => {
                let hosts = PyTuple::new(py, hosts.iter().map(|host| host.0))?;
                say("Placed", (job.0, hosts).into_pyobject(py)?)
            }
            Event::Found(Finding { host, job, confidence, cause, halts }) => {
                say("Found", (host.0, job.0, confidence, cause, halts).into_pyobject(py)?)
            }
            Event::Confirmed(Finding { host, job, confidence, cause, halts }) => {
                say("Confirmed", (host.0, job.0, confidence, cause, halts).into_pyobject(py)?)
            }
            Event::Cleared(job) => say("Cleared", (job.0,).into_pyobject(py)?),
            Event::Repaired(host) => say("Repaired", (host.0,).into_pyobject(py)?),
        }
    }
}

/// The classes of actions.
struct Classes<'py> {
    path: Bound<'py, PyAny>,
    priority: Bound<'py, PyAny>,
    weight: Bound<'py, PyAny>,
    entry: Bound<'py, PyAny>,
    probe: Bound<'py, PyAny>,
    isolate: Bound<'py, PyAny>,
    place: Bound<'py, PyAny>,
    swap: Bound<'py, PyAny>,
    restart: Bound<'py, PyAny>,
}

impl<'py> Classes<'py> {
    fn of(py: Python<'py>) -> PyResult<Self> {
        let module = py.import(intern!(py, "railtwin.control"))?;
        let class = |name| module.getattr(name);
        Ok(Self {
            path: class("Path")?,
            weight: class("Weight")?,
            priority: class("Priority")?,
            entry: class("Entry")?,
            probe: class("Probe")?,
            isolate: class("Isolate")?,
            place: class("Place")?,
            swap: class("Swap")?,
            restart: class("Restart")?,
        })
    }
}

/// What Python gave; where it raised, that is kept for the caller and the run ends.
fn give_up<T>(asked: PyResult<T>, name: &str, replicate: u32, raised: &Raised, now: SimTime) -> T {
    let error = match asked {
        Ok(given) => return given,
        Err(error) => error,
    };
    let why = Python::attach(|py| {
        let note = format!("in controller {name} at {} s, replicate {replicate}", now.seconds());
        // A note is a help: what cannot take one is raised without.
        let _ = error.value(py).call_method1("add_note", (note,));
        error.to_string()
    });
    raised.lock().unwrap_or_else(PoisonError::into_inner).entry(replicate).or_insert(error);
    halt(name, why)
}

impl Controller for Mine {
    fn name(&self) -> &'static str {
        self.name
    }

    fn on_event(&mut self, now: SimTime, event: &Event<'_>) {
        match event {
            Event::Link(report) => self.ears.hear(report),
            Event::Opened(openings) => {
                let ends = openings.iter().map(|one| one.first as usize + one.numbers.len());
                self.opened = ends.fold(self.opened, usize::max);
                self.bounds = Bounds::new(&self.site, self.opened);
            }
            Event::Written { change, error: None } => {
                let TableEntry { ingress, prefix, next } = change.entry();
                match change {
                    Change::Remove(_) => self.told.remove(&(ingress.0, prefix.0)),
                    Change::Add(_) | Change::Replace { .. } => self.told.insert((ingress.0, prefix.0), next),
                };
            }
            Event::Placed { job, hosts } if self.site.stage == Stage::Life => {
                self.wards = Some(Wards::new(&self.site.fabric, *job, hosts));
            }
            Event::Submitted(one) => self.room.iter_mut().for_each(|room| room.submitted(one.job, one.gpus)),
            Event::Closed(job) => self.room.iter_mut().for_each(|room| room.closed(*job)),
            Event::Repaired(host) => self.wards.iter_mut().for_each(|wards| wards.repaired(*host)),
            _ => {}
        }
        let heard = Python::attach(|py| self.tell(py, now, event));
        self.heard(heard, now);
    }

    fn decide(&mut self, now: SimTime, decisions: &mut Vec<Decision>) {
        let asked = Python::attach(|py| {
            self.decisions(py, now, decisions)?;
            self.asked_again(py, now)
        });
        self.next = self.heard(asked, now);
    }

    fn next_time(&self) -> SimTime {
        self.next
    }
}
