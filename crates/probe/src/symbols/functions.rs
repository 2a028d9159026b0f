//! Names of functions in programs and libraries, found by file and offset, so that the process may have
//! exited.

use std::collections::HashMap;
use std::path::Path;
use std::rc::Rc;

use blazesym::symbolize::source::{Elf, Source};
use blazesym::symbolize::{Input, Symbolizer};

/// Looks names up once each.
pub struct Functions {
    symbolizer: Symbolizer,
    known: HashMap<(Rc<str>, u64), Rc<str>>,
}

impl Default for Functions {
    fn default() -> Self {
        let symbolizer = Symbolizer::builder().enable_code_info(false).enable_inlined_fns(false).build();
        Functions { symbolizer, known: HashMap::new() }
    }
}

impl Functions {
    /// The function at an offset of a file; the name of the file in brackets where the function has none.
    pub fn function(&mut self, path: &Rc<str>, offset: u64) -> Rc<str> {
        let key = (path.clone(), offset);
        if let Some(name) = self.known.get(&key) {
            return name.clone();
        }
        let name = self.look_up(path, offset).unwrap_or_else(|| unnamed(path));
        self.known.insert(key, name.clone());
        name
    }

    fn look_up(&self, path: &str, offset: u64) -> Option<Rc<str>> {
        // memory of no file is never looked for in the file system
        if !path.starts_with('/') || path.starts_with("//") {
            return None;
        }
        let source = Source::Elf(Elf::new(path));
        let found = self.symbolizer.symbolize_single(&source, Input::FileOffset(offset)).ok()?;
        Some(Rc::from(&*found.into_sym()?.name))
    }
}

/// `[postgres]`: a function of that file without a name.
fn unnamed(path: &str) -> Rc<str> {
    if path.starts_with('[') {
        return Rc::from(path);
    }
    let file = Path::new(path).file_name().map(|name| name.to_string_lossy());
    Rc::from(format!("[{}]", file.as_deref().unwrap_or("unknown")))
}
