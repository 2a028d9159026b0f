//! Replies of RESP2, scanned for what counts.

use steelyard_engine::error::PlanError;

use crate::protocol::ServerError;
use crate::protocol::limits::{check_length, clipped};

/// Arrays within arrays: no command answers with more than a few.
const DEPTH_MAX: usize = 32;
/// A simple string, an error, a number or a length.
const LINE_BYTES_MAX: usize = 1 << 16;
/// The shortest element of an array, `+\r\n`.
const ELEMENT_BYTES_MIN: usize = 3;

/// A reply that ended.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Answer {
    pub error: Option<ServerError>,
    /// Content of a reply outside arrays, where the scanner keeps it.
    pub text: Vec<u8>,
    /// The reply, or elements of the array that it is; those that are null do not count.
    pub elements: u64,
    pub bytes: u64,
}

/// What comes next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// A line that announces the next part, or is the whole reply.
    Line,
    /// So many bytes of a bulk string.
    Bulk(usize),
    /// The line's end after them.
    BulkEnd,
}

/// Reads a stream of replies in pieces of any size.
#[derive(Debug)]
pub struct Scanner {
    message_bytes_max: usize,
    keeps: bool,
    state: State,
    /// The part of a line that came in earlier pieces.
    line: Vec<u8>,
    /// Elements still to come of each array that is open.
    open: Vec<usize>,
    /// Of the reply so far.
    bytes: usize,
    answer: Answer,
}

impl Scanner {
    /// keeps: the content of replies is needed, in addition to errors.
    pub fn new(message_bytes_max: usize, keeps: bool) -> Self {
        Self {
            message_bytes_max,
            keeps,
            state: State::Line,
            line: Vec::new(),
            open: Vec::new(),
            bytes: 0,
            answer: Answer::default(),
        }
    }

    /// Scans bytes up to the end of one reply, and returns it; leaves those behind it.
    pub fn feed(&mut self, bytes: &mut &[u8]) -> Result<Option<Answer>, PlanError> {
        while !bytes.is_empty() {
            let ended = match self.state {
                State::Bulk(left) => {
                    self.take_bulk(left, bytes);
                    false
                }
                State::Line | State::BulkEnd => self.take_line(bytes)?,
            };
            if ended && self.is_over() {
                self.answer.bytes = std::mem::take(&mut self.bytes) as u64;
                return Ok(Some(std::mem::take(&mut self.answer)));
            }
        }
        Ok(None)
    }

    fn take_bulk(&mut self, left: usize, bytes: &mut &[u8]) {
        let (taken, rest) = bytes.split_at(left.min(bytes.len()));
        *bytes = rest;
        self.bytes += taken.len();
        self.keep(taken);
        self.state = if taken.len() == left { State::BulkEnd } else { State::Bulk(left - taken.len()) };
    }

    /// Whether an element ended.
    fn take_line(&mut self, bytes: &mut &[u8]) -> Result<bool, PlanError> {
        let end = bytes.iter().position(|byte| *byte == b'\n');
        let (taken, rest) = bytes.split_at(end.map_or(bytes.len(), |at| at + 1));
        *bytes = rest;
        self.bytes += taken.len();
        check_length(self.bytes, self.message_bytes_max)?;
        if self.line.len() + taken.len() > LINE_BYTES_MAX {
            return Err(foreign());
        }
        if end.is_some() && self.line.is_empty() {
            return self.read_line(taken);
        }
        self.line.extend_from_slice(taken);
        if end.is_none() {
            return Ok(false);
        }
        let line = std::mem::take(&mut self.line);
        let ended = self.read_line(&line);
        // its memory serves the next one
        self.line = line;
        self.line.clear();
        ended
    }

    fn read_line(&mut self, line: &[u8]) -> Result<bool, PlanError> {
        let line = line.strip_suffix(b"\r\n").ok_or_else(foreign)?;
        if self.state == State::BulkEnd {
            self.state = State::Line;
            return if line.is_empty() { Ok(true) } else { Err(foreign()) };
        }
        let (kind, text) = line.split_first().ok_or_else(foreign)?;
        match kind {
            b'+' => {
                self.found();
                self.keep(text);
            }
            b':' => {
                integer(text)?;
                self.found();
                self.keep(text);
            }
            // an error within an array is part of an answer that did come
            b'-' if self.open.is_empty() => self.answer.error = Some(read_error(text)),
            b'-' => {}
            b'$' => {
                let Some(length) = length(text)? else { return Ok(true) };
                self.check_rest(length)?;
                self.found();
                self.state = if length == 0 { State::BulkEnd } else { State::Bulk(length) };
                return Ok(false);
            }
            b'*' => {
                let Some(elements @ 1..) = length(text)? else { return Ok(true) };
                self.check_rest(elements.saturating_mul(ELEMENT_BYTES_MIN))?;
                if self.open.len() == DEPTH_MAX {
                    let cause = format!("sends arrays nested deeper than {DEPTH_MAX}");
                    return Err(PlanError::new("server", cause));
                }
                self.answer.elements += u64::from(self.open.len() == 1);
                self.open.push(elements);
                return Ok(false);
            }
            _ => return Err(foreign()),
        }
        Ok(true)
    }

