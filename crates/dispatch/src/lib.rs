//! Solaris dispatch tables, and a simulated machine that dispatches threads by them.
//!
//! - [`table`]: the tables of TS (and IA), RT and FX; the built-in ones
//! - [`dispadmin`]: their printed form, read and written
//! - [`class`]: what the scheduling classes do to one thread
//! - [`distribution`]: how long bursts and sleeps are
//! - [`machine`], [`plan`]: machine, tables, groups of threads, as JSON, and their validation
//! - [`topology`]: CPUs, chips, latency groups, processor sets
//! - [`population`]: groups and threads at time 0
//! - [`thread`], [`queue`], [`agenda`]: one thread, one CPU's run queue, what will happen
//! - [`costs`], [`reload`]: what a switch costs
//! - [`sim`]: the state of the machine, and how time passes
//! - [`swtch`]: how a thread comes to a CPU and leaves it
//! - [`placing`]: whose queue it goes to, who steals it
//! - [`behaviour`]: wake-ups, bursts, sleeps, forks
//! - [`counts`], [`record`], [`trace`]: what is counted and kept
//! - [`life`]: what becomes of a single thread
//! - [`engine`]: one simulation from plan to result
//! - [`calibrate`]: what a switch and a miss cost on the machine at hand
//! - [`result`]: the result as columns of JSON

pub mod agenda;
pub mod behaviour;
pub mod calibrate;
pub mod class;
pub mod costs;
pub mod counts;
pub mod dispadmin;
pub mod distribution;
pub mod engine;
pub mod error;
pub mod life;
pub mod machine;
pub mod placing;
pub mod plan;
pub mod population;
pub mod queue;
pub mod record;
pub mod reload;
pub mod result;
pub mod sim;
pub mod swtch;
pub mod table;
pub mod thread;
pub mod topology;
pub mod trace;
