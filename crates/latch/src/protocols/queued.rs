//! One word and a FIFO list of sleepers: the common part of Oracle's latches and LWLock.
//!
//! A release wakes, it does not grant: woken workers compete with newcomers. The flag for waiters is
//! in the word itself, so that release and enqueueing are ordered by that word alone.

use std::marker::PhantomData;

use super::{Facts, Held};
use crate::primitives::slot::{Me, Mode, Wait};
use crate::primitives::sync::{AtomicU64, Ordering};
use crate::primitives::wait_list::{Locked, WaitList};

const SHARES: u64 = 0x00ff_ffff;
const OWNER_SHIFT: u32 = 24;
const OWNER: u64 = SHARES << OWNER_SHIFT;
/// Someone sleeps, or is about to.
const WAITERS: u64 = 1 << 60;
/// Someone waits for exclusive use.
const EXCLUSIVE_WAITS: u64 = 1 << 61;
/// One was woken and has not tried yet.
const WOKEN: u64 = 1 << 62;

/// Readers woken by one release; they wake the next when they leave.
const READERS_MAX: usize = 8;

/// The differences between the latches of this family.
pub trait Policy: Sync {
    const FACTS: Facts;
    /// New shared gets stand back behind a waiting exclusive one.
    const EXCLUSIVE_FIRST: bool;
    /// No one more is woken until the one woken has tried.
    const ONE_WAKE: bool;
}

pub struct Queued<P> {
    word: AtomicU64,
    list: WaitList,
    index: u32,
    policy: PhantomData<P>,
}

fn unit(mode: Mode, me: &Me) -> u64 {
    match mode {
        Mode::Shared => 1,
        Mode::Exclusive => u64::from(me.id()) << OWNER_SHIFT,
    }
}

impl<P: Policy> Queued<P> {
    /// Test and, where it may succeed, compare and set.
    #[inline]
    pub(crate) fn attempt(&self, mode: Mode, me: &Me, posted: bool) -> bool {
        let mut word = self.word.load(Ordering::Relaxed);
        loop {
            let free = match mode {
                Mode::Exclusive => word & (SHARES | OWNER) == 0,
                Mode::Shared => {
                    word & OWNER == 0 && (posted || !P::EXCLUSIVE_FIRST || word & EXCLUSIVE_WAITS == 0)
                }
            };
            if !free {
                return false;
            }
            let got = word + unit(mode, me);
            match self.word.compare_exchange_weak(word, got, Ordering::Acquire, Ordering::Relaxed) {
                Ok(_) => {
                    if mode == Mode::Shared {
                        me.slot().share.store(self.index + 1, Ordering::Relaxed);
                    }
                    return true;
                }
                Err(now) => word = now,
            }
        }
    }

    /// Whether the worker of this id has it exclusively.
    pub fn owned_by(&self, id: u32) -> bool {
        (self.word.load(Ordering::Acquire) & OWNER) >> OWNER_SHIFT == u64::from(id)
    }

    /// Sets the flags of the word as the list requires.
    fn flag(&self, list: &Locked) {
        let flags = match (list.head().is_some(), list.any_exclusive()) {
            (false, _) => 0,
            (true, false) => WAITERS,
            (true, true) => WAITERS | EXCLUSIVE_WAITS,
        };
        self.word.fetch_or(flags, Ordering::Relaxed);
        self.word.fetch_and(!(WAITERS | EXCLUSIVE_WAITS) | flags, Ordering::Relaxed);
    }

    fn enqueue(&self, mode: Mode, me: &Me) {
        let list = self.list.lock(me);
        list.push(self.index, mode);
        self.flag(&list);
    }

    /// Out of the list, having got the latch. Whoever took it out of the list has, under the list's lock,
    /// marked it woken: the mark must not outlive it, for a post that it never takes clears nothing.
    fn leave(&self, me: &Me) {
        let list = self.list.lock(me);
        list.remove(me.id());
        self.flag(&list);
        self.word.fetch_and(!WOKEN, Ordering::Relaxed);
    }

    /// Posts the first in the list, and with a reader the readers right behind it.
    #[cold]
    fn wake(&self, me: &Me) {
        let list = self.list.lock(me);
        let Some(first) = list.pop() else { return };
        let mut woken = [first; READERS_MAX];
        let mut count = 1;
        if list.mode(first) == Mode::Shared {
            while count < READERS_MAX && list.head().is_some_and(|id| list.mode(id) == Mode::Shared) {
                woken[count] = list.pop().unwrap_or(first);
                count += 1;
            }
        }
        self.flag(&list);
        if P::ONE_WAKE {
            self.word.fetch_or(WOKEN, Ordering::Relaxed);
        }
        drop(list);
        woken[..count].iter().for_each(|id| me.of(*id).parker.post());
    }
}

impl<P: Policy> Held for Queued<P> {
    const FACTS: Facts = P::FACTS;

    fn new(index: u32) -> Self {
        Self { word: AtomicU64::new(0), list: WaitList::default(), index, policy: PhantomData }
    }

    #[inline]
    fn try_get(&self, mode: Mode, me: &Me) -> bool {
        // a free exclusive latch is mostly a zero: one atomic step, without a look before it
        let free = mode == Mode::Exclusive
            && self.word.compare_exchange(0, unit(mode, me), Ordering::Acquire, Ordering::Relaxed).is_ok();
        free || self.attempt(mode, me, false)
    }

    #[cold]
    fn wait_get(&self, mode: Mode, me: &Me) -> Wait {
        let mut wait = Wait::MISSED;
        let (mut posted, mut enqueued) = (false, false);
        me.begin_wait(self.index);
        loop {
            // a woken process tries again, and spins again, as a newcomer would
            let tries = P::FACTS.spins * me.spin + u32::from(posted);
            if (0..tries).any(|_| self.attempt(mode, me, posted)) {
                break;
            }
            self.enqueue(mode, me);
            enqueued = true;
            if self.attempt(mode, me, posted) {
                break;
            }
            wait.slept(me.slot().parker.wait());
            posted = true;
            if P::ONE_WAKE {
                self.word.fetch_and(!WOKEN, Ordering::Relaxed);
            }
        }
        if enqueued {
            self.leave(me);
        }
        me.end_wait();
        wait
    }

    #[inline]
    fn release(&self, mode: Mode, me: &Me) {
        if mode == Mode::Shared {
            me.slot().share.store(0, Ordering::Relaxed);
        }
        let unit = unit(mode, me);
        let left = self.word.fetch_sub(unit, Ordering::Release) - unit;
        if left & WAITERS != 0 && left & SHARES == 0 && !(P::ONE_WAKE && left & WOKEN != 0) {
            self.wake(me);
        }
    }

    /// The word names an exclusive owner, the slot a shared one: released on behalf of the dead. A post
    /// may have died with it, so everyone who waits here is posted.
    fn mend(&self, dead: u32, me: &Me) {
        let (list, broken) = self.list.seize(dead, me);
        if broken {
            list.clear(self.index);
        } else {
            list.remove(dead);
        }
        self.flag(&list);
        drop(list);
        self.word.fetch_and(!WOKEN, Ordering::Relaxed);
        if self.owned_by(dead) {
            self.word.fetch_sub(u64::from(dead) << OWNER_SHIFT, Ordering::Release);
        }
        let held = self.index + 1;
        if me.of(dead).share.compare_exchange(held, 0, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
            self.word.fetch_sub(1, Ordering::Release);
        }
        for slot in me.slots.iter().filter(|slot| slot.waiting.load(Ordering::Relaxed) == held) {
            slot.parker.post();
        }
    }
}
