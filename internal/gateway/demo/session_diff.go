package demo

// handleDiff answers that the workspace of a session is not under version control.
func (r *Runtime) handleDiff(c call) (any, *Failure) {
	var in struct{ SessionKey string }
	if f := (params{
		required: words("sessionKey"), optional: words("agentId scope commit"),
	}).read(c.method, "", c.params, &in); f != nil {
		return nil, f
	}
	return object{"sessionKey": in.SessionKey, "files": []object{}, "additions": 0, "deletions": 0}, nil
}

// handleArtifacts answers that a session has no artifacts.
func (r *Runtime) handleArtifacts(c call) (any, *Failure) {
	if f := (params{
		optional: words("sessionKey runId taskId agentId messageRole"),
	}).read(c.method, "", c.params, &struct{}{}); f != nil {
		return nil, f
	}
	return object{"artifacts": []object{}}, nil
}
