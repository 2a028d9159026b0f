//! How a thread gets a CPU and leaves it.

use super::Sim;
use super::agenda::Event;
use crate::machine::queue::IDLE;
use crate::machine::reload::Reload;
use crate::machine::thread::{NONE, State};
use crate::record::trace::Interval;
use crate::tables::class::Reason;

impl Sim {
    /// Puts a thread that waits nowhere onto a CPU that runs nothing.
    pub fn dispatch(&mut self, cpu: u32, id: u32) {
        self.events += 1;
        let tick = self.tick();
        let place = self.topology.places[cpu as usize];
        let thread = &mut self.threads[id as usize];
        let group = &mut self.groups[thread.group as usize];
        group.counts.settle(thread, self.now_ns);
        thread.state = State::Running;
        if thread.cpu != cpu && thread.left_tick.is_some() {
            group.counts.migrations += 1;
        }
        thread.cpu = cpu;
        group.counts.switch_ns += self.costs.switch_ns;
        let chip = self.chips[place.chip as usize];
        let missing_lines =
            thread.footprint.missing_lines(place.chip, chip, group.wanted_lines, self.costs.cache_lines);
        let near = place.lgroup == thread.home;
        let line_ns = if near { self.costs.near_line_ns } else { self.costs.remote_line_ns };
        let (work_ns, priority) = (thread.work_ns, thread.priority);
        let on = &mut self.cpus[cpu as usize];
        on.running = id;
        on.surrender = false;
        on.ast_pending = false;
        on.stint = on.stint.wrapping_add(1);
        on.tick = tick;
        on.start_ns = self.now_ns;
        on.traced_ns = self.now_ns;
        on.work_start_ns = self.now_ns + self.costs.switch_ns;
        on.work_ns = work_ns;
        on.missing_lines = missing_lines;
        on.line_ns = line_ns;
        on.reload = Reload { tau_ns: missing_lines * line_ns };
        self.busy[cpu as usize] = priority.max(on.queue.highest());
        self.partitions[place.partition as usize].idle -= 1;
        self.arm(cpu);
    }

    /// Schedules the end of the burst or of the quantum, whichever is first.
    pub fn arm(&mut self, cpu: u32) {
        let on = &mut self.cpus[cpu as usize];
        let left = self.threads[on.running as usize].standing.timeleft.max(1);
        let expiry_ns = (on.tick + left as u64) * self.costs.tick_ns;
        let length_ns = on.work_ns + on.reload.stall_ns(on.work_ns);
        let end_ns = (on.work_start_ns + length_ns.ceil() as u64).max(self.now_ns);
        on.serial = on.serial.wrapping_add(1);
        let serial = on.serial;
        if end_ns <= expiry_ns {
            self.agenda.add(end_ns, Event::Burst { cpu, serial });
        } else {
            self.agenda.add(expiry_ns, Event::Expiry { cpu, serial });
        }
    }

    /// Charges the running thread the ticks since it was last charged; a tick at this very moment
    /// counts only when the clock has already run (`with_present`).
    pub fn charge(&mut self, cpu: u32, with_present: bool) {
        let now_ns = if with_present { self.now_ns } else { self.now_ns.saturating_sub(1) };
        let tick = now_ns / self.costs.tick_ns;
        let on = &mut self.cpus[cpu as usize];
        let ticks = tick.saturating_sub(on.tick);
        on.tick = on.tick.max(tick);
        let left = &mut self.threads[on.running as usize].standing.timeleft;
        *left = left.saturating_sub(i32::try_from(ticks).unwrap_or(i32::MAX));
    }

    /// The running thread leaves; `finished`: its burst is done. The caller sets its state.
    pub fn leave(&mut self, cpu: u32, finished: bool) {
        self.trace_stint(cpu);
        let tick = self.tick();
        let place = self.topology.places[cpu as usize];
        let on = &mut self.cpus[cpu as usize];
        let thread = &mut self.threads[on.running as usize];
        let group = &mut self.groups[thread.group as usize];
        group.counts.settle(thread, self.now_ns);
        let work_ns = if finished {
            on.work_ns
        } else {
            on.reload.work_ns(self.now_ns.saturating_sub(on.work_start_ns) as f64).min(on.work_ns)
        };
        thread.work_ns = (on.work_ns - work_ns).max(1.0);
        let stall_ns = on.reload.stall_ns(work_ns);
        group.counts.reload_ns += stall_ns;
        let loaded = if on.reload.tau_ns > 0.0 { stall_ns / on.reload.tau_ns } else { 1.0 };
        thread.footprint.resident_lines += on.missing_lines * loaded;
        let whole = Reload { tau_ns: group.wanted_lines * on.line_ns };
        let touched = if whole.tau_ns > 0.0 { whole.stall_ns(work_ns) / whole.tau_ns } else { 1.0 };
        let chip = &mut self.chips[place.chip as usize];
        chip.used_lines += group.wanted_lines * touched;
        thread.footprint.mark_lines = chip.used_lines;
        thread.left_tick = Some(tick);
        on.running = NONE;
        on.serial = on.serial.wrapping_add(1);
        on.stint = on.stint.wrapping_add(1);
        self.partitions[place.partition as usize].idle += 1;
        self.refresh(cpu);
    }

