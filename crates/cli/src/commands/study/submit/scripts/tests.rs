use super::*;

fn job() -> Job {
    Job {
        program: PathBuf::from("/opt/loopfit"),
        folder: PathBuf::from("/home/me"),
        arguments: ["paper", "--quick", "--data-dir", "/data/it's here"]
            .map(str::to_string)
            .to_vec(),
        title: "paper".to_string(),
        shards: 64,
        left: (1..=3).chain([7]).collect(),
        out: PathBuf::from("/home/me/runs"),
        slurm: "--partition=short --time=01:00:00".to_string(),
        grace: 60,
    }
}

/// The scripts as they were when they ran on a cluster (`cargo xtask test --slurm`).
#[test]
fn the_scripts() {
    let files = job().files().unwrap();
    let expected = [
        ("shards.sh", include_str!("golden/shards.sh")),
        ("merge.sh", include_str!("golden/merge.sh")),
        ("submit.sh", include_str!("golden/submit.sh")),
    ];
    for ((name, text), (expected_name, expected)) in files.iter().zip(expected) {
        assert_eq!(*name, expected_name);
        assert!(text == expected, "{name}:\n{text}");
    }
}

/// Every script is one that a shell can read.
#[cfg(unix)]
#[test]
fn a_shell_reads_them() {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in job().files().unwrap() {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        let mut shell = std::process::Command::new("sh");
        let status = shell.arg("-n").arg(&path).status().unwrap();
        assert!(status.success(), "{name}");
    }
}

#[test]
fn numbers_are_written_as_ranges() {
    let of = |numbers: &[usize]| ranges(&numbers.iter().copied().collect());
    assert_eq!(of(&[1, 2, 3, 7]), "1-3,7");
    assert_eq!(of(&[5]), "5");
    assert_eq!(of(&[1, 3, 4]), "1,3-4");
    let whole: Vec<usize> = (1..=64).collect();
    assert_eq!(of(&whole), "1-64");
}

#[test]
fn odd_directories() {
    let with = |out: &str| Job {
        out: PathBuf::from(out),
        ..job()
    };
    let [(_, shards), ..] = with("/runs/100% sure").files().unwrap();
    assert!(
        shards.contains("#SBATCH --output=\"/runs/100%% sure/slurm/shard-%a.log\""),
        "{shards}"
    );
    assert!(shards.contains("--out '/runs/100% sure'"), "{shards}");
    assert!(with("/runs/a\"b").files().is_err());
    assert!(with("/runs/a\nb").files().is_err());
    // Another directory is another job.
    assert_ne!(with("/a").name(), with("/b").name());
}
