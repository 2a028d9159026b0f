//! Tracepoints by name: their number, and the offsets of their fields in a record.

use std::collections::HashMap;
use std::fs;
use std::path::PathBuf;

use crate::error::SourceError;

const FOLDERS: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];

/// One tracepoint. fields: offset and size in bytes.
#[derive(Clone, Debug)]
pub struct Tracepoint {
    pub id: u16,
    fields: HashMap<String, (usize, usize)>,
}

impl Tracepoint {
    /// Looks up `group/name` in tracefs.
    pub fn find(name: &str) -> Result<Tracepoint, SourceError> {
        let events = tracefs().ok_or(SourceError::NoTracefs)?.join("events");
        let format = fs::read_to_string(events.join(name).join("format"))
            .map_err(|_| SourceError::NoTracepoint(name.replace('/', ":")))?;
        Tracepoint::parse(&format).ok_or_else(|| SourceError::NoTracepoint(name.replace('/', ":")))
    }

    fn parse(format: &str) -> Option<Tracepoint> {
        let mut id = None;
        let mut fields = HashMap::new();
        for line in format.lines().map(str::trim) {
            if let Some(number) = line.strip_prefix("ID:") {
                id = number.trim().parse().ok();
            } else if let Some(field) = line.strip_prefix("field:") {
                let mut parts = field.split(';').map(str::trim);
                let declared = parts.next()?;
                let name =
                    declared.split(['[', ' ', '*']).rfind(|word| !word.is_empty() && !word.ends_with(']'))?;
                let mut number = |prefix: &str| parts.next()?.strip_prefix(prefix)?.parse::<usize>().ok();
                fields.insert(name.to_string(), (number("offset:")?, number("size:")?));
            }
        }
        Some(Tracepoint { id: id?, fields })
    }

    /// A reader of a number field; 0 where the field is not in the record.
    pub fn number(&self, field: &str) -> impl Fn(&[u8]) -> u64 + Send + Sync + use<> {
        let place = self.fields.get(field).copied();
        move |raw| {
            let Some((offset, size)) = place else { return 0 };
            let mut bytes = [0; 8];
            match raw.get(offset..offset + size.min(8)) {
                Some(found) => bytes[..found.len()].copy_from_slice(found),
                None => return 0,
            }
            u64::from_le_bytes(bytes)
        }
    }
}

/// Where tracefs is, if its events can be read.
pub fn tracefs() -> Option<PathBuf> {
    FOLDERS.iter().map(PathBuf::from).find(|place| fs::read_dir(place.join("events")).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SWITCH: &str = "name: sched_switch\nID: 372\nformat:\n\
        \tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\n\
        \tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;\n\
        \tfield:void * lock_addr;\toffset:24;\tsize:8;\tsigned:0;\n\
        \tfield:pid_t next_pid;\toffset:56;\tsize:4;\tsigned:1;\n";

    #[test]
    fn fields_are_found_where_the_format_says() {
        let point = Tracepoint::parse(SWITCH).expect("a format");
        assert_eq!(point.id, 372);
        let mut raw = [0u8; 64];
        raw[24..32].copy_from_slice(&7u64.to_le_bytes());
        raw[56..60].copy_from_slice(&4711u32.to_le_bytes());
        assert_eq!(point.number("next_pid")(&raw), 4711);
        assert_eq!(point.number("lock_addr")(&raw), 7);
        assert_eq!(point.number("prev_comm")(&raw), 0);
        assert_eq!(point.number("gone")(&raw), 0);
        assert_eq!(point.number("next_pid")(&raw[..57]), 0);
    }
}
