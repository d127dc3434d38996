-- Version 3 of the store, documented in docs/store.md. The last column of every table is the SHA-256
-- of the others.
CREATE TABLE study (
    name     TEXT PRIMARY KEY,
    hash     TEXT NOT NULL,      -- SHA-256 of the protocol
    protocol TEXT NOT NULL,      -- canonical JSON
    checksum TEXT NOT NULL
) STRICT;

CREATE TABLE task (
    study  TEXT NOT NULL REFERENCES study (name),
    task   TEXT NOT NULL,
    phase  TEXT NOT NULL,        -- development or confirmation
    "case" TEXT NOT NULL,
    split  INTEGER,              -- test split of a table
    seed   INTEGER NOT NULL,
    checksum TEXT NOT NULL,
    PRIMARY KEY (study, task)
) STRICT;

CREATE TABLE fit (
    study       TEXT NOT NULL,
    task        TEXT NOT NULL,
    fit         TEXT NOT NULL,
    method      TEXT NOT NULL,   -- single, loop or untied
    spec        TEXT NOT NULL,   -- canonical JSON: all that the result depends on
    stop        TEXT NOT NULL,   -- completed or diverged
    validation  REAL,            -- best average negative log-likelihood; NULL if none was finite
    best_update INTEGER NOT NULL,
    updates     INTEGER NOT NULL,
    curve       TEXT NOT NULL,   -- JSON: [[updates, validation loss], ...]
    parameters  BLOB NOT NULL,   -- 32-bit little-endian floats
    seconds     REAL NOT NULL,   -- processor time: may differ between runs, and so may the backend
    backend     TEXT NOT NULL,   -- who made it
    bits        TEXT NOT NULL,   -- what two backends must have in common to make the same fits
    checksum    TEXT NOT NULL,
    PRIMARY KEY (study, task, fit),
    FOREIGN KEY (study, task) REFERENCES task (study, task)
) STRICT;

CREATE TABLE choice (
    study  TEXT NOT NULL,
    task   TEXT NOT NULL,
    name   TEXT NOT NULL,
    method TEXT NOT NULL,        -- single, loop, untied, linear or constant
    at     REAL,                 -- place on the study's axis
    fit    TEXT,                 -- the selected fit; NULL for linear and constant
    checksum TEXT NOT NULL,
    PRIMARY KEY (study, task, name),
    FOREIGN KEY (study, task, fit) REFERENCES fit (study, task, fit)
) STRICT;

CREATE TABLE score (
    study  TEXT NOT NULL,
    task   TEXT NOT NULL,
    name   TEXT NOT NULL,
    metric TEXT NOT NULL,
    value  REAL,                 -- NULL if the model gave no finite value
    checksum TEXT NOT NULL,
    PRIMARY KEY (study, task, name, metric),
    FOREIGN KEY (study, task, name) REFERENCES choice (study, task, name)
) STRICT;

CREATE TABLE decision (
    study   TEXT NOT NULL REFERENCES study (name),
    name    TEXT NOT NULL,
    content TEXT NOT NULL,       -- JSON: what the data are, what development settled
    checksum TEXT NOT NULL,
    PRIMARY KEY (study, name)
) STRICT;

-- How many records a task has once they are final: a record that is missing is noticed.
CREATE TABLE tally (
    study    TEXT NOT NULL,
    task     TEXT NOT NULL,
    records  TEXT NOT NULL,      -- fit, choice or score
    count    INTEGER NOT NULL,
    checksum TEXT NOT NULL,
    PRIMARY KEY (study, task, records),
    FOREIGN KEY (study, task) REFERENCES task (study, task)
) STRICT;

-- Selection ends when the choices of a task are written: no fit can follow, and no choice
-- can be changed once test data may have been seen.
CREATE TRIGGER no_fit_after_choice BEFORE INSERT ON fit
WHEN EXISTS (SELECT 1 FROM choice WHERE study = NEW.study AND task = NEW.task)
BEGIN SELECT RAISE(ABORT, 'the choices of this task are frozen'); END;

CREATE TRIGGER no_choice_after_score BEFORE INSERT ON choice
WHEN EXISTS (SELECT 1 FROM score WHERE study = NEW.study AND task = NEW.task)
BEGIN SELECT RAISE(ABORT, 'the choices of this task are frozen'); END;

CREATE TRIGGER choices_stay BEFORE UPDATE ON choice
BEGIN SELECT RAISE(ABORT, 'a choice cannot be changed'); END;

CREATE TRIGGER choices_remain BEFORE DELETE ON choice
BEGIN SELECT RAISE(ABORT, 'a choice cannot be taken back'); END;

CREATE TRIGGER fits_stay
BEFORE UPDATE OF study, task, fit, method, spec, stop, validation, best_update, updates, curve, parameters, bits ON fit
BEGIN SELECT RAISE(ABORT, 'a fit cannot be changed'); END;

CREATE TRIGGER fits_remain BEFORE DELETE ON fit
BEGIN SELECT RAISE(ABORT, 'a fit cannot be taken back'); END;

CREATE TRIGGER scores_stay BEFORE UPDATE ON score
BEGIN SELECT RAISE(ABORT, 'a score cannot be changed'); END;

CREATE TRIGGER scores_remain BEFORE DELETE ON score
BEGIN SELECT RAISE(ABORT, 'a score cannot be taken back'); END;

CREATE TRIGGER tallies_stay BEFORE UPDATE ON tally
BEGIN SELECT RAISE(ABORT, 'a tally cannot be changed'); END;

CREATE TRIGGER tallies_remain BEFORE DELETE ON tally
BEGIN SELECT RAISE(ABORT, 'a tally cannot be taken back'); END;
