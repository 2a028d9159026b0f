//! PostgreSQL: login and queries.

use std::io;

use bytes::BytesMut;
use fallible_iterator::FallibleIterator;
use postgres_protocol::authentication::md5_hash;
use postgres_protocol::authentication::sasl::{ChannelBinding, SCRAM_SHA_256, ScramSha256};
use postgres_protocol::message::backend::{
    DataRowBody, ErrorResponseBody, Header, Message, RowDescriptionBody,
};
use postgres_protocol::message::frontend;

use crate::error::LoadError;
use crate::io::transport::Transport;
use crate::plan::{Server, Tls};
use crate::protocol::limits::{check_length, clipped};
use crate::protocol::{self, Opening, ServerError, explain};

/// A connection that answers one request at a time.
pub struct Session {
    transport: Transport,
    buffer: BytesMut,
    address: String,
    message_bytes_max: usize,
}

impl protocol::Session for Session {
    fn log_in(transport: Transport, opening: &Opening) -> Result<Self, LoadError> {
        let server = &opening.server;
        let mut session =
            Self { address: server.address(), ..Self::over(transport, opening.message_bytes_max) };
        if server.tls != Tls::Disable {
            session.start_tls(server).map_err(|cause| session.broken(cause))?;
        }
        session.authenticate(server)?;
        Ok(session)
    }

    fn over(transport: Transport, message_bytes_max: usize) -> Self {
        Self { transport, buffer: BytesMut::new(), address: "the server".into(), message_bytes_max }
    }

    fn query(&mut self, sql: &str) -> Result<Vec<(String, f64)>, LoadError> {
        let mut out = BytesMut::new();
        frontend::query(sql, &mut out).map_err(|cause| self.broken(cause))?;
        self.send(&out)?;
        let (mut names, mut values, mut failure) = (Vec::new(), Vec::new(), None);
        loop {
            match self.next()? {
                Message::RowDescription(body) => {
                    names = column_names(&body).map_err(|cause| self.broken(cause))?
                }
                Message::DataRow(body) if values.is_empty() => {
                    values = row_values(&body).map_err(|cause| self.broken(cause))?;
                }
                Message::ErrorResponse(body) => failure = Some(server_error(&body)),
                Message::ReadyForQuery(_) => break,
                _ => {}
            }
        }
        if let Some(ServerError { code, message }) = failure {
            return Err(LoadError::Session {
                address: self.address.clone(),
                sql: sql.to_string(),
                code,
                message,
            });
        }
        Ok(names.into_iter().zip(values).filter_map(|(name, value)| Some((name, value?))).collect())
    }

    fn transport(&mut self) -> &mut Transport {
        &mut self.transport
    }

    fn into_transport(self) -> Transport {
        self.transport
    }
}

impl Session {
    fn start_tls(&mut self, server: &Server) -> io::Result<()> {
        self.transport.write_all(&[0, 0, 0, 8, 4, 210, 22, 47])?; // SSLRequest, code 80877103
        let mut answer = [0];
        if self.transport.read(&mut answer)? == 0 || answer != *b"S" {
            return Err(io::Error::other("the server does not offer TLS"));
        }
        self.transport.encrypt(server)
    }

