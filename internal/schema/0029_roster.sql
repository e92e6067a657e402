-- +goose Up

-- The runtime's agents, as they were last seen there: one row. Owned by agent.
CREATE TABLE agent_roster (
	one    INTEGER PRIMARY KEY CHECK (one = 1),
	agents TEXT NOT NULL, -- JSON, in the runtime's order
	as_of  TIMESTAMP NOT NULL -- when the runtime last said so
);

-- +goose Down
DROP TABLE agent_roster;
