//! The compact NUMA-aware lock: MCS whose releaser prefers a waiter of its own group and sets those of
//! other groups aside; after `LOCAL_MAX` local hand-overs the others come first.
//!
//! Groups are workers modulo `groups`: the policy is exercised, not a NUMA machine. The paper draws the
//! end of local hand-overs at random; a count bounds the bypass and can be tested.

use super::{Facts, Held};
use crate::primitives::slot::{Me, Mode, Slot, Wait};
use crate::primitives::sync::{AtomicU32, Ordering, relax};

pub const LOCAL_MAX: u32 = 256;

pub struct Cna {
    tail: AtomicU32,
    /// Hand-overs within the group since the last to another; written by the holder.
    local: AtomicU32,
    index: u32,
}

/// Fields of the holder's own slot and of nodes not yet granted are the holder's to write.
fn get(word: &AtomicU32) -> u32 {
    word.load(Ordering::Relaxed)
}

fn set(word: &AtomicU32, value: u32) {
    word.store(value, Ordering::Relaxed);
}

impl Cna {
    /// The first waiter of the holder's group; those before it are set aside.
    fn local_waiter(&self, me: &Me, next: u32) -> Option<u32> {
        let group = me.group(me.id());
        if me.group(next) == group {
            return Some(next);
        }
        let (mut last, mut at) = (next, me.of(next).next.load(Ordering::Acquire));
        while at != 0 {
            if me.group(at) == group {
                let slot = me.slot();
                match get(&slot.passed_tail) {
                    0 => set(&slot.passed_head, next),
                    tail => set(&me.of(tail).next, next),
                }
                set(&me.of(last).next, 0);
                set(&slot.passed_tail, last);
                return Some(at);
            }
            (last, at) = (at, me.of(at).next.load(Ordering::Acquire));
        }
        None
    }

    fn grant(&self, to: &Slot, passed: (u32, u32)) {
        set(&to.passed_head, passed.0);
        set(&to.passed_tail, passed.1);
        to.locked.store(0, Ordering::Release);
    }
}

impl Held for Cna {
    const FACTS: Facts = Facts {
        name: "cna",
        source: "Dice and Kogan, Compact NUMA-aware locks, arXiv 1810.05600",
        processes: true,
        shared: false,
        misses: true,
        sleeps: true,
        spin: 0,
        spins: 1,
        in_turn: true,
        mends: false,
        children: true,
    };

    fn new(index: u32) -> Self {
        Self { tail: AtomicU32::new(0), local: AtomicU32::new(0), index }
    }

    #[inline]
    fn try_get(&self, _mode: Mode, me: &Me) -> bool {
        let slot = me.slot();
        set(&slot.next, 0);
        set(&slot.passed_head, 0);
        set(&slot.passed_tail, 0);
        self.tail.compare_exchange(0, me.id(), Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }

    fn wait_get(&self, _mode: Mode, me: &Me) -> Wait {
        let slot = me.slot();
        me.begin_wait(self.index);
        slot.locked.store(1, Ordering::Relaxed);
        let before = self.tail.swap(me.id(), Ordering::AcqRel);
        if before != 0 {
            me.of(before).next.store(me.id(), Ordering::Release);
            while slot.locked.load(Ordering::Acquire) == 1 {
                relax();
            }
        }
        me.end_wait();
        Wait::MISSED
    }

    fn release(&self, _mode: Mode, me: &Me) {
        let slot = me.slot();
        let mut next = slot.next.load(Ordering::Acquire);
        if next == 0 {
            let (head, tail) = (get(&slot.passed_head), get(&slot.passed_tail));
            if self.tail.compare_exchange(me.id(), tail, Ordering::AcqRel, Ordering::Relaxed).is_ok() {
                set(&self.local, 0);
                if head != 0 {
                    self.grant(me.of(head), (0, 0));
                }
                return;
            }
            while next == 0 {
                relax();
                next = slot.next.load(Ordering::Acquire);
            }
        }
        let local = get(&self.local);
        if local < LOCAL_MAX
            && let Some(waiter) = self.local_waiter(me, next)
        {
            set(&self.local, local + 1);
            self.grant(me.of(waiter), (get(&slot.passed_head), get(&slot.passed_tail)));
            return;
        }
        set(&self.local, 0);
        match get(&slot.passed_head) {
            0 => self.grant(me.of(next), (0, 0)),
            head => {
                me.of(get(&slot.passed_tail)).next.store(next, Ordering::Release);
                self.grant(me.of(head), (0, 0));
            }
        }
    }
}
