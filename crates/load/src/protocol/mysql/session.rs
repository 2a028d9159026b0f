//! MySQL and MariaDB: login and queries.

use std::io;

use mysql_common::auth::plugins::Response;
use mysql_common::constants::{CapabilityFlags, MAX_PAYLOAD_LEN};
use mysql_common::io::ParseBuf;
use mysql_common::packets::{AuthPlugin, AuthSwitchRequest, HandshakePacket, HandshakeResponse, SslRequest};
use mysql_common::proto::{MyDeserialize, MySerialize};

use super::commands;
use super::packets::{MORE_RESULTS, read_columns, read_error, read_length, read_status};
use crate::error::LoadError;
use crate::io::transport::Transport;
use crate::plan::{Server, Tls};
use crate::protocol::limits::check_length;
use crate::protocol::{self, Opening, ServerError, explain};

mod key;
mod methods;

use methods::{Secret, begin, more, without_end};

/// FOUND_ROWS: an update counts the rows that it finds, as a JDBC driver does. MULTI_RESULTS: without it the server
/// refuses a CALL that gives rows. Without DEPRECATE_EOF every answer
/// would end in a packet more.
const WANTED: CapabilityFlags = CapabilityFlags::CLIENT_PROTOCOL_41
    .union(CapabilityFlags::CLIENT_SECURE_CONNECTION)
    .union(CapabilityFlags::CLIENT_LONG_PASSWORD)
    .union(CapabilityFlags::CLIENT_TRANSACTIONS)
    .union(CapabilityFlags::CLIENT_PLUGIN_AUTH)
    .union(CapabilityFlags::CLIENT_FOUND_ROWS)
    .union(CapabilityFlags::CLIENT_MULTI_RESULTS)
    .union(CapabilityFlags::CLIENT_PS_MULTI_RESULTS)
    .union(CapabilityFlags::CLIENT_DEPRECATE_EOF);

/// Requests of a login are short; so is the key for the password, since the time of encryption grows
/// with its length.
const LOGIN_BYTES_MAX: usize = 4096;
/// Packets are read in pieces, because the server's length is not trusted.
const PIECE: usize = 1 << 16;

/// A connection that answers one request at a time.
pub struct Session {
    transport: Transport,
    address: String,
    sequence: u8,
    message_bytes_max: usize,
}

impl protocol::Session for Session {
    fn log_in(transport: Transport, opening: &Opening) -> Result<Self, LoadError> {
        let server = &opening.server;
        let mut session = Self { address: server.address(), ..Self::over(transport, LOGIN_BYTES_MAX) };
        session.authenticate(server).map_err(|failure| match failure {
            Failure::Refused(ServerError { code, message }) => {
                LoadError::Refused { address: server.address(), code, message }
            }
            Failure::Broken(cause) => session.broken(cause),
        })?;
        session.message_bytes_max = opening.message_bytes_max;
        Ok(session)
    }

    fn over(transport: Transport, message_bytes_max: usize) -> Self {
        Self { transport, address: "the server".into(), sequence: 0, message_bytes_max }
    }

    fn query(&mut self, sql: &str) -> Result<Vec<(String, f64)>, LoadError> {
        let mut out = Vec::new();
        commands::query(&mut out, |out| out.extend_from_slice(sql.as_bytes()));
        let sent = self.transport.write_all(&out);
        // a server that ends the connection says why before: the write may fail before that is read
        let answer = match (self.answer(), sent) {
            (Err(Failure::Broken(_)), Err(cause)) => Err(Failure::Broken(cause)),
            (answer, _) => answer,
        };
        answer.map_err(|failure| match failure {
            Failure::Refused(ServerError { code, message }) => {
                LoadError::Session { address: self.address.clone(), sql: sql.to_string(), code, message }
            }
            Failure::Broken(cause) => self.broken(cause),
        })
    }

    fn transport(&mut self) -> &mut Transport {
        &mut self.transport
    }

