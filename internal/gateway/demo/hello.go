package demo

import (
	"maps"
	"os"
	"slices"
	"time"
)

// hello returns the answer to a connect request. The auth object says how the client authenticated.
// The caller must hold r.mu.
func (r *Runtime) hello(c *Conn, auth object) object {
	b := c.boot
	// Hidden methods, such as sessions.usage, are served but not listed, as on the gateway.
	served := slices.DeleteFunc(slices.Sorted(maps.Keys(r.methods)), func(m string) bool {
		return r.methods[m].hidden || !r.options.Behavior.Serves(m)
	})
	return object{
		"type": "hello-ok", "protocol": r.options.Behavior.Protocol(),
		"server": object{
			"version": Version, "buildId": buildID, "bootId": b.id,
			"controlUiBuildSource": "bundled", "connId": c.id,
		},
		"features": object{
			"methods":      served,
			"events":       words("connect.challenge agent chat session.message sessions.changed tick shutdown health task cron exec.approval.requested exec.approval.resolved question.requested question.resolved"),
			"capabilities": words("model-catalog-snapshot session-scoped-chat-metadata"),
		},
		"snapshot":             r.snapshot(b),
		"controlUiWidgetKinds": []object{}, "controlUiLinkReaders": []object{}, "pluginSurfaceUrls": object{},
		"auth": auth,
		"policy": object{
			"maxPayload": maxPayload, "maxBufferedBytes": maxBuffered, "tickIntervalMs": r.options.Timing.Tick.Milliseconds(),
			"attachments":                         object{"maxBytes": 19464192, "maxImageBytes": 6291456},
			"allowedSessionVisibilities":          words("shared read-only suggest draft"),
			"hasMultipleSessionSharingIdentities": false,
		},
	}
}

// snapshot returns the part of hello-ok that describes the gateway's current state.
func (r *Runtime) snapshot(b *boot) object {
	health := r.health()
	return object{
		"suspension": object{"phase": "accepting"},
		"presence":   r.presence(), "health": health,
		"stateVersion": object{"presence": b.presence, "health": b.health},
		"uptimeMs":     time.Since(b.since).Milliseconds(), "appliedConfigHash": "hmac-sha256:v1:demo",
		"sessionDefaults": object{
			"defaultAgentId": r.options.Agents[0].ID, "modelConfigured": true, "ownership": "explicit",
			"selectionRequired": false, "mainKey": "main",
			"mainSessionKey": "agent:" + r.options.Agents[0].ID + ":main", "scope": "per-sender",
		},
		"updateSchedule": object{"channel": "stable", "autoEnabled": false, "install": object{"kind": "package"}},
		"configPath":     "demo", "stateDir": "demo", "authMode": "token",
	}
}

// presence returns the presence list. It contains only the gateway itself, because
// backend clients are never listed.
func (r *Runtime) presence() []object {
	return []object{{
		"host": "demo", "ip": "127.0.0.1", "version": Version, "platform": "demo", "deviceFamily": "demo",
		"mode": "gateway", "reason": "self", "instanceId": "demo",
		"text": "Gateway: demo (127.0.0.1) · app " + Version + " · mode gateway · reason self",
		"ts":   r.now(),
	}}
}

// health returns the payload of the health event. The caller must hold r.mu.
func (r *Runtime) health() object {
	agents := make([]object, len(r.options.Agents))
	for i, a := range r.options.Agents {
		agents[i] = object{
			"agentId": a.ID, "name": a.Name, "isDefault": i == 0,
			"heartbeat": object{
				"enabled": false, "every": "disabled", "everyMs": nil, "prompt": "", "target": "owner", "ackMaxChars": 300,
			},
			"sessions": r.recent(a.ID),
		}
	}
	return object{
		"ok": true, "ts": r.now(), "durationMs": 0,
		"plugins":      object{"loaded": []string{}, "errors": []string{}, "unavailable": []string{}},
		"configReload": object{"hotReloadStatus": "active"},
		"channels":     object{}, "channelOrder": []string{}, "channelLabels": object{},
		"heartbeatSeconds": 0, "defaultAgentId": r.options.Agents[0].ID,
		"agents": agents, "sessions": r.recent(r.options.Agents[0].ID), "eventLoop": eventLoop(),
	}
}

