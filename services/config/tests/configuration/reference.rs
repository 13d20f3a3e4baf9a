//! The page `docs/reference/configuration.md`, generated from the defaults file.

use anteroom_testkit::docs;

use super::defaults::{Entry, Key, Section, entries};

const HEAD: &str = r#"# Configuration

Every key of the configuration: its type, default, range, and when a change takes effect. This page is generated from
[`default.toml`](../../services/config/default.toml), which is built into the programs.

## Where values come from

All services read the same TOML file. A later source takes precedence over an earlier one:

1. The defaults on this page.
2. Your file: `--config FILE`, or the variable `ANTEROOM_CONFIG`.
3. Environment variables: `ANTEROOM_<SECTION>__<KEY>`, or `ANTEROOM_<SECTION>__<NAME>__<KEY>`.

- **Names.** `NAME` in a key is the name of your queue, limit, target, event, pool or API key: 1 to 40 characters of
  a–z, 0–9 and -. The table `[queues."*"]` sets the values of all queues that do not set their own. The other kinds have
  the same.
- **Types.** A whole number, a decimal and `true` or `false` have no quotes. A duration is a text such as `"100ms"`,
  `"10s"`, `"5m"` or `"1h 30m"`. A date is a text in RFC 3339. A network is `"10.0.0.0/8"`, `"2001:db8::/32"` or one
  address.
- **Environment.** Values have no quotes. Commas separate the entries of a list. An empty variable counts as not set.
- **Reload.** Anteroom reloads a changed file within 2 seconds, without a restart, except for the keys that say so. An
  invalid file is refused as a whole: the configuration in force stays, and `anteroom_config_reload_success` is 0.
- **Errors.** Unknown keys are refused. A bad configuration stops the start with exit code 64 and one line that names the
  key, the value and the rule. `--check-config` checks a file without starting.
- **Origin.** `--print-config` prints each value in force, and if it comes from the defaults, your file or a variable.
  Secrets are hidden. `--print-defaults` prints `default.toml`.
- **Editors.** [`config.schema.json`](config.schema.json) is a JSON Schema. An editor that knows Taplo's directive checks
  and completes the file if its first line is `#:schema PATH`, with the path or address of the schema.
- **Secrets.** Never write a secret into the TOML file. Use a variable, or a key that ends in `_file` and names a file.

A small production file. The secrets and the address of Redis come from the environment:

```toml
[admission]
listen = "0.0.0.0:8080"
service_listen = "0.0.0.0:8081"
metrics_listen = "0.0.0.0:9090"
trusted_proxies = ["10.1.0.0/16"]   # the network of your gateway only
drain_delay = "15s"

[keys.shop]
digest = "sha256:…"                 # from: anteroom-admission new-key
role = "backend"
scopes = ["queues:tickets"]

[queues.tickets]
capacity = 5_000
batch = 2_200
interval = "10s"
opens_at = "2027-01-15T20:00:00+09:00"
public_url = "https://tickets.example"
```
"#;

/// Keys and sections in a text are code.
fn markdown(text: &str) -> String {
    let word = |word: &str| {
        let inner = word.trim_matches(|it: char| ".,:;()".contains(it));
        let is_code = inner.contains('_')
            || inner.starts_with('[') && inner.contains('.')
            || inner.starts_with('/')
            || inner.starts_with("--");
        if !is_code || inner.contains('"') {
            return word.to_owned();
        }
        word.replacen(inner, &format!("`{inner}`"), 1)
    };
    text.split(' ').map(word).collect::<Vec<_>>().join(" ")
}

fn page() -> String {
    let mut page = HEAD.to_owned();
    for entry in entries() {
        match entry {
            Entry::Section(section) => add_section(&mut page, &section),
            Entry::Key(key) => add_key(&mut page, &key),
        }
    }
    page
}

fn add_section(page: &mut String, Section { name, comment }: &Section) {
    let name = name.replace('*', "NAME");
    *page += &format!("\n## `[{name}]`\n\n{}\n", markdown(&comment.text));
    if comment.needs_restart {
        *page += "\nEvery key of this section takes effect after a restart.\n";
    }
}

fn add_key(page: &mut String, key: &Key) {
    let Key { value, comment, is_example, needs_restart, .. } = key;
    let name = format!("{}.{}", key.section.replace('*', "NAME"), key.key);
    if let Some(group) = &comment.group {
        *page += &format!("\n**{group}**\n");
    }
    let example = if *is_example { format!(", for example `{value}`") } else { String::new() };
    let default = match &comment.unset {
        _ if !is_example => format!("`{value}`"),
        Some(unset) => format!("unset, which means: {}", markdown(unset)),
        None => "unset".to_owned(),
    };
    *page += &format!(
        "\n### `{name}`\n\n{}\n\n- Type: {}{example}\n- Default: {default}\n",
        markdown(&comment.text),
        key.kind().name(),
    );
    if let Some(range) = &comment.range {
        *page += &format!("- {}\n", markdown(range));
    }
    let changes = if *needs_restart { "after a restart" } else { "on reload" };
    *page += &format!("- Takes effect: {changes}\n");
    // No variable can have a list of tables.
    if key.section.matches('.').count() < 2 && !key.value.starts_with("[{") {
        let variable = name.replace('.', "__").to_uppercase();
        *page += &format!("- Variable: `ANTEROOM_{variable}`\n");
    }
}

#[test]
fn the_reference_of_the_configuration_is_generated() {
    docs::is_generated(docs::CONFIGURATION, &page());
}
