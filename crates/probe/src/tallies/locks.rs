//! Waits for kernel locks, by call site: lock:contention_begin paired with lock:contention_end.
//!
//! The tracepoints show waits only: not how long a lock is held, nor how often it is taken without a wait, so
//! its utilisation is unknown.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use hdrhistogram::Histogram;

use super::lock_kinds::{MUTEX, is_of_locks, kind};
use super::task::Task;
use crate::symbols::kernel::KernelSymbols;
use crate::symbols::processes::Processes;

/// Distinct locks of one call site are counted up to here.
const DISTINCT_MAX: usize = 100_000;

/// A wait that has not ended. task: thread, or CPU for the idle tasks, which share number 0.
type Waiting = HashMap<((u32, u32), u64), Begun>;

struct Begun {
    time_ns: u64,
    site: u64,
    flags: u64,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct Key {
    point: usize,
    role: Rc<str>,
    site: u64,
    kind: &'static str,
    variable: Option<Rc<str>>,
}

struct Waits {
    total_ns: u64,
    max_ns: u64,
    histogram: Histogram<u64>,
    locks: HashSet<u64>,
}

/// Waits by call site.
#[derive(Default)]
pub struct Locks {
    waiting: Waiting,
    waits: HashMap<Key, Waits>,
    /// Whether the function at an address belongs to the locks themselves.
    of_locks: HashMap<u64, bool>,
}

/// All waits at one call site for one lock, or for locks of one kind that have no name.
pub struct Site {
    pub point: usize,
    pub role: Rc<str>,
    pub lock: String,
    pub kind: &'static str,
    pub call_site: String,
    pub distinct: usize,
    pub contended: u64,
    pub wait_total_ns: u64,
    pub wait_max_ns: u64,
    pub histogram: Histogram<u64>,
}

impl Locks {
    /// A task begins to wait. A mutex may report one wait twice, before it spins and before it sleeps.
    pub fn begun(
        &mut self,
        time_ns: u64,
        task: Task,
        lock: u64,
        flags: u64,
        stack: &[u64],
        names: Option<&KernelSymbols>,
    ) {
        let site = self.call_site(stack, names);
        let begun = Begun { time_ns, site, flags };
        match self.waiting.entry((task.key(), lock)) {
            Entry::Occupied(_) if flags & MUTEX != 0 => {}
            // the end of the wait before was not seen
            Entry::Occupied(mut entry) => drop(entry.insert(begun)),
            Entry::Vacant(entry) => drop(entry.insert(begun)),
        }
    }

    /// The wait ends; ignored where its beginning was not seen.
    pub fn ended(
        &mut self,
        point: usize,
        time_ns: u64,
        task: Task,
        lock: u64,
        who: &Processes,
        names: Option<&KernelSymbols>,
    ) {
        let Some(begun) = self.waiting.remove(&(task.key(), lock)) else { return };
        let wait_ns = time_ns.saturating_sub(begun.time_ns);
        let variable = names.and_then(|names| names.variable(lock)).map(Rc::from);
        let key =
            Key { point, role: who.role(task.pid), site: begun.site, kind: kind(begun.flags), variable };
        let waits = self.waits.entry(key).or_insert_with(|| Waits {
            total_ns: 0,
            max_ns: 0,
            histogram: Histogram::new(3).expect("3 digits are allowed"),
            locks: HashSet::new(),
        });
        waits.total_ns += wait_ns;
        waits.max_ns = waits.max_ns.max(wait_ns);
        // a histogram that grows takes every value
        let _ = waits.histogram.record(wait_ns.max(1));
        if waits.locks.len() < DISTINCT_MAX {
            waits.locks.insert(lock);
        }
    }

    /// Forgets waits that have not ended: a window begins, or records are missing.
    pub fn forget(&mut self) {
        self.waiting.clear();
    }

    /// The innermost caller that is not a function of the locks themselves.
    fn call_site(&mut self, stack: &[u64], names: Option<&KernelSymbols>) -> u64 {
        let Some(names) = names else { return stack.last().copied().unwrap_or(0) };
        for address in stack {
            let of_lock = *self
                .of_locks
                .entry(*address)
                .or_insert_with(|| names.function(*address).is_some_and(|(name, _)| is_of_locks(name)));
            if !of_lock {
                return *address;
            }
        }
        stack.last().copied().unwrap_or(0)
    }

    pub fn sites(&self, names: Option<&KernelSymbols>) -> Vec<Site> {
        let mut found: Vec<Site> = self
            .waits
            .iter()
            .map(|(key, waits)| Site {
                point: key.point,
                role: key.role.clone(),
                lock: key.variable.as_deref().unwrap_or(key.kind).to_string(),
                kind: key.kind,
                call_site: match names.and_then(|names| names.function(key.site)) {
                    Some((name, offset)) => format!("{name}+{offset:#x}"),
                    None => "[kernel]".into(),
                },
                distinct: waits.locks.len(),
                contended: waits.histogram.len(),
                wait_total_ns: waits.total_ns,
                wait_max_ns: waits.max_ns,
                histogram: waits.histogram.clone(),
            })
            .collect();
        found.sort_by(|a, b| {
            (a.point, &a.role, &a.lock, b.wait_total_ns, &a.call_site).cmp(&(
                b.point,
                &b.role,
                &b.lock,
                a.wait_total_ns,
                &b.call_site,
            ))
        });
        found
    }
}

#[cfg(test)]
mod tests {
    use super::super::lock_kinds::SPIN;
    use super::*;

    #[test]
    fn a_wait_is_from_its_first_beginning_to_its_end() {
        let who = Processes::running(&[]);
        let task = Task { pid: 4_000_001, tid: 4_000_001, cpu: 0 };
        let mut locks = Locks::default();
        locks.ended(0, 90, task, 0xabc, &who, None);
        locks.begun(100, task, 0xabc, MUTEX | SPIN, &[1, 2], None);
        locks.begun(150, task, 0xabc, MUTEX, &[1, 2], None);
        locks.begun(160, task, 0xdef, SPIN, &[1, 2], None);
        locks.ended(0, 300, task, 0xabc, &who, None);
        let sites = locks.sites(None);
        assert_eq!(sites.len(), 1);
        assert_eq!((sites[0].contended, sites[0].wait_total_ns, sites[0].wait_max_ns), (1, 200, 200));
        assert_eq!((sites[0].kind, sites[0].distinct, &*sites[0].role), ("mutex", 1, "other"));
    }
}
