//! A ConfigMap as the kubelet mounts it.

use std::{fs, os::unix::fs::symlink, path::Path};

/// Puts a new version of the file into a volume: `anteroom.toml` → `..data/anteroom.toml`, `..data`
/// → `..v1`. The kubelet makes a new folder, swaps the link by one rename, and removes the folder
/// of the version before.
///
/// # Panics
/// When the files cannot be written.
pub fn mount_config_map(volume: &Path, version: u32, content: &str) {
    let folder = format!("..v{version}");
    fs::create_dir(volume.join(&folder)).expect("created");
    fs::write(volume.join(&folder).join("anteroom.toml"), content).expect("written");
    symlink(&folder, volume.join("..data_tmp")).expect("linked");
    fs::rename(volume.join("..data_tmp"), volume.join("..data")).expect("renamed");
    if version == 1 {
        symlink("..data/anteroom.toml", volume.join("anteroom.toml")).expect("linked");
    } else {
        fs::remove_dir_all(volume.join(format!("..v{}", version - 1))).expect("removed");
    }
}