    /// Something other than null.
    fn found(&mut self) {
        self.answer.elements += u64::from(self.open.len() <= 1);
    }

    /// An element ended: whether the reply did.
    fn is_over(&mut self) -> bool {
        while let Some(left) = self.open.last_mut() {
            *left -= 1;
            if *left > 0 {
                return false;
            }
            self.open.pop();
        }
        true
    }

    fn check_rest(&self, bytes: usize) -> Result<(), PlanError> {
        check_length(self.bytes.saturating_add(bytes), self.message_bytes_max)
    }

    fn keep(&mut self, bytes: &[u8]) {
        if self.keeps && self.open.is_empty() {
            self.answer.text.extend_from_slice(bytes);
        }
    }

    /// Forgets a half-read reply: the connection was replaced.
    pub fn reset(&mut self) {
        *self = Self::new(self.message_bytes_max, self.keeps);
    }
}

fn integer(text: &[u8]) -> Result<i64, PlanError> {
    std::str::from_utf8(text).ok().and_then(|text| text.parse().ok()).ok_or_else(foreign)
}

/// None: the null of RESP2, -1.
fn length(text: &[u8]) -> Result<Option<usize>, PlanError> {
    match integer(text)? {
        -1 => Ok(None),
        number => usize::try_from(number).map(Some).map_err(|_| foreign()),
    }
}

/// The first word is the code; a message of one word is its own code.
fn read_error(text: &[u8]) -> ServerError {
    let text = clipped(text);
    let (code, message) = text.split_once(' ').unwrap_or((&text, &text));
    ServerError { code: code.into(), message: message.into() }
}

