//! The header of a script, held against calls and against rules for headers.

#[path = "../../build/header.rs"]
mod read;

use anteroom_core::store::Script;
pub use read::Header;

use super::Subsystem;

/// The header of a script of ours. The build has read it, so it is well-formed.
pub fn header_of(script: &Script) -> Header {
    Header::read(&path_of(script), script.text).unwrap_or_else(|problem| panic!("{problem}"))
}

fn path_of(script: &Script) -> String {
    let (_, operation) = script.name.split_once('.').expect("subsystem.operation");
    format!("lua/{}/{operation}.lua", Subsystem::of(script).folder)
}

/// Whether a call with these keys is one that the header describes. Those that the items name may
/// be of several hash tags: on a single server a lane serves all of them.
pub fn has_keys(header: &Header, script: &Script, keys: &[String]) -> bool {
    let tag = keys.first().and_then(|key| Some(key.split_once('{')?.1.split_once('}')?.0));
    let named = script.keys_of(tag.unwrap_or_default());
    let named: Vec<_> = named.iter().map(String::from_utf8_lossy).collect();
    let Some((front, rest)) = keys.split_at_checked(named.len()) else { return false };
    let start = format!("anteroom:v1:{}:{{", Subsystem::of(script).name);
    front == named
        && (rest.is_empty() || !header.repeated_keys.is_empty())
        && rest.iter().all(|key| key.starts_with(&start))
}

/// Whether a call with these arguments is one that the header describes.
pub fn describes(header: &Header, of: &Subsystem, args: &[Vec<u8>]) -> bool {
    let Some(rest) = args.get(header.args.len()..) else { return false };
    if header.repeated_args.is_empty() {
        return rest.is_empty();
    }
    let known = of.repeated.iter().find(|(repeated, _)| *repeated == header.repeated_args);
    let (_, fits) = known.unwrap_or_else(|| panic!("{}: what is it?", header.repeated_args));
    !rest.is_empty() && fits(rest)
}

const GOOD: &str = "-- queue.look: what is there.
-- Uses: lib/store meta
--       state
-- KEYS: meta seen:{0-4} (counter)*
-- ARGV: now, id, (rule, value)*
--       (of the place)
-- Reply: OK, status
-- Codes: OK IS_GONE

return { OK }
";

#[test]
fn a_header_is_read_field_by_field() {
    let list = |words: &str| words.split(' ').map(str::to_owned).collect::<Vec<_>>();
    let expected = Header {
        name: "queue.look".to_owned(),
        uses: list("lib/store meta state"),
        keys: "meta seen:{0-4}".to_owned(),
        repeated_keys: "(counter)*".to_owned(),
        args: list("now id"),
        repeated_args: "(rule, value)*".to_owned(),
        codes: list("OK IS_GONE"),
    };
    assert_eq!(Header::read("lua/queue/look.lua", GOOD), Ok(expected));
}

/// The build fails with these words: the file, the line, what is wrong with it, and what to do.
#[test]
fn a_header_that_breaks_a_rule_names_file_line_rule_and_remedy() {
    for (good, bad, line, words) in [
        (
            "-- queue.look: what",
            "-- queue.see: what",
            1,
            "Begin it with `-- SUBSYSTEM.look: PURPOSE`",
        ),
        ("-- Uses:", "-- uses:", 8, "no field Uses. Add `-- Uses: …`, which lists the parts"),
        ("lib/store meta", "meta lib/store", 2, "lib/store first. Correct it."),
        ("meta\n--       state", "meta meta", 2, "the field Uses lists"),
        (
            "meta seen",
            "meta, seen",
            4,
            "the field KEYS lists the keys in the order of docs/reference/redis-keys.md",
        ),
        ("now, id", "id, now", 5, "`now` first"),
        ("-- Reply: OK", "-- Reply: status, OK", 7, "the field Reply begins with OK"),
        ("-- Codes: OK ", "-- Codes: ", 8, "OK among them"),
        ("-- Codes: OK IS_GONE\n", "", 7, "no field Codes"),
        (
            "-- Reply: OK, status\n-- Codes: OK IS_GONE",
            "-- Codes: OK\n-- Reply: OK",
            7,
            "out of order",
        ),
    ] {
        let text = GOOD.replacen(good, bad, 1);
        assert_ne!(text, GOOD, "{bad}");
        let problem = Header::read("lua/queue/look.lua", &text).expect_err(bad);
        assert!(problem.starts_with(&format!("lua/queue/look.lua:{line}: ")), "{problem}");
        assert!(problem.contains(words), "{problem}");
    }
}
