//! The behaviour of threads: wake up, finish a burst, sleep, fork, exit.

use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

use super::Sim;
use super::agenda::Event;
use crate::machine::thread::{State, Thread};
use crate::tables::class::Reason;

impl Sim {
    /// A sleep ends, or the thread comes.
    pub fn wake(&mut self, id: u32) {
        let thread = &mut self.threads[id as usize];
        let group = &mut self.groups[thread.group as usize];
        if thread.state == State::Absent {
            thread.state = State::Sleeping;
            thread.since_ns = self.now_ns;
            let cpupri = thread.standing.cpupri;
            self.reprioritise(id, Reason::Start, cpupri);
        } else {
            group.counts.settle(thread, self.now_ns);
            self.return_to_user(id);
        }
        let thread = &mut self.threads[id as usize];
        let group = &mut self.groups[thread.group as usize];
        thread.standing.woken(&self.tables);
        thread.to_back = false;
        thread.work_ns = group.cpu.draw_ns(&mut thread.rng);
        thread.due_ns = self.now_ns;
        let front = thread
            .standing
            .class
            .front()
            .unwrap_or(thread.left_tick == Some(self.now_ns / self.costs.tick_ns));
        self.queue_anew(id, front);
    }

    /// A thread that was not runnable becomes so.
    fn queue_anew(&mut self, id: u32, front: bool) {
        let thread = &mut self.threads[id as usize];
        thread.state = State::Runnable;
        thread.runnable_ns = self.now_ns;
        let cpu = self.place(id, front);
        self.enqueue(id, cpu, front);
    }

    fn return_to_user(&mut self, id: u32) {
        let thread = &mut self.threads[id as usize];
        let from = thread.standing.cpupri;
        if thread.standing.return_to_user(&self.tables) {
            self.reprioritise(id, Reason::Returned, from);
        }
    }

    /// The running thread has done its burst.
    pub fn burst_ended(&mut self, cpu: u32) {
        self.charge(cpu, false);
        let id = self.cpus[cpu as usize].running;
        let thread = &mut self.threads[id as usize];
        let group = &mut self.groups[thread.group as usize];
        let forks =
            group.children_left > 0 && !thread.child && !thread.forked && thread.rng.random_bool(group.fork);
        if forks {
            self.fork(cpu, id);
            return;
        }
        thread.forked = false;
        self.record.done(thread.group, id, self.now_ns, self.now_ns - thread.due_ns);
        if thread.child {
            group.children_left += 1;
            self.leave(cpu, true);
            self.threads[id as usize].state = State::Absent;
            self.free.push(id);
            self.switch(cpu);
            return;
        }
        let sleep_ns = group.sleep.draw_ns(&mut thread.rng);
        if sleep_ns <= 0.0 {
            thread.due_ns = self.now_ns;
            let burst_ns = group.cpu.draw_ns(&mut thread.rng);
            self.cpus[cpu as usize].work_ns += burst_ns;
            self.arm(cpu);
            return;
        }
        self.return_to_user(id);
        self.leave(cpu, true);
        let thread = &mut self.threads[id as usize];
        thread.state = State::Sleeping;
        self.groups[thread.group as usize].counts.voluntary += 1;
        self.agenda.add(self.now_ns + sleep_ns.ceil() as u64, Event::Wake { thread: id });
        self.switch(cpu);
    }

    /// The running thread forks at the end of its burst: the child has one burst to do, the parent
    /// goes behind it and sleeps when it next gets a CPU.
    fn fork(&mut self, cpu: u32, parent: u32) {
        let now_ns = self.now_ns;
        let thread = &mut self.threads[parent as usize];
        let group = &mut self.groups[thread.group as usize];
        group.children_left -= 1;
        group.counts.forks += 1;
        group.counts.voluntary += 1;
        let from = thread.standing.cpupri;
        let standing = thread.standing.fork(&self.tables);
        let mut rng = SmallRng::from_rng(&mut thread.rng);
        let work_ns = group.cpu.draw_ns(&mut rng);
        let mut child = Thread::new(thread.group, standing, cpu, thread.home, rng);
        (child.child, child.work_ns, child.due_ns, child.since_ns) = (true, work_ns, now_ns, now_ns);
        thread.forked = true;
        self.reprioritise(parent, Reason::Forked, from);
        self.leave(cpu, true);
        let id = self.free.pop().unwrap_or(self.threads.len() as u32);
        if id as usize == self.threads.len() {
            self.threads.push(child);
        } else {
            self.threads[id as usize] = child;
        }
        for (id, place) in [(id, true), (parent, false)] {
            let thread = &mut self.threads[id as usize];
            thread.state = State::Runnable;
            thread.runnable_ns = now_ns;
            let target = if place { self.place(id, false) } else { cpu };
            if target == cpu {
                // the CPU looks when both are queued: the child may be its first choice
                self.insert(id, cpu, false);
            } else {
                self.enqueue(id, target, false);
            }
        }
        self.switch(cpu);
        self.offer(id);
        self.offer(parent);
    }
}
