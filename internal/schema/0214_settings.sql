-- +goose Up

-- Settings that people change in the dashboard, in one row. The token is encrypted by platform/vault. Owned by
-- settings, like all tables in this file.
CREATE TABLE settings (
	id                INTEGER PRIMARY KEY CHECK (id = 1),
	gateway_url       TEXT NOT NULL, -- empty if none was set here
	gateway_token     TEXT NOT NULL, -- encrypted; empty if none was set here
	gateway_token_for TEXT NOT NULL, -- address to which the token may be sent; empty without one
	holds_in_runtime  BOOLEAN NOT NULL DEFAULT FALSE, -- whether a person has allowed holds to change the runtime's configuration
	updated_at        TIMESTAMP,     -- null: never
	version           BIGINT NOT NULL
);
INSERT INTO settings (id, gateway_url, gateway_token, gateway_token_for, version) VALUES (1, '', '', '', 1);

-- Numbers of days that people set in the dashboard, by the name of their variable. The environment
-- takes precedence. A change is a new version of settings.
CREATE TABLE retention_days (
	setting TEXT PRIMARY KEY,
	days    INTEGER NOT NULL
);
