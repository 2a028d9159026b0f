//! Where a PostgreSQL sleeps until it gets a latch (LWLock): its processes wait for a semaphore of their own,
//! in a function of that purpose alone, and have written down before for what (src/backend/storage/lmgr/lwlock.c).

use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::path::Path;

use blazesym::inspect::Inspector;
use blazesym::inspect::source::{Elf, Source};

use crate::error::SourceError;
use crate::tracepoint::Tracepoint;
use crate::uprobes::Uprobes;

const FUNCTION: &str = "PGSemaphoreLock";
/// A pointer to the word in which a process keeps its wait event; a variable since PostgreSQL 14.
const POINTER: &str = "my_wait_event_info";
/// The mark of a place that may be jumped to, first in functions of hardened builds (x86-64).
const ENDBR64: [u8; 4] = [0xf3, 0x0f, 0x1e, 0xfa];
/// The wait event in a record.
pub const EVENT: &str = "event";

/// Probes at the beginning and the end of each sleep.
pub struct Semaphore {
    pub begin: Tracepoint,
    pub end: Tracepoint,
    pub uprobes: Uprobes,
}

impl Semaphore {
    /// Probes the server program. group: of the probes, a name that nobody else uses.
    pub fn probe(program: &Path, group: &str) -> Result<Semaphore, SourceError> {
        let mut uprobes = Uprobes::new(group)?;
        let (offset, pointer) = places(program)?;
        // through a descriptor, as a blank would end a path; the kernel looks up the file now, and keeps it
        let held = File::open(program).map_err(|cause| unreadable(program, cause.to_string()))?;
        let path = format!("/proc/self/fd/{}", held.as_raw_fd());
        let begin = offset + mark_bytes(&held, offset);
        uprobes.add('p', "sleep", &path, begin, &format!("{EVENT}=+0(@+{pointer:#x}):x32"))?;
        uprobes.add('r', "woken", &path, begin, "")?;
        Ok(Semaphore {
            begin: Tracepoint::find(&format!("{group}/sleep"))?,
            end: Tracepoint::find(&format!("{group}/woken"))?,
            uprobes,
        })
    }
}

/// Length of the mark at the beginning of a function. It is stepped over, as the kernel carries out a push that
/// has a breakpoint itself, but has the processor step through this one: 16 us in place of 2 on a virtual machine.
fn mark_bytes(program: &File, offset: u64) -> u64 {
    let mut first = [0; ENDBR64.len()];
    match program.read_exact_at(&mut first, offset) {
        Ok(()) if first == ENDBR64 => ENDBR64.len() as u64,
        _ => 0,
    }
}

/// Where the function is in the file, and the pointer as `@+` wants it: as far from there as both are apart in
/// memory, which for what lies in another segment is not where it is in the file.
fn places(program: &Path) -> Result<(u64, u64), SourceError> {
    let mut elf = Elf::new(program);
    elf.debug_syms = false;
    let (inspector, source) = (Inspector::new(), Source::Elf(elf));
    let found = inspector
        .lookup(&source, &[FUNCTION, POINTER])
        .map_err(|error| unreadable(program, error.to_string()))?;
    let place = |at: usize, symbol| {
        found
            .get(at)
            .and_then(|all| all.first())
            .ok_or(SourceError::NoSymbol { program: program.display().to_string(), symbol })
    };
    let (function, pointer) = (place(0, FUNCTION)?, place(1, POINTER)?);
    let offset = function
        .file_offset
        .ok_or_else(|| unreadable(program, format!("{FUNCTION} lies nowhere in the file")))?;
    Ok((offset, offset.wrapping_add(pointer.addr).wrapping_sub(function.addr)))
}

fn unreadable(program: &Path, cause: String) -> SourceError {
    SourceError::NoProgram { program: program.display().to_string(), cause }
}
