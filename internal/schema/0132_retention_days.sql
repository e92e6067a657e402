-- +goose Up

-- Numbers of days that people set in the dashboard, by the name of their variable. The environment takes precedence. A change is
-- a new version of settings. Owned by settings.
CREATE TABLE retention_days (
	setting TEXT PRIMARY KEY,
	days    INTEGER NOT NULL
);
