//! Names of kernel functions and, where the kernel publishes them, of its static variables (/proc/kallsyms).

use std::fs;

use crate::error::SourceError;

/// Fewer variables than this are not all of them (CONFIG_KALLSYMS_ALL): the nearest would be wrong.
const VARIABLES_MIN: usize = 1000;
/// No static lock lies deeper than this in its variable.
const VARIABLE_BYTES_MAX: u64 = 64 * 1024;

pub struct KernelSymbols {
    functions: Vec<(u64, Box<str>)>,
    variables: Vec<(u64, Box<str>)>,
}

impl KernelSymbols {
    /// Those of the running kernel; refused where the kernel hides its addresses.
    pub fn read() -> Result<KernelSymbols, SourceError> {
        let text = fs::read("/proc/kallsyms").map_err(|_| SourceError::NoKernelNames)?;
        KernelSymbols::parse(&String::from_utf8_lossy(&text)).ok_or(SourceError::NoKernelNames)
    }

    /// None when every address is zero.
    fn parse(text: &str) -> Option<KernelSymbols> {
        let (mut functions, mut variables) = (Vec::new(), Vec::new());
        for line in text.lines() {
            let mut words = line.split_ascii_whitespace();
            let (Some(address), Some(kind), Some(name)) = (words.next(), words.next(), words.next()) else {
                continue;
            };
            match u64::from_str_radix(address, 16) {
                Ok(address) if address > 0 && !name.starts_with("__pfx_") => match kind {
                    "t" | "T" | "w" | "W" => functions.push((address, Box::from(name))),
                    "b" | "B" | "d" | "D" => variables.push((address, Box::from(name))),
                    _ => {}
                },
                _ => {}
            }
        }
        functions.sort_by_key(|(address, _)| *address);
        variables.sort_by_key(|(address, _)| *address);
        if variables.len() < VARIABLES_MIN {
            variables.clear();
        }
        (!functions.is_empty()).then_some(KernelSymbols { functions, variables })
    }

    /// The function at an address, and how far in it.
    pub fn function(&self, address: u64) -> Option<(&str, u64)> {
        nearest(&self.functions, address)
    }

    /// The static variable that an address lies in.
    pub fn variable(&self, address: u64) -> Option<&str> {
        let (name, offset) = nearest(&self.variables, address)?;
        (offset < VARIABLE_BYTES_MAX).then_some(name)
    }
}

fn nearest(symbols: &[(u64, Box<str>)], address: u64) -> Option<(&str, u64)> {
    let (start, name) = &symbols[symbols.partition_point(|(start, _)| *start <= address).checked_sub(1)?];
    Some((name, address - start))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_belongs_to_the_function_before_it() {
        let text =
            "ffffffff81000000 T _stext\nffffffff81000100 t do_it\t[mod]\nffffffff810000f0 t __pfx_do_it\n";
        let found = KernelSymbols::parse(text).expect("symbols");
        assert_eq!(found.function(0xffffffff81000124), Some(("do_it", 0x24)));
        assert_eq!(found.function(0xffffffff810000f8), Some(("_stext", 0xf8)));
        assert_eq!(found.function(0xffff), None);
        assert_eq!(found.variable(0xffffffff81000124), None);
    }

    #[test]
    fn addresses_that_are_hidden_are_refused() {
        assert!(KernelSymbols::parse("0000000000000000 T _stext\n0000000000000000 t do_it\n").is_none());
    }
}
