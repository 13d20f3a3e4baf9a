//! A refusal's code: status, stable name and title. A caller decides by the name, which is also the
//! label in metrics.
//!
//! Codes are in groups, by the part that raises them: each group is one table in that part's file,
//! and the API document lists the codes by these groups.

use std::fmt;

use http::StatusCode;

use super::edge::{ADDRESS, ANY, BODY, CALLER, REPEATED, VALUE};
use super::event::EVENT;
use super::limit::LIMIT;
use super::pool::POOL;
use super::queue::{QUEUE, TOKEN};
use super::store::STORE;
use super::target::TARGET;

/// Why a request was refused.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Code {
    status: StatusCode,
    name: &'static str,
    title: &'static str,
    raised_by: RaisedBy,
    reference: &'static Reference,
}

/// What the reference of errors has of a code beside its title.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Reference {
    /// When the code is returned, in lines.
    pub meaning: &'static [&'static str],
    pub retry: Retry,
    /// What the caller does. It is also the `detail` of a refusal that has none of its own.
    pub remedy: &'static str,
}

/// Whether the same request can succeed later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Retry {
    /// It fails in the same way until something else changes.
    No,
    /// After `Retry-After`.
    Later,
    /// At once, with the same id: the call can have had its effect.
    SameId,
}

/// Who refuses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RaisedBy {
    /// This service, or its store: a 5xx is our fault.
    Service,
    /// A rule of a subsystem, such as a full queue: not our fault, whatever the status.
    Rule,
}

/// Declares a group of codes: a constant of [`Code`] each, and one of the group that holds them
/// all.
macro_rules! codes {
    (
        $(#[$group_doc:meta])* $group:ident by $raised_by:ident;
        $($(#[doc = $meaning:literal])+ $code:ident = $status:ident, $name:literal, $title:literal,
            $retry:ident, $remedy:literal;)*
    ) => {
        impl $crate::problem::Code {
            $($(#[doc = $meaning])+ pub const $code: Self = Self::new(
                http::StatusCode::$status,
                $name,
                $title,
                $crate::problem::code::RaisedBy::$raised_by,
                &$crate::problem::code::Reference {
                    meaning: &[$($meaning),+],
                    retry: $crate::problem::code::Retry::$retry,
                    remedy: $remedy,
                },
            );)*
        }

        $(#[$group_doc])*
        pub const $group: &[$crate::problem::Code] = &[$($crate::problem::Code::$code,)*];
    };
}
pub(crate) use codes;

impl Code {
    pub(crate) const fn new(
        status: StatusCode,
        name: &'static str,
        title: &'static str,
        raised_by: RaisedBy,
        reference: &'static Reference,
    ) -> Self {
        Self { status, name, title, raised_by, reference }
    }

    /// The status of the answer, except at the gate (see [`Code::gate_status`]).
    pub fn status(self) -> StatusCode {
        self.status
    }

    /// The stable name: the `code` member of the body, and the label in metrics.
    pub fn name(self) -> &'static str {
        self.name
    }

    /// What it means, for people.
    pub fn title(self) -> &'static str {
        self.title
    }

    /// What the page of errors has of it.
    #[cfg(test)]
    pub(super) fn reference(self) -> &'static Reference {
        self.reference
    }

    /// What the caller does.
    pub fn remedy(self) -> &'static str {
        self.reference.remedy
    }

    /// The status at the gate. Gateways turn anything but 401 and 403 into an error of their own,
    /// and some fail open on 5xx, so a refusal is never anything else there.
    pub fn gate_status(self) -> StatusCode {
        match self.status {
            StatusCode::UNAUTHORIZED => StatusCode::UNAUTHORIZED,
            _ => StatusCode::FORBIDDEN,
        }
    }

    /// Whether a failure with this code has no log line of its own: the connection logs that Redis
    /// is down and is back, and overload is counted. A line for each such request would hide all
    /// others.
    pub fn is_reported_elsewhere(self) -> bool {
        matches!(self, Self::STORE_UNAVAILABLE | Self::EFFECT_UNKNOWN | Self::OVERLOADED)
    }

    /// Whether the fault is ours: such answers count against the success rate.
    pub fn is_our_fault(self) -> bool {
        self.raised_by == RaisedBy::Service && self.status.is_server_error()
    }
}

impl fmt::Debug for Code {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name)
    }
}

/// Every code of every group.
pub fn all_codes() -> impl Iterator<Item = Code> {
    let of_edge = [ANY, ADDRESS, BODY, VALUE, CALLER, STORE, REPEATED];
    let of_kinds = [TOKEN, QUEUE, EVENT, POOL, LIMIT, TARGET];
    of_edge.into_iter().chain(of_kinds).flatten().copied()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_code_has_its_own_name_and_an_error_status() {
        let names: HashSet<_> = all_codes().map(Code::name).collect();
        assert_eq!(names.len(), all_codes().count());
        for code in all_codes() {
            let status = code.status();
            assert!(status.is_client_error() || status.is_server_error(), "{code:?}");
            assert!(code.name().bytes().all(|b| b.is_ascii_lowercase() || b == b'_'), "{code:?}");
        }
    }

    #[test]
    fn what_fails_on_our_side_is_our_fault_and_a_rule_is_not() {
        let ours: Vec<_> = all_codes().filter(|code| code.is_our_fault()).map(Code::name).collect();
        assert_eq!(
            ours,
            ["internal", "overloaded", "request_timeout", "store_unavailable", "effect_unknown"]
        );
    }
}
