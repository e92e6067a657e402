-- +goose Up

-- The device with which Wardroom identifies itself to the gateway and, during a replacement, the new one that waits for
-- approval. Its key and token are encrypted by platform/vault. Owned by pairing.
CREATE TABLE pairing_devices (
	place        TEXT PRIMARY KEY CHECK (place IN ('current', 'next')),
	device_id    TEXT NOT NULL UNIQUE, -- SHA-256 of the public key, in hex
	public_key   TEXT NOT NULL, -- base64url
	sealed_key   TEXT NOT NULL,
	sealed_token TEXT NOT NULL, -- empty if there is none
	token_at     TIMESTAMP, -- when the gateway issued the token; null without one
	gateway      TEXT NOT NULL, -- address of the gateway that issued the token; empty without one
	made_at      TIMESTAMP NOT NULL,
	admitted     TEXT NOT NULL CHECK (admitted IN ('', 'paired', 'local')), -- how the gateway last accepted the device
	admitted_at  TIMESTAMP, -- since when; null if never
	replaced_id  TEXT NOT NULL, -- the previous device; empty if there was none
	answer       TEXT NOT NULL, -- JSON: the gateway's answer when the new device was introduced
	ask_at       TIMESTAMP -- when to introduce the new device; null for the current one
);
