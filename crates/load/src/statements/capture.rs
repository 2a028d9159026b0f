//! The sessions of a capture, and what one client plays of them.
//!
//! The file: a header of one line in JSON, then the sessions, each its events in order, an event per line:
//! `[at_us, class, [value, ...]]`. The header's `sessions` has begin in us, offset and length in bytes of
//! each, in the order of their begin; offsets count from the end of the header. A client takes the next
//! session when its last one is over, so a session of any length needs one line of memory.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use serde::Deserialize;
use steelyard_engine::error::PlanError;

use super::scalar::Cause;
use crate::plan::Arrival;
use crate::plan::Plan;
use crate::plan::captured::Captured;

/// A session that begins later than this was not played at its pace.
const LATE_NS: u64 = 100_000_000;
/// Classes that a notice names.
const NAMED_MAX: usize = 3;

#[derive(Deserialize)]
struct Header {
    /// Begin in us, offset and length in bytes.
    sessions: Vec<(u64, u64, u64)>,
    events: u64,
    classes: Vec<Class>,
}

#[derive(Deserialize)]
struct Class {
    name: String,
    executions: u64,
}

/// What all clients share.
pub struct Capture {
    file: Arc<File>,
    body: u64,
    sessions: Vec<(u64, u64, u64)>,
    /// By class, the least and the largest number of values of its events.
    values: Vec<(usize, usize)>,
    speed: Option<f64>,
    /// Events in all, and those of each class that were begun since the last rewind.
    events: u64,
    classes: Vec<Class>,
    begun: Vec<AtomicU64>,
    /// Sessions that began late.
    late: AtomicU64,
    next: AtomicUsize,
}

/// Time since the capture's begin, class, and its values.
type Event = (u64, usize, Vec<Option<String>>);

/// One client's place in the capture.
#[derive(Default)]
pub struct Player {
    session: Option<BufReader<Part>>,
    /// Read and not played yet, and when it is due.
    event: Option<(u64, Event)>,
    line: String,
}

impl Capture {
    /// None: the plan is no replay.
    pub fn open(plan: &Plan) -> Result<Option<Self>, PlanError> {
        let (Arrival::Replay { speed }, Some(path)) = (plan.arrival, &plan.capture) else { return Ok(None) };
        let refused = |cause: String| PlanError::new("capture", format!("{path}: {cause}"));
        let read = |cause: io::Error| refused(cause.to_string());
        let file = Arc::new(File::open(path).map_err(read)?);
        let length = file.metadata().map_err(read)?.len();
        let mut line = String::new();
        let all = Part { file: file.clone(), at: 0, end: length };
        let body = BufReader::new(all).read_line(&mut line).map_err(read)? as u64;
        let header: Header =
            serde_json::from_str(&line).map_err(|cause| refused(format!("its header: {cause}")))?;
        let within = |(_, offset, bytes): &(u64, u64, u64)| {
            body.checked_add(*offset).and_then(|at| at.checked_add(*bytes)).is_some_and(|end| end <= length)
        };
        if !header.sessions.iter().all(within) {
            return Err(refused("is shorter than its header says: it was truncated".into()));
        }
        let values =
            plan.statements.iter().map(|one| one.captured.map_or((0, 0), Captured::values)).collect();
        Ok(Some(Self {
            file,
            body,
            sessions: header.sessions,
            values,
            speed,
            events: header.events,
            begun: header.classes.iter().map(|_| AtomicU64::new(0)).collect(),
            classes: header.classes,
            late: AtomicU64::new(0),
            next: AtomicUsize::new(0),
        }))
    }

    /// From the first session again.
    pub fn rewind(&self) {
        self.next.store(0, Ordering::Relaxed);
        self.begun.iter().for_each(|class| class.store(0, Ordering::Relaxed));
        self.late.store(0, Ordering::Relaxed);
    }

