//! Records of a ring (perf_event_open(2), "struct perf_event_header").

use perf_event_open_sys::bindings as sys;

/// pid, tid, time and CPU that stand at the end of all records but samples.
const TRAILER_BYTES: usize = 24;
const COMM_EXEC: u16 = 1 << 13;

/// A record with its time (CLOCK_MONOTONIC).
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    pub time_ns: u64,
    pub body: Body,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Body {
    /// kernel, user: the stack, innermost first. raw: of a tracepoint, its number first; else zeros.
    Sample {
        pid: u32,
        tid: u32,
        cpu: u32,
        kernel: Vec<u64>,
        user: Vec<u64>,
        raw: Vec<u8>,
    },
    /// Executable memory of a process.
    Mapped {
        pid: u32,
        start: u64,
        bytes: u64,
        offset: u64,
        path: String,
    },
    Named {
        pid: u32,
        tid: u32,
        name: String,
        exec: bool,
    },
    Forked {
        pid: u32,
        tid: u32,
        parent: u32,
        parent_tid: u32,
    },
    /// The ring was full: so many records are missing.
    Lost(u64),
}

/// One record; None for a kind that we do not use, and for one cut short.
pub fn parse(bytes: &[u8]) -> Option<Record> {
    let kind = u32::from_le_bytes(bytes.get(..4)?.try_into().ok()?);
    let misc = u16::from_le_bytes(bytes.get(4..6)?.try_into().ok()?);
    let mut rest = Reader(bytes.get(8..)?);
    if kind == sys::PERF_RECORD_SAMPLE {
        return sample(&mut rest);
    }
    let inner = rest.0.len().checked_sub(TRAILER_BYTES)?;
    let time_ns = Reader(&rest.0[inner + 8..]).u64()?;
    rest.0 = &rest.0[..inner];
    let body = match kind {
        sys::PERF_RECORD_MMAP2 => {
            let (pid, _tid) = (rest.u32()?, rest.u32()?);
            let (start, bytes, offset) = (rest.u64()?, rest.u64()?, rest.u64()?);
            rest.take(32)?;
            Body::Mapped { pid, start, bytes, offset, path: text(rest.0) }
        }
        sys::PERF_RECORD_COMM => {
            let (pid, tid) = (rest.u32()?, rest.u32()?);
            Body::Named { pid, tid, name: text(rest.0), exec: misc & COMM_EXEC != 0 }
        }
        sys::PERF_RECORD_FORK => {
            let (pid, parent, tid, parent_tid) = (rest.u32()?, rest.u32()?, rest.u32()?, rest.u32()?);
            Body::Forked { pid, tid, parent, parent_tid }
        }
        sys::PERF_RECORD_LOST => {
            rest.u64()?;
            Body::Lost(rest.u64()?)
        }
        _ => return None,
    };
    Some(Record { time_ns, body })
}

fn sample(rest: &mut Reader) -> Option<Record> {
    let (pid, tid) = (rest.u32()?, rest.u32()?);
    let time_ns = rest.u64()?;
    let (cpu, _) = (rest.u32()?, rest.u32()?);
    let (mut kernel, mut user) = (Vec::new(), Vec::new());
    let mut context = 0;
    for _ in 0..rest.u64()? {
        let address = rest.u64()?;
        if address >= sys::PERF_CONTEXT_MAX {
            context = address;
        } else if context == sys::PERF_CONTEXT_KERNEL {
            kernel.push(address);
        } else if context == sys::PERF_CONTEXT_USER {
            user.push(address);
        }
    }
    let length = rest.u32()? as usize;
    let raw = rest.take(length)?.to_vec();
    Some(Record { time_ns, body: Body::Sample { pid, tid, cpu, kernel, user, raw } })
}

/// A name that ends at its first zero.
fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (found, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(found)
    }

    fn u32(&mut self) -> Option<u32> {
        Some(u32::from_le_bytes(self.take(4)?.try_into().ok()?))
    }

    fn u64(&mut self) -> Option<u64> {
        Some(u64::from_le_bytes(self.take(8)?.try_into().ok()?))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn any_bytes_are_parsed_or_refused_and_never_read_beyond_their_end(
            kind in 0u32..20, bytes in proptest::collection::vec(any::<u8>(), 0..300)
        ) {
            let mut record = kind.to_le_bytes().to_vec();
            record.extend(bytes);
            let _ = parse(&record);
        }
    }

    #[test]
    fn a_stack_is_told_apart_by_where_it_was_running() {
        let mut bytes = [sys::PERF_RECORD_SAMPLE.to_le_bytes(), [0; 4]].concat();
        bytes.extend(7u32.to_le_bytes());
        bytes.extend(8u32.to_le_bytes());
        bytes.extend(1234u64.to_le_bytes());
        bytes.extend([3, 0, 0, 0, 0, 0, 0, 0]);
        for word in [5, sys::PERF_CONTEXT_KERNEL, 10, 11, sys::PERF_CONTEXT_USER, 12] {
            bytes.extend(word.to_le_bytes());
        }
        bytes.extend(4u32.to_le_bytes());
        bytes.extend([0; 4]);
        let body =
            Body::Sample { pid: 7, tid: 8, cpu: 3, kernel: vec![10, 11], user: vec![12], raw: vec![0; 4] };
        assert_eq!(parse(&bytes), Some(Record { time_ns: 1234, body }));
    }
}
