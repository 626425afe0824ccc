package redlock

// Trace is a set of hooks, each of which may be nil. They are called from the
// goroutine that does the work: they must be quick, must not block, and must not Close
// the client. Calls for
// different locks can come at the same time.
type Trace struct {
	Attempt  func(name string)             // an attempt begins
	Vote     func(name string, vote Vote)  // a master answered, to a lock or an extension
	Held     func(l *Lease)                // an attempt succeeded
	Extended func(l *Lease)                // so did an extension
	Lost     func(l *Lease, cause error)   // the lease ended before it was released
	Released func(l *Lease)                // Release was called, and its requests are on their way
	Tenure   func(master string, has bool) // a master was found to have tenure, or to have lost it
}

func (t *Trace) attempt(name string) {
	if t.Attempt != nil {
		t.Attempt(name)
	}
}

func (t *Trace) held(l *Lease) {
	if t.Held != nil {
		t.Held(l)
	}
}

func (t *Trace) extended(l *Lease) {
	if t.Extended != nil {
		t.Extended(l)
	}
}

func (t *Trace) lost(l *Lease, cause error) {
	if t.Lost != nil {
		t.Lost(l, cause)
	}
}

func (t *Trace) tenure(master string, has bool) {
	if t.Tenure != nil {
		t.Tenure(master, has)
	}
}

func (t *Trace) released(l *Lease) {
	if t.Released != nil {
		t.Released(l)
	}
}
