-- +goose Up
INSERT INTO teams (id, key, name, created_at, updated_at, version)
SELECT '00000000-0000-7000-8000-000000000001', 'executive', 'Executive team', at, at, 1 FROM (SELECT UNIXEPOCH() * 1000000 AS at);
