//! The simulated machine: its state, and its events in the order of time.
//!
//! Nothing happens at a clock tick unless a quantum ends at it: a running thread's expiry is known
//! when it gets the CPU. (The kernel's other check at each tick, for a better thread in the CPU's own
//! queue, never finds one that has not requested the CPU when it was queued.)

pub mod agenda;
mod behaviour;
mod placing_and_stealing;
pub mod population;
mod switching;
mod update;

use crate::machine::costs::Costs;
use crate::machine::queue::{IDLE, RunQueue};
use crate::machine::reload::{Chip, Reload};
use crate::machine::thread::{NONE, State, Thread};
use crate::machine::topology::Topology;
use crate::plan::Plan;
use crate::record::Record;
use crate::record::trace::{Change, Trace};
use crate::tables::class::{Reason, Tables};
use agenda::{Agenda, Event};
use population::{GroupState, populate};
use steelyard_engine::error::PlanError;

/// One CPU, with the stint of its running thread.
#[derive(Debug, Clone, Default)]
pub struct Cpu {
    pub queue: RunQueue,
    /// [`NONE`] when idle.
    pub running: u32,
    /// The running thread is to give the CPU up.
    pub surrender: bool,
    pub ast_pending: bool,
    /// Numbers of the stint and of the latest armed event: older events of the agenda are void.
    pub stint: u32,
    pub serial: u32,
    /// The running thread has been charged up to this tick.
    pub tick: u64,
    pub start_ns: u64,
    /// Useful work begins after the direct cost of the switch.
    pub work_start_ns: u64,
    /// Work until the burst's end, from the start of the stint.
    pub work_ns: f64,
    pub reload: Reload,
    pub missing_lines: f64,
    /// Stall for one line here.
    pub line_ns: f64,
    /// The priority was the same since.
    pub traced_ns: u64,
}

#[derive(Debug, Clone, Copy)]
pub struct PartitionState {
    pub queued: u32,
    pub idle: u32,
    /// The earliest look for work on the agenda.
    pub steal_ns: u64,
}

/// A machine with its threads at one moment of simulated time.
#[derive(Debug)]
pub struct Sim {
    pub now_ns: u64,
    pub end_ns: u64,
    pub costs: Costs,
    pub tables: Tables,
    pub topology: Topology,
    pub cpus: Vec<Cpu>,
    /// Of each CPU the highest priority that runs or waits there.
    pub busy: Vec<i16>,
    pub chips: Vec<Chip>,
    pub partitions: Vec<PartitionState>,
    pub groups: Vec<GroupState>,
    pub threads: Vec<Thread>,
    /// Threads that exited, to be used again.
    pub free: Vec<u32>,
    pub agenda: Agenda,
    pub record: Record,
    pub trace: Trace,
    /// Events handled, dispatches among them.
    pub events: u64,
    update_marker: usize,
}

impl Sim {
    /// The machine at time 0, before the first thread arrives. Errors: the tables or the trace of the plan are wrong.
    pub fn new(plan: &Plan) -> Result<Self, PlanError> {
        let tables = plan.tables()?;
        let topology = Topology::new(plan);
        let costs = Costs::new(plan);
        let (groups, threads, starts) = populate(plan, &topology, &tables, costs);
        let cpu = Cpu { running: NONE, ..Cpu::default() };
        let chips = topology.places.iter().map(|place| place.chip + 1).max().unwrap_or(1);
        let partitions = topology.partitions.iter().map(|partition| PartitionState {
            queued: 0,
            idle: partition.cpus().count() as u32,
            steal_ns: u64::MAX,
        });
        let end_ns = ((plan.warm_up_s + plan.measure_s) * 1e9).round() as u64;
        let mut sim = Self {
            now_ns: 0,
            end_ns,
            costs,
            cpus: vec![cpu; topology.places.len()],
            busy: vec![IDLE; topology.places.len()],
            chips: vec![Chip::default(); chips as usize],
            partitions: partitions.collect(),
            record: Record::new(plan, threads.len()),
            trace: Trace::new(plan, &starts)?,
            groups,
            threads,
            free: Vec::new(),
            agenda: Agenda::default(),
            events: 0,
            update_marker: 0,
            tables,
            topology,
        };
        sim.schedule(plan, &starts);
        Ok(sim)
    }

    fn schedule(&mut self, plan: &Plan, starts: &[u32]) {
        for (group, start) in plan.groups.iter().zip(starts) {
            for number in 0..group.count {
                let part = f64::from(number) / f64::from(group.count);
                let at_s = group.arrive.at_s + group.arrive.over_s * part;
                self.agenda.add((at_s * 1e9) as u64, Event::Wake { thread: start + number });
            }
        }
        if self.costs.update_ns > 0 {
            self.agenda.add(self.costs.update_ns, Event::Update);
        }
        self.agenda.add(self.costs.sample_ns, Event::Sample);
    }

    /// Handles the next event; false at the end of the time.
    pub fn step(&mut self) -> bool {
        let Some((at_ns, event)) = self.agenda.next(self.end_ns) else {
            self.now_ns = self.end_ns;
            self.sample();
            return false;
        };
        self.now_ns = at_ns;
        self.events += 1;
        match event {
            Event::Burst { cpu, serial } if self.cpus[cpu as usize].serial == serial => self.burst_ended(cpu),
            Event::Expiry { cpu, serial } if self.cpus[cpu as usize].serial == serial => self.expired(cpu),
            Event::Ast { cpu, stint } if self.cpus[cpu as usize].stint == stint => self.ast(cpu),
            Event::Burst { .. } | Event::Expiry { .. } | Event::Ast { .. } => self.events -= 1,
            Event::Wake { thread } => self.wake(thread),
            Event::Steal { partition } => self.steal(partition),
            Event::Update => self.update(),
            Event::Sample => {
                self.sample();
                self.agenda.add(self.now_ns + self.costs.sample_ns, Event::Sample);
            }
        }
        true
    }

    /// Number of the present tick.
    pub fn tick(&self) -> u64 {
        self.now_ns / self.costs.tick_ns
    }

    /// Takes the global priority from the thread's standing, which has just changed.
    pub fn reprioritise(&mut self, id: u32, reason: Reason, from: u8) {
        let thread = &mut self.threads[id as usize];
        self.groups[thread.group as usize].counts.settle(thread, self.now_ns);
        let priority = thread.standing.priority();
        let change = Change {
            t_ns: self.now_ns,
            thread: id,
            reason,
            from,
            to: thread.standing.cpupri,
            priority,
            quantum_ticks: thread.standing.quantum(&self.tables),
        };
        if thread.state == State::Running && thread.priority != priority {
            let cpu = thread.cpu;
            self.trace_stint(cpu);
            self.threads[id as usize].priority = priority;
            self.refresh(cpu);
        } else {
            thread.priority = priority;
        }
        self.trace.change(change);
    }

    fn sample(&mut self) {
        for group in &mut self.groups {
            group.counts.runnable = 0;
        }
        for thread in &mut self.threads {
            let counts = &mut self.groups[thread.group as usize].counts;
            counts.settle(thread, self.now_ns);
            counts.runnable += u64::from(matches!(thread.state, State::Runnable | State::Running));
        }
        let counts = self.groups.iter_mut().map(|group| &mut group.counts);
        self.record.sample(self.now_ns, counts);
    }
}
