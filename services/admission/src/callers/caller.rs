//! The caller of the service port, and its permissions: the role and the scopes of its key.

use std::collections::BTreeMap;
use std::time::Duration;

use anteroom_authorize::problem::{Code, Problem};
use anteroom_config::{KeyConfig, Role, Scope};
use anteroom_core::session::{Session, SessionKeys};
use http::header::AUTHORIZATION;

use super::sender::{self, Sender};
use super::session::{self, ProvenSession};
use super::{RequestHead, keys, loopback};

/// The name of every caller in the audit log while no keys are configured.
pub(super) const NO_KEY: &str = "(no keys configured)";

/// What a call needs of the caller's role.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Permission {
    /// To read the public state of an entity: each role has it.
    State,
    /// To make the calls of the protected service.
    Serve,
    /// To read what operators can read.
    View,
    /// To change what operators can change.
    Operate,
}

impl Permission {
    fn is_of(self, role: Role) -> bool {
        match self {
            Self::State => true,
            Self::Serve => role != Role::Viewer,
            Self::View => role != Role::Backend,
            Self::Operate => role == Role::Operator,
        }
    }
}

/// How callers of the service port authenticate.
#[derive(Clone, Copy, Debug)]
pub struct Access<'a> {
    /// The configured keys.
    pub keys: &'a BTreeMap<String, KeyConfig>,
    /// The secrets that sign the cookie of the console; `None` if there is no console.
    pub sessions: Option<&'a SessionKeys>,
}

/// A caller whose key is known.
#[derive(Clone, Debug)]
pub struct Caller {
    name: String,
    /// Absent if no keys are configured: then every caller has all permissions.
    key: Option<KeyConfig>,
    /// Present if the caller sent the cookie of the console.
    proven: Option<ProvenSession>,
}

impl Caller {
    /// The caller of a request, from its key or from the cookie of the console.
    ///
    /// # Errors
    ///
    /// `key_missing` or `key_invalid`; those of [`session::of`]. If no keys are configured:
    /// `origin_refused`, and the errors of [`loopback::sender`].
    pub fn of(access: Access<'_>, head: &RequestHead<'_>) -> Result<Self, Problem> {
        let Access { keys, sessions } = access;
        if keys.is_empty() {
            let sender = loopback::sender(head)?;
            let is_allowed =
                sender == Sender::Program || sender == Sender::OwnPage && sessions.is_some();
            return if is_allowed { Ok(Self::unnamed()) } else { Err(sender::other_page()) };
        }
        if !head.headers.contains_key(AUTHORIZATION)
            && let Some(sessions) = sessions
            && let Some(proven) = session::of(head, sessions, keys)?
        {
            return Self::signed_in(keys, proven);
        }
        let (name, key) = keys::of(keys, head.headers)?;
        Ok(Self { name: name.to_owned(), key: Some(key.clone()), proven: None })
    }

    /// The caller of a session, if these keys still have its key.
    fn signed_in(
        keys: &BTreeMap<String, KeyConfig>,
        proven: ProvenSession,
    ) -> Result<Self, Problem> {
        let key = proven.key(keys).ok_or_else(session::ended)?.clone();
        Ok(Self { name: proven.session.key().to_owned(), key: Some(key), proven: Some(proven) })
    }

    /// Whether the sender of a request may see the page of the console. The page has no secrets.
    ///
    /// # Errors
    ///
    /// If no keys are configured, as [`of`](Self::of). But a user can type the address.
    pub fn may_see_page(access: Access<'_>, head: &RequestHead<'_>) -> Result<(), Problem> {
        if access.keys.is_empty()
            && matches!(loopback::sender(head)?, Sender::OtherPage | Sender::OtherHost)
        {
            return Err(sender::other_page());
        }
        Ok(())
    }

    /// The caller of every request if no keys are configured.
    fn unnamed() -> Self {
        Self { name: NO_KEY.to_owned(), key: None, proven: None }
    }

    /// The session of the caller, if it sent the cookie of the console.
    pub fn session(&self) -> Option<&Session> {
        self.proven.as_ref().map(|proven| &proven.session)
    }

    /// A new session of the caller's key at this time since 1970; `None` if no keys are configured.
    pub fn begin_session(&self, now: Duration) -> Option<Session> {
        self.key.as_ref().map(|key| Session::begin(&self.name, &key.digest.0, now))
    }

    /// The name of the key.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The name of the key, if keys are configured.
    pub fn key_name(&self) -> Option<&str> {
        self.key.is_some().then_some(&*self.name)
    }

    /// The role of the caller: without keys each is an operator.
    pub fn role(&self) -> Role {
        self.key.as_ref().map_or(Role::Operator, |key| key.role)
    }

    /// The scopes of the caller's key. Empty: everything of the role.
    pub fn scopes(&self) -> &[Scope] {
        self.key.as_ref().map_or(&[], |key| &key.scopes)
    }

    /// The same caller with the keys that are in force now, for a long-running call.
    ///
    /// # Errors
    ///
    /// `key_invalid` if the caller's key was removed. `key_missing` if the caller has no key, and
    /// keys are configured now.
    pub fn recheck(&self, keys: &BTreeMap<String, KeyConfig>) -> Result<Self, Problem> {
        let Some(own) = &self.key else {
            let is_unguarded = keys.is_empty().then(|| self.clone());
            return is_unguarded.ok_or_else(|| Problem::new(Code::KEY_MISSING));
        };
        if let Some(proven) = &self.proven {
            return Self::signed_in(keys, proven.clone());
        }
        let found = keys.iter().find(|(_, key)| key.digest == own.digest);
        let (name, key) = found.ok_or_else(|| Problem::new(Code::KEY_INVALID))?;
        Ok(Self { name: name.clone(), key: Some(key.clone()), proven: None })
    }

    /// Whether the session of the caller has ended, for a long-running call.
    pub fn session_has_ended(&self, access: Access<'_>) -> bool {
        let is_valid =
            |proven: &ProvenSession| access.sessions.is_some_and(|keys| proven.is_valid(keys));
        self.proven.as_ref().is_some_and(|proven| !is_valid(proven))
    }

    /// Whether the caller's role allows a call.
    ///
    /// # Errors
    ///
    /// `key_forbidden` if it does not.
    pub fn may(&self, permission: Permission) -> Result<(), Problem> {
        if self.key.as_ref().is_none_or(|key| permission.is_of(key.role)) {
            return Ok(());
        }
        let takes = match permission {
            Permission::State | Permission::Serve => "a backend or an operator",
            Permission::View => "an operator or a viewer",
            Permission::Operate => "an operator",
        };
        Err(Problem::new(Code::KEY_FORBIDDEN).detail(format!("this call needs the key of {takes}")))
    }

    /// Whether the caller has permission for the entity `name` in `section`, such as `queues`.
    ///
    /// # Errors
    ///
    /// `key_forbidden` when the key has scopes and none of them names it.
    pub fn touches(&self, section: &str, name: &str) -> Result<(), Problem> {
        if self.sees(section, name) {
            Ok(())
        } else {
            Err(Problem::new(Code::KEY_FORBIDDEN).detail("none of the key's scopes covers this"))
        }
    }

    /// Whether the key's scopes cover the entity `name` in `section`.
    pub fn sees(&self, section: &str, name: &str) -> bool {
        let named = |scope: &Scope| scope.section == section && scope.name == name;
        self.scopes().is_empty() || self.scopes().iter().any(named)
    }

    /// A caller with this key.
    #[cfg(test)]
    pub fn with_key(name: &str, key: KeyConfig) -> Self {
        Self { name: name.to_owned(), key: Some(key), proven: None }
    }
}
