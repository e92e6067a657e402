-- +goose Up

-- What a transcript has of another one, of which it was made: the runtime copies
-- a conversation that is forked, or gone back in, with what it had used. That is
-- in the ledger already, and in the totals of the copy once more. Owned by usage.
CREATE TABLE usage_inherited (
	session_id  TEXT NOT NULL, -- of the copy
	run_id      TEXT NOT NULL, -- as in the ledger
	provider    TEXT NOT NULL,
	model       TEXT NOT NULL,
	input       BIGINT NOT NULL, -- tokens, as the next four
	output      BIGINT NOT NULL,
	cache_read  BIGINT NOT NULL,
	cache_write BIGINT NOT NULL,
	other       BIGINT NOT NULL,
	cost_nano   BIGINT NOT NULL, -- billionths of a dollar, of what the runtime priced
	PRIMARY KEY (session_id, run_id, provider, model)
);

-- +goose Down
DROP TABLE usage_inherited;
