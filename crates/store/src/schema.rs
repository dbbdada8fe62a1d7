use rusqlite_migration::{M, Migrations};

/// One entry a version, never changed once it was released.
const STEPS: &[M<'static>] = &[
    M::up(FIRST),
    M::up(RANGES),
    M::up(EVENTS),
    M::up(TOOLS),
    M::up(FINDING),
    M::up(CONTEXTS),
];

pub(crate) const MIGRATIONS: Migrations<'static> = Migrations::from_slice(STEPS);

/// The version after all steps.
pub(crate) fn known_version() -> i64 {
    i64::try_from(STEPS.len()).unwrap_or(i64::MAX)
}

/// Messages form a tree: each names the one it follows, and a conversation names the leaf it shows. A
/// conversation that was never edited is a list. The text of a running answer lies in `pieces`, so that a batch
/// is one small row and not the whole text again; ending puts it together.
const FIRST: &str = "
    CREATE TABLE conversations (
        id          TEXT PRIMARY KEY,
        title       TEXT NOT NULL,
        model       TEXT,
        created_at  INTEGER NOT NULL,
        updated_at  INTEGER NOT NULL,
        deleted_at  INTEGER,
        head        TEXT
    ) STRICT;

    CREATE TABLE messages (
        id            TEXT PRIMARY KEY,
        conversation  TEXT NOT NULL REFERENCES conversations (id) ON DELETE CASCADE,
        parent        TEXT REFERENCES messages (id) ON DELETE CASCADE,
        role          TEXT NOT NULL CHECK (role IN ('user', 'assistant')),
        text          TEXT NOT NULL,
        reasoning     TEXT NOT NULL,
        created_at    INTEGER NOT NULL,
        ended_at      INTEGER,
        ended         TEXT CHECK (ended IN ('complete', 'length', 'stopped', 'failed', 'interrupted')),
        stats         TEXT,
        fault         TEXT,
        -- While it is being written: by whom, and how many bytes so far.
        writer        TEXT,
        written       INTEGER NOT NULL DEFAULT 0
    ) STRICT;
    CREATE INDEX messages_by_conversation ON messages (conversation);
    CREATE INDEX messages_by_parent ON messages (parent);
    CREATE INDEX messages_being_written ON messages (writer) WHERE writer IS NOT NULL;

    CREATE TABLE pieces (
        message    TEXT NOT NULL REFERENCES messages (id) ON DELETE CASCADE,
        number     INTEGER NOT NULL,
        text       TEXT NOT NULL,
        reasoning  TEXT NOT NULL,
        PRIMARY KEY (message, number)
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE settings (
        name   TEXT PRIMARY KEY,
        value  TEXT NOT NULL
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE measurements (
        id        INTEGER PRIMARY KEY,
        taken_at  INTEGER NOT NULL,
        kind      TEXT NOT NULL,
        model     TEXT NOT NULL,
        body      TEXT NOT NULL
    ) STRICT;
    CREATE INDEX measurements_by_kind ON measurements (kind, model, taken_at);

    CREATE TABLE transfers (
        id           TEXT PRIMARY KEY,
        subject      TEXT NOT NULL,
        state        TEXT NOT NULL CHECK (state IN ('running', 'paused', 'cancelled', 'failed', 'done')),
        done_bytes   INTEGER NOT NULL,
        total_bytes  INTEGER NOT NULL,
        started_at   INTEGER NOT NULL,
        updated_at   INTEGER NOT NULL,
        body         TEXT NOT NULL,
        fault        TEXT
    ) STRICT;
";

/// Unfinished files: what of them is on the disk, each claim made after the bytes were synced.
const RANGES: &str = "
    CREATE TABLE parts (
        path     TEXT PRIMARY KEY,
        version  TEXT NOT NULL,
        hashed   INTEGER NOT NULL,
        hash     BLOB NOT NULL,
        marks    BLOB NOT NULL
    ) STRICT;

    CREATE TABLE part_ranges (
        path   TEXT NOT NULL REFERENCES parts (path) ON DELETE CASCADE,
        first  INTEGER NOT NULL,
        after  INTEGER NOT NULL CHECK (after > first),
        PRIMARY KEY (path, first)
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE content_marks (
        sha256  TEXT PRIMARY KEY,
        step    INTEGER NOT NULL,
        states  BLOB NOT NULL
    ) STRICT;
";

/// What an answer is made of beside its words, in order and never changed; and what each call of a model took.
const EVENTS: &str = "
    CREATE TABLE events (
        message  TEXT NOT NULL REFERENCES messages (id) ON DELETE CASCADE,
        number   INTEGER NOT NULL,
        kind     TEXT NOT NULL,
        body     TEXT NOT NULL,
        PRIMARY KEY (message, number)
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE usages (
        message       TEXT NOT NULL REFERENCES messages (id) ON DELETE CASCADE,
        number        INTEGER NOT NULL,
        route         TEXT NOT NULL,
        model         TEXT NOT NULL,
        -- Tokens. NULL is unknown, never 0.
        input         INTEGER,
        cached        INTEGER,
        cache_write   INTEGER,
        output        INTEGER,
        reasoning     INTEGER,
        total         INTEGER,
        -- In millionths of a millionth of a US dollar.
        cost          INTEGER,
        cost_by       TEXT CHECK (cost_by IN ('provider', 'prices')),
        PRIMARY KEY (message, number)
    ) STRICT, WITHOUT ROWID;
";

/// What the models of a conversation may do, in the caller's own words.
const TOOLS: &str = "ALTER TABLE conversations ADD COLUMN tools TEXT;";

/// How the models of a conversation are asked, who gave it its title, and an index of every word: by trigrams,
/// which find parts of words and need no language. The index holds no text of its own; a row is found by a
/// number that, unlike a row id, nothing but us gives and nothing changes.
const FINDING: &str = "
    ALTER TABLE conversations ADD COLUMN settings TEXT;
    -- NULL: taken from the first words.
    ALTER TABLE conversations ADD COLUMN titled_by TEXT CHECK (titled_by IN ('model', 'person'));

    ALTER TABLE conversations ADD COLUMN number INTEGER;
    UPDATE conversations SET number = rowid;
    CREATE UNIQUE INDEX conversations_by_number ON conversations (number);
    ALTER TABLE messages ADD COLUMN number INTEGER;
    UPDATE messages SET number = rowid;
    CREATE UNIQUE INDEX messages_by_number ON messages (number);

    CREATE VIRTUAL TABLE title_words USING fts5 (
        title, content = 'conversations', content_rowid = 'number', tokenize = 'trigram'
    );
    INSERT INTO title_words (title_words) VALUES ('rebuild');
    CREATE TRIGGER conversation_added AFTER INSERT ON conversations BEGIN
        UPDATE conversations SET number = (SELECT ifnull(max(number), 0) + 1 FROM conversations) WHERE id = new.id;
        INSERT INTO title_words (rowid, title) SELECT number, title FROM conversations WHERE id = new.id;
    END;
    CREATE TRIGGER conversation_titled AFTER UPDATE OF title ON conversations BEGIN
        INSERT INTO title_words (title_words, rowid, title) VALUES ('delete', old.number, old.title);
        INSERT INTO title_words (rowid, title) VALUES (new.number, new.title);
    END;
    CREATE TRIGGER conversation_removed AFTER DELETE ON conversations BEGIN
        INSERT INTO title_words (title_words, rowid, title) VALUES ('delete', old.number, old.title);
    END;

    CREATE VIRTUAL TABLE message_words USING fts5 (
        text, content = 'messages', content_rowid = 'number', tokenize = 'trigram'
    );
    INSERT INTO message_words (message_words) VALUES ('rebuild');
    CREATE TRIGGER message_added AFTER INSERT ON messages BEGIN
        UPDATE messages SET number = (SELECT ifnull(max(number), 0) + 1 FROM messages) WHERE id = new.id;
        INSERT INTO message_words (rowid, text) SELECT number, text FROM messages WHERE id = new.id;
    END;
    CREATE TRIGGER message_written AFTER UPDATE OF text ON messages BEGIN
        INSERT INTO message_words (message_words, rowid, text) VALUES ('delete', old.number, old.text);
        INSERT INTO message_words (rowid, text) VALUES (new.number, new.text);
    END;
    CREATE TRIGGER message_removed AFTER DELETE ON messages BEGIN
        INSERT INTO message_words (message_words, rowid, text) VALUES ('delete', old.number, old.text);
    END;
";

/// What stands for rows of a conversation, the last count of its context with what decided, and what was learned
/// about routes. Messages are never changed for any of it.
const CONTEXTS: &str = "
    CREATE TABLE compactions (
        number        INTEGER PRIMARY KEY,
        id            TEXT NOT NULL UNIQUE,
        conversation  TEXT NOT NULL REFERENCES conversations (id) ON DELETE CASCADE,
        made_at       INTEGER NOT NULL,
        undone_at     INTEGER,
        body          TEXT NOT NULL
    ) STRICT;
    CREATE INDEX compactions_by_conversation ON compactions (conversation);

    CREATE TABLE contexts (
        conversation  TEXT PRIMARY KEY REFERENCES conversations (id) ON DELETE CASCADE,
        state         TEXT,
        mode          TEXT
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE context_steps (
        conversation  TEXT NOT NULL REFERENCES conversations (id) ON DELETE CASCADE,
        number        INTEGER NOT NULL,
        restart       INTEGER NOT NULL,
        body          TEXT NOT NULL,
        PRIMARY KEY (conversation, number)
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE route_rates (
        route  TEXT PRIMARY KEY,
        body   TEXT NOT NULL
    ) STRICT, WITHOUT ROWID;
";

#[cfg(test)]
mod tests {
    use rusqlite::Connection;

    use super::{MIGRATIONS, known_version};

    #[test]
    fn every_step_applies_and_counts() {
        MIGRATIONS.validate().unwrap();
        let mut connection = Connection::open_in_memory().unwrap();
        MIGRATIONS.to_latest(&mut connection).unwrap();
        let version: i64 = connection
            .query_row("PRAGMA user_version", [], |row| row.get(0))
            .unwrap();
        assert_eq!(version, known_version());
    }
}
