-- +goose Up

-- The first version of Wardroom that used each schema version. An older Wardroom reads here which version it needs.
-- Owned by platform/db.
CREATE TABLE schema_programs (
	version BIGINT PRIMARY KEY,
	program TEXT NOT NULL
);
