-- +goose Up

-- Settings that people change in the dashboard, in one row. The token is encrypted by platform/vault. Owned by settings.
CREATE TABLE settings (
	id                INTEGER PRIMARY KEY CHECK (id = 1),
	gateway_url       TEXT NOT NULL, -- empty if none was set here
	gateway_token     TEXT NOT NULL, -- encrypted; empty if none was set here
	gateway_token_for TEXT NOT NULL, -- address to which the token may be sent; empty without one
	updated_at        TIMESTAMP,     -- null: never
	version           BIGINT NOT NULL
);
INSERT INTO settings (id, gateway_url, gateway_token, gateway_token_for, version) VALUES (1, '', '', '', 1);