    /// Notices: statements that are left after the load, sessions that began late. answered: by the server.
    pub fn notices(&self, answered: u64) -> Vec<(&'static str, String)> {
        let mut left: Vec<(u64, &str)> = std::iter::zip(&self.classes, &self.begun)
            .map(|(class, begun)| {
                (class.executions.saturating_sub(begun.load(Ordering::Relaxed)), class.name.as_str())
            })
            .filter(|(count, _)| *count > 0)
            .collect();
        left.sort_unstable_by(|a, b| b.cmp(a));
        let named: Vec<String> =
            left.iter().take(NAMED_MAX).map(|(count, name)| format!("{count} of `{name}`")).collect();
        let begun: u64 = self.begun.iter().map(|class| class.load(Ordering::Relaxed)).sum();
        let mut text =
            format!("{answered} of {} captured statements were executed: the time was over", self.events);
        if begun > answered {
            text += &format!("; without an answer: {}", begun - answered);
        }
        if !named.is_empty() {
            let more = if left.len() > NAMED_MAX { ", ..." } else { "" };
            text += &format!("; not begun: {}{more}", named.join(", "));
        }
        let cut = (answered < self.events).then_some(("replay-cut", text));
        let (late, sessions) = (self.late.load(Ordering::Relaxed), self.sessions.len());
        let text = format!(
            "{late} of {sessions} sessions began more than 0.1 s late: no connection was free, which more \
             clients change, or this machine is too slow for the pace"
        );
        cut.into_iter().chain((late > 0).then_some(("replay-late", text))).collect()
    }

    /// By class, the values of its first event; none where it has no event, or the file is damaged before it.
    pub fn first_events(&self) -> Vec<Option<Vec<Option<String>>>> {
        let mut found = vec![None; self.values.len()];
        let (mut player, mut missing) = (Player::default(), found.len());
        while missing > 0 && matches!(player.due(self, 0, 0), Ok(Some(_))) {
            let Some((class, values)) = player.take(self) else { break };
            if found[class].is_none() {
                found[class] = Some(values);
                missing -= 1;
            }
        }
        self.rewind();
        found
    }

    /// The largest number of values of an event.
    pub fn values_max(&self) -> usize {
        self.values.iter().map(|(_, most)| *most).max().unwrap_or_default()
    }

    fn next_session(&self) -> Option<BufReader<Part>> {
        let (_, offset, bytes) = self.sessions.get(self.next.fetch_add(1, Ordering::Relaxed))?;
        let at = self.body + offset;
        Some(BufReader::new(Part { file: self.file.clone(), at, end: at + bytes }))
    }
}

impl Player {
    /// When the next event is due, ns; none: no session is left. start_ns: of the replay. Err: the file is
    /// damaged here; the session is given up.
    pub fn due(&mut self, capture: &Capture, start_ns: u64, now_ns: u64) -> Result<Option<u64>, Cause> {
        let mut is_first = false;
        while self.event.is_none() {
            is_first |= self.session.is_none();
            let session = match &mut self.session {
                Some(session) => session,
                None => match capture.next_session() {
                    Some(session) => self.session.insert(session),
                    None => return Ok(None),
                },
            };
            self.line.clear();
            let read = session.read_line(&mut self.line).map_err(|cause| cause.to_string());
            let event = read.and_then(|bytes| match bytes {
                0 => Ok(None),
                _ => parse(&self.line, &capture.values).map(Some),
            });
            match event {
                Ok(Some(event)) => {
                    let due = capture.speed.map(|speed| start_ns + (event.0 as f64 * 1e3 / speed) as u64);
                    let due_ns = due.unwrap_or(now_ns);
                    let is_late = is_first && due_ns + LATE_NS < now_ns;
                    capture.late.fetch_add(u64::from(is_late), Ordering::Relaxed);
                    self.event = Some((due_ns, event));
                }
                Ok(None) => self.session = None,
                Err(cause) => {
                    self.session = None;
                    return Err(format!("the capture is damaged: {cause}"));
                }
            }
        }
        Ok(self.event.as_ref().map(|(due, _)| *due))
    }

    /// Takes the event that is due: its class and its values.
    pub fn take(&mut self, capture: &Capture) -> Option<(usize, Vec<Option<String>>)> {
        let (_, (_, class, values)) = self.event.take()?;
        if let Some(begun) = capture.begun.get(class) {
            begun.fetch_add(1, Ordering::Relaxed);
        }
        Some((class, values))
    }

    /// Gives up the session: its connection is lost, and an open transaction with it.
    pub fn give_up(&mut self) {
        self.session = None;
        self.event = None;
    }
}

fn parse(line: &str, values: &[(usize, usize)]) -> Result<Event, Cause> {
    let event: Event = serde_json::from_str(line).map_err(|cause| cause.to_string())?;
    match values.get(event.1) {
        Some((least, most)) if (*least..=*most).contains(&event.2.len()) => Ok(event),
        _ => Err(format!("an event of class {} has {} values", event.1, event.2.len())),
    }
}

/// A stretch of a file that several clients read.
struct Part {
    file: Arc<File>,
    at: u64,
    end: u64,
}

impl Read for Part {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let most = buffer.len().min((self.end - self.at) as usize);
        let count = self.file.read_at(&mut buffer[..most], self.at)?;
        self.at += count as u64;
        Ok(count)
    }
}
