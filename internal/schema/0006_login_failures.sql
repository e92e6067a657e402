-- +goose Up

-- Failed logins of the last hour, by account and by address. Owned by account.
CREATE TABLE login_failures (
	subject       TEXT PRIMARY KEY, -- a digest: people type their password into the wrong field
	failures      INTEGER NOT NULL, -- with those whose password is being compared
	last_at       TIMESTAMP NOT NULL,
	blocked_until TIMESTAMP
);
CREATE INDEX login_failures_by_age ON login_failures (last_at);

-- +goose Down
DROP TABLE login_failures;
