package demo

// DeviceToken returns a paired device's token, so that tests can check that it does not
// leak. For a device that is not paired, it returns an empty string.
func (r *Runtime) DeviceToken(deviceID string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if d := r.pairings.paired[deviceID]; d != nil {
		return d.token
	}
	return ""
}
