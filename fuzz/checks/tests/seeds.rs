//! Every seed, and what comes of it by small changes that are always the same, obeys the rules of
//! its check. An input that once broke one is kept among the seeds.

use std::collections::BTreeSet;
use std::fs;
use std::panic::catch_unwind;
use std::path::{Path, PathBuf};

use anteroom_checks::CHECKS;
use rand::rngs::StdRng;
use rand::{Rng as _, SeedableRng as _};

/// Bytes that mean something in one format or another.
const SPECIAL: &[u8] = b"\0\t\n \"#%,./:;=?@[\\]{}09e\x7f\xff";
/// Changes of each seed.
const CHANGES: usize = 100;

fn fuzz() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn names(folder: &str) -> BTreeSet<String> {
    let files = fs::read_dir(fuzz().join(folder)).expect("a folder");
    let stem = |path: PathBuf| path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
    files.filter_map(|file| stem(file.expect("an entry").path())).collect()
}

/// The seeds of a check, by name.
fn seeds(name: &str) -> Vec<(String, Vec<u8>)> {
    let folder = fuzz().join("seeds").join(name);
    let mut files: Vec<_> = fs::read_dir(folder)
        .expect("a folder of seeds")
        .map(|file| file.expect("an entry").path())
        .collect();
    files.sort();
    let read = |path: PathBuf| (path.display().to_string(), fs::read(&path).expect("a file"));
    files.into_iter().map(read).collect()
}

#[test]
fn every_check_has_a_target_and_seeds() {
    let checks: BTreeSet<_> = CHECKS.iter().map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(names("targets"), checks);
    assert_eq!(names("seeds"), checks);
    for name in checks {
        assert!(!seeds(&name).is_empty(), "{name}");
    }
}

#[test]
fn every_seed_obeys() {
    for (name, check) in CHECKS {
        check(&[]);
        for (file, data) in seeds(name) {
            assert!(catch_unwind(|| check(&data)).is_ok(), "{file}");
        }
    }
}

#[test]
fn every_changed_seed_obeys() {
    for (name, check) in CHECKS {
        let seeds = seeds(name);
        let mut random = StdRng::seed_from_u64(1);
        for (file, data) in &seeds {
            for _ in 0..CHANGES {
                let other = &seeds[random.random_range(0..seeds.len())].1;
                let data = changed(data, other, &mut random);
                let shown = String::from_utf8_lossy(&data).into_owned();
                assert!(catch_unwind(|| check(&data)).is_ok(), "{file} changed to {shown:?}");
            }
        }
    }
}

/// One to four changes: a byte altered, left out or put in, a part doubled, the end of another
/// seed.
fn changed(data: &[u8], other: &[u8], random: &mut StdRng) -> Vec<u8> {
    let mut data = data.to_vec();
    for _ in 0..random.random_range(1..=4) {
        let at = random.random_range(0..=data.len());
        let to = random.random_range(at..=data.len());
        match random.random_range(0..5) {
            0 if at < data.len() => data[at] = random.random(),
            1 if at < data.len() => drop(data.remove(at)),
            2 => data.insert(at, SPECIAL[random.random_range(0..SPECIAL.len())]),
            3 => drop(data.splice(at..at, data[at..to].to_vec())),
            _ => drop(data.splice(at.., other[other.len().min(at)..].to_vec())),
        }
    }
    data
}
