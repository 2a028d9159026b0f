//! The dispatch tables of the classes TS (shared by IA), RT and FX, and the built-in ones.
//!
//! Quanta are nanoseconds here; the kernel keeps clock ticks, so [`ticks`] rounds them up.

pub mod class;
pub mod dispadmin;

/// Levels of TS, IA and RT.
pub const LEVELS: usize = 60;
/// FX has one more.
pub const FX_LEVELS: usize = 61;

/// One level of the time-sharing table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TsRow {
    pub quantum_ns: u64,
    /// Next level when the quantum is used up.
    pub tqexp: u8,
    /// Next level on return from a sleep, once it has waited for more than `maxwait_s`.
    pub slpret: u8,
    /// Seconds without a full quantum before it is raised.
    pub maxwait_s: u32,
    /// Next level when it has waited for more than `maxwait_s`.
    pub lwait: u8,
}

/// The table of TS and IA.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TsTable(pub Box<[TsRow; LEVELS]>);

/// A table of quanta alone, in ns: RT (60 levels) or FX (61).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuantumTable(pub Vec<u64>);

const MS: u64 = 1_000_000;

impl TsTable {
    fn of(row: impl Fn(usize) -> TsRow) -> Self {
        Self(Box::new(std::array::from_fn(row)))
    }

    /// Default of most machines: short quanta, high priority after a sleep, no patience.
    pub fn standard() -> Self {
        Self::of(|level| {
            let slpret = match level {
                0..=9 => 50,
                10..=19 => 51,
                20..=29 => 52,
                30..=34 => 53,
                35..=39 => 54,
                40..=44 => 55,
                45 => 56,
                46 => 57,
                47..=58 => 58,
                _ => 59,
            };
            TsRow {
                quantum_ns: standard_quantum_ns(level),
                tqexp: level.saturating_sub(10) as u8,
                slpret,
                maxwait_s: if level == 59 { 32_000 } else { 0 },
                lwait: if level >= 49 { 59 } else { slpret },
            }
        })
    }

    /// Default of large machines (`ts_dispatch_extended`): long quanta, small steps.
    pub fn extended() -> Self {
        Self::of(|level| {
            let up = (level + 1).min(59) as u8;
            TsRow {
                quantum_ns: match level {
                    0 => 400 * MS,
                    1..=19 => 380 * MS,
                    20..=40 => 360 * MS,
                    _ => 340 * MS,
                },
                tqexp: if level < 20 { level / 2 } else { level - 10 } as u8,
                slpret: up,
                maxwait_s: 2,
                lwait: if level < 40 { 40 } else { up },
            }
        })
    }
}

impl QuantumTable {
    /// Built-in real-time table.
    pub fn rt() -> Self {
        let quantum_ms = [1000, 800, 600, 400, 200, 100];
        Self((0..LEVELS).map(|level| quantum_ms[level / 10] * MS).collect())
    }

    /// Built-in fixed-priority table: the quanta of the standard time-sharing table.
    pub fn fx() -> Self {
        Self((0..FX_LEVELS).map(standard_quantum_ns).collect())
    }
}

fn standard_quantum_ns(level: usize) -> u64 {
    MS * match level {
        0..=9 => 200,
        10..=19 => 160,
        20..=29 => 120,
        30..=39 => 80,
        40..=58 => 40,
        _ => 20,
    }
}

/// A quantum in clock ticks, rounded up as the kernel does.
pub fn ticks(quantum_ns: u64, hz: u32) -> u32 {
    let ticks = (u128::from(quantum_ns) * u128::from(hz)).div_ceil(1_000_000_000);
    u32::try_from(ticks).unwrap_or(u32::MAX)
}
