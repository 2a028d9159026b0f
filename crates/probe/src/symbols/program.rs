//! Addresses of functions and variables of a program, for probes at its functions.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::path::Path;

use blazesym::inspect::Inspector;
use blazesym::inspect::source::{Elf, Source};

use super::prologue::{LOOKED_AT_BYTES, first_push};
use crate::error::SourceError;

/// A program's file, held open.
pub struct Program {
    file: File,
    name: String,
    inspector: Inspector,
    source: Source,
}

/// The place of a symbol. offset: in the file; None for a symbol that is not in the file.
struct Place {
    addr: u64,
    offset: Option<u64>,
}

impl Program {
    pub fn open(path: &Path) -> Result<Program, SourceError> {
        let name = path.display().to_string();
        let file = File::open(path)
            .map_err(|cause| SourceError::NoProgram { program: name.clone(), cause: cause.to_string() })?;
        let mut elf = Elf::new(path);
        elf.debug_syms = false;
        Ok(Program { file, name, inspector: Inspector::new(), source: Source::Elf(elf) })
    }

    /// Its path for the kernel, which looks up the file at once, and keeps it. Through a descriptor, as a
    /// blank would end a path.
    pub fn path(&self) -> String {
        format!("/proc/self/fd/{}", self.file.as_raw_fd())
    }

    /// Where in the file a function can be probed: at its beginning, or as near as a breakpoint is cheap.
    pub fn entry(&self, function: &'static str) -> Result<u64, SourceError> {
        let place = self.place(function)?;
        let offset = place.offset.ok_or_else(|| self.unreadable(format!("{function} is not in the file")))?;
        let mut code = [0; LOOKED_AT_BYTES];
        match self.file.read_at(&mut code, offset) {
            Ok(bytes) => Ok(offset + first_push(&code[..bytes])),
            Err(_) => Ok(offset),
        }
    }

    /// A variable as `@+` of a probe at the function needs it: the function's offset in the file plus the distance of
    /// both in memory. For a variable in another segment this is not its offset in the file.
    pub fn variable(&self, name: &'static str, function: &'static str) -> Result<u64, SourceError> {
        let (variable, near) = (self.place(name)?, self.place(function)?);
        Ok(near.offset.unwrap_or_default().wrapping_add(variable.addr).wrapping_sub(near.addr))
    }

    fn place(&self, symbol: &'static str) -> Result<Place, SourceError> {
        let found = self
            .inspector
            .lookup(&self.source, &[symbol])
            .map_err(|error| self.unreadable(error.to_string()))?;
        let first = found.first().and_then(|all| all.first());
        first
            .map(|info| Place { addr: info.addr, offset: info.file_offset })
            .ok_or_else(|| SourceError::NoSymbol { program: self.name.clone(), symbol })
    }

    fn unreadable(&self, cause: String) -> SourceError {
        SourceError::NoProgram { program: self.name.clone(), cause }
    }
}
