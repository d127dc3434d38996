//! Whether a folder is on another machine's disk.

use std::path::Path;

/// File systems that several machines share.
const NETWORK: [&str; 16] = [
    "nfs",
    "nfs4",
    "cifs",
    "smb3",
    "smbfs",
    "lustre",
    "gpfs",
    "beegfs",
    "ceph",
    "glusterfs",
    "fuse.glusterfs",
    "fuse.sshfs",
    "fuse.ceph",
    "afs",
    "9p",
    "pvfs2",
];

/// The kind of network file system that a folder is on, where the operating system says so.
pub(super) fn network(folder: &Path) -> Option<String> {
    let folder = std::fs::canonicalize(folder).ok()?;
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").ok()?;
    let kind = kind(&mounts, &folder)?;
    NETWORK.contains(&kind).then(|| kind.to_string())
}

/// The kind of the file system whose mount point is the longest beginning of a path. A line of Linux's mountinfo has the mount
/// point as its fifth word and the kind as the first one after ` - `.
fn kind<'a>(mounts: &'a str, path: &Path) -> Option<&'a str> {
    let mut found: Option<(usize, &str)> = None;
    for line in mounts.lines() {
        let (before, after) = line.split_once(" - ")?;
        let point = before.split(' ').nth(4)?.replace("\\040", " ");
        let kind = after.split(' ').next()?;
        let longest = found.is_none_or(|(length, _)| point.len() >= length);
        if longest && path.starts_with(&point) {
            found = Some((point.len(), kind));
        }
    }
    found.map(|(_, kind)| kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &str = "\
22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
90 22 0:44 / /home rw,relatime shared:2 - nfs4 server:/home rw,vers=4.2
91 90 0:45 / /home/local\\040disk rw shared:3 - xfs /dev/vdb rw
";

    #[test]
    fn the_longest_mount_point_counts() {
        let kind = |path: &str| kind(MOUNTS, Path::new(path));
        assert_eq!(kind("/var/cache"), Some("ext4"));
        assert_eq!(kind("/home/me/cache"), Some("nfs4"));
        assert_eq!(kind("/home/local disk/cache"), Some("xfs"));
        // A name that merely begins alike is another folder.
        assert_eq!(kind("/homework"), Some("ext4"));
        assert!(network(&std::env::temp_dir()).is_none());
    }
}
