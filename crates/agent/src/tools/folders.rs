use std::path::{Component, Path, PathBuf};

use super::ToolError;

/// The folders that a person chose. Nothing outside them is read or written, whatever a path or a link says.
pub(super) struct Folders(Vec<PathBuf>);

impl Folders {
    /// `None` when none of them is there.
    pub(super) fn new(folders: Vec<PathBuf>) -> Option<Self> {
        let there: Vec<PathBuf> = folders
            .into_iter()
            .filter_map(|folder| std::fs::canonicalize(folder).ok())
            .filter(|folder| folder.is_dir())
            .collect();
        (!there.is_empty()).then_some(Self(there))
    }

    pub(super) fn describe(&self) -> String {
        let names: Vec<String> = self.0.iter().map(|folder| folder.display().to_string()).collect();
        names.join(", ")
    }

    /// Something that is there.
    pub(super) fn find(&self, path: &str) -> Result<PathBuf, ToolError> {
        let whole = self.join(path);
        let real = std::fs::canonicalize(&whole).map_err(|error| ToolError::File {
            path: path.to_owned(),
            problem: error.to_string(),
        })?;
        self.check(path, real)
    }

    /// Something that may not be there yet, in a folder that is.
    pub(super) fn place(&self, path: &str) -> Result<PathBuf, ToolError> {
        let whole = self.join(path);
        if whole.exists() {
            return self.find(path);
        }
        let (Some(parent), Some(Component::Normal(name))) = (whole.parent(), whole.components().next_back())
        else {
            return Err(ToolError::Arguments {
                problem: format!("{path:?} names no file"),
            });
        };
        let parent = std::fs::canonicalize(parent).map_err(|error| ToolError::File {
            path: path.to_owned(),
            problem: format!("its folder: {error}"),
        })?;
        self.check(path, parent.join(name))
    }

    /// As a model may write it again.
    pub(super) fn short(&self, path: &Path) -> String {
        let inside = self.0.first().and_then(|first| path.strip_prefix(first).ok());
        inside
            .filter(|inside| !inside.as_os_str().is_empty())
            .unwrap_or(path)
            .display()
            .to_string()
    }

    fn join(&self, path: &str) -> PathBuf {
        // An absolute path stays what it is.
        self.0
            .first()
            .map_or_else(|| PathBuf::from(path), |first| first.join(path))
    }

    fn check(&self, asked: &str, real: PathBuf) -> Result<PathBuf, ToolError> {
        if self.0.iter().any(|folder| real.starts_with(folder)) {
            return Ok(real);
        }
        Err(ToolError::Outside {
            path: asked.to_owned(),
            folders: self.describe(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{Folders, ToolError};

    #[test]
    fn nothing_outside_is_found_or_placed() {
        let home = tempfile::tempdir().unwrap();
        let inside = home.path().join("in");
        std::fs::create_dir_all(inside.join("sub")).unwrap();
        plimsoll_os::files::replace(&home.path().join("secret"), b"x").unwrap();
        plimsoll_os::files::replace(&inside.join("a.txt"), b"x").unwrap();
        #[cfg(unix)]
        std::os::unix::fs::symlink(home.path(), inside.join("link")).unwrap();
        let folders = Folders::new(vec![inside.clone(), home.path().join("gone")]).unwrap();
        assert!(folders.find("a.txt").unwrap().ends_with("in/a.txt"));
        assert!(folders.find("sub/../a.txt").is_ok());
        assert!(folders.place("sub/new.txt").is_ok());
        for out in ["../secret", "/etc/passwd", "sub/../../secret", "link/secret"] {
            let found = folders.find(out);
            assert!(
                matches!(found, Err(ToolError::Outside { .. } | ToolError::File { .. })),
                "{out}: {found:?}"
            );
        }
        for out in ["../new", "/etc/new", "link/new", "..", "none/new.txt"] {
            assert!(folders.place(out).is_err(), "{out}");
        }
        assert!(Folders::new(vec![home.path().join("gone")]).is_none());
    }
}