    fn into_transport(self) -> Transport {
        self.transport
    }
}

impl Session {
    fn authenticate(&mut self, server: &Server) -> Result<(), Failure> {
        let first = self.read()?;
        if first.first() == Some(&0xff) {
            return Err(Failure::Refused(read_error(&first)));
        }
        check_greeting(&first).ok_or_else(foreign)?;
        let hello = HandshakePacket::deserialize((), &mut ParseBuf(&first))?;
        let mut wanted = WANTED & hello.capabilities();
        if !wanted.contains(CapabilityFlags::CLIENT_DEPRECATE_EOF) {
            return Err(
                io::Error::other("the server is too old: MariaDB 10.2 or MySQL 5.7.5 is needed").into()
            );
        }
        // MariaDB uses the flags of the TLS request, not those of the login after it
        wanted.set(CapabilityFlags::CLIENT_CONNECT_WITH_DB, !server.database.is_empty());
        if server.tls != Tls::Disable {
            if !hello.capabilities().contains(CapabilityFlags::CLIENT_SSL) {
                return Err(io::Error::other("the server does not offer TLS").into());
            }
            wanted |= CapabilityFlags::CLIENT_SSL;
            self.write(&SslRequest::new(
                wanted,
                MAX_PAYLOAD_LEN as u32,
                mysql_common::collations::CollationId::UTF8MB4_GENERAL_CI as u8,
            ))?;
            self.transport.encrypt(server)?;
        }
        let nonce = hello.nonce();
        let mut secret = Secret {
            password: server.password.as_deref().unwrap_or_default().as_bytes(),
            ipc: server.is_unix(),
            tls: server.tls != Tls::Disable,
            scramble: without_end(&nonce).to_vec(),
        };
        let plugin = hello.auth_plugin().unwrap_or(AuthPlugin::MysqlNativePassword);
        let (mut auth, plugin, answer) = match begin(&plugin, &secret) {
            Ok((auth, answer)) => (auth, plugin, answer),
            // a method that the account may not even use: let the server name the account's own
            Err(_) => {
                let plugin = AuthPlugin::MysqlNativePassword;
                let (auth, answer) = begin(&plugin, &secret)?;
                (auth, plugin, answer)
            }
        };
        let response = HandshakeResponse::new(
            Some(answer),
            (5, 7, 5),
            Some(server.user.as_bytes()),
            (!server.database.is_empty()).then_some(server.database.as_bytes()),
            Some(plugin),
            wanted,
            None,
            MAX_PAYLOAD_LEN as u32,
        );
        self.write(&response)?;
        loop {
            let packet = self.read()?;
            match packet.first() {
                Some(0) => return Ok(()),
                Some(0xff) => return Err(Failure::Refused(read_error(&packet))),
                Some(1) => {
                    let answer = more(&mut auth, &secret, &packet[1..])?;
                    if let Response::Next { packet: Some(data) } | Response::Last { packet: Some(data) } =
                        answer
                    {
                        self.write_bytes(&data)?;
                    }
                }
                Some(0xfe) => {
                    let asked = AuthSwitchRequest::deserialize((), &mut ParseBuf(&packet))?;
                    // the zero at the end is taken off where the method's nonce has one
                    secret.scramble = asked.plugin_data().to_vec();
                    let (next, answer) = begin(&asked.auth_plugin(), &secret)?;
                    auth = next;
                    self.write_bytes(&answer)?;
                }
                _ => return Err(io::Error::other("this does not speak MySQL's protocol").into()),
            }
        }
    }

    /// Of the first result.
    fn answer(&mut self) -> Result<Vec<(String, f64)>, Failure> {
        let (first, mut status) = self.result()?;
        while status & MORE_RESULTS != 0 {
            (_, status) = self.result()?;
        }
        Ok(first)
    }

