//! Tables in dispadmin's form: what is read, what is refused and in which line, what is printed.

use proptest::prelude::*;
use steelyard_dispatch::tables::dispadmin::{parse_fx, parse_rt, parse_ts, print_fx, print_rt, print_ts};
use steelyard_dispatch::tables::{QuantumTable, TsRow, TsTable, ticks};

const MS: u64 = 1_000_000;
const PUBLISHED_STANDARD: &str = "200 0 50 0 50|160 1 51 0 51|160 9 51 0 51|120 10 52 0 52";
const PUBLISHED_EXTENDED: &str = "400 0 1 2 40|380 0 2 2 40|380 6 14 2 40|380 9 20 2 40|360 12 23 2 40";

fn rows(table: &TsTable, levels: &[usize]) -> String {
    let text = print_ts(table, 100);
    let rows: Vec<&str> = text.lines().skip(4).collect();
    let row = |level: &usize| {
        rows[*level].split('#').next().unwrap().split_whitespace().collect::<Vec<_>>().join(" ")
    };
    levels.iter().map(row).collect::<Vec<_>>().join("|")
}

#[test]
fn the_published_rows_are_in_the_tables() {
    assert_eq!(rows(&TsTable::standard(), &[0, 11, 19, 20]), PUBLISHED_STANDARD);
    assert_eq!(rows(&TsTable::extended(), &[0, 1, 13, 19, 22]), PUBLISHED_EXTENDED);
}

#[test]
fn a_table_is_printed_as_dispadmin_does() {
    let text = print_ts(&TsTable::standard(), 100);
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("# Time Sharing Dispatcher Configuration"));
    assert_eq!(lines.next(), Some("RES=1000"));
    assert_eq!(lines.next(), Some(""));
    assert_eq!(lines.next(), Some("# ts_quantum  ts_tqexp  ts_slpret  ts_maxwait ts_lwait  PRIORITY LEVEL"));
    assert_eq!(lines.next(), Some("       200         0        50           0        50        #     0"));
    assert_eq!(
        text.lines().last(),
        Some("        20        49        59       32000        59        #    59")
    );
}

#[test]
fn every_built_in_table_survives_printing_and_reading() {
    for table in [TsTable::standard(), TsTable::extended()] {
        for hz in [100, 1000] {
            assert_eq!(parse_ts(&print_ts(&table, hz)), Ok(table.clone()));
        }
    }
    assert_eq!(parse_rt(&print_rt(&QuantumTable::rt(), 100)), Ok(QuantumTable::rt()));
    assert_eq!(parse_fx(&print_fx(&QuantumTable::fx(), 100)), Ok(QuantumTable::fx()));
}

#[test]
fn real_time_and_fixed_quanta_are_the_built_in_ones() {
    let at = |table: &QuantumTable, levels: &[usize]| levels.iter().map(|l| table.0[*l]).collect::<Vec<_>>();
    assert_eq!(
        at(&QuantumTable::rt(), &[0, 19, 20, 39, 40, 59]),
        [1000, 800, 600, 400, 200, 100].map(|ms| ms * MS)
    );
    assert_eq!(at(&QuantumTable::fx(), &[0, 58, 59, 60]), [200, 40, 20, 20].map(|ms| ms * MS));
}

#[test]
fn quanta_are_whole_ticks_rounded_up() {
    assert_eq!([1, 10, 11, 200].map(|ms| ticks(ms * MS, 100)), [1, 1, 2, 20]);
    assert_eq!(ticks(380 * MS, 1000), 380);
    let mut table = TsTable::standard();
    table.0[0].quantum_ns = 11 * MS;
    assert!(rows(&table, &[0]).starts_with("20 "));
}

/// The standard table with one line replaced.
fn with_line(number: usize, line: &str) -> String {
    let text = print_ts(&TsTable::standard(), 100);
    let mut lines: Vec<&str> = text.lines().collect();
    lines[number - 1] = line;
    lines.join("\n")
}

#[track_caller]
fn refused(text: &str, line: usize, cause: &str) {
    let error = parse_ts(text).unwrap_err();
    assert_eq!(error.line, line, "{error}");
    assert!(error.cause.contains(cause), "{error}");
}

