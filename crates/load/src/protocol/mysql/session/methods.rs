//! Login methods: the server's requests and the answers.

use std::io;

use mysql_common::auth::plugins::{AuthProc, ChallengeResponsePlugin, Context, Response};
use mysql_common::packets::AuthPlugin;

use super::key::rewritten;
use crate::protocol::limits::clipped;

pub(super) struct Secret<'a> {
    pub password: &'a [u8],
    /// Over a Unix socket.
    pub ipc: bool,
    pub tls: bool,
    pub scramble: Vec<u8>,
}

impl Context for &Secret<'_> {
    fn pass(&self) -> &[u8] {
        self.password
    }
    fn is_ipc_transport(&self) -> bool {
        self.ipc
    }
    fn is_tls_transport(&self) -> bool {
        self.tls
    }
    fn scramble(&self) -> &[u8] {
        &self.scramble
    }
    fn server_key_pem(&self) -> Option<&[u8]> {
        None
    }
}

/// Start of a login method: the answer to the server's first challenge.
pub(super) fn begin(plugin: &AuthPlugin<'_>, secret: &Secret<'_>) -> io::Result<(AuthProc, Vec<u8>)> {
    let unknown = |cause: &dyn std::fmt::Display| {
        io::Error::other(format!("cannot log in by {}: {cause}", clipped(plugin.as_bytes())))
    };
    let readable = matches!(plugin, AuthPlugin::MysqlClearPassword | AuthPlugin::MysqlOldPassword);
    // a Unix socket ends on this machine, so the password cannot be intercepted
    if readable && !(secret.tls || secret.ipc) {
        return Err(unknown(
            &"it shows the password to whoever listens, as the connection is not encrypted \
              (add tls=require to the address)",
        ));
    }
    if matches!(plugin, AuthPlugin::Other(_) | AuthPlugin::Parsec) {
        return Err(unknown(&"it is not supported"));
    }
    let mut auth = plugin.init().map_err(|cause| unknown(&cause))?;
    let response = auth.run(secret, &secret.scramble).map_err(|cause| unknown(&cause))?;
    Ok((auth, response.data().unwrap_or_default().to_vec()))
}

/// The answer to a further request of a login method.
pub(super) fn more(auth: &mut AuthProc, secret: &Secret<'_>, data: &[u8]) -> io::Result<Response> {
    let encrypts = matches!(auth, AuthProc::CachingSha2Password(_) | AuthProc::Sha256Password(_));
    // a single byte is not a key, but the next step of the login
    let key = if encrypts && data.len() > 1 {
        // the password ends in a zero byte
        let key = rewritten(data, secret.password.len() + 1);
        Some(key.ok_or_else(|| io::Error::other("the server's RSA key is not one to encrypt a password by"))?)
    } else {
        None
    };
    auth.run(secret, key.as_deref().unwrap_or(data)).map_err(io::Error::other)
}

/// A nonce ends in a zero that is not part of it.
pub(super) fn without_end(nonce: &[u8]) -> &[u8] {
    nonce.strip_suffix(&[0]).unwrap_or(nonce)
}
