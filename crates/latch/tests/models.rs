//! Each hand-written protocol under every interleaving of two workers, as far as loom's bound reaches.
//!
//!     cargo test --package steelyard-latch --features loom --release --test models
#![cfg(feature = "loom")]

use loom::cell::UnsafeCell;
use loom::sync::Arc;
use steelyard_latch::primitives::slot::{Me, Mode, Slot};
use steelyard_latch::primitives::sync::{AtomicU64, Ordering};
use steelyard_latch::protocols::Latch;
use steelyard_latch::protocols::cna::Cna;
use steelyard_latch::protocols::lwlock::LwLock;
use steelyard_latch::protocols::mcs::Mcs;
use steelyard_latch::protocols::oracle_sx::OracleSx;
use steelyard_latch::protocols::oracle_x::OracleX;
use steelyard_latch::protocols::reader_slots::ReaderSlots;
use steelyard_latch::protocols::seqlock::Seqlock;
use steelyard_latch::protocols::ticket::Ticket;

struct World<L> {
    slots: Vec<Slot>,
    latch: L,
    /// loom panics when two are in it at once, or a reader and a writer.
    guarded: UnsafeCell<u32>,
}

impl<L: Latch> World<L> {
    fn enter(&self, number: u32, mode: Mode) {
        let me = Me { number, slots: &self.slots, spin: 1, groups: 2 };
        self.latch.section(mode, &me, |_| match mode {
            // SAFETY: alone by the latch's promise, which the model checks.
            Mode::Exclusive => self.guarded.with_mut(|value| unsafe { *value += 1 }),
            // SAFETY: no writer by the latch's promise, which the model checks.
            Mode::Shared => self.guarded.with(|value| unsafe {
                std::hint::black_box(*value);
            }),
        });
    }
}

fn explore(preemptions: usize, model: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.check(model);
}

/// Two workers, `modes` by worker and round; a lost wake-up is a deadlock, which loom reports.
fn excludes<L: Latch + Send + 'static>(modes: &'static [&'static [Mode]]) {
    explore(3, move || {
        let world = Arc::new(World::<L> {
            slots: (0..modes.len()).map(|_| Slot::default()).collect(),
            latch: L::new(0),
            guarded: UnsafeCell::new(0),
        });
        let run = |number: usize| {
            let world = Arc::clone(&world);
            move || modes[number].iter().for_each(|mode| world.enter(number as u32, *mode))
        };
        let others: Vec<_> = (1..modes.len()).map(|number| loom::thread::spawn(run(number))).collect();
        run(0)();
        others.into_iter().for_each(|other| other.join().unwrap());
        let writes =
            modes.iter().flat_map(|modes| modes.iter()).filter(|mode| **mode == Mode::Exclusive).count();
        // SAFETY: every other worker has ended.
        world.guarded.with(|value| assert_eq!(unsafe { *value }, writes as u32));
    });
}

use Mode::{Exclusive as X, Shared as S};

#[test]
fn oracle_x() {
    excludes::<OracleX>(&[&[X, X], &[X]]);
}

#[test]
fn oracle_sx() {
    excludes::<OracleSx>(&[&[X], &[S, X]]);
    excludes::<OracleSx>(&[&[X, S], &[S]]);
}

#[test]
fn lwlock() {
    excludes::<LwLock>(&[&[X, X], &[X]]);
    excludes::<LwLock>(&[&[X, S], &[S]]);
}

#[test]
fn ticket() {
    excludes::<Ticket>(&[&[X, X], &[X]]);
}

#[test]
fn mcs() {
    excludes::<Mcs>(&[&[X, X], &[X]]);
}

#[test]
fn cna() {
    excludes::<Cna>(&[&[X, X], &[X]]);
}

#[test]
fn reader_slots() {
    excludes::<ReaderSlots>(&[&[X], &[S, S]]);
    excludes::<ReaderSlots>(&[&[X, S], &[X]]);
}

/// An optimistic reader looks while a writer changes, so what it reads is atomic, and what it is given
/// must be of one write.
#[test]
fn seqlock_gives_no_half_change() {
    explore(3, || {
        let world = Arc::new((
            vec![Slot::default(), Slot::default()],
            <Seqlock as Latch>::new(0),
            [AtomicU64::new(0), AtomicU64::new(0)],
        ));
        let writer = Arc::clone(&world);
        let other = loom::thread::spawn(move || {
            let (slots, latch, pair) = &*writer;
            let me = Me { number: 1, slots, spin: 1, groups: 2 };
            latch.section(X, &me, |_| pair.iter().for_each(|half| half.store(1, Ordering::Relaxed)));
        });
        let (slots, latch, pair) = &*world;
        let me = Me { number: 0, slots, spin: 1, groups: 2 };
        let (seen, _) =
            latch.section(S, &me, |_| [0, 1].map(|half: usize| pair[half].load(Ordering::Relaxed)));
        assert_eq!(seen[0], seen[1]);
        other.join().unwrap();
    });
}
