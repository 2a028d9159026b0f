//! The profile: samples by stack and role.

use std::collections::HashMap;
use std::fs;
use std::rc::Rc;

use crate::symbols::functions::Functions;
use crate::symbols::kernel::KernelSymbols;
use crate::symbols::processes::Processes;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Frame {
    Kernel(u64),
    User(Rc<str>, u64),
    /// The kernel kept no more frames: callers are missing.
    Cut,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Stack {
    point: usize,
    role: Rc<str>,
    name: Rc<str>,
    /// Innermost first.
    frames: Vec<Frame>,
}

/// Samples by stack.
pub struct Profile {
    samples: HashMap<Stack, u64>,
    /// Frames of a stack, kernel and user together (`kernel.perf_event_max_stack`).
    frames_max: usize,
}

impl Default for Profile {
    fn default() -> Profile {
        let limit = fs::read_to_string("/proc/sys/kernel/perf_event_max_stack").unwrap_or_default();
        // 127: PERF_MAX_STACK_DEPTH
        Profile { samples: HashMap::new(), frames_max: limit.trim().parse().unwrap_or(127) }
    }
}

/// One stack as text: the thread's name and its functions, outermost first, with `;` between;
/// functions of the kernel end in `_[k]`; `[cut]` stands for callers beyond the kernel's limit.
pub struct Folded {
    pub point: usize,
    pub role: Rc<str>,
    pub stack: String,
    pub samples: u64,
}

impl Profile {
    pub fn add(&mut self, point: usize, who: &Processes, pid: u32, tid: u32, kernel: &[u64], user: &[u64]) {
        // where no file holds an address, a program without frame pointers has lost its callers
        let known = user.iter().map_while(|address| who.place(pid, *address));
        let mut frames: Vec<Frame> = kernel
            .iter()
            .map(|address| Frame::Kernel(*address))
            .chain(known.map(|(path, offset)| Frame::User(path, offset)))
            .collect();
        if frames.len() >= self.frames_max {
            frames.push(Frame::Cut);
        }
        let stack = Stack { point, role: who.role(pid), name: who.name(tid), frames };
        *self.samples.entry(stack).or_default() += 1;
    }

    /// Stacks by name: those whose addresses differ within the same functions are one.
    pub fn folded(&self, kernel: Option<&KernelSymbols>) -> Vec<Folded> {
        let mut symbols = Functions::default();
        let mut found: HashMap<(usize, Rc<str>, String), u64> = HashMap::new();
        for (stack, samples) in &self.samples {
            let mut text = clean(&stack.name);
            let mut last: Rc<str> = Rc::from("");
            for frame in stack.frames.iter().rev() {
                let name: Rc<str> = match frame {
                    Frame::Kernel(address) => {
                        let name = kernel.and_then(|names| names.function(*address));
                        format!("{}_[k]", name.map_or("[kernel]", |(name, _)| name)).into()
                    }
                    Frame::User(path, offset) => symbols.function(path, *offset),
                    Frame::Cut => "[cut]".into(),
                };
                // a hundred callers without a name are one to the reader
                if !(name.starts_with('[') && name == last) {
                    text.push(';');
                    text.push_str(&clean(&name));
                }
                last = name;
            }
            *found.entry((stack.point, stack.role.clone(), text)).or_default() += samples;
        }
        let mut rows: Vec<Folded> = found
            .into_iter()
            .map(|((point, role, stack), samples)| Folded { point, role, stack, samples })
            .collect();
        rows.sort_by(|a, b| (a.point, &a.role, &a.stack).cmp(&(b.point, &b.role, &b.stack)));
        rows
    }
}

/// A name without the separators of names.
fn clean(name: &str) -> String {
    name.replace([';', '\n'], ":")
}
