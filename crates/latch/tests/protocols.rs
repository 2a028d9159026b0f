//! What every latch promises, by threads that really run.

use std::cell::UnsafeCell;
use std::time::{Duration, Instant};

use steelyard_latch::primitives::slot::{Me, Mode, Slot, Wait};
use steelyard_latch::primitives::sync::{AtomicU32, Ordering};
use steelyard_latch::protocols::cna::{Cna, LOCAL_MAX};
use steelyard_latch::protocols::lwlock::LwLock;
use steelyard_latch::protocols::mcs::Mcs;
use steelyard_latch::protocols::oracle_sx::OracleSx;
use steelyard_latch::protocols::oracle_x::OracleX;
use steelyard_latch::protocols::reader_slots::ReaderSlots;
use steelyard_latch::protocols::robust_mutex::RobustMutex;
use steelyard_latch::protocols::seqlock::Seqlock;
use steelyard_latch::protocols::ticket::Ticket;
use steelyard_latch::protocols::{Held, Latch};

struct Shared<L> {
    latch: L,
    /// Two numbers that only exclusive holders change, and never apart.
    pair: UnsafeCell<[u64; 2]>,
}

// SAFETY: `pair` is reached under the latch only; that this suffices is what is tested.
unsafe impl<L: Sync> Sync for Shared<L> {}

const WORKERS: usize = 4;
/// Spinning FIFO latches wait for time slices: how much is done in the time is the machine's affair.
const TIME: Duration = Duration::from_millis(300);
const ROUNDS_MAX: u64 = 3_000;

fn slots() -> Vec<Slot> {
    (0..=WORKERS).map(|_| Slot::default()).collect()
}

fn me(slots: &[Slot], number: usize, spin: u32) -> Me<'_> {
    Me { number: number as u32, slots, spin, groups: 2 }
}

/// Exclusive sections that add to both numbers, with shared ones between; waits as seen by each get.
fn storm<L: Latch>(spin: u32) -> Vec<Wait> {
    let (slots, shared) = (slots(), Shared { latch: L::new(0), pair: UnsafeCell::new([0, 0]) });
    let begin = Instant::now();
    let waits: Vec<Wait> = std::thread::scope(|scope| {
        let run = |number| {
            let (slots, shared) = (&slots, &shared);
            move || {
                let me = me(slots, number, spin);
                let mut waits = Vec::new();
                for round in (0..ROUNDS_MAX).take_while(|_| begin.elapsed() < TIME) {
                    let ((), wait) = shared.latch.section(Mode::Exclusive, &me, |_| {
                        // SAFETY: volatile access through the cell's pointer, alone by the latch's promise.
                        unsafe {
                            let pair = shared.pair.get().cast::<u64>();
                            pair.write_volatile(pair.read_volatile() + 1);
                            pair.add(1).write_volatile(pair.add(1).read_volatile() + 1);
                        }
                    });
                    waits.push(wait);
                    if round % 2 == 0 {
                        let (equal, _) = shared.latch.section(Mode::Shared, &me, |_| {
                            // SAFETY: as above; an optimistic reader may see a change and is run again.
                            unsafe {
                                let pair = shared.pair.get().cast::<u64>();
                                pair.read_volatile() == pair.add(1).read_volatile()
                            }
                        });
                        assert!(equal, "a shared section saw half a change");
                    }
                }
                waits
            }
        };
        let handles: Vec<_> = (0..WORKERS).map(|number| scope.spawn(run(number))).collect();
        handles.into_iter().flat_map(|handle| handle.join().unwrap()).collect()
    });
    assert_eq!(shared.pair.into_inner(), [waits.len() as u64; 2], "{} lost an update", L::FACTS.name);
    waits
}

