//! Where a PostgreSQL sleeps until it gets a latch (LWLock): its processes wait for a semaphore of their own,
//! in a function of that purpose alone, and have written down before for what (src/backend/storage/lmgr/lwlock.c).

use crate::error::SourceError;
use crate::program::Program;
use crate::tracepoint::Tracepoint;
use crate::uprobes::Uprobes;

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
    /// Probes the server program. group: of the probes, a name that nobody else uses.
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
