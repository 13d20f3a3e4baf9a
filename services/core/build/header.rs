//! The header of a script, read. The build makes the registry of scripts from it, and the tests
//! compare it with the calls that a Redis really sees.

/// What the first lines of a script state.
#[derive(Debug, PartialEq, Eq)]
pub struct Header {
    /// The name of the operation: `subsystem.operation`.
    pub name: String,
    /// The parts that the script uses, in their order.
    pub uses: Vec<String>,
    /// The keys that every call has, separated by one space.
    pub keys: String,
    /// The keys that the items of a batch name behind them: `(counter)*`, or nothing.
    pub repeated_keys: String,
    /// The names of the arguments that every call has.
    pub args: Vec<String>,
    /// The arguments that are repeated behind them: `(rule, value)*`, or nothing.
    pub repeated_args: String,
    /// The codes that the script answers with.
    pub codes: Vec<String>,
}

/// The fields behind the purpose, and what each one is for.
const FIELDS: [(&str, &str); 5] = [
    ("Uses", "lists the parts in the order in which they are needed, lib/store first"),
    ("KEYS", "lists the keys in the order of docs/reference/redis-keys.md; empty without keys"),
    ("ARGV", "lists the arguments of every call, `now` first, then `( … )*` what is repeated"),
    ("Reply", "begins with OK and says what follows"),
    ("Codes", "lists the codes that the script answers with, OK among them"),
];

/// A field of the header: its first line, all of its lines, and the number of the first.
struct Field {
    first: String,
    all: String,
    line: usize,
}

impl Header {
    /// Reads the header of the script in this file; else which line breaks which rule, and what to
    /// do.
    pub fn read(path: &str, text: &str) -> Result<Self, String> {
        let problem = |line: usize, rule: &str| Err(format!("{path}:{line}: {rule}"));
        let header: Vec<_> = text.lines().take_while(|line| line.starts_with("--")).collect();
        let operation = path.rsplit('/').next().and_then(|file| file.strip_suffix(".lua"));
        let operation = operation.unwrap_or_default();
        let purpose = header.first().and_then(|line| line.strip_prefix("-- ")?.split_once(": "));
        let Some((name, _)) = purpose.filter(|(name, purpose)| {
            !purpose.is_empty() && name.split_once('.').is_some_and(|(_, end)| end == operation)
        }) else {
            return problem(
                1,
                &format!(
                    "the header begins with the operation and its purpose. Begin it with \
                     `-- SUBSYSTEM.{operation}: PURPOSE`."
                ),
            );
        };
        let mut fields = Vec::new();
        for (name, meaning) in FIELDS {
            let Some(field) = Field::find(&header, name) else {
                return problem(
                    header.len(),
                    &format!(
                        "the header has no field {name}. Add `-- {name}: …`, which {meaning}."
                    ),
                );
            };
            let is_in_order = fields.last().is_none_or(|before: &Field| before.line < field.line);
            if !is_in_order {
                return problem(
                    field.line,
                    &format!(
                        "the field {name} is out of order. Order: Uses, KEYS, ARGV, Reply, Codes."
                    ),
                );
            }
            fields.push(field);
        }
        let rule = |at: usize| {
            let (name, meaning) = FIELDS[at];
            problem(fields[at].line, &format!("the field {name} {meaning}. Correct it."))
        };
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let (uses, codes) = (words(&fields[0].all), words(&fields[4].all));
        let (keys, repeated_keys) = apart(&fields[1].all);
        let (args, repeated_args) = apart(&fields[2].first);
        let args: Vec<_> = args.split(", ").map(str::to_owned).collect();
        let has_twice = |words: &[String]| (1..words.len()).any(|n| words[..n].contains(&words[n]));
        if uses.first().is_none_or(|first| first != "lib/store") || has_twice(&uses) {
            return rule(0);
        }
        if has_twice(&words(keys)) || keys.contains(',') {
            return rule(1);
        }
        if args[0] != "now" || has_twice(&args) {
            return rule(2);
        }
        if !fields[3].all.starts_with("OK") {
            return rule(3);
        }
        if !codes.iter().any(|code| code == "OK") || has_twice(&codes) {
            return rule(4);
        }
        Ok(Self {
            name: name.to_owned(),
            uses,
            keys: words(keys).join(" "),
            repeated_keys: repeated_keys.to_owned(),
            args,
            repeated_args: repeated_args.to_owned(),
            codes,
        })
    }
}

impl Field {
    /// A field goes on in the lines that are indented further.
    fn find(header: &[&str], name: &str) -> Option<Self> {
        let start = format!("-- {name}:");
        let at = header.iter().position(|line| line.starts_with(&start))?;
        let first = header[at][start.len()..].trim().to_owned();
        let more = header[at + 1..].iter().take_while(|line| line.starts_with("--  "));
        let all = more.fold(first.clone(), |all, line| format!("{all} {}", line[2..].trim()));
        Some(Self { first, all, line: at + 1 })
    }
}

/// What every call has, and what is repeated behind it.
fn apart(names: &str) -> (&str, &str) {
    let (fixed, repeated) = names.split_at(names.find('(').unwrap_or(names.len()));
    (fixed.trim_end_matches([',', ' ']), repeated)
}
