//! The part of one engine where several, on hosts of their own, do the work of one.
//!
//! Client n of all is client n / hosts of host n % hosts: whatever the number of hosts, the same clients with the
//! same random numbers exist, each once.

use serde::Deserialize;

/// The host, from 0, of so many. The default is the only engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Share {
    pub host: usize,
    pub hosts: usize,
}

impl Default for Share {
    fn default() -> Self {
        Self { host: 0, hosts: 1 }
    }
}

impl Share {
    /// Of so many clients, those of this host.
    pub fn clients(self, all: usize) -> usize {
        all.saturating_sub(self.host).div_ceil(self.hosts)
    }

    /// The number among all clients of this host's client.
    pub fn number(self, own: usize) -> usize {
        self.host + own * self.hosts
    }

    /// The number of this host's thread among the threads of all hosts, and their number, for so many clients.
    pub fn thread(self, own: usize, threads: usize, all_clients: usize) -> (usize, usize) {
        let of = |host: usize| threads.min(Self { host, ..self }.clients(all_clients));
        ((0..self.host).map(of).sum::<usize>() + own, (0..self.hosts).map(of).sum())
    }

    /// A number of one sequence that no other host uses.
    pub fn unique(self, own: u64) -> u64 {
        self.host as u64 + own * self.hosts as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_client_thread_and_number_belongs_to_one_host(
            hosts in 1usize..40, all in 1usize..500, threads in 1usize..9
        ) {
            let shares: Vec<Share> = (0..hosts).map(|host| Share { host, hosts }).collect();
            let mut clients: Vec<usize> =
                shares.iter().flat_map(|share| (0..share.clients(all)).map(|own| share.number(own))).collect();
            clients.sort_unstable();
            prop_assert_eq!(clients, (0..all).collect::<Vec<_>>());
            let mut taken = Vec::new();
            for share in &shares {
                for own in 0..threads.min(share.clients(all)) {
                    let (number, of) = share.thread(own, threads, all);
                    prop_assert!(number < of);
                    taken.push(number);
                }
            }
            taken.sort_unstable();
            prop_assert_eq!(taken.clone(), (0..taken.len()).collect::<Vec<_>>());
            prop_assert_eq!(shares[0].thread(0, threads, all).1, taken.len());
            let mut tags: Vec<u64> =
                shares.iter().flat_map(|share| (0..5).map(|own| share.unique(own))).collect();
            tags.sort_unstable();
            prop_assert_eq!(tags, (0..5 * hosts as u64).collect::<Vec<_>>());
        }
    }
}
