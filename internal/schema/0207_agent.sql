-- +goose Up

-- The agents of the runtime when Wardroom last read them, in one row. Owned by agent.
CREATE TABLE agent_roster (
	one    INTEGER PRIMARY KEY CHECK (one = 1),
	agents TEXT NOT NULL, -- JSON, in the runtime's order
	as_of  TIMESTAMP NOT NULL
);
