package redistest_test

import (
	"fmt"
	"runtime"
	"testing"
)

// recorder is a test that may fail or be skipped without the real one doing so.
type recorder struct {
	testing.TB
	end, text string
}

// run returns how f ended: "passed", "failed" or "skipped".
func (r *recorder) run(f func()) string {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
		r.end = "passed"
	}()
	<-done
	return r.end
}

func (r *recorder) Fatalf(format string, args ...any) {
	r.end, r.text = "failed", fmt.Sprintf(format, args...)
	runtime.Goexit()
}

func (r *recorder) Skip(args ...any) {
	r.end, r.text = "skipped", fmt.Sprint(args...)
	runtime.Goexit()
}
