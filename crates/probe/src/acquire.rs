//! Where a PostgreSQL asks for a latch (LWLock) and will wait for it: the latch is the first argument, and begins
//! with the number of its tranche (src/include/storage/lwlock.h). Who would not wait asks elsewhere.

use crate::error::SourceError;
use crate::program::Program;
use crate::tracepoint::Tracepoint;
use crate::uprobes::Uprobes;

const FUNCTIONS: [(&str, &str); 2] = [("get", "LWLockAcquire"), ("get_or_wait", "LWLockAcquireOrWait")];
/// The number of the tranche in a record.
pub const TRANCHE: &str = "tranche";

/// The register of a function's first argument, as probes name it.
#[cfg(target_arch = "x86_64")]
const FIRST_ARGUMENT: &str = "%di";
#[cfg(target_arch = "aarch64")]
const FIRST_ARGUMENT: &str = "%x0";
/// Which the kernel knows of its own functions alone: it will say so.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const FIRST_ARGUMENT: &str = "$arg1";

/// Probes at each get.
pub struct Acquire {
    pub gets: Vec<Tracepoint>,
    pub uprobes: Uprobes,
}

impl Acquire {
    /// Probes the server program. group: of the probes, a name that nobody else uses.
    pub fn probe(program: &Program, group: &str) -> Result<Acquire, SourceError> {
        let mut uprobes = Uprobes::new(group)?;
        let mut gets = Vec::new();
        for (name, function) in FUNCTIONS {
            let fetched = format!("{TRANCHE}=+0({FIRST_ARGUMENT}):u16");
            uprobes.add('p', name, &program.path(), program.entry(function)?, &fetched)?;
            gets.push(Tracepoint::find(&format!("{group}/{name}"))?);
        }
        Ok(Acquire { gets, uprobes })
    }
}