    /// A CPU that runs nothing takes the best thread of its queue, else steals, else stays idle.
    pub fn switch(&mut self, cpu: u32) {
        let queue = &self.cpus[cpu as usize].queue;
        let best = queue.highest();
        if best == IDLE {
            self.look_for_work(cpu);
        } else {
            let id = queue.first(best);
            self.unqueue(id);
            self.dispatch(cpu, id);
        }
    }

    /// Requests that the running thread enters the kernel.
    pub fn request_ast(&mut self, cpu: u32) {
        let on = &mut self.cpus[cpu as usize];
        if !on.ast_pending {
            on.ast_pending = true;
            let stint = on.stint;
            self.agenda.add(self.now_ns + self.costs.ast_ns, Event::Ast { cpu, stint });
        }
    }

    /// The quantum of the running thread ended at this tick.
    pub fn expired(&mut self, cpu: u32) {
        self.charge(cpu, true);
        let id = self.cpus[cpu as usize].running;
        let thread = &mut self.threads[id as usize];
        let from = thread.standing.cpupri;
        thread.standing.expire(&self.tables);
        thread.to_back = true;
        self.groups[thread.group as usize].counts.expiries += 1;
        self.reprioritise(id, Reason::Expired, from);
        self.cpus[cpu as usize].surrender = true;
        self.request_ast(cpu);
        self.arm(cpu);
    }

    /// The running thread is in the kernel: a priority that is due, then preemption.
    pub fn ast(&mut self, cpu: u32) {
        self.charge(cpu, true);
        self.cpus[cpu as usize].ast_pending = false;
        let id = self.cpus[cpu as usize].running;
        let thread = &mut self.threads[id as usize];
        let from = thread.standing.cpupri;
        if thread.standing.return_to_user(&self.tables) {
            self.reprioritise(id, Reason::Returned, from);
            let on = &mut self.cpus[cpu as usize];
            on.surrender |= self.threads[id as usize].priority < on.queue.highest();
        }
        if self.cpus[cpu as usize].surrender {
            self.preempt(cpu);
        } else {
            self.arm(cpu);
        }
    }

    fn preempt(&mut self, cpu: u32) {
        let tick = self.tick();
        let id = self.cpus[cpu as usize].running;
        self.cpus[cpu as usize].surrender = false;
        let thread = &mut self.threads[id as usize];
        let expired = std::mem::take(&mut thread.to_back);
        if expired {
            thread.standing.requeued(&self.tables);
        }
        let priority = thread.priority;
        thread.left_tick = Some(tick);
        let target = self.place(id, !expired);
        let best = self.cpus[cpu as usize].queue.highest();
        // it would be the first of its own queue again: no switch
        if target == cpu && (best < priority || best == priority && !expired) {
            self.arm(cpu);
            return;
        }
        self.leave(cpu, false);
        let thread = &mut self.threads[id as usize];
        thread.state = State::Runnable;
        thread.runnable_ns = self.now_ns;
        let counts = &mut self.groups[thread.group as usize].counts;
        counts.involuntary += 1;
        counts.quantum_switches += u64::from(expired);
        if target == cpu {
            self.insert(id, cpu, !expired);
            self.switch(cpu);
            self.offer(id);
        } else {
            self.enqueue(id, target, !expired);
            self.switch(cpu);
        }
    }

    /// Traces the part of the stint since the priority last changed.
    pub fn trace_stint(&mut self, cpu: u32) {
        let on = &mut self.cpus[cpu as usize];
        let start_ns = std::mem::replace(&mut on.traced_ns, self.now_ns);
        let (thread, end_ns) = (on.running, self.now_ns);
        let priority = self.threads[thread as usize].priority;
        self.trace.interval(Interval { cpu, thread, start_ns, end_ns, priority });
    }

    /// Updates the highest priority of a CPU.
    pub fn refresh(&mut self, cpu: u32) {
        let on = &self.cpus[cpu as usize];
        let running = if on.running == NONE { IDLE } else { self.threads[on.running as usize].priority };
        self.busy[cpu as usize] = running.max(on.queue.highest());
    }
}