    fn authenticate(&mut self, server: &Server) -> Result<(), LoadError> {
        let mut out = BytesMut::new();
        let facts = [
            ("user", server.user.as_str()),
            ("database", server.database.as_str()),
            ("application_name", "steelyard"),
            ("client_encoding", "UTF8"),
        ];
        frontend::startup_message(facts, &mut out).map_err(|cause| self.broken(cause))?;
        self.send(&out)?;
        let mut scram: Option<ScramSha256> = None;
        loop {
            let mut out = BytesMut::new();
            let message = self.next()?;
            let written = match message {
                Message::AuthenticationCleartextPassword => {
                    frontend::password_message(self.password(server)?, &mut out)
                }
                Message::AuthenticationMd5Password(body) => {
                    let password = self.password(server)?;
                    frontend::password_message(
                        md5_hash(server.user.as_bytes(), password, body.salt()).as_bytes(),
                        &mut out,
                    )
                }
                Message::AuthenticationSasl(_) => {
                    let started = ScramSha256::new(self.password(server)?, ChannelBinding::unsupported());
                    let result = frontend::sasl_initial_response(SCRAM_SHA_256, started.message(), &mut out);
                    scram = Some(started);
                    result
                }
                Message::AuthenticationSaslContinue(body) => match &mut scram {
                    Some(scram) => {
                        scram.update(body.data()).map_err(|cause| self.broken(cause))?;
                        frontend::sasl_response(scram.message(), &mut out)
                    }
                    None => return Err(self.broken(io::Error::other("SASL out of order"))),
                },
                Message::AuthenticationSaslFinal(body) => {
                    if let Some(scram) = &mut scram {
                        scram.finish(body.data()).map_err(|cause| self.broken(cause))?;
                    }
                    Ok(())
                }
                Message::AuthenticationOk
                | Message::ParameterStatus(_)
                | Message::BackendKeyData(_)
                | Message::NoticeResponse(_) => Ok(()),
                Message::ReadyForQuery(_) => return Ok(()),
                Message::ErrorResponse(body) => {
                    let ServerError { code, message } = server_error(&body);
                    return Err(LoadError::Refused { address: self.address.clone(), code, message });
                }
                _ => Err(io::Error::other("the authentication method is not supported")),
            };
            written.map_err(|cause| self.broken(cause))?;
            if !out.is_empty() {
                self.send(&out)?;
            }
        }
    }

    fn password<'a>(&self, server: &'a Server) -> Result<&'a [u8], LoadError> {
        server
            .password
            .as_deref()
            .map(str::as_bytes)
            .ok_or_else(|| self.broken(io::Error::other("the server requires a password and none is given")))
    }

    fn send(&mut self, bytes: &[u8]) -> Result<(), LoadError> {
        self.transport.write_all(bytes).map_err(|cause| self.broken(cause))
    }

    fn next(&mut self) -> Result<Message, LoadError> {
        loop {
            if self.holds_message().map_err(|cause| self.broken(cause))?
                && let Some(message) = Message::parse(&mut self.buffer).map_err(|cause| self.broken(cause))?
            {
                return Ok(message);
            }
            let mut piece = [0; 8192];
            match self.transport.read(&mut piece) {
                Ok(0) => return Err(self.broken(io::Error::other("the server closed the connection"))),
                Ok(count) => self.buffer.extend_from_slice(&piece[..count]),
                Err(cause) => return Err(self.broken(cause)),
            }
        }
    }

    /// Whether a whole message is there: the parser would make room for any length that the server names.
    fn holds_message(&self) -> io::Result<bool> {
        let Some(header) = Header::parse(&self.buffer)? else { return Ok(false) };
        let length = header.len() as usize;
        check_length(length, self.message_bytes_max).map_err(io::Error::other)?;
        Ok(self.buffer.len() > length)
    }

    fn broken(&self, cause: io::Error) -> LoadError {
        LoadError::Connect { address: self.address.clone(), cause: explain(&cause) }
    }
}

fn server_error(body: &ErrorResponseBody) -> ServerError {
    let mut error = ServerError::default();
    let mut fields = body.fields();
    while let Ok(Some(field)) = fields.next() {
        let text = clipped(field.value_bytes());
        match field.type_() {
            b'C' => error.code = text,
            b'M' => error.message = text,
            _ => {}
        }
    }
    error
}

fn column_names(body: &RowDescriptionBody) -> io::Result<Vec<String>> {
    body.fields().map(|field| Ok(field.name().to_string())).collect()
}

fn row_values(body: &DataRowBody) -> io::Result<Vec<Option<f64>>> {
    let buffer = body.buffer();
    body.ranges()
        .map(|range| Ok(range.and_then(|range| std::str::from_utf8(&buffer[range]).ok()?.parse().ok())))
        .collect()
}
