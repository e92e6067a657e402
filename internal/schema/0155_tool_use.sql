-- +goose Up

-- When the key was last used to call the tools for agents. Owned by account.
ALTER TABLE api_keys ADD COLUMN tools_used_at TIMESTAMP; -- written at most once a minute, except by whoami
