//! What the clients of one point share.

use super::gate::Gate;
use crate::plan::sqlite::Database;
use crate::progress::Live;
use crate::shared_memory::Shared;
use crate::statements::work::Work;

/// What the clients of one point share.
pub struct PointState<'a> {
    pub work: &'a Work,
    pub database: &'a Database,
    pub gate: Shared<Gate>,
    pub live: Vec<Shared<Live>>,
}
