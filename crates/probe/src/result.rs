//! The tallies as columns of JSON.

use std::rc::Rc;

use serde_json::{Value, json};
use steelyard_engine::columns::columns;
use steelyard_engine::histogram::encode_text;

use crate::tallies::latches::{Got, Slept};
use crate::tallies::locks::Site;
use crate::tallies::profile::Folded;
use crate::tallies::scheduling::Role;

/// Columns by table: profile, locks, latches, latch_gets, scheduling; and the number of records that the kernel
/// lost because a ring was full.
pub struct Outcome(Value);

impl Outcome {
    pub fn of(
        profile: &[Folded],
        locks: &[Site],
        latches: &[Slept],
        gets: &[Got],
        scheduling: &[(usize, Rc<str>, &Role)],
        lost: u64,
    ) -> Outcome {
        let profile = profile
            .iter()
            .map(|row| [json!(row.point), json!(&*row.role), json!(row.stack), json!(row.samples)]);
        let locks = locks.iter().map(|row| {
            [
                json!(row.point),
                json!(&*row.role),
                json!(row.lock),
                json!(row.kind),
                json!(row.call_site),
                json!(row.distinct),
                json!(row.contended),
                json!(row.wait_total_ns),
                json!(row.wait_max_ns),
                json!(encode_text(&row.histogram)),
            ]
        });
        let latches = latches.iter().map(|row| {
            [
                json!(row.point),
                json!(&*row.role),
                json!(row.event),
                json!(row.sleeps),
                json!(row.wait_ns),
                json!(encode_text(&row.histogram)),
            ]
        });
        let gets =
            gets.iter().map(|row| [json!(row.point), json!(&*row.role), json!(row.tranche), json!(row.gets)]);
        let scheduling = scheduling.iter().map(|(point, name, role)| {
            [
                json!(point),
                json!(&**name),
                json!(role.voluntary),
                json!(role.involuntary),
                json!(role.migrations),
                json!(encode_text(&role.run_queue_ns)),
                json!(encode_text(&role.slice_ns)),
                json!(encode_text(&role.off_cpu_ns)),
            ]
        });
        Outcome(json!({
            "profile": columns(["point", "role", "stack", "samples"], profile),
            "locks": columns(
                [
                    "point", "role", "lock", "type", "call_site", "distinct_locks", "contended",
                    "wait_total_ns", "wait_max_ns", "wait_histogram_base64",
                ],
                locks,
            ),
            "latches": columns(
                ["point", "role", "event", "sleeps", "wait_ns", "wait_histogram_base64"],
                latches,
            ),
            "latch_gets": columns(["point", "role", "tranche", "gets"], gets),
            "scheduling": columns(
                [
                    "point", "role", "voluntary", "involuntary", "migrations", "run_queue_histogram_base64",
                    "slice_histogram_base64", "off_cpu_histogram_base64",
                ],
                scheduling,
            ),
            "lost": lost,
        }))
    }

    pub fn to_json(&self) -> String {
        self.0.to_string()
    }
}
