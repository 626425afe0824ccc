package redistest

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strconv"
)

// Pid returns the id of the server's process.
func (m *Master) Pid() int {
	m.t.Helper()
	return m.running().cmd.Process.Pid
}

// Kill ends the process with SIGKILL: nothing is saved, no connection is closed in
// good order. It returns when the process is gone and its port refuses.
func (m *Master) Kill() {
	m.t.Helper()
	p := m.running()
	p.Kill()
	m.process = nil
	if !p.killed() || !m.Refuses() {
		m.t.Fatalf("master %s is not gone after SIGKILL: %v", m.addr, p.cmd.ProcessState)
	}
}

// Restart starts the master again, on the same port and in the same directory, after
// killing it if it runs. It comes back empty unless it was started with [AOF].
func (m *Master) Restart() {
	m.t.Helper()
	before := m.run
	if m.process != nil {
		m.Kill()
	}
	// Somebody's outgoing connection may sit on the port for a moment.
	if !Poll(m.launch) {
		m.t.Fatalf("master %s does not start again. The end of its log:\n%s", m.addr, m.log())
	}
	if m.run == before {
		m.t.Fatalf("master %s was not restarted: its run_id is still %s", m.addr, before)
	}
}

// Stop halts the process with SIGSTOP: the master is hung. The kernel still accepts
// connections for it and keeps what is sent, to be executed after Cont.
func (m *Master) Stop() {
	m.t.Helper()
	if err := m.running().Stop(); err != nil {
		m.t.Fatalf("master %s: %v", m.addr, err)
	}
}

// Cont lets a stopped process go on.
func (m *Master) Cont() {
	m.t.Helper()
	if err := m.running().Cont(); err != nil || !m.Answers() {
		m.t.Fatalf("master %s does not go on after SIGCONT: %v", m.addr, err)
	}
}

func (m *Master) running() *Process {
	m.t.Helper()
	if m.process == nil {
		m.t.Fatalf("master %s was killed and not restarted", m.addr)
	}
	return m.process
}

// RestartEmpty restarts the master as one that has lost its disk.
func (m *Master) RestartEmpty() {
	m.t.Helper()
	if m.process != nil {
		m.Kill()
	}
	if err := os.RemoveAll(filepath.Join(m.dir, "appendonlydir")); err != nil {
		m.t.Fatalf("master %s: %v", m.addr, err)
	}
	m.Restart()
}

// Follow has the master be a replica of another one, and returns when it is a copy of that:
// what it had is gone. Its process and its connections stay.
func (m *Master) Follow(other *Master) {
	m.t.Helper()
	m.FollowAt(other.addr)
}

// FollowAt is Follow for a master that is reached at another address than its own.
func (m *Master) FollowAt(addr string) {
	m.t.Helper()
	ctx := context.Background()
	host, port, _ := net.SplitHostPort(addr)
	if err := m.client.ReplicaOf(ctx, host, port).Err(); err != nil {
		m.t.Fatalf("master %s: %v", m.addr, err)
	}
	if !Poll(func() bool { return Field(m.client.Info(ctx, "replication").Val(), "master_link_status") == "up" }) {
		m.t.Fatalf("master %s does not become a replica of %s", m.addr, addr)
	}
}

// Promote has a replica be a master again, once it has all that the one that it follows
// has now.
func (m *Master) Promote(followed *Master) {
	m.t.Helper()
	offset := func(e *Master) int {
		n, _ := strconv.Atoi(Field(e.client.Info(context.Background(), "replication").Val(), "master_repl_offset"))
		return n
	}
	if want := offset(followed); !Poll(func() bool { return offset(m) >= want }) {
		m.t.Fatalf("replica %s lags for ever", m.addr)
	}
	m.PromoteAsIs()
}

// PromoteAsIs has a replica be a master again, with what it has.
func (m *Master) PromoteAsIs() {
	m.t.Helper()
	history := m.replid()
	if err := m.client.ReplicaOf(context.Background(), "no", "one").Err(); err != nil {
		m.t.Fatalf("master %s: %v", m.addr, err)
	}
	if m.RunID() != m.run || m.replid() == history {
		m.t.Fatalf("replica %s was not promoted", m.addr)
	}
}

func (m *Master) replid() string {
	return Field(m.client.Info(context.Background(), "replication").Val(), "master_replid")
}

// Written returns how long the append-only file is (see [AOF]).
func (m *Master) Written() int64 {
	m.t.Helper()
	info, err := os.Stat(m.file())
	if err != nil {
		m.t.Fatalf("master %s: %v", m.addr, err)
	}
	return info.Size()
}

// RestartCut restarts the master as after a loss of power: what its append-only file got
// after it was so long is gone.
func (m *Master) RestartCut(length int64) {
	m.t.Helper()
	m.Kill()
	if m.Written() <= length {
		m.t.Fatalf("master %s has written nothing since", m.addr)
	}
	if err := os.Truncate(m.file(), length); err != nil {
		m.t.Fatalf("master %s: %v", m.addr, err)
	}
	m.Restart()
}

func (m *Master) file() string {
	m.t.Helper()
	files, _ := filepath.Glob(filepath.Join(m.dir, "appendonlydir", "*.incr.aof"))
	if len(files) != 1 {
		m.t.Fatalf("master %s has %d append-only files", m.addr, len(files))
	}
	return files[0]
}

// Evict has the master run out of memory, under a policy that evicts keys, until key is
// gone.
func (m *Master) Evict(key string) {
	m.t.Helper()
	ctx := context.Background()
	for _, s := range [][2]string{{"maxmemory-policy", "volatile-lru"}, {"maxmemory", "1mb"}} {
		if err := m.client.ConfigSet(ctx, s[0], s[1]).Err(); err != nil {
			m.t.Fatalf("master %s: %v", m.addr, err)
		}
	}
	if !Poll(func() bool {
		_ = m.client.Set(ctx, "filler", "x", 0).Err() // refused, once nothing is left to evict
		return m.client.Exists(ctx, key).Val() == 0
	}) {
		m.t.Fatalf("master %s does not evict %s", m.addr, key)
	}
}
