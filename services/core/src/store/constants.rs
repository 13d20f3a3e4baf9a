//! Constants of scripts. Lua 5.1 has none: a local that functions name costs each call of the
//! script once for every such function. So core writes the values into the text.

use std::borrow::Cow;
use std::collections::BTreeMap;

/// The text with the values of its constants in their places. A constant is a name in capitals to
/// which a `local` line without indentation gives a number or a text. Line numbers stay.
pub(super) fn inlined(text: &str) -> String {
    let (mut constants, mut rest) = (BTreeMap::new(), Vec::new());
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
    use super::inlined;

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
