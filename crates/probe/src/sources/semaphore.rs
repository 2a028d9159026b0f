//! Probes where PostgreSQL sleeps until it gets a latch (LWLock): each process waits for its own semaphore, in a
//! function that has no other use, after it has set its wait event (src/backend/storage/lmgr/lwlock.c).

use crate::error::SourceError;
use crate::perf::tracepoint::Tracepoint;
use crate::perf::uprobes::Uprobes;
use crate::symbols::program::Program;

const FUNCTION: &str = "PGSemaphoreLock";
/// A pointer to the word in which a process keeps its wait event; a variable since PostgreSQL 14.
const POINTER: &str = "my_wait_event_info";
/// The wait event in a record.
pub const EVENT: &str = "event";

/// Probes at the beginning and the end of each sleep.
pub struct Semaphore {
    pub begin: Tracepoint,
    pub end: Tracepoint,
    pub uprobes: Uprobes,
}

impl Semaphore {
    /// Probes the server program. group: a name for the probes that nothing else uses.
    pub fn probe(program: &Program, group: &str) -> Result<Semaphore, SourceError> {
        let mut uprobes = Uprobes::new(group)?;
        let (begin, pointer) = (program.entry(FUNCTION)?, program.variable(POINTER, FUNCTION)?);
        uprobes.add('p', "sleep", &program.path(), begin, &format!("{EVENT}=+0(@+{pointer:#x}):x32"))?;
        uprobes.add('r', "woken", &program.path(), begin, "")?;
        Ok(Semaphore {
            begin: Tracepoint::find(&format!("{group}/sleep"))?,
            end: Tracepoint::find(&format!("{group}/woken"))?,
            uprobes,
        })
    }
}
