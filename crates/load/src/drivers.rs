//! What drives a plan: a wire protocol, or SQLite in this process. A new protocol is a line here.

use steelyard_engine::error::PlanError;
use steelyard_engine::listener::Listener;

use crate::error::LoadError;
use crate::plan::Plan;
use crate::protocol::Protocol;
use crate::protocol::mysql::Mysql;
use crate::protocol::postgres::Postgres;
use crate::protocol::resp::Resp;
use crate::record::result::{Tried, tried_columns};
use crate::statements::template::Dialect;
use crate::statements::work::Work;
use crate::{engine, sqlite};

static PROTOCOLS: [Driver; 3] = [Driver::of::<Postgres>(), Driver::of::<Mysql>(), Driver::of::<Resp>()];

static SQLITE: Driver = Driver {
    name: "sqlite",
    dialect: sqlite::DIALECT,
    check: sqlite::check,
    trial: sqlite::trial::trial,
    run: sqlite::run,
};

struct Driver {
    name: &'static str,
    dialect: Dialect,
    check: fn(&Plan) -> Result<(), PlanError>,
    trial: fn(&Work) -> Result<Vec<Tried>, LoadError>,
    run: fn(&Work, &mut dyn Listener) -> Result<String, LoadError>,
}

impl Driver {
    const fn of<P: Protocol>() -> Self {
        Self {
            name: P::NAME,
            dialect: P::DIALECT,
            check: P::check,
            trial: engine::trial::<P>,
            run: engine::run::<P>,
        }
    }

    fn find(plan: &Plan) -> Result<&'static Self, PlanError> {
        if plan.sqlite.is_some() {
            return Ok(&SQLITE);
        }
        let name = &plan.server.protocol;
        PROTOCOLS.iter().find(|driver| driver.name == *name).ok_or_else(|| {
            let known = PROTOCOLS.iter().map(|driver| driver.name).collect::<Vec<_>>().join(", ");
            PlanError::new("server.protocol", format!("`{name}` is not supported: use one of {known}"))
        })
    }
}

/// A plan that was found possible, made ready.
pub struct Job {
    work: Work,
    driver: &'static Driver,
}

impl Job {
    /// Reads and checks a plan.
    pub fn parse(json: &str) -> Result<Self, PlanError> {
        let plan = Plan::parse(json)?;
        let driver = Driver::find(&plan)?;
        (driver.check)(&plan)?;
        let dialect = driver.dialect.with_escapes(plan.server.escapes);
        Ok(Self { work: Work::new(plan, dialect)?, driver })
    }

    /// Executes every transaction once; its statements as JSON (see `load_trial` in Python).
    pub fn trial(&self) -> Result<String, LoadError> {
        let tried = (self.driver.trial)(&self.work)?;
        Ok(tried_columns(&tried, &self.work.plan).to_string())
    }

    /// Runs the plan; the result as JSON (see the documentation of `load_run` in Python).
    pub fn run(&self, listener: &mut dyn Listener) -> Result<String, LoadError> {
        (self.driver.run)(&self.work, listener)
    }
}
