//! The tallies as columns of JSON.

use std::rc::Rc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Serializer, V2Serializer};
use serde_json::{Value, json};

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
        Outcome(json!({
            "profile": columns(profile, &[
                ("point", |row| json!(row.point)),
                ("role", |row| json!(&*row.role)),
                ("stack", |row| json!(row.stack)),
                ("samples", |row| json!(row.samples)),
            ]),
            "locks": columns(locks, &[
                ("point", |row| json!(row.point)),
                ("role", |row| json!(&*row.role)),
                ("lock", |row| json!(row.lock)),
                ("type", |row| json!(row.kind)),
                ("call_site", |row| json!(row.call_site)),
                ("distinct_locks", |row| json!(row.distinct)),
                ("contended", |row| json!(row.contended)),
                ("wait_total_ns", |row| json!(row.wait_total_ns)),
                ("wait_max_ns", |row| json!(row.wait_max_ns)),
                ("wait_histogram_base64", |row| encoded(&row.histogram)),
            ]),
            "latches": columns(latches, &[
                ("point", |row| json!(row.point)),
                ("role", |row| json!(&*row.role)),
                ("event", |row| json!(row.event)),
                ("sleeps", |row| json!(row.sleeps)),
                ("wait_ns", |row| json!(row.wait_ns)),
                ("wait_histogram_base64", |row| encoded(&row.histogram)),
            ]),
            "latch_gets": columns(gets, &[
                ("point", |row| json!(row.point)),
                ("role", |row| json!(&*row.role)),
                ("tranche", |row| json!(row.tranche)),
                ("gets", |row| json!(row.gets)),
            ]),
            "scheduling": columns(scheduling, &[
                ("point", |(point, _, _)| json!(point)),
                ("role", |(_, role, _)| json!(&**role)),
                ("voluntary", |(_, _, role)| json!(role.voluntary)),
                ("involuntary", |(_, _, role)| json!(role.involuntary)),
                ("migrations", |(_, _, role)| json!(role.migrations)),
                ("run_queue_histogram_base64", |(_, _, role)| encoded(&role.run_queue_ns)),
                ("slice_histogram_base64", |(_, _, role)| encoded(&role.slice_ns)),
                ("off_cpu_histogram_base64", |(_, _, role)| encoded(&role.off_cpu_ns)),
            ]),
            "lost": lost,
        }))
    }

    pub fn to_json(&self) -> String {
        self.0.to_string()
    }
}

/// A column's name, and its value in a row.
type Column<T> = (&'static str, fn(&T) -> Value);

fn columns<T>(rows: &[T], named: &[Column<T>]) -> Value {
    named.iter().map(|(name, of)| (name.to_string(), rows.iter().map(of).collect::<Value>())).collect()
}

fn encoded(histogram: &Histogram<u64>) -> Value {
    let mut bytes = Vec::new();
    // writing to memory does not fail, and the counts of one run fit the format
    let _ = V2Serializer::new().serialize(histogram, &mut bytes);
    Value::String(STANDARD.encode(bytes))
}
