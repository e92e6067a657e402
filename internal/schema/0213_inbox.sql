-- +goose Up

-- What needs a person, one item for each cause. Owned by inbox.
CREATE TABLE inbox_items (
	id            TEXT PRIMARY KEY,
	cause         TEXT NOT NULL, -- a repeated cause increments count instead of adding an item
	kind          TEXT NOT NULL,
	severity      TEXT NOT NULL,
	urgency       BIGINT NOT NULL, -- rank in the list: -1 for a run that repeats itself, else that of the severity, from 0
	title         TEXT NOT NULL,
	detail        TEXT NOT NULL, -- Markdown
	subject_kind  TEXT NOT NULL, -- of what the item is about, like the next two; empty if nothing in particular
	subject_id    TEXT NOT NULL,
	subject_name  TEXT NOT NULL,
	session_key   TEXT, -- of the run that the item is about, like the next one; null if none is known
	run_id        TEXT,
	effect        TEXT, -- what Wardroom did about the cause: stopped or held; null if nothing
	count         BIGINT NOT NULL,
	first_at      TIMESTAMP NOT NULL,
	last_at       TIMESTAMP NOT NULL,
	state         TEXT NOT NULL, -- open, acked, snoozed or resolved
	snoozed_until TIMESTAMP, -- only in snoozed; after it, the item is open
	assignee_id   TEXT REFERENCES users (id),
	resolved_at   TIMESTAMP, -- only in resolved, like the next three
	resolver_id   TEXT, -- user ID, or system
	resolver_name TEXT, -- at that time
	resolution    TEXT,
	version       BIGINT NOT NULL
);
CREATE UNIQUE INDEX inbox_by_cause ON inbox_items (cause);
CREATE INDEX inbox_by_rank ON inbox_items (urgency, first_at, id);
CREATE INDEX inbox_by_last ON inbox_items (last_at, id);
CREATE INDEX inbox_unresolved ON inbox_items (urgency, first_at, id) WHERE state <> 'resolved';
CREATE INDEX inbox_of_kind ON inbox_items (kind, urgency, first_at, id);
CREATE INDEX inbox_unresolved_of_kind ON inbox_items (kind, subject_id) WHERE state <> 'resolved';
CREATE INDEX inbox_of_subject ON inbox_items (subject_id, kind);
CREATE INDEX inbox_of_assignee ON inbox_items (assignee_id, urgency, first_at, id);
CREATE INDEX inbox_snoozed ON inbox_items (snoozed_until, id) WHERE state = 'snoozed';
CREATE INDEX inbox_resolved ON inbox_items (resolved_at, id) WHERE state = 'resolved';
