//! The last operations of every communicator: own times and durations of all members, a row per operation.

/// Two windows per communicator: one fills while stragglers of the last still come.
const KEPT: usize = 2;

/// Own time before, and duration of, each member's last operations, in nanoseconds; NaN where it is not known.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Windows {
    window: usize,
    own: Vec<f32>,
    duration: Vec<f32>,
    shape: Vec<u32>,
    /// Members that have told of each operation, and the least duration among them.
    came: Vec<u32>,
    least: Vec<f32>,
    number: Vec<[u32; KEPT]>,
    filled: Vec<[u32; KEPT]>,
}

/// What a record completed.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Put {
    /// The window is full.
    pub full: bool,
    /// What the operation's transfer took, where this record was the last of it.
    pub transfer_ns: Option<f32>,
}

/// One communicator's operations of one window.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct View<'a> {
    /// Members of the communicator.
    pub members: usize,
    /// Own times, operation by operation.
    pub own: &'a [f32],
    /// Durations, operation by operation.
    pub duration: &'a [f32],
    /// Shapes of the operations.
    pub shape: &'a [u32],
    /// Members that told of each operation.
    pub came: &'a [u32],
    /// Least duration of each operation among them.
    pub least: &'a [f32],
    /// Number of the first operation.
    pub first: u32,
}

impl View<'_> {
    /// What the transfer of an operation took in nanoseconds: the duration of the last rank to come, which waits for
    /// nobody. None where a member did not tell, as that may be the last one.
    pub fn transfer_ns(&self, row: usize) -> Option<f32> {
        (self.came[row] as usize == self.members).then_some(self.least[row])
    }
}

/// No window yet.
const NONE: u32 = u32::MAX;

impl Windows {
    /// Room for communicators with so many operations in a window.
    pub fn grow(&mut self, window: usize, communicators: usize, slots: usize) {
        self.window = window;
        self.own.resize(slots * KEPT * window, f32::NAN);
        self.duration.resize(slots * KEPT * window, f32::NAN);
        self.shape.resize(communicators * KEPT * window, 0);
        self.came.resize(communicators * KEPT * window, 0);
        self.least.resize(communicators * KEPT * window, f32::INFINITY);
        self.number.resize(communicators, [NONE; KEPT]);
        self.filled.resize(communicators, [0; KEPT]);
    }

    /// Where the window of an operation is kept; none where it has been given up, as newer ones are there.
    #[inline]
    pub fn place(&self, communicator: u32, sequence: u32) -> Option<(usize, bool)> {
        let number = sequence / self.window as u32;
        let kept = number as usize % KEPT;
        let there = self.number[communicator as usize][kept];
        if there == number {
            Some((kept, false))
        } else if there == NONE || there < number {
            Some((kept, true))
        } else {
            None
        }
    }

    /// How full a kept window is, 0..1.
    pub fn share(&self, communicator: u32, kept: usize, members: usize) -> f64 {
        f64::from(self.filled[communicator as usize][kept]) / (members * self.window) as f64
    }

    /// Empties a kept window for the one of `sequence`.
    pub fn open(&mut self, communicator: u32, kept: usize, slots: std::ops::Range<usize>, sequence: u32) {
        let (members, start) = (slots.len(), slots.start * KEPT * self.window);
        let rows = start + kept * self.window * members..start + (kept + 1) * self.window * members;
        self.own[rows.clone()].fill(f32::NAN);
        self.duration[rows].fill(f32::NAN);
        let operations = (communicator as usize * KEPT + kept) * self.window;
        self.came[operations..operations + self.window].fill(0);
        self.least[operations..operations + self.window].fill(f32::INFINITY);
        self.number[communicator as usize][kept] = sequence / self.window as u32;
        self.filled[communicator as usize][kept] = 0;
    }

    /// Takes one record in.
    #[inline]
    #[allow(clippy::too_many_arguments, reason = "the columns of one record")]
    pub fn put(
        &mut self,
        communicator: u32,
        slots: std::ops::Range<usize>,
        slot: usize,
        sequence: u32,
        shape: u32,
        own_ns: f32,
        duration_ns: f32,
    ) -> Put {
        let row = sequence as usize % (KEPT * self.window);
        let kept = row / self.window;
        let members = slots.len();
        let at = slots.start * KEPT * self.window + row * members + (slot - slots.start);
        let again = !self.duration[at].is_nan();
        self.own[at] = own_ns;
        self.duration[at] = duration_ns;
        let operation = communicator as usize * KEPT * self.window + row;
        self.shape[operation] = shape;
        self.least[operation] = self.least[operation].min(duration_ns);
        let filled = &mut self.filled[communicator as usize][kept];
        if again {
            return Put { full: false, transfer_ns: None };
        }
        *filled += 1;
        self.came[operation] += 1;
        let complete = self.came[operation] as usize == members;
        Put {
            full: *filled as usize == members * self.window,
            transfer_ns: complete.then_some(self.least[operation]),
        }
    }

    /// One kept window.
    pub fn view(&self, communicator: u32, kept: usize, slots: std::ops::Range<usize>) -> View<'_> {
        let (members, start) = (slots.len(), slots.start * KEPT * self.window);
        let rows = start + kept * self.window * members..start + (kept + 1) * self.window * members;
        let shapes = (communicator as usize * KEPT + kept) * self.window;
        View {
            members,
            own: &self.own[rows.clone()],
            duration: &self.duration[rows],
            shape: &self.shape[shapes..shapes + self.window],
            came: &self.came[shapes..shapes + self.window],
            least: &self.least[shapes..shapes + self.window],
            first: self.number[communicator as usize][kept].saturating_mul(self.window as u32),
        }
    }

    /// Bytes held.
    pub fn memory_bytes(&self) -> usize {
        let of_operations = self.shape.capacity() + self.came.capacity() + self.least.capacity();
        4 * (self.own.capacity() + self.duration.capacity() + of_operations)
            + 4 * KEPT * (self.number.capacity() + self.filled.capacity())
    }
}
