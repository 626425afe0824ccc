package redlock

// Waiting returns how many calls stand in name's line.
func Waiting(c *Client, name string) int {
	c.lines.mu.Lock()
	defer c.lines.mu.Unlock()
	if l := c.lines.byName[name]; l != nil {
		return len(l.waiting)
	}
	return 0
}

// Lines returns how many names somebody waits for or holds.
func Lines(c *Client) int {
	c.lines.mu.Lock()
	defer c.lines.mu.Unlock()
	return len(c.lines.byName)
}
