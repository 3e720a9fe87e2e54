//! The operations of a host in time: what is ready, which items of legs may leave, what has arrived.
use railtwin_engine::RankFault;
use railtwin_units::SimTime;
use railtwin_workload::{Axis, OperationId, Work};

use crate::agenda::Agenda;
use crate::congestion::Control;
use crate::host::{Host, Shared, Word};
use crate::host_task::{ENDED, LATENT};
use crate::network::Speed;
use crate::post::Post;
use crate::program::{Way, item_bytes, pieces};

/// Messages of a leg that are posted before the first of them is acknowledged: a transfer of terabytes does not fill
/// the memory with what will be sent much later.
const AHEAD: u64 = 4096;

impl<C: Control> Host<C> {
    /// A job starts here. Others may have begun it before, and words of theirs have come.
    pub(crate) fn begin_job(&mut self, role: usize, shared: &Shared<'_>) {
        self.worker.roles[role].begun = true;
        self.begin(role, shared);
        self.hear_early(shared);
    }

    /// Hears words again that came before their step began here.
    fn hear_early(&mut self, shared: &Shared<'_>) {
        let early = std::mem::take(&mut self.worker.early);
        early.into_iter().for_each(|word| self.on_elsewhere(word, shared));
    }

    /// A step starts.
    fn begin(&mut self, role: usize, shared: &Shared<'_>) {
        let state = &self.worker.roles[role];
        let spec = &shared.program.roles[state.role as usize];
        let free = (0..spec.operations.len()).filter(|&row| state.waits[row] == 0);
        let free: Vec<(u32, u32)> = free.map(|row| (role as u32, row as u32)).collect();
        self.worker.ready.extend(free);
    }

    /// Works off what became ready or was ended, until nothing more follows from it at `now`.
    pub(crate) fn work_off(
        &mut self,
        now: u64,
        shared: &Shared<'_>,
        agenda: &mut Agenda,
        post: &mut Post<'_>,
    ) {
        loop {
            if let Some(out) = self.worker.stirred.pop_front() {
                self.advance(now, out as usize, shared, agenda, post);
            } else if let Some(seat) = self.worker.over.pop_front() {
                self.seat_over(now, seat as usize, shared, agenda);
            } else if let Some((role, row)) = self.worker.ready.pop_front() {
                self.start(now, role as usize, row, shared, agenda);
            } else {
                return;
            }
        }
    }

    /// The operation over the whole case of a row of a role in its current step.
    fn operation(&self, role: usize, row: u32, shared: &Shared<'_>) -> (u32, OperationId) {
        let state = &self.worker.roles[role];
        let spec = &shared.program.roles[state.role as usize];
        let job = &shared.network.case.work.jobs[spec.job as usize];
        let operation = spec.operations[row as usize];
        let length = job.plan.operations.len() as u32;
        (job.first_operation + state.step * length + operation, OperationId(operation))
    }

    /// An operation is ready.
    fn start(&mut self, now: u64, role: usize, row: u32, shared: &Shared<'_>, agenda: &mut Agenda) {
        if self.worker.roles[role].halted {
            return;
        }
        match self.worker.seat_of[role][row as usize] {
            Some(seat) => {
                let state = &mut self.worker.seats[seat as usize];
                let turn = state.order.binary_search(&row).expect("a seat knows its operations");
                state.ready[turn] = true;
                self.sit_down(now, seat as usize, shared, agenda);
            }
            None => {
                let (number, operation) = self.operation(role, row, shared);
                let spec = &shared.program.roles[self.worker.roles[role].role as usize];
                let work = &shared.network.case.work;
                let plan = &work.jobs[spec.job as usize].plan;
                let Work::Compute(time) = plan.operations[operation.index()].work else { return };
                let step = self.worker.roles[role].step;
                let time = work.computing(time, (spec.job as usize, step), shared.draw);
                self.worker.times.insert(number, (now, u64::MAX));
                let (lane, speed) =
                    (plan.operations[operation.index()].lane, work.jobs[spec.job as usize].beside);
                let (own, at) = ((role as u64) << 32 | u64::from(row), SimTime::from_ps(now));
                let lane = (role as u32, lane);
                let end = self.worker.beside.computes(at, lane, speed, own, at.saturating_add(time));
                agenda.push(end.ps(), ENDED | own);
            }
        }
    }

