//! Everything that a PostgreSQL says.
#![no_main]

use libfuzzer_sys::fuzz_target;
use steelyard_fuzz::{compare, hear};
use steelyard_load::protocol::postgres::Postgres;
use steelyard_load::protocol::postgres::scanner::Scanner;

const MESSAGE_BYTES_MAX: usize = 1 << 16;

fuzz_target!(|input: &[u8]| {
    hear::<Postgres>(input);
    let mut scanner = Scanner::new(MESSAGE_BYTES_MAX);
    let whole = scanner.feed(input).map_err(|_| ());
    let mut scanner = Scanner::new(MESSAGE_BYTES_MAX);
    compare(whole, input.chunks(3).map(|piece| scanner.feed(piece).map_err(|_| ())));
});
