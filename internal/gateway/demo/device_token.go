package demo

// DeviceToken returns the token of a paired device, so that tests can check where it must
// not appear. For a device that is not paired, it returns an empty string.
func (r *Runtime) DeviceToken(deviceID string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if d := r.pairings.paired[deviceID]; d != nil {
		return d.token
	}
	return ""
}
