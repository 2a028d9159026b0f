//! Errors, as messages that end in a remedy.

use std::io;

use thiserror::Error;

/// A source is not available here.
#[derive(Debug, Error)]
pub enum SourceError {
    #[error("perf_event_open: {} ({hint})", plain(cause))]
    Refused { cause: io::Error, hint: String },
    #[error(
        "tracefs is not mounted or not readable (mount -t tracefs nodev /sys/kernel/tracing; \
         mount -o remount,mode=755 /sys/kernel/tracing; or {})",
        privileged()
    )]
    NoTracefs,
    #[error("this kernel has no tracepoint {0} (lock:contention_begin came with Linux 5.19)")]
    NoTracepoint(String),
    #[error("{program}: {cause}")]
    NoProgram { program: String, cause: String },
    #[error(
        "{program} has no symbol {symbol} (PostgreSQL from 14 on has it, unless its dynamic symbols were stripped)"
    )]
    NoSymbol { program: String, symbol: &'static str },
    #[error("uprobe_events: {} ({}: this needs CAP_SYS_ADMIN, a writable tracefs, and a \
             kernel with CONFIG_UPROBE_EVENTS)", plain(.0), privileged())]
    NoUprobe(io::Error),
    #[error(
        "the ring of CPU {cpu} cannot be mapped: {} (ulimit -l unlimited, or {})",
        plain(cause),
        privileged()
    )]
    NoRing { cpu: u32, cause: io::Error },
    #[error(
        "/proc/kallsyms shows no addresses: names of kernel functions would be wrong and are left out \
         (CAP_SYSLOG, or sysctl kernel.kptr_restrict=0; or {})",
        privileged()
    )]
    NoKernelNames,
}

/// Who has a permission that is missing here: root; for root itself, a container or kernel that grants it.
pub fn privileged() -> &'static str {
    // SAFETY: geteuid takes nothing and always succeeds.
    if unsafe { libc::geteuid() } == 0 {
        "run where the capability is permitted, such as docker run --privileged"
    } else {
        "run as root"
    }
}

/// `Permission denied`, without the number that Rust adds.
fn plain(cause: &io::Error) -> String {
    let text = cause.to_string();
    text.split(" (os error").next().unwrap_or(&text).to_string()
}
