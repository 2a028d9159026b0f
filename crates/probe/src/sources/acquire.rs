//! Probes where PostgreSQL gets a latch (LWLock) and waits for it if need be: the latch is the first argument, and
//! begins with the number of its tranche (src/include/storage/lwlock.h). Gets that do not wait use other functions.

use crate::error::SourceError;
use crate::perf::tracepoint::Tracepoint;
use crate::perf::uprobes::Uprobes;
use crate::symbols::program::Program;

const FUNCTIONS: [(&str, &str); 2] = [("get", "LWLockAcquire"), ("get_or_wait", "LWLockAcquireOrWait")];
/// The number of the tranche in a record.
pub const TRANCHE: &str = "tranche";

/// The register of a function's first argument, as probes name it.
#[cfg(target_arch = "x86_64")]
const FIRST_ARGUMENT: &str = "%di";
#[cfg(target_arch = "aarch64")]
const FIRST_ARGUMENT: &str = "%x0";
/// The kernel supports it for its own functions only, and reports that.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const FIRST_ARGUMENT: &str = "$arg1";

/// Probes at each get.
pub struct Acquire {
    pub gets: Vec<Tracepoint>,
    pub uprobes: Uprobes,
}

impl Acquire {
    /// Probes the server program. group: a name for the probes that nothing else uses.
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
