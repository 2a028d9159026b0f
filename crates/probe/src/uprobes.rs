//! Probes at functions of programs (Documentation/trace/uprobetracer.rst): made by a line in `uprobe_events`
//! of tracefs, and there until a line takes them away, whoever made them.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::PathBuf;

use crate::error::SourceError;
use crate::tracepoint::tracefs;

/// Probes of one group; taken away when dropped, which the kernel does only when no event is open on them.
#[derive(Debug)]
pub struct Uprobes {
    file: PathBuf,
    group: String,
    names: Vec<&'static str>,
}

impl Uprobes {
    /// None yet. group: a name that nobody else uses.
    pub fn new(group: &str) -> Result<Uprobes, SourceError> {
        let file = tracefs().ok_or(SourceError::NoTracefs)?.join("uprobe_events");
        Ok(Uprobes { file, group: group.into(), names: Vec::new() })
    }

    /// Makes one at a place of a program. kind: `p`, where it is entered, or `r`, where it returns; fetched:
    /// what is kept of each hit, in the kernel's words.
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
        // appended: a file opened to be written anew loses everybody's probes
        let mut file: File = OpenOptions::new().append(true).open(&self.file)?;
        file.write_all(line.as_bytes())
    }
}

impl Drop for Uprobes {
    fn drop(&mut self) {
        for name in &self.names {
            // what stays although we tried is left to whoever undoes what we leave
            let _ = self.write(&format!("-:{}/{name}\n", self.group));
        }
    }
}
