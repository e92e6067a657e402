package demo

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"maps"
)

// This file contains the JSON representations of a scheduled job.

// revision returns a hash of the job's definition.
func (j *cronJob) revision() string {
	data, _ := json.Marshal(j.definition()) // plain values always encode
	return hashed(string(data))
}

func hashed(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "sha256:" + base64.RawURLEncoding.EncodeToString(sum[:])
}

// definition returns the fields that clients can set, as a JSON object.
func (j *cronJob) definition() object {
	s, p := object{"kind": j.Schedule.Kind}, object{"kind": j.Payload.Kind}
	put := func(o object, k string, v any, there bool) {
		if there {
			o[k] = v
		}
	}
	put(s, "expr", j.Schedule.Expr, j.Schedule.Expr != "")
	put(s, "tz", j.Schedule.Tz, j.Schedule.Tz != "")
	put(s, "at", j.Schedule.At, j.Schedule.At != "")
	put(s, "everyMs", j.Schedule.EveryMs, j.Schedule.EveryMs > 0)
	put(s, "anchorMs", j.Schedule.AnchorMs, j.Schedule.AnchorMs > 0)
	if j.Schedule.StaggerMs != nil {
		s["staggerMs"] = *j.Schedule.StaggerMs
	}
	put(p, "message", j.Payload.Message, j.Payload.Kind == "agentTurn")
	put(p, "text", j.Payload.Text, j.Payload.Kind == "systemEvent")
	put(p, "toolsAllow", []string{"*"}, j.Payload.Kind == "agentTurn")
	if j.Payload.TimeoutSeconds != nil {
		p["timeoutSeconds"] = *j.Payload.TimeoutSeconds
	}
	out := object{
		"agentId": j.AgentID, "name": j.Name, "enabled": j.Enabled, "schedule": s, "sessionTarget": j.SessionTarget,
		"wakeMode": j.WakeMode, "payload": p,
	}
	put(out, "declarationKey", j.Key, j.Key != "")
	put(out, "description", j.Description, j.Description != "")
	put(out, "delivery", j.Delivery, len(j.Delivery) > 0)
	put(out, "scheduledToolPolicy", object{"version": 1, "mode": "trusted"}, j.Payload.Kind == "agentTurn")
	return out
}

// eventJSON returns the job in the form that events use.
func (j *cronJob) eventJSON() object {
	return merge(j.definition(), object{
		"id": j.id, "createdAtMs": j.createdAt, "updatedAtMs": j.updatedAt, "state": j.state(),
	})
}

// methodJSON returns the job in the form that methods return.
func (j *cronJob) methodJSON() object {
	out := merge(j.eventJSON(), object{"configRevision": j.revision()})
	if j.next > 0 {
		out["nextRunAtMs"] = j.next
	}
	if j.lastStatus != "" {
		for _, k := range words("lastRunAtMs lastRunStatus") {
			out[k] = j.state()[k]
		}
	}
	return out
}

func (j *cronJob) state() object {
	s := object{}
	if j.next > 0 {
		s["nextRunAtMs"] = j.next
	}
	if j.active != nil {
		s["runningAtMs"] = j.runningAt
	}
	if j.activatedAt > 0 {
		s["scheduleActivatedAtMs"] = j.activatedAt
	}
	if j.lastStatus == "" {
		return s
	}
	maps.Copy(s, object{
		"lastRunAtMs": j.lastRunAt, "lastRunStatus": j.lastStatus, "lastStatus": j.lastStatus, "consecutiveErrors": j.errors,
	})
	if j.lastError != "" {
		s["lastError"] = j.lastError
	}
	return s
}
