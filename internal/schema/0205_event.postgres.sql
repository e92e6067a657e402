-- +goose Up

-- A kind of event has one class, so a search for a kind in the other class matches nothing. Without this, PostgreSQL
-- expects matches and reads all events of the class.
CREATE STATISTICS events_classes (mcv) ON class, kind FROM events;
