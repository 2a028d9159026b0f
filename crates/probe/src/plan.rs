//! The plan of the probes, as JSON.

use std::path::PathBuf;

use serde::Deserialize;
use steelyard_engine::error::PlanError;

/// The root process of a role; its descendants belong to it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Root {
    pub pid: u32,
    pub role: String,
}

/// The latches of a PostgreSQL server. program: its file; group: the name of our probes in tracefs; sleeps, gets:
/// whether they are recorded (gets in windows of their own).
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServerLatches {
    pub program: PathBuf,
    pub group: String,
    #[serde(default = "yes")]
    pub sleeps: bool,
    #[serde(default)]
    pub gets: bool,
}

fn yes() -> bool {
    true
}

/// The requested sources. cpus: where the draining thread may run; empty: anywhere.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    #[serde(default)]
    pub profile_hz: u32,
    #[serde(default)]
    pub locks: bool,
    #[serde(default)]
    pub sched: bool,
    #[serde(default)]
    pub latches: Option<ServerLatches>,
    pub roots: Vec<Root>,
    #[serde(default)]
    pub cpus: Vec<usize>,
}

const PROFILE_HZ_MAX: u32 = 10_000;

impl Plan {
    pub fn parse(text: &str) -> Result<Plan, PlanError> {
        let plan: Plan =
            serde_json::from_str(text).map_err(|error| PlanError::new("plan", error.to_string()))?;
        if plan.profile_hz > PROFILE_HZ_MAX {
            let cause = format!("{} is more than {PROFILE_HZ_MAX}", plan.profile_hz);
            return Err(PlanError::new("profile_hz", cause));
        }
        Ok(plan)
    }
}
