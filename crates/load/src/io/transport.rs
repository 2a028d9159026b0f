//! A socket to the server: Unix or TCP, plain or TLS; blocking to connect, then not.

use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::RawFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Instant;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::{ClientConfig, ClientConnection, DigitallySignedStruct, RootCertStore, SignatureScheme};
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, ServerName, UnixTime};

use crate::plan::{Server, Tls};

mod socket;

use socket::Socket;

/// One connection's bytes.
pub struct Transport {
    socket: Socket,
    tls: Option<Box<ClientConnection>>,
}

impl From<UnixStream> for Transport {
    /// Over a socket that is connected already.
    fn from(stream: UnixStream) -> Self {
        Self { socket: stream.into(), tls: None }
    }
}

impl Transport {
    /// Connects; blocking, until `limit` in all that follows (see [`Self::set_limit`]).
    pub fn connect(server: &Server, limit: Instant) -> io::Result<Self> {
        Ok(Self { socket: Socket::connect(server, limit)?, tls: None })
    }

    pub fn fd(&self) -> RawFd {
        self.socket.fd()
    }

    /// From now on reading and writing return at once.
    pub fn set_nonblocking(&self, on: bool) -> io::Result<()> {
        self.socket.set_nonblocking(on)
    }

    /// When blocking reads and writes end, all of them together; `None`: never.
    pub fn set_limit(&mut self, limit: Option<Instant>) -> io::Result<()> {
        self.socket.set_limit(limit)
    }

    pub fn is_encrypted(&self) -> bool {
        self.tls.is_some()
    }

    pub fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let Some(tls) = &mut self.tls else { return self.socket.read(into) };
        loop {
            match tls.reader().read(into) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                other => return other,
            }
            if tls.read_tls(&mut self.socket)? == 0 {
                return Ok(0);
            }
            tls.process_new_packets().map_err(io::Error::other)?;
        }
    }

    /// Writes some of `bytes`; returns how many were taken.
    pub fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let Some(tls) = &mut self.tls else { return self.socket.write(bytes) };
        let taken = tls.writer().write(bytes)?;
        match self.flush() {
            // what was taken is sent by a later flush: it must not be written twice
            Err(error) if error.kind() != ErrorKind::WouldBlock || taken == 0 => Err(error),
            _ => Ok(taken),
        }
    }

    /// Sends what TLS holds back; WouldBlock when the socket is full.
    pub fn flush(&mut self) -> io::Result<()> {
        if let Some(tls) = &mut self.tls {
            while tls.wants_write() {
                tls.write_tls(&mut self.socket)?;
            }
        }
        Ok(())
    }

    pub fn write_all(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            let taken = self.write(bytes)?;
            bytes = &bytes[taken..];
        }
        Ok(())
    }

    /// Encrypts from here on; the server has agreed to it.
    pub fn encrypt(&mut self, server: &Server) -> io::Result<()> {
        let name = ServerName::try_from(server.host.clone()).map_err(io::Error::other)?;
        let mut tls = ClientConnection::new(tls_config(server)?, name).map_err(io::Error::other)?;
        while tls.is_handshaking() {
            tls.complete_io(&mut self.socket)?;
        }
        self.tls = Some(Box::new(tls));
        Ok(())
    }
}

fn tls_config(server: &Server) -> io::Result<Arc<ClientConfig>> {
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .map_err(io::Error::other)?;
    let config = if server.tls == Tls::VerifyFull {
        let file = server
            .ca_file
            .as_deref()
            .ok_or_else(|| io::Error::other("verify-full needs ca_file (sslrootcert)"))?;
        let mut roots = RootCertStore::empty();
        for certificate in CertificateDer::pem_file_iter(file).map_err(io::Error::other)? {
            roots.add(certificate.map_err(io::Error::other)?).map_err(io::Error::other)?;
        }
        builder.with_root_certificates(roots).with_no_client_auth()
    } else {
        builder
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(AnyCertificate(provider)))
            .with_no_client_auth()
    };
    Ok(Arc::new(config))
}

/// `require` encrypts and trusts: libpq's meaning of sslmode=require.
#[derive(Debug)]
struct AnyCertificate(Arc<CryptoProvider>);

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signed, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signed, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
