//! Files of TLS: a server's own, and what an upstream is reached with.

use super::Config;
use super::file::Given;
use super::load::Loader;
use super::units::Wrong;
use rustls::crypto::ring;
use rustls::pki_types::pem::{self, PemObject as _};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::CertifiedKey;
use std::fmt;
use std::path::{Path, PathBuf};

/// What the listener for clients speaks TLS with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsConfig {
    /// The certificate, and those between it and its root (PEM).
    pub cert: PathBuf,
    /// Its private key (PEM).
    pub key: PathBuf,
    /// Whose certificates clients must have (PEM); they need none without it.
    pub client_ca: Option<PathBuf>,
}

/// The same as it is written, piece by piece.
#[derive(Debug, Clone, Default)]
pub struct TlsFiles {
    /// `tls.cert`.
    pub cert: Option<PathBuf>,
    /// `tls.key`.
    pub key: Option<PathBuf>,
    /// `tls.client_ca`.
    pub client_ca: Option<PathBuf>,
    /// `tls.admin`.
    pub admin: AdminTls,
}

/// Whether operators are served in TLS, with the certificate of the listener for clients.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum AdminTls {
    /// They are served in plain HTTP.
    #[default]
    No,
    /// They are, and need no certificate of their own.
    Yes,
    /// They are, and what is no probe of health needs a certificate of `tls.client_ca`.
    Mutual,
}

/// What an upstream is reached with in TLS, beside the system's own.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct UpstreamTls {
    /// Authorities that its certificate may be of, beside the system's (PEM).
    pub ca: Option<Vec<u8>>,
    /// The proxy's own certificate and its private key, which the server asks for (PEM).
    pub identity: Option<Vec<u8>>,
}

impl fmt::Debug for UpstreamTls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UpstreamTls").finish_non_exhaustive()
    }
}

impl UpstreamTls {
    /// Whether anything is said.
    #[must_use]
    pub const fn is_given(&self) -> bool {
        self.ca.is_some() || self.identity.is_some()
    }
}

impl Config {
    /// What the listener for clients speaks TLS with; `None` where it does not.
    #[must_use]
    pub fn tls(&self) -> Option<TlsConfig> {
        Some(TlsConfig {
            cert: self.tls.cert.clone()?,
            key: self.tls.key.clone()?,
            client_ca: self.tls.client_ca.clone(),
        })
    }

    /// What the listener for operators speaks TLS with; `None` where it does not.
    #[must_use]
    pub fn admin_tls(&self) -> Option<TlsConfig> {
        let mut files = self.tls()?;
        match self.tls.admin {
            AdminTls::No => return None,
            AdminTls::Yes => files.client_ca = None,
            AdminTls::Mutual => {}
        }
        Some(files)
    }
}

impl Loader {
    /// What the three files of an upstream hold: its authorities, our certificate, and our key.
    pub(super) fn upstream_tls(&mut self, files: [Option<Given>; 3], folder: &Path) -> UpstreamTls {
        let lone = match &files {
            [_, Some(given), None] => Some((given, "client_key_file")),
            [_, None, Some(given)] => Some((given, "client_cert_file")),
            _ => None,
        };
        if let Some((given, missing)) = lone {
            let wrong = Wrong::new(
                "half of a certificate and its key",
                format!("name {missing} too"),
            );
            self.fault(given.place.clone(), wrong);
        }
        let [ca, cert, key] = files;
        let ca = ca.and_then(|given| self.pem(given, folder, Holds::Certificates));
        let cert_place = cert.as_ref().map(|given| given.place.clone());
        let cert = cert.and_then(|given| self.pem(given, folder, Holds::Certificates));
        let key = key.and_then(|given| self.pem(given, folder, Holds::Key));
        let identity = cert.zip(key).map(|(cert, key)| {
            if let (Some(place), Err(error)) = (cert_place, pair(&cert, &key)) {
                let what =
                    format!("client_cert_file and client_key_file do not go together: {error}");
                self.fault(place, Wrong::new(what, "name the key of this certificate"));
            }
            [cert.as_slice(), b"\n", &key].concat()
        });
        UpstreamTls { ca, identity }
    }

    /// What a file holds, if it is that.
    fn pem(&mut self, given: Given, folder: &Path, holds: Holds) -> Option<Vec<u8>> {
        let path = folder.join(&given.text);
        self.config.files.push(path.clone());
        let read = std::fs::read(path);
        let wrong = match &read {
            Err(error) => format!("`{}` cannot be read: {error}", given.text),
            Ok(bytes) => match holds.check(bytes) {
                Ok(()) => return read.ok(),
                Err(why) => format!("`{}` holds no {}: {why}", given.text, holds.name()),
            },
        };
        self.fault(given.place, Wrong::new(wrong, "name a PEM file"));
        None
    }

    /// What stands alone and cannot.
    pub(super) fn check_tls(&mut self) {
        let tls = &self.config.tls;
        let missing = match (&tls.cert, &tls.key, &tls.client_ca) {
            (Some(_), None, _) => Some(("tls.cert", "--tls-key")),
            (None, Some(_), _) => Some(("tls.key", "--tls-cert")),
            (None, None, Some(_)) => Some(("tls.client_ca", "--tls-cert and --tls-key")),
            (None, None, None) if tls.admin != AdminTls::No => {
                Some(("tls.admin", "--tls-cert and --tls-key"))
            }
            (Some(_), Some(_), None) if tls.admin == AdminTls::Mutual => {
                Some(("tls.admin = mutual", "--tls-client-ca"))
            }
            _ => None,
        };
        if let Some((given, missing)) = missing {
            let what = format!("{given} alone says not enough for TLS");
            let wrong = Wrong::new(what, format!("name {missing} too"));
            let key = given.split(' ').next().unwrap_or(given);
            self.fault(self.place_of(key), wrong);
        }
    }
}

/// What a PEM file is to hold.
#[derive(Debug, Clone, Copy)]
enum Holds {
    /// At least one.
    Certificates,
    Key,
}

impl Holds {
    const fn name(self) -> &'static str {
        match self {
            Self::Certificates => "certificate",
            Self::Key => "private key",
        }
    }

    fn check(self, pem: &[u8]) -> Result<(), String> {
        match self {
            Self::Certificates => match certificates(pem) {
                Ok(found) if found.is_empty() => Err("there is none in it".to_owned()),
                Ok(_) => Ok(()),
                Err(error) => Err(error.to_string()),
            },
            Self::Key => PrivateKeyDer::from_pem_slice(pem)
                .map(drop)
                .map_err(|error| error.to_string()),
        }
    }
}

fn certificates(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, pem::Error> {
    CertificateDer::pem_slice_iter(pem).collect()
}

/// Whether the key is that of the certificate.
fn pair(cert: &[u8], key: &[u8]) -> Result<(), rustls::Error> {
    let general = |error: pem::Error| rustls::Error::General(error.to_string());
    let chain = certificates(cert).map_err(general)?;
    let key = PrivateKeyDer::from_pem_slice(key).map_err(general)?;
    CertifiedKey::from_der(chain, key, &ring::default_provider()).map(drop)
}
