package lab

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
)

// scene is where a cell is staged: what package testing is to a test. It ends the goroutine
// of the cell where something can't be staged, and cleans up behind it.
type scene struct {
	failed  string // why it could not be staged
	skipped string // what this machine lacks
	cleanup []func()
}

// play runs f, and returns when all is cleaned up.
func (s *scene) play(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer s.end()
		defer func() {
			if r := recover(); r != nil { // one cell must not take the others along
				s.failed = fmt.Sprintf("panic: %v\n%s", r, debug.Stack())
			}
		}()
		f()
	}()
	<-done
}

// end runs what was to be cleaned up, the last first, also when some of it fails.
func (s *scene) end() {
	for len(s.cleanup) > 0 {
		last := s.cleanup[len(s.cleanup)-1]
		s.cleanup = s.cleanup[:len(s.cleanup)-1]
		func() {
			defer s.end()
			last()
		}()
	}
}

func (s *scene) Helper() {}

func (s *scene) Fatal(args ...any) { s.Fatalf("%s", fmt.Sprint(args...)) }

func (s *scene) Fatalf(format string, args ...any) {
	if s.failed == "" {
		s.failed = fmt.Sprintf(format, args...)
	}
	runtime.Goexit()
}

func (s *scene) Skip(args ...any) { s.Skipf("%s", fmt.Sprint(args...)) }

func (s *scene) Skipf(format string, args ...any) {
	s.skipped = fmt.Sprintf(format, args...)
	runtime.Goexit()
}

func (s *scene) Cleanup(f func()) { s.cleanup = append(s.cleanup, f) }

func (s *scene) TempDir() string {
	dir, err := os.MkdirTemp("", "redlock-lab-")
	if err != nil {
		s.Fatal(err)
	}
	// The servers that write there end first: what is registered later is done earlier.
	s.cleanup = slices.Insert(s.cleanup, 0, func() { _ = os.RemoveAll(dir) })
	return dir
}
