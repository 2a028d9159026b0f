//! Limits what the processes that a thread starts may write and connect to.
//!
//! Landlock restricts a thread, and every process that it starts inherits the restriction for ever:
//! <https://docs.kernel.org/userspace-api/landlock.html>. No privilege is needed. Reading is not
//! restricted.

use std::path::PathBuf;

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, NetPort, PathBeneath, PathFd,
    Ruleset, RulesetAttr, RulesetCreatedAttr, RulesetStatus, Scope,
};

/// The newest rights that are asked for; an older kernel restricts fewer.
const ABI_USED: ABI = ABI::V8;

/// A restriction that cannot be imposed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The kernel refused a rule.
    #[error("{0}")]
    Ruleset(#[from] landlock::RulesetError),
    /// A folder to permit does not exist or cannot be opened.
    #[error("{0}")]
    Path(#[from] landlock::PathFdError),
    /// The kernel has no Landlock.
    #[error("this kernel has no Landlock")]
    Missing,
}

/// What the processes may do beside reading.
#[derive(Debug, Default)]
pub struct Permissions {
    /// Files and folders that they may write.
    pub write: Vec<PathBuf>,
    /// TCP ports that they may listen on.
    pub bind: Vec<u16>,
    /// TCP ports that they may connect to.
    pub connect: Vec<u16>,
}

/// What the kernel of this machine restricts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Support {
    /// No Landlock, or it is disabled, or the kernel is older than 5.19: that one denies each rename between
    /// folders, which servers need.
    None,
    /// Files alone: the kernel is older than 6.7.
    Files,
    /// Files and TCP.
    FilesAndNetwork,
}

/// What the kernel of this machine restricts.
pub fn support() -> Support {
    let strict = || Ruleset::default().set_compatibility(CompatLevel::HardRequirement);
    if strict().handle_access(AccessNet::BindTcp).is_ok() {
        Support::FilesAndNetwork
    } else if strict().handle_access(AccessFs::Refer).is_ok() {
        Support::Files
    } else {
        Support::None
    }
}

/// Restricts the calling thread, and with it all processes that it starts from now on.
pub fn confine_thread(permissions: &Permissions) -> Result<(), Error> {
    let writing = AccessFs::from_write(ABI_USED);
    let mut ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(writing)?
        .handle_access(AccessNet::from_all(ABI_USED))?
        .scope(Scope::from_all(ABI_USED))?
        .create()?;
    for path in &permissions.write {
        let rights = if path.is_dir() { writing } else { writing & AccessFs::from_file(ABI_USED) };
        ruleset = ruleset.add_rule(PathBeneath::new(PathFd::new(path)?, rights))?;
    }
    for (ports, right) in
        [(&permissions.bind, AccessNet::BindTcp), (&permissions.connect, AccessNet::ConnectTcp)]
    {
        for port in ports {
            ruleset = ruleset.add_rule(NetPort::new(*port, BitFlags::from(right)))?;
        }
    }
    match ruleset.restrict_self()?.ruleset {
        RulesetStatus::NotEnforced => Err(Error::Missing),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;
    use std::process::Command;

    #[test]
    fn a_process_of_a_confined_thread_writes_only_where_it_may() {
        if support() == Support::None {
            return;
        }
        let base = std::env::temp_dir().join(format!("steelyard-confine-{}", std::process::id()));
        let (own, other) = (base.join("own"), base.join("other"));
        std::fs::create_dir_all(&own).unwrap();
        std::fs::create_dir_all(&other).unwrap();
        let script = format!(
            "cd {}; echo 1 > a; mkdir sub; echo 2 > b; mv b sub/b; echo 1 > /dev/null; echo 1 > {}/a",
            own.display(),
            other.display()
        );
        let permissions = Permissions { write: vec![own.clone()], ..Permissions::default() };
        std::thread::spawn(move || {
            confine_thread(&permissions).unwrap();
            Command::new("sh").args(["-c", &script]).output().unwrap();
        })
        .join()
        .unwrap();
        assert!(own.join("a").exists());
        assert!(own.join("sub/b").exists(), "a rename between folders");
        assert!(!other.join("a").exists());
        // this thread is not restricted
        std::fs::remove_dir_all(&base).unwrap();
    }

    #[test]
    fn a_confined_thread_listens_on_no_port() {
        if support() != Support::FilesAndNetwork {
            return;
        }
        std::thread::spawn(|| {
            confine_thread(&Permissions::default()).unwrap();
            assert!(TcpListener::bind("127.0.0.1:0").is_err());
        })
        .join()
        .unwrap();
        assert!(TcpListener::bind("127.0.0.1:0").is_ok());
    }

    #[test]
    fn a_folder_that_does_not_exist_is_an_error() {
        let permissions = Permissions { write: vec!["/nonexistent/x".into()], ..Permissions::default() };
        assert!(matches!(confine_thread(&permissions), Err(Error::Path(_))));
    }
}
