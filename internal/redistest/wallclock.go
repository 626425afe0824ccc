package redistest

import (
	"context"
	_ "embed"
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// wallclockC is the source of a library that moves a process's wall clock. It has no name
// that the go command would compile.
//
//go:embed wallclock.c.txt
var wallclockC []byte

// WallClock makes masters whose wall clock can be stepped with [Master.StepClock]. It needs
// a C compiler, and a system that loads libraries before others (LD_PRELOAD).
func WallClock(t T) Option {
	t.Helper()
	gcc, err := exec.LookPath("gcc")
	if err != nil {
		Unavailable(t, "gcc is not on PATH: it is needed to step a master's clock")
	}
	dir := t.TempDir()
	source, library := filepath.Join(dir, "wallclock.c"), filepath.Join(dir, "wallclock.so")
	if err := os.WriteFile(source, wallclockC, 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(gcc, "-O1", "-fPIC", "-shared", "-o", library, source, "-ldl").CombinedOutput(); err != nil {
		t.Fatalf("compile wallclock.c: %v\n%s", err, out)
	}
	return func(m *Master) {
		m.clock = filepath.Join(m.dir, "clock")
		m.env = append(m.env, "LD_PRELOAD="+library, "REDISTEST_CLOCK="+m.clock)
		m.setClock(0)
	}
}

// StepClock moves the master's wall clock, and what it sees of it from then on, by d. It
// returns when the master says so itself.
func (m *Master) StepClock(d time.Duration) {
	m.t.Helper()
	before, at := m.now(), time.Now()
	m.ahead += d
	m.setClock(m.ahead)
	if moved := m.now().Sub(before) - time.Since(at); (moved - d).Abs() > time.Second {
		m.t.Fatalf("the clock of master %s was to step by %v, and stepped by %v", m.addr, d, moved)
	}
}

func (m *Master) now() time.Time {
	m.t.Helper()
	now, err := m.client.Time(context.Background()).Result()
	if err != nil {
		m.t.Fatalf("TIME of master %s: %v", m.addr, err)
	}
	return now
}

// setClock writes to the file in place: the process has it mapped.
func (m *Master) setClock(ahead time.Duration) {
	m.t.Helper()
	f, err := os.OpenFile(m.clock, os.O_WRONLY|os.O_CREATE, 0o600)
	if err == nil {
		_, err = f.WriteAt(binary.NativeEndian.AppendUint64(nil, uint64(ahead.Microseconds())), 0)
		_ = f.Close()
	}
	if err != nil {
		m.t.Fatalf("clock of a master: %v", err)
	}
}
