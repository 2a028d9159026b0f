//! What the targets share: a server whose every word is in the input.

use std::io::Write;
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use steelyard_load::plan::Server;
use steelyard_load::protocol::Opening;
use steelyard_load::protocol::{Protocol, Session};
use steelyard_load::io::transport::Transport;

const MESSAGE_BYTES_MAX: usize = 1 << 20;
/// An input that takes longer has found a wait without a limit.
const LIMIT: Duration = Duration::from_secs(2);

/// The first byte says what hears the rest: a login and a question, or a question alone.
pub fn hear<P: Protocol>(input: &[u8]) {
    let Some((mode, words)) = input.split_first() else { return };
    let Ok((ours, mut theirs)) = UnixStream::pair() else { return };
    // more than a socket holds would wait for a reader
    if words.len() > 1 << 14 || theirs.write_all(words).is_err() || theirs.shutdown(Shutdown::Write).is_err()
    {
        return;
    }
    let mut transport = Transport::from(ours);
    if transport.set_limit(Some(Instant::now() + LIMIT)).is_err() {
        return;
    }
    let server = Server {
        // over TCP the password is encrypted by a key of the server's
        host: if mode & 2 == 0 { "/s".into() } else { "h".into() },
        port: 1,
        user: "u".into(),
        password: Some("opensesame".into()),
        database: "d".into(),
        ..Server::default()
    };
    let opening = Opening { server, statements: Vec::new(), message_bytes_max: MESSAGE_BYTES_MAX };
    let session = if mode & 1 == 0 {
        P::Session::log_in(transport, &opening)
    } else {
        Ok(P::Session::over(transport, MESSAGE_BYTES_MAX))
    };
    if let Ok(mut session) = session {
        let _ = session.query("select 1");
    }
}

/// What a scanner made of its input: the last answer that ended.
pub type Heard<A> = Result<Option<A>, ()>;

/// However the bytes are cut, they say the same.
pub fn compare<A: PartialEq + std::fmt::Debug>(whole: Heard<A>, mut cut: impl Iterator<Item = Heard<A>>) {
    let mut last = Ok(None);
    for one in cut.by_ref() {
        match one {
            Ok(None) => {}
            Ok(some) => last = Ok(some),
            Err(()) => {
                last = Err(());
                break;
            }
        }
    }
    assert_eq!(whole, last);
}