    /// Begins the next operation of a pattern if it is ready and none is at work.
    fn sit_down(&mut self, now: u64, row: usize, shared: &Shared<'_>, agenda: &mut Agenda) {
        let seat = &self.worker.seats[row];
        if seat.active.is_some() || !seat.ready.get(seat.turn).copied().unwrap_or(false) {
            return;
        }
        let (role, operation_row) = (seat.role as usize, seat.order[seat.turn]);
        let (number, operation) = self.operation(role, operation_row, shared);
        let spec = &shared.program.roles[self.worker.roles[role].role as usize];
        let plan = &shared.network.case.work.jobs[spec.job as usize].plan;
        let Work::Communicate { bytes, .. } = plan.operations[operation.index()].work else { return };
        self.collective(now, (role, operation_row), true, shared, agenda);
        self.worker.times.insert(number, (now, u64::MAX));
        let worker = &mut self.worker;
        let seat = &mut worker.seats[row];
        if seat.only_sends()
            && let Err(row) = worker.only_sent.binary_search(&number)
        {
            worker.only_sent.insert(row, number);
        }
        (seat.active, seat.latest) = (Some((number, bytes)), Some(number));
        seat.left = seat.outs.len() as u32;
        for &row_of_out in &seat.outs {
            let out = &mut worker.outs[row_of_out as usize];
            let leg = &shared.program.legs[out.leg as usize];
            out.base += out.total;
            out.pieces = pieces(leg, bytes, shared.message);
            out.total = out.pieces.of_stage * out.pieces.rounds * u64::from(leg.stages);
            (out.posted, out.acked) = (0, 0);
            if let Some(told) = self.told.as_deref_mut() {
                told.begins(row_of_out as usize, out.base, number);
            }
            if matches!(leg.way, Way::Network(_)) {
                out.slots = leg.cut.slots(bytes, shared.message).unwrap_or(u64::MAX);
            }
        }
        for &row in &seat.ins {
            let one = &mut worker.ins[row as usize];
            let leg = &shared.program.legs[one.leg as usize];
            one.base += one.total;
            one.pieces = pieces(leg, bytes, shared.message);
            one.total = one.pieces.of_stage * one.pieces.rounds * u64::from(leg.stages);
            one.over = one.arrived >= one.base + one.total;
            seat.left += u32::from(!one.over);
            if let Some(told) = self.told.as_deref_mut()
                && matches!(leg.way, Way::Network(_))
            {
                told.arrived(row as usize, one.stages_here(), now);
                if one.over {
                    told.received(row as usize, number, one.leg);
                }
            }
            if one.over && shared.flows && matches!(leg.way, Way::Network(_)) {
                self.flow_ends.push((number, one.leg, one.last));
            }
        }
        seat.idle_until = now.saturating_add(seat.latency);
        if seat.latency == 0 {
            worker.stirred.extend(&seat.outs);
        }
        // One task for all legs: those that share a link take turns from the first piece on.
        if seat.latency > 0 && !seat.outs.is_empty() {
            agenda.push(seat.idle_until, LATENT | row as u64);
        }
        if seat.left == 0 {
            worker.over.push_back(row as u32);
        }
    }

