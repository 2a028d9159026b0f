//! CPUs, chips, latency groups and partitions (processor sets) of the simulated machine.

use crate::plan::Plan;
use crate::plan::machine::Machine;

/// Where one CPU is.
#[derive(Debug, Clone, Copy)]
pub struct Place {
    pub chip: u32,
    pub lgroup: u32,
    pub partition: u32,
    /// Place in its partition's list of its latency group.
    pub index: u32,
    /// Next CPU of the same latency group within the partition; of the partition where it is alone.
    pub next: u32,
}

/// CPUs that dispatch for themselves: a processor set, or all that are in none.
#[derive(Debug, Clone)]
pub struct Partition {
    pub name: Option<String>,
    /// CPUs by latency group; a group without CPUs here is empty.
    pub lgroups: Vec<Vec<u32>>,
}

impl Partition {
    /// Latency groups that have CPUs here, from `home` on: the nearest first.
    pub fn near(&self, home: u32) -> impl Iterator<Item = &[u32]> {
        let count = self.lgroups.len();
        (0..count)
            .map(move |step| self.lgroups[(home as usize + step) % count].as_slice())
            .filter(|cpus| !cpus.is_empty())
    }

    pub fn cpus(&self) -> impl Iterator<Item = u32> {
        self.lgroups.iter().flatten().copied()
    }
}

#[derive(Debug, Clone)]
pub struct Topology {
    pub places: Vec<Place>,
    pub partitions: Vec<Partition>,
}

impl Topology {
    pub fn new(plan: &Plan) -> Self {
        let Machine { cpus, cpus_per_chip, lgroups, .. } = plan.machine;
        let lgroup = |cpu: u32| (u64::from(cpu) * u64::from(lgroups) / u64::from(cpus)) as u32;
        let mut owner: Vec<Option<&String>> = vec![None; cpus as usize];
        for (name, members) in &plan.sets {
            for cpu in members {
                owner[*cpu as usize] = Some(name);
            }
        }
        let names = std::iter::once(None).chain(plan.sets.keys().map(Some));
        let partitions: Vec<Partition> = names
            .map(|name| {
                let mut by_lgroup = vec![Vec::new(); lgroups as usize];
                for cpu in (0..cpus).filter(|cpu| owner[*cpu as usize] == name) {
                    by_lgroup[lgroup(cpu) as usize].push(cpu);
                }
                Partition { name: name.cloned(), lgroups: by_lgroup }
            })
            .collect();
        let mut places = vec![Place { chip: 0, lgroup: 0, partition: 0, index: 0, next: 0 }; cpus as usize];
        for (number, partition) in partitions.iter().enumerate() {
            let all: Vec<u32> = partition.cpus().collect();
            for (index, cpu) in all.iter().copied().enumerate() {
                let near = &partition.lgroups[lgroup(cpu) as usize];
                let at = near.iter().position(|other| *other == cpu).unwrap_or(0);
                let next =
                    if near.len() > 1 { near[(at + 1) % near.len()] } else { all[(index + 1) % all.len()] };
                places[cpu as usize] = Place {
                    chip: cpu / cpus_per_chip,
                    lgroup: lgroup(cpu),
                    partition: number as u32,
                    index: at as u32,
                    next,
                };
            }
        }
        Self { places, partitions }
    }

    /// Number of the partition of a set, or of the CPUs in none.
    pub fn partition(&self, set: Option<&String>) -> u32 {
        self.partitions.iter().position(|partition| partition.name.as_ref() == set).unwrap_or(0) as u32
    }
}
