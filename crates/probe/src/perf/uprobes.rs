//! Probes at functions of programs (Documentation/trace/uprobetracer.rst): a line in `uprobe_events` of tracefs
//! adds one, which stays until another line removes it.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::PathBuf;

use super::tracepoint::tracefs;
use crate::error::SourceError;

/// Probes of one group; removed when dropped. The kernel removes a probe only when no event is open on it.
#[derive(Debug)]
pub struct Uprobes {
    file: PathBuf,
    group: String,
    names: Vec<&'static str>,
}

impl Uprobes {
    /// None yet. group: a name that nothing else uses.
    pub fn new(group: &str) -> Result<Uprobes, SourceError> {
        let file = tracefs().ok_or(SourceError::NoTracefs)?.join("uprobe_events");
        Ok(Uprobes { file, group: group.into(), names: Vec::new() })
    }

    /// Adds one at an offset in a program. kind: `p`, where it is entered, or `r`, where it returns; fetched:
    /// the kernel's arguments for the values to record.
    pub fn add(
        &mut self,
        kind: char,
        name: &'static str,
        program: &str,
        offset: u64,
        fetched: &str,
    ) -> Result<(), SourceError> {
        let line = format!("{kind}:{}/{name} {program}:{offset:#x} {fetched}\n", self.group);
        self.write(&line).map_err(SourceError::NoUprobe)?;
        self.names.push(name);
        Ok(())
    }

    fn write(&self, line: &str) -> io::Result<()> {
        // appended: truncating the file removes the probes of everybody
        let mut file: File = OpenOptions::new().append(true).open(&self.file)?;
        file.write_all(line.as_bytes())
    }
}

impl Drop for Uprobes {
    fn drop(&mut self) {
        for name in &self.names {
            // a probe that cannot be removed here is left to the caller's own clean-up
            let _ = self.write(&format!("-:{}/{name}\n", self.group));
        }
    }
}
