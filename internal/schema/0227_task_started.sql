-- +goose Up

ALTER TABLE tasks ADD COLUMN started_at TIMESTAMP; -- last move from backlog or todo to in_progress
