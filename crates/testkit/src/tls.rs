//! An authority of our own and what it vouches for: https on loopback without anybody's trust.

use std::sync::Arc;
use std::time::Duration;

use axum::serve::Listener;
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, KeyUsagePurpose};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio_rustls::server::TlsStream;

/// A client that connects and says nothing must not hold up the others.
const HANDSHAKE: Duration = Duration::from_secs(5);

/// As a company has one that inspects its traffic: known to nobody who was not told.
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pem: String,
}

impl std::fmt::Debug for Authority {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Authority")
    }
}

impl Authority {
    /// # Panics
    /// When no key can be made.
    #[must_use]
    pub fn new() -> Self {
        let key = KeyPair::generate().expect("a key");
        let mut about = CertificateParams::default();
        about
            .distinguished_name
            .push(DnType::CommonName, "Plimsoll's test authority");
        about.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        about.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
        let pem = about.self_signed(&key).expect("a certificate").pem();
        Self {
            issuer: Issuer::new(about, key),
            pem,
        }
    }

    /// What goes into a system's store.
    #[must_use]
    pub fn pem(&self) -> &str {
        &self.pem
    }

    /// A server's side for these names, among them addresses of this machine.
    pub(crate) fn acceptor(&self, names: &[&str]) -> TlsAcceptor {
        let mut all = vec!["localhost".to_owned(), "127.0.0.1".to_owned()];
        all.extend(names.iter().map(|name| (*name).to_owned()));
        let key = KeyPair::generate().expect("a key");
        let about = CertificateParams::new(all).expect("names of hosts");
        let certificate = about.signed_by(&key, &self.issuer).expect("a certificate");
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let config = ServerConfig::builder()
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], key)
            .expect("a certificate with its key");
        TlsAcceptor::from(Arc::new(config))
    }
}

impl Default for Authority {
    fn default() -> Self {
        Self::new()
    }
}

/// Takes connections and speaks TLS on them; who does not shake hands is let go.
pub(crate) struct TlsListener {
    pub(crate) listener: TcpListener,
    pub(crate) acceptor: TlsAcceptor,
}

impl Listener for TlsListener {
    type Io = TlsStream<TcpStream>;
    type Addr = std::net::SocketAddr;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        loop {
            let (stream, from) = Listener::accept(&mut self.listener).await;
            if let Ok(Ok(stream)) = tokio::time::timeout(HANDSHAKE, self.acceptor.accept(stream)).await {
                return (stream, from);
            }
        }
    }

    fn local_addr(&self) -> std::io::Result<Self::Addr> {
        self.listener.local_addr()
    }
}