    /// Posts what may leave of a leg.
    fn advance(
        &mut self,
        now: u64,
        row: usize,
        shared: &Shared<'_>,
        agenda: &mut Agenda,
        post: &mut Post<'_>,
    ) {
        let out = &self.worker.outs[row];
        let (seat, leg) = (out.seat as usize, out.leg);
        let Some((number, bytes)) = self.worker.seats[seat].active else { return };
        if now < self.worker.seats[seat].idle_until {
            return;
        }
        let spec = &shared.program.legs[leg as usize];
        if self.worker.roles[self.worker.seats[seat].role as usize].halted {
            return;
        }
        loop {
            let out = &self.worker.outs[row];
            let parts = match spec.way {
                Way::Network(connection) => u64::from(shared.parts_of(connection)),
                Way::Inside(..) | Way::Pcie(_) => 1,
            };
            let far = matches!(spec.way, Way::Network(_)) && out.posted >= out.acked / parts + AHEAD;
            if out.posted == out.total
                || far
                || out.is_far_ahead()
                || out.is_full()
                || !self.worker.may_leave(out)
            {
                return;
            }
            if matches!(spec.way, Way::Network(_)) && !self.worker.paced(now, row, agenda) {
                return;
            }
            let out = &self.worker.outs[row];
            let size = item_bytes(spec, bytes, out.pieces, out.posted);
            let item = (out.base + out.posted) as u32;
            if out.posted == 0 && shared.flows && matches!(spec.way, Way::Network(_)) {
                self.flow_starts.push((number, leg, now));
            }
            let out = &mut self.worker.outs[row];
            out.posted += 1;
            let metered = out.metered;
            if out.posted == out.total && !self.worker.seats[seat].ins.is_empty() {
                self.leg_over(seat);
            }
            match spec.way {
                Way::Network(connection) => {
                    self.worker.outs[row].spend(now, size);
                    self.hand_over(now, connection, leg, item, size, shared, agenda, post);
                    self.handed_on_by(now, row, shared, post);
                }
                Way::Inside(..) | Way::Pcie(_) if metered => {
                    self.set_out(now, row, item, size, shared, agenda);
                    self.handed_on_by(now, row, shared, post);
                    // Legs that share a link take turns, as channels do.
                    self.worker.stirred.push_back(row as u32);
                    return;
                }
                Way::Pcie(_) => unreachable!("legs over PCIe switches are metered"),
                Way::Inside(first, second) => {
                    let fabric = &shared.network.case.fabric;
                    let speed = |link| Speed::of(fabric.capacity(link)).time(size);
                    let (mut begin, mut time, mut delay) = (now, 0, 0);
                    for link in std::iter::once(first).chain(second) {
                        let free = self.worker.inside.iter().find(|(known, _)| *known == link.0);
                        begin = begin.max(free.map_or(0, |(_, free)| *free));
                        time = time.max(speed(link));
                        delay = fabric.delay(link).ps().saturating_add(delay);
                    }
                    for link in std::iter::once(first).chain(second) {
                        if let Some(slot) = self.worker.inside.iter_mut().find(|(known, _)| *known == link.0)
                        {
                            slot.1 = begin.saturating_add(time);
                        }
                    }
                    let slot = self.worker.deliveries.add((leg, item));
                    let there = begin.saturating_add(time).saturating_add(delay);
                    agenda.push(there, crate::host_task::DELIVER | u64::from(slot));
                    // Legs that share a link take turns, as channels do.
                    self.worker.stirred.push_back(row as u32);
                    return;
                }
            }
        }
    }

    /// One more leg of a seat is over.
    fn leg_over(&mut self, row: usize) {
        let seat = &mut self.worker.seats[row];
        seat.left -= 1;
        if seat.left == 0 {
            self.worker.over.push_back(row as u32);
        }
    }

    /// An item of a leg is in GPU memory.
    pub(crate) fn deliver(
        &mut self,
        now: u64,
        leg: u32,
        item: u32,
        shared: &Shared<'_>,
        agenda: &mut Agenda,
        post: &mut Post<'_>,
    ) {
        let row = shared.leg_slots[leg as usize][1] as usize;
        let one = &mut self.worker.ins[row];
        let offset = item.wrapping_sub(one.arrived as u32) as usize;
        let mut whole = true;
        if offset == 0 && one.parts == 1 && one.ahead.is_empty() {
            one.arrived += 1;
        } else {
            if offset >= one.ahead.len() {
                one.ahead.resize(offset + 1, 0);
            }
            one.ahead[offset] += 1;
            whole = one.ahead[offset] == one.parts;
            while one.ahead.front() == Some(&one.parts) {
                one.ahead.pop_front();
                one.arrived += 1;
            }
        }
        one.last = now;
        let (seat, over) = (one.seat as usize, one.arrived >= one.base + one.total);
        if let Some(told) = self.told.as_deref_mut()
            && !one.over
            && let Some((number, _)) = self.worker.seats[seat].active
            && matches!(shared.program.legs[leg as usize].way, Way::Network(_))
        {
            told.arrived(row, one.stages_here(), now);
            if over {
                told.received(row, number, leg);
            }
        }
        if let Some((number, _)) = self.worker.seats[seat].active
            && over
            && !self.worker.ins[row].over
        {
            self.worker.ins[row].over = true;
            if shared.flows && matches!(shared.program.legs[leg as usize].way, Way::Network(_)) {
                self.flow_ends.push((number, leg, now));
            }
            self.leg_over(seat);
        }
        let worker = &mut self.worker;
        worker.stirred.extend(&worker.ins[row].dependents);
        if matches!(shared.program.legs[leg as usize].way, Way::Inside(..)) {
            worker.across(shared.leg_slots[leg as usize][0]);
        }
        if whole && let Way::Network(connection) = shared.program.legs[leg as usize].way {
            self.copy_out(now, (connection, leg), shared, agenda, post);
            self.tell_sender(now, row, shared, post);
        }
    }

