package standup

// Minutes is a line as a person reads it in the minutes.
func (l Line) Minutes(timezone string) string { return l.plainText(timezone) }
