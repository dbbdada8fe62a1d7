use std::path::PathBuf;

use plimsoll_os::files::FileError;

/// What a limit was put on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limited {
    MessageBytes,
    TitleBytes,
    SettingBytes,
}

#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The file cannot be read as what it is. It was moved to `kept`, and opening again starts a new one.
    #[error("{path} is damaged; it was kept as {kept}", path = .path.display(), kept = .kept.display())]
    Damaged {
        path: PathBuf,
        kept: PathBuf,
        #[source]
        source: rusqlite::Error,
    },
    /// Written by a newer version of the app, which knows more than we do.
    #[error("{path} has version {found}, this program knows {known}", path = .path.display())]
    TooNew { path: PathBuf, found: i64, known: i64 },
    #[error("opening {path}", path = .path.display())]
    Open {
        path: PathBuf,
        #[source]
        source: rusqlite::Error,
    },
    #[error("bringing {path} up to date", path = .path.display())]
    Migration {
        path: PathBuf,
        #[source]
        source: Box<rusqlite_migration::Error>,
    },
    /// Another process holds it for longer than anybody should.
    #[error("{path} is in use", path = .path.display())]
    Busy { path: PathBuf },
    /// No space left for it.
    #[error("no space left for {path}", path = .path.display())]
    Full {
        path: PathBuf,
        #[source]
        source: rusqlite::Error,
    },
    #[error("reading or writing {path}", path = .path.display())]
    Sql {
        path: PathBuf,
        #[source]
        source: rusqlite::Error,
    },
    #[error("there is no conversation {id}")]
    NoConversation { id: String },
    #[error("there is no message {id}")]
    NoMessage { id: String },
    #[error("nothing was asked in {conversation} yet")]
    NoQuestion { conversation: String },
    /// Ended already, so nothing can be added to it.
    #[error("the answer {id} has ended")]
    AlreadyEnded { id: String },
    #[error("an answer is being written in {conversation}")]
    AnswerRunning { conversation: String },
    /// A conversation from outside whose messages do not hang together.
    #[error("the messages of a conversation do not hang together: {problem}")]
    Tangled { problem: &'static str },
    #[error("{what:?} of {bytes} bytes is over the limit of {limit}")]
    TooLarge {
        what: Limited,
        bytes: usize,
        limit: usize,
    },
    #[error(transparent)]
    File(#[from] FileError),
    #[error("starting the thread of the store")]
    Thread(#[source] std::io::Error),
    /// The thread is gone, which only a panic in it does.
    #[error("the store has ended")]
    Ended,
}
