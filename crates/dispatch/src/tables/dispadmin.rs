//! Tables in the form that `dispadmin -g` prints and `dispadmin -s` accepts.
//!
//! The only difference: dispadmin accepts a level of 60, which the kernel refuses; here it is an error.

use std::fmt::Write;

use super::{FX_LEVELS, LEVELS, QuantumTable, TsRow, TsTable};
use crate::error::TableError;

const NS: u64 = 1_000_000_000;
/// An endless quantum in the kernel's headers: `RT_TQINF`, `FX_TQINF`.
const ENDLESS: i64 = -2;
const TS_HEADER: &str = "# ts_quantum  ts_tqexp  ts_slpret  ts_maxwait ts_lwait  PRIORITY LEVEL\n";

/// Reads a table of TS or IA.
pub fn parse_ts(text: &str) -> Result<TsTable, TableError> {
    let Data { res, rows } = data(text, LEVELS)?;
    let mut levels = Vec::with_capacity(LEVELS);
    for (line, row) in rows {
        let [quantum, tqexp, slpret, maxwait, lwait] =
            values(line, row, ["ts_quantum", "ts_tqexp", "ts_slpret", "ts_maxwait", "ts_lwait"])?;
        levels.push(TsRow {
            quantum_ns: quantum_ns(line, quantum, res)?,
            tqexp: level(line, "ts_tqexp", tqexp)?,
            slpret: level(line, "ts_slpret", slpret)?,
            maxwait_s: u32::try_from(maxwait)
                .map_err(|_| TableError::new(line, format!("ts_maxwait {maxwait} is not 0 or more")))?,
            lwait: level(line, "ts_lwait", lwait)?,
        });
    }
    // data() returned as many rows as requested
    Ok(TsTable(Box::new(std::array::from_fn(|number| levels[number]))))
}

/// Reads a table of RT.
pub fn parse_rt(text: &str) -> Result<QuantumTable, TableError> {
    parse_quanta(text, LEVELS, "rt_quantum")
}

/// Reads a table of FX.
pub fn parse_fx(text: &str) -> Result<QuantumTable, TableError> {
    parse_quanta(text, FX_LEVELS, "fx_quantum")
}

fn parse_quanta(text: &str, count: usize, name: &str) -> Result<QuantumTable, TableError> {
    let Data { res, rows } = data(text, count)?;
    let quanta = rows.into_iter().map(|(line, row)| {
        let [quantum] = values(line, row, [name])?;
        quantum_ns(line, quantum, res)
    });
    Ok(QuantumTable(quanta.collect::<Result<_, _>>()?))
}

/// A table's text without comments.
struct Data<'a> {
    /// Units of a quantum in a second.
    res: u64,
    /// Line number and row.
    rows: Vec<(usize, &'a str)>,
}

/// Exactly `count` rows.
fn data(text: &str, count: usize) -> Result<Data<'_>, TableError> {
    let mut lines =
        text.lines().enumerate().map(|(index, line)| (index + 1, line.trim_matches([' ', '\t', '\r'])));
    let mut lines = lines.by_ref().filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    let end = text.lines().count().max(1);
    let (line, first) =
        lines.next().ok_or_else(|| TableError::new(end, "the table is empty: RES=1000 is missing"))?;
    let res = resolution(first).ok_or_else(|| {
        TableError::new(line, format!("expected RES=n (units in a second, such as RES=1000), not `{first}`"))
    })?;
    let rows: Vec<_> = lines.collect();
    if rows.len() < count {
        return Err(TableError::new(end, format!("too few rows: {} of {count}", rows.len())));
    }
    if let Some((line, _)) = rows.get(count) {
        return Err(TableError::new(*line, format!("too many rows: only {count} levels exist")));
    }
    Ok(Data { res, rows })
}

fn resolution(line: &str) -> Option<u64> {
    let value = line.strip_prefix("RES")?.trim_start().strip_prefix('=')?.trim_start();
    let digits = value.split([' ', '\t', '#']).next()?;
    let rest = value[digits.len()..].trim_start();
    if !rest.is_empty() && !rest.starts_with('#') {
        return None;
    }
    digits.parse().ok().filter(|res| (1..=1_000_000_000).contains(res))
}