#[test]
fn each_error_names_its_line() {
    for wrong in ["RES=", "RES", "RES=x", "RES=0", "RES=-1000", "RES=1000 5", "200 0 50 0 50"] {
        refused(&with_line(2, wrong), 2, "expected RES=n");
    }
    refused(&with_line(5, "0 0 50 0 50"), 5, "quantum 0");
    refused(&with_line(6, "-200 0 50 0 50"), 6, "quantum -200");
    refused(&with_line(7, "200 0 50 0"), 7, "too few values: ts_lwait");
    refused(&with_line(8, "200 # 0 50 0 50"), 8, "too few values: ts_tqexp");
    refused(&with_line(9, "200 0 50 0 50 7"), 9, "too many values: `7`");
    refused(&with_line(10, "200 -1 50 0 50"), 10, "ts_tqexp -1 is not a level");
    refused(&with_line(11, "200 60 50 0 50"), 11, "ts_tqexp 60 is not a level");
    refused(&with_line(12, "200 0 60 0 50"), 12, "ts_slpret 60 is not a level");
    refused(&with_line(13, "200 0 50 0 60"), 13, "ts_lwait 60 is not a level");
    refused(&with_line(14, "200 0 50 -1 50"), 14, "ts_maxwait -1");
    refused(&with_line(15, "200 0 5O 0 50"), 15, "ts_slpret is not a whole number: `5O`");
    refused(&with_line(64, "#"), 64, "too few rows: 59 of 60");
    refused(&format!("{}\n1 1 1 1 1\n", with_line(1, "#")), 65, "too many rows");
    refused("", 1, "RES=1000 is missing");
    refused("# nothing\n\n", 2, "RES=1000 is missing");
    assert_eq!(parse_fx(&print_rt(&QuantumTable::rt(), 100)).unwrap_err().cause, "too few rows: 60 of 61");
}

#[test]
fn blanks_tabs_and_comments_are_no_data() {
    let text = print_ts(&TsTable::extended(), 100);
    let busy =
        text.replace("RES=1000", " \tRES =\t1000 # ms").replace(" ", "\t").replace('\n', "\r\n\n  # so\n");
    assert_eq!(parse_ts(&busy), Ok(TsTable::extended()));
}

#[test]
fn another_resolution_is_converted() {
    let hundredths = |row: &TsRow| {
        let TsRow { quantum_ns, tqexp, slpret, maxwait_s, lwait } = row;
        format!("{} {tqexp} {slpret} {maxwait_s} {lwait}\n", quantum_ns / MS / 10)
    };
    let rows: String = TsTable::standard().0.iter().map(hundredths).collect();
    assert_eq!(parse_ts(&format!("RES=100\n{rows}")), Ok(TsTable::standard()));
}

#[test]
fn a_quantum_finer_than_a_millisecond_counts_in_ticks() {
    let text = with_line(2, "RES=1000000").replace("       200 ", "       150 ");
    let table = parse_ts(&text).unwrap();
    assert_eq!([100, 10_000].map(|hz| ticks(table.0[0].quantum_ns, hz)), [1, 2]);
    let printed = print_ts(&table, 10_000);
    assert!(printed.contains("RES=10000\n") && printed.contains("\n         2         0        50 "));
    assert_eq!(ticks(parse_ts(&printed).unwrap().0[0].quantum_ns, 10_000), 2);
    // 1 tick of 1/300 s is no whole number of milliseconds, nor of ns
    let third = print_rt(&QuantumTable(vec![1; 60]), 300);
    assert_eq!(ticks(parse_rt(&third).unwrap().0[0], 300), 1);
}

#[test]
fn an_endless_quantum_is_refused_by_its_name() {
    let text = print_rt(&QuantumTable::rt(), 100).replacen("      1000 ", "        -2 ", 1);
    let error = parse_rt(&text).unwrap_err();
    assert_eq!(
        error.to_string(),
        "line 6: quantum -2 is endless (RT_TQINF), which is not simulated: write 1000000000"
    );
}

prop_compose! {
    fn any_row()(
        quantum_ms in 1..100_000u64, tqexp in 0..60u8, slpret in 0..60u8, maxwait_s in 0..40_000u32, lwait in 0..60u8,
    ) -> TsRow {
        TsRow { quantum_ns: quantum_ms * MS, tqexp, slpret, maxwait_s, lwait }
    }
}

proptest! {
    #[test]
    fn any_table_survives_printing_and_reading(rows in prop::collection::vec(any_row(), 60)) {
        let table = TsTable(rows.try_into().unwrap());
        prop_assert_eq!(parse_ts(&print_ts(&table, 1000)), Ok(table));
    }

    #[test]
    fn no_text_breaks_the_reader(text in "\\PC*") {
        let _ = (parse_ts(&text), parse_rt(&text), parse_fx(&text));
    }

    #[test]
    fn a_damaged_table_is_read_or_refused_in_one_of_its_lines(at in 0..3500usize, with in "[\\x00-\\xff]{0,3}") {
        let mut text = print_ts(&TsTable::standard(), 100);
        let at = at.min(text.len());
        text.insert_str(at, &with);
        if let Err(error) = parse_ts(&text) {
            prop_assert!((1..=text.lines().count()).contains(&error.line));
        }
    }

    #[test]
    fn numbers_of_any_size_are_read_or_refused(numbers in prop::collection::vec(any::<i64>(), 5), res in any::<u64>()) {
        let row = numbers.iter().map(i64::to_string).collect::<Vec<_>>().join(" ");
        let text = with_line(30, &row).replace("RES=1000", &format!("RES={res}"));
        let _ = parse_ts(&text);
    }
}
