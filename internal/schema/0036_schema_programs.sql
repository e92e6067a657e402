-- +goose Up
-- Owned by platform/db: the first program that knew each version of the schema.
-- An older one reads here which it would need.
CREATE TABLE schema_programs (
	version BIGINT PRIMARY KEY,
	program TEXT NOT NULL
);

-- +goose Down
DROP TABLE schema_programs;
