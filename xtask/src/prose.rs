//! Markdown that people read as it is: short lines, outside tables and code.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::workspace;

/// The longest line, in characters.
const WIDTH: usize = 120;

/// Every line of the guides is short. Reports of studies are written by the tool.
pub(crate) fn check() -> Result<()> {
    let mut guides = Vec::new();
    for folder in ["", "docs", "python"].map(|name| workspace().join(name)) {
        guides.extend(markdown(&folder)?);
    }
    guides.sort();
    for guide in guides {
        let text = std::fs::read_to_string(&guide)?;
        if let Some(line) = long_line(&text) {
            bail!(
                "{}:{line} has more than {WIDTH} characters; break it",
                guide.display()
            );
        }
    }
    Ok(())
}

/// The Markdown files in a folder, not those below it.
fn markdown(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = std::fs::read_dir(folder).with_context(|| folder.display().to_string())?;
    let mut found = Vec::new();
    for entry in entries {
        let path = entry?.path();
        if path.extension().is_some_and(|ending| ending == "md") {
            found.push(path);
        }
    }
    Ok(found)
}

/// The number of the first line that is too long and could be broken.
fn long_line(text: &str) -> Option<usize> {
    let (mut code, mut number) = (false, 0);
    for line in text.lines() {
        number += 1;
        let words = line.trim_start();
        if words.starts_with("```") {
            code = !code;
        }
        let fixed = code || words.starts_with(['|', '#', '<']);
        if !fixed && line.chars().count() > WIDTH && can_be_broken(words) {
            return Some(number);
        }
    }
    None
}

/// Whether there is a blank outside code, behind the mark of an item.
fn can_be_broken(words: &str) -> bool {
    let words = words.strip_prefix("- ").unwrap_or(words);
    let outside = words.split('`').step_by(2);
    outside.into_iter().any(|part| part.contains(' '))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lines_are_found_where_they_can_be_broken() {
        let long = "word ".repeat(30);
        assert_eq!(long_line(&format!("# Title\n\n{long}\n")), Some(3));
        assert_eq!(long_line(&format!("- short\n- {long}\n")), Some(2));
        assert_eq!(long_line(&format!("an\u{fc} `{long}` end\n")), Some(1));
    }

    #[test]
    fn the_guides_of_this_repository_have_short_lines() {
        check().unwrap();
    }

    #[test]
    fn tables_and_code_may_be_long() {
        let long = "word ".repeat(30);
        for text in [
            format!("| {long} |\n"),
            format!("```sh\n{long}\n```\n"),
            format!("`{long}`\n"),
            format!("- `{long}`.\n"),
            "\u{fc}".repeat(WIDTH),
        ] {
            assert_eq!(long_line(&text), None, "{text}");
        }
    }
}
