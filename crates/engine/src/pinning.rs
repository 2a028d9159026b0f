//! Binding a thread to CPUs.

use std::io;

/// Binds the calling thread to these CPUs. Fails where one of them does not exist or is not allowed.
pub fn pin(cpus: &[usize]) -> io::Result<()> {
    if let Some(cpu) = cpus.iter().find(|cpu| **cpu >= libc::CPU_SETSIZE as usize) {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, format!("there is no CPU {cpu}")));
    }
    // SAFETY: a zeroed cpu_set_t is an empty set; each number is below CPU_SETSIZE; the set outlives the call.
    let answer = unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        cpus.iter().for_each(|cpu| libc::CPU_SET(*cpu, &mut set));
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &set)
    };
    if answer == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
