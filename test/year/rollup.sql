DELETE FROM usage_rollup;

INSERT INTO usage_rollup (dimension, span, start, name, runs, unpriced, corrections, priced, input, output, cache_read, cache_write, other, cost, estimated, calls, took)
	SELECT d.dimension, 3600000, at - at % 3600000, CASE d.dimension
			WHEN 'agent' THEN agent_id WHEN 'source' THEN source WHEN 'session' THEN session_key WHEN 'job' THEN job_id
			WHEN 'task' THEN task_key WHEN 'standup' THEN standup_id
			WHEN 'model' THEN CASE WHEN provider = '' THEN model ELSE provider || '/' || model END
			ELSE '' END AS value,
		SUM(runs), SUM(unpriced), SUM(1 - runs), COUNT(cost_nano), SUM(input), SUM(output), SUM(cache_read), SUM(cache_write), SUM(other),
		COALESCE(SUM(cost_nano), 0), SUM(CASE WHEN price = 'estimated' THEN COALESCE(cost_nano, 0) ELSE 0 END), SUM(calls), SUM(took)
	FROM usage_ledger CROSS JOIN (SELECT CAST(? AS TEXT) AS dimension) d
	GROUP BY 1, 2, 3, 4;

INSERT INTO usage_rollup (dimension, span, start, name, runs, unpriced, corrections, priced, input, output, cache_read, cache_write, other, cost, estimated, calls, took)
	SELECT dimension, 86400000, start - start % 86400000, name, SUM(runs), SUM(unpriced), SUM(corrections), SUM(priced), SUM(input), SUM(output),
		SUM(cache_read), SUM(cache_write), SUM(other), SUM(cost), SUM(estimated), SUM(calls), SUM(took)
	FROM usage_rollup WHERE span = 3600000 GROUP BY 1, 2, 3, 4;

INSERT INTO usage_rollup (dimension, span, start, name, runs, unpriced, corrections, priced, input, output, cache_read, cache_write, other, cost, estimated, calls, took)
	SELECT dimension, 0, 0, name, SUM(runs), SUM(unpriced), SUM(corrections), SUM(priced), SUM(input), SUM(output),
		SUM(cache_read), SUM(cache_write), SUM(other), SUM(cost), SUM(estimated), SUM(calls), SUM(took)
	FROM usage_rollup WHERE span = 86400000 AND dimension = 'task' AND name <> '' GROUP BY 1, 2, 3, 4;

INSERT INTO usage_rollup (dimension, span, start, name, runs, unpriced, corrections, priced, input, output, cache_read, cache_write, other, cost, estimated, calls, took)
	SELECT 'transcript', 0, 0, session_id, SUM(runs), SUM(unpriced), SUM(1 - runs), COUNT(cost_nano), SUM(input), SUM(output), SUM(cache_read),
		SUM(cache_write), SUM(other), COALESCE(SUM(cost_nano), 0), SUM(CASE WHEN price = 'estimated' THEN COALESCE(cost_nano, 0) ELSE 0 END), SUM(calls), SUM(took)
	FROM usage_ledger WHERE session_id <> '' GROUP BY session_id
