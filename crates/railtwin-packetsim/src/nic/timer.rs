//! Timers of senders: the local ACK timer, and probes before it.
use railtwin_engine::IncidentKind;
use railtwin_engine::fault::TimedOut;
use railtwin_units::SimTime;

use crate::agenda::{Agenda, NEVER};
use crate::congestion::Control;
use crate::host::{Host, Shared, Word};
use crate::host_task::TIMER;
use crate::post::Post;

impl<C: Control> Host<C> {
    /// What a timer that ran out means for a job whose packets have had no answer since a time; whether that is its end.
    ///
    /// `port` is that by which the queue pair sends; `outcome` has with it whether the timer had no retries to count.
    pub(crate) fn ran_out(
        &mut self,
        now: u64,
        (job, since): (u32, u64),
        port: Option<u16>,
        (outcome, is_first): (TimedOut, bool),
    ) -> bool {
        match outcome {
            TimedOut::Dies => {
                // Without a retry nothing has told yet that it waits.
                if is_first {
                    self.words.push((since, Word::Incident(IncidentKind::Stalled(job))));
                }
                self.words.push((now, Word::Incident(IncidentKind::Halted(job))));
                return true;
            }
            // It waits since the last answer, as a flow waits since its path is gone.
            TimedOut::Again(1) => self.words.push((since, Word::Incident(IncidentKind::Stalled(job)))),
            TimedOut::Again(_) => {}
        }
        self.counts.ack_timeouts += 1;
        if let Some(port) = port.and_then(|port| self.ports.get_mut(usize::from(port))) {
            port.port.counts.ack_timeouts += 1;
        }
        false
    }

    /// The local ACK timer of a sender.
    pub(crate) fn on_timer(
        &mut self,
        now: u64,
        row: usize,
        shared: &Shared<'_>,
        agenda: &mut Agenda,
        post: &mut Post<'_>,
    ) {
        let transport = &shared.transport;
        let sender = &mut self.senders[row];
        if let Some(selective) = &mut sender.selective {
            // Another timer stands in the agenda.
            if selective.timer_at != now {
                return;
            }
            selective.timer_at = NEVER;
        }
        // What waits to be sent again is missing an answer too.
        if sender.acked == sender.top || sender.tries.is_dead() {
            sender.armed = false;
            return;
        }
        let before = sender.in_flight();
        let due = sender.tries.due(transport).ps();
        if now < due {
            if let Some(selective) = &mut sender.selective
                && now >= selective.probe_due(transport.retry_count)
            {
                // What has arrived since may tell more than a probe.
                let lost = selective.expire(now, sender.acked);
                if lost > 0 {
                    selective.wait_from(now);
                }
                self.counts.probes += u64::from(lost == 0 && selective.probe(now, sender.acked));
                for _ in 0..lost {
                    self.control.on_trimmed(&mut sender.state, &sender.path, sender.path.full);
                }
            }
            agenda.push(sender.timer_due(now, transport), TIMER | row as u64);
            self.flight_was(now, (row, before), shared, agenda, post);
            if shared.selective {
                self.line_up(now, row, shared, agenda, post);
            }
            return;
        }
        let job = shared.job_of(sender.queue_pair);
        let since = sender.tries.since().ps();
        let outcome = sender.tries.time_out(SimTime::from_ps(now), transport);
        sender.armed = outcome != TimedOut::Dies;
        let port = self.senders[row].start.map(|start| start.port);
        if self.ran_out(now, (job, since), port, (outcome, transport.retry_count == 0)) {
            return;
        }
        let sender = &mut self.senders[row];
        sender.go_back();
        agenda.push(sender.timer_due(now, transport), TIMER | row as u64);
        self.flight_was(now, (row, before), shared, agenda, post);
        self.line_up(now, row, shared, agenda, post);
    }
}
