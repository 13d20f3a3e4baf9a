//! A refusal's code: status, stable name and title. A caller decides by the name, which is also the
//! label in metrics.
//!
//! Codes are in groups, by the part that raises them: each group is one table in that part's file,
//! and the API document lists the codes by these groups.

use std::fmt;

use http::StatusCode;

/// Why a request was refused.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Code {
    status: StatusCode,
    name: &'static str,
    title: &'static str,
    raised_by: RaisedBy,
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
        $($(#[$doc:meta])* $code:ident = $status:ident, $name:literal, $title:literal;)*
    ) => {
        impl $crate::problem::Code {
            $($(#[$doc])* pub const $code: Self = Self::new(
                http::StatusCode::$status,
                $name,
                $title,
                $crate::problem::code::RaisedBy::$raised_by,
            );)*
        }

        $(#[$group_doc])*
        #[cfg_attr(not(test), allow(dead_code, reason = "some are listed by the tests only"))]
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
    ) -> Self {
        Self { status, name, title, raised_by }
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

    /// The status at the gate. Gateways turn anything but 401 and 403 into an error of their own,
    /// and some fail open on 5xx, so a refusal is never anything else there.
    pub fn gate_status(self) -> StatusCode {
        match self.status {
            StatusCode::UNAUTHORIZED => StatusCode::UNAUTHORIZED,
            _ => StatusCode::FORBIDDEN,
        }
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

#[cfg(test)]
pub(super) mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::entities::{Entity as _, Served};
    use crate::problem::edge::{ADDRESS, ANY, BODY, CALLER, REPEATED, VALUE};
    use crate::problem::store::STORE;

    /// Every code of every group.
    pub fn all_codes() -> impl Iterator<Item = Code> {
        fn add<K: Served>(groups: &mut Vec<&[Code]>) {
            groups.extend(K::State::CODES);
        }
        let mut groups = vec![ANY, ADDRESS, BODY, VALUE, CALLER, STORE, REPEATED];
        anteroom_core::for_each_kind!(add(&mut groups));
        groups.into_iter().flatten().copied()
    }

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

    #[test]
    fn every_code_is_in_the_readme_with_its_status() {
        let readme = include_str!("../../../../README.md");
        for code in all_codes() {
            let row = format!("| `{}` | {} |", code.name(), code.status().as_u16());
            assert!(readme.contains(&row), "{row}");
        }
    }
}
