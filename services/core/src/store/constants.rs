//! Constants of scripts. Lua 5.1 has none: a local that functions name costs each call of the
//! script once for every such function. So core writes the values into the text.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::reply::CODES;
use crate::rules::{Kind, Rule};

/// What tables in Rust give to the scripts of a subsystem: names in capitals, and what is written
/// in their places. A script has only those in its text that it names.
#[derive(Clone, Debug)]
pub struct Constants {
    values: BTreeMap<String, String>,
    codes: Vec<&'static str>,
}

impl Constants {
    /// What the scripts of every subsystem have: the codes of any operation.
    pub fn shared() -> Self {
        Self { values: BTreeMap::new(), codes: Vec::new() }.codes(&CODES)
    }

    /// The names of all.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.values.keys().map(String::as_str)
    }

    /// The names of those that are codes.
    pub fn code_names(&self) -> &[&'static str] {
        &self.codes
    }

    /// Codes of replies, by name.
    pub(crate) fn codes(mut self, codes: &[(&'static str, u64)]) -> Self {
        self.codes.extend(codes.iter().map(|(name, _)| *name));
        codes.iter().fold(self, |all, (name, number)| all.value(name, number))
    }

    /// One value: a number, or other Lua.
    pub(crate) fn value(mut self, name: &str, value: impl ToString) -> Self {
        let before = self.values.insert(name.to_owned(), value.to_string());
        debug_assert_eq!(before, None, "{name} has one value");
        self
    }

    /// Names in their order, numbered from 1, behind a prefix.
    pub(crate) fn numbered(self, prefix: &str, names: &[&str]) -> Self {
        let names = names.iter().map(|name| format!("{prefix}{name}").to_uppercase());
        names.zip(1..).fold(self, |all, (name, number)| all.value(&name, number))
    }

    /// The format of so many doubles, as `struct.pack` and `struct.unpack` take it.
    pub(crate) fn doubles(self, name: &str, count: usize) -> Self {
        self.value(name, format!("'>{}'", "d".repeat(count)))
    }

    /// The rules of a table: `RULES`, their names in the order of the table; `KNOWN_RULES`, how
    /// many there are; `DEFAULT_RULES`, their values where neither a file nor an operator sets
    /// them; and each value of a rule that is one of several, such as `PACE_EVEN`.
    pub(crate) fn rules(self, rules: &[Rule]) -> Self {
        let (mut names, mut defaults, mut all) = (Vec::new(), Vec::new(), self);
        for Rule { name, kind, default, .. } in rules {
            let value = default().map_or_else(|| kind.none().to_owned(), |value| value.stored());
            let quote = match kind {
                Kind::Text { .. } | Kind::Amounts { .. } => "'",
                _ => "",
            };
            names.push(format!("'{name}'"));
            defaults.push(format!("{name} = {quote}{value}{quote}"));
            if let Kind::Choice(values) = kind {
                all = all.numbered(&format!("{name}_"), values);
            }
        }
        all.value("KNOWN_RULES", rules.len())
            .value("RULES", format!("{{ {} }}", names.join(", ")))
            .value("DEFAULT_RULES", format!("{{ {} }}", defaults.join(", ")))
    }
}

/// The text with the values of its constants in their places: those given, and its own. One of its
/// own is a name in capitals to which a `local` line without indentation gives a number or a text.
/// Line numbers stay.
pub(super) fn inlined(text: &str, given: &Constants) -> String {
    let given = given.values.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    let (mut constants, mut rest) = (given.collect(), Vec::new());
    for line in text.lines() {
        rest.push(defined(line, &mut constants).map_or(Cow::Borrowed(line), Cow::Owned));
    }
    let mut new = String::with_capacity(text.len());
    for line in rest {
        // A service puts all scripts together when it starts: most lines need no second look.
        if line.bytes().any(|byte| byte.is_ascii_uppercase()) && !line.starts_with("--") {
            new.push_str(&replaced(&line, &constants));
        } else {
            new.push_str(&line);
        }
        new.push('\n');
    }
    new
}

/// Takes the constants out of a line that defines some; what is left of the line.
fn defined<'a>(line: &'a str, constants: &mut BTreeMap<&'a str, &'a str>) -> Option<String> {
    let (names, values) = line.strip_prefix("local ")?.split_once(" = ")?;
    let values = values.split_once(" --").map_or(values, |(values, _)| values.trim_end());
    let (names, values): (Vec<_>, Vec<_>) =
        (names.split(", ").collect(), values.split(", ").collect());
    let pairs = names.iter().copied().zip(values.iter().copied());
    let (found, kept): (Vec<_>, Vec<_>) =
        pairs.partition(|(name, value)| is_in_capitals(name) && is_literal(value));
    if found.is_empty() || names.len() != values.len() {
        return None;
    }
    constants.extend(found);
    let (names, values): (Vec<_>, Vec<_>) = kept.into_iter().unzip();
    let rest = format!("local {} = {}", names.join(", "), values.join(", "));
    Some(if names.is_empty() { String::new() } else { rest })
}

