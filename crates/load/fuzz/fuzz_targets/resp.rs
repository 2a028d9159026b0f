//! Everything that a Valkey says.
#![no_main]

use libfuzzer_sys::fuzz_target;
use steelyard_fuzz::{compare, hear};
use steelyard_load::protocol::resp::Resp;
use steelyard_load::protocol::resp::scanner::{Answer, Scanner};

const MESSAGE_BYTES_MAX: usize = 1 << 16;

/// The last answer that ended within a piece.
fn last(scanner: &mut Scanner, mut piece: &[u8]) -> Result<Option<Answer>, ()> {
    let mut found = None;
    while let Some(answer) = scanner.feed(&mut piece).map_err(|_| ())? {
        found = Some(answer);
    }
    Ok(found)
}

fuzz_target!(|input: &[u8]| {
    hear::<Resp>(input);
    let whole = last(&mut Scanner::new(MESSAGE_BYTES_MAX, true), input);
    let mut scanner = Scanner::new(MESSAGE_BYTES_MAX, true);
    compare(whole, input.chunks(3).map(|piece| last(&mut scanner, piece)));
});
