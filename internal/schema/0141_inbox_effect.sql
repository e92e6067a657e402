-- +goose Up

-- What Wardroom did about the cause: stopped or held. Null if it did nothing, and for older items. Owned by inbox.
ALTER TABLE inbox_items ADD COLUMN effect TEXT;
