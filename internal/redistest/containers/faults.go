package containers

import (
	"context"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"github.com/quorumlock/redlock-go/internal/redistest"
)

// Kill ends the container's process with SIGKILL. It returns when the container does
// not run any more and its port refuses.
func (m *Master) Kill() {
	m.t.Helper()
	_, err := m.docker.ContainerKill(context.Background(), m.id, client.ContainerKillOptions{Signal: "KILL"})
	m.must("kill", err)
	if !redistest.Poll(func() bool { return !m.state().Running }) || !m.Refuses() {
		m.t.Fatalf("master %s is not gone after docker kill: %+v", m.Addr(), m.state())
	}
}

// Restart starts the container again, on the same port and with the same files, after
// killing it if it runs. It comes back empty unless it was started with [AOF].
func (m *Master) Restart() {
	m.t.Helper()
	if m.state().Running {
		m.Kill()
	}
	before := m.run
	var err error
	// Somebody's outgoing connection may sit on the port for a moment.
	if !redistest.Poll(func() bool {
		_, err = m.docker.ContainerStart(context.Background(), m.id, client.ContainerStartOptions{})
		return err == nil
	}) {
		m.must("start", err)
	}
	m.ready()
	if m.run == before {
		m.t.Fatalf("master %s was not restarted: its run_id is still %s", m.Addr(), before)
	}
}

// Stop freezes the container: the master is hung. The kernel still accepts
// connections for it and keeps what is sent, to be executed after Cont.
func (m *Master) Stop() {
	m.t.Helper()
	_, err := m.docker.ContainerPause(context.Background(), m.id, client.ContainerPauseOptions{})
	m.must("pause", err)
	if !m.state().Paused {
		m.t.Fatalf("master %s is not paused: %+v", m.Addr(), m.state())
	}
}

// Cont lets a stopped container go on.
func (m *Master) Cont() {
	m.t.Helper()
	_, err := m.docker.ContainerUnpause(context.Background(), m.id, client.ContainerUnpauseOptions{})
	m.must("unpause", err)
	if m.state().Paused || !m.Answers() {
		m.t.Fatalf("master %s does not go on after docker unpause: %+v", m.Addr(), m.state())
	}
}

// ready waits until the master answers.
func (m *Master) ready() {
	m.t.Helper()
	if !m.Answers() {
		m.t.Fatalf("master %s does not answer; its container: %+v", m.Addr(), m.state())
	}
	m.run = m.RunID()
}

func (m *Master) state() container.State {
	m.t.Helper()
	r, err := m.docker.ContainerInspect(context.Background(), m.id, client.ContainerInspectOptions{})
	m.must("inspect", err)
	return *r.Container.State
}

func (m *Master) must(what string, err error) {
	m.t.Helper()
	if err != nil {
		m.t.Fatalf("master %s: docker %s: %v", m.Addr(), what, err)
	}
}