    /// Messages were acknowledged: a host that only sends is done with them.
    pub(crate) fn acknowledged(&mut self, _now: u64, shared: &Shared<'_>) {
        for (leg, _) in std::mem::take(&mut self.worker.done) {
            let row = shared.leg_slots[leg as usize][0] as usize;
            let out = &mut self.worker.outs[row];
            let seat = out.seat as usize;
            out.acked += 1;
            if out.posted < out.total {
                self.worker.stirred.push_back(row as u32);
            }
            let out = &mut self.worker.outs[row];
            let parts = match shared.program.legs[leg as usize].way {
                Way::Network(connection) => u64::from(shared.parts_of(connection)),
                Way::Inside(..) | Way::Pcie(_) => 1,
            };
            if out.acked == out.total * parts && self.worker.seats[seat].ins.is_empty() {
                self.leg_over(seat);
            }
        }
    }

    /// The operation of a seat is over here.
    fn seat_over(&mut self, now: u64, row: usize, shared: &Shared<'_>, agenda: &mut Agenda) {
        let seat = &mut self.worker.seats[row];
        let Some((number, _)) = seat.active.take() else { return };
        let (role, operation) = (seat.role as usize, seat.order[seat.turn]);
        // Who only sends knows of the end a little later than it was.
        let ends = !seat.only_sends();
        seat.ready[seat.turn] = false;
        seat.turn += 1;
        self.collective(now, (role, operation), false, shared, agenda);
        if ends {
            self.ended(now, role, number, shared);
        }
        self.operation_over(now, role, operation, shared);
        self.sit_down(now, row, shared, agenda);
    }

    /// A collective begins or ends here: what its lane computes goes on slower or faster.
    fn collective(
        &mut self,
        now: u64,
        (role, row): (usize, u32),
        begins: bool,
        shared: &Shared<'_>,
        agenda: &mut Agenda,
    ) {
        let spec = &shared.program.roles[self.worker.roles[role].role as usize];
        let job = &shared.network.case.work.jobs[spec.job as usize];
        let found = &job.plan.operations[spec.operations[row as usize] as usize];
        if job.beside == 1.0 || found.axis == Axis::Storage {
            return;
        }
        let (at, lane) = (SimTime::from_ps(now), (role as u32, found.lane));
        let later = match begins {
            true => self.worker.beside.begins(at, lane, job.beside),
            false => self.worker.beside.ends(at, lane, job.beside),
        };
        later.iter().for_each(|&(own, end)| agenda.push(end.ps(), ENDED | own));
    }

    /// A computation is over, unless a collective beside it has moved its end.
    pub(crate) fn computed(&mut self, now: u64, role: usize, row: u32, shared: &Shared<'_>) {
        let (number, operation) = self.operation(role, row, shared);
        if self.worker.roles[role].halted {
            return;
        }
        let spec = &shared.program.roles[self.worker.roles[role].role as usize];
        let job = &shared.network.case.work.jobs[spec.job as usize];
        let lane = (role as u32, job.plan.operations[operation.index()].lane);
        let own = (role as u64) << 32 | u64::from(row);
        if job.beside < 1.0 && !self.worker.beside.is_over(SimTime::from_ps(now), lane, own) {
            return;
        }
        self.ended(now, role, number, shared);
        self.operation_over(now, role, row, shared);
    }

    fn ended(&mut self, now: u64, role: usize, number: u32, shared: &Shared<'_>) {
        if self.worker.ended(now, role, number) {
            let job = shared.program.roles[self.worker.roles[role].role as usize].job;
            self.words.push((now, Word::Left(job)));
        }
    }

