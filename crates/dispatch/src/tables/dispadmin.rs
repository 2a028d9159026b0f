//! Tables in the form that `dispadmin -g` prints and `dispadmin -s` accepts.
//!
//! The only difference: dispadmin accepts a level of 60, which the kernel refuses; here it is an error.

use std::fmt::Write;

use super::{FX_LEVELS, LEVELS, QuantumTable, TsRow, TsTable};
use crate::error::TableError;

/// Milliseconds in a second: the resolution in which tables are printed.
const RES: u64 = 1000;
const TS_HEADER: &str = "# Time Sharing Dispatcher Configuration\nRES=1000\n\n\
                         # ts_quantum  ts_tqexp  ts_slpret  ts_maxwait ts_lwait  PRIORITY LEVEL\n";

/// Reads a table of TS or IA.
pub fn parse_ts(text: &str) -> Result<TsTable, TableError> {
    let Data { res, rows } = data(text, LEVELS)?;
    let mut levels = Vec::with_capacity(LEVELS);
    for (line, row) in rows {
        let [quantum, tqexp, slpret, maxwait, lwait] =
            values(line, row, ["ts_quantum", "ts_tqexp", "ts_slpret", "ts_maxwait", "ts_lwait"])?;
        levels.push(TsRow {
            quantum_ms: quantum_ms(line, quantum, res)?,
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
        quantum_ms(line, quantum, res)
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

/// A quantum in units of 1/res s; whole milliseconds are kept, finer ones round up.
fn quantum_ms(line: usize, quantum: i64, res: u64) -> Result<u32, TableError> {
    u64::try_from(quantum)
        .ok()
        .filter(|quantum| *quantum > 0)
        .and_then(|quantum| u32::try_from(quantum.checked_mul(RES)?.div_ceil(res)).ok())
        .filter(|quantum_ms| *quantum_ms <= 1_000_000_000)
        .ok_or_else(|| {
            TableError::new(
                line,
                format!("quantum {quantum} is out of range: more than 0, at most 1000000 s"),
            )
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
    let mut text = TS_HEADER.to_string();
    for (level, row) in table.0.iter().enumerate() {
        let TsRow { tqexp, slpret, maxwait_s, lwait, .. } = row;
        let quantum = printed_ms(row.quantum_ms, hz);
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
    let mut text = format!(
        "# {title} Dispatcher Configuration\nRES=1000\n\n\
         # TIME QUANTUM                    PRIORITY\n# ({name})                      LEVEL\n"
    );
    for (level, quantum) in table.0.iter().enumerate() {
        let _ = writeln!(text, "{:10}                    #      {level:3}", printed_ms(*quantum, hz));
    }
    text
}

/// The kernel has ticks: a quantum is printed as the milliseconds of its ticks, rounded up.
fn printed_ms(quantum_ms: u32, hz: u32) -> u64 {
    (u64::from(super::ticks(quantum_ms, hz)) * RES).div_ceil(u64::from(hz))
}
