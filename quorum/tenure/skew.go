package tenure

import "time"

// Settle rewrites how far a master's clock is from the others': clocks drift apart, and
// whoever sees one for the first time compares it by that. It changes nothing of tenure.
type Settle struct{ Skew time.Duration }

// Apply rewrites the skew where there is tenure.
func (s Settle) Apply(r Record, process string, _ Time) (Record, bool) {
	if !r.Tenured(process) || r.Skew == s.Skew {
		return r, false
	}
	r.Skew = s.Skew
	return r, true
}
