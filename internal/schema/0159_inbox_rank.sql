-- +goose Up

-- The column urgency is the rank of an item in the list: -1 for a run that repeats itself, else the rank of its severity.
UPDATE inbox_items SET urgency = -1 WHERE kind = 'loop';
