//! The role, names and mappings of every process, followed from fork to exec, and kept after its end, because
//! records of it may still arrive.

use std::collections::HashMap;
use std::fs;
use std::rc::Rc;

use crate::plan::Root;

/// Threads of the kernel descend from this one.
const KTHREADD: u32 = 2;
pub const OTHER: &str = "other";
const KERNEL: &str = "kernel";
const IDLE: &str = "idle";

/// A piece of a file, or of nothing, mapped to be executed.
#[derive(Clone, Debug)]
struct Mapping {
    start: u64,
    end: u64,
    offset: u64,
    path: Rc<str>,
}

#[derive(Clone, Debug)]
struct Process {
    role: Rc<str>,
    /// In the order of addresses; shared by parent and child until one of them changes it.
    mappings: Rc<Vec<Mapping>>,
}

/// All processes of the machine.
pub struct Processes {
    roots: HashMap<u32, Rc<str>>,
    by_pid: HashMap<u32, Process>,
    /// Process and name of a thread.
    threads: HashMap<u32, (u32, Rc<str>)>,
    other: Rc<str>,
}

impl Processes {
    /// Those that run now. Roles: of the roots and all below them; kernel; idle; other.
    pub fn running(roots: &[Root]) -> Processes {
        let mut roles: HashMap<u32, Rc<str>> =
            roots.iter().map(|root| (root.pid, Rc::from(root.role.as_str()))).collect();
        roles.entry(KTHREADD).or_insert_with(|| Rc::from(KERNEL));
        roles.insert(0, Rc::from(IDLE));
        let mut found = Processes {
            roots: roles,
            by_pid: HashMap::new(),
            threads: HashMap::from([(0, (0, Rc::from("swapper")))]),
            other: Rc::from(OTHER),
        };
        let mut parents: Vec<(u32, u32)> = Vec::new();
        for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
            if let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok())
                && let Some(parent) = parent_of(pid)
            {
                parents.push((pid, parent));
                found.read_threads(pid);
            }
        }
        let parent_of: HashMap<u32, u32> = parents.iter().copied().collect();
        found.add(0, Rc::from(IDLE), Rc::default());
        for (pid, _) in parents {
            let role = found.nearest_role(pid, &parent_of);
            found.add(pid, role, Rc::new(mappings_of(pid)));
        }
        found
    }

    fn nearest_role(&self, pid: u32, parents: &HashMap<u32, u32>) -> Rc<str> {
        let mut at = Some(pid);
        while let Some(here) = at.filter(|pid| *pid != 0) {
            if let Some(role) = self.roots.get(&here) {
                return role.clone();
            }
            at = parents.get(&here).copied();
        }
        self.other.clone()
    }

    fn add(&mut self, pid: u32, role: Rc<str>, mappings: Rc<Vec<Mapping>>) {
        self.by_pid.insert(pid, Process { role, mappings });
    }

    fn read_threads(&mut self, pid: u32) {
        for entry in fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten() {
            if let Some(tid) = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok())
                && let Ok(name) = fs::read_to_string(entry.path().join("comm"))
            {
                self.threads.insert(tid, (pid, Rc::from(name.trim_end())));
            }
        }
    }

    /// A new thread, of a new process where the pids differ: it is its parent's copy.
    pub fn forked(&mut self, pid: u32, tid: u32, parent: u32, parent_tid: u32) {
        let name = self.name(parent_tid);
        self.threads.insert(tid, (pid, name));
        if pid != parent {
            let origin = self.by_pid.get(&parent);
            let role = self.roots.get(&pid).or(origin.map(|process| &process.role)).unwrap_or(&self.other);
            let (role, mappings) =
                (role.clone(), origin.map(|process| process.mappings.clone()).unwrap_or_default());
            self.add(pid, role, mappings);
        }
    }

    /// A new name of a thread; exec clears the mappings of the process.
    pub fn named(&mut self, pid: u32, tid: u32, name: &str, exec: bool) {
        self.threads.insert(tid, (pid, Rc::from(name)));
        if exec && let Some(process) = self.by_pid.get_mut(&pid) {
            process.mappings = Rc::default();
        }
    }

    /// A new executable mapping; it replaces the mappings that it overlaps.
    pub fn mapped(&mut self, pid: u32, start: u64, bytes: u64, offset: u64, path: &str) {
        let other = self.other.clone();
        let process =
            self.by_pid.entry(pid).or_insert_with(|| Process { role: other, mappings: Rc::default() });
        let end = start.saturating_add(bytes);
        let mappings = Rc::make_mut(&mut process.mappings);
        mappings.retain(|mapping| mapping.end <= start || mapping.start >= end);
        let place = mappings.partition_point(|mapping| mapping.start < start);
        mappings.insert(place, Mapping { start, end, offset, path: Rc::from(path) });
    }

    /// The role of a process; `other` for an unknown one.
    pub fn role(&self, pid: u32) -> Rc<str> {
        self.by_pid.get(&pid).map_or_else(|| self.other.clone(), |process| process.role.clone())
    }

    /// The process of a thread.
    pub fn process_of(&self, tid: u32) -> u32 {
        self.threads.get(&tid).map_or(tid, |(pid, _)| *pid)
    }

    /// A thread's name. Workers of the kernel are named by their kind alone: `kworker`.
    pub fn name(&self, tid: u32) -> Rc<str> {
        let Some((pid, name)) = self.threads.get(&tid) else { return Rc::from("unknown") };
        match self.by_pid.get(pid) {
            Some(process) if &*process.role == KERNEL => Rc::from(name.split('/').next().unwrap_or(name)),
            _ => name.clone(),
        }
    }

    /// The file that an address of a process comes from, and its place in it.
    pub fn place(&self, pid: u32, address: u64) -> Option<(Rc<str>, u64)> {
        let mappings = &self.by_pid.get(&pid)?.mappings;
        let mapping = mappings.get(mappings.partition_point(|m| m.start <= address).checked_sub(1)?)?;
        (address < mapping.end).then(|| (mapping.path.clone(), address - mapping.start + mapping.offset))
    }
}

