-- +goose Up

-- What this service is to the agent runtime: the device that it made for itself,
-- and, while that is being replaced, the one that waits for its approval. Its key
-- and its token are sealed by platform/vault. Owned by pairing.
CREATE TABLE pairing_devices (
	place        TEXT PRIMARY KEY CHECK (place IN ('current', 'next')),
	device_id    TEXT NOT NULL UNIQUE, -- SHA-256 of the public key, in hex
	public_key   TEXT NOT NULL, -- base64url
	sealed_key   TEXT NOT NULL,
	sealed_token TEXT NOT NULL, -- empty when there is none
	token_at     TIMESTAMP, -- when the token was given; null without one
	gateway      TEXT NOT NULL, -- the address whose token it is; empty without one
	made_at      TIMESTAMP NOT NULL,
	admitted     TEXT NOT NULL CHECK (admitted IN ('', 'paired', 'local')), -- how the gateway last let it in
	admitted_at  TIMESTAMP, -- since when; null when it never did
	replaced_id  TEXT NOT NULL, -- the device before this one; empty when there was none
	answer       TEXT NOT NULL, -- JSON: what the gateway said when the next one was introduced
	ask_at       TIMESTAMP -- when the next one is to be introduced; null for the current one
);

-- +goose Down
DROP TABLE pairing_devices;