// recent returns the number of sessions that an agent has, and the five most recent ones.
func (r *Runtime) recent(agentID string) object {
	list := r.latest(agentID)
	recent := []object{}
	for _, s := range list[:min(5, len(list))] {
		recent = append(recent, object{"key": s.key, "updatedAt": s.updatedAt, "age": r.now() - s.updatedAt})
	}
	return object{"path": storePath(agentID), "count": len(list), "recent": recent}
}

// status returns the result of the status method. The caller must hold r.mu.
func (r *Runtime) status(b *boot) object {
	beats, byAgent, paths := []object{}, []object{}, []string{}
	for _, a := range r.options.Agents {
		beats = append(beats, object{
			"agentId": a.ID, "enabled": false, "every": "disabled", "everyMs": nil, "waitingForRoute": false,
		})
		rows := r.summaries(a.ID)
		byAgent = append(byAgent, object{"agentId": a.ID, "path": storePath(a.ID), "count": len(rows), "recent": rows})
		paths = append(paths, storePath(a.ID))
	}
	model := modelOf(r.options.Agents[0])
	return object{
		"runtimeVersion": Version, "hostDesktop": object{"enabled": false, "state": "disabled", "port": 5900},
		"heartbeat":      object{"defaultAgentId": r.options.Agents[0].ID, "agents": beats},
		"channelSummary": []string{}, "queuedSystemEvents": []string{}, "degradedSecretOwners": []string{},
		"degradedPlugins": []string{}, "tasks": b.taskCounts(),
		"taskAudit": object{"total": 0, "warnings": 0, "errors": 0, "byCode": object{
			"stale_queued": 0, "stale_running": 0, "lost": 0, "delivery_failed": 0,
			"missing_cleanup": 0, "inconsistent_timestamps": 0,
		}},
		"sessions": object{
			"paths": paths, "count": len(r.sessions),
			"defaults": object{"model": model.id, "contextTokens": model.window},
			"recent":   r.summaries(""), "byAgent": byAgent,
		},
		"modelRuntime": object{"degraded": false, "pendingAgents": []string{}},
		"eventLoop":    eventLoop(), "pid": os.Getpid(),
		"processMemory": object{"rssBytes": 0, "heapUsedBytes": 0, "heapTotalBytes": 0, "externalBytes": 0, "arrayBuffersBytes": 0},
		"workerPools":   object{"transcriptReconciliation": workers(), "modelCatalog": workers()},
		"shutdownBudget": object{
			"timeoutMs": 325000, "reserveMs": 10000, "nativeStopBudget": false, "writeCustody": []string{},
			"activeWork": object{
				"rootRequests": 0, "cronRuns": 0, "sessionMutations": 0, "terminalPersistence": 0, "lifecycleWrites": 0,
			},
		},
	}
}

// taskCounts returns the number of stored runs, in total and by status.
func (b *boot) taskCounts() object {
	byStatus := map[string]int{"queued": 0, "running": 0, "succeeded": 0, "failed": 0, "timed_out": 0, "cancelled": 0, "lost": 0}
	active, failures := 0, 0
	for _, q := range b.runs {
		switch {
		case !q.ended:
			byStatus["running"]++
			active++
		case q.outcome.kind == answered:
			byStatus["succeeded"]++
		default:
			byStatus[q.outcome.kind.task()]++
			failures++
		}
	}
	return object{
		"total": len(b.runs), "active": active, "terminal": len(b.runs) - active, "failures": failures,
		"byStatus": byStatus, "byRuntime": object{"subagent": 0, "acp": 0, "cli": len(b.runs), "cron": 0},
	}
}

func workers() object {
	return object{"maxWorkers": 1, "workers": 0, "workersCreated": 0, "activeTasks": 0, "pendingTasks": 0}
}

// eventLoop returns the load figures of an idle process, because the demo runtime doesn't
// measure its own load.
func eventLoop() object {
	return object{
		"degraded": false, "degradedSinceMs": nil, "reasons": []string{}, "intervalMs": 1000,
		"delayP99Ms": 0, "delayMaxMs": 0, "utilization": 0, "cpuCoreRatio": 0,
		"cpuBreakdown": object{
			"mainThreadCoreRatio": 0, "hostUtilization": 0, "hostCpuCount": 1,
			"workerCoreRatio": 0, "otherThreadsCoreRatio": 0,
		},
	}
}

// storePath returns the path that an agent's session store would have on a real gateway.
func storePath(agentID string) string {
	return "demo/agents/" + agentID + "/agent/openclaw-agent.sqlite"
}
