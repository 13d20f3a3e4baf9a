//! Makes the registry of scripts from the headers in `lua/`: for each of its folders a file that
//! declares a static for each script, and the list `SCRIPTS`.

#[path = "build/header.rs"]
mod header;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;
use std::{env, fs, process};

use header::Header;

const LUA: &str = "../../lua";
/// Folders that hold no operations: the shared parts, and the script that every connection runs.
const OTHERS: [&str; 2] = ["lib", "store"];

fn main() {
    for path in [LUA, "build.rs", "build/header.rs"] {
        println!("cargo::rerun-if-changed={path}");
    }
    if let Err(problem) = generate() {
        println!("cargo::error={problem}");
        process::exit(1);
    }
}

fn generate() -> Result<(), String> {
    let out = env::var("OUT_DIR").map_err(|error| error.to_string())?;
    for folder in names(LUA, "")? {
        if Path::new(LUA).join(&folder).is_dir() && !OTHERS.contains(&folder.as_str()) {
            let path = Path::new(&out).join(format!("{folder}.rs"));
            fs::write(&path, registry(&folder)?).map_err(|error| unreadable(&path, &error))?;
        }
    }
    Ok(())
}

/// The scripts of a folder, in Rust.
fn registry(folder: &str) -> Result<String, String> {
    let (mut statics, mut list) = (String::new(), String::new());
    let mut parts = BTreeSet::new();
    for operation in names(&format!("{LUA}/{folder}"), ".lua")? {
        let path = format!("{LUA}/{folder}/{operation}.lua");
        let text = fs::read_to_string(&path).map_err(|error| unreadable(&path, &error))?;
        let header = Header::read(path.trim_start_matches("../"), &text)?;
        let mut uses = String::new();
        for part in &header.uses {
            if !Path::new(&part_path(folder, part)).is_file() {
                let path = path.trim_start_matches("../");
                return Err(format!(
                    "{path}:1: the header uses {part}, and {} is no file. Correct `-- Uses:`, or \
                     add the file.",
                    part_path(folder, part).trim_start_matches("../"),
                ));
            }
            parts.insert(part.clone());
            _ = write!(uses, "{}, ", part_const(part));
        }
        let Header { name, keys, .. } = header;
        let constant = operation.to_uppercase();
        _ = writeln!(
            statics,
            "/// `lua/{folder}/{operation}.lua`\n\
             pub(super) static {constant}: Script =\n    \
             Script::new({name:?}, {keys:?}, &[{uses}], {}, super::constants);",
            included(&format!("{folder}/{operation}")),
        );
        _ = writeln!(list, "    &{constant},");
    }
    let count = list.lines().count();
    let mut file = "use crate::store::Script;\n".to_owned();
    for part in &parts {
        let path = part_path(folder, part);
        let path = path.trim_start_matches(LUA).trim_start_matches('/').trim_end_matches(".lua");
        let constant = part_const(part);
        _ = writeln!(file, "const {constant}: (&str, &str) = ({part:?}, {});", included(path));
    }
    _ = write!(
        file,
        "{statics}/// Every script of this folder.\n\
         pub(crate) static SCRIPTS: [&Script; {count}] = [\n{list}];\n"
    );
    Ok(file)
}

/// The expression that embeds a file of `lua/`, wherever the crate lies when it is compiled.
fn included(path: &str) -> String {
    format!("include_str!(concat!(env!(\"CARGO_MANIFEST_DIR\"), \"/{LUA}/{path}.lua\"))")
}

/// Where a part is that a script of this folder uses.
fn part_path(folder: &str, part: &str) -> String {
    match part.strip_prefix("lib/") {
        Some(shared) => format!("{LUA}/lib/{shared}.lua"),
        None => format!("{LUA}/{folder}/lib/{part}.lua"),
    }
}

fn part_const(part: &str) -> String {
    format!("PART_{}", part.replace('/', "_").to_uppercase())
}

/// What a folder holds whose names end so, without that end, in order.
fn names(folder: &str, ending: &str) -> Result<BTreeSet<String>, String> {
    let entries = fs::read_dir(folder).map_err(|error| unreadable(folder, &error))?;
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    Ok(names.filter_map(|name| Some(name.strip_suffix(ending)?.to_owned())).collect())
}

fn unreadable(path: impl AsRef<Path>, error: &std::io::Error) -> String {
    format!("{}: {error}. Build from a whole clone.", path.as_ref().display())
}
