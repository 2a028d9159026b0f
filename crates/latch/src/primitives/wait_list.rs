//! The FIFO list of sleepers, under a small lock of its own.

use super::slot::{Me, Mode};
use super::sync::{AtomicU32, Ordering, give_way, relax};

/// Tries before it yields the CPU: the holder of the list's lock may have been preempted.
const TRIES: u32 = 100;

#[derive(Default)]
pub struct WaitList {
    /// Id of the holder, so that a dead one can be found.
    lock: AtomicU32,
    head: AtomicU32,
    tail: AtomicU32,
}

/// The locked list. Its fields are read and written under the lock, hence relaxed.
pub struct Locked<'a> {
    list: &'a WaitList,
    me: &'a Me<'a>,
}

impl WaitList {
    pub fn lock<'a>(&'a self, me: &'a Me<'a>) -> Locked<'a> {
        let mut tries = 0;
        while self.lock.compare_exchange(0, me.id(), Ordering::Acquire, Ordering::Relaxed).is_err() {
            tries += 1;
            if tries % TRIES == 0 { give_way() } else { relax() }
        }
        Locked { list: self, me }
    }

    /// Takes the lock for `me`, also from a dead holder; whether the list may be broken.
    pub fn seize<'a>(&'a self, dead: u32, me: &'a Me<'a>) -> (Locked<'a>, bool) {
        let broken = self.lock.compare_exchange(dead, me.id(), Ordering::Acquire, Ordering::Relaxed).is_ok();
        if broken { (Locked { list: self, me }, true) } else { (self.lock(me), false) }
    }
}

impl Drop for Locked<'_> {
    fn drop(&mut self) {
        self.list.lock.store(0, Ordering::Release);
    }
}

impl Locked<'_> {
    pub fn head(&self) -> Option<u32> {
        Some(self.list.head.load(Ordering::Relaxed)).filter(|id| *id != 0)
    }

    pub fn next(&self, id: u32) -> Option<u32> {
        Some(self.me.of(id).next.load(Ordering::Relaxed)).filter(|id| *id != 0)
    }

    pub fn mode(&self, id: u32) -> Mode {
        if self.me.of(id).exclusive.load(Ordering::Relaxed) == 1 { Mode::Exclusive } else { Mode::Shared }
    }

    pub fn any_exclusive(&self) -> bool {
        std::iter::successors(self.head(), |id| self.next(*id)).any(|id| self.mode(id) == Mode::Exclusive)
    }

    /// Puts `me` last, unless it stands there already: a post may come from elsewhere.
    pub fn push(&self, latch: u32, mode: Mode) {
        let (id, slot) = (self.me.id(), self.me.slot());
        if slot.queued.load(Ordering::Relaxed) == latch + 1 {
            return;
        }
        slot.next.store(0, Ordering::Relaxed);
        slot.exclusive.store((mode == Mode::Exclusive).into(), Ordering::Relaxed);
        slot.queued.store(latch + 1, Ordering::Relaxed);
        match self.list.tail.load(Ordering::Relaxed) {
            0 => self.list.head.store(id, Ordering::Relaxed),
            tail => self.me.of(tail).next.store(id, Ordering::Relaxed),
        }
        self.list.tail.store(id, Ordering::Relaxed);
    }

    pub fn pop(&self) -> Option<u32> {
        let id = self.head()?;
        self.remove(id);
        Some(id)
    }

    /// Takes one out of the list; `false` where it was not in it.
    pub fn remove(&self, id: u32) -> bool {
        let mut before = None;
        let mut at = self.head();
        while let Some(found) = at {
            let after = self.next(found);
            if found == id {
                let link = before.map_or(&self.list.head, |before| &self.me.of(before).next);
                link.store(after.unwrap_or(0), Ordering::Relaxed);
                if after.is_none() {
                    self.list.tail.store(before.unwrap_or(0), Ordering::Relaxed);
                }
                self.me.of(id).queued.store(0, Ordering::Relaxed);
                return true;
            }
            (before, at) = (at, after);
        }
        false
    }

    /// Empties a list whose links cannot be trusted.
    pub fn clear(&self, latch: u32) {
        self.list.head.store(0, Ordering::Relaxed);
        self.list.tail.store(0, Ordering::Relaxed);
        for slot in self.me.slots {
            let _ = slot.queued.compare_exchange(latch + 1, 0, Ordering::Relaxed, Ordering::Relaxed);
        }
    }
}