fn values<const N: usize>(line: usize, row: &str, names: [&str; N]) -> Result<[i64; N], TableError> {
    let data = row.split('#').next().unwrap_or_default();
    let mut found = data.split([' ', '\t']).filter(|word| !word.is_empty());
    let mut numbers = [0; N];
    for (number, name) in numbers.iter_mut().zip(names) {
        let word = found.next().ok_or_else(|| {
            TableError::new(line, format!("too few values: {name} is missing ({N} are needed)"))
        })?;
        *number = word
            .parse()
            .map_err(|_| TableError::new(line, format!("{name} is not a whole number: `{word}`")))?;
    }
    match found.next() {
        None => Ok(numbers),
        Some(word) => {
            Err(TableError::new(line, format!("too many values: `{word}` follows the last ({N} are needed)")))
        }
    }
}

/// A quantum in units of 1/res s.
fn quantum_ns(line: usize, quantum: i64, res: u64) -> Result<u64, TableError> {
    u64::try_from(quantum)
        .ok()
        .filter(|quantum| *quantum > 0)
        // rounded down: the next ns could be one of the next tick
        .and_then(|quantum| u64::try_from(u128::from(quantum) * u128::from(NS) / u128::from(res)).ok())
        .filter(|quantum_ns| *quantum_ns <= 1_000_000 * NS)
        .ok_or_else(|| {
            let cause = if quantum == ENDLESS {
                format!("quantum -2 is endless (RT_TQINF), which is not simulated: write {}", 1_000_000 * res)
            } else {
                format!("quantum {quantum} is out of range: more than 0, at most 1000000 s")
            };
            TableError::new(line, cause)
        })
}

fn level(line: usize, name: &str, value: i64) -> Result<u8, TableError> {
    u8::try_from(value)
        .ok()
        .filter(|level| usize::from(*level) < LEVELS)
        .ok_or_else(|| TableError::new(line, format!("{name} {value} is not a level: 0 to {}", LEVELS - 1)))
}

/// A table of TS or IA as `dispadmin -c TS -g` prints it on a machine of `hz`.
pub fn print_ts(table: &TsTable, hz: u32) -> String {
    let resolution = printed_in(table.0.iter().map(|row| row.quantum_ns), hz);
    let mut text = format!("# Time Sharing Dispatcher Configuration\nRES={resolution}\n\n{TS_HEADER}");
    for (level, row) in table.0.iter().enumerate() {
        let TsRow { tqexp, slpret, maxwait_s, lwait, .. } = row;
        let quantum = printed(row.quantum_ns, hz, resolution);
        let _ =
            writeln!(text, "{quantum:10}{tqexp:10}{slpret:10}{maxwait_s:12}{lwait:10}        #   {level:3}");
    }
    text
}

/// A table of RT as `dispadmin -c RT -g` prints it.
pub fn print_rt(table: &QuantumTable, hz: u32) -> String {
    print_quanta(table, hz, "Real Time", "rt_quantum")
}

/// A table of FX as `dispadmin -c FX -g` prints it.
pub fn print_fx(table: &QuantumTable, hz: u32) -> String {
    print_quanta(table, hz, "Fixed Priority", "fx_quantum")
}

fn print_quanta(table: &QuantumTable, hz: u32, title: &str, name: &str) -> String {
    let resolution = printed_in(table.0.iter().copied(), hz);
    let mut text = format!(
        "# {title} Dispatcher Configuration\nRES={resolution}\n\n\
         # TIME QUANTUM                    PRIORITY\n# ({name})                      LEVEL\n"
    );
    for (level, quantum) in table.0.iter().enumerate() {
        let quantum = printed(*quantum, hz, resolution);
        let _ = writeln!(text, "{quantum:10}                    #      {level:3}");
    }
    text
}

/// The resolution of a printed table: milliseconds, or ticks where one is not a whole number of them.
fn printed_in(mut quanta_ns: impl Iterator<Item = u64>, hz: u32) -> u32 {
    let whole = |ns| (u64::from(super::ticks(ns, hz)) * 1000) % u64::from(hz) == 0;
    if quanta_ns.all(whole) { 1000 } else { hz }
}

/// The kernel has ticks: a quantum is printed as the time of its ticks.
fn printed(quantum_ns: u64, hz: u32, resolution: u32) -> u64 {
    u64::from(super::ticks(quantum_ns, hz)) * u64::from(resolution) / u64::from(hz)
}
