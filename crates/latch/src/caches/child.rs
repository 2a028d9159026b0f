//! A child latch and its counters: one number is counted under the latch, all others after the release.

use super::worker::Worker;
use crate::primitives::counters::Count;
use crate::primitives::slot::{Me, Mode, Wait};
use crate::protocols::Latch;

/// A latch and the count that it guards.
#[repr(align(128))]
pub struct Child<L> {
    latch: L,
    number: usize,
    /// Written by exclusive holders only, never by an atomic addition: lost updates show.
    guarded: Count,
}

impl<L: Latch> Child<L> {
    pub fn new(number: usize) -> Self {
        Self { latch: L::new(number as u32), number, guarded: Count::default() }
    }

    /// Gets counted under the latch, without atomic additions.
    pub fn guarded(&self) -> u64 {
        self.guarded.get()
    }

    /// After the death of worker `dead` (an id).
    pub fn mend(&self, dead: u32, me: &Me) {
        self.latch.mend(dead, me);
    }

    /// The strongest sharing that the protocol has for a reader or an updater.
    pub fn mode(update: bool) -> Mode {
        if update || !L::FACTS.shared { Mode::Exclusive } else { Mode::Shared }
    }

    /// One get: `body` under the latch, counted where counters are on.
    ///
    /// Under the latch there is one number, read after the get and written before the release, so that
    /// an overlap anywhere within the hold loses an update. All else is counted after the release.
    #[inline]
    pub fn get<R>(&self, mode: Mode, worker: &Worker, mut body: impl FnMut(Wait) -> R) -> R {
        let guarding = worker.counting && mode == Mode::Exclusive;
        let mut before = 0;
        let (result, wait) = self.latch.section(mode, &worker.me, |wait| {
            if guarding {
                before = self.guarded.get();
            }
            let result = body(wait);
            if guarding {
                self.guarded.set(before + 1);
            }
            result
        });
        if guarding {
            worker.counters[self.number].got_exclusive(before, wait);
        } else if worker.counting {
            worker.counters[self.number].got_shared(wait);
        }
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::caches::fixture::Fixture;
    use crate::primitives::slot::Slot;
    use crate::protocols::Facts;
    use crate::protocols::oracle_x::OracleX;

    const WORKERS: usize = 3;

    /// Every sequence of six holders.
    #[test]
    fn a_hand_over_is_an_exclusive_get_whose_previous_holder_was_another() {
        for sequence in 0..WORKERS.pow(6) {
            let holders: Vec<usize> =
                (0..6_u32).map(|place| sequence / WORKERS.pow(place) % WORKERS).collect();
            let (slots, fixtures) = (Vec::from_iter((0..WORKERS).map(|_| Slot::default())), fixtures());
            let child = Child::<OracleX>::new(0);
            for holder in &holders {
                child.get(Mode::Exclusive, &fixtures[*holder].worker(*holder, &slots, 0, true), |_| ());
            }
            let counted: u64 = fixtures.iter().map(|fixture| fixture.counters[0].hand_overs.get()).sum();
            let changes = holders.windows(2).filter(|pair| pair[0] != pair[1]).count();
            assert_eq!(counted, changes as u64, "{holders:?}");
            assert_eq!(child.guarded(), exclusive(&fixtures));
        }
    }

    #[test]
    fn what_was_counted_before_measuring_stays_in_the_whole() {
        let (slots, fixtures) = ([Slot::default()], fixtures());
        let (child, worker) = (Child::<OracleX>::new(0), fixtures[0].worker(0, &slots, 0, true));
        for _ in 0..2 {
            child.get(Mode::Exclusive, &worker, |_| ());
            fixtures[0].counters[0].restart();
        }
        child.get(Mode::Exclusive, &worker, |_| ());
        assert_eq!((fixtures[0].counters[0].gets(), exclusive(&fixtures), child.guarded()), (1, 3, 3));
    }

    /// Lets everyone in.
    struct Open;

    impl Latch for Open {
        const FACTS: Facts = <OracleX as Latch>::FACTS;

        fn new(_index: u32) -> Self {
            Self
        }

        fn section<R>(&self, _mode: Mode, _me: &Me, mut body: impl FnMut(Wait) -> R) -> (R, Wait) {
            (body(Wait::default()), Wait::default())
        }
    }

    #[test]
    fn holders_that_overlap_leave_less_under_the_latch_than_they_got() {
        let (slots, fixtures) = ([Slot::default(), Slot::default()], fixtures());
        let child = Child::<Open>::new(0);
        let [one, other] = [0, 1].map(|number| fixtures[number].worker(number, &slots, 0, true));
        child.get(Mode::Exclusive, &one, |_| child.get(Mode::Exclusive, &other, |_| ()));
        assert_eq!((child.guarded(), exclusive(&fixtures)), (1, 2));
    }

    fn fixtures() -> [Fixture; WORKERS] {
        std::array::from_fn(|_| Fixture::default())
    }

    fn exclusive(fixtures: &[Fixture]) -> u64 {
        fixtures.iter().map(|fixture| fixture.counters[0].exclusive()).sum()
    }
}
