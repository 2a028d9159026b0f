//! The kinds of kernel locks, and the functions of the locks themselves.

pub const SPIN: u64 = 1;
const READ: u64 = 2;
const WRITE: u64 = 4;
const RT: u64 = 8;
const PERCPU: u64 = 16;
pub const MUTEX: u64 = 32;

/// The kind of lock by the flags of lock:contention_begin (include/trace/events/lock.h), named as
/// `perf lock contention` does.
pub fn kind(flags: u64) -> &'static str {
    if flags & MUTEX != 0 {
        return "mutex";
    }
    match (flags & (SPIN | RT | PERCPU), flags & (READ | WRITE)) {
        (SPIN, READ) => "rwlock:R",
        (SPIN, WRITE) => "rwlock:W",
        (SPIN, _) => "spinlock",
        (RT, READ) => "rwlock-rt:R",
        (RT, WRITE) => "rwlock-rt:W",
        (RT, _) => "rt-mutex",
        (PERCPU, READ) => "pcpu-sem:R",
        (PERCPU, _) => "pcpu-sem:W",
        (_, READ) => "rwsem:R",
        (_, WRITE) => "rwsem:W",
        _ => "semaphore",
    }
}

/// Prefixes of the functions between a tracepoint and the caller that takes the lock.
const OF_LOCKS: [&str; 24] = [
    "__bpf_trace_",
    "__traceiter_contention",
    "trace_contention",
    "perf_",
    "native_queued_",
    "__pv_queued_",
    "pv_queued_",
    "queued_read_",
    "queued_write_",
    "_raw_",
    "__raw_",
    "raw_spin_rq_lock",
    "__mutex_lock",
    "mutex_lock",
    "__ww_mutex",
    "ww_mutex",
    "rwsem_",
    "__rwsem",
    "down_",
    "__down",
    "percpu_down",
    "__percpu_",
    "rt_mutex_",
    "rtlock_",
];

/// Whether a function belongs to the locks themselves.
pub fn is_of_locks(name: &str) -> bool {
    OF_LOCKS.iter().any(|prefix| name.starts_with(prefix))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_those_of_perf() {
        let kinds = [SPIN, SPIN | READ, WRITE, MUTEX, MUTEX | SPIN, PERCPU | WRITE, 0].map(kind);
        let known = ["spinlock", "rwlock:R", "rwsem:W", "mutex", "mutex", "pcpu-sem:W", "semaphore"];
        assert_eq!(kinds, known);
    }
}