macro_rules! every_latch {
    ($($name:ident: $latch:ty),* $(,)?) => {
        mod holders_exclude_each_other {
            use super::*;
            $(#[test] fn $name() { storm::<$latch>(<$latch as Latch>::FACTS.spin.min(200)); })*
        }
    };
}

every_latch! {
    oracle_x: OracleX, oracle_sx: OracleSx, lwlock: LwLock, mcs: Mcs, cna: Cna, ticket: Ticket,
    reader_slots: ReaderSlots, seqlock: Seqlock, robust_mutex: RobustMutex,
    std_mutex: std::sync::Mutex<()>, std_rwlock: std::sync::RwLock<()>, parking_lot: parking_lot::Mutex<()>,
}

#[test]
fn without_a_spin_budget_each_miss_of_a_queued_latch_sleeps_or_is_got_at_the_second_try() {
    for wait in storm::<OracleX>(0) {
        assert!(wait.missed() || wait.sleeps() == 0);
        assert!(wait.sleeps() > 0 || wait.slept_ns == 0);
    }
}

/// Lets workers join one after another while the latch is held; the order in which they got it.
fn order<L: Held>(joins: &[usize]) -> Vec<usize> {
    let slots: Vec<Slot> = (0..=joins.len() + 1).map(|_| Slot::default()).collect();
    let (latch, joined) = (L::new(0), AtomicU32::new(0));
    let got = std::sync::Mutex::new(Vec::new());
    let holder = me(&slots, joins.len(), 0);
    assert!(latch.try_get(Mode::Exclusive, &holder));
    std::thread::scope(|scope| {
        for (place, number) in joins.iter().copied().enumerate() {
            let (slots, latch, joined, got) = (&slots, &latch, &joined, &got);
            scope.spawn(move || {
                let me = me(slots, number, 0);
                joined.store(place as u32 + 1, Ordering::SeqCst);
                latch.wait_get(Mode::Exclusive, &me);
                got.lock().unwrap().push(number);
                latch.release(Mode::Exclusive, &me);
            });
            while joined.load(Ordering::SeqCst) != place as u32 + 1 {
                std::thread::yield_now();
            }
            // it has said that it joins; joining itself takes a few instructions more
            std::thread::sleep(Duration::from_millis(40));
        }
        latch.release(Mode::Exclusive, &holder);
    });
    got.into_inner().unwrap()
}

#[test]
fn ticket_and_mcs_grant_in_the_order_of_joining() {
    assert_eq!(order::<Ticket>(&[2, 0, 3, 1]), [2, 0, 3, 1]);
    assert_eq!(order::<Mcs>(&[2, 0, 3, 1]), [2, 0, 3, 1]);
}

/// Groups are numbers modulo 2: the holder is worker 4 of group 0, so 0 and 2 pass 1 and 3.
#[test]
fn cna_prefers_the_holders_group_and_forgets_nobody() {
    assert_eq!(order::<Cna>(&[1, 0, 3, 2]), [0, 2, 1, 3]);
}

/// One worker alone of its group is passed over at most `LOCAL_MAX` times.
#[test]
fn cna_bounds_the_bypass() {
    let (slots, latch) = (slots(), <Cna as Held>::new(0));
    let local = [me(&slots, 0, 0), me(&slots, 2, 0)];
    let stranger = me(&slots, 1, 0);
    let (hand_overs, waiting) = (AtomicU32::new(0), AtomicU32::new(1));
    assert!(latch.try_get(Mode::Exclusive, &local[0]));
    let run = |me: Me<'_>, holds: bool| {
        let mut holds = holds;
        while waiting.load(Ordering::SeqCst) == 1 {
            if !holds && !latch.try_get(Mode::Exclusive, &me) {
                latch.wait_get(Mode::Exclusive, &me);
            }
            holds = false;
            hand_overs.fetch_add(waiting.load(Ordering::SeqCst), Ordering::SeqCst);
            latch.release(Mode::Exclusive, &me);
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(|| {
            latch.wait_get(Mode::Exclusive, &stranger);
            waiting.store(0, Ordering::SeqCst);
            latch.release(Mode::Exclusive, &stranger);
        });
        std::thread::sleep(Duration::from_millis(40));
        scope.spawn(|| run(local[1], false));
        std::thread::sleep(Duration::from_millis(40));
        scope.spawn(|| run(local[0], true));
    });
    // the first release, LOCAL_MAX local ones, and one that was counted before the stranger said so
    assert!(hand_overs.load(Ordering::SeqCst) <= LOCAL_MAX + 2);
}