    fn operation_over(&mut self, now: u64, role: usize, row: u32, shared: &Shared<'_>) {
        let state = &mut self.worker.roles[role];
        let spec = &shared.program.roles[state.role as usize];
        let operation = spec.operations[row as usize];
        if shared.program.elsewhere.contains_key(&(spec.job, operation)) {
            self.words.push((now, Word::Ended(spec.job, state.step, operation)));
        }
        let range =
            spec.successor_start[row as usize] as usize..spec.successor_start[row as usize + 1] as usize;
        for &next in &spec.successors[range] {
            state.waits[next as usize] -= 1;
            if state.waits[next as usize] == 0 {
                self.worker.ready.push_back((role as u32, next));
            }
        }
        state.left -= 1;
        let steps = shared.network.case.work.jobs[spec.job as usize].steps;
        if state.left == 0 && state.step + 1 < steps {
            state.step += 1;
            state.left = spec.operations.len() as u32;
            state.waits.copy_from_slice(&spec.waits);
            let (step, job) = (state.step, spec.job);
            for seat in self.worker.seats.iter_mut().filter(|seat| seat.role as usize == role) {
                seat.turn = 0;
            }
            self.begin(role, shared);
            self.hear_early(shared);
            debug_assert!(self.worker.early.iter().all(|word| word.0 != job || word.1 > step));
        }
    }

    /// An operation of a job ended at other hosts: job, step, row in the plan.
    pub(crate) fn on_elsewhere(&mut self, word: (u32, u32, u32), shared: &Shared<'_>) {
        let (job, step, operation) = word;
        let role =
            self.worker.roles.iter().position(|state| shared.program.roles[state.role as usize].job == job);
        let Some(role) = role else { return };
        let state = &mut self.worker.roles[role];
        if !state.begun || state.step < step {
            self.worker.early.push(word);
            return;
        }
        let spec = &shared.program.roles[state.role as usize];
        let plan = &shared.network.case.work.jobs[job as usize].plan;
        for (row, &own) in (0..).zip(&spec.operations) {
            if plan.dependencies_of(OperationId(own)).contains(&OperationId(operation)) {
                state.waits[row as usize] -= 1;
                if state.waits[row as usize] == 0 {
                    self.worker.ready.push_back((role as u32, row));
                }
            }
        }
    }

    /// The processes of a job are ended here: it ends, posts and sends nothing more, and nobody waits for it.
    pub(crate) fn quit(&mut self, now: u64, role: usize, shared: &Shared<'_>) {
        let job = shared.program.roles[self.worker.roles[role].role as usize].job;
        let left = std::mem::take(&mut self.worker.roles[role].ends_left);
        if left == 0 {
            return;
        }
        let stands = RankFault::for_good(&shared.network.case.rank_faults, job);
        // What stood still for good before has no end by this.
        if !self.worker.roles[role].halted && stands.is_none_or(|at| at.ps() >= now) {
            self.worker.ends_left -= left;
            self.worker.fresh_ends += left;
            self.worker.last_end = self.worker.last_end.max(now);
        }
        self.words.push((now, Word::Left(job)));
        self.tell_silent(now, job, shared);
        self.halt(job, shared);
    }

    /// Tells which queue pairs of a job wait for an answer.
    fn tell_silent(&mut self, now: u64, job: u32, shared: &Shared<'_>) {
        let sent = self.senders.iter().map(|sender| (sender.queue_pair, sender.silent_since()));
        let cleared = self.to.iter().map(|one| (one.queue_pair, one.clearing.silent_since()));
        let silent = sent.chain(cleared).filter(|&(queue_pair, _)| shared.job_of(queue_pair) == job);
        let words =
            silent.filter_map(|(queue_pair, since)| Some((now, Word::Silent(queue_pair, since?.ps()))));
        self.words.extend(words);
    }

    /// A job stops.
    pub(crate) fn halt(&mut self, job: u32, shared: &Shared<'_>) {
        for state in &mut self.worker.roles {
            if shared.program.roles[state.role as usize].job == job {
                state.halted = true;
            }
        }
        self.give_up_clearing(job, shared);
        for sender in &mut self.senders {
            if shared.job_of(sender.queue_pair) == job {
                sender.tries.give_up();
            }
        }
    }
}