fn foreign() -> PlanError {
    PlanError::new("server", "this does not speak Valkey's protocol (RESP2)")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MOST: usize = 1 << 20;

    type Said = (Option<ServerError>, Vec<u8>);

    /// Error and text of the answers in a stream, until its end or its first error.
    fn read(scanner: &mut Scanner, mut bytes: &[u8], found: &mut Vec<Said>) -> Result<(), String> {
        while let Some(answer) = scanner.feed(&mut bytes).map_err(|error| error.to_string())? {
            found.push((answer.error, answer.text));
        }
        assert!(bytes.is_empty());
        Ok(())
    }

    fn whole(bytes: &[u8]) -> (Vec<Said>, Result<(), String>) {
        let mut found = Vec::new();
        let end = read(&mut Scanner::new(MOST, true), bytes, &mut found);
        (found, end)
    }

    fn said(text: &[u8]) -> Said {
        (None, text.to_vec())
    }

    fn failed(code: &str, message: &str) -> Said {
        (Some(ServerError { code: code.into(), message: message.into() }), Vec::new())
    }

    #[test]
    fn elements_that_are_not_null_count() {
        for (stream, elements) in [
            ("+OK\r\n", 1),
            (":0\r\n", 1),
            ("$0\r\n\r\n", 1),
            ("$-1\r\n", 0),
            ("*-1\r\n", 0),
            ("*0\r\n", 0),
            ("*3\r\n$-1\r\n$1\r\na\r\n$-1\r\n", 1),
            ("*2\r\n$1\r\n0\r\n*2\r\n$1\r\na\r\n$1\r\nb\r\n", 2),
            ("-ERR no\r\n", 0),
        ] {
            let answer = Scanner::new(MOST, false).feed(&mut stream.as_bytes()).unwrap().unwrap();
            assert_eq!((answer.elements, answer.bytes), (elements, stream.len() as u64), "{stream:?}");
        }
    }

    #[test]
    fn each_kind_of_reply_ends_where_the_manual_says() {
        let stream =
            b"+OK\r\n-WRONGTYPE Operation against a key\r\n-LOADING\r\n:-42\r\n$5\r\nhe\r\no\r\n$0\r\n\r\n\
                       $-1\r\n*-1\r\n*0\r\n*3\r\n:1\r\n*2\r\n$1\r\na\r\n-ERR within\r\n*0\r\n+next\r\n";
        let expected = vec![
            said(b"OK"),
            failed("WRONGTYPE", "Operation against a key"),
            failed("LOADING", "LOADING"),
            said(b"-42"),
            said(b"he\r\no"),
            said(b""),
            said(b""),
            said(b""),
            said(b""),
            said(b""),
            said(b"next"),
        ];
        assert_eq!(whole(stream), (expected, Ok(())));
    }

    #[test]
    fn what_is_no_reply_is_an_error() {
        let long = [b"+".as_slice(), &[b'a'; LINE_BYTES_MAX]].concat();
        let deep = b"*1\r\n".repeat(DEPTH_MAX + 1);
        let streams: [(&[u8], &str); 14] = [
            (b"HTTP/1.1 400 Bad Request\r\n", "does not speak"),
            (b"\r\n", "does not speak"),
            (b"+OK\n", "does not speak"),
            (b":1x\r\n", "does not speak"),
            (b"$-2\r\n", "does not speak"),
            (b"*-7\r\n", "does not speak"),
            (b"$99999999999999999999\r\n", "does not speak"),
            (b"$1\r\nab\r\n", "does not speak"),
            (b"_\r\n", "does not speak"),
            (&long, "does not speak"),
            (b"$1048577\r\n", "message_mib_max"),
            (b"*1048576\r\n", "message_mib_max"),
            (b"*9223372036854775807\r\n", "message_mib_max"),
            (&deep, "nested deeper"),
        ];
        for (stream, cause) in streams {
            let refused = whole(stream).1.unwrap_err();
            assert!(refused.contains(cause), "{stream:?}: {refused}");
        }
    }

    #[test]
    fn a_reply_of_many_small_elements_is_no_larger_than_any_other() {
        let element = [b"$1000\r\n".as_slice(), &[b'a'; 1000], b"\r\n"].concat();
        let stream = [b"*2000\r\n".to_vec(), element.repeat(2000)].concat();
        assert!(whole(&stream).1.unwrap_err().contains("message_mib_max"));
    }

    fn reply() -> impl Strategy<Value = Vec<u8>> {
        let bulk = |bytes: Vec<u8>| [format!("${}\r\n", bytes.len()).as_bytes(), &bytes, b"\r\n"].concat();
        let single = prop_oneof![
            "[ -~]{0,20}".prop_map(|text| format!("+{text}\r\n").into_bytes()),
            "[A-Z]{1,9} [ -~]{0,20}".prop_map(|text| format!("-{text}\r\n").into_bytes()),
            any::<i64>().prop_map(|number| format!(":{number}\r\n").into_bytes()),
            proptest::collection::vec(any::<u8>(), 0..40).prop_map(bulk),
            proptest::sample::select(vec![b"$-1\r\n".to_vec(), b"*-1\r\n".to_vec()]),
        ];
        single.prop_recursive(4, 32, 5, |inner| {
            proptest::collection::vec(inner, 0..5)
                .prop_map(|inner| [format!("*{}\r\n", inner.len()).into_bytes(), inner.concat()].concat())
        })
    }

    /// Cut at these places, each within the stream.
    fn in_pieces(stream: &[u8], cuts: Vec<usize>) -> (Vec<Said>, Result<(), String>) {
        let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut % (stream.len() + 1)).collect();
        cuts.sort_unstable();
        cuts.push(stream.len());
        let mut scanner = Scanner::new(MOST, true);
        let (mut found, mut from) = (Vec::new(), 0);
        for to in cuts {
            if let Err(error) = read(&mut scanner, &stream[from..to], &mut found) {
                return (found, Err(error));
            }
            from = to;
        }
        (found, Ok(()))
    }

    proptest! {
        #[test]
        fn a_stream_cut_anywhere_reads_the_same(
            replies in proptest::collection::vec(reply(), 1..8),
            cuts in proptest::collection::vec(any::<usize>(), 0..20),
        ) {
            let stream = replies.concat();
            let (found, end) = in_pieces(&stream, cuts);
            prop_assert_eq!((found.len(), &end), (replies.len(), &Ok(())));
            prop_assert_eq!((found, end), whole(&stream));
        }

        #[test]
        fn no_bytes_make_the_scanner_panic_and_cuts_change_nothing(
            start in proptest::sample::select(vec!["", "$", "*", "*2\r\n$", "-", ":"]),
            bytes in proptest::collection::vec(any::<u8>(), 0..200),
            cuts in proptest::collection::vec(any::<usize>(), 0..5),
        ) {
            let stream = [start.as_bytes(), &bytes].concat();
            prop_assert_eq!(in_pieces(&stream, cuts), whole(&stream));
        }
    }
}