    /// A result, and the status after it.
    fn result(&mut self) -> Result<(Vec<(String, f64)>, u16), Failure> {
        let first = self.read()?;
        let columns = match first.first() {
            Some(0) => return Ok((Vec::new(), read_status(&first).ok_or_else(foreign)?)),
            Some(0xff) => return Err(Failure::Refused(read_error(&first))),
            _ => read_columns(&first).ok_or_else(foreign)?,
        };
        let mut names = Vec::new();
        for _ in 0..columns {
            let definition = self.read()?;
            // catalogue, schema, table, original table, name
            names.push(texts(&definition).nth(4).flatten().unwrap_or_default());
        }
        let mut values = Vec::new();
        let status = loop {
            let row = self.read()?;
            match row.first() {
                Some(0xff) => return Err(Failure::Refused(read_error(&row))),
                Some(0xfe) if row.len() < MAX_PAYLOAD_LEN => break read_status(&row).ok_or_else(foreign)?,
                _ if values.is_empty() => values = texts(&row).take(names.len()).collect(),
                _ => {}
            }
        };
        let numbers = values.into_iter().map(|value| value?.parse::<f64>().ok());
        let found = names.into_iter().zip(numbers).filter_map(|(name, number)| Some((name, number?)));
        Ok((found.collect(), status))
    }

    /// One message: a packet and its continuations.
    fn read(&mut self) -> io::Result<Vec<u8>> {
        let mut body = Vec::new();
        loop {
            let mut head = [0; 4];
            self.fill(&mut head)?;
            self.sequence = head[3].wrapping_add(1);
            let length = u32::from_le_bytes([head[0], head[1], head[2], 0]) as usize;
            check_length(body.len() + length, self.message_bytes_max).map_err(io::Error::other)?;
            let end = body.len() + length;
            while body.len() < end {
                let from = body.len();
                body.resize(end.min(from + PIECE), 0);
                self.fill(&mut body[from..])?;
            }
            if length < MAX_PAYLOAD_LEN {
                return Ok(body);
            }
        }
    }

    fn fill(&mut self, mut into: &mut [u8]) -> io::Result<()> {
        while !into.is_empty() {
            match self.transport.read(into)? {
                0 => return Err(io::Error::other("the server closed the connection")),
                count => into = &mut into[count..],
            }
        }
        Ok(())
    }

    fn write(&mut self, packet: &impl MySerialize) -> io::Result<()> {
        let mut body = Vec::new();
        packet.serialize(&mut body);
        self.write_bytes(&body)
    }

    fn write_bytes(&mut self, body: &[u8]) -> io::Result<()> {
        let mut out = (body.len() as u32).to_le_bytes();
        out[3] = self.sequence;
        self.sequence = self.sequence.wrapping_add(1);
        self.transport.write_all(&[&out, body].concat())
    }

    fn broken(&self, cause: io::Error) -> LoadError {
        LoadError::Connect { address: self.address.clone(), cause: explain(&cause) }
    }
}

enum Failure {
    Refused(ServerError),
    Broken(io::Error),
}

impl From<io::Error> for Failure {
    fn from(cause: io::Error) -> Self {
        Self::Broken(cause)
    }
}

/// The library assumes a length of the nonce below 128: after the version's text, its zero, and 20
/// bytes.
fn check_greeting(greeting: &[u8]) -> Option<()> {
    let version = greeting.get(1..)?;
    let end = version.iter().position(|byte| *byte == 0)?;
    (*version.get(end + 21)? < 0x80).then_some(())
}

fn foreign() -> io::Error {
    io::Error::other("this does not speak MySQL's protocol")
}

/// Length-encoded texts one after another; None for NULL.
fn texts(mut bytes: &[u8]) -> impl Iterator<Item = Option<String>> {
    std::iter::from_fn(move || {
        if let [0xfb, rest @ ..] = bytes {
            bytes = rest;
            return Some(None);
        }
        let (length, rest) = read_length(bytes)?;
        let (text, rest) = rest.split_at_checked(length as usize)?;
        bytes = rest;
        Some(Some(String::from_utf8_lossy(text).into_owned()))
    })
}