fn parent_of(pid: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // the name is in brackets and may contain any character
    stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
}

fn mappings_of(pid: u32) -> Vec<Mapping> {
    let text = fs::read_to_string(format!("/proc/{pid}/maps")).unwrap_or_default();
    text.lines().filter_map(mapping).collect()
}

/// A line of /proc/PID/maps, if it may be executed.
fn mapping(line: &str) -> Option<Mapping> {
    let mut words = line.split_ascii_whitespace();
    let (start, end) = words.next()?.split_once('-')?;
    let executable = words.next()?.contains('x');
    let offset = words.next()?;
    let hex = |text| u64::from_str_radix(text, 16).ok();
    // device and inode, then the path, which may hold blanks
    let path = line.find('/').map_or_else(|| words.nth(2).unwrap_or("//anon"), |at| &line[at..]);
    executable.then_some(Mapping {
        start: hex(start)?,
        end: hex(end)?,
        offset: hex(offset)?,
        path: path.into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(roots: &[(u32, &str)]) -> Processes {
        let roots: Vec<Root> =
            roots.iter().map(|(pid, role)| Root { pid: *pid, role: role.to_string() }).collect();
        Processes::running(&roots)
    }

    #[test]
    fn a_child_has_the_role_of_its_nearest_root() {
        let me = std::process::id();
        let mut processes = of(&[(1, "engine"), (me, "server"), (4_000_003, "monitors")]);
        assert_eq!(&*processes.role(me), "server");
        processes.forked(4_000_001, 4_000_001, me, me);
        processes.forked(4_000_002, 4_000_002, 4_000_001, 4_000_001);
        processes.forked(4_000_003, 4_000_003, me, me);
        assert_eq!(&*processes.role(4_000_002), "server");
        assert_eq!(&*processes.role(4_000_003), "monitors");
        assert_eq!(&*processes.role(4_000_009), "other");
        assert_eq!(&*processes.role(0), "idle");
    }

    #[test]
    fn a_forked_process_has_its_parents_memory_until_it_maps_its_own() {
        let mut processes = of(&[]);
        processes.mapped(4_000_001, 0x1000, 0x1000, 0x200, "/bin/parent");
        processes.forked(4_000_002, 4_000_002, 4_000_001, 4_000_001);
        processes.mapped(4_000_002, 0x1800, 0x1000, 0, "/bin/own");
        assert_eq!(processes.place(4_000_001, 0x1010), Some(("/bin/parent".into(), 0x210)));
        assert_eq!(processes.place(4_000_002, 0x1810), Some(("/bin/own".into(), 0x10)));
        assert_eq!(processes.place(4_000_002, 0x1010), None);
        processes.named(4_000_002, 4_000_002, "new", true);
        assert_eq!(processes.place(4_000_002, 0x1810), None);
        assert_eq!(&*processes.name(4_000_002), "new");
    }

    #[test]
    fn lines_of_maps_are_read() {
        let found = mapping("55d0-55e0 r-xp 00002000 08:01 17                         /opt/a b/postgres");
        let found = found.expect("executable");
        assert_eq!(
            (found.start, found.end, found.offset, &*found.path),
            (0x55d0, 0x55e0, 0x2000, "/opt/a b/postgres")
        );
        assert!(mapping("55d0-55e0 rw-p 00002000 08:01 17 /opt/x").is_none());
        assert_eq!(&*mapping("1000-2000 r-xp 00000000 00:00 0 [vdso]").expect("executable").path, "[vdso]");
    }
}
