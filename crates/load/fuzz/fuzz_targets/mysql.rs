//! Everything that a MySQL or MariaDB says.
#![no_main]

use libfuzzer_sys::fuzz_target;
use steelyard_fuzz::{compare, hear};
use steelyard_load::protocol::mysql::Mysql;
use steelyard_load::protocol::mysql::scanner::{Answer, Scanner};

const MESSAGE_BYTES_MAX: usize = 1 << 25;

fn scanner(mode: u8) -> Scanner {
    let mut scanner = Scanner::new(MESSAGE_BYTES_MAX);
    match mode & 3 {
        0 => scanner.expect(Answer::Result, None),
        1 => scanner.expect(Answer::Prepared, None),
        _ => scanner.expect(Answer::Prepared, Some(Answer::Result)),
    }
    scanner
}

fuzz_target!(|input: &[u8]| {
    hear::<Mysql>(input);
    let Some((mode, words)) = input.split_first() else { return };
    let whole = scanner(*mode).feed(words).map_err(|_| ());
    let mut scanner = scanner(*mode);
    compare(whole, words.chunks(3).map(|piece| scanner.feed(piece).map_err(|_| ())));
});
