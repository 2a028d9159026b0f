//! The rules of the scheduling classes for one thread: expiry, update, sleep, fork. No queues, no clock.
//!
//! Facts from public illumos sources (`ts.c`, `fx.c`, `rt.c`). TS and IA look quantum, tqexp, slpret
//! and lwait up by the class priority `cpupri`, maxwait and the global priority by the user-mode
//! priority `umdpri` = cpupri + nice + boost, clamped. (The manual page says that a sleep resets the
//! wait; the kernel does so only when the thread had waited for more than maxwait.)

use super::{QuantumTable, TsTable, ticks};

/// Global priorities: TS and IA 0 to 59, FX 0 to 60, RT 100 to 159.
pub const RT_BASE: i16 = 100;
/// One more than the highest global priority here.
pub const PRIORITIES: usize = 160;
/// The class priority of a new thread of TS or IA.
pub const FIRST_CPUPRI: u8 = 29;
const IA_BOOST: i16 = 10;

/// The tables of one machine, quanta in ticks.
#[derive(Debug, Clone)]
pub struct Tables {
    pub ts: TsTable,
    ts_ticks: Vec<i32>,
    rt_ticks: Vec<i32>,
    fx_ticks: Vec<i32>,
}

impl Tables {
    pub fn new(ts: TsTable, rt: &QuantumTable, fx: &QuantumTable, hz: u32) -> Self {
        let in_ticks = |quantum_ns: u64| i32::try_from(ticks(quantum_ns, hz)).unwrap_or(i32::MAX);
        Self {
            ts_ticks: ts.0.iter().map(|row| in_ticks(row.quantum_ns)).collect(),
            rt_ticks: rt.0.iter().map(|quantum_ns| in_ticks(*quantum_ns)).collect(),
            fx_ticks: fx.0.iter().map(|quantum_ns| in_ticks(*quantum_ns)).collect(),
            ts,
        }
    }
}

/// The class of a thread with its constant parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// adjust: user priority of `nice`.
    Ts {
        adjust: i16,
    },
    /// foreground: in the window that has the focus.
    Ia {
        adjust: i16,
        foreground: bool,
    },
    Fx {
        priority: u8,
    },
    Rt {
        priority: u8,
    },
}

impl Class {
    /// nice: -20 (favoured) to 19. The kernel's own: upri = -(nice * 60) / 20.
    pub fn user_priority(nice: i8) -> i16 {
        -(i16::from(nice) * 60) / 20
    }

    fn shared(self) -> bool {
        matches!(self, Self::Ts { .. } | Self::Ia { .. })
    }

    /// Where a woken or requeued interactive thread goes; None where other rules decide.
    pub fn front(self) -> Option<bool> {
        match self {
            Self::Ia { foreground, .. } => Some(foreground),
            Self::Rt { .. } => Some(false),
            Self::Ts { .. } | Self::Fx { .. } => None,
        }
    }
}

/// Why a priority or quantum changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    Start,
    /// The quantum was used up: tqexp.
    Expired,
    /// It waited or slept for more than maxwait seconds: lwait.
    Waited,
    /// It returned to user mode after more than maxwait seconds: slpret.
    Returned,
    Forked,
}

impl Reason {
    pub fn name(self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::Expired => "expired",
            Self::Waited => "waited",
            Self::Returned => "returned",
            Self::Forked => "forked",
        }
    }
}

/// A thread's standing with its class.
#[derive(Debug, Clone, Copy)]
pub struct Standing {
    pub class: Class,
    pub cpupri: u8,
    /// Updates since the last full quantum (seconds).
    pub dispwait: u32,
    /// Ticks left of the quantum.
    pub timeleft: i32,
}

impl Standing {
    pub fn new(class: Class, cpupri: u8, tables: &Tables) -> Self {
        let mut standing = Self { class, cpupri, dispwait: 0, timeleft: 0 };
        standing.refill(tables);
        standing
    }

    /// Priority within the class's table for maxwait, after nice and boost.
    fn umdpri(&self) -> usize {
        let (adjust, boost) = match self.class {
            Class::Ts { adjust } => (adjust, 0),
            Class::Ia { adjust, foreground } => (adjust, if foreground { IA_BOOST } else { -IA_BOOST }),
            Class::Fx { .. } | Class::Rt { .. } => (0, 0),
        };
        (i16::from(self.cpupri) + adjust + boost).clamp(0, 59) as usize
    }

    /// Global priority, by which queues are ordered.
    pub fn priority(&self) -> i16 {
        match self.class {
            Class::Ts { .. } | Class::Ia { .. } => self.umdpri() as i16,
            Class::Fx { priority } => i16::from(priority),
            Class::Rt { priority } => RT_BASE + i16::from(priority),
        }
    }

    /// A full quantum of the present level, in ticks.
    pub fn quantum(&self, tables: &Tables) -> i32 {
        match self.class {
            Class::Ts { .. } | Class::Ia { .. } => tables.ts_ticks[usize::from(self.cpupri)],
            Class::Fx { priority } => tables.fx_ticks[usize::from(priority)],
            Class::Rt { priority } => tables.rt_ticks[usize::from(priority)],
        }
    }

    pub fn refill(&mut self, tables: &Tables) {
        self.timeleft = self.quantum(tables);
    }

    /// It gave the CPU up after its quantum.
    pub fn requeued(&mut self, tables: &Tables) {
        self.dispwait = 0;
        self.refill(tables);
    }

    /// Whether it has been without a full quantum for longer than its level allows.
    pub fn waited_long(&self, tables: &Tables) -> bool {
        self.class.shared() && self.dispwait > tables.ts.0[self.umdpri()].maxwait_s
    }

    /// The quantum is used up; the refill comes when the thread gives the CPU up.
    pub fn expire(&mut self, tables: &Tables) {
        if self.class.shared() {
            self.cpupri = tables.ts.0[usize::from(self.cpupri)].tqexp;
            self.dispwait = 0;
        }
    }

    /// Return to user mode after a long wait. False when nothing changed.
    pub fn return_to_user(&mut self, tables: &Tables) -> bool {
        let due = self.waited_long(tables);
        if due {
            self.cpupri = tables.ts.0[usize::from(self.cpupri)].slpret;
            self.dispwait = 0;
            self.refill(tables);
        }
        due
    }

    /// The second's passing. True when its level allows no more.
    pub fn second_passed(&mut self, tables: &Tables) -> bool {
        self.dispwait = self.dispwait.saturating_add(1);
        self.waited_long(tables)
    }

    /// Off a CPU (runnable or sleeping) for too long; the refill is for runnable threads that move.
    pub fn raise(&mut self, tables: &Tables) {
        self.cpupri = tables.ts.0[usize::from(self.cpupri)].lwait;
        self.dispwait = 0;
    }

    /// A wake-up, after `return_to_user`: real-time threads get a full quantum.
    pub fn woken(&mut self, tables: &Tables) {
        if matches!(self.class, Class::Rt { .. }) {
            self.refill(tables);
        }
    }

    /// The standing of the child of a fork; the parent drops as if its quantum had expired.
    pub fn fork(&mut self, tables: &Tables) -> Self {
        let mut child = *self;
        child.dispwait = 0;
        child.refill(tables);
        self.expire(tables);
        self.refill(tables);
        child
    }
}
