//! An authority of the test's own and a certificate for the loopback.

use std::path::Path;

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};

/// The files of a TLS server, in PEM.
pub struct Certificates {
    ca: String,
    server: String,
    key: String,
}

impl Certificates {
    /// File name of the authority.
    pub const CA: &str = "ca.pem";
    /// File name of the server's certificate.
    pub const SERVER: &str = "server.pem";
    /// File name of the server's key.
    pub const KEY: &str = "server.key";

    /// A new authority and a certificate for 127.0.0.1 and localhost.
    ///
    /// # Panics
    /// When keys cannot be made.
    #[expect(clippy::new_without_default, reason = "every call makes new keys")]
    pub fn new() -> Self {
        let ca_key = KeyPair::generate().expect("a key");
        let mut ca = CertificateParams::new(Vec::new()).expect("no names");
        ca.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let ca_pem = ca.self_signed(&ca_key).expect("a certificate").pem();
        let issuer = Issuer::new(ca, ca_key);
        let key = KeyPair::generate().expect("a key");
        let names = vec!["127.0.0.1".to_owned(), "localhost".to_owned()];
        let server = CertificateParams::new(names).expect("valid names");
        let server = server.signed_by(&key, &issuer).expect("a certificate").pem();
        Self { ca: ca_pem, server, key: key.serialize_pem() }
    }

    /// Writes the three files.
    ///
    /// # Panics
    /// When they cannot be written.
    pub fn write(&self, directory: &Path) {
        for (name, text) in
            [(Self::CA, &self.ca), (Self::SERVER, &self.server), (Self::KEY, &self.key)]
        {
            std::fs::write(directory.join(name), text).expect("a writable directory");
        }
    }
}
