//! The queue that a thread goes to, and the thread that an idle CPU steals.

use super::Sim;
use super::agenda::Event;
use crate::machine::queue::IDLE;
use crate::machine::thread::{NONE, State};

/// From this priority on a queue may be longer by two before the next CPU's is looked at.
const MATCH_PRIORITY: i16 = 16;
const MATCH_DIFFERENCE: u32 = 2;

impl Sim {
    /// The CPU whose queue suits a thread, at its front or back.
    pub fn place(&self, id: u32, front: bool) -> u32 {
        let thread = &self.threads[id as usize];
        if front {
            let higher = self.cpus[thread.cpu as usize].queue.highest() > thread.priority;
            return if higher { self.lowest(id) } else { thread.cpu };
        }
        let warm = thread.left_tick.is_some_and(|tick| self.tick() - tick <= self.costs.rechoose_ticks);
        let at_home = self.topology.places[thread.cpu as usize].lgroup == thread.home;
        let cpu = if warm && at_home { thread.cpu } else { self.lowest(id) };
        self.balance(cpu, thread.priority)
    }

    fn balance(&self, cpu: u32, priority: i16) -> u32 {
        let mut length = self.cpus[cpu as usize].queue.len_at(priority);
        if priority >= MATCH_PRIORITY {
            length = length.saturating_sub(MATCH_DIFFERENCE);
        }
        let next = self.topology.places[cpu as usize].next;
        if length > 0 && self.cpus[next as usize].queue.len_at(priority) < length { next } else { cpu }
    }

    /// The CPU with the lowest priority, the thread's home first, if it would run there at once;
    /// the best at home if it would nowhere.
    fn lowest(&self, id: u32) -> u32 {
        let thread = &self.threads[id as usize];
        let partition = &self.topology.partitions[self.groups[thread.group as usize].partition as usize];
        let hint = self.topology.places[thread.cpu as usize];
        let mut at_home = None;
        for cpus in partition.near(thread.home) {
            let near = self.topology.places[cpus[0] as usize].lgroup == hint.lgroup;
            let start = if near { hint.index as usize } else { 0 };
            let mut best = (i16::MAX, NONE);
            for cpu in cpus[start..].iter().chain(&cpus[..start]).copied() {
                let busy = self.busy[cpu as usize];
                if busy < best.0 {
                    best = (busy, cpu);
                    if busy == IDLE {
                        return cpu;
                    }
                }
            }
            if best.0 < thread.priority {
                return best.1;
            }
            at_home.get_or_insert(best.1);
        }
        at_home.unwrap_or(thread.cpu)
    }

    /// Queues a runnable thread and lets the CPU, or an idle one, know.
    pub fn enqueue(&mut self, id: u32, cpu: u32, front: bool) {
        let before = self.cpus[cpu as usize].queue.highest();
        self.insert(id, cpu, front);
        let running = self.cpus[cpu as usize].running;
        if running == NONE {
            self.switch(cpu);
            return;
        }
        let priority = self.threads[id as usize].priority;
        if priority > before && priority > self.threads[running as usize].priority {
            self.cpus[cpu as usize].surrender = true;
            self.request_ast(cpu);
        }
        self.offer(id);
    }

    pub fn insert(&mut self, id: u32, cpu: u32, front: bool) {
        let thread = &mut self.threads[id as usize];
        thread.queued = cpu;
        thread.queued_ns = self.now_ns;
        let priority = thread.priority;
        self.cpus[cpu as usize].queue.push(&mut self.threads, id, front);
        self.partitions[self.topology.places[cpu as usize].partition as usize].queued += 1;
        self.busy[cpu as usize] = self.busy[cpu as usize].max(priority);
    }

    pub fn unqueue(&mut self, id: u32) {
        let cpu = self.threads[id as usize].queued;
        self.cpus[cpu as usize].queue.remove(&mut self.threads, id);
        let partition = self.topology.places[cpu as usize].partition;
        self.partitions[partition as usize].queued -= 1;
        self.refresh(cpu);
        // what it hid from idle CPUs, which look at the highest of a queue, shows now
        let next = self.cpus[cpu as usize].queue.highest();
        if next != IDLE && self.partitions[partition as usize].idle > 0 {
            self.look_at(partition, self.stealable_at(cpu, next).map_or_else(|at_ns| at_ns, |_| self.now_ns));
        }
    }

    /// When a queued thread may be stolen: at once, unless it waits where it has just run.
    fn stealable_ns(&self, id: u32) -> u64 {
        let thread = &self.threads[id as usize];
        let wait_ns = if thread.cpu == thread.queued { self.costs.nosteal_ns } else { 0 };
        thread.queued_ns + wait_ns
    }

    /// Has idle CPUs of the partition, if there are any, look for a thread that is still queued.
    pub fn offer(&mut self, id: u32) {
        let thread = &self.threads[id as usize];
        let partition = self.groups[thread.group as usize].partition;
        if thread.state == State::Runnable && self.partitions[partition as usize].idle > 0 {
            self.look_at(partition, self.stealable_ns(id));
        }
    }

    fn look_at(&mut self, partition: u32, at_ns: u64) {
        let state = &mut self.partitions[partition as usize];
        if at_ns < state.steal_ns {
            state.steal_ns = at_ns;
            self.agenda.add(at_ns.max(self.now_ns), Event::Steal { partition });
        }
    }

    /// Every idle CPU of the partition looks for work.
    pub fn steal(&mut self, partition: u32) {
        if self.partitions[partition as usize].steal_ns > self.now_ns {
            return;
        }
        self.partitions[partition as usize].steal_ns = u64::MAX;
        let idle: Vec<u32> = self.topology.partitions[partition as usize]
            .cpus()
            .filter(|cpu| self.cpus[*cpu as usize].running == NONE)
            .collect();
        for cpu in idle {
            self.look_for_work(cpu);
        }
    }

    /// An idle CPU takes the highest thread that it may, from the nearest latency group that has one.
    pub fn look_for_work(&mut self, cpu: u32) {
        let place = self.topology.places[cpu as usize];
        if self.partitions[place.partition as usize].queued == 0 {
            return;
        }
        let mut later_ns = u64::MAX;
        let mut found = None;
        for cpus in self.topology.partitions[place.partition as usize].near(place.lgroup) {
            let mut best = IDLE;
            for victim in cpus {
                let highest = self.cpus[*victim as usize].queue.highest();
                if highest > best {
                    match self.stealable_at(*victim, highest) {
                        Ok(id) => (best, found) = (highest, Some(id)),
                        Err(at_ns) => later_ns = later_ns.min(at_ns),
                    }
                }
            }
            if found.is_some() {
                break;
            }
        }
        if let Some(id) = found {
            self.unqueue(id);
            self.groups[self.threads[id as usize].group as usize].counts.steals += 1;
            self.dispatch(cpu, id);
        } else if later_ns < u64::MAX {
            self.look_at(place.partition, later_ns);
        }
    }

    /// The first thread of a queue's priority that may be stolen now, or when one may.
    pub fn stealable_at(&self, cpu: u32, priority: i16) -> Result<u32, u64> {
        let mut id = self.cpus[cpu as usize].queue.first(priority);
        let mut later_ns = u64::MAX;
        while id != NONE {
            let at_ns = self.stealable_ns(id);
            if at_ns <= self.now_ns {
                return Ok(id);
            }
            later_ns = later_ns.min(at_ns);
            id = self.threads[id as usize].next;
        }
        Err(later_ns)
    }
}
