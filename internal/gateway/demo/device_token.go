package demo

// DeviceToken is the token of a paired device, so that a test can look for it
// where it must not be; empty for any other device.
func (r *Runtime) DeviceToken(deviceID string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if d := r.pairings.paired[deviceID]; d != nil {
		return d.token
	}
	return ""
}
