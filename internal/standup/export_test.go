package standup

// Minutes exports plainText.
func (l Line) Minutes(timezone string) string { return l.plainText(timezone) }