fn is_in_capitals(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_uppercase())
        && name.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_')
}

fn is_literal(value: &str) -> bool {
    let is_number = value.starts_with(|c: char| c.is_ascii_digit())
        && value.chars().all(|c| c.is_ascii_digit() || c == '.');
    let text = value.strip_prefix('\'').and_then(|value| value.strip_suffix('\''));
    is_number || text.is_some_and(|text| !text.contains('\''))
}

/// A line with values in the place of names, but not in its texts, its comment, or behind a dot.
fn replaced(line: &str, constants: &BTreeMap<&str, &str>) -> String {
    let mut new = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '-' if rest.starts_with("--") => rest.len(),
            '\'' | '"' => rest[1..].find(first).map_or(rest.len(), |end| end + 2),
            _ if is_of_a_word(first) => rest.find(|c| !is_of_a_word(c)).unwrap_or(rest.len()),
            _ => first.len_utf8(),
        };
        let (token, behind) = rest.split_at(length);
        let value = constants.get(token).filter(|_| !new.ends_with('.'));
        new.push_str(value.unwrap_or(&token));
        rest = behind;
    }
    new
}

fn is_of_a_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inlined(text: &str) -> String {
        super::inlined(text, &Constants::shared().numbered("s_", &["waiting", "ready"]))
    }

    #[test]
    fn values_stand_in_the_places_of_the_names() {
        let text = "local META, SEEN = KEYS[1], 5\n\
            local A, LONG_B = 1, '>Bd' -- what they are: A\n\
            local NEAR = 0.75\n\
            call(META, KEYS[SEEN + 1], LONG_B, A) -- A\n\
            if x == A - NEAR or x == AA or x.A == 'A' then return \"A\" end\n";
        let expected = "local META = KEYS[1]\n\n\n\
            call(META, KEYS[5 + 1], '>Bd', 1) -- A\n\
            if x == 1 - 0.75 or x == AA or x.A == 'A' then return \"A\" end\n";
        assert_eq!(inlined(text), expected);
    }

    #[test]
    fn what_rust_gives_is_written_where_a_script_names_it() {
        let text = "if status == S_READY then return { NO_RULES, 'S_READY' } end -- S_READY\n";
        let expected = "if status == 2 then return { 1, 'S_READY' } end -- S_READY\n";
        assert_eq!(inlined(text), expected);
    }

    #[test]
    fn a_table_of_rules_gives_names_defaults_and_the_values_of_choices() {
        use crate::rules::{Value, whole};
        let rule = |name, kind, default| Rule { name, kind, default, doc: "", in_file: true };
        let rules = [
            rule("pace", Kind::Choice(&["even", "batch"]), || Some(Value::Choice("batch", 1))),
            rule("reason", Kind::Text { most: 9 }, || None),
            rule("most", whole(0, 9), || None),
        ];
        let text = "f(RULES, KNOWN_RULES, PACE_BATCH, DEFAULT_RULES)\n";
        let expected = "f({ 'pace', 'reason', 'most' }, 3, 2, \
            { pace = 2, reason = '', most = -1 })\n";
        assert_eq!(super::inlined(text, &Constants::shared().rules(&rules)), expected);
    }

    #[test]
    fn what_is_no_constant_stays() {
        for text in [
            "local FIELDS = { 'a' }\nreturn FIELDS\n",
            "local one, LESS, CALLED = 1, -1, f(1, 2)\nreturn one\n",
            "function f()\n  local A = 1\n  return A\nend\n",
            "local A, B = 1\nreturn A\n",
            "local TIMES = 2 * 3\nreturn TIMES\n",
            "local TEXT = 'a' .. 'b'\nreturn TEXT\n",
        ] {
            assert_eq!(inlined(text), text);
        }
    }
}
